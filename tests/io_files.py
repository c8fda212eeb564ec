"""Small files of every format, written by others (pyarrow, NumPy, the standard library), and all rows read back."""

import csv
import gzip
import io
import itertools
import json

import numpy as np
import pyarrow as pa
import pyarrow.parquet as pq

from protosieve.io import BadRows, find_sources
from protosieve.io._formats import ENDINGS

# .npy holds one column, and Excel needs more than is installed
TABLE_FORMATS = [ending.removeprefix(".") for ending in ENDINGS if ENDINGS[ending] not in ("npy", "excel", "images")]


def sample(rows=50, seed=0):
    """Numbers, text with awkward characters, and whole numbers."""
    rng = np.random.default_rng(seed)
    words = ["plain", "com,ma", 'quo"te', "ta\tb", "ümlaut", "line\nbreak", "007"]
    return pa.table(
        {
            "height": rng.normal(size=rows),
            "word": [words[i] for i in rng.integers(len(words), size=rows)],
            "count": rng.integers(1000, size=rows),
        }
    )


def text(table, separator):
    """The table as CSV, by the standard library."""
    out = io.StringIO(newline="")
    writer = csv.writer(out, delimiter=separator, lineterminator="\n")
    writer.writerow(table.column_names)
    writer.writerows(zip(*(column.to_pylist() for column in table.columns), strict=True))
    return out.getvalue().encode()


def arrow_stream(table):
    sink = pa.BufferOutputStream()
    with pa.ipc.new_stream(sink, table.schema) as writer:
        writer.write_table(table, max_chunksize=7)
    return bytes(sink.getvalue())


def arrow_file(table):
    sink = pa.BufferOutputStream()
    with pa.ipc.new_file(sink, table.schema) as writer:
        writer.write_table(table, max_chunksize=7)
    return bytes(sink.getvalue())


def parquet(table):
    sink = pa.BufferOutputStream()
    pq.write_table(table, sink, row_group_size=11)
    return bytes(sink.getvalue())


def npz(table, save=np.savez_compressed):
    sink = io.BytesIO()
    save(sink, **{name: np.array(table[name].to_pylist()) for name in table.column_names})
    return sink.getvalue()


def npy(array):
    sink = io.BytesIO()
    np.save(sink, array)
    return sink.getvalue()


def lines(table):
    return "".join(json.dumps(row) + "\n" for row in table.to_pylist()).encode()


def array_of(table):
    """One array, as people print it."""
    return json.dumps([json.loads(line) for line in lines(table).splitlines()], indent=1).encode()


def encoded(table, ending):
    """The bytes of ``table`` in the format of ``ending``."""
    data = {
        "parquet": parquet, "pq": parquet, "arrow": arrow_file, "feather": arrow_file, "ipc": arrow_stream,
        "csv": lambda t: text(t, ","), "tsv": lambda t: text(t, "\t"), "jsonl": lines, "ndjson": lines,
        "json": array_of, "npz": npz,
    }[ending.removesuffix(".gz")](table)  # fmt: skip
    return gzip.compress(data, mtime=0) if ending.endswith(".gz") else data


def read(path, columns=None, start=0, skip=False, form=None):
    """All rows of one file: their numbers, the table, and what was left out."""
    (source,) = find_sources(str(path), form)
    return rows_of(source, columns, start, skip)


def rows_of(source, columns=None, start=0, skip=False):
    bad = BadRows(skip)
    pieces = list(source.pieces(columns, start, bad))
    assert all(piece.table.num_rows == len(piece.numbers) > 0 for piece in pieces)
    assert all(a.bytes_read <= b.bytes_read for a, b in itertools.pairwise(pieces))
    numbers = np.concatenate([piece.numbers for piece in pieces]).tolist() if pieces else []
    rows = [row for piece in pieces for row in piece.table.to_pylist()]
    return numbers, rows, bad.noted
