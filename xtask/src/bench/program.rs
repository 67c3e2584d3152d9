//! The program that is measured, alone and under the profiler.

use super::callgrind::{self, COUNTED};
use crate::failure::Failure;
use crate::project;
use crate::step;
use std::path::PathBuf;
use std::process::Command;

/// The program of the package `weir-bench`.
#[derive(Debug)]
pub(crate) struct Program {
    path: PathBuf,
    /// Where profiles go.
    folder: PathBuf,
    /// It tells the profiler where counting begins.
    begins: bool,
}

/// One run under the profiler.
#[derive(Debug)]
pub(crate) struct Profile {
    /// What callgrind wrote.
    pub(crate) text: String,
    /// What the program printed.
    pub(crate) lines: Vec<String>,
}

impl Program {
    /// Builds it, with optimisation.
    pub(crate) fn build() -> Result<Self, Failure> {
        let mut command = project::cargo(["build", "--quiet", "--release", "--package", "weir-bench"]);
        let files = project::built(&mut command)?;
        let path = files.into_iter().find(|file| file.file_stem().is_some_and(|name| name == "weir-bench"));
        let path = path.ok_or_else(|| Failure::Failed("cargo built no program weir-bench".into()))?;
        let folder = project::output("bench");
        std::fs::create_dir_all(&folder).map_err(|error| Failure::file("create", &folder, error))?;
        let mut program = Self { path, folder, begins: false };
        program.begins = program.lines(&["begins"])?.iter().any(|line| line == "true");
        Ok(program)
    }

    /// What it prints.
    pub(crate) fn lines(&self, words: &[&str]) -> Result<Vec<String>, Failure> {
        run(Command::new(&self.path).args(words))
    }

    /// Instructions for each of what it did.
    pub(crate) fn each(&self, words: &[&str]) -> Result<f64, Failure> {
        let profile = self.profile(words)?;
        Ok(profile.total()? as f64 / profile.number()?)
    }

    /// Runs it under the profiler, which counts where it is told to.
    pub(crate) fn profile(&self, words: &[&str]) -> Result<Profile, Failure> {
        self.profile_with(words, &[])
    }

    /// The same, and each time that one of these functions is left its count is written apart.
    pub(crate) fn profile_with(&self, words: &[&str], apart: &[&str]) -> Result<Profile, Failure> {
        let out = self.folder.join(format!("callgrind.{}.out", std::process::id()));
        let mut command = Command::new("valgrind");
        // Nothing of the surroundings, whose size moves the stack, and with it what copying takes.
        command.env_clear().args(["--quiet", "--tool=callgrind", "--combine-dumps=yes", COUNTED]);
        if self.begins {
            command.arg("--instr-atstart=no");
        }
        command.args(apart.iter().map(|function| format!("--dump-after={function}")));
        command.arg(format!("--callgrind-out-file={}", out.display()));
        let lines = run(command.arg(&self.path).args(words))?;
        let text = std::fs::read_to_string(&out).map_err(|error| Failure::file("read", &out, error))?;
        // It is large, and read.
        let _ = std::fs::remove_file(&out);
        Ok(Profile { text, lines })
    }
}

impl Profile {
    /// All instructions that were counted.
    pub(crate) fn total(&self) -> Result<u64, Failure> {
        let total = callgrind::total(&self.text).filter(|total| *total > 0);
        total.ok_or_else(|| Failure::Failed("the profiler counted nothing".into()))
    }

    /// The number that the program printed: what was done so many times.
    pub(crate) fn number(&self) -> Result<f64, Failure> {
        let number = self.lines.first().and_then(|line| line.parse::<f64>().ok()).filter(|number| *number > 0.0);
        number.ok_or_else(|| Failure::Failed(format!("no number in {:?}", self.lines)))
    }
}

fn run(command: &mut Command) -> Result<Vec<String>, Failure> {
    let typed = step::typed(command);
    let output = command.output().map_err(|error| Failure::Failed(format!("cannot run `{typed}`: {error}")))?;
    if !output.status.success() {
        let said = String::from_utf8_lossy(&output.stderr).trim().to_owned();
        return Err(Failure::Failed(format!("{said}\nrepeat it with: {typed}")));
    }
    Ok(String::from_utf8_lossy(&output.stdout).lines().map(str::to_owned).collect())
}
