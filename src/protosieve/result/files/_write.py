"""Results to files: complete or not at all, and the same bytes for the same result."""

import csv
import io
import os
import re
import sys
import zipfile
from collections.abc import Callable, Iterable, Iterator
from contextlib import contextmanager
from dataclasses import dataclass
from functools import partial
from pathlib import Path
from typing import Any, Self

import numpy as np
import pyarrow as pa
import pyarrow.compute as pc
import pyarrow.parquet as pq
from numpy.lib import format as npy

from protosieve._atomic import check_place, is_pipe, write_whole
from protosieve._formatting import counted
from protosieve.errors import OutputError, ParameterError, arg, warn
from protosieve.io import explain
from protosieve.result import OURS, Prototypes, free_name, own_names
from protosieve.result.files._plain import as_json, as_numpy, as_values

KEY = b"protosieve"  # of the provenance, in the metadata of a schema
ENCODED = "encoded"  # in the provenance, the column of rows as they are
READ_BACK = (".parquet", ".arrow")
_STANDARD_OUTPUT = ("/dev/stdout", "/dev/fd/1", "/proc/self/fd/1")
_BEGINS = r"[=+\-@\t\r\n]"  # a formula; a spreadsheet passes over the blanks among them
_MARKED = re.compile(f"'+{_BEGINS}")
_HARMLESS = re.compile(  # nothing to compute, a number, or a handle: @name
    r"\W*|[+-]?(\d+\.?\d*|\.\d+)([eE][+-]?\d+)?|[+-](inf|infinity|nan)|@\w+", re.IGNORECASE
)
_FLOWING = (".csv", ".tsv", ".jsonl")  # formats that can be read as they come
_FILLED_IN = (".csv", ".tsv")  # formats that people fill in by hand
_LABEL_STUDIO = "label-studio"


@dataclass(frozen=True)
class Destination(os.PathLike[str]):
    """The path of a result, with what its ending does not tell; wherever only the path counts it stands for that.

    ``format`` is ``"label-studio"``, or None for the one that the ending names; ``label_column`` is an empty column
    that people fill in.
    """

    path: str
    format: str | None = None
    label_column: str | None = None

    @classmethod
    def of(
        cls, path: str | os.PathLike[str] | None, output_format: str | None, label_column: str | None
    ) -> Self | None:
        """None without a path; `ParameterError` where the others do not go with it, or with each other."""
        given = {"output_format": output_format, "label_column": label_column}
        if output_format not in (None, _LABEL_STUDIO):
            raise ParameterError(
                f"{arg('output_format')} must be {_LABEL_STUDIO!r}, or left out for the format that the ending of "
                f"{arg('output')} names; got {output_format!r}"
            )
        if path is None:
            lost = next((name for name, value in given.items() if value is not None), None)
            if lost is not None:
                raise ParameterError(f"{arg(lost)} is about the file to write; give {arg('output')} too")
            return None
        found = cls(os.fspath(as_dash(path) or path), output_format, label_column)
        if output_format is not None and found.path != "-" and _ending(found.path) != ".json":
            raise OutputError(f"{found.path}: tasks of Label Studio are JSON; end it in .json, or give -")
        if not isinstance(label_column, str | None):
            raise ParameterError(f"{arg('label_column')} must be the name of a new column, got {label_column!r}")
        if label_column is not None and (output_format is not None or _ending(found.path) not in _FILLED_IN):
            raise ParameterError(
                f"{arg('label_column', label_column)} is a column to fill in by hand, in {' or '.join(_FILLED_IN)}; "
                f"leave it out, or give an {arg('output')} of these"
            )
        return found

    def __fspath__(self) -> str:
        return self.path

    @property
    def is_to_label(self) -> bool:
        return self.format is not None or self.label_column is not None

    def check_columns(self, names: Iterable[str]) -> None:
        """Raise `ParameterError` where the column to be filled in is there already."""
        if self.label_column in (*OURS, *names):
            raise ParameterError(
                f"{arg('label_column', self.label_column)}: there is a column of this name already; give another name"
            )


def as_dash(path: str | os.PathLike[str] | None) -> str | os.PathLike[str] | None:
    """The path, or ``-`` where it is one of the system's names for standard output."""
    return "-" if path is not None and os.fspath(path) in _STANDARD_OUTPUT else path


def write_result(result: Prototypes, path: str | os.PathLike[str]) -> None:
    """Write its table by `write_table`; where files are read back, with the rows of texts and images as they are: a
    model, or pictures that have gone, would have to make them again.
    """
    table, provenance = result.table, dict(result.provenance or {})
    if _ending(os.fspath(path)) in READ_BACK and result.encoding.layout.is_slow:
        name = free_name("encoded", table.column_names)
        data = np.ascontiguousarray(result.rows, "<f4")
        kind = pa.binary(data.strides[0])
        rows = pa.Array.from_buffers(kind, len(data), [None, pa.py_buffer(data)])
        table, provenance = table.append_column(name, rows), {**provenance, ENCODED: name}
    write_table(table, path, provenance)


def write_table(table: pa.Table, path: str | os.PathLike[str], provenance: dict[str, Any]) -> None:
    """Write ``table`` in the format that the ending of ``path`` names, complete or not at all; ``-`` is JSON lines to
    standard output, and a named pipe is written to directly.

    ``provenance`` (how the table was made) goes into the file where the format has a place for it: Parquet and Arrow
    under the schema's metadata key ``protosieve``, ``.json`` and ``.npz`` under ``provenance``. CSV, TSV and JSON lines
    have none. A `Destination` may ask for another form: rows to label, which were chosen now. The bytes depend on
    table, provenance and form alone. O(cells) time and memory.
    """
    target = os.fspath(path)
    check_output(target)
    place = path if isinstance(path, Destination) else Destination(target)
    if place.is_to_label and OURS[0] in table.column_names:
        table = table.filter(pc.greater_equal(table[OURS[0]], 0))
    data = _encoded(table, place, provenance)
    if target == "-":
        with _flowing("standard output"):
            sys.stdout.buffer.write(data)
            sys.stdout.buffer.flush()
        return
    if not is_pipe(target):
        write_whole(target, data)
        return
    with _flowing(target), Path(target).open("wb") as stream:  # waits until a reader opens it
        stream.write(data)


def check_output(path: str | os.PathLike[str]) -> None:
    """Raise `OutputError` where a result could not be written to ``path``, before the work that leads to it starts."""
    target = os.fspath(path)
    if target == "-":
        _check_standard_output()
        return
    if "://" in target:
        raise OutputError(f"{target}: results are written to files on this machine; write one and copy it there")
    if _ending(target) not in _WRITERS:
        raise OutputError(f"{target}: its ending names no format; end it in {', '.join(_WRITERS)}, or give -")
    if not is_pipe(target):
        check_place(target)
    elif _ending(target) not in _FLOWING:
        raise OutputError(
            f"{target}: is a named pipe, which takes {', '.join(_FLOWING)} only; give another ending or path"
        )


def _check_standard_output() -> None:
    """`OutputError` where it is closed, or takes nothing."""
    if sys.stdout is None:
        raise OutputError("standard output: is closed; give a file, or leave it open")
    try:
        number = sys.stdout.fileno()
    except (AttributeError, ValueError):  # no file of the system's, as in a notebook
        return
    with _flowing("standard output"):
        os.write(number, b"")


def _encoded(table: pa.Table, place: Destination, provenance: dict[str, Any]) -> bytes:
    if place.label_column is not None:
        place.check_columns(table.column_names)
        table = table.append_column(place.label_column, pa.nulls(len(table), pa.string()))
    try:
        if place.format == _LABEL_STUDIO:
            return _tasks(table, provenance)
        return (_json_lines if place.path == "-" else _WRITERS[_ending(place.path)])(table, provenance)
    except pa.ArrowException as error:  # a type that the format does not know
        raise OutputError(f"{place.path}: cannot hold this result: {explain(error)}; choose another format") from error


def _ending(path: str) -> str:
    return Path(path).suffix.lower()


@contextmanager
def _flowing(name: str) -> Iterator[None]:
    """Write to what another program reads at the same time."""
    try:
        yield
    except BrokenPipeError:  # the reader has seen enough: the program is to end quietly
        raise
    except OSError as error:
        raise OutputError(f"{name}: cannot be written: {error.strerror or error}; check its device") from error


def _with_provenance(table: pa.Table, provenance: dict[str, Any]) -> pa.Table:
    return table.replace_schema_metadata({**(table.schema.metadata or {}), KEY: as_json(provenance)})


def _parquet(table: pa.Table, provenance: dict[str, Any]) -> bytes:
    sink = pa.BufferOutputStream()
    pq.write_table(_with_provenance(table, provenance), sink)
    return bytes(sink.getvalue())


def _arrow(table: pa.Table, provenance: dict[str, Any]) -> bytes:
    sink = pa.BufferOutputStream()
    known = _with_provenance(table, provenance)
    with pa.ipc.new_file(sink, known.schema) as writer:
        writer.write_table(known.unify_dictionaries())  # a file holds one dictionary per column
    return bytes(sink.getvalue())


def _rows(table: pa.Table) -> list[dict[str, Any]]:
    columns = [as_values(column) for column in table.columns]
    return [dict(zip(table.column_names, row, strict=True)) for row in zip(*columns, strict=True)]


def _json_lines(table: pa.Table, _provenance: dict[str, Any]) -> bytes:
    return "".join(as_json(row) + "\n" for row in _rows(table)).encode()


def _json(table: pa.Table, provenance: dict[str, Any]) -> bytes:
    rows = ",\n".join(map(as_json, _rows(table)))
    return f'{{"provenance": {as_json(provenance)},\n"prototypes": [\n{rows}\n]}}\n'.encode()


def _tasks(table: pa.Table, provenance: dict[str, Any]) -> bytes:
    """A list of tasks as Label Studio imports it: users' columns under their own names, ours begin with protosieve.

    Text that is null becomes empty: Label Studio imports no file in which the text to show is null.
    """
    own = own_names(table.column_names, provenance.get("renamed") or {})
    names = [own[i] if i in own else _free(f"protosieve_{name}", own) for i, name in enumerate(table.column_names)]
    columns = [as_values(column) for column in table.columns]
    for i, column in enumerate(table.columns):
        if _holds_text(column.type):
            columns[i] = ["" if cell is None else cell for cell in columns[i]]
    tasks = (as_json({"data": dict(zip(names, row, strict=True))}) for row in zip(*columns, strict=True))
    return "[\n{}\n]\n".format(",\n".join(tasks)).encode()


def _free(name: str, own: dict[int, str]) -> str:
    return _free(f"{name}_", own) if name in own.values() else name


def _delimited(table: pa.Table, _provenance: dict[str, Any], separator: str) -> bytes:
    marked: list[str] = []  # text that is not written as it is

    def safe(text: str) -> str:
        if escaped(text) != text:
            marked.append(text)
        return escaped(text)

    names, columns = list(map(safe, table.column_names)), [_cells(column, safe) for column in table.columns]
    text = io.StringIO(newline="")
    plain, quoted = (
        csv.writer(text, delimiter=separator, lineterminator="\n", quoting=quoting)
        for quoting in (csv.QUOTE_MINIMAL, csv.QUOTE_ALL)
    )
    for row in (names, *zip(*columns, strict=True)):
        has_return = any(isinstance(cell, str) and "\r" in cell for cell in row)  # a line would end there
        (quoted if has_return else plain).writerow(row)
    if marked:
        warn(
            f"{counted(len(marked), 'cell')} of text would be run as a formula by a spreadsheet, such "
            f"as {marked[0][:40]!r}: written with ' before it, which a program that reads the file must remove; "
            ".parquet, .jsonl and other formats keep the text as it is"
        )
    return text.getvalue().encode()


def escaped(text: str) -> str:
    """The text with an apostrophe before it if it begins like a formula; numbers, signs and ``@name`` stay as they are.

    Text that begins so after apostrophes gets one more: to take one off whatever begins so is the exact inverse.

    >>> [escaped(text) for text in ("=1+1", "-2+3", "'=1", "-2.5", "-", "@name", "a=b")]
    ["'=1+1", "'-2+3", "''=1", '-2.5', '-', '@name', 'a=b']
    """
    is_formula = re.match(_BEGINS, text) and not _HARMLESS.fullmatch(text)
    return f"'{text}" if is_formula or _MARKED.match(text) else text


def _cells(column: pa.ChunkedArray, safe: Callable[[str], str]) -> list[object]:
    """Text so that no spreadsheet runs it, numbers as they are; lists and the like as JSON, true and false as words."""
    if _holds_text(column.type):
        return [None if value is None else safe(value) for value in as_values(column)]
    return [as_json(value) if isinstance(value, list | dict | bool) else value for value in as_values(column)]


def _holds_text(kind: pa.DataType) -> bool:
    plain = kind.value_type if pa.types.is_dictionary(kind) else kind
    return bool(pa.types.is_string(plain) or pa.types.is_large_string(plain) or pa.types.is_string_view(plain))


def _npz(table: pa.Table, provenance: dict[str, Any]) -> bytes:
    if "provenance" in table.column_names:
        raise OutputError(
            "a column is called 'provenance', which is where .npz keeps how the result was made; "
            "write .parquet, or give the column another name"
        )
    arrays = {name: as_numpy(table[name]) for name in table.column_names}
    nulls = {name: np.flatnonzero(table[name].is_null()).tolist() for name in table.column_names}
    some = {name: rows for name, rows in nulls.items() if rows}  # which arrays of text and integers do not show
    arrays["provenance"] = np.array(as_json({**provenance, "nulls": some}))
    sink = io.BytesIO()
    with zipfile.ZipFile(sink, "w") as archive:
        for name, array in arrays.items():
            with archive.open(zipfile.ZipInfo(f"{name}.npy"), "w", force_zip64=True) as entry:  # dated 1980, always
                npy.write_array(entry, array, allow_pickle=False)
    return sink.getvalue()


_WRITERS: dict[str, Callable[[pa.Table, dict[str, Any]], bytes]] = {
    ".parquet": _parquet,
    ".arrow": _arrow,
    ".csv": partial(_delimited, separator=","),
    ".tsv": partial(_delimited, separator="\t"),
    ".jsonl": _json_lines,
    ".json": _json,
    ".npz": _npz,
}
