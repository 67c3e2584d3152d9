//! The window's colours.

use eframe::egui::{self, Ui};
use weir_viz::scene::Theme;

/// What the desktop prefers; light where it does not say.
pub(crate) fn of_system(ui: &Ui) -> Theme {
    match ui.ctx().system_theme() {
        Some(egui::Theme::Dark) => Theme::Dark,
        Some(egui::Theme::Light) | None => Theme::Light,
    }
}

/// Has the window's own parts look as the picture does.
pub(crate) fn apply(ui: &Ui, theme: Theme) {
    let visuals = match theme {
        Theme::Light => egui::Visuals::light(),
        Theme::Dark => egui::Visuals::dark(),
    };
    ui.ctx().set_visuals(visuals);
}
