//! Links the image where its machine begins to run.

fn main() {
    let variable = |name: &str| std::env::var(name).unwrap_or_default();
    if variable("CARGO_CFG_TARGET_OS") != "none" {
        return;
    }
    let script = match variable("CARGO_CFG_TARGET_ARCH").as_str() {
        "aarch64" => "aarch64.ld",
        "arm" => "arm.ld",
        "riscv64" => "riscv64.ld",
        other => panic!("no machine of {other} is known: aarch64, arm and riscv64 are"),
    };
    let script = format!("{}/link/{script}", variable("CARGO_MANIFEST_DIR"));
    println!("cargo::rerun-if-changed={script}");
    println!("cargo::rustc-link-arg-bins=-T{script}");
    if std::env::var_os("CARGO_FEATURE_DEFMT").is_some() {
        // The table of strings, which stays in the file and never reaches the machine.
        println!("cargo::rustc-link-arg-bins=-Tdefmt.x");
    }
}
