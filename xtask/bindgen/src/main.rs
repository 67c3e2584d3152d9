//! Generates the Rust side of the headers in `ffi/include`. A package of its own, since bindgen takes longer to
//! build than everything else that `cargo xtask` needs. Called by `cargo xtask bindgen [--check]`.

use bindgen::{Builder, EnumVariation, Formatter, RustEdition, RustTarget};
use std::path::{Path, PathBuf};
use std::process::ExitCode;

/// The oldest compiler whose language the output may use.
const MINOR: u64 = 85;

fn main() -> ExitCode {
    let arguments: Vec<String> = std::env::args().skip(1).collect();
    let outcome = match arguments.iter().map(String::as_str).collect::<Vec<_>>().as_slice() {
        [] => write(),
        ["--check"] => check(),
        _ => Err("expected no argument, or --check".to_owned()),
    };
    match outcome {
        Ok(text) => {
            println!("{text}");
            ExitCode::SUCCESS
        }
        Err(text) => {
            eprintln!("error: {text}");
            ExitCode::FAILURE
        }
    }
}

/// One generated file: what it is made from, and what it says.
struct Output {
    /// Where it goes, in `ffi`.
    file: &'static str,
    /// C code that includes the headers.
    includes: &'static str,
    /// Names that are wanted.
    wanted: &'static str,
    /// Types that come from elsewhere.
    known: &'static [&'static str],
    /// Its first lines.
    heading: &'static [&'static str],
}

const LICENCE: &str = "// SPDX-License-Identifier: MIT OR Apache-2.0";

const OUTPUTS: [Output; 2] = [
    Output {
        file: "src/bindings.rs",
        // Includes weir.h, which includes the driver's header.
        includes: "#include \"weir_torch.h\"\n",
        wanted: "(weir|WEIR)_.*",
        known: &[],
        heading: &[
            "//! The C interface as `cargo xtask bindgen` read it from `include/weir*.h`; do not edit.",
            LICENCE,
        ],
    },
    Output {
        file: "src/acl/bindings.rs",
        includes: "#include \"acl/acl.h\"\n#include \"acl/weir_acl.h\"\n",
        wanted: "(acl|ACL|weir_acl).*",
        known: &["weir_kernel"],
        heading: &[
            "//! The emulated CANN interface as `cargo xtask bindgen` read it from `include/acl`; do not edit.",
            LICENCE,
            "use crate::bindings::weir_kernel;",
        ],
    },
];

fn ffi() -> PathBuf {
    Path::new(env!("CARGO_MANIFEST_DIR")).join("../../ffi")
}

fn write() -> Result<String, String> {
    for output in &OUTPUTS {
        let (text, path) = (generate(output)?, ffi().join(output.file));
        std::fs::write(&path, text).map_err(|error| format!("cannot write {}: {error}", path.display()))?;
    }
    Ok(format!("wrote {}", files()))
}

fn check() -> Result<String, String> {
    for output in &OUTPUTS {
        let (text, path) = (generate(output)?, ffi().join(output.file));
        let committed = std::fs::read_to_string(&path);
        let committed = committed.map_err(|error| format!("cannot read {}: {error}", path.display()))?;
        if let Some(line) = first_difference(&committed, &text) {
            return Err(format!(
                "ffi/{} is not what the headers give, from line {line} on; run `cargo xtask bindgen`",
                output.file
            ));
        }
    }
    Ok(format!("what the headers give: {}", files()))
}

fn files() -> String {
    OUTPUTS.map(|output| format!("ffi/{}", output.file)).join(" ")
}

/// The first line, counted from 1, in which two texts differ.
fn first_difference(one: &str, other: &str) -> Option<usize> {
    if one == other {
        return None;
    }
    let same = one.lines().zip(other.lines()).take_while(|(one, other)| one == other);
    Some(same.count() + 1)
}

fn generate(output: &Output) -> Result<String, String> {
    let rust = RustTarget::stable(MINOR, 0).map_err(|error| format!("bindgen knows no Rust 1.{MINOR}: {error}"))?;
    // Comments become documentation, whatever their kind.
    let mut builder = Builder::default()
        .header_contents("all.h", output.includes)
        .clang_arg(format!("-I{}", ffi().join("include").display()))
        .clang_args(["-std=c11", "-fparse-all-comments"])
        .clang_args(compiler_headers())
        .allowlist_item(output.wanted)
        .use_core()
        .default_enum_style(EnumVariation::ModuleConsts)
        .prepend_enum_name(false)
        .derive_default(false)
        .rust_edition(RustEdition::Edition2024)
        .rust_target(rust)
        .formatter(Formatter::Prettyplease)
        .disable_header_comment();
    for known in output.known {
        builder = builder.blocklist_type(known);
    }
    for line in output.heading {
        builder = builder.raw_line(*line);
    }
    let bindings = builder.generate().map_err(|error| format!("bindgen: {error}"))?;
    // Sizes are those of a machine of 64 bits.
    let checked = "#[cfg(target_pointer_width = \"64\")]\nconst _: () = {";
    Ok(bindings.to_string().replace("const _: () = {", checked))
}

/// The C compiler's own headers (`stddef.h`), searched last: libclang alone comes without.
fn compiler_headers() -> Vec<String> {
    let output = std::process::Command::new("cc").arg("-print-file-name=include").output();
    let folder = output.ok().and_then(|output| String::from_utf8(output.stdout).ok());
    match folder.map(|folder| folder.trim().to_owned()) {
        Some(folder) if Path::new(&folder).is_dir() => vec!["-idirafter".into(), folder],
        _ => Vec::new(),
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn the_first_different_line_is_found() {
        assert_eq!(first_difference("a\nb\n", "a\nb\n"), None);
        assert_eq!(first_difference("a\nb\n", "a\nc\n"), Some(2));
        assert_eq!(first_difference("a\n", "a\nb\n"), Some(2));
    }
}
