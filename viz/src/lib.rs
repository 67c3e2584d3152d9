//! Source, model and scene: from the event log to pictures.
//!
//! A log is read (`source`) into tables (`model`), from which a picture is laid out (`scene`). The same scene becomes
//! an SVG, a PNG, or what a window paints. Model and scene know neither files nor a user interface.

#![forbid(unsafe_code)]

pub mod answer;
pub mod check;
pub mod cli;
pub mod compare;
pub mod decode;
pub mod explain;
pub mod export;
pub mod floor;
pub mod follow;
pub mod font;
pub mod import;
pub mod model;
pub mod origin;
pub mod output;
pub mod part;
pub mod png;
pub mod progress;
pub mod reach;
pub mod rebuild;
pub mod report;
pub mod scene;
pub mod search;
pub mod session;
pub mod source;
pub mod svg;
pub mod table;
pub mod terminal;
pub mod unpack;
pub mod words;
