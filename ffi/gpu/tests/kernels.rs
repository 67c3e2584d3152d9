//! The text of the kernels does what it should, on a machine for as much of PTX as it needs, and agrees with who launches it.
#![cfg(target_os = "linux")]

mod ptx;

use ptx::{Grid, Kernel, Machine};
use weir_gpu_device::{ENTRIES, PTX};

/// The entries of a text in PTX: names, and each parameter's type.
fn entries(text: &str) -> Vec<(&str, Vec<&str>)> {
    let heads = text.split(".entry ").skip(1).map(|rest| rest.split_once('{').expect("an entry has a body").0);
    heads
        .map(|head| {
            let (name, parameters) = head.trim_end().trim_end_matches(')').split_once('(').expect("parameters");
            let parameters = parameters.split(',').map(str::trim);
            let types = parameters.map(|parameter| {
                let kind = parameter.strip_prefix(".param ").expect("a parameter");
                kind.split_whitespace().next().expect("a type")
            });
            (name, types.collect())
        })
        .collect()
}

#[test]
fn every_kernel_is_launched_with_its_parameters() {
    let text = PTX.to_str().expect("plain text");
    let launched: Vec<_> = ENTRIES.map(|(name, count)| (name.to_str().expect("plain"), vec![".u64"; count])).into();
    assert_eq!(entries(text), launched);
}

/// What devices from compute capability 5.2 and drivers from 10.2 on take.
#[test]
fn the_text_asks_for_no_more_than_old_drivers_have() {
    let text = PTX.to_str().expect("plain text");
    let line = |wanted: &str| text.lines().any(|line| line == wanted);
    assert!(line(".version 6.4") && line(".target sm_52") && line(".address_size 64"));
    assert!(text.is_ascii() && text.ends_with("}\n"), "nothing behind the last kernel");
}

/// Each parameter is loaded by its own name, and each label that is jumped to is there.
#[test]
fn bodies_name_what_is_there() {
    let text = PTX.to_str().expect("plain text");
    for body in text.split(".entry ").skip(1) {
        let (head, body) = body.split_once('{').expect("a body");
        let names = head.split(".u64 ").skip(1).map(|rest| rest.split([',', ')']).next().expect("a name"));
        for name in names {
            assert_eq!(body.matches(&format!("[{name}]")).count(), 1, "{name}");
        }
        for jump in body.split("bra ").skip(1) {
            let label = jump.split(';').next().expect("a label");
            assert!(body.contains(&format!("\n{label}:\n")), "{label}");
        }
    }
}

const STEP: u64 = 0x9e37_79b9_7f4a_7c15;
const FIRST: u64 = 0x0123_4567_89ab_cdef;
/// Where the block is, with other bytes around it.
const AT: u64 = 64;

/// What a pattern is, byte by byte.
fn pattern(bytes: usize) -> Vec<u8> {
    let word = |index: usize| FIRST.wrapping_add(STEP.wrapping_mul(index as u64)).to_le_bytes();
    (0..bytes).map(|at| word(at / 8)[at % 8]).collect()
}

/// A machine with a block of so many bytes, a word to count in before it, and rubbish everywhere.
fn machine(bytes: usize) -> Machine {
    let mut memory = vec![0xa5; AT as usize + bytes + 64];
    memory[..4].fill(0);
    Machine { memory, nanoseconds: 0 }
}

/// Sizes with and without a cut word, and more or fewer words than threads.
const SIZES: [usize; 8] = [1, 7, 8, 9, 512, 1000, 4096, 5003];
const GRIDS: [Grid; 3] = [(1, 1), (2, 32), (5, 256)];

fn text() -> &'static str {
    PTX.to_str().expect("plain text")
}

#[test]
fn fills_write_the_pattern_and_nothing_else() {
    let fill = Kernel::find(text(), "weir_fill");
    for (bytes, grid) in SIZES.into_iter().flat_map(|bytes| GRIDS.map(|grid| (bytes, grid))) {
        let mut machine = machine(bytes);
        let before = machine.memory.clone();
        fill.launch(&mut machine, grid, &[AT, bytes as u64, FIRST]);
        let (begin, end) = (AT as usize, AT as usize + bytes);
        assert_eq!(machine.memory[begin..end], pattern(bytes), "{bytes} bytes, {grid:?}");
        assert_eq!((&machine.memory[..begin], &machine.memory[end..]), (&before[..begin], &before[end..]), "{bytes}");
    }
}

#[test]
fn checks_count_what_differs() {
    let check = Kernel::find(text(), "weir_check");
    for (bytes, grid) in SIZES.into_iter().flat_map(|bytes| GRIDS.map(|grid| (bytes, grid))) {
        let mut machine = machine(bytes);
        let (begin, end) = (AT as usize, AT as usize + bytes);
        machine.memory[begin..end].copy_from_slice(&pattern(bytes));
        let count = |machine: &mut Machine| {
            machine.memory[..4].fill(0);
            let before = machine.memory.clone();
            check.launch(machine, grid, &[AT, bytes as u64, FIRST, 0]);
            assert_eq!(machine.memory[4..], before[4..], "a check writes nothing else");
            machine.memory[0]
        };
        assert_eq!(count(&mut machine), 0, "{bytes} bytes, {grid:?}");
        machine.memory[end - 1] ^= 1;
        assert_eq!(count(&mut machine), 1, "{bytes} bytes, {grid:?}");
        machine.memory[begin] ^= 0x80;
        // One word, or two bytes of a cut one, or one byte that was changed twice.
        let expected = if bytes == 1 || bytes == 8 { 1 } else { 2 };
        assert_eq!(count(&mut machine), expected, "{bytes} bytes, {grid:?}");
    }
}

#[test]
fn holds_end_when_they_are_opened_or_run_out() {
    let hold = Kernel::find(text(), "weir_hold");
    let mut machine = Machine { memory: vec![0; 16], nanoseconds: 1_000 };
    hold.launch(&mut machine, (1, 1), &[8, 3_000, 4]);
    assert_eq!((machine.memory[4], machine.memory[8]), (1, 0));
    assert!((3_000..3_200).contains(&(machine.nanoseconds - 1_000)), "{}", machine.nanoseconds);
    machine.memory[8] = 1;
    let begun = machine.nanoseconds;
    hold.launch(&mut machine, (1, 1), &[8, 3_000, 4]);
    assert_eq!(machine.memory[4], 1, "it did not run out");
    assert!(machine.nanoseconds - begun < 200);
}

/// Where the vendor's assembler is in PATH (it comes with the vendor's toolkit, which nothing here needs), it takes the text.
#[test]
fn the_vendors_assembler_takes_the_text() {
    let folder = std::path::Path::new(env!("CARGO_TARGET_TMPDIR"));
    let file = folder.join(format!("kernels.{}.ptx", std::process::id()));
    std::fs::write(&file, text()).expect("can be written");
    let mut command = std::process::Command::new("ptxas");
    let output = command.args(["-arch=sm_90", "-o"]).arg(file.with_extension("cubin")).arg(&file).output();
    match output {
        Err(error) => println!("skipped: ptxas: {error}"),
        Ok(output) => {
            assert!(output.status.success(), "{}", String::from_utf8_lossy(&output.stderr));
            std::fs::remove_file(file.with_extension("cubin")).expect("was written");
        }
    }
    std::fs::remove_file(&file).expect("was written");
}
