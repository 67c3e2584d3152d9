//! Colours that stand for different things stay apart for people who see colours differently, in light and in dark.
//!
//! Measured and not looked at: each colour as someone without red or green cones sees it (the matrices of Machado, Oliveira
//! and Fernandes 2009 for full strength), then the distance in OKLab (Ottosson 2020), where about 0.02 is just noticed.

use weir_viz::scene::{Color, Palette, Theme, contrast};

/// Colours that stand for different things are at least so far apart: five times what is just noticed.
const APART: f64 = 0.1;
/// Steps of an order need less: a neighbour is the next larger.
const STEP: f64 = 0.085;
/// For text (WCAG 2, AA).
const READABLE: f64 = 4.5;

type Matrix = [[f64; 3]; 3];

const USUAL: Matrix = [[1.0, 0.0, 0.0], [0.0, 1.0, 0.0], [0.0, 0.0, 1.0]];
const PROTANOPIA: Matrix =
    [[0.152_286, 1.052_583, -0.204_868], [0.114_503, 0.786_281, 0.099_216], [-0.003_882, -0.048_116, 1.051_998]];
const DEUTERANOPIA: Matrix =
    [[0.367_322, 0.860_646, -0.227_968], [0.280_085, 0.672_501, 0.047_413], [-0.011_820, 0.042_940, 0.968_881]];

fn times(m: &Matrix, [a, b, c]: [f64; 3]) -> [f64; 3] {
    m.map(|[x, y, z]| x * a + y * b + z * c)
}

fn linear(color: Color) -> [f64; 3] {
    [color.r, color.g, color.b].map(|v| {
        let v = f64::from(v) / 255.0;
        if v <= 0.04045 { v / 12.92 } else { ((v + 0.055) / 1.055).powf(2.4) }
    })
}

fn oklab(linear: [f64; 3]) -> [f64; 3] {
    let cones: Matrix = [
        [0.412_221_470_8, 0.536_332_536_3, 0.051_445_992_9],
        [0.211_903_498_2, 0.680_699_545_1, 0.107_396_956_6],
        [0.088_302_461_9, 0.281_718_837_6, 0.629_978_700_5],
    ];
    let opponents: Matrix = [
        [0.210_454_255_3, 0.793_617_785_0, -0.004_072_046_8],
        [1.977_998_495_1, -2.428_592_205_0, 0.450_593_709_9],
        [0.025_904_037_1, 0.782_771_766_2, -0.808_675_766_0],
    ];
    times(&opponents, times(&cones, linear).map(f64::cbrt))
}

/// The smallest distance of any two, over the three ways to see.
fn least(colors: &[(&str, Color)]) -> (f64, String) {
    let mut least = (f64::INFINITY, String::new());
    for (sight, matrix) in [("usual", USUAL), ("protanopia", PROTANOPIA), ("deuteranopia", DEUTERANOPIA)] {
        let seen: Vec<[f64; 3]> =
            colors.iter().map(|(_, c)| oklab(times(&matrix, linear(*c)).map(|v| v.clamp(0.0, 1.0)))).collect();
        for (i, a) in seen.iter().enumerate() {
            for (j, b) in seen.iter().enumerate().skip(i + 1) {
                let apart = a.iter().zip(b).map(|(a, b)| (a - b).powi(2)).sum::<f64>().sqrt();
                if apart < least.0 {
                    least = (apart, format!("{} and {} ({sight})", colors[i].0, colors[j].0));
                }
            }
        }
    }
    least
}

fn palettes() -> [&'static Palette; 2] {
    [Theme::Light, Theme::Dark].map(Theme::palette)
}

#[test]
fn groups_are_apart_for_the_colour_blind() {
    const NAMES: [&str; 7] = ["0", "1", "2", "3", "4", "5", "6"];
    for palette in palettes() {
        let mut colors: Vec<(&str, Color)> = (0..7).map(|rank| (NAMES[rank], palette.stream(rank))).collect();
        colors.extend([("other", palette.other), ("free", palette.free)]);
        let (apart, which) = least(&colors);
        assert!(apart >= APART, "{apart:.3}: {which}");
    }
}

#[test]
fn ages_are_apart_and_in_order_of_lightness() {
    for palette in palettes() {
        let mut colors: Vec<(&str, Color)> = Vec::new();
        colors.extend(["0", "1", "2", "3", "4", "5"].iter().enumerate().map(|(i, name)| (*name, palette.age(i))));
        let light: Vec<f64> = colors.iter().map(|(_, color)| oklab(linear(*color))[0]).collect();
        assert!(light.windows(2).take(4).all(|pair| pair[0] > pair[1]), "{light:?}");
        colors.push(("free", palette.free));
        let (apart, which) = least(&colors);
        assert!(apart >= STEP, "{apart:.3}: {which}");
    }
}

/// The measure itself tells the known bad pair from a good one.
#[test]
fn red_and_green_of_one_lightness_would_not_pass() {
    let pair = |a, b| least(&[("a", Color::hex(a)), ("b", Color::hex(b))]).0;
    assert!(pair(0xb0_5a_3c, 0x7a_74_30) < 0.06);
    assert!(pair(0x00_00_00, 0xff_ff_ff) > 0.9);
}

#[test]
fn what_is_written_on_a_colour_can_be_read() {
    for palette in palettes() {
        let plain = (0..28).map(|rank| palette.stream(rank)).chain((0..6).map(|step| palette.age(step)));
        for color in plain.chain([palette.other]) {
            for shade in (0..3).map(|n| palette.varied(color, n)) {
                let ink = palette.ink_on(shade);
                assert!(contrast(ink, shade) >= READABLE, "{ink:?} on {shade:?}");
            }
        }
        for text in [palette.ink, palette.dim, palette.alarm] {
            assert!(contrast(text, palette.panel) >= READABLE && contrast(text, palette.ground) >= READABLE);
        }
    }
}
