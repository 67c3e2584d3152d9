#!/usr/bin/env python3
"""Makes the snapshots beside it: what PyTorch's _dump_snapshot writes of a small program on two devices, with frames that
many entries share through the memo. usage: snapshot.py FOLDER"""
import pickle
import sys

GIB = 1 << 30
BASE = 139_000_000_000_000  # six bytes, as real addresses are
FRAMES = [{"filename": "train.py", "line": 7, "name": "step"}, {"filename": "model.py", "line": 42, "name": "forward"}]


def entry(action, addr, size, stream=0, time=0):
    return {"action": action, "addr": addr, "size": size, "stream": stream, "time_us": time, "frames": FRAMES}


def block(address, size, asked, state):
    return {"address": address, "size": size, "requested_size": asked, "state": state, "frames": FRAMES}


def segment(device, address, stream, blocks):
    live = [b for b in blocks if b["state"].startswith("active")]
    return {
        "device": device, "address": address, "total_size": sum(b["size"] for b in blocks),
        "allocated_size": sum(b["size"] for b in live), "active_size": sum(b["size"] for b in live),
        "requested_size": sum(b["requested_size"] for b in live), "stream": stream, "segment_type": "large",
        "segment_pool_id": (0, 0), "is_expandable": False, "frames": FRAMES, "blocks": blocks,
    }


def trace():
    """The ring has lost how the blocks at BASE (freed here) and BASE + 4096 (live to the end) came to be."""
    a, b, c = BASE + 8192, BASE + 16384, BASE + 24576
    entries = [
        entry("segment_alloc", BASE + (8 << 20), 2 << 20),
        entry("alloc", a, 5000),
        entry("free_requested", BASE, 4000),
        entry("free_completed", BASE, 4000),
        entry("alloc", BASE, 3000),
        entry("alloc", b, 7000, stream=7),
        # Another stream uses it: the allocator has it back only later.
        entry("free_requested", b, 7000, stream=7),
        entry("alloc", c, 6000),
        entry("free_completed", b, 7000, stream=7),
        {"action": "oom", "device_free": 512, "size": 80 * GIB, "stream": 0, "time_us": 9, "frames": FRAMES},
        entry("snapshot", 0, 0),
        entry("free_requested", c, 6000),
        entry("free_completed", c, 6000),
        entry("free_requested", a, 5000),
        entry("segment_free", BASE + (8 << 20), 2 << 20),
    ]
    return [{**entry, "time_us": 1000 + number} for number, entry in enumerate(entries)]


def snapshot():
    first = segment(0, BASE, 0, [
        block(BASE, 4096, 3000, "active_allocated"), block(BASE + 4096, 4096, 4001, "active_allocated"),
        block(BASE + 8192, 8192, 5000, "active_pending_free"), block(BASE + 16384, 8192, 0, "inactive"),
        block(BASE + 24576, (2 << 20) - 24576, 0, "inactive")])
    second = segment(1, BASE, 3, [block(BASE, 2 << 20, 1 << 20, "active_allocated")])
    return {
        "segments": [first, second],
        "device_traces": [trace(), [entry("alloc", BASE + (4 << 20), 1 << 20, stream=3)], []],
        "allocator_settings": {"PYTORCH_CUDA_ALLOC_CONF": "", "garbage_collection_threshold": 0.5,
                               "roundup_power2_divisions": {"1": 0}, "host": None, "huge": 1 << 200, "less": -5},
    }


for protocol in (2, 4, 5):
    with open(f"{sys.argv[1]}/snapshot.{protocol}.pickle", "wb") as file:
        pickle.dump(snapshot(), file, protocol)
