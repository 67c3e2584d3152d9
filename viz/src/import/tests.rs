//! Files of every format, found by what they hold.

use super::*;

const SNAPSHOTS: [&[u8]; 3] = [
    include_bytes!("../../tests/data/snapshot.2.pickle"),
    include_bytes!("../../tests/data/snapshot.4.pickle"),
    include_bytes!("../../tests/data/snapshot.5.pickle"),
];

fn sizes(program: &Program) -> Vec<u64> {
    program.blocks.iter().map(|block| block.size).collect()
}

#[test]
fn a_snapshot_begins_with_what_was_live() {
    for file in SNAPSHOTS {
        let program = read(file, None).expect("is readable");
        assert_eq!(sizes(&program), [4000, 4001, 5000, 3000, 7000, 6000]);
        assert_eq!(program.streams, [0, 7]);
        let (stream, other) = (0, 1);
        let right = [
            Op::Allocate { block: 0 },
            Op::Allocate { block: 1 },
            Op::Mark { number: 1 },
            Op::Allocate { block: 2 },
            Op::Free { block: 0, stream },
            Op::Allocate { block: 3 },
            Op::Allocate { block: 4 },
            Op::Allocate { block: 5 },
            // A free counts when it is complete.
            Op::Free { block: 4, stream: other },
            Op::Nothing,
            Op::Free { block: 5, stream },
        ];
        assert_eq!(program.ops, right);
        assert_eq!(program.marks, [Some("the recording begins".to_owned())]);
        assert_eq!((program.aside.failures, program.measured_from), (1, 3));
        assert_eq!(
            program.notes,
            ["this is device 0; device 1 has 1 entries: --device 1", "2 blocks were live before the recording began"]
        );
    }
}

#[test]
fn each_device_is_a_program_of_its_own() {
    let program = read(SNAPSHOTS[1], Some(1)).expect("is readable");
    assert_eq!((sizes(&program), program.streams), (vec![1 << 20; 2], vec![3]));
    let error = read(SNAPSHOTS[1], Some(2)).expect_err("has done nothing");
    assert_eq!(
        error.to_string(),
        "the file: found nothing of device 2; expected one of the 3 devices of the snapshot, counted from 0"
    );
}

#[test]
fn other_pickles_are_refused_with_what_is_missing() {
    for (file, expected) in [
        (b"\x80\x04N.".as_slice(), "the file, key segments: found None; expected a dict with the lists segments"),
        (b"\x80\x04}(X\x08\0\0\0segments]u.", "the file, key device_traces: found a dict"),
        (
            b"\x80\x04}(X\x08\0\0\0segments]X\x0d\0\0\0device_traces]]]aau.",
            "entry 0, key action: found nothing; expected the name of an action",
        ),
        (
            b"\x80\x04}(X\x08\0\0\0segments]X\x0d\0\0\0device_traces]]}(X\x06\0\0\0actionX\x05\0\0\0allocX\x04\0\0\0addrJ\xff\xff\xff\xffuaau.",
            "entry 0, key addr: found -1; expected a number from 0 to 2^64 - 1",
        ),
    ] {
        let error = read(file, None).expect_err("is no snapshot").to_string();
        assert!(error.starts_with(expected), "{error}");
    }
}

#[test]
fn lifetimes_are_found_by_their_header() {
    let program = read(b"\n\xef\xbb\xbfid,lower,upper,size\nb1,0,3,4\nb2,3,9,5\n".as_slice(), None);
    assert_eq!(program.expect("is readable").peak_within(u64::MAX), 5);
    let older = read(b"buffer,start,end,size,alignment\n1,0,3,4,1\n2,3,9,5,1\n".as_slice(), None);
    assert_eq!(older.expect("is readable").peak_within(u64::MAX), 9);
}

#[test]
fn a_device_is_for_logs_that_have_several() {
    let error = read(b"id,lower,upper,size\n".as_slice(), Some(0)).expect_err("has no devices");
    assert!(error.to_string().contains("no --device for CSV files"), "{error}");
}

#[test]
fn anything_else_is_refused_with_the_formats() {
    for file in [b"".as_slice(), b"a,b,c\n1,2,3\n", b"\x89PNG\r\n\x1a\n\0", b"\x1f\x8b\x08\0"] {
        let error = read(file, None).expect_err("is no log").to_string();
        assert!(error.contains("lifetimes (id,lower,upper,size)") && error.contains("PyTorch"), "{error}");
    }
}
