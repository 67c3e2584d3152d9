//! The opcodes that a file of built-in types has, protocols 2 to 5.

/// What an opcode does to the stack.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(super) enum Opcode {
    Protocol,
    Frame,
    Stop,
    Mark,
    Pop,
    None,
    True,
    False,
    /// A number of so many bytes without a sign.
    Unsigned(u8),
    /// One of four bytes with a sign.
    Signed,
    /// One whose length stands before it, in so many bytes.
    Long(u8),
    Float,
    /// Text whose length stands before it, in so many bytes.
    Text(u8),
    EmptyList,
    EmptyDict,
    /// A tuple of so many values.
    Tuple(u8),
    /// A tuple, a list, a dict of everything since the mark.
    MarkedTuple,
    MarkedList,
    MarkedDict,
    Append,
    Appends,
    SetItem,
    SetItems,
    /// Remembers the top of the stack under a number of so many bytes.
    Put(u8),
    /// The same under the next number.
    Memoize,
    /// What is remembered under a number of so many bytes.
    Get(u8),
}

const KNOWN: [(u8, Opcode); 37] = [
    (0x80, Opcode::Protocol),
    (0x95, Opcode::Frame),
    (b'.', Opcode::Stop),
    (b'(', Opcode::Mark),
    (b'0', Opcode::Pop),
    (b'N', Opcode::None),
    (0x88, Opcode::True),
    (0x89, Opcode::False),
    (b'K', Opcode::Unsigned(1)),
    (b'M', Opcode::Unsigned(2)),
    (b'J', Opcode::Signed),
    (0x8a, Opcode::Long(1)),
    (0x8b, Opcode::Long(4)),
    (b'G', Opcode::Float),
    (0x8c, Opcode::Text(1)),
    (b'X', Opcode::Text(4)),
    (0x8d, Opcode::Text(8)),
    (b'U', Opcode::Text(1)),
    (b'T', Opcode::Text(4)),
    (b']', Opcode::EmptyList),
    (b'}', Opcode::EmptyDict),
    (b')', Opcode::Tuple(0)),
    (0x85, Opcode::Tuple(1)),
    (0x86, Opcode::Tuple(2)),
    (0x87, Opcode::Tuple(3)),
    (b't', Opcode::MarkedTuple),
    (b'l', Opcode::MarkedList),
    (b'd', Opcode::MarkedDict),
    (b'a', Opcode::Append),
    (b'e', Opcode::Appends),
    (b's', Opcode::SetItem),
    (b'u', Opcode::SetItems),
    (b'q', Opcode::Put(1)),
    (b'r', Opcode::Put(4)),
    (0x94, Opcode::Memoize),
    (b'h', Opcode::Get(1)),
    (b'j', Opcode::Get(4)),
];

/// Those that name or call Python code.
const CALLS: [(u8, &str); 14] = [
    (b'c', "GLOBAL"),
    (0x93, "STACK_GLOBAL"),
    (b'R', "REDUCE"),
    (b'b', "BUILD"),
    (b'i', "INST"),
    (b'o', "OBJ"),
    (0x81, "NEWOBJ"),
    (0x92, "NEWOBJ_EX"),
    (b'P', "PERSID"),
    (b'Q', "BINPERSID"),
    (0x82, "EXT1"),
    (0x83, "EXT2"),
    (0x84, "EXT4"),
    (0x97, "NEXT_BUFFER"),
];

/// Every opcode by its byte, so that reading is one look.
const TABLE: [Option<Opcode>; 256] = {
    let mut table = [None; 256];
    let mut place = 0;
    while place < KNOWN.len() {
        table[KNOWN[place].0 as usize] = Some(KNOWN[place].1);
        place += 1;
    }
    table
};

impl Opcode {
    pub(super) fn of(byte: u8) -> Option<Self> {
        TABLE.get(usize::from(byte)).copied().flatten()
    }
}

/// Whether a byte that is none of them names or calls Python code.
pub(super) fn calls(byte: u8) -> bool {
    CALLS.iter().any(|(known, _)| *known == byte)
}

/// What a byte is that is none of them.
pub(super) fn foreign(byte: u8) -> String {
    match CALLS.iter().find(|(known, _)| *known == byte) {
        Some((_, name)) => format!("{name}, which names or calls Python code"),
        None => format!("the byte {byte:#04x}"),
    }
}
