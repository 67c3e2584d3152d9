//! What the program is called: in the checkout, and installed.

use clap::Command;

/// What the program is called.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Name {
    /// `cargo xtask`, in the project's checkout.
    Xtask,
    /// `weir`, installed.
    Weir,
}

impl Name {
    /// In one word.
    pub(crate) const fn word(self) -> &'static str {
        match self {
            Self::Xtask => "xtask",
            Self::Weir => "weir",
        }
    }

    /// As it is typed.
    pub(crate) const fn typed(self) -> &'static str {
        match self {
            Self::Xtask => "cargo xtask",
            Self::Weir => "weir",
        }
    }

    /// A text about the commands.
    pub(crate) fn in_text(self, text: &str) -> String {
        text.replace(Self::Xtask.typed(), self.typed())
    }

    /// A command whose help calls the program by this name.
    pub(crate) fn given_to(self, command: Command) -> Command {
        if self == Self::Xtask {
            return command;
        }
        let mut command = command;
        let usage = self.in_text(&command.render_usage().to_string());
        if let Some(usage) = usage.strip_prefix("Usage: ").filter(|usage| usage.starts_with(self.typed())) {
            command = command.override_usage(usage.to_owned());
        }
        let after = command.get_after_help().map(|text| self.in_text(&text.to_string()));
        if let Some(after) = after {
            command = command.after_help(after);
        }
        command.mut_args(|arg| match arg.get_help().map(|help| self.in_text(&help.to_string())) {
            Some(help) => arg.help(help),
            None => arg,
        })
    }
}
