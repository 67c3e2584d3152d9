#!/usr/bin/env python3
"""Makes nsight.sqlite beside it: the tables of Nsight Systems' export that are about memory, of a made-up run. The names
of tables and columns are NVIDIA's; the run and its numbers are not. Pages are small, so that tables have inner pages, and
one name is longer than a page. usage: nsight.py FOLDER"""
import os
import sqlite3
import sys

path = f"{sys.argv[1]}/nsight.sqlite"
if os.path.exists(path):
    os.remove(path)
db = sqlite3.connect(path)
db.execute("PRAGMA page_size = 512")
db.execute("CREATE TABLE StringIds (id INTEGER NOT NULL PRIMARY KEY, value TEXT NOT NULL)")
db.executemany("INSERT INTO StringIds VALUES (?, ?)", [(1, "weights"), (2, "x" * 700), (1 << 40, "activations")])
db.execute("""CREATE TABLE CUDA_GPU_MEMORY_USAGE_EVENTS (start INTEGER NOT NULL, globalPid INTEGER NOT NULL,
    deviceId INTEGER NOT NULL, contextId INTEGER NOT NULL, address INTEGER NOT NULL, pc INTEGER NOT NULL,
    bytes INTEGER NOT NULL, memKind INTEGER NOT NULL REFERENCES ENUM_CUDA_MEM_KIND (id),
    memoryOperationType INTEGER NOT NULL REFERENCES ENUM_CUDA_DEV_MEM_EVENT_OPER (id), name INTEGER,
    correlationId INTEGER, streamId INTEGER, localMemoryPoolAddress INTEGER, localMemoryPoolReleaseThreshold INTEGER,
    localMemoryPoolSize INTEGER, localMemoryPoolUtilizedSize INTEGER, importedMemoryPoolAddress INTEGER,
    importedMemoryPoolProcessId INTEGER)""")
MIB, POOL, BASE = 1 << 20, 0x7F3A_0000_0001, 0x7F3A_4000_0000
rows = [
    # A plain cudaMalloc, pinned memory of the host, and two hundred rounds of a pool's block.
    (1000, 0, BASE + (1 << 30), 4 * MIB, 2, 0, None, None, None, None, None, None),
    (1100, 0, 4096, 8192, 1, 0, None, None, None, None, None, None),
    (1200, 0, BASE, 512, 2, 0, 1, 7, POOL, 2**64 - 1 - 2**64, 2 * MIB, 512),
]
for n in range(200):
    rows.append((2000 + 20 * n, 0, BASE + 512, 1024, 2, 0, 1 << 40, 7 + n % 2, POOL, 0, 2 * MIB, 1536))
    rows.append((2010 + 20 * n, 0, BASE + 512, 1024, 2, 1, None, 7, POOL, 0, 2 * MIB, 512))
rows.append((9000, 0, BASE + 4096, 3 * MIB, 2, 0, 2, 7, POOL, 0, 4 * MIB, 3 * MIB + 512))
rows.append((9100, 0, BASE + 4096, 3 * MIB, 2, 1, None, 7, POOL, 0, 4 * MIB, 512))
db.executemany(
    "INSERT INTO CUDA_GPU_MEMORY_USAGE_EVENTS VALUES (?, 281474976710656, ?, 1, ?, 0, ?, ?, ?, ?, 5, ?, ?, ?, ?, ?, NULL, NULL)",
    rows)
db.execute("""CREATE TABLE CUDA_GPU_MEMORY_POOL_EVENTS (start INTEGER NOT NULL, globalPid INTEGER NOT NULL, deviceId INTEGER NOT NULL,
    address INTEGER NOT NULL, operationType INTEGER NOT NULL, poolType INTEGER NOT NULL, correlationId INTEGER,
    minBytesToKeep INTEGER, localMemoryPoolReleaseThreshold INTEGER, localMemoryPoolSize INTEGER,
    localMemoryPoolUtilizedSize INTEGER)""")
db.execute("INSERT INTO CUDA_GPU_MEMORY_POOL_EVENTS VALUES (1150, 1, 0, ?, 1, 1, 3, NULL, 0, 0, 0)", (POOL,))
db.execute("INSERT INTO CUDA_GPU_MEMORY_POOL_EVENTS VALUES (9500, 1, 0, ?, 3, 1, 4, 1048576, 0, 2097152, 512)", (POOL,))
db.commit()
