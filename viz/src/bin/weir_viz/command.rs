//! Everything that the window can do, in one table: keys, palette and the sheet of keys are made of it.

use crate::loading::Purpose;
use eframe::egui::{Event, InputState, Key, Modifiers};
use weir_viz::model::By;
use weir_viz::scene::{ColorBy, Frame, Input, Page};

/// Part of what is shown that a key moves.
const KEY_MOVE: f64 = 0.1;
/// What a key zooms by.
const KEY_ZOOM: f64 = 0.75;
/// Rows that a key scrolls by.
const KEY_ROWS: f64 = 10.0;

/// What a command does.
#[derive(Clone, Copy, Debug, PartialEq)]
pub(crate) enum Does {
    /// Something to the view.
    View(Input),
    /// Steps by what the list shows.
    Page(i64),
    /// Goes to the search box.
    Search,
    /// Goes to the next (1) or previous (-1) match.
    Find(i64),
    /// Back to where the view was.
    Undo,
    /// Chooses a log to open.
    Open(Purpose),
    /// Lists the logs that were opened before.
    Recent,
    /// Reads the log again.
    Reload,
    /// Names the record at the cursor.
    SetMark,
    /// Takes its name away.
    DeleteMark,
    /// Lists all marks.
    Marks,
    /// Takes the log away that stands beside this one.
    CloseOther,
    /// Works on the log beside this one.
    OtherLog,
    /// Changes the sides of two logs.
    Swap,
    /// Follows the log as it grows; pauses that, and goes on.
    Follow,
    /// Closes what is open, or else selects nothing.
    Escape,
    /// Opens or closes the palette.
    Palette,
    /// Opens or closes the sheet of keys.
    Keys,
    /// Writes what is shown, with this ending.
    Export(&'static str),
}

impl Does {
    /// Whether it is about what lies over the picture: anything else waits until that is closed.
    pub(crate) const fn is_of_sheets(self) -> bool {
        matches!(self, Self::Escape | Self::Palette | Self::Keys | Self::Open(_) | Self::Recent | Self::Marks)
    }
}

/// One of them.
pub(crate) struct Command {
    /// What it is called.
    pub(crate) name: &'static str,
    /// Its keys, the first of which are shown.
    pub(crate) keys: &'static [Shortcut],
    /// What it does.
    pub(crate) does: Does,
}

/// A key, with or without Ctrl and Shift.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(crate) struct Shortcut {
    key: Key,
    ctrl: bool,
    /// `None`: with and without.
    shift: Option<bool>,
}

const fn plain(key: Key) -> Shortcut {
    Shortcut { key, ctrl: false, shift: None }
}

const fn shift(key: Key, shift: bool) -> Shortcut {
    Shortcut { key, ctrl: false, shift: Some(shift) }
}

const fn ctrl(key: Key) -> Shortcut {
    Shortcut { key, ctrl: true, shift: None }
}

impl Shortcut {
    fn is(self, key: Key, modifiers: Modifiers) -> bool {
        let with_ctrl = modifiers.ctrl || modifiers.command;
        self.key == key
            && self.ctrl == with_ctrl
            && !modifiers.alt
            && self.shift.is_none_or(|shift| shift == modifiers.shift)
    }

    /// In words.
    pub(crate) fn words(self) -> String {
        let ctrl = if self.ctrl { "Ctrl+" } else { "" };
        let shift = if self.shift == Some(true) { "Shift+" } else { "" };
        let key = match self.key {
            Key::Questionmark => "?",
            Key::Comma => ",",
            Key::Period => ".",
            Key::Slash => "/",
            Key::Escape => "Esc",
            Key::ArrowLeft => "Left",
            Key::ArrowRight => "Right",
            Key::ArrowUp => "Up",
            Key::ArrowDown => "Down",
            Key::OpenBracket => "[",
            Key::CloseBracket => "]",
            Key::Plus | Key::Equals => "+",
            Key::Minus => "-",
            other => other.name(),
        };
        format!("{ctrl}{shift}{key}")
    }
}

macro_rules! commands {
    ($($name:literal [$($keys:expr),*] $does:expr;)+) => {
        /// All of them, in the order of the sheet.
        pub(crate) const COMMANDS: &[Command] = &[$(Command { name: $name, keys: &[$($keys),*], does: $does }),+];
    };
}

const fn aside(x: f64) -> Does {
    Does::View(Input::Move { x, y: 0.0 })
}

commands! {
    "Show the address map" [plain(Key::Num1)] Does::View(Input::Show(Page::Addresses));
    "Show the streams" [plain(Key::Num2)] Does::View(Input::Show(Page::Lanes));
    "Show the reuse flows" [plain(Key::Num3)] Does::View(Input::Show(Page::Flows));
    "Show the pool at the cursor" [plain(Key::Num4)] Does::View(Input::Show(Page::State));
    "Show the allocations" [plain(Key::Num5)] Does::View(Input::Show(Page::Allocations));
    "Show the decisions" [plain(Key::Num6)] Does::View(Input::Show(Page::Decisions));
    "Show the refusals" [plain(Key::Num7)] Does::View(Input::Show(Page::Refusals));
    "Show the findings" [plain(Key::Num8)] Does::View(Input::Show(Page::Findings));
    "Next view" [plain(Key::V)] Does::View(Input::NextPage);
    "Zoom in" [plain(Key::W), plain(Key::Plus), plain(Key::Equals)] Does::View(Input::Closer { factor: KEY_ZOOM });
    "Zoom out" [plain(Key::S), plain(Key::Minus)] Does::View(Input::Closer { factor: 1.0 / KEY_ZOOM });
    "To the left" [plain(Key::A), plain(Key::ArrowLeft)] aside(-KEY_MOVE);
    "To the right" [plain(Key::D), plain(Key::ArrowRight)] aside(KEY_MOVE);
    "Show all" [plain(Key::Num0), plain(Key::Home)] Does::View(Input::Fit);
    "Show selection" [plain(Key::F)] Does::View(Input::FitSelection);
    "Show the selection in the address map" [plain(Key::Enter)] Does::View(Input::Go);
    "Undo a zoom" [plain(Key::Backspace)] Does::Undo;
    "Next record" [plain(Key::Period), plain(Key::ArrowDown)] Does::View(Input::Step(1));
    "Previous record" [plain(Key::Comma), plain(Key::ArrowUp)] Does::View(Input::Step(-1));
    "A page of records on" [shift(Key::PageDown, false)] Does::Page(1);
    "A page of records back" [shift(Key::PageUp, false)] Does::Page(-1);
    "Scroll the details down" [shift(Key::PageDown, true)] Does::View(Input::ScrollDetails(KEY_ROWS));
    "Scroll the details up" [shift(Key::PageUp, true)] Does::View(Input::ScrollDetails(-KEY_ROWS));
    "Scroll the list in the large panel down" [ctrl(Key::PageDown)] Does::View(Input::ScrollTable(KEY_ROWS));
    "Scroll the list in the large panel up" [ctrl(Key::PageUp)] Does::View(Input::ScrollTable(-KEY_ROWS));
    "Next finding" [shift(Key::N, false)] Does::View(Input::StepFinding(1));
    "Previous finding" [shift(Key::N, true)] Does::View(Input::StepFinding(-1));
    "Set a mark at the cursor" [plain(Key::M)] Does::SetMark;
    "Delete the mark at the cursor" [plain(Key::Delete)] Does::DeleteMark;
    "List the marks" [ctrl(Key::M)] Does::Marks;
    "Next mark" [plain(Key::CloseBracket)] Does::View(Input::StepMark(1));
    "Previous mark" [plain(Key::OpenBracket)] Does::View(Input::StepMark(-1));
    "Find" [ctrl(Key::F), plain(Key::Slash)] Does::Search;
    "Next match" [shift(Key::F3, false)] Does::Find(1);
    "Previous match" [shift(Key::F3, true)] Does::Find(-1);
    "Records or time along x" [plain(Key::T)] Does::View(Input::SwitchAxis);
    "Next pool" [plain(Key::P)] Does::View(Input::NextPool);
    "Next way to stack the chart" [plain(Key::K)] Does::View(Input::NextStack);
    "Stack the chart by label" [] Does::View(Input::Stack(Some(By::Label)));
    "Stack the chart by stream" [] Does::View(Input::Stack(Some(By::Stream)));
    "Stack the chart by size" [] Does::View(Input::Stack(Some(By::Size)));
    "Do not stack the chart" [] Does::View(Input::Stack(None));
    "Next colouring of the map" [plain(Key::C)] Does::View(Input::NextColor);
    "Colour the map by stream" [] Does::View(Input::Color(ColorBy::Stream));
    "Colour the map by label" [] Does::View(Input::Color(ColorBy::Label));
    "Colour the map by age" [] Does::View(Input::Color(ColorBy::Age));
    "Colour the map by source" [] Does::View(Input::Color(ColorBy::Source));
    "Light or dark" [plain(Key::L)] Does::View(Input::SwitchTheme);
    "Open a log" [ctrl(Key::O)] Does::Open(Purpose::Open);
    "Open a log beside this one" [ctrl(Key::B)] Does::Open(Purpose::Beside);
    "Work on the other log" [plain(Key::X)] Does::OtherLog;
    "Change the sides of the two logs" [] Does::Swap;
    "Close the other log" [ctrl(Key::W)] Does::CloseOther;
    "Open one of the logs opened before" [plain(Key::O)] Does::Recent;
    "Read the log again" [plain(Key::F5), ctrl(Key::R)] Does::Reload;
    "Follow the log as it grows; pause, go on" [plain(Key::G)] Does::Follow;
    "Write a picture as PNG" [ctrl(Key::E)] Does::Export("png");
    "Write a picture as SVG" [] Does::Export("svg");
    "Write the table as CSV" [] Does::Export("csv");
    "All commands" [ctrl(Key::P)] Does::Palette;
    "Keys" [plain(Key::Questionmark)] Does::Keys;
    "Close, or select nothing" [plain(Key::Escape)] Does::Escape;
}

/// What the keys did. While text is typed, only those count that do not type.
pub(crate) fn pressed(input: &InputState, typing: bool) -> Vec<Does> {
    let of = |event: &Event| match event {
        Event::Key { key, pressed: true, modifiers, .. } => {
            let types = !(modifiers.ctrl || modifiers.command || matches!(key, Key::Escape | Key::F3 | Key::F5));
            let is = |command: &&Command| command.keys.iter().any(|keys| keys.is(*key, *modifiers));
            COMMANDS.iter().find(is).filter(|_| !(typing && types)).map(|command| command.does)
        }
        _ => None,
    };
    input.events.iter().filter_map(of).collect()
}

/// What a step of a page is.
pub(crate) fn page_of(frame: &Frame, by: i64) -> Input {
    Input::Step(by * i64::try_from(frame.rows()).unwrap_or(1).max(1))
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn no_key_does_two_things_and_every_view_has_one() {
        let keys: Vec<Shortcut> = COMMANDS.iter().flat_map(|command| command.keys.iter().copied()).collect();
        for (at, a) in keys.iter().enumerate() {
            for b in &keys[at + 1..] {
                let apart = a.shift.is_some() && b.shift.is_some() && a.shift != b.shift;
                assert!((a.key, a.ctrl) != (b.key, b.ctrl) || apart, "{} and {}", a.words(), b.words());
            }
        }
        for page in Page::ALL {
            assert!(COMMANDS.iter().any(|c| c.does == Does::View(Input::Show(*page)) && !c.keys.is_empty()));
        }
    }
}
