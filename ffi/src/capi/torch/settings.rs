//! What the environment says.

use super::super::failure::Failure;
use crate::environment::variable;
use crate::log_sink::place;
use crate::size;
use crate::vendor::Vendor;
use core::fmt::Display;
use std::ffi::{CString, OsString};
use std::os::unix::ffi::OsStrExt;
use std::path::PathBuf;
use weir::policy::Reuse;
use weir::units::Bytes;

const DRIVER: &str = "WEIR_TORCH_DRIVER";
pub(super) const LIMIT: &str = "WEIR_TORCH_LIMIT";
const THRESHOLD: &str = "WEIR_TORCH_THRESHOLD";
const REUSE: &str = "WEIR_TORCH_REUSE";
pub(super) const LOG: &str = "WEIR_TORCH_LOG";

/// Whose memory it is.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(super) enum Source {
    Host,
    Vendor(Vendor),
}

/// What a device is opened with.
#[derive(Debug)]
pub(super) struct Settings {
    pub(super) source: Source,
    /// 0: the device's total.
    pub(super) limit: Bytes,
    pub(super) threshold: Bytes,
    pub(super) reuse: Reuse,
    pub(super) log: Option<PathBuf>,
}

impl Settings {
    /// The settings for a device, as they are now.
    pub(super) fn read(device: u32) -> Result<Self, Failure> {
        Ok(Self {
            source: read(DRIVER, "cuda, hip, acl or host", source)?.map_or_else(loaded, Ok)?,
            limit: read(LIMIT, size::EXPECTED, size::parse)?.map_or(Bytes::ZERO, Bytes),
            threshold: read(THRESHOLD, format_args!("0, or {}", size::EXPECTED), threshold)?.map_or(Bytes::ZERO, Bytes),
            reuse: read(REUSE, "all, none, or some of event, opportunistic, internal with commas between", reuse)?
                .unwrap_or(Reuse::all()),
            log: variable(LOG).filter(|path| !path.is_empty()).map(|path| place(&path, device)),
        })
    }
}

/// A variable, where it is set and `parse` understands it.
fn read<T>(name: &str, expected: impl Display, parse: impl Fn(&str) -> Option<T>) -> Result<Option<T>, Failure> {
    let Some(value) = variable(name) else { return Ok(None) };
    let bad = || Failure::invalid(format!("{name} is {value:?}: expected {expected}"));
    value.to_str().and_then(parse).map(Some).ok_or_else(bad)
}

fn source(text: &str) -> Option<Source> {
    if text.eq_ignore_ascii_case("host") {
        return Some(Source::Host);
    }
    Vendor::ALL.into_iter().find(|vendor| text.eq_ignore_ascii_case(vendor.name())).map(Source::Vendor)
}

fn threshold(text: &str) -> Option<u64> {
    if text.trim() == "0" { Some(0) } else { size::parse(text) }
}

fn reuse(text: &str) -> Option<Reuse> {
    match text {
        "all" => return Some(Reuse::all()),
        "none" => return Some(Reuse::empty()),
        _ => {}
    }
    text.split(',').try_fold(Reuse::empty(), |found, name| {
        Some(found.union(match name.trim() {
            "event" => Reuse::EVENT,
            "opportunistic" => Reuse::OPPORTUNISTIC,
            "internal" => Reuse::INTERNAL,
            _ => return None,
        }))
    })
}

/// The vendor whose library the process has loaded already, as a framework has before it allocates.
fn loaded() -> Result<Source, Failure> {
    let found: Vec<Vendor> = Vendor::ALL.into_iter().filter(|vendor| is_loaded(*vendor)).collect();
    match found.as_slice() {
        [one] => Ok(Source::Vendor(*one)),
        [] => {
            let text = "neither CUDA's, HIP's nor ACL's library is loaded";
            Err(Failure::invalid(format!("{text}: set {DRIVER} to cuda, hip, acl or host")))
        }
        several => {
            let names: Vec<_> = several.iter().map(|vendor| vendor.name()).collect();
            let text = format!("the libraries of {} are loaded", names.join(" and "));
            Err(Failure::invalid(format!("{text}: set {DRIVER} to the one that is meant")))
        }
    }
}

fn is_loaded(vendor: Vendor) -> bool {
    let named = variable(vendor.variable());
    let usual = || vendor.libraries().iter().map(OsString::from).collect();
    let names: Vec<OsString> = named.map_or_else(usual, |name| vec![name]);
    names.iter().any(|name| {
        let Ok(name) = CString::new(name.as_bytes()) else { return false };
        // SAFETY: a C string; the flag makes it a question, so that no code of the library's runs.
        let handle = unsafe { libc::dlopen(name.as_ptr(), libc::RTLD_LAZY | libc::RTLD_NOLOAD) };
        if handle.is_null() {
            return false;
        }
        // SAFETY: just opened; whoever loaded the library keeps it.
        unsafe { libc::dlclose(handle) };
        true
    })
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn words_are_read_and_nonsense_is_not() {
        assert_eq!(source("host"), Some(Source::Host));
        assert_eq!(source("cuda"), Some(Source::Vendor(Vendor::Cuda)));
        assert_eq!(source("ACL"), Some(Source::Vendor(Vendor::Acl)));
        assert_eq!(reuse("all"), Some(Reuse::all()));
        assert_eq!(reuse("none"), Some(Reuse::empty()));
        assert_eq!(reuse("event, internal"), Some(Reuse::EVENT | Reuse::INTERNAL));
        assert_eq!((threshold("0"), threshold("2MiB"), threshold("-1")), (Some(0), Some(2 << 20), None));
        for text in ["", "rocm", "cuda "] {
            assert_eq!(source(text), None, "{text}");
        }
        for text in ["", "events", "event,,internal", "all,event", "7"] {
            assert_eq!(reuse(text), None, "{text}");
        }
    }
}
