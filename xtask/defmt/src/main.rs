//! Compares the frames that an image sent through defmt with the binary log of the same run, record by record. A package of
//! its own, since the decoder takes longer to build than what `cargo xtask` needs. Called by
//! `cargo xtask firmware --defmt`: `weir-defmt IMAGE FRAMES LOG`.

use defmt_decoder::{DecodeError, Table};
use std::process::ExitCode;
use weir::trace::Reader;

fn main() -> ExitCode {
    let files: Vec<String> = std::env::args().skip(1).collect();
    let outcome = match files.as_slice() {
        [image, frames, log] => compare(image, frames, log),
        _ => Err("expected three files: the image, the frames and the log".to_owned()),
    };
    match outcome {
        Ok(records) => {
            println!("defmt: {records} records, as in the binary log");
            ExitCode::SUCCESS
        }
        Err(text) => {
            eprintln!("error: {text}");
            ExitCode::FAILURE
        }
    }
}

fn read(file: &str) -> Result<Vec<u8>, String> {
    std::fs::read(file).map_err(|error| format!("cannot read {file}: {error}"))
}

/// How many records are the same in both.
fn compare(image: &str, frames: &str, log: &str) -> Result<usize, String> {
    let (image, frames, log) = (read(image)?, read(frames)?, read(log)?);
    let sent = decode(&image, &frames)?;
    let written: Vec<String> = Reader::new(&log)
        .map(|found| found.map(|stamped| format!("{stamped:?}")))
        .collect::<Result<_, _>>()
        .map_err(|damage| format!("the log is damaged: {damage}"))?;
    if let Some(place) = sent.iter().zip(&written).position(|(sent, written)| sent != written) {
        return Err(format!("record {place} differs:\n  defmt: {}\n  log:   {}", sent[place], written[place]));
    }
    if sent.len() != written.len() || sent.is_empty() {
        return Err(format!("{} records came through defmt, {} are in the log", sent.len(), written.len()));
    }
    Ok(sent.len())
}

/// The text of every frame.
fn decode(image: &[u8], frames: &[u8]) -> Result<Vec<String>, String> {
    let table = Table::parse(image).map_err(|error| format!("the image's table: {error}"))?;
    let table = table.ok_or("the image has no table of defmt's")?;
    let mut decoder = table.new_stream_decoder();
    decoder.received(frames);
    let mut texts = Vec::new();
    loop {
        match decoder.decode() {
            Ok(frame) => texts.push(frame.display_message().to_string()),
            Err(DecodeError::UnexpectedEof) => return Ok(texts),
            Err(DecodeError::Malformed) => return Err(format!("frame {} is malformed", texts.len())),
        }
    }
}
