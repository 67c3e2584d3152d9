//! JSON that is written straight into bytes: no tree of it is ever there.

/// An object whose members follow one another. Dropped, it is closed.
pub(super) struct Object<'o> {
    out: &'o mut Vec<u8>,
    is_empty: bool,
}

impl<'o> Object<'o> {
    pub(super) fn begin(out: &'o mut Vec<u8>) -> Self {
        out.push(b'{');
        Self { out, is_empty: true }
    }

    /// A member. Keys are words of ours: nothing in them is escaped.
    fn key(&mut self, key: &'static str) {
        self.out.extend_from_slice(if std::mem::take(&mut self.is_empty) { b"\"" } else { b",\"" });
        self.out.extend_from_slice(key.as_bytes());
        self.out.extend_from_slice(b"\":");
    }

    pub(super) fn number(&mut self, key: &'static str, number: impl itoa::Integer) {
        self.key(key);
        self.out.extend_from_slice(itoa::Buffer::new().format(number).as_bytes());
    }

    /// Microseconds, in which this format counts, with three places at most.
    pub(super) fn micros(&mut self, key: &'static str, nanos: u64) {
        self.key(key);
        if nanos >= EXACT {
            // The last places may be lost by readers, which take it for a float: what it is to them stands here.
            let rounded = format!("{}.{:03}", nanos / 1000, nanos % 1000).parse::<f64>().unwrap_or_default();
            self.out.extend_from_slice(serde_json::Value::from(rounded).to_string().as_bytes());
            return;
        }
        self.out.extend_from_slice(itoa::Buffer::new().format(nanos / 1000).as_bytes());
        let part = (nanos % 1000) as u16;
        let digits = [b'.', digit(part / 100), digit(part / 10), digit(part)];
        // At least one place, and no zeroes at the end beyond it.
        let places = if part.is_multiple_of(100) {
            2
        } else if part.is_multiple_of(10) {
            3
        } else {
            4
        };
        self.out.extend_from_slice(&digits[..places]);
    }

    /// A word of ours: nothing in it is escaped.
    pub(super) fn word(&mut self, key: &'static str, word: &'static str) {
        self.key(key);
        self.out.push(b'"');
        self.out.extend_from_slice(word.as_bytes());
        self.out.push(b'"');
    }

    pub(super) fn text(&mut self, key: &'static str, text: &str) {
        self.key(key);
        // Writing to memory does not fail.
        let _ = serde_json::to_writer(&mut *self.out, text);
    }

    pub(super) fn truth(&mut self, key: &'static str) {
        self.key(key);
        self.out.extend_from_slice(b"true");
    }

    pub(super) fn null(&mut self, key: &'static str) {
        self.key(key);
        self.out.extend_from_slice(b"null");
    }

    pub(super) fn object(&mut self, key: &'static str) -> Object<'_> {
        self.key(key);
        Object::begin(self.out)
    }
}

impl Drop for Object<'_> {
    fn drop(&mut self) {
        self.out.push(b'}');
    }
}

/// Floats tell all numbers of fifteen digits apart.
const EXACT: u64 = 1_000_000_000_000_000;

const fn digit(number: u16) -> u8 {
    b'0' + (number % 10) as u8
}

#[cfg(test)]
mod tests {
    use super::*;
    use serde_json::{Value, json};

    #[test]
    fn what_is_written_is_what_a_reader_finds() {
        let mut out = Vec::new();
        let mut object = Object::begin(&mut out);
        object.number("less", -3_i64);
        object.text("text", "a \"b\"\n\\\u{1}");
        object.object("none");
        let mut inner = object.object("some");
        inner.word("word", "w");
        inner.truth("yes");
        inner.null("nothing");
        drop(inner);
        object.number("most", u64::MAX);
        drop(object);
        let right = json!({
            "less": -3, "text": "a \"b\"\n\\\u{1}", "none": {}, "some": { "word": "w", "yes": true, "nothing": null },
            "most": u64::MAX
        });
        assert_eq!(serde_json::from_slice::<Value>(&out).expect("is JSON"), right);
    }

    /// As the shortest text of the float that is closest.
    #[test]
    fn microseconds_are_floats() {
        for (nanos, right) in
            [(0, "0.0"), (7, "0.007"), (1_050, "1.05"), (1_500, "1.5"), (2_000, "2.0"), (EXACT - 1, "999999999999.999")]
        {
            let mut out = Vec::new();
            Object::begin(&mut out).micros("ts", nanos);
            assert_eq!(String::from_utf8(out).expect("is text"), format!("{{\"ts\":{right}}}"));
        }
        let mut out = Vec::new();
        Object::begin(&mut out).micros("ts", u64::MAX);
        let read: Value = serde_json::from_slice(&out).expect("is JSON");
        assert_eq!(read["ts"].as_f64(), Some(u64::MAX as f64 / 1000.0));
    }
}
