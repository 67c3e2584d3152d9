//! Lets the program need nothing but the C library: what unwinds panics becomes a part of it where the compiler has that as
//! an archive. The linker is asked for `gcc_s`, and finds a script of that name first, which names the archive.

use std::path::Path;
use std::process::Command;

fn main() {
    println!("cargo::rerun-if-changed=build.rs");
    let is = |name: &str, value: &str| std::env::var(name).is_ok_and(|found| found == value);
    if !is("CARGO_CFG_TARGET_OS", "linux") || !is("CARGO_CFG_TARGET_ENV", "gnu") {
        return;
    }
    let Some((archive, out)) = archive().zip(std::env::var("OUT_DIR").ok()) else { return };
    // Without the script the program needs one library more.
    if std::fs::write(Path::new(&out).join("libgcc_s.so"), format!("INPUT(\"{archive}\")\n")).is_ok() {
        println!("cargo::rustc-link-search=native={out}");
    }
}

/// The archive's path, where there is one for this machine.
fn archive() -> Option<String> {
    if std::env::var("HOST").ok()? != std::env::var("TARGET").ok()? {
        return None;
    }
    let output = Command::new("cc").arg("-print-file-name=libgcc_eh.a").output().ok()?;
    let path = String::from_utf8(output.stdout).ok()?.trim().to_owned();
    Path::new(&path).is_absolute().then_some(path).filter(|path| Path::new(path).is_file())
}
