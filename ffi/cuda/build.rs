//! Gives the shared library the name that programs linked with it look for, and keeps what it is made of inside.

fn main() {
    println!("cargo::rerun-if-changed=build.rs");
    if std::env::var("CARGO_CFG_TARGET_OS").as_deref() == Ok("linux") {
        println!("cargo::rustc-cdylib-link-arg=-Wl,-soname,libweir_cuda.so");
        // The functions of weir.h would stand in front of those of a libweir.so in the same process.
        println!("cargo::rustc-cdylib-link-arg=-Wl,--exclude-libs,ALL");
    }
}
