//! Choosing a file in the window itself: what is typed is a path, and below it stands what its folder holds. The desktop's
//! dialogs need a service that is not there everywhere, and say nothing where it is not.

use crate::failure::Failure;
use crate::loading::Purpose;
use crate::overlay;
use crate::start;
use eframe::egui::{Key, TextEdit, Ui};
use std::fs::DirEntry;
use std::path::{MAIN_SEPARATOR, MAIN_SEPARATOR_STR, Path, PathBuf};

/// Entries of a folder that are shown.
const MOST: usize = 500;
const WIDTH: f32 = 560.0;
/// Height of what stands around the list: the box, the hint, and why a file is not shown.
const BESIDE: f32 = 130.0;

/// A file to be chosen.
#[derive(Clone, Debug, PartialEq, Eq)]
pub(crate) struct Chooser {
    /// What for.
    pub(crate) purpose: Purpose,
    typed: String,
    /// Which entry Enter takes; `None`: what is typed.
    chosen: Option<usize>,
    listed: Option<Listed>,
    /// Why the file that was chosen is not shown.
    failure: Option<Failure>,
}

/// What a folder holds.
#[derive(Clone, Debug, PartialEq, Eq)]
struct Listed {
    folder: PathBuf,
    entries: Result<Vec<Entry>, String>,
}

#[derive(Clone, Debug, PartialEq, Eq, PartialOrd, Ord)]
struct Entry {
    is_file: bool,
    name: String,
}

impl Chooser {
    /// Begins in a folder.
    pub(crate) fn new(purpose: Purpose, folder: &Path) -> Self {
        Self { purpose, typed: as_folder(folder), chosen: None, listed: None, failure: None }
    }

    /// With what was typed, because that file could not be shown.
    pub(crate) fn again(self, failure: Failure) -> Self {
        // The folder may hold something else by now.
        Self { failure: Some(failure), listed: None, ..self }
    }

    /// What is typed as a path; `~` is the user's home.
    fn path(&self) -> PathBuf {
        match self.typed.strip_prefix('~').filter(|rest| rest.is_empty() || rest.starts_with(MAIN_SEPARATOR)) {
            Some(rest) => std::env::home_dir().unwrap_or_default().join(rest.trim_start_matches(MAIN_SEPARATOR)),
            None => PathBuf::from(&self.typed),
        }
    }

    /// The folder that is typed, and what the name in it begins with.
    fn parts(&self) -> (PathBuf, String) {
        let path = self.path();
        if self.typed.is_empty() || self.typed.ends_with(MAIN_SEPARATOR) || self.typed == "~" {
            return (path, String::new());
        }
        let name = path.file_name().map(|name| name.to_string_lossy().into_owned()).unwrap_or_default();
        (path.parent().map(Path::to_owned).unwrap_or_default(), name)
    }

    /// The entries that match, folders first.
    fn matching(&mut self) -> Result<Vec<Entry>, String> {
        let (folder, name) = self.parts();
        if self.listed.as_ref().is_none_or(|listed| listed.folder != folder) {
            self.listed = Some(Listed { entries: entries(&folder), folder });
        }
        let wanted = name.to_lowercase();
        let fits = |entry: &Entry| {
            let hidden = entry.name.starts_with('.') && !wanted.starts_with('.');
            !hidden && entry.name.to_lowercase().contains(&wanted)
        };
        match self.listed.as_ref().map(|listed| &listed.entries) {
            Some(Ok(entries)) => Ok(entries.iter().filter(|entry| fits(entry)).take(MOST).cloned().collect()),
            Some(Err(why)) => Err(why.clone()),
            None => Ok(Vec::new()),
        }
    }

    /// Goes into a folder, or answers a file.
    fn take(&mut self, path: PathBuf) -> Option<PathBuf> {
        self.chosen = None;
        if path.is_dir() {
            self.typed = as_folder(&path);
            return None;
        }
        Some(path)
    }

    /// Shows it. Answers the file that was chosen.
    pub(crate) fn show(&mut self, ui: &mut Ui) -> Option<PathBuf> {
        let label = ui.label("File");
        let typing = ui.add(TextEdit::singleline(&mut self.typed).desired_width(WIDTH)).labelled_by(label.id);
        let enter = ui.input(|input| input.key_pressed(Key::Enter));
        if !typing.has_focus() && !enter {
            typing.request_focus();
        }
        if typing.changed() {
            (self.chosen, self.failure) = (None, None);
            if let Some(at) = absolute(&self.typed) {
                self.typed.drain(..at);
            }
        }
        if let Some(failure) = &self.failure {
            start::failure(ui, failure);
        }
        let matching = match self.matching() {
            Ok(matching) => matching,
            Err(why) => {
                ui.label(why);
                Vec::new()
            }
        };
        let by = ui.input(|i| i64::from(i.key_pressed(Key::ArrowDown)) - i64::from(i.key_pressed(Key::ArrowUp)));
        self.step(by, matching.len());
        let folder = self.parts().0;
        if enter {
            // A file of the name that was typed goes before one whose name only holds it.
            let whole = self.path();
            let first = if whole.exists() { None } else { matching.first() };
            let entry = self.chosen.and_then(|at| matching.get(at)).or(first);
            let path = entry.map_or(whole, |entry| folder.join(&entry.name));
            typing.request_focus();
            return self.take(path);
        }
        ui.weak("Enter opens, Up and Down choose; a file can be dropped on the window, too");
        let clicked = list(ui, &matching, self.chosen, by != 0)?;
        self.take(folder.join(&matching.get(clicked)?.name))
    }

    fn step(&mut self, by: i64, all: usize) {
        if by != 0 && all > 0 {
            let now = self.chosen.map_or(if by > 0 { -1 } else { all as i64 }, |at| at as i64);
            self.chosen = usize::try_from((now + by).rem_euclid(all as i64)).ok();
        }
    }
}

/// The entries as buttons. Answers the one that was clicked.
fn list(ui: &mut Ui, matching: &[Entry], chosen: Option<usize>, moved: bool) -> Option<usize> {
    let mut clicked = None;
    overlay::scrolled(ui, BESIDE, |ui| {
        ui.set_min_width(WIDTH);
        for (at, entry) in matching.iter().enumerate() {
            let name = if entry.is_file { entry.name.clone() } else { format!("{}{MAIN_SEPARATOR}", entry.name) };
            let button = ui.selectable_label(chosen == Some(at), name);
            if moved && chosen == Some(at) {
                button.scroll_to_me(None);
            }
            if button.clicked() {
                clicked = Some(at);
            }
        }
    });
    clicked
}

/// Where a path begins that was typed or pasted behind a folder, and stands for itself: `/a/b/` and then `/c` or `~/c`.
fn absolute(typed: &str) -> Option<usize> {
    let behind = |root: &str| Some(typed.rfind(&format!("{MAIN_SEPARATOR}{root}"))? + MAIN_SEPARATOR.len_utf8());
    let home = format!("~{MAIN_SEPARATOR}");
    // Two separators at the very beginning are a share of the network, where there are such.
    let root = behind(MAIN_SEPARATOR_STR).filter(|at| cfg!(unix) || *at > MAIN_SEPARATOR.len_utf8());
    root.max(behind(&home))
}

/// As it is typed, so that the next name can follow.
fn as_folder(folder: &Path) -> String {
    let mut typed = folder.display().to_string();
    if !typed.is_empty() && !typed.ends_with(MAIN_SEPARATOR) {
        typed.push(MAIN_SEPARATOR);
    }
    typed
}

fn entries(folder: &Path) -> Result<Vec<Entry>, String> {
    let folder = if folder.as_os_str().is_empty() { Path::new(".") } else { folder };
    let found = std::fs::read_dir(folder).map_err(|error| format!("{}: {error}", folder.display()))?;
    let entry = |found: DirEntry| Entry {
        is_file: !found.path().is_dir(),
        name: found.file_name().to_string_lossy().into_owned(),
    };
    let mut entries: Vec<Entry> = found.flatten().map(entry).collect();
    entries.sort();
    Ok(entries)
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    #[cfg(unix)]
    fn an_absolute_path_behind_a_folder_stands_for_itself() {
        for (typed, left) in [
            ("/a/b//a/b/c.log", "/a/b/c.log"),
            ("/a/b//", "/"),
            ("/a/b/~/c.log", "~/c.log"),
            ("/a//b/~/c//d", "/d"),
            ("/a/b/c.log", "/a/b/c.log"),
            ("/a/b/~", "/a/b/~"),
            ("a~/b", "a~/b"),
        ] {
            assert_eq!(&typed[absolute(typed).unwrap_or(0)..], left, "{typed}");
        }
    }
}
