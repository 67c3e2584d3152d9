//! How logs come into the window: opened, dropped, read again, followed.

use crate::app::App;
use crate::check::Check;
use crate::document::Document;
use crate::failure::Failure;
use crate::following::{Following, Update};
use crate::loading::{Loaded, Loading, Purpose};
use crate::overlay::{Act, Overlay};
use eframe::egui::{Context, ViewportCommand};
use std::path::{Path, PathBuf};
use weir_viz::cli::{Picture, Sessions};
use weir_viz::follow::Feed;
use weir_viz::source::Opened;

impl App {
    /// Begins to read the log that the command line names.
    pub(crate) fn open(&mut self, file: PathBuf, context: &Context) {
        self.load(file, self.picture.clone(), Purpose::Open, context);
        // What it asks for of this log, it asks for of no other.
        let Picture { size, scale, parts, theme, follows_system, axis, .. } = self.picture;
        self.picture = Picture { size, scale, parts, theme, follows_system, axis, ..Picture::default() };
    }

    pub(crate) fn load(&mut self, file: PathBuf, picture: Picture, purpose: Purpose, context: &Context) {
        (self.failure, self.chooser) = (None, None);
        match Loading::start(file, picture, purpose, context) {
            Ok(loading) => self.loading = Some(loading),
            Err(failure) => self.failure = Some(failure),
        }
    }

    /// A further log, to be shown beside the one that is being read.
    pub(crate) fn open_beside(&mut self, file: PathBuf, context: &Context) {
        match self.loading {
            Some(_) => self.next = Some(file),
            None => self.load(file, self.picture_now(), Purpose::Beside, context),
        }
    }

    /// Begins to follow a log that grows.
    pub(crate) fn follow(&mut self, feed: Feed, context: &Context) {
        self.failure = None;
        match Following::start(feed, context) {
            Ok(following) => {
                self.loading = None;
                self.following = Some(following);
            }
            Err(failure) => self.fail(failure),
        }
    }

    /// What is followed.
    pub(crate) const fn following(&self) -> Option<&Following> {
        self.following.as_ref()
    }

    /// Takes over what has grown.
    pub(crate) fn take_grown(&mut self, context: &Context) {
        while let Some(update) = self.following.as_mut().and_then(Following::take) {
            match update {
                Update::Opened(opened) => self.show_grown(*opened, context),
                Update::Another(why) => self.said = why.to_owned(),
                Update::Foreign(words) => self.said = words.unwrap_or_default(),
                Update::Ended => self.said = "nothing more will come".to_owned(),
                Update::Failed(error) => self.fail(error.into()),
            }
        }
    }

    fn show_grown(&mut self, opened: Opened, context: &Context) {
        let Some(following) = &self.following else { return };
        let (file, name, feed) = (following.file(), following.name.clone(), following.feed.clone());
        let shown = match self.desk.of_file(&file) {
            Some(document) => document.grow(opened).map(|()| None),
            None => Document::new(Loaded { opened, bytes: Vec::new() }, file, self.picture_now()).map(Some),
        };
        match shown {
            Ok(None) => self.desk.tie(),
            Ok(Some(mut document)) => {
                // What is wrong comes with the log.
                document.check = Check::Done;
                if matches!(feed, Feed::File(_)) {
                    self.keep_session(&mut document, Purpose::Open);
                }
                context.send_viewport_cmd(ViewportCommand::Title(format!("{name} - weir")));
                self.desk.take();
                self.desk.put(document);
            }
            Err(error) => self.fail(Failure::to_show(&name, error)),
        }
    }

    /// Shows what went wrong; where nothing else is shown, the program's exit status says it, too.
    pub(crate) fn fail(&mut self, failure: Failure) {
        eprintln!("weir-viz: {}\n{}", failure.heading, failure.lines.join("\n"));
        if self.desk.len() == 0 {
            self.outcome.unreadable();
        }
        self.failure = Some(failure);
    }

    /// Waits until what is being read is there.
    #[cfg(test)]
    pub(crate) fn wait_for_loading(&mut self) {
        if let Some(loading) = &mut self.loading {
            loading.wait();
        }
    }

    /// Takes over what was read, once it is.
    pub(crate) fn take_loaded(&mut self, context: &Context) {
        let Some(answer) = self.loading.as_ref().and_then(Loading::take) else { return };
        let Some(loading) = self.loading.take() else { return };
        let name = loading.file.display().to_string();
        let made = answer.map_err(Failure::from).and_then(|loaded| {
            loaded.opened.summary().iter().for_each(|d| eprintln!("weir-viz: {name}: {d}"));
            let (file, picture) = (loading.file.clone(), loading.picture.clone());
            Document::new(*loaded, file, picture).map_err(|error| Failure::to_show(&name, error))
        });
        match made {
            Ok(document) => self.show_document(document, loading.purpose, context),
            Err(failure) => match self.chooser.take() {
                Some(chooser) => self.overlay = Overlay::Choose(chooser.again(failure)),
                None => self.fail(failure),
            },
        }
        self.chooser = None;
        if let Some(next) = self.next.take() {
            self.load(next, self.picture_now(), Purpose::Beside, context);
        }
    }

    fn show_document(&mut self, mut document: Document, purpose: Purpose, context: &Context) {
        document.start_check(context);
        self.recent.note(&document.file);
        self.said.clear();
        if purpose == Purpose::Beside && self.desk.len() > 0 {
            self.keep_session(&mut document, purpose);
            return self.desk.put_beside(document);
        }
        self.following = None;
        // The old one writes its session first.
        let old = self.desk.take();
        if let (Purpose::Reload, Some(old)) = (purpose, &old) {
            document.look_as(old);
            self.said = "read again".to_owned();
        }
        drop(old);
        self.keep_session(&mut document, purpose);
        context.send_viewport_cmd(ViewportCommand::Title(format!("{} - weir", document.file.display())));
        self.desk.put(document);
    }

    fn keep_session(&mut self, document: &mut Document, purpose: Purpose) {
        if self.sessions == Sessions::Kept {
            // Read again, it looks as it did just now.
            let looked = document.view.clone();
            if let Some(wrong) = document.keep_session() {
                eprintln!("weir-viz: {wrong}");
                self.said = wrong;
            }
            if purpose == Purpose::Reload {
                document.view = looked;
            }
        }
    }

    pub(crate) fn stop_loading(&mut self) {
        self.chooser = None;
        if let Some(loading) = self.loading.take() {
            self.said = format!("stopped reading {}", loading.file.display());
        }
    }

    /// Opens what was dropped on the window; two logs side by side.
    pub(crate) fn take_dropped(&mut self, context: &Context) {
        let dropped = context.input(|i| i.raw.dropped_files.clone());
        if let Some(first) = dropped.first() {
            self.act(Act::Open(first.path().to_owned(), Purpose::Open), context);
            self.next = dropped.get(1).map(|second| second.path().to_owned());
        }
    }

    /// How a further log is to look: as the one before it does.
    pub(crate) fn picture_now(&self) -> Picture {
        let mut picture = self.picture.clone();
        if let Some(document) = self.desk.document() {
            let view = &document.view;
            (picture.theme, picture.axis, picture.page) = (view.theme, view.axis, view.page);
            picture.follows_system = document.picture.follows_system;
        }
        picture
    }

    pub(crate) fn reload(&mut self, context: &Context) {
        match self.desk.document() {
            // The window's own choices hold; of the command line's, those that say which part of the log it is.
            Some(document) => {
                let (file, part) = (document.file.clone(), document.picture.part.clone());
                let picture = Picture { part, ..self.picture_now() };
                self.load(file, picture, Purpose::Reload, context);
            }
            None => self.said = "there is no log to read again".to_owned(),
        }
    }

    pub(crate) fn follow_or_pause(&mut self, context: &Context) {
        match (&mut self.following, self.desk.document()) {
            (Some(following), _) => following.pause(),
            (None, Some(document)) => self.follow(Feed::File(document.file.clone()), context),
            (None, None) => self.said = "there is no log to follow".to_owned(),
        }
    }

    /// Where to look for a further log.
    pub(crate) fn folder(&self) -> PathBuf {
        let beside = self.desk.document().map(|document| document.file.as_path());
        let beside = beside.or_else(|| self.recent.logs().first().map(PathBuf::as_path)).and_then(Path::parent);
        let folder = beside.filter(|folder| folder.is_dir()).map(Path::to_owned);
        folder.or_else(|| std::env::current_dir().ok()).unwrap_or_default()
    }
}
