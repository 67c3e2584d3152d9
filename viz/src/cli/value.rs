//! What stands behind an option.

use super::UsageError;
use super::picture::Form;
use crate::model::{Axis, By};
use crate::png;
use crate::scene::{ColorBy, Page, SMALLEST, Size, Theme};
use crate::search::Query;
use std::path::PathBuf;

/// A name for a picture.
pub(super) fn drawable(out: PathBuf) -> Result<PathBuf, UsageError> {
    match Form::of(&out) {
        Ok(_) => Ok(out),
        Err(error) => Err(UsageError(format!("--screenshot {error}"))),
    }
}

pub(super) fn size(text: &str) -> Result<Size, UsageError> {
    let bad = || {
        let (least, most) = (format!("{}x{}", SMALLEST.w, SMALLEST.h), png::MOST_PIXELS);
        UsageError(format!("--size {text}: expected WIDTHxHEIGHT from {least} to {most}x{most}, such as 1600x1000"))
    };
    let (w, h) = text.split_once(['x', 'X']).ok_or_else(bad)?;
    let (w, h): (u16, u16) = (w.parse().map_err(|_| bad())?, h.parse().map_err(|_| bad())?);
    let size = Size { w: f32::from(w), h: f32::from(h) };
    let large = size.w >= SMALLEST.w && size.h >= SMALLEST.h;
    let small = u32::from(w.max(h)) <= png::MOST_PIXELS;
    if large && small { Ok(size) } else { Err(bad()) }
}

pub(super) fn scale(text: &str) -> Result<f32, UsageError> {
    let scale = text.parse().ok().filter(|s| (0.25..=8.0).contains(s));
    scale.ok_or_else(|| UsageError(format!("--scale {text}: expected a number from 0.25 to 8")))
}

pub(super) fn axis(text: &str) -> Result<Axis, UsageError> {
    match text {
        "record" => Ok(Axis::Record),
        "time" => Ok(Axis::Time),
        _ => Err(UsageError(format!("--axis {text}: expected `record` or `time`"))),
    }
}

pub(super) fn page(text: &str) -> Result<Page, UsageError> {
    let names = || Page::ALL.iter().map(|page| format!("`{}`", page.name())).collect::<Vec<_>>().join(", ");
    Page::named(text).ok_or_else(|| UsageError(format!("--view {text}: expected one of {}", names())))
}

/// An address and the number of a record.
pub(super) fn free(text: &str) -> Result<(u64, u64), UsageError> {
    let number = |word: &str| match word.strip_prefix("0x") {
        Some(hex) => u64::from_str_radix(hex, 16).ok(),
        None => word.parse().ok(),
    };
    let parts = text.split_once('@').and_then(|(address, record)| Some((number(address)?, number(record)?)));
    parts.ok_or_else(|| UsageError(format!("--free {text}: expected ADDRESS@RECORD, such as 0x200000@812")))
}

pub(super) fn stack(text: &str) -> Result<By, UsageError> {
    By::named(text).ok_or_else(|| UsageError(format!("--stack {text}: expected `label`, `stream` or `size`")))
}

pub(super) fn color(text: &str) -> Result<ColorBy, UsageError> {
    ColorBy::named(text)
        .ok_or_else(|| UsageError(format!("--color {text}: expected `stream`, `label`, `age` or `source`")))
}

pub(super) fn query(text: String) -> Result<String, UsageError> {
    match Query::parse(&text) {
        Ok(_) => Ok(text),
        Err(error) => Err(UsageError(format!("--find {error}"))),
    }
}

pub(super) fn theme(text: &str) -> Result<Theme, UsageError> {
    match text {
        "light" => Ok(Theme::Light),
        "dark" => Ok(Theme::Dark),
        _ => Err(UsageError(format!("--theme {text}: expected `light` or `dark`"))),
    }
}
