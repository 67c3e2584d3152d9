//! Pickles written byte by byte: what is refused, and that nothing but memory limits what is read.

use super::*;
use crate::import::ImportError;

fn load(input: &[u8]) -> Result<Pickle<'_>, ImportError> {
    super::load(input, Limits::DEFAULT)
}

fn text(input: &[u8]) -> String {
    load(input).expect_err("was read").to_string()
}

#[test]
fn numbers_have_their_sign_and_size() {
    let file = b"\x80\x04(K\xffM\xfe\xffJ\xff\xff\xff\xff\x8a\x00\x8a\x02\x00\x80\x8a\x09\xff\xff\xff\xff\xff\xff\xff\xff\x00G\x3f\xe0\0\0\0\0\0\0t.";
    let pickle = load(file).expect("is readable");
    let elements: Vec<_> =
        pickle.elements(pickle.root()).expect("a tuple").iter().map(|id| pickle.value(*id)).collect();
    let right = [255, 65_534, -1, 0, -32_768, i128::from(u64::MAX)].map(Value::Int);
    assert_eq!(elements[..6], right.iter().collect::<Vec<_>>());
    assert_eq!(*elements[6], Value::Float(0.5));
    let mut long = b"\x80\x04\x8a\x11".to_vec();
    long.extend([1; 17]);
    long.push(b'.');
    let pickle = load(&long).expect("is readable");
    assert_eq!(*pickle.value(pickle.root()), Value::Huge);
}

#[test]
fn what_is_remembered_is_the_same_value() {
    // A list that is remembered, twice an element of another list, and appended to afterwards.
    let pickle = load(b"\x80\x04](]\x94h\x00eh\x00K\x05a0.").expect("is readable");
    let outer = pickle.elements(pickle.root()).expect("a list");
    assert_eq!(outer.len(), 2);
    assert_eq!(outer[0], outer[1]);
    let inner = pickle.elements(outer[1]).expect("a list");
    assert_eq!(*pickle.value(inner[0]), Value::Int(5));
}

#[test]
fn a_list_in_itself_is_no_trouble() {
    let pickle = load(b"\x80\x04]\x94h\x00a.").expect("is readable");
    assert_eq!(pickle.elements(pickle.root()), Some([pickle.root()].as_slice()));
}

#[test]
fn a_later_entry_replaces_an_earlier_one() {
    let pickle = load(b"\x80\x02}(X\x01\0\0\0aK\x01X\x01\0\0\0aK\x02u.").expect("is readable");
    let value = pickle.field(pickle.root(), "a").expect("is there");
    assert_eq!(*pickle.value(value), Value::Int(2));
    assert_eq!(pickle.field(pickle.root(), "b"), None);
}

#[test]
fn code_is_refused_by_name_and_place() {
    for (file, name) in [
        (b"\x80\x02cos\nsystem\nU\x02ls\x85R.".as_slice(), "byte 2: found GLOBAL, which names or calls Python code"),
        (b"\x80\x04\x8c\x02os\x8c\x06system\x93.", "byte 14: found STACK_GLOBAL"),
        (b"\x80\x04K\x01)R.", "byte 5: found REDUCE"),
        (b"\x80\x04K\x01}b.", "byte 5: found BUILD"),
        (b"\x80\x02(ios\nsystem\n.", "byte 3: found INST"),
        (b"\x80\x02K\x01Q.", "byte 4: found BINPERSID"),
        (b"\x80\x02\x82\x01.", "byte 2: found EXT1"),
    ] {
        assert!(text(file).starts_with(name), "{}", text(file));
        assert!(text(file).contains("expected a pickle of built-in types"), "{}", text(file));
    }
}

#[test]
fn what_makes_no_sense_is_refused() {
    for (file, what) in [
        (b"\x80\x04.".as_slice(), "byte 2: found an opcode that takes more values than there are"),
        (b"\x80\x04u.", "byte 2: found an opcode that takes what follows a mark, and no mark"),
        (b"\x80\x04K\x01a.", "more values than there are"),
        (b"\x80\x04K\x01K\x02a.", "an append to what is no list"),
        (b"\x80\x04}(K\x01u.", "a key without a value"),
        (b"\x80\x04K\x01K\x02K\x03s.", "entries for what is no dict"),
        (b"\x80\x04](K\x01(00.", "more values than there are"),
        (b"\x80\x04h\x07.", "memo entry 7, which nothing has set"),
        (b"\x80\x01N.", "protocol 1"),
        (b"\x80\x04\xfeN.", "the byte 0xfe"),
        (b"\x80\x04N", "byte 3: found the file's end after byte 3"),
        (b"\x80\x04X\xff\xff\xff\xffabc", "the file's end"),
        (b"\x80\x04\x8d\xff\xff\xff\xff\xff\xff\xff\xff.", "the file's end"),
        (b"\x80\x04\x8b\xff\xff\xff\x7f.", "the file's end"),
        (b"", "byte 0: found the file's end"),
    ] {
        assert!(text(file).contains(what), "{file:?}: {}", text(file));
    }
}

#[test]
fn depth_is_no_stack_and_marks_are_limited() {
    // A list in a list, a million deep, without marks.
    let mut deep = b"\x80\x04".to_vec();
    deep.extend(std::iter::repeat_n(b']', 1_000_000));
    deep.extend(std::iter::repeat_n(b'a', 999_999));
    deep.push(b'.');
    assert!(load(&deep).is_ok());
    let marks = [b"\x80\x04".as_slice(), &[b'('; 1_001]].concat();
    assert!(text(&marks).contains("nested more than 1000 deep"));
}

#[test]
fn values_are_limited() {
    let limits = Limits { values: 3, ..Limits::DEFAULT };
    assert!(super::load(b"\x80\x04NN0N.", limits).is_ok());
    let error = super::load(b"\x80\x04NN0NN.", limits).expect_err("are four").to_string();
    assert!(error.starts_with("byte 6: found more than 3 values"), "{error}");
}

#[test]
fn no_damage_makes_it_panic() {
    let file = include_bytes!("../../../tests/data/snapshot.4.pickle");
    let mut state = 1_u64;
    for _ in 0..3_000 {
        let mut file = file.to_vec();
        for _ in 0..3 {
            state = state.wrapping_mul(6_364_136_223_846_793_005).wrapping_add(1);
            let place = (state >> 33) as usize % file.len();
            file[place] = (state >> 20) as u8;
        }
        // Whatever it is: it ends, and says so.
        let _ = crate::import::read(file.as_slice(), None);
    }
    for length in 0..file.len() {
        assert!(load(&file[..length]).is_err());
    }
}
