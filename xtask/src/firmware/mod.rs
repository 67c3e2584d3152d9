//! The firmware image: built for a machine, booted in QEMU, and what came along its serial line.

pub(crate) mod archive;
pub(crate) mod capture;
pub(crate) mod image;
pub(crate) mod in_c;
pub(crate) mod measure;
pub(crate) mod qemu;

use crate::packages::{Need, Probe};

/// A machine that the image boots on.
#[derive(Clone, Copy, Debug)]
pub(crate) struct Board {
    /// The compiler's target.
    pub(crate) target: &'static str,
    /// QEMU with its arguments, without the image.
    pub(crate) qemu: &'static [&'static str],
    /// What has that program.
    pub(crate) need: Need,
}

const fn qemu(names: &'static [&'static str], package: &'static str) -> Need {
    Need { what: "QEMU", why: "booting the firmware image", probe: Probe::Program(names), package }
}

/// The machines, the AI CPU's architecture first.
pub(crate) const BOARDS: [Board; 3] = [
    Board {
        target: "aarch64-unknown-none",
        qemu: &[
            "qemu-system-aarch64",
            "-machine",
            "virt",
            "-cpu",
            "cortex-a53",
            "-m",
            "128M",
            "-nic",
            "none",
            "-semihosting-config",
            "enable=on,target=native",
        ],
        need: qemu(&["qemu-system-aarch64"], "qemu-system-arm"),
    },
    Board {
        target: "thumbv7em-none-eabihf",
        qemu: &["qemu-system-arm", "-machine", "mps2-an386", "-semihosting-config", "enable=on,target=native"],
        need: qemu(&["qemu-system-arm"], "qemu-system-arm"),
    },
    Board {
        target: "riscv64gc-unknown-none-elf",
        qemu: &["qemu-system-riscv64", "-machine", "virt", "-bios", "none", "-m", "128M"],
        need: qemu(&["qemu-system-riscv64"], "qemu-system-misc"),
    },
];

impl Board {
    /// The machine of a target.
    pub(crate) fn of(target: &str) -> Option<&'static Self> {
        BOARDS.iter().find(|board| board.target == target)
    }
}
