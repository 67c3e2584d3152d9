//! The committed counts, and whether new ones are worse.

use super::figure::Measured;
use crate::failure::Failure;
use crate::project;
use crate::replay::table;
use serde_json::{Map, Value, json};
use std::path::{Path, PathBuf};

/// A figure may be so much above the baseline.
const SLACK: f64 = 1.03;

/// Counts that were committed, and the compiler of the program that they are of.
#[derive(Clone, Debug, PartialEq)]
pub(crate) struct Baseline {
    pub(crate) compiler: String,
    figures: Map<String, Value>,
}

/// A figure beside its baseline.
#[derive(Clone, Debug, PartialEq)]
pub(crate) struct Compared {
    pub(crate) name: &'static str,
    pub(crate) now: f64,
    /// `None`: the baseline has no such figure.
    pub(crate) before: Option<f64>,
}

/// What came of it.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
#[must_use]
pub(crate) enum Verdict {
    Same,
    Better,
    Worse,
    New,
}

impl Compared {
    pub(crate) fn verdict(&self) -> Verdict {
        match self.before {
            None => Verdict::New,
            Some(before) if self.now > before * SLACK => Verdict::Worse,
            Some(before) if self.now * SLACK < before => Verdict::Better,
            Some(_) => Verdict::Same,
        }
    }

    /// `pair_loop_instructions   180.0   200.0   +11.1 %   worse`.
    pub(crate) fn row(&self) -> Vec<String> {
        let before = self.before.map_or("-".into(), |before| format!("{before:.1}"));
        let change = self.before.map_or("-".into(), |before| format!("{:+.1} %", (self.now / before - 1.0) * 100.0));
        let said = match self.verdict() {
            Verdict::Same => "",
            Verdict::Better => "better",
            Verdict::Worse => "worse",
            Verdict::New => "new",
        };
        vec![self.name.to_owned(), before, format!("{:.1}", self.now), change, said.to_owned()]
    }
}

/// The compiler that builds what is measured.
pub(crate) fn compiler() -> String {
    project::first_line("rustc", &["--version"]).unwrap_or_else(|| "unknown".into())
}

/// The file of the instruction counts.
pub(crate) fn counts() -> PathBuf {
    project::root().join("xtask/bench/baseline.json")
}

/// The file of the sizes on bare metal.
pub(crate) fn sizes() -> PathBuf {
    project::root().join("xtask/bench/sizes.json")
}

impl Baseline {
    /// These figures as a baseline.
    pub(crate) fn of(compiler: String, measured: &[Measured]) -> Self {
        Self { compiler, figures: measured.iter().map(|m| (m.name.to_owned(), json!(m.value))).collect() }
    }

    fn parse(text: &str) -> Result<Self, String> {
        let value: Value = serde_json::from_str(text).map_err(|error| error.to_string())?;
        let compiler = value["compiler"].as_str().ok_or("no `compiler`")?.to_owned();
        let figures = value["figures"].as_object().ok_or("no `figures`")?.clone();
        Ok(Self { compiler, figures })
    }

    fn text(&self) -> String {
        let value = json!({ "compiler": self.compiler, "figures": self.figures });
        format!("{value:#}\n")
    }

    /// The committed one of a file.
    pub(crate) fn read(path: &Path) -> Result<Self, Failure> {
        let text = std::fs::read_to_string(path).map_err(|error| Failure::file("read", path, error))?;
        Self::parse(&text).map_err(|error| Failure::file("understand", path, error))
    }

    /// Makes it the one to be committed.
    pub(crate) fn write(&self, path: &Path) -> Result<(), Failure> {
        weir_viz::output::bytes(path, self.text().as_bytes())
            .map_err(|(path, error)| Failure::file("write", &path, error))?;
        tell!("written: {}", project::shown(path));
        Ok(())
    }

    /// The figures beside the new ones.
    pub(crate) fn table(&self, measured: &[Measured]) -> String {
        let rows: Vec<Vec<String>> = self.compare(measured).iter().map(Compared::row).collect();
        table(&["", "baseline", "now", "", ""], &rows)
    }

    /// Fails where a figure is worse; `command` repeats the comparison.
    pub(crate) fn judge(&self, measured: &[Measured], command: &str) -> Result<(), Failure> {
        let compared = self.compare(measured);
        let compiler = compiler();
        let other = if compiler == self.compiler {
            String::new()
        } else {
            format!("; the baseline was counted with {}, this with {compiler}", self.compiler)
        };
        let worse: Vec<&str> = compared.iter().filter(|c| c.verdict() == Verdict::Worse).map(|c| c.name).collect();
        if worse.is_empty() {
            return Ok(());
        }
        let text = format!("more than 3 % above the baseline: {}{other}", worse.join(", "));
        Err(Failure::Failed(format!("{text}\nrepeat it with: {command}")))
    }

    pub(crate) fn compare(&self, measured: &[Measured]) -> Vec<Compared> {
        let before = |name: &str| self.figures.get(name).and_then(Value::as_f64);
        measured.iter().map(|m| Compared { name: m.name, now: m.value, before: before(m.name) }).collect()
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::bench::figure::FIGURES;

    fn measured(name: &'static str, value: f64) -> Measured {
        Measured { name, value }
    }

    #[test]
    fn three_in_a_hundred_are_allowed() {
        let baseline = Baseline::of("rustc 1".into(), &[measured("a", 1000.0), measured("b", 200.0)]);
        let compared = |a| baseline.compare(&[measured("a", a)]).first().map(Compared::verdict);
        assert_eq!(compared(1030.0), Some(Verdict::Same));
        assert_eq!(compared(1030.1), Some(Verdict::Worse));
        assert_eq!(compared(980.0), Some(Verdict::Same));
        assert_eq!(compared(900.0), Some(Verdict::Better));
        let new = baseline.compare(&[measured("c", 1.0)]);
        assert_eq!(new.iter().map(Compared::verdict).collect::<Vec<_>>(), [Verdict::New]);
    }

    #[test]
    fn a_worse_figure_is_shown_with_its_change() {
        let row = Compared { name: "a", now: 220.0, before: Some(200.0) }.row();
        assert_eq!(row, ["a", "200.0", "220.0", "+10.0 %", "worse"]);
        let row = Compared { name: "a", now: 220.0, before: None }.row();
        assert_eq!(row, ["a", "-", "220.0", "-", "new"]);
    }

    #[test]
    fn what_is_written_can_be_read() {
        let baseline = Baseline::of("rustc 1".into(), &[measured("a", 1000.5)]);
        assert_eq!(Baseline::parse(&baseline.text()), Ok(baseline));
        for text in ["", "{}", r#"{"compiler": 1, "figures": {}}"#, r#"{"compiler": "x"}"#] {
            assert!(Baseline::parse(text).is_err(), "{text}");
        }
    }

    #[test]
    fn the_committed_one_holds_every_figure_that_is_checked() {
        let baseline = Baseline::read(&counts()).expect("is there");
        let checked: Vec<&str> = FIGURES.iter().filter(|f| f.is_checked()).map(|f| f.name).collect();
        let held: Vec<&str> = baseline.figures.keys().map(String::as_str).collect();
        assert!(checked.iter().all(|name| held.contains(name)), "{held:?}");
        assert_eq!(checked.len(), held.len());
    }
}
