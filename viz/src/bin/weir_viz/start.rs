//! The page that stands where no log is open: why there is none, and how to open one.

use crate::command::Does;
use crate::failure::Failure;
use crate::loading::Purpose;
use crate::overlay::Act;
use eframe::egui::{RichText, Ui};
use std::path::PathBuf;

/// Shows it; answers what was chosen.
pub(crate) fn show(ui: &mut Ui, failure: Option<&Failure>, waiting: Option<String>, recent: &[PathBuf]) -> Option<Act> {
    let mut act = None;
    let left = ((ui.available_width() - 640.0) / 2.0).max(20.0);
    ui.add_space((ui.available_height() * 0.2).max(20.0));
    ui.horizontal_top(|ui| {
        ui.add_space(left);
        ui.vertical(|ui| {
            if let Some(failure) = failure {
                self::failure(ui, failure);
                ui.add_space(24.0);
            }
            if let Some(waiting) = waiting {
                ui.label(RichText::new(waiting).size(16.0));
                ui.add_space(24.0);
            }
            ui.label(RichText::new("Drop a log on this window, or open one").size(20.0));
            ui.add_space(12.0);
            ui.horizontal(|ui| {
                for (name, does) in [
                    ("Open (Ctrl+O)", Does::Open(Purpose::Open)),
                    ("Commands (Ctrl+P)", Does::Palette),
                    ("Keys (?)", Does::Keys),
                ] {
                    if ui.button(name).clicked() {
                        act = Some(Act::Does(does));
                    }
                }
            });
            ui.add_space(24.0);
            if !recent.is_empty() {
                ui.strong("Opened before");
            }
            for log in recent {
                if ui.button(log.display().to_string()).clicked() {
                    act = Some(Act::Open(log.clone(), Purpose::Open));
                }
            }
        });
    });
    act
}

/// What went wrong, in words that can be copied.
pub(crate) fn failure(ui: &mut Ui, failure: &Failure) {
    let alarm = ui.visuals().error_fg_color;
    ui.label(RichText::new(&failure.heading).size(19.0).color(alarm));
    for line in &failure.lines {
        ui.label(RichText::new(line).size(14.0));
    }
}
