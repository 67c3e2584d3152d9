//! The words of pictures and reports, each in one plain sentence.

/// A word, or a few, and what they mean. Longer ones stand before those that they hold.
const WORDS: [(&str, &str); 31] = [
    ("mapped, free", "Memory that is there and nobody's: the next malloc may take it without asking the device."),
    ("not mapped", "Addresses without physical memory behind them."),
    ("small hole", "Addresses without physical memory, too few of them for the slanted lines to be seen."),
    ("peak used", "The most bytes that were in live blocks at one moment."),
    ("peak reserved", "The most physical memory that was mapped at one moment, used and free together."),
    ("ordered floor", "The least memory with which any pool could serve this log without adding waits."),
    ("used", "Bytes in blocks that the program holds."),
    ("reserved", "Physical memory that is mapped: used and free together."),
    ("pending", "Bytes that were freed, but the work that was done with them is not known to be complete."),
    (
        "threshold",
        "Reserved bytes that the pool keeps at a synchronisation; free memory above that goes back to the device.",
    ),
    ("limit", "The most physical memory that the pool may have."),
    ("granule", "The smallest piece of physical memory that the device maps, mostly 2 MiB."),
    ("same stream", "The block was freed on the stream that asks for it, whose own order is enough."),
    ("settled", "All work that was done with the block is known to be complete on the device."),
    ("waits for an event", "The program made one stream wait for what another one had recorded."),
    ("event", "The stream that asks had waited for an event that was recorded behind the block's last work."),
    ("opportunistic", "The device was asked at the malloc, and said that the block's last work is complete."),
    ("inserted wait", "The pool made the stream that asks wait, on the device, for the block's last work."),
    ("waits inserted", "Waits that the pool added on the device, so that a stream could have memory of another."),
    ("grow", "New physical memory was mapped, as nothing that was free would do."),
    ("remap", "Physical memory was taken from addresses where it was free and mapped where it was needed."),
    ("synchronise", "The host learnt that work on a stream, an event or a device is complete."),
    ("trim", "The pool gave free physical memory back to the device."),
    ("refused", "A call that was not done; its record says why."),
    ("finding", "Something that is wrong, as the check of the log found."),
    ("host knows", "From here on the host knows that the work of that stream is complete."),
    ("memory handed over", "What was freed on one stream was allocated on another."),
    ("fragmentation", "The part of the free memory that is not in its largest piece."),
    ("rounding", "Bytes that blocks have beyond what was asked for."),
    ("leaks", "Blocks that were live when their pool was destroyed."),
    ("thrash", "Memory that was released and created again before the next synchronisation."),
];

/// What a text means: the sentence of the first word of the table in it; its plural counts, too.
#[must_use]
pub fn meaning(text: &str) -> Option<&'static str> {
    let text = text.to_lowercase().replace('_', " ");
    let whole = |at: usize, word: &str| {
        let is_inside = |c: Option<char>| c.is_some_and(char::is_alphanumeric);
        let behind = &text[at + word.len()..];
        let behind = behind.strip_prefix('s').unwrap_or(behind);
        !is_inside(text[..at].chars().next_back()) && !is_inside(behind.chars().next())
    };
    let has = |word: &str| text.match_indices(word).any(|(at, _)| whole(at, word));
    WORDS.iter().find(|(word, _)| has(word)).map(|(_, sentence)| *sentence)
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn every_word_has_its_own_sentence() {
        for (word, sentence) in WORDS {
            assert_eq!(meaning(word), Some(sentence), "{word}");
            assert!(sentence.ends_with('.') && sentence.matches(". ").count() == 0, "{sentence}");
        }
    }

    #[test]
    fn words_are_found_in_texts_as_whole_ones() {
        let of = |word: &str| WORDS.iter().find(|entry| entry.0 == word).map(|entry| entry.1);
        assert_eq!(meaning("3 Granules of 2 MiB"), of("granule"));
        assert_eq!(meaning("threshold: all kept"), of("threshold"));
        assert_eq!(meaning("inserted_wait"), of("inserted wait"));
        assert_eq!(
            [meaning("unused"), meaning("events.log"), meaning("eventually"), meaning("")],
            [None, of("event"), None, None]
        );
    }
}
