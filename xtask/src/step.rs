//! Steps of `test` and `ci`: a header each, and, where one fails, its name and the command that repeats it.

use crate::failure::Failure;
use std::process::Command;
use std::sync::Mutex;
use std::time::Instant;

/// Runs one command as a step.
pub(crate) fn run(name: &str, command: &mut Command) -> Result<(), Failure> {
    let begun = Instant::now();
    last(name, command)?;
    say!("    {name}: {:.1} s", begun.elapsed().as_secs_f64());
    Ok(())
}

/// The last step: what its command prints last ends the output.
pub(crate) fn last(name: &str, command: &mut Command) -> Result<(), Failure> {
    let text = typed(command);
    say!("\n==> {name}\n    {text}");
    let status = command
        .status()
        .map_err(|error| Failure::Failed(format!("step `{name}` could not start: {error}\nrepeat it with: {text}")))?;
    if status.success() {
        return Ok(());
    }
    Err(Failure::Failed(format!("step `{name}` failed ({status})\nrepeat it with: {text}")))
}

/// A header for a step that is not a single command.
pub(crate) fn header(name: &str) {
    say!("\n==> {name}");
}

static SKIPPED: Mutex<Vec<String>> = Mutex::new(Vec::new());

/// Says which part is left out, and why. A reason tells what to do about it.
pub(crate) fn skip(part: &str, reason: &str) {
    let line = format!("skipped: {part} ({reason})");
    say!("{line}");
    if let Ok(mut skipped) = SKIPPED.lock() {
        skipped.push(line);
    }
}

/// Says again what was left out. Called before the last step, whose own last line ends the output.
pub(crate) fn say_skipped() {
    if let Ok(skipped) = SKIPPED.lock() {
        say!("\n==> left out: {}", if skipped.is_empty() { "nothing" } else { "" });
        skipped.iter().for_each(|line| say!("    {line}"));
    }
}

/// The command as a person would type it in the root, with the environment that was set for it.
pub(crate) fn typed(command: &Command) -> String {
    let settings = command.get_envs().filter_map(|(name, value)| {
        let value = value?.to_string_lossy().into_owned();
        Some(format!("{}={}", name.to_string_lossy(), quoted(&value)))
    });
    let program = std::path::Path::new(command.get_program());
    let program = program.file_name().unwrap_or_default().to_string_lossy().into_owned();
    let arguments = command.get_args().map(|argument| quoted(&argument.to_string_lossy()));
    settings.chain([program]).chain(arguments).collect::<Vec<_>>().join(" ")
}

/// The words of a line as a shell takes it apart, single quotes being the only ones.
#[cfg(test)]
pub(crate) fn words(line: &str) -> Vec<String> {
    let mut words: Vec<String> = Vec::new();
    for (at, part) in line.split('\'').enumerate() {
        match at % 2 {
            0 => words.extend(part.split_whitespace().map(str::to_owned)),
            _ => words.push(part.to_owned()),
        }
    }
    words
}

fn quoted(word: &str) -> String {
    let plain = |c: char| c.is_ascii_alphanumeric() || "-_=./,:+".contains(c);
    if !word.is_empty() && word.chars().all(plain) {
        return word.to_owned();
    }
    format!("'{}'", word.replace('\'', r"'\''"))
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_command_is_shown_as_it_is_typed() {
        let mut command = Command::new("/usr/bin/cargo");
        command.args(["doc", "--no-deps"]).env("RUSTDOCFLAGS", "-D warnings");
        assert_eq!(typed(&command), "RUSTDOCFLAGS='-D warnings' cargo doc --no-deps");
    }

    #[test]
    fn a_failing_step_names_itself_and_its_command() {
        let error = run("the impossible", &mut Command::new("false")).expect_err("false succeeds");
        let text = error.to_string();
        assert!(text.contains("the impossible") && text.contains("repeat it with: false"), "{text}");
    }
}
