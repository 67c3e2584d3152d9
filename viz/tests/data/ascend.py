#!/usr/bin/env python3
"""Makes ascend.sqlite, ascend-sums.sqlite and memscope.sqlite: the tables of the Ascend profilers' databases and of msMemScope's
that are about memory, of a made-up run. The names of tables and columns are Huawei's; the run and its numbers are not.
usage: ascend.py FOLDER"""
import os
import sqlite3
import sys

MIB = 1 << 20


def made(name):
    path = f"{sys.argv[1]}/{name}"
    if os.path.exists(path):
        os.remove(path)
    db = sqlite3.connect(path)
    db.execute("PRAGMA page_size = 512")
    db.execute("CREATE TABLE STRING_IDS (id INTEGER PRIMARY KEY, value TEXT)")
    db.executemany("INSERT INTO STRING_IDS VALUES (?, ?)", [(1, "aten::mul"), (2, "PTA"), (3, "APP"), (4, "aten::add")])
    db.execute("""CREATE TABLE MEMORY_RECORD (component INTEGER, timestamp INTEGER, totalAllocated INTEGER,
        totalReserved INTEGER, totalActive INTEGER, streamPtr INTEGER, deviceId INTEGER)""")
    db.executemany("INSERT INTO MEMORY_RECORD VALUES (?, ?, ?, ?, ?, ?, ?)", [
        (3, 900, None, 64 * MIB, None, None, 0),
        (2, 1000, MIB, 20 * MIB, MIB, 7, 0),
        (2, 2000, 3 * MIB, 20 * MIB, 3 * MIB, 7, 0),
        (2, 3000, 2 * MIB, 10 * MIB, 2 * MIB, 7, 0),
    ])
    return db


db = made("ascend-sums.sqlite")
db.commit()
db = made("ascend.sqlite")
db.execute("""CREATE TABLE OP_MEMORY (name INTEGER, size INTEGER, allocationTime INTEGER, releaseTime INTEGER,
    activeReleaseTime INTEGER, duration INTEGER, activeDuration INTEGER, allocationTotalAllocated INTEGER,
    allocationTotalReserved INTEGER, allocationTotalActive INTEGER, releaseTotalAllocated INTEGER,
    releaseTotalReserved INTEGER, releaseTotalActive INTEGER, streamPtr INTEGER, deviceId INTEGER)""")
rows = [
    (1, MIB, 1000, 3000, 3100, 2000, 2100, MIB, 20 * MIB, MIB, 2 * MIB, 10 * MIB, 2 * MIB, 7, 0),
    (4, 2 * MIB, 2000, None, None, None, None, 3 * MIB, 20 * MIB, 3 * MIB, None, None, None, 8, 0),
    # One that was allocated before, and one without a size.
    (1, -4096, None, 2500, 2500, None, None, None, None, None, MIB, 20 * MIB, MIB, 7, 0),
    (1, None, 2600, None, None, None, None, None, None, None, None, None, None, 7, 0),
]
db.executemany("INSERT INTO OP_MEMORY VALUES (?, ?, ?, ?, ?, ?, ?, ?, ?, ?, ?, ?, ?, ?, ?)", rows)
db.commit()

path = f"{sys.argv[1]}/memscope.sqlite"
if os.path.exists(path):
    os.remove(path)
db = sqlite3.connect(path)
db.execute("PRAGMA page_size = 512")
db.execute("""CREATE TABLE memscope_dump ("ID" INTEGER, "Event" TEXT, "Event Type" TEXT, "Name" TEXT, "Timestamp(ns)" INTEGER,
    "Process Id" INTEGER, "Thread Id" INTEGER, "Device Id" TEXT, "Ptr" TEXT, "Attr" TEXT, "Call Stack(Python)" TEXT,
    "Call Stack(C)" TEXT)""")
rows = [
    (1, "MALLOC", "HAL", "N/A", 10, 7, 7, "0", "0x10000000", "{allocation_id:1,addr:0x10000000,size:2097152,owner:CANN}"),
    (2, "MALLOC", "PTA", "N/A", 20, 7, 7, "0", "268435456",
     "{allocation_id:2,addr:268435456,size:1024,owner:PTA@weights,total:2097152,used:1024}"),
    (3, "MALLOC", "PTA", "N/A", 30, 7, 7, "0", "268436480", '{"allocation_id":3,"size":512,"total":2097152,"used":1536}'),
    (4, "MSTX", "Mark", "step 1", 35, 7, 7, "0", "N/A", ""),
    (5, "FREE", "PTA", "N/A", 40, 7, 7, "0", "268435456", "{allocation_id:2,size:-1024,total:2097152,used:512}"),
    (6, "FREE", "PTA", "N/A", 50, 7, 7, "0", None, "{allocation_id:9}"),
]
db.executemany("INSERT INTO memscope_dump VALUES (?, ?, ?, ?, ?, ?, ?, ?, ?, ?, '', '')", rows)
db.commit()
