//! `pictures`: the pictures of the README, drawn anew.

use crate::commands::read_log;
use crate::failure::Failure;
use crate::project;
use crate::replay::{self, On, Options, Simulated};
use clap::{Arg, ArgAction, ArgMatches, Command};
use std::path::Path;
use weir::policy::Reuse;
use weir_viz::cli::{Asked, Picture};
use weir_viz::progress::Progress;
use weir_viz::scene::{Page, Size, Theme};

/// No picture is larger: they are part of every clone.
const MOST_BYTES: u64 = 200_000;

/// Where the committed ones lie.
const COMMITTED: &str = "examples/pictures";

/// A picture of the README.
struct Shot {
    name: &'static str,
    page: Page,
    theme: Theme,
    size: Size,
    /// The allocation that is selected.
    select: Option<u64>,
    /// Beside it the same program on a pool that reuses memory in its own stream only.
    beside: Beside,
}

#[derive(Clone, Copy, PartialEq, Eq)]
enum Beside {
    Nothing,
    OwnStream,
}

const WIDE: Size = Size { w: 1080.0, h: 610.0 };

const SHOTS: &[Shot] = &[
    Shot {
        name: "map-light.png",
        page: Page::Addresses,
        theme: Theme::Light,
        size: WIDE,
        select: Some(9000),
        beside: Beside::Nothing,
    },
    Shot {
        name: "lanes-dark.png",
        page: Page::Lanes,
        theme: Theme::Dark,
        size: WIDE,
        select: Some(9000),
        beside: Beside::Nothing,
    },
    Shot {
        name: "beside-dark.png",
        page: Page::Addresses,
        theme: Theme::Dark,
        size: Size { w: 1160.0, h: 440.0 },
        select: None,
        beside: Beside::OwnStream,
    },
];

pub(crate) fn parser() -> Command {
    Command::new("pictures")
        .about("Draw the pictures of the README: an example's log, replayed in virtual time")
        .arg(
            Arg::new("update")
                .long("update")
                .action(ArgAction::SetTrue)
                .help(format!("Draw them into {COMMITTED}; else into target/pictures")),
        )
        .after_help("Example:\n  cargo xtask pictures --update")
}

pub(crate) fn run(arguments: &ArgMatches) -> Result<(), Failure> {
    let folder =
        if arguments.get_flag("update") { project::root().join(COMMITTED) } else { project::output("pictures") };
    draw_all(&folder)
}

/// Draws all of them into a folder. `test` does, so that they can be drawn whenever it passes.
pub(crate) fn draw_all(folder: &Path) -> Result<(), Failure> {
    let logs = project::output("pictures");
    for folder in [folder, &logs] {
        std::fs::create_dir_all(folder).map_err(|error| Failure::file("create", folder, error))?;
    }
    let [log, other] = ["training.log", "own-stream-only.log"].map(|name| logs.join(name));
    let program = read_log(&project::root().join("examples/traces/two_streams_transformer.csv"), None)?;
    replay::replay(&program, &Options { log: Some(log.clone()), ..Options::new(On::Sim(Simulated::DEFAULT)) })?;
    let reuse = Reuse::empty();
    replay::replay(
        &program,
        &Options { log: Some(other.clone()), reuse, ..Options::new(On::Sim(Simulated::DEFAULT)) },
    )?;
    for shot in SHOTS {
        let out = folder.join(shot.name);
        shot.asked(&other).screenshot(&log, &out, &Progress::default()).map_err(|e| Failure::Failed(e.to_string()))?;
        let bytes = std::fs::metadata(&out).map_err(|error| Failure::file("read", &out, error))?.len();
        if bytes > MOST_BYTES {
            return Err(Failure::Failed(format!("{}: {bytes} bytes, more than {MOST_BYTES}", project::shown(&out))));
        }
        say!("picture: {} ({bytes} bytes)", project::shown(&out));
    }
    Ok(())
}

impl Shot {
    fn asked(&self, other: &Path) -> Asked {
        let Self { page, theme, size, select, .. } = *self;
        let picture = Picture { page, theme, size, select, ..Picture::default() };
        Asked { beside: (self.beside == Beside::OwnStream).then(|| other.to_owned()), picture, ..Asked::default() }
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn the_readme_shows_them_and_no_others() {
        let readme = std::fs::read_to_string(project::root().join("README.md")).expect("is there");
        let shown: Vec<&str> =
            readme.split("](examples/pictures/").skip(1).filter_map(|rest| rest.split(')').next()).collect();
        let names: Vec<&str> = SHOTS.iter().map(|shot| shot.name).collect();
        assert_eq!(shown, names);
        for name in names {
            let file = project::root().join(COMMITTED).join(name);
            let bytes = std::fs::metadata(&file).expect("is committed").len();
            assert!(bytes <= MOST_BYTES, "{name}: {bytes} bytes");
        }
    }
}
