//! The worst stack use of each call: the compiler says what every function takes, and the linked image says who calls whom.
//!
//! Calls are read from the instructions: a direct call names its target. What the compiler says nothing of are routines of its
//! own that were compiled before, such as `memcpy`: on ARM what they push and subtract is read from their instructions.
//! Calls through pointers are not followed. In the C interface they must be the program's own functions (the driver's table, the
//! log's and the pressure's function), so who makes them is told, function by function.
//! Recursion is an error, since nothing bounds it.

use object::read::elf::{ElfFile32, ElfFile64};
use object::{Architecture, Endianness, Object, ObjectSection, ObjectSymbol, SectionKind, SymbolKind};
use std::collections::{BTreeMap, BTreeSet};

/// One exported call.
#[derive(Clone, Debug, PartialEq, Eq)]
pub(crate) struct Depth {
    pub(crate) name: String,
    /// The most bytes of stack below its caller, without what the program's own functions take.
    pub(crate) bytes: u64,
    /// The functions on the way to there, with what each takes.
    pub(crate) way: Vec<(String, u64)>,
}

/// A function of the image.
#[derive(Debug, Default)]
struct Function {
    name: String,
    end: u64,
    /// `None`: the compiler says nothing.
    takes: Option<u64>,
    /// What its instructions take, as far as they are read.
    pushes: u64,
    calls: BTreeSet<u64>,
    /// How many calls through pointers it makes.
    indirect: usize,
}

impl Function {
    /// What it takes of the stack itself.
    fn frame(&self) -> u64 {
        self.takes.unwrap_or(self.pushes)
    }
}

/// An image as far as stacks are concerned.
#[derive(Debug, Default)]
pub(crate) struct Image {
    functions: BTreeMap<u64, Function>,
}

impl Image {
    /// Reads a linked image.
    pub(crate) fn read(bytes: &[u8]) -> Result<Self, String> {
        let wide = bytes.get(4) == Some(&2);
        if wide {
            let file = ElfFile64::<Endianness>::parse(bytes).map_err(|error| error.to_string())?;
            Self::of(&file)
        } else {
            let file = ElfFile32::<Endianness>::parse(bytes).map_err(|error| error.to_string())?;
            Self::of(&file)
        }
    }

    fn of<'data>(file: &impl Object<'data>) -> Result<Self, String> {
        let mut image = Self::default();
        for symbol in file.symbols().filter(|symbol| symbol.kind() == SymbolKind::Text && symbol.size() > 0) {
            let at = symbol.address() & !1;
            let name = symbol.name().unwrap_or_default().to_owned();
            let function = image.functions.entry(at).or_default();
            // Of several names the exported one is shown.
            if function.name.is_empty() || symbol.is_global() {
                function.name = name;
            }
            function.end = at + symbol.size();
        }
        let sizes = file.section_by_name(".stack_sizes").ok_or("the image has no section .stack_sizes")?;
        image.take_sizes(sizes.data().map_err(|error| error.to_string())?, file.is_64());
        let data = data_ranges(file);
        for section in file.sections().filter(|section| section.kind() == SectionKind::Text) {
            let code = section.data().map_err(|error| error.to_string())?;
            match file.architecture() {
                Architecture::Arm => image.take_thumb(section.address(), code, &data),
                Architecture::Aarch64 => image.take_aarch64(section.address(), code),
                other => return Err(format!("calls of {other:?} are not understood")),
            }
        }
        Ok(image)
    }

    /// Pairs of an address and a number in LEB128.
    fn take_sizes(&mut self, mut bytes: &[u8], wide: bool) {
        let width = if wide { 8 } else { 4 };
        while let Some((address, rest)) = bytes.split_at_checked(width) {
            let mut at = [0; 8];
            at[..width].copy_from_slice(address);
            let (mut size, mut shift, mut used) = (0_u64, 0, 0);
            for byte in rest {
                used += 1;
                size |= u64::from(byte & 0x7f) << shift;
                shift += 7;
                if byte & 0x80 == 0 {
                    break;
                }
            }
            bytes = rest.get(used..).unwrap_or_default();
            if let Some(function) = self.functions.get_mut(&(u64::from_le_bytes(at) & !1)) {
                function.takes = Some(size);
            }
        }
    }

    fn take_thumb(&mut self, base: u64, code: &[u8], data: &[(u64, u64)]) {
        let halves: Vec<u32> =
            code.chunks_exact(2).map(|pair| u32::from(u16::from_le_bytes([pair[0], pair[1]]))).collect();
        let mut index = 0;
        while let Some(&first) = halves.get(index) {
            let at = base + 2 * index as u64;
            if let Some((_, end)) = data.iter().find(|(from, to)| (*from..*to).contains(&at)) {
                index += ((end - at) / 2).max(1) as usize;
                continue;
            }
            // BLX of a register; BX of one that is not the link register: the same as a function's last call.
            if first & 0xff87 == 0x4780 || (first & 0xff87 == 0x4700 && first >> 3 & 0xf != 14) {
                self.note_indirect(at);
            }
            if first >> 11 < 0x1d {
                self.note_pushed(at, pushed_short(first));
                index += 1;
                continue;
            }
            let second = halves.get(index + 1).copied().unwrap_or_default();
            self.note_pushed(at, pushed_long(first, second));
            if let Some(offset) = thumb_branch(first, second) {
                self.note(at, at.wrapping_add(4).wrapping_add_signed(offset));
            }
            index += 2;
        }
    }

    fn take_aarch64(&mut self, base: u64, code: &[u8]) {
        for (index, word) in code.chunks_exact(4).enumerate() {
            let (at, word) = (base + 4 * index as u64, u32::from_le_bytes([word[0], word[1], word[2], word[3]]));
            // BLR, and BR: the same as a function's last call, or a jump by a table.
            if word & 0xffdf_fc1f == 0xd61f_0000 {
                self.note_indirect(at);
            }
            // B and BL.
            if word & 0x7c00_0000 == 0x1400_0000 {
                let offset = i64::from(((word << 6).cast_signed() >> 6) << 2);
                self.note(at, at.wrapping_add_signed(offset));
            }
        }
    }

    /// The function that an instruction is in.
    fn around(&mut self, at: u64) -> Option<&mut Function> {
        self.functions.range_mut(..=at).next_back().map(|(_, function)| function).filter(|function| at < function.end)
    }

    fn note_indirect(&mut self, at: u64) {
        if let Some(function) = self.around(at) {
            function.indirect += 1;
        }
    }

    fn note_pushed(&mut self, at: u64, bytes: u64) {
        if bytes > 0
            && let Some(function) = self.around(at)
        {
            function.pushes += bytes;
        }
    }

    /// The functions that call through pointers, and how often each does.
    pub(crate) fn indirect(&self) -> Vec<(String, usize)> {
        let calling = self.functions.values().filter(|function| function.indirect > 0);
        calling.map(|function| (function.name.clone(), function.indirect)).collect()
    }

    /// A branch: a call where it leaves its function.
    fn note(&mut self, from: u64, to: u64) {
        let known = self.functions.contains_key(&to);
        let Some((start, function)) = self.functions.range_mut(..=from).next_back() else { return };
        if known && from < function.end && *start != to {
            function.calls.insert(to);
        } else if known && *start == to && from != to {
            // A loop to the very beginning would look the same; compilers do not make one with a frame.
            function.calls.insert(to);
        }
    }

    /// The worst stack use of every function whose name is among these.
    pub(crate) fn depths<'n>(&self, names: impl Iterator<Item = &'n str>) -> Result<Vec<Depth>, String> {
        let mut known = BTreeMap::new();
        names
            .map(|name| {
                let found = self.functions.iter().find(|(_, function)| function.name == name);
                let (at, _) = found.ok_or_else(|| format!("the image lacks `{name}`"))?;
                let bytes = self.depth(*at, &mut known, &mut Vec::new())?;
                Ok(Depth { name: name.to_owned(), bytes, way: self.way(*at, &known) })
            })
            .collect()
    }

    /// The worst below a function, it included.
    fn depth(&self, at: u64, known: &mut BTreeMap<u64, u64>, path: &mut Vec<u64>) -> Result<u64, String> {
        if let Some(depth) = known.get(&at) {
            return Ok(*depth);
        }
        let Some(function) = self.functions.get(&at) else { return Err(format!("nothing is known of {at:#x}")) };
        if path.contains(&at) {
            return Err(format!("`{}` calls itself, by way of others or not", function.name));
        }
        path.push(at);
        let mut below = 0;
        for call in &function.calls {
            below = below.max(self.depth(*call, known, path)?);
        }
        path.pop();
        let depth = function.frame() + below;
        known.insert(at, depth);
        Ok(depth)
    }

    fn way(&self, mut at: u64, known: &BTreeMap<u64, u64>) -> Vec<(String, u64)> {
        let mut way = Vec::new();
        while let Some(function) = self.functions.get(&at) {
            way.push((function.name.clone(), function.frame()));
            let deepest = function.calls.iter().max_by_key(|call| known.get(call).copied().unwrap_or(0));
            match deepest {
                Some(next) => at = *next,
                None => break,
            }
        }
        way
    }
}

/// Where data lies between instructions, as the symbols `$d` and `$t` say.
fn data_ranges<'data>(file: &impl Object<'data>) -> Vec<(u64, u64)> {
    let mut marks: Vec<(u64, bool)> = file
        .symbols()
        .filter_map(|symbol| {
            let kind = symbol.name().unwrap_or_default();
            let is_data = kind == "$d" || kind.starts_with("$d.");
            let is_code = kind == "$t" || kind.starts_with("$t.");
            (is_data || is_code).then(|| (symbol.address() & !1, is_data))
        })
        .collect();
    marks.sort_unstable();
    let ends = marks.iter().skip(1).map(|(at, _)| *at).chain([u64::MAX]);
    marks.iter().zip(ends).filter(|((_, is_data), _)| *is_data).map(|((at, _), end)| (*at, end)).collect()
}

/// What a Thumb instruction of two bytes takes of the stack: PUSH, and SUB of a constant from the stack pointer.
fn pushed_short(half: u32) -> u64 {
    match half {
        _ if half & 0xfe00 == 0xb400 => 4 * u64::from((half & 0x1ff).count_ones()),
        _ if half & 0xff80 == 0xb080 => 4 * u64::from(half & 0x7f),
        _ => 0,
    }
}

/// The same of four bytes: PUSH.W (STMDB of the stack pointer), STR with it stepped back, and SUB.W of a constant below 256.
fn pushed_long(first: u32, second: u32) -> u64 {
    match (first, second) {
        (0xe92d, list) => 4 * u64::from(list.count_ones()),
        (0xf84d, rest) if rest & 0x0f00 == 0x0d00 => u64::from(rest & 0xff),
        (0xf1ad, rest) if rest & 0xff00 == 0x0d00 => u64::from(rest & 0xff),
        _ => 0,
    }
}

/// The offset of BL, or of B in its long forms, from the instruction behind it.
fn thumb_branch(first: u32, second: u32) -> Option<i64> {
    if first & 0xf800 != 0xf000 {
        return None;
    }
    let sign = (first >> 10) & 1;
    let (j1, j2) = ((second >> 13) & 1, (second >> 11) & 1);
    let low = (second & 0x7ff) << 1;
    let (value, bits) = match second & 0xd000 {
        // BL, and B without a condition.
        0xd000 | 0x9000 => {
            let (i1, i2) = (1 ^ j1 ^ sign, 1 ^ j2 ^ sign);
            ((sign << 24) | (i1 << 23) | (i2 << 22) | ((first & 0x3ff) << 12) | low, 25)
        }
        // B with one; 14 and 15 there are other instructions.
        0x8000 if (first >> 6) & 0xf < 14 => {
            ((sign << 20) | (j2 << 19) | (j1 << 18) | ((first & 0x3f) << 12) | low, 21)
        }
        _ => return None,
    };
    Some(i64::from((value << (32 - bits)).cast_signed() >> (32 - bits)))
}

#[cfg(test)]
mod tests {
    use super::*;

    /// Encodings from the architecture's manual, as an assembler writes them.
    #[test]
    fn branches_are_decoded() {
        // bl .+4 ; bl .-4 ; b.w .+0x1000 ; beq.w .+0x100
        assert_eq!(thumb_branch(0xf000, 0xf800), Some(0));
        assert_eq!(thumb_branch(0xf7ff, 0xfffc), Some(-8));
        assert_eq!(thumb_branch(0xf000, 0xbffe), Some(0xffc));
        assert_eq!(thumb_branch(0xf000, 0x807e), Some(0xfc));
        // movw r0, #0: no branch.
        assert_eq!(thumb_branch(0xf240, 0x0000), None);
    }

    /// Encodings as an assembler writes them.
    #[test]
    fn what_is_pushed_is_read() {
        // push {r4, r6, r7, lr} ; push {r4, lr} ; sub sp, #48 ; mov r0, r1
        assert_eq!([0xb5d0, 0xb510, 0xb08c, 0x4608].map(pushed_short), [16, 8, 48, 0]);
        // push.w {r8, r9, r10, r11} ; str r7, [sp, #-4]! ; sub.w sp, sp, #200 ; bl .+4
        assert_eq!(pushed_long(0xe92d, 0x0f00), 16);
        assert_eq!(pushed_long(0xf84d, 0x7d04), 4);
        assert_eq!(pushed_long(0xf1ad, 0x0dc8), 200);
        assert_eq!(pushed_long(0xf000, 0xf800), 0);
    }

    #[test]
    fn calls_through_pointers_belong_to_who_makes_them() {
        let mut image = image(&[(0, "a", 8, &[]), (16, "b", 8, &[])]);
        // blx r3 ; bx lr ; bx r3
        let code = [0x4798_u16, 0x4770, 0x4718].map(u16::to_le_bytes).concat();
        image.take_thumb(16, &code, &[]);
        assert_eq!(image.indirect(), [("b".to_owned(), 2)]);
    }

    fn image(functions: &[(u64, &str, u64, &[u64])]) -> Image {
        let functions = functions.iter().map(|(at, name, takes, calls)| {
            let calls = calls.iter().copied().collect();
            let name = (*name).to_owned();
            (*at, Function { name, end: at + 16, takes: Some(*takes), calls, ..Function::default() })
        });
        Image { functions: functions.collect() }
    }

    #[test]
    fn the_deepest_way_counts() {
        let image = image(&[(0, "a", 8, &[16, 32]), (16, "b", 100, &[]), (32, "c", 50, &[48]), (48, "d", 60, &[])]);
        let [depth] = &image.depths(["a"].into_iter()).expect("no recursion")[..] else { panic!("one") };
        assert_eq!(depth.bytes, 118);
        let names: Vec<_> = depth.way.iter().map(|(name, _)| name.as_str()).collect();
        assert_eq!(names, ["a", "c", "d"]);
    }

    #[test]
    fn recursion_is_an_error() {
        let image = image(&[(0, "a", 8, &[16]), (16, "b", 8, &[0])]);
        assert!(image.depths(["a"].into_iter()).expect_err("recursion").contains("calls itself"));
        assert!(image.depths(["x"].into_iter()).expect_err("no such function").contains("`x`"));
    }
}
