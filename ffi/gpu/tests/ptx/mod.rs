//! A machine for the part of PTX that the kernels are written in: one thread after the other, on bytes. What it does not
//! know it refuses, so that a kernel which goes beyond it is seen.

use std::collections::HashMap;

/// A kernel: its parameters' names, its instructions, and where its labels are.
pub(crate) struct Kernel<'t> {
    parameters: Vec<&'t str>,
    /// The register whose truth an instruction hangs on, the operation, and its operands.
    body: Vec<(Option<&'t str>, &'t str, Vec<&'t str>)>,
    labels: HashMap<&'t str, usize>,
}

/// Blocks, and threads of each.
pub(crate) type Grid = (u32, u32);

/// The memory that kernels see, from address 0 on, and the clock.
pub(crate) struct Machine {
    pub(crate) memory: Vec<u8>,
    pub(crate) nanoseconds: u64,
}

/// What one thread knows.
struct Thread<'m> {
    machine: &'m mut Machine,
    registers: HashMap<String, u64>,
}

impl<'t> Kernel<'t> {
    /// The kernel of a name in a text.
    pub(crate) fn find(text: &'t str, name: &str) -> Self {
        let (_, rest) = text.split_once(&format!(".entry {name}(")).expect("is in the text");
        let (head, rest) = rest.split_once(')').expect("parameters");
        let (_, rest) = rest.split_once('{').expect("a body");
        let (body, _) = rest.split_once('}').expect("its end");
        let parameters = head.split(',').map(|one| one.split_whitespace().last().expect("a name")).collect();
        let mut this = Self { parameters, body: Vec::new(), labels: HashMap::new() };
        for line in body.lines().map(str::trim).filter(|line| !line.is_empty() && !line.starts_with(".reg ")) {
            if let Some(label) = line.strip_suffix(':') {
                this.labels.insert(label, this.body.len());
                continue;
            }
            let line = line.strip_suffix(';').expect("ends with a semicolon");
            let (guard, line) = match line.strip_prefix('@') {
                Some(rest) => rest.split_once(' ').map(|(guard, line)| (Some(guard), line)).expect("an operation"),
                None => (None, line),
            };
            let (operation, operands) = line.split_once(' ').unwrap_or((line, ""));
            let operands = operands.split(',').map(str::trim).filter(|operand| !operand.is_empty()).collect();
            this.body.push((guard, operation, operands));
        }
        this
    }

    /// Runs all threads of a launch.
    pub(crate) fn launch(&self, machine: &mut Machine, grid: Grid, arguments: &[u64]) {
        assert_eq!(arguments.len(), self.parameters.len());
        for block in 0..grid.0 {
            for thread in 0..grid.1 {
                let special = [("%ctaid.x", block), ("%tid.x", thread), ("%nctaid.x", grid.0), ("%ntid.x", grid.1)];
                let mut registers: HashMap<String, u64> =
                    special.map(|(name, value)| (name.to_owned(), u64::from(value))).into();
                for (name, value) in self.parameters.iter().zip(arguments) {
                    registers.insert(format!("[{name}]"), *value);
                }
                self.run(Thread { machine, registers });
            }
        }
    }

    fn run(&self, mut thread: Thread<'_>) {
        let mut at = 0;
        for _ in 0..10_000_000 {
            let (guard, operation, operands) = self.body.get(at).expect("a kernel ends with ret");
            at += 1;
            if guard.is_some_and(|guard| thread.value(guard) == 0) {
                continue;
            }
            match (*operation, operands.as_slice()) {
                ("ret", []) => return,
                ("bra", [label]) => at = self.labels[label],
                (operation, operands) => thread.perform(operation, operands),
            }
        }
        panic!("a thread that does not end");
    }
}

impl Thread<'_> {
    fn value(&mut self, operand: &str) -> u64 {
        if operand == "%globaltimer" {
            self.machine.nanoseconds += 50;
            return self.machine.nanoseconds;
        }
        if operand.starts_with(['%', '[']) {
            return *self.registers.get(operand).unwrap_or_else(|| panic!("{operand} was never written"));
        }
        let number = match operand.strip_prefix("0x") {
            Some(digits) => u64::from_str_radix(digits, 16),
            None => operand.parse(),
        };
        number.unwrap_or_else(|error| panic!("{operand}: {error}"))
    }

    /// The bytes that an operand in brackets names; aligned, as the device demands.
    fn place(&mut self, operand: &str, size: usize) -> &mut [u8] {
        let register = operand.strip_prefix('[').and_then(|rest| rest.strip_suffix(']')).expect("an address");
        let at = usize::try_from(self.value(register)).expect("an address");
        assert!(at.is_multiple_of(size), "{operand} is {at:#x}: not aligned");
        self.machine.memory.get_mut(at..at + size).unwrap_or_else(|| panic!("{operand} is {at:#x}: nothing is there"))
    }

    fn load(&mut self, operand: &str, size: usize) -> u64 {
        self.place(operand, size).iter().rev().fold(0, |value, byte| value << 8 | u64::from(*byte))
    }

    fn store(&mut self, operand: &str, size: usize, value: u64) {
        self.place(operand, size).copy_from_slice(&value.to_le_bytes()[..size]);
    }

    fn perform(&mut self, operation: &str, operands: &[&str]) {
        let (to, rest) = operands.split_first().expect("operands");
        let value = match (operation, rest) {
            ("ld.param.u64" | "cvta.to.global.u64" | "mov.u64" | "cvt.u64.u32" | "mov.u32", [from]) => self.value(from),
            ("ld.global.u64", [from]) => self.load(from, 8),
            ("ld.volatile.global.u32", [from]) => self.load(from, 4),
            ("ld.global.u8", [from]) => self.load(from, 1),
            ("st.global.u64", [from]) => return self.stored(to, 8, from),
            ("st.global.u8", [from]) => return self.stored(to, 1, from),
            ("red.global.add.u32", [from]) => {
                let sum = self.load(to, 4) + self.value(from);
                return self.store(to, 4, sum);
            }
            (operation, [a, b]) => {
                let (a, b) = (self.value(a), self.value(b));
                compute(operation, a, b)
            }
            other => panic!("{other:?} is not known"),
        };
        self.registers.insert((*to).to_owned(), value);
    }

    fn stored(&mut self, to: &str, size: usize, from: &str) {
        let value = self.value(from);
        self.store(to, size, value);
    }
}

fn compute(operation: &str, a: u64, b: u64) -> u64 {
    match operation {
        "add.u64" => a.wrapping_add(b),
        "sub.u64" => a.wrapping_sub(b),
        "mul.lo.u64" => a.wrapping_mul(b),
        "mul.wide.u32" => (a & 0xffff_ffff) * (b & 0xffff_ffff),
        "and.b64" => a & b,
        "shl.b64" => a << b,
        "shr.u64" => a >> b,
        "setp.ge.u64" => u64::from(a >= b),
        "setp.lt.u64" => u64::from(a < b),
        "setp.ne.u64" | "setp.ne.u32" => u64::from(a != b),
        _ => panic!("{operation} is not known"),
    }
}
