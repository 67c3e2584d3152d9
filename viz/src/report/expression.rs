//! Conditions on the report's numbers, such as `peak_reserved > 1.05 * peak_used`.
//!
//! A condition compares two terms: numbers (`3`, `1.05`, `14GiB`), the report's names, `+ - * /` and parentheses.

use super::figures::{Certainty, Figure};
use std::fmt;

const UNITS: [(&str, f64); 8] = [
    ("KiB", 1024.0),
    ("MiB", 1_048_576.0),
    ("GiB", 1_073_741_824.0),
    ("TiB", 1_099_511_627_776.0),
    ("kB", 1e3),
    ("MB", 1e6),
    ("GB", 1e9),
    ("TB", 1e12),
];

/// How deep parentheses may stand in each other.
const DEEPEST: usize = 64;

#[derive(Clone, Copy, Debug, PartialEq, Eq)]
enum Comparison {
    Less,
    AtMost,
    More,
    AtLeast,
    Same,
    Other,
}

#[derive(Clone, Debug, PartialEq)]
enum Term {
    Number(f64),
    Name(usize, String),
    Of(Box<Term>, char, Box<Term>),
}

/// A condition.
#[derive(Clone, Debug, PartialEq)]
pub struct Expression {
    text: String,
    left: Term,
    how: Comparison,
    right: Term,
}

/// What is wrong with a condition, and where.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct ExpressionError {
    /// The condition.
    pub text: String,
    /// The character where it is wrong, from 0 on.
    pub at: usize,
    /// What stands there.
    pub found: String,
    /// What should.
    pub expected: String,
}

impl fmt::Display for ExpressionError {
    /// Three lines: the condition, a mark below the place, and what is wrong.
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        let Self { text, at, found, expected } = self;
        write!(f, "{text}\n{:>width$}\nfound {found}; expected {expected}", '^', width = at + 1)
    }
}

impl std::error::Error for ExpressionError {}

impl Expression {
    /// Reads a condition.
    ///
    /// # Errors
    /// Where it is wrong, and what was expected there.
    pub fn parse(text: &str) -> Result<Self, ExpressionError> {
        // One line, so that the mark below it stands where it should.
        let text: String = text.chars().map(|c| if c.is_control() { ' ' } else { c }).collect();
        let mut parser = Parser { text: text.chars().collect(), at: 0, depth: 0 };
        let left = parser.sum()?;
        let how = parser.comparison()?;
        let right = parser.sum()?;
        parser.skip();
        if parser.at < parser.text.len() {
            return Err(parser.wrong("the end of the condition"));
        }
        Ok(Self { text, left, how, right })
    }

    /// The condition as it was written.
    #[must_use]
    pub fn text(&self) -> &str {
        &self.text
    }

    /// Whether it holds. Of a number that lost records may change it must hold, or not, for all that it can be.
    ///
    /// # Errors
    /// It names what the report does not have or the log does not tell, or divides by 0.
    pub fn holds(&self, figures: &[Figure]) -> Result<bool, ExpressionError> {
        let (left, right) = (self.range(&self.left, figures)?, self.range(&self.right, figures)?);
        let (below, at_most) = (Told::below(left, right), Told::below(right, left).not());
        let same = Told::same(left, right);
        let told = match self.how {
            Comparison::Less => below,
            Comparison::AtMost => at_most,
            Comparison::More => at_most.not(),
            Comparison::AtLeast => below.not(),
            Comparison::Same => same,
            Comparison::Other => same.not(),
        };
        told.0.ok_or_else(|| self.open(figures))
    }

    /// The two sides, worked out from what is there: for messages.
    ///
    /// # Errors
    /// As [`holds`](Self::holds).
    pub fn sides(&self, figures: &[Figure]) -> Result<(f64, f64), ExpressionError> {
        let counted: Vec<Figure> =
            figures.iter().map(|figure| Figure { certainty: Certainty::Exact, ..figure.clone() }).collect();
        Ok((self.range(&self.left, &counted)?[0], self.range(&self.right, &counted)?[0]))
    }

    /// Why it neither holds nor not: the first number that lost records may change.
    fn open(&self, figures: &[Figure]) -> ExpressionError {
        let open = |term: &Term| {
            term.first(&|name| named(figures, name).is_some_and(|figure| figure.certainty != Certainty::Exact))
        };
        let (at, name) = open(&self.left).or_else(|| open(&self.right)).unwrap_or((0, String::new()));
        let found = match named(figures, &name) {
            Some(Figure { value: Some(value), certainty: Certainty::AtLeast, .. }) => {
                format!("`{name}`, of which the log tells only that it is at least {value}, for records are missing")
            }
            _ => format!("`{name}`, which the log does not tell, for records are missing"),
        };
        let expected = "a condition that the records that are there decide".to_owned();
        ExpressionError { text: self.text.clone(), at, found, expected }
    }

    /// The least and the most that a term can be.
    fn range(&self, term: &Term, figures: &[Figure]) -> Result<[f64; 2], ExpressionError> {
        let wrong = |at: usize, found: String, expected: String| {
            Err(ExpressionError { text: self.text.clone(), at, found, expected })
        };
        match term {
            Term::Number(number) => Ok([*number; 2]),
            Term::Name(at, name) => match named(figures, name).map(|figure| (figure, figure.range())) {
                Some((_, Some(range))) => Ok(range),
                Some((Figure { unknown, .. }, None)) => {
                    wrong(*at, format!("`{name}`, {unknown}"), "what it tells".to_owned())
                }
                None => {
                    let names: Vec<&str> = figures.iter().map(|figure| short(figures, figure)).collect();
                    wrong(*at, format!("`{name}`"), format!("one of {}", names.join(", ")))
                }
            },
            Term::Of(left, how, right) => {
                let ([a, b], [c, d]) = (self.range(left, figures)?, self.range(right, figures)?);
                match how {
                    '+' => Ok([a + c, b + d]),
                    '-' => Ok([a - d, b - c]),
                    '*' => Ok(hull([a * c, a * d, b * c, b * d])),
                    _ if c == 0.0 && d == 0.0 => wrong(0, "a division by 0".to_owned(), "another divisor".to_owned()),
                    // The divisor may be 0: anything.
                    _ if c <= 0.0 && d >= 0.0 => Ok([f64::NEG_INFINITY, f64::INFINITY]),
                    _ => Ok(hull([a / c, a / d, b / c, b / d])),
                }
            }
        }
    }
}

/// From the least to the most of these. What is no number is 0 times or over something without end: anything from 0 on.
fn hull(ends: [f64; 4]) -> [f64; 2] {
    let ends = ends.map(|end| if end.is_nan() { 0.0 } else { end });
    ends.into_iter().fold([f64::INFINITY, f64::NEG_INFINITY], |[low, high], end| [low.min(end), high.max(end)])
}

/// Whether something is so; `None`: it depends on what is lost.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
struct Told(Option<bool>);

impl Told {
    fn below([a, b]: [f64; 2], [c, d]: [f64; 2]) -> Self {
        Self(if b < c { Some(true) } else { (a >= d).then_some(false) })
    }

    fn same([a, b]: [f64; 2], [c, d]: [f64; 2]) -> Self {
        let single = a == b && c == d;
        Self(if b < c || d < a { Some(false) } else { (single && a == c).then_some(true) })
    }

    fn not(self) -> Self {
        Self(self.0.map(|so| !so))
    }
}

impl Term {
    /// The first name that is wanted, and where it stands.
    fn first(&self, wanted: &impl Fn(&str) -> bool) -> Option<(usize, String)> {
        match self {
            Self::Number(_) => None,
            Self::Name(at, name) => wanted(name).then(|| (*at, name.clone())),
            Self::Of(left, _, right) => left.first(wanted).or_else(|| right.first(wanted)),
        }
    }
}

/// A figure by its name or its short one.
fn named<'f>(figures: &'f [Figure], name: &str) -> Option<&'f Figure> {
    let whole = figures.iter().find(|figure| figure.name == name);
    whole.or_else(|| figures.iter().find(|figure| figure.name.strip_suffix("_bytes") == Some(name)))
}

/// A figure's name without `_bytes`, unless another has that name.
fn short<'f>(figures: &[Figure], figure: &'f Figure) -> &'f str {
    let short = figure.name.strip_suffix("_bytes").unwrap_or(&figure.name);
    let taken = short != figure.name && figures.iter().any(|other| other.name == short);
    if taken { &figure.name } else { short }
}

struct Parser {
    text: Vec<char>,
    at: usize,
    depth: usize,
}

impl Parser {
    fn skip(&mut self) {
        while self.peek().is_some_and(char::is_whitespace) {
            self.at += 1;
        }
    }

    fn peek(&self) -> Option<char> {
        self.text.get(self.at).copied()
    }

    fn wrong(&self, expected: &str) -> ExpressionError {
        let rest: String = self.text[self.at.min(self.text.len())..].iter().take(20).collect();
        let found = if rest.is_empty() { "the end".to_owned() } else { format!("`{rest}`") };
        ExpressionError { text: self.text.iter().collect(), at: self.at, found, expected: expected.to_owned() }
    }

    fn sum(&mut self) -> Result<Term, ExpressionError> {
        self.chain(&['+', '-'], Self::product)
    }

    fn product(&mut self) -> Result<Term, ExpressionError> {
        self.chain(&['*', '/'], Self::factor)
    }

    fn chain(
        &mut self,
        signs: &[char],
        part: fn(&mut Self) -> Result<Term, ExpressionError>,
    ) -> Result<Term, ExpressionError> {
        let mut term = part(self)?;
        // Each link makes the term deeper, and what takes it apart goes as deep.
        let mut links = 0;
        loop {
            self.skip();
            let Some(sign) = self.peek().filter(|c| signs.contains(c)) else { return Ok(term) };
            links += 1;
            if links > DEEPEST {
                return Err(self.wrong("a shorter condition"));
            }
            self.at += 1;
            term = Term::Of(Box::new(term), sign, Box::new(part(self)?));
        }
    }

    fn factor(&mut self) -> Result<Term, ExpressionError> {
        self.skip();
        match self.peek() {
            Some('(') if self.depth < DEEPEST => {
                self.at += 1;
                self.depth += 1;
                let term = self.sum()?;
                self.depth -= 1;
                self.skip();
                if self.peek() != Some(')') {
                    return Err(self.wrong("`)`"));
                }
                self.at += 1;
                Ok(term)
            }
            Some(c) if c.is_ascii_digit() || c == '.' => self.number(),
            Some(c) if c.is_ascii_alphabetic() || c == '_' => Ok(self.name()),
            _ => Err(self.wrong("a number, a name of the report, or `(`")),
        }
    }

    fn number(&mut self) -> Result<Term, ExpressionError> {
        let from = self.at;
        let digits = self.word(|c| c.is_ascii_digit() || c == '.' || c == '_');
        let Ok(number) = digits.replace('_', "").parse::<f64>() else {
            self.at = from;
            return Err(self.wrong("a number, such as 1.05"));
        };
        let at = self.at;
        let unit = self.word(|c| c.is_ascii_alphabetic());
        if unit.is_empty() {
            return Ok(Term::Number(number));
        }
        match UNITS.iter().find(|(name, _)| name.eq_ignore_ascii_case(&unit)) {
            Some((_, scale)) => Ok(Term::Number(number * scale)),
            None => {
                self.at = at;
                Err(self.wrong("a unit: kB, MB, GB, TB, KiB, MiB, GiB or TiB"))
            }
        }
    }

    fn name(&mut self) -> Term {
        let at = self.at;
        Term::Name(at, self.word(|c| c.is_ascii_alphanumeric() || c == '_' || c == '.'))
    }

    fn word(&mut self, belongs: impl Fn(char) -> bool) -> String {
        let from = self.at;
        while self.peek().is_some_and(&belongs) {
            self.at += 1;
        }
        self.text[from..self.at].iter().collect()
    }

    fn comparison(&mut self) -> Result<Comparison, ExpressionError> {
        self.skip();
        let two: String = self.text[self.at..].iter().take(2).collect();
        let (how, length) = match two.as_str() {
            ">=" => (Comparison::AtLeast, 2),
            "<=" => (Comparison::AtMost, 2),
            "==" => (Comparison::Same, 2),
            "!=" => (Comparison::Other, 2),
            _ if two.starts_with('>') => (Comparison::More, 1),
            _ if two.starts_with('<') => (Comparison::Less, 1),
            _ => return Err(self.wrong("a comparison: > >= < <= == or !=")),
        };
        self.at += length;
        Ok(how)
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    fn figures() -> Vec<Figure> {
        let of = |name: &str, value| Figure {
            name: name.to_owned(),
            value,
            unknown: "which is not there",
            certainty: Certainty::Exact,
        };
        let figure = |name: &str, value| of(name, Some(value));
        vec![
            of("waits_inserted", None),
            figure("live_at_end", 1),
            figure("live_at_end_bytes", 512),
            figure("peak_used_bytes", 100),
            figure("peak_reserved_bytes", 106),
            figure("leaks", 0),
            figure("reuse.event", 7),
        ]
    }

    fn holds(text: &str) -> bool {
        Expression::parse(text).and_then(|e| e.holds(&figures())).unwrap_or_else(|error| panic!("{error}"))
    }

    #[test]
    fn conditions_are_worked_out_as_in_arithmetic() {
        for text in [
            "peak_reserved>1.05*peak_used",
            "peak_reserved_bytes == 106",
            "leaks<=0",
            "reuse.event != 6",
            "2 + 3 * 4 == 14",
            "(2+3)*4 == 20",
            "10 - 2 - 3 == 5",
            "1KiB == 1024",
            "8/2/2 == 2",
        ] {
            assert!(holds(text), "{text}");
        }
        for text in ["peak_reserved>1.07*peak_used", "leaks>0", "1.5GiB < 1 GiB".replace("1 GiB", "1GiB").as_str()] {
            assert!(!holds(text), "{text}");
        }
    }

    /// Some of the 3 refusals may be lost, and the peak may be any.
    #[test]
    fn what_lost_records_may_change_is_told_only_as_far_as_it_is_known() {
        let of =
            |name: &str, value, certainty| Figure { name: name.to_owned(), value: Some(value), unknown: "", certainty };
        let figures = [of("refused", 3, Certainty::AtLeast), of("peak_used_bytes", 9, Certainty::Open)];
        let told = |text: &str| Expression::parse(text).expect("reads").holds(&figures);
        for (text, right) in [
            ("refused > 0", Some(true)),
            ("refused != 2", Some(true)),
            ("refused >= 3", Some(true)),
            ("3 > refused", Some(false)),
            ("refused == 2", Some(false)),
            ("2 * refused + 1 < 7", Some(false)),
            ("10 - refused <= 7", Some(true)),
            ("12 / refused <= 4", Some(true)),
            ("refused > 3", None),
            ("refused == 3", None),
            ("refused < 9", None),
            ("12 / refused < 4", None),
            ("peak_used > 0", None),
            ("peak_used >= 0", Some(true)),
            ("peak_used * 0 == 0", Some(true)),
            ("refused - refused == 0", None),
        ] {
            assert_eq!(told(text).ok(), right, "{text}");
        }
        let error = told("refused == 3").expect_err("not known");
        assert!(error.found.contains("at least 3, for records are missing"), "{error}");
        assert!(told("1 + peak_used > 0 + 1").expect_err("not known").to_string().contains("`peak_used`"));
    }

    #[test]
    fn an_error_points_at_the_place() {
        for (text, at, expected) in [
            ("", 0, "a number, a name"),
            ("leaks", 5, "a comparison"),
            ("leaks >", 7, "a number, a name"),
            ("leaks > 1 2", 10, "the end"),
            ("(leaks > 1", 7, "`)`"),
            ("1.2.3 > 1", 0, "a number, such as"),
            ("5 gigs > 1", 2, "a comparison"),
            ("5gigs > 1", 1, "a unit"),
        ] {
            let error = Expression::parse(text).expect_err(text);
            assert_eq!(error.at, at, "{text}: {error}");
            assert!(error.expected.contains(expected), "{text}: {error}");
        }
        let error = Expression::parse("leaks + peek > 1").expect("reads").holds(&figures()).expect_err("no such name");
        assert_eq!(error.at, 8);
        assert!(error.to_string().contains("\n        ^\n") && error.expected.contains("peak_used, "), "{error}");
        assert_eq!(error.expected.matches("live_at_end,").count(), 1, "{error}");
        assert!(holds("live_at_end == 1") && holds("live_at_end_bytes == 512"));
        let error = Expression::parse("waits_inserted > 0").expect("reads").holds(&figures()).expect_err("unknown");
        assert_eq!(error.found, "`waits_inserted`, which is not there");
        assert!(Expression::parse("1/leaks > 0").expect("reads").holds(&figures()).is_err());
        let deep = "(".repeat(1 << 20);
        assert!(Expression::parse(&deep).is_err());
        assert!(Expression::parse(&"1+".repeat(1 << 20)).is_err());
    }
}
