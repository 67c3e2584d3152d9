//! Colours: told apart by people who see colours differently, on light and on dark ground.

use weir::trace::Source;

/// Red, green, blue, opacity.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Hash, PartialOrd, Ord)]
pub struct Color {
    /// Red.
    pub r: u8,
    /// Green.
    pub g: u8,
    /// Blue.
    pub b: u8,
    /// Opacity; 255 covers what is below.
    pub a: u8,
}

impl Color {
    /// An opaque colour from `0xrrggbb`.
    #[must_use]
    pub const fn hex(rgb: u32) -> Self {
        let [_, r, g, b] = rgb.to_be_bytes();
        Self { r, g, b, a: 255 }
    }

    /// This colour with an opacity.
    #[must_use]
    pub const fn fade(self, a: u8) -> Self {
        Self { a, ..self }
    }

    /// This colour with so many 256ths of another in it.
    #[must_use]
    pub const fn mix(self, other: Self, part: u16) -> Self {
        const fn one(from: u8, to: u8, part: u16) -> u8 {
            ((from as u32 * (256 - part as u32) + to as u32 * part as u32 + 128) >> 8) as u8
        }
        Self { r: one(self.r, other.r, part), g: one(self.g, other.g, part), b: one(self.b, other.b, part), a: self.a }
    }
}

/// Light or dark ground.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq, Hash)]
pub enum Theme {
    /// Dark on white.
    #[default]
    Light,
    /// Light on near black.
    Dark,
}

/// Colours of streams that differ in hue.
const HUES: usize = 7;
/// Times that they come back, each paler than before.
const PALEST: usize = 3;

/// The colours of a theme.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct Palette {
    /// Around the panels.
    pub ground: Color,
    /// Inside the panels.
    pub panel: Color,
    /// Lines of the grid.
    pub grid: Color,
    /// Edges of panels.
    pub edge: Color,
    /// Text.
    pub ink: Color,
    /// Text that matters less.
    pub dim: Color,
    /// Used bytes.
    pub used: Color,
    /// Reserved bytes: the line.
    pub reserved: Color,
    /// Reserved bytes: the area.
    pub reserved_area: Color,
    /// Threshold.
    pub threshold: Color,
    /// Bytes that are free, but wait for work.
    pub pending: Color,
    /// Mapped memory that nobody uses.
    pub free: Color,
    /// The hatching of what is not mapped.
    pub hole: Color,
    /// What went wrong.
    pub alarm: Color,
    /// Behind a notice.
    pub notice: Color,
    /// What is selected.
    pub chosen: Color,
    /// Whatever has no colour of its own.
    pub other: Color,
    /// Groups that have no order, such as streams and labels.
    hues: [Color; HUES],
    /// From short to long.
    ages: [Color; 6],
}

const LIGHT: Palette = Palette {
    ground: Color::hex(0xff_ff_ff),
    panel: Color::hex(0xfb_fb_fc),
    grid: Color::hex(0xe8_eb_ef),
    edge: Color::hex(0xc9_ce_d6),
    ink: Color::hex(0x1b_22_2c),
    dim: Color::hex(0x5d_67_75),
    used: Color::hex(0x33_4e_68),
    reserved: Color::hex(0x8f_a1_b5),
    reserved_area: Color::hex(0xdd_e4_ec),
    threshold: Color::hex(0xb4_4a_00),
    pending: Color::hex(0x8a_3f_c4),
    free: Color::hex(0xe3_e8_ee),
    hole: Color::hex(0xe6_e9_ed),
    alarm: Color::hex(0xc0_18_2b),
    notice: Color::hex(0xff_f3_d1),
    chosen: Color::hex(0x10_14_1a),
    other: Color::hex(0x5b_5f_69),
    hues: [
        Color::hex(0x1e_6e_cf),
        Color::hex(0xf7_ab_19),
        Color::hex(0x16_9b_6c),
        Color::hex(0xb5_86_c5),
        Color::hex(0x85_c8_ff),
        Color::hex(0xf0_4f_0d),
        Color::hex(0xd7_f0_60),
    ],
    ages: [
        Color::hex(0xfd_e7_25),
        Color::hex(0x7a_d1_51),
        Color::hex(0x22_a8_84),
        Color::hex(0x2a_78_8e),
        Color::hex(0x41_44_87),
        Color::hex(0x44_01_54),
    ],
};

const DARK: Palette = Palette {
    ground: Color::hex(0x10_14_1a),
    panel: Color::hex(0x15_1a_21),
    grid: Color::hex(0x26_2d_37),
    edge: Color::hex(0x3a_43_50),
    ink: Color::hex(0xe6_ea_f0),
    dim: Color::hex(0x9a_a5_b3),
    used: Color::hex(0x8f_b4_d9),
    reserved: Color::hex(0x6b_7d_92),
    reserved_area: Color::hex(0x27_30_3b),
    threshold: Color::hex(0xff_9d_4d),
    pending: Color::hex(0xc9_a0_ff),
    free: Color::hex(0x2b_33_3e),
    hole: Color::hex(0x23_29_33),
    alarm: Color::hex(0xff_6b_75),
    notice: Color::hex(0x40_35_17),
    chosen: Color::hex(0xff_ff_ff),
    other: Color::hex(0x66_68_80),
    hues: [
        Color::hex(0x4d_88_f2),
        Color::hex(0xf7_a9_2e),
        Color::hex(0x15_9b_7e),
        Color::hex(0xbe_a6_d2),
        Color::hex(0xa4_e9_de),
        Color::hex(0xe3_5a_1b),
        Color::hex(0xd2_f5_71),
    ],
    ages: [
        Color::hex(0xff_f2_a8),
        Color::hex(0xfa_c8_3c),
        Color::hex(0xf5_8b_3c),
        Color::hex(0xdc_5a_6a),
        Color::hex(0x9a_3f_94),
        Color::hex(0x58_68_e0),
    ],
};

impl Theme {
    /// Its colours.
    #[must_use]
    pub const fn palette(self) -> &'static Palette {
        match self {
            Self::Light => &LIGHT,
            Self::Dark => &DARK,
        }
    }

    /// The other one.
    #[must_use]
    pub const fn other(self) -> Self {
        match self {
            Self::Light => Self::Dark,
            Self::Dark => Self::Light,
        }
    }
}

impl Palette {
    /// The colour of the stream of this rank. Seven differ in hue; further ones come back paler and paler.
    #[must_use]
    pub fn stream(&self, rank: usize) -> Color {
        let paler = u16::try_from((rank / HUES).min(PALEST)).unwrap_or(0);
        self.hues[rank % HUES].mix(self.ink, paler * 64)
    }

    /// The first rank that has the same colour.
    pub(super) const fn distinct(rank: usize) -> usize {
        if rank / HUES < PALEST { rank } else { PALEST * HUES + rank % HUES }
    }

    /// The colour of what lived so long, by steps from 0 (short) to 5.
    #[must_use]
    pub fn age(&self, step: usize) -> Color {
        self.ages[step.min(self.ages.len() - 1)]
    }

    /// The colour of text on a ground that is not the palette's: black or white, whichever stands out more.
    #[must_use]
    pub fn ink_on(&self, ground: Color) -> Color {
        let on = |ink: Color| contrast(ink, ground);
        let (black, white) = (Color::hex(0), Color::hex(0xff_ff_ff));
        if on(black) >= on(white) { black } else { white }
    }

    /// One of three shades of a colour, so that neighbours of one colour are told apart.
    #[must_use]
    pub fn varied(&self, plain: Color, shade: u64) -> Color {
        match shade % 3 {
            0 => plain,
            1 => plain.mix(self.ground, 44),
            _ => plain.mix(self.ink, 26),
        }
    }

    /// One of three shades of a stream's colour.
    #[must_use]
    pub fn shade(&self, rank: usize, shade: u64) -> Color {
        self.varied(self.stream(rank), shade)
    }
}

/// How far two colours stand out from each other, from 1 to 21 (WCAG 2).
#[must_use]
pub fn contrast(a: Color, b: Color) -> f64 {
    let (a, b) = (luminance(a), luminance(b));
    (a.max(b) + 0.05) / (a.min(b) + 0.05)
}

/// Relative luminance (WCAG 2).
fn luminance(color: Color) -> f64 {
    let part = |v: u8| {
        let v = f64::from(v) / 255.0;
        if v <= 0.04045 { v / 12.92 } else { ((v + 0.055) / 1.055).powf(2.4) }
    };
    0.2126 * part(color.r) + 0.7152 * part(color.g) + 0.0722 * part(color.b)
}

/// What the picture says of each kind of source.
#[must_use]
pub const fn source_words(source: Source) -> &'static str {
    match source {
        Source::SameStream => "same stream",
        Source::Settled => "settled",
        Source::Event => "event",
        Source::Opportunistic => "opportunistic",
        Source::Internal => "inserted wait",
        Source::Grow => "grow",
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn text_can_be_read_on_its_ground() {
        for palette in [&LIGHT, &DARK] {
            assert!(contrast(palette.ink, palette.notice) >= 4.5);
            for ground in [palette.ground, palette.panel] {
                for text in [palette.ink, palette.dim, palette.alarm] {
                    assert!(contrast(text, ground) >= 4.5, "{text:?} on {ground:?}");
                }
            }
        }
    }

    #[test]
    fn mixing_goes_from_one_to_the_other() {
        let (black, white) = (Color::hex(0), Color::hex(0xff_ff_ff));
        assert_eq!(black.mix(white, 0), black);
        assert_eq!(black.mix(white, 256), white);
        assert_eq!(black.mix(white, 128), Color::hex(0x80_80_80));
    }
}
