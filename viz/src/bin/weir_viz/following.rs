//! A log that is followed as it grows, beside the window.

use crate::failure::Failure;
use eframe::egui::Context;
use std::path::PathBuf;
use std::sync::Arc;
use std::sync::atomic::{AtomicBool, Ordering};
use std::sync::mpsc::{Receiver, Sender, channel};
use std::time::{Duration, Instant};
use weir_viz::follow::{Came, Feed, Live, Source};
use weir_viz::source::{Opened, SourceError};

/// Between two looks whether something came.
const PAUSE: Duration = Duration::from_millis(50);

/// What there is to say of it.
pub(crate) enum Update {
    /// The log as it is now.
    Opened(Box<Opened>),
    /// Another log begins.
    Another(&'static str),
    /// What came last does not look like a log, in words; or it does after all.
    Foreign(Option<String>),
    /// Nothing more will come.
    Ended,
    /// It cannot be followed any more.
    Failed(SourceError),
}

/// How it stands.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
enum State {
    Going,
    Paused,
    Over,
}

/// Following under way. Ends when it is dropped.
pub(crate) struct Following {
    /// What is followed.
    pub(crate) feed: Feed,
    /// What it is called: an address, for instance.
    pub(crate) name: String,
    state: State,
    /// Why what came last does not look like a log, if it does not.
    foreign: Option<String>,
    shared: Arc<Shared>,
    updates: Receiver<Update>,
}

#[derive(Default)]
struct Shared {
    stop: AtomicBool,
    /// The window took the last model, and shows the next one.
    wanted: AtomicBool,
}

impl Drop for Following {
    fn drop(&mut self) {
        self.shared.stop.store(true, Ordering::Relaxed);
    }
}

impl Following {
    /// Begins to follow, and wakes the window whenever there is something new.
    pub(crate) fn start(feed: Feed, context: &Context) -> Result<Self, Failure> {
        let source = Source::open(&feed)?;
        let name = source.name().to_owned();
        let shared = Arc::new(Shared { stop: AtomicBool::new(false), wanted: AtomicBool::new(true) });
        let (send, updates) = channel();
        let reader =
            Reader { live: Live::new(&name), source, shared: Arc::clone(&shared), send, context: context.clone() };
        let spawned = std::thread::Builder::new().name("follow".to_owned()).spawn(move || reader.run());
        match spawned {
            Ok(_) => Ok(Self { feed, name, state: State::Going, foreign: None, shared, updates }),
            Err(error) => Err(Failure::to_show(&name, error)),
        }
    }

    /// What is new, unless it is paused.
    pub(crate) fn take(&mut self) -> Option<Update> {
        if self.state == State::Paused {
            return None;
        }
        let update = self.updates.try_recv().ok()?;
        match &update {
            Update::Foreign(words) => self.foreign.clone_from(words),
            Update::Opened(_) => self.shared.wanted.store(true, Ordering::Relaxed),
            Update::Ended | Update::Failed(_) => self.state = State::Over,
            Update::Another(_) => {}
        }
        Some(update)
    }

    /// Keeps what is shown as it is, or goes on. What comes meanwhile is read, and shown later.
    pub(crate) fn pause(&mut self) {
        self.state = match self.state {
            State::Going => State::Paused,
            State::Paused => State::Going,
            State::Over => State::Over,
        };
    }

    /// How it stands while nothing of it can be shown.
    pub(crate) fn waiting(&self) -> String {
        let foreign = self.foreign.as_ref().map(|foreign| format!("; {foreign}"));
        format!("{}: no record came yet{}", self.words(), foreign.unwrap_or_default())
    }

    /// How it stands, in words.
    pub(crate) fn words(&self) -> String {
        match self.state {
            State::Going => format!("following {}", self.name),
            State::Paused => format!("paused: {}", self.name),
            State::Over => format!("ended: {}", self.name),
        }
    }

    /// The file beside which things are written.
    pub(crate) fn file(&self) -> PathBuf {
        match &self.feed {
            Feed::File(file) => file.clone(),
            Feed::Stdin => PathBuf::from("stdin.log"),
            Feed::Tcp(_) => PathBuf::from("tcp.log"),
        }
    }
}

/// The thread's part.
struct Reader {
    source: Source,
    live: Live,
    shared: Arc<Shared>,
    send: Sender<Update>,
    context: Context,
}

impl Reader {
    fn run(mut self) {
        let mut bytes = Vec::new();
        let mut foreign = None;
        while !self.shared.stop.load(Ordering::Relaxed) {
            bytes.clear();
            let came = self.source.poll(&mut bytes).and_then(|came| self.live.take(&bytes).map(|()| came));
            match came {
                Ok(Came::Bytes) => {}
                Ok(Came::Nothing) => std::thread::sleep(PAUSE),
                Ok(Came::Another(why)) => {
                    self.tell(Update::Another(why));
                    self.live = Live::new(self.source.name());
                }
                Ok(Came::Ended) => {
                    self.live.finish();
                    if self.live.records() > 0 {
                        let opened = self.live.opened();
                        self.tell(Update::Opened(Box::new(opened)));
                    }
                    return self.tell(Update::Ended);
                }
                Err(error) => return self.tell(Update::Failed(error)),
            }
            let now = self.live.foreign();
            if now != foreign {
                foreign.clone_from(&now);
                self.tell(Update::Foreign(now));
            }
            if self.live.is_due(Instant::now()) && self.shared.wanted.swap(false, Ordering::Relaxed) {
                let opened = self.live.opened();
                self.tell(Update::Opened(Box::new(opened)));
            }
        }
    }

    fn tell(&self, update: Update) {
        // Nobody waits any more if the window was closed.
        let _ = self.send.send(update);
        self.context.request_repaint();
    }
}
