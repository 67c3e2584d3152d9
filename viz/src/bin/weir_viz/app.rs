//! The window: opens logs, shows what is opened, and hands what the user does to it.

use crate::bars;
use crate::check::Check;
use crate::command::{self, Does};
use crate::document::Document;
use crate::failure::{Failure, Outcome};
use crate::following::{Following, Update};
use crate::loading::{Loaded, Loading, Purpose};
use crate::marks::Naming;
use crate::overlay::{self, Act, Around, Overlay};
use crate::paint;
use crate::recent::Recent;
use crate::start;
use crate::theme;
use eframe::egui::{self, Context, Ui, ViewportCommand};
use std::path::{Path, PathBuf};
use weir_viz::cli::{Picture, Sessions};
use weir_viz::follow::Feed;
use weir_viz::scene::{Input, Theme};
use weir_viz::source::Opened;

/// The window's state.
pub(crate) struct App {
    /// How logs are to look that are opened from here on.
    picture: Picture,
    document: Option<Document>,
    loading: Option<Loading>,
    following: Option<Following>,
    failure: Option<Failure>,
    recent: Recent,
    overlay: Overlay,
    /// What the last command had to say.
    said: String,
    /// The search box is to be typed into.
    search: bool,
    /// The colours of the last frame.
    theme: Theme,
    outcome: Outcome,
    sessions: Sessions,
}

impl App {
    /// A window without a log.
    pub(crate) fn new(picture: Picture, sessions: Sessions, recent: Recent, outcome: Outcome) -> Self {
        Self {
            picture,
            document: None,
            loading: None,
            following: None,
            failure: None,
            recent,
            overlay: Overlay::None,
            said: String::new(),
            search: false,
            theme: Theme::default(),
            outcome,
            sessions,
        }
    }

    /// A window on this log.
    #[cfg(test)]
    pub(crate) fn with(document: Document, recent: Recent) -> Self {
        let picture = document.picture.clone();
        Self { document: Some(document), ..Self::new(picture, Sessions::Ignored, recent, Outcome::default()) }
    }

    /// What is shown.
    pub(crate) const fn document(&self) -> Option<&Document> {
        self.document.as_ref()
    }

    /// What is shown.
    pub(crate) const fn document_mut(&mut self) -> Option<&mut Document> {
        self.document.as_mut()
    }

    /// What the last command had to say.
    pub(crate) fn said(&self) -> &str {
        &self.said
    }

    /// Says this from now on.
    pub(crate) fn say(&mut self, words: String) {
        self.said = words;
    }

    /// The search box is to be typed into.
    pub(crate) const fn search(&mut self) {
        self.search = true;
    }

    /// Whether the search box is to be typed into; asked once.
    pub(crate) const fn take_search(&mut self) -> bool {
        std::mem::replace(&mut self.search, false)
    }

    /// Begins to read the log that the command line names.
    pub(crate) fn open(&mut self, file: PathBuf, context: &Context) {
        self.load(file, self.picture.clone(), Purpose::Open, context);
        // What it asks for of this log, it asks for of no other.
        let Picture { size, scale, parts, theme, follows_system, axis, .. } = self.picture;
        self.picture = Picture { size, scale, parts, theme, follows_system, axis, ..Picture::default() };
    }

    fn load(&mut self, file: PathBuf, picture: Picture, purpose: Purpose, context: &Context) {
        self.failure = None;
        match Loading::start(file, picture, purpose, context) {
            Ok(loading) => self.loading = Some(loading),
            Err(failure) => self.failure = Some(failure),
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
    fn take_grown(&mut self, context: &Context) {
        while let Some(update) = self.following.as_mut().and_then(Following::take) {
            match update {
                Update::Opened(opened) => self.show_grown(*opened, context),
                Update::Another(why) => self.said = why.to_owned(),
                Update::Ended => self.said = "nothing more will come".to_owned(),
                Update::Failed(error) => self.fail(error.into()),
            }
        }
    }

    fn show_grown(&mut self, opened: Opened, context: &Context) {
        let Some(following) = &self.following else { return };
        let (file, name, feed) = (following.file(), following.name.clone(), following.feed.clone());
        let shown = match &mut self.document {
            Some(document) if document.file == file => document.grow(opened).map(|()| None),
            _ => Document::new(Loaded { opened, bytes: Vec::new() }, file, self.picture_now()).map(Some),
        };
        match shown {
            Ok(None) => {}
            Ok(Some(mut document)) => {
                // What is wrong comes with the log.
                document.check = Check::Done;
                if matches!(feed, Feed::File(_)) {
                    self.keep_session(&mut document, Purpose::Open);
                }
                context.send_viewport_cmd(ViewportCommand::Title(format!("{name} - weir")));
                self.document = Some(document);
            }
            Err(error) => self.fail(Failure::to_show(&name, error)),
        }
    }

    /// Shows what went wrong; where nothing else is shown, the program's exit status says it, too.
    fn fail(&mut self, failure: Failure) {
        eprintln!("weir-viz: {}\n{}", failure.heading, failure.lines.join("\n"));
        if self.document.is_none() {
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
    fn take_loaded(&mut self, context: &Context) {
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
            Err(failure) => self.fail(failure),
        }
    }

    fn show_document(&mut self, mut document: Document, purpose: Purpose, context: &Context) {
        document.start_check(context);
        self.following = None;
        self.recent.note(&document.file);
        self.said.clear();
        // The old one writes its session first.
        let old = self.document.take();
        if let (Purpose::Reload, Some(old)) = (purpose, &old) {
            document.look_as(old);
            self.said = "read again".to_owned();
        }
        drop(old);
        self.keep_session(&mut document, purpose);
        context.send_viewport_cmd(ViewportCommand::Title(format!("{} - weir", document.file.display())));
        self.document = Some(document);
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

    /// One frame.
    pub(crate) fn show(&mut self, ui: &mut Ui) {
        self.take_loaded(ui.ctx());
        self.take_grown(ui.ctx());
        self.take_dropped(ui.ctx());
        if let Some(document) = &mut self.document {
            document.begin_frame(ui);
        }
        let typing = ui.ctx().egui_wants_keyboard_input();
        for does in ui.input(|i| command::pressed(i, typing)) {
            self.perform(does, ui.ctx());
        }
        self.theme = self.theme_now(ui);
        theme::apply(ui, self.theme);
        self.panels(ui);
        let around = Around { logs: self.recent.logs(), document: self.document.as_ref() };
        if let Some(act) = self.overlay.show(ui.ctx(), around) {
            self.act(act, ui.ctx());
            ui.ctx().request_repaint();
        }
        self.notes(ui);
        if let Some(document) = &mut self.document {
            document.end_frame(ui);
        }
    }

    fn theme_now(&self, ui: &Ui) -> Theme {
        match &self.document {
            Some(document) => document.view.theme,
            None if self.picture.follows_system => theme::of_system(ui),
            None => self.picture.theme,
        }
    }

    fn panels(&mut self, ui: &mut Ui) {
        let fill = paint::color(self.theme.palette().ground);
        let middle = egui::CentralPanel::default().frame(egui::Frame::new().fill(fill));
        if self.document.is_none() {
            let failure = self.failure.as_ref();
            let waiting = self.following.as_ref().map(Following::words);
            let act = middle.show(ui, |ui| start::show(ui, failure, waiting, self.recent.logs())).inner;
            if let Some(act) = act {
                self.act(act, ui.ctx());
            }
            return;
        }
        let bar = egui::Frame::new().fill(fill).inner_margin(egui::Margin::symmetric(20, 4));
        egui::Panel::bottom("bar").frame(bar).exact_size(bars::HEIGHT).show(ui, |ui| self.bars(ui));
        middle.show(ui, |ui| {
            if let Some(document) = &mut self.document {
                document.canvas(ui);
            }
        });
    }

    /// What lies over the picture for a while: what went wrong, what is being read, what will be dropped.
    fn notes(&mut self, ui: &Ui) {
        if let Some(failure) = self.failure.as_ref().filter(|_| self.document.is_some()) {
            let close = overlay::window("What went wrong").show(ui.ctx(), |ui| {
                ui.set_max_width(620.0);
                start::failure(ui, failure);
                ui.button("Close (Esc)").clicked()
            });
            if close.and_then(|shown| shown.inner) == Some(true) {
                self.failure = None;
            }
        }
        if let Some(loading) = &self.loading {
            let stop = overlay::window("Reading").show(ui.ctx(), |ui| loading.show(ui));
            if stop.and_then(|shown| shown.inner) == Some(true) {
                self.stop_loading();
            }
        }
        if ui.input(|i| !i.raw.hovered_files.is_empty()) {
            overlay::window("Open").show(ui.ctx(), |ui| ui.label("Drop the log to open it"));
        }
    }

    fn stop_loading(&mut self) {
        if let Some(loading) = self.loading.take() {
            self.said = format!("stopped reading {}", loading.file.display());
        }
    }

    /// Opens what was dropped on the window.
    fn take_dropped(&mut self, context: &Context) {
        let dropped = context.input(|i| i.raw.dropped_files.clone());
        if let Some(first) = dropped.first() {
            self.act(Act::Open(first.path().to_owned(), Purpose::Open), context);
        }
    }

    /// Does what was chosen.
    fn act(&mut self, act: Act, context: &Context) {
        match act {
            Act::Does(does) => self.perform(does, context),
            Act::Open(file, purpose) => {
                self.overlay = Overlay::None;
                self.load(file, self.picture_now(), purpose, context);
            }
            Act::SetMark(event, name) => {
                if let Some(document) = &mut self.document {
                    document.view.set_mark(event, &name);
                }
                if matches!(self.overlay, Overlay::NameMark(_)) {
                    self.overlay = Overlay::None;
                }
            }
            Act::GoTo(event) => {
                self.overlay = Overlay::None;
                if let Some(document) = &mut self.document {
                    document.go_to(event);
                }
            }
        }
    }

    /// How a further log is to look: as the one before it does.
    fn picture_now(&self) -> Picture {
        let mut picture = self.picture.clone();
        if let Some(document) = &self.document {
            let view = &document.view;
            (picture.theme, picture.axis, picture.page) = (view.theme, view.axis, view.page);
            picture.follows_system = document.picture.follows_system;
        }
        picture
    }

    /// Does what a command says.
    pub(crate) fn perform(&mut self, does: Does, context: &Context) {
        self.said.clear();
        match does {
            Does::Open(purpose) => self.toggle(Overlay::choose(purpose, &self.folder())),
            Does::Recent => self.toggle(Overlay::Recent),
            Does::Reload => self.reload(context),
            Does::Follow => self.follow_or_pause(context),
            Does::SetMark => self.name_mark(),
            Does::DeleteMark => self.delete_mark(),
            Does::Marks => self.toggle(Overlay::Marks),
            Does::Palette => self.toggle(Overlay::Palette(String::new())),
            Does::Keys => self.toggle(Overlay::Keys),
            Does::Escape => self.escape(),
            Does::Search => self.search(),
            Does::View(Input::SwitchTheme) if self.document.is_none() => {
                (self.picture.theme, self.picture.follows_system) = (self.theme.other(), false);
            }
            Does::View(_) | Does::Page(_) | Does::Find(_) | Does::Undo | Does::Export(_) => self.in_document(does),
        }
    }

    fn in_document(&mut self, does: Does) {
        let Some(document) = &mut self.document else { return };
        match does {
            Does::View(input) => document.apply(input),
            Does::Page(by) => document.page(by),
            Does::Undo => document.undo(),
            Does::Find(by) => self.said = document.find(by).err().unwrap_or_default(),
            Does::Export(ending) => self.said = document.export(ending),
            _ => {}
        }
    }

    /// Closes what lies on top, or else selects nothing.
    fn escape(&mut self) {
        if self.overlay != Overlay::None {
            self.overlay = Overlay::None;
        } else if self.loading.is_some() {
            self.stop_loading();
        } else if self.failure.take().is_none() {
            self.in_document(Does::View(Input::Clear));
        }
    }

    fn toggle(&mut self, overlay: Overlay) {
        let is_open = std::mem::discriminant(&self.overlay) == std::mem::discriminant(&overlay);
        self.overlay = if is_open { Overlay::None } else { overlay };
    }

    fn reload(&mut self, context: &Context) {
        match &self.document {
            // The window's own choices hold; of the command line's, those that say which part of the log it is.
            Some(document) => {
                let (file, part) = (document.file.clone(), document.picture.part.clone());
                let picture = Picture { part, ..self.picture_now() };
                self.load(file, picture, Purpose::Reload, context);
            }
            None => self.said = "there is no log to read again".to_owned(),
        }
    }

    fn follow_or_pause(&mut self, context: &Context) {
        match (&mut self.following, &self.document) {
            (Some(following), _) => following.pause(),
            (None, Some(document)) => self.follow(Feed::File(document.file.clone()), context),
            (None, None) => self.said = "there is no log to follow".to_owned(),
        }
    }

    fn name_mark(&mut self) {
        let Some(document) = &self.document else { return };
        match document.cursor() {
            Some(event) => self.overlay = Overlay::NameMark(Naming::of(document, event)),
            None => self.said = "select a record, or point at one: the mark is set there".to_owned(),
        }
    }

    fn delete_mark(&mut self) {
        let Some(document) = &mut self.document else { return };
        match document.cursor().filter(|event| document.view.mark_at(*event).is_some()) {
            Some(event) => document.view.set_mark(event, ""),
            None => self.said = "there is no mark of yours at the cursor".to_owned(),
        }
    }

    /// Where to look for a further log.
    fn folder(&self) -> PathBuf {
        let beside = self.document.as_ref().map(|document| document.file.as_path());
        let beside = beside.or_else(|| self.recent.logs().first().map(PathBuf::as_path)).and_then(Path::parent);
        let folder = beside.filter(|folder| folder.is_dir()).map(Path::to_owned);
        folder.or_else(|| std::env::current_dir().ok()).unwrap_or_default()
    }
}

impl eframe::App for App {
    fn ui(&mut self, ui: &mut Ui, _: &mut eframe::Frame) {
        self.show(ui);
    }
}
