//! The viewer's figures: what its window takes to open a long log and to draw it, without a display.

use crate::commands::simulate;
use crate::failure::Failure;
use crate::project;
use crate::replay::table;
use crate::step;
use serde_json::{Map, Value};
use std::path::{Path, PathBuf};
use std::process::{Command, Stdio};

/// Steps of the simulated program whose log is taken where none is named: they make ten million events.
const STEPS: u64 = 9_900_000;
const SEED: u64 = 1;

/// A figure: its name, what it may be at most, what it is.
const GOALS: [(&str, Option<f64>, &str); 8] = [
    ("events", None, "records of the log"),
    ("first_picture_ms", Some(3000.0), "from the file on disk to the first picture, on the wall's clock"),
    ("frame_p50_ms", Some(8.0), "the median frame of a walk over all pages: CPU time of the window's thread"),
    ("frame_max_ms", Some(16.0), "the dearest one"),
    ("quads_max", Some(20_000.0), "pairs of triangles of a frame"),
    ("vertex_bytes_max", Some(3e6), "bytes of their corners"),
    ("state_at_ms_max", Some(50.0), "the exact state of a pool at any event"),
    ("rss_bytes", Some(1.2e9), "the most that the process ever had in memory"),
];

/// What the viewer measured of itself.
pub(crate) struct Figures(Map<String, Value>);

impl Figures {
    /// Of this log, or else of one that the simulation makes once.
    pub(crate) fn measure(log: Option<&Path>) -> Result<Self, Failure> {
        let log = log.map_or_else(made, |log| Ok(log.to_owned()))?;
        tell!("building the window; the first time this takes minutes");
        let program = build()?;
        let mut command = Command::new(program);
        command.arg("--measure").arg(&log).stderr(Stdio::inherit());
        let typed = step::typed(&command);
        let output = command.output().map_err(|error| Failure::Failed(format!("cannot run `{typed}`: {error}")))?;
        match output.status.code() {
            Some(0) => Self::parse(&String::from_utf8_lossy(&output.stdout)),
            Some(code) => Err(Failure::Said(u8::try_from(code).unwrap_or(1))),
            None => Err(Failure::Failed(format!("`{typed}` ended: {}", output.status))),
        }
    }

    /// From lines of a name and a number each.
    fn parse(lines: &str) -> Result<Self, Failure> {
        let value = |name: &str| {
            let line = lines.lines().find_map(|line| line.strip_prefix(name)?.strip_prefix(' '));
            line.and_then(|number| serde_json::from_str::<serde_json::Number>(number).ok())
        };
        let one = |goal: &(&str, Option<f64>, &str)| {
            let number = value(goal.0).ok_or_else(|| Failure::Failed(format!("the viewer measured no {}", goal.0)))?;
            Ok((goal.0.to_owned(), Value::Number(number)))
        };
        Ok(Self(GOALS.iter().map(one).collect::<Result<_, Failure>>()?))
    }

    /// Name to number.
    pub(crate) fn object(self) -> Value {
        Value::Object(self.0)
    }

    /// For people: each figure, its goal, what it is.
    pub(crate) fn table(&self) -> String {
        let goal = |most: Option<f64>| most.map_or("-".to_owned(), |most| format!("{most}"));
        let rows: Vec<Vec<String>> = GOALS
            .iter()
            .map(|(name, most, _)| vec![(*name).to_owned(), self.0[*name].to_string(), goal(*most)])
            .collect();
        let about = std::iter::once("").chain(GOALS.iter().map(|goal| goal.2));
        let lines = table(&["", "", "at most"], &rows);
        lines.lines().zip(about).map(|(line, about)| format!("{line}   {about}").trim_end().to_owned() + "\n").collect()
    }
}

/// The window's program, with optimisation.
fn build() -> Result<PathBuf, Failure> {
    let words = ["build", "--quiet", "--release", "--package", "weir-viz", "--features", "window", "--bin", "weir-viz"];
    let files = project::built(&mut project::cargo(words))?;
    let program = files.into_iter().find(|file| file.file_stem().is_some_and(|name| name == "weir-viz"));
    program.ok_or_else(|| Failure::Failed("cargo built no program weir-viz".into()))
}

/// The log of the simulation; made where it is not there yet.
fn made() -> Result<PathBuf, Failure> {
    let folder = project::output("weir");
    std::fs::create_dir_all(&folder).map_err(|error| Failure::file("create", &folder, error))?;
    let log = folder.join(format!("sim-{SEED}-{STEPS}.log"));
    if log.exists() {
        return Ok(log);
    }
    tell!("simulating {STEPS} steps for a log of ten million events: {}", project::shown(&log));
    let half = log.with_extension("new");
    let mut command = simulate(SEED, STEPS, &half);
    step::run("the simulation", command.stdout(Stdio::null()))?;
    std::fs::rename(&half, &log).map_err(|error| Failure::file("write", &log, error))?;
    Ok(log)
}

#[cfg(test)]
mod tests {
    use super::*;

    const LINES: &str = "events 10\nfirst_picture_ms 1.5\nframe_p50_ms 0.25\nframe_max_ms 2.00\nquads_max 7\n\
        vertex_bytes_max 560\nstate_at_ms_max 0.01\nrss_bytes 4096\n";

    #[test]
    fn the_object_has_exactly_the_figures() {
        let names =
            "events first_picture_ms frame_p50_ms frame_max_ms quads_max vertex_bytes_max state_at_ms_max rss_bytes";
        let object = Figures::parse(LINES).expect("parses").object();
        let mut known: Vec<&String> = object.as_object().expect("is one").keys().collect();
        known.sort_unstable();
        let mut wanted: Vec<&str> = names.split(' ').collect();
        wanted.sort_unstable();
        assert_eq!(known, wanted);
        assert_eq!((object["events"].as_u64(), object["frame_max_ms"].as_f64()), (Some(10), Some(2.0)));
    }

    #[test]
    fn a_figure_that_is_missing_is_named() {
        let error = Figures::parse(&LINES.replace("quads_max", "quads")).err().map(|error| error.to_string());
        assert!(error.is_some_and(|text| text.contains("quads_max")));
    }

    #[test]
    fn the_table_has_goals_beside_the_figures() {
        let table = Figures::parse(LINES).expect("parses").table();
        let line = table.lines().find(|line| line.starts_with("vertex_bytes_max")).expect("has it");
        let words: Vec<&str> = line.split_whitespace().take(3).collect();
        assert_eq!(words, ["vertex_bytes_max", "560", "3000000"]);
    }
}
