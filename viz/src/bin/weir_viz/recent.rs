//! The logs that were opened last, kept in the user's configuration folder. Where there is none, they are kept as long as
//! the window is open; a damaged list is begun anew.

use etcetera::BaseStrategy;
use std::path::{Path, PathBuf};
use weir_viz::output;

/// How many are kept.
const MOST: usize = 12;
/// A longer file is no such list.
const LONGEST: u64 = 1 << 16;

/// The logs that were opened last, the latest first.
#[derive(Clone, Debug, Default, PartialEq, Eq)]
pub(crate) struct Recent {
    /// Where they are kept.
    list: Option<PathBuf>,
    logs: Vec<PathBuf>,
}

impl Recent {
    /// The user's.
    pub(crate) fn of_user() -> Self {
        let folder = etcetera::choose_base_strategy().ok().map(|user| user.config_dir());
        folder.map_or_else(Self::default, |folder| Self::at(folder.join("weir").join("recent.json")))
    }

    /// Those of this list.
    pub(crate) fn at(list: PathBuf) -> Self {
        let logs = read(&list);
        Self { list: Some(list), logs }
    }

    /// The logs, the latest first.
    pub(crate) fn logs(&self) -> &[PathBuf] {
        &self.logs
    }

    /// This one was opened just now.
    pub(crate) fn note(&mut self, log: &Path) {
        let log = std::path::absolute(log).unwrap_or_else(|_| log.to_owned());
        // Another window may have noted others meanwhile.
        if let Some(list) = &self.list {
            let kept = read(list);
            self.logs = if kept.is_empty() { std::mem::take(&mut self.logs) } else { kept };
        }
        self.logs.retain(|known| *known != log);
        self.logs.insert(0, log);
        self.logs.truncate(MOST);
        self.write();
    }

    /// Where it cannot be written it is not kept: no reason to disturb anyone.
    fn write(&self) {
        let Some(list) = &self.list else { return };
        let names: Vec<&str> = self.logs.iter().filter_map(|log| log.to_str()).collect();
        let Ok(text) = serde_json::to_string_pretty(&names) else { return };
        if let Some(folder) = list.parent() {
            let _ = std::fs::create_dir_all(folder);
        }
        let _ = output::bytes(list, text.as_bytes());
    }
}

fn read(list: &Path) -> Vec<PathBuf> {
    let fits = std::fs::metadata(list).is_ok_and(|found| found.is_file() && found.len() <= LONGEST);
    let text = if fits { std::fs::read(list).unwrap_or_default() } else { Vec::new() };
    let names: Vec<String> = serde_json::from_slice(&text).unwrap_or_default();
    names.into_iter().map(PathBuf::from).filter(|log| log.is_absolute()).take(MOST).collect()
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn the_latest_stands_first_and_damage_begins_it_anew() {
        let folder = tempfile::tempdir().unwrap();
        let list = folder.path().join("weir").join("recent.json");
        let log = |n: usize| folder.path().join(format!("{n}.log"));
        let mut recent = Recent::at(list.clone());
        (0..20).for_each(|n| recent.note(&log(n)));
        recent.note(&log(15));
        let again = Recent::at(list.clone());
        assert_eq!(again.logs()[..3], [log(15), log(19), log(18)]);
        assert_eq!(again.logs().len(), MOST);
        for damage in ["", "{\"a\": 1}", "[1, 2]", "[\"relative.log\"]", "\u{0}\u{1}", &"[".repeat(10_000)] {
            std::fs::write(&list, damage).unwrap();
            let mut recent = Recent::at(list.clone());
            assert_eq!(recent.logs(), [] as [PathBuf; 0], "{damage}");
            recent.note(&log(1));
            assert_eq!(Recent::at(list.clone()).logs(), [log(1)], "{damage}");
        }
    }

    #[test]
    fn without_a_folder_they_are_kept_while_the_window_is_open() {
        let mut recent = Recent::at(PathBuf::from("/dev/null/recent.json"));
        recent.note(Path::new("/a.log"));
        assert_eq!(recent.logs(), [PathBuf::from("/a.log")]);
    }
}
