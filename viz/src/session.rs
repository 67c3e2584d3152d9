//! What a window keeps of a log, in a file beside it: the range, the page, filters, the user's marks.
//!
//! A further thing to keep is a line in the table `FIELDS`. Each is read for itself: what makes no sense is left out and told, and
//! the file with it is put aside before another takes its place. What this version does not know is kept as it is.

use crate::model::{Axis, By, EventIx, Model, PoolIx};
use crate::output;
use crate::scene::{ColorBy, Mark, Page, Range, Theme, View};
use crate::table::Sort;
use serde_json::{Map, Value, json};
use std::path::{Path, PathBuf};

/// What is put behind the log's name.
const ENDING: &str = ".weir-session.json";
/// A longer file is none.
const LONGEST: u64 = 4 << 20;
/// Damaged files that are put aside; with more there nothing is written.
const MOST_ASIDE: u32 = 9;

/// What is kept.
#[derive(Clone, Debug, PartialEq)]
pub struct Look {
    /// What is being looked at.
    pub view: View,
    /// The colours are the system's.
    pub follows_system: bool,
}

/// Something that is kept.
struct Field {
    name: &'static str,
    /// Options of the command line that go before it.
    unless: &'static [&'static str],
    save: fn(&Look, &Model) -> Value,
    /// `None`: it makes no sense.
    load: fn(&mut Look, &Model, &Value) -> Option<()>,
}

/// All of them, in the order in which they are read: a range means something once its axis is known.
const FIELDS: &[Field] = &[
    Field {
        name: "page",
        unless: &["view"],
        save: |look, _| json!(look.view.page.name()),
        load: |look, _, value| Page::named(value.as_str()?).map(|page| look.view.page = page),
    },
    Field { name: "theme", unless: &["theme"], save: save_theme, load: load_theme },
    Field {
        name: "axis",
        unless: &["axis"],
        save: |look, _| json!(if look.view.axis == Axis::Time { "time" } else { "record" }),
        load: |look, model, value| {
            look.view.axis = match value.as_str()? {
                "time" => Axis::Time,
                "record" => Axis::Record,
                _ => return None,
            };
            look.view.fit(model);
            Some(())
        },
    },
    Field { name: "pool", unless: &["pool", "select", "record", "free"], save: save_pool, load: load_pool },
    Field {
        name: "range",
        unless: &["axis", "select", "record", "free", "finding"],
        save: |look, model| range(look.view.x, model.events.extent(look.view.axis) as f64),
        load: |look, model, value| {
            let whole = model.events.extent(look.view.axis) as f64;
            part(value, whole).map(|x| look.view.x = x)
        },
    },
    Field {
        name: "addresses",
        unless: &["pool", "select", "record", "free", "finding"],
        save: |look, model| range(look.view.y, look.view.addresses(model).length()),
        load: |look, model, value| {
            let whole = look.view.addresses(model).length();
            part(value, whole).map(|y| look.view.y = y)
        },
    },
    Field {
        name: "find",
        unless: &["find"],
        save: |look, _| json!(look.view.listing.query),
        load: |look, _, value| value.as_str().map(|query| query.clone_into(&mut look.view.listing.query)),
    },
    Field {
        name: "stack",
        unless: &["stack"],
        save: |look, _| json!(look.view.stack.map(By::name)),
        load: |look, _, value| {
            look.view.stack = if value.is_null() { None } else { Some(By::named(value.as_str()?)?) };
            Some(())
        },
    },
    Field {
        name: "color",
        unless: &["color"],
        save: |look, _| json!(look.view.color.name()),
        load: |look, _, value| ColorBy::named(value.as_str()?).map(|by| look.view.color = by),
    },
    Field { name: "sort", unless: &[], save: save_sort, load: load_sort },
    Field { name: "marks", unless: &[], save: save_marks, load: load_marks },
];

fn save_theme(look: &Look, _: &Model) -> Value {
    match (look.follows_system, look.view.theme) {
        (true, _) => json!("system"),
        (false, Theme::Light) => json!("light"),
        (false, Theme::Dark) => json!("dark"),
    }
}

fn load_theme(look: &mut Look, _: &Model, value: &Value) -> Option<()> {
    (look.view.theme, look.follows_system) = match value.as_str()? {
        "system" => (look.view.theme, true),
        "light" => (Theme::Light, false),
        "dark" => (Theme::Dark, false),
        _ => return None,
    };
    Some(())
}

fn save_pool(look: &Look, model: &Model) -> Value {
    model.pools.get(look.view.pool.at()).map_or(Value::Null, |pool| json!(pool.id.to_string()))
}

/// One that the log does not have (any more) is no damage.
fn load_pool(look: &mut Look, model: &Model, value: &Value) -> Option<()> {
    let id = if value.is_null() { return Some(()) } else { value.as_str()? };
    if let Some(at) = model.pools.iter().position(|pool| pool.id.to_string() == id) {
        look.view.pool = PoolIx::next_of(at);
        look.view.fit(model);
    }
    Some(())
}

/// Nothing where it is the whole.
fn range(range: Range, whole: f64) -> Value {
    if range.from <= 0.0 && range.to >= whole { Value::Null } else { json!([range.from, range.to]) }
}

fn part(value: &Value, whole: f64) -> Option<Range> {
    if value.is_null() {
        return Some(Range { from: 0.0, to: whole });
    }
    let (from, to) = match value.as_array()?.as_slice() {
        [from, to] => (from.as_f64()?, to.as_f64()?),
        _ => return None,
    };
    (from.is_finite() && to.is_finite() && from < to).then(|| Range { from, to }.within(whole))
}

fn save_sort(look: &Look, _: &Model) -> Value {
    look.view.listing.sort.map_or(Value::Null, |sort| json!({ "column": sort.column, "descending": sort.descending }))
}

fn load_sort(look: &mut Look, _: &Model, value: &Value) -> Option<()> {
    if value.is_null() {
        return Some(());
    }
    let column = usize::try_from(value.get("column")?.as_u64()?).ok()?;
    let descending = value.get("descending")?.as_bool()?;
    // Of another table, perhaps, if the file was changed by hand.
    let columns = look.view.page.table().map_or(0, |table| table.columns().len());
    look.view.listing.sort = (column < columns).then_some(Sort { column, descending });
    Some(())
}

fn save_marks(look: &Look, model: &Model) -> Value {
    let mark =
        |mark: &Mark| json!({ "record": model.events.number(mark.event), "at": mark.event.0, "name": mark.name });
    look.view.marks.iter().filter(|mark| mark.event < model.events.end()).map(mark).collect()
}

/// A mark stands at the record of its number: at the same place in the log, or wherever that is now.
fn load_marks(look: &mut Look, model: &Model, value: &Value) -> Option<()> {
    for mark in value.as_array()? {
        let (number, name) = (mark.get("record")?.as_u64()?, mark.get("name")?.as_str()?);
        let is = |event: &EventIx| event.at() < model.events.len() && model.events.number(*event) == number;
        let same = mark.get("at").and_then(Value::as_u64).and_then(|at| usize::try_from(at).ok());
        let same = same.filter(|at| *at < model.events.len()).map(EventIx::next_of).filter(is);
        let first = if model.events.is_empty() { 0 } else { model.events.number(EventIx(0)) };
        let found = || {
            let event = model.events.first_from(Axis::Record, number.checked_sub(first)? as f64);
            Some(event).filter(is)
        };
        if let Some(event) = same.or_else(found) {
            look.view.set_mark(event, name);
        }
    }
    Some(())
}

/// The file beside a log.
#[derive(Clone, Debug)]
pub struct Session {
    file: PathBuf,
    /// What stands in it, or how the log looked without one.
    text: Option<String>,
    /// What this version does not know.
    unknown: Map<String, Value>,
    damaged: bool,
}

impl Session {
    /// The one of this log.
    #[must_use]
    pub fn beside(log: &Path) -> Self {
        let mut name = log.file_name().unwrap_or_default().to_owned();
        name.push(ENDING);
        Self { file: log.with_file_name(name), text: None, unknown: Map::new(), damaged: false }
    }

    /// Its name.
    #[must_use]
    pub fn file(&self) -> &Path {
        &self.file
    }

    /// Reads it, if it is there, but for what was `given` on the command line. Answers what is wrong with it.
    pub fn read(&mut self, look: &mut Look, model: &Model, given: &[String]) -> Option<String> {
        let Ok(found) = std::fs::metadata(&self.file) else {
            // As the log looks without one there is nothing to keep.
            self.text = self.render(look, model).ok();
            return None;
        };
        let wrong = match self.fields(&found) {
            Ok(mut fields) => {
                let bad = self.load(&mut fields, look, model, given);
                self.unknown = fields;
                if bad.is_empty() { None } else { Some(format!("what it says of {} makes no sense", bad.join(", "))) }
            }
            Err(why) => Some(why),
        };
        if wrong.is_some() {
            (self.damaged, self.text) = (true, self.render(look, model).ok());
        }
        wrong.map(|why| format!("{}: {why}; it will be put aside, and another one begun", self.file.display()))
    }

    fn fields(&mut self, found: &std::fs::Metadata) -> Result<Map<String, Value>, String> {
        if !found.is_file() || found.len() > LONGEST {
            return Err("this is no session file".to_owned());
        }
        let text = std::fs::read_to_string(&self.file).map_err(|error| error.to_string())?;
        let value: Value = serde_json::from_str(&text).map_err(|error| error.to_string())?;
        let Value::Object(fields) = value else { return Err("expected an object".to_owned()) };
        self.text = Some(text);
        Ok(fields)
    }

    /// Takes what is known out of the fields. Answers what makes no sense.
    fn load(&self, fields: &mut Map<String, Value>, look: &mut Look, model: &Model, given: &[String]) -> Vec<String> {
        let mut bad = Vec::new();
        for field in FIELDS {
            let Some(value) = fields.remove(field.name) else { continue };
            let over = field.unless.iter().any(|option| given.iter().any(|given| given == option));
            if !over && (field.load)(look, model, &value).is_none() {
                bad.push(format!("`{}`", field.name));
            }
        }
        bad
    }

    /// Writes it, if it says something else than it did. A damaged one is put aside first.
    ///
    /// # Errors
    /// It cannot be written; nothing is lost then.
    pub fn write(&mut self, look: &Look, model: &Model) -> std::io::Result<()> {
        let text = self.render(look, model)?;
        if self.text.as_ref() == Some(&text) {
            return Ok(());
        }
        if self.damaged {
            self.put_aside()?;
            self.damaged = false;
        }
        output::bytes(&self.file, text.as_bytes()).map_err(|(_, error)| error)?;
        self.text = Some(text);
        Ok(())
    }

    fn render(&self, look: &Look, model: &Model) -> std::io::Result<String> {
        let mut fields: Map<String, Value> =
            FIELDS.iter().map(|field| (field.name.to_owned(), (field.save)(look, model))).collect();
        fields.extend(self.unknown.clone());
        let mut text = serde_json::to_string_pretty(&fields).map_err(std::io::Error::other)?;
        text.push('\n');
        Ok(text)
    }

    fn put_aside(&self) -> std::io::Result<()> {
        let named = |n: u32| {
            let mut name = self.file.file_name().unwrap_or_default().to_owned();
            name.push(format!(".damaged-{n}"));
            self.file.with_file_name(name)
        };
        let free = (1..=MOST_ASIDE).map(named).find(|name| name.symlink_metadata().is_err());
        let free = free.ok_or_else(|| std::io::Error::other("too many damaged ones were put aside"))?;
        std::fs::rename(&self.file, free)
    }
}
