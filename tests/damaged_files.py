"""Whole files of every format that is read, and what a bad disk or a cut line makes of them."""

import numpy as np
import pyarrow as pa
import pyarrow.feather

import io_files
from io_files import encoded, sample

ENDINGS = ["parquet", "arrow", "feather", "ipc", "csv", "tsv", "csv.gz", "jsonl", "jsonl.gz", "npy", "npz"]


def whole(ending):
    if ending == "npy":
        return io_files.npy(np.random.default_rng(0).normal(size=(20, 3)))
    if ending == "feather":
        sink = pa.BufferOutputStream()
        pa.feather.write_feather(rich(), sink, compression="lz4", chunksize=15)
        return bytes(sink.getvalue())
    return encoded(rich() if ending in ("parquet", "arrow", "ipc") else sample(40), ending)


def rich():
    """Columns of many kinds, for formats that can hold them."""
    nested = {
        "kind": pa.array(["a", None, "b", "c"] * 10).dictionary_encode(),
        "vector": pa.array([[0.5, 1.5, 2.5]] * 40, pa.list_(pa.float32(), 3)),
        "many": pa.array([[1], None, [], [2, 3]] * 10),
        "both": pa.array([{"a": 1, "b": "x"}, None] * 20),
        "good": pa.array([True, None, False, True] * 10),
    }
    return pa.table({**{name: sample(40)[name] for name in ("height", "word", "count")}, **nested})


def damaged(data, rng):
    """One to four flips, cuts, insertions or deletions."""
    for _ in range(rng.integers(1, 5)):
        place, length = int(rng.integers(len(data) + 1)), int(rng.integers(1, 9))
        change = rng.integers(4)
        if change == 0 and place < len(data):
            data = data[:place] + bytes([data[place] ^ (1 << rng.integers(8))]) + data[place + 1 :]
        elif change == 1:
            data = data[:place] if rng.random() < 0.3 else data
        elif change == 2:
            data = data[:place] + rng.bytes(length) + data[place:]
        else:
            data = data[:place] + data[place + length :]
    return data
