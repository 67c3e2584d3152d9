//! What is worked out beside the window: the answer to what the selection asks, and the pending bytes.

use eframe::egui::Context;
use std::sync::Arc;
use std::sync::mpsc::{Receiver, TryRecvError, channel};
use weir_viz::answer;
use weir_viz::reach;
use weir_viz::report::{self, Notable};
use weir_viz::scene::{Answer, Page, Question, View};
use weir_viz::source::Opened;

/// Answers that are kept.
const MOST: usize = 64;
/// What a log of so many records needs for a picture is worked out at once.
pub(crate) const AT_ONCE: usize = 100_000;

/// What was asked, and what is being asked.
#[derive(Default)]
pub(crate) struct Asking {
    known: Vec<(Question, Answer)>,
    running: Option<(Question, Receiver<Answer>)>,
    notes: Option<(u64, Receiver<Arc<[Notable]>>)>,
    /// What the picture needs of the whole log, until it is at hand.
    preparing: Option<Receiver<()>>,
    /// What later pictures need is being worked out, or was.
    begun: bool,
    pending: Option<Receiver<()>>,
    had_pending: bool,
    /// The log has grown since the pending bytes were asked for.
    grown: bool,
}

impl Asking {
    /// Gives the view the answer to what its selection asks; begins to work it out where it is not known. Only one thread
    /// does so at a time: who steps through the records asks about the last one of them.
    pub(crate) fn step(&mut self, opened: &Arc<Opened>, view: &mut View, context: &Context) {
        self.take();
        let asked = view.question(&opened.model);
        view.answer = asked.map(|question| (question, self.known(question)));
        if let Some((question, Answer::Working)) = &view.answer
            && self.running.is_none()
        {
            self.running = ask(*question, Arc::clone(opened), context.clone());
            if self.running.is_none() {
                view.answer = None;
            }
        }
    }

    /// Has what is worth a look worked out, once its page is shown.
    pub(crate) fn notes(&mut self, opened: &Arc<Opened>, view: &mut View, context: &Context) {
        if let Some((findings, notes)) = &self.notes {
            match notes.try_recv() {
                Ok(all) => view.notes.give(*findings, all),
                Err(TryRecvError::Empty) => return,
                Err(TryRecvError::Disconnected) => {}
            }
            self.notes = None;
        }
        if view.page != Page::Findings || view.notes.has(&opened.model) {
            return;
        }
        view.notes.awaited = true;
        let (send, receive) = channel();
        let (findings, opened, context) = (opened.model.findings.total(), Arc::clone(opened), context.clone());
        let run = move || {
            let all = report::notable(&opened.model);
            drop(opened);
            let _ = send.send(all.into());
            context.request_repaint();
        };
        // Without a thread, the picture works it out.
        view.notes.awaited = std::thread::Builder::new().name("findings".to_owned()).spawn(run).is_ok();
        self.notes = view.notes.awaited.then_some((findings, receive));
    }

    /// Has what the picture needs of the whole log worked out. Answers whether it is at hand.
    pub(crate) fn is_ready(&mut self, opened: &Arc<Opened>, view: &View, context: &Context) -> bool {
        if view.is_ready(&opened.model) {
            self.preparing = None;
            return true;
        }
        if self.preparing.as_ref().is_some_and(|over| over.try_recv() == Err(TryRecvError::Empty)) {
            return false;
        }
        let (send, receive) = channel();
        let (log, look, context) = (Arc::clone(opened), view.clone(), context.clone());
        let run = move || {
            look.prepare(&log.model);
            drop(log);
            let _ = send.send(());
            context.request_repaint();
        };
        let few = opened.model.events.len() <= AT_ONCE;
        if few || std::thread::Builder::new().name("prepare".to_owned()).spawn(run).is_err() {
            view.prepare(&opened.model);
            return true;
        }
        self.preparing = Some(receive);
        false
    }

    /// Begins to work out what the first picture did without, once that is there.
    pub(crate) fn rest(&mut self, opened: &Arc<Opened>, context: &Context) {
        if self.begun || opened.model.events.len() <= AT_ONCE || opened.model.is_prepared() {
            return;
        }
        self.begun = true;
        let (log, context) = (Arc::clone(opened), context.clone());
        let run = move || {
            log.model.prepare();
            drop(log);
            context.request_repaint();
        };
        // Without a thread, it is worked out once it is asked for.
        let _ = std::thread::Builder::new().name("prepare".to_owned()).spawn(run);
    }

    /// Whether the picture waits for that.
    pub(crate) const fn is_preparing(&self) -> bool {
        self.preparing.is_some()
    }

    fn known(&self, question: Question) -> Answer {
        let known = self.known.iter().find(|(asked, _)| *asked == question);
        known.map_or(Answer::Working, |(_, answer)| answer.clone())
    }

    fn take(&mut self) {
        let Some((question, answer)) = &self.running else { return };
        let answer = match answer.try_recv() {
            Ok(answer) => answer,
            Err(TryRecvError::Empty) => return,
            Err(TryRecvError::Disconnected) => Answer::failed(),
        };
        if self.known.len() >= MOST {
            self.known.remove(0);
        }
        self.known.push((*question, answer));
        self.running = None;
    }

    /// Begins to work the pending bytes out, once. Answers whether they have come since the last time.
    pub(crate) fn pending(&mut self, opened: &Arc<Opened>, context: &Context) -> bool {
        let Some(over) = &self.pending else {
            let (send, receive) = channel();
            self.pending = Some(receive);
            let (opened, context) = (Arc::clone(opened), context.clone());
            let run = move || {
                if let Some(pending) = reach::pending(&opened.model) {
                    opened.model.take_pending(pending);
                }
                let _ = send.send(());
                context.request_repaint();
            };
            // Without a thread there are none; the chart shows what it has.
            let _ = std::thread::Builder::new().name("pending".to_owned()).spawn(run);
            return false;
        };
        let come = !self.had_pending && over.try_recv().is_ok();
        self.had_pending |= come;
        if self.had_pending && std::mem::take(&mut self.grown) {
            (self.pending, self.had_pending) = (None, false);
        }
        come
    }

    /// The log has grown: what was answered of it need not hold. What is being worked out is left to its end first.
    pub(crate) fn grow(&mut self) {
        self.known.clear();
        (self.running, self.notes, self.preparing) = (None, None, None);
        self.grown = true;
    }

    /// Waits until all of it is over.
    #[cfg(all(test, feature = "drive"))]
    pub(crate) fn wait(&mut self) {
        if let Some((_, answer)) = &mut self.running {
            let (again, kept) = channel();
            let _ = answer.recv().map(|told| again.send(told));
            *answer = kept;
        }
        if let Some((_, notes)) = &mut self.notes {
            let (again, kept) = channel();
            let _ = notes.recv().map(|all| again.send(all));
            *notes = kept;
        }
        if let Some(preparing) = &mut self.preparing {
            let _ = preparing.recv();
        }
    }
}

/// Begins to work an answer out, and wakes the window when it is there. `None`: there is no thread for it.
fn ask(question: Question, opened: Arc<Opened>, context: Context) -> Option<(Question, Receiver<Answer>)> {
    let (send, receive) = channel();
    let run = move || {
        let answer = answer::answer(&opened.model, question);
        // What the check finds is put into the log when nobody else has it.
        drop(opened);
        // Nobody waits any more if the window was closed.
        let _ = send.send(answer);
        context.request_repaint();
    };
    std::thread::Builder::new().name("answer".to_owned()).spawn(run).ok().map(|_| (question, receive))
}
