"""Tables in memory: frames, matrices, queries and streams of them, told by what they can do. No library is imported.

What can be read again goes the way of a file, what comes once that of standard input.
"""

import os
import sys
from abc import abstractmethod
from collections.abc import Iterable, Iterator, Mapping, Sequence
from contextlib import contextmanager
from itertools import chain
from typing import Any, final

import numpy as np
import pyarrow as pa
from numpy.typing import NDArray
from scipy.sparse import issparse

from protosieve._arrow_types import is_list
from protosieve._formatting import brief
from protosieve.errors import InputError, ParameterError, ProtosieveError, arg
from protosieve.io._csv import CsvForm
from protosieve.io._file_source import distinct, explain
from protosieve.io._find import find_sources
from protosieve.io._numpy import ArrayHead, as_column, as_matrix
from protosieve.io._plain_types import plain_schema, plain_table
from protosieve.io._schemas import check_schemas
from protosieve.io._source import PIECE_ROWS, BadRows, Piece, Source, rows_within

STREAM = "inputs (a stream)"  # what a stream of tables is called that rows are chosen from

_GROUP = 1 << 20  # rows of a row group, as pyarrow and pandas write Parquet: so partitions are the same
_FEW = 64  # rows that tell how large a row is
_NARROW = (pa.float16(), pa.float32())
_END: Any = object()


def tables_in(
    given: Any,
    name: str,
    format: str | None = None,  # noqa: A002  # as users say
    csv: CsvForm | None = None,
) -> list[Source] | None:
    """The sources of an argument that holds tables; ``None`` where it holds paths only, or nothing.

    A list of tables is like several files, and may have paths among them, of which ``format`` and ``csv`` tell.
    Whatever comes once, alone or in the list, makes a stream of all.

    >>> [source.name for source in tables_in([np.eye(3), np.eye(3)], "inputs")]
    ['inputs[0]', 'inputs[1]']
    """
    if given is None or _is_path(given):
        return None
    if not isinstance(given, list | tuple):
        source = _source(given, name)
        if source is None:
            raise ParameterError(f"{arg(name)} must be paths or tables, got {_wrong(given, name)}")
        return [source]
    if all(map(_is_path, given)):
        return None
    found = [one for place, part in enumerate(given) for one in _member(part, place, name, given, format, csv)]
    if any(source.comes_once for source in found):
        parts = (source.parts if isinstance(source, _StreamSource) else [source] for source in found)
        return [_StreamSource(name, chain.from_iterable(parts))]
    return found


def is_table(source: Source) -> bool:
    """Whether its rows were given in memory, alone or as a stream."""
    return isinstance(source, TableSource | _StreamSource)


def index_of(sources: Sequence[Source], rows: NDArray[np.int64]) -> dict[str, pa.Array]:
    """The index of some rows, by the names of its levels, where all sources are pandas frames and one has its own."""
    frames = [source for source in sources if isinstance(source, _FrameSource)]
    if len(frames) < len(sources) or not any(frame.has_index for frame in frames):
        return {}
    first, *others = [frame.data.index for frame in frames]
    index = first.append(others).take(rows) if others else first.take(rows)
    names = [("index" if index.nlevels == 1 else f"level_{i}") if n is None else n for i, n in enumerate(index.names)]
    return {str(name): _labels(index.get_level_values(i)) for i, name in enumerate(names)}


def _labels(values: Any) -> pa.Array:
    """As text where Arrow has no such values."""
    try:
        found = pa.array(values, from_pandas=True)
    except (pa.ArrowException, TypeError, ValueError):
        return pa.array(map(str, values), pa.string())
    return found.cast(found.type.value_type) if pa.types.is_dictionary(found.type) else found


class TableSource(Source):
    """Rows in memory, or a query of them, that can be read again: a kind is a subclass with columns and rows."""

    def __init__(self, name: str, data: Any) -> None:
        self.name, self.data, self.comes_once = name, data, False
        self.size: int = _size(data) if self.length() is not None else 0
        self._known: pa.Schema | None = None

    @final
    def schema(self) -> pa.Schema:
        if self._known is None:
            with self._reading():
                self._known = distinct(plain_schema(self._schema().remove_metadata()), self.name)
        if not self._known.names:
            raise InputError(f"{self.name}: has no columns; give at least one")
        return self._known

    @final
    def pieces(self, columns: Sequence[str] | None, start: int, bad: BadRows) -> Iterator[Piece]:
        names, total = self.schema().names if columns is None else list(columns), self.length()
        with self._reading():
            for first, table in self._tables(names, start):
                step = rows_within(table.nbytes / max(len(table), 1))
                for begin in range(max(start - first, 0), len(table), step):
                    part = plain_table(table.slice(begin, step).select(names))
                    numbers = np.arange(first + begin, first + begin + len(part))
                    yield Piece(part, numbers, self.size * (first + begin + len(part)) // max(total or 0, len(part)))

    @final
    def groups(self) -> list[int] | None:
        rows = self.length()
        return None if rows is None else [min(_GROUP, rows - first) for first in range(0, rows, _GROUP)]

    def fingerprint(self) -> dict[str, str | int] | None:
        """Length and columns: a table that is changed in place between passes mostly changes in these."""
        told: dict[str, str | int] = {"name": self.name, "size": self.size}
        if self.length() is None:
            return told
        names = getattr(self.data, "column_names", None) or getattr(self.data, "columns", [])
        return told | {"shape": str(tuple(getattr(self.data, "shape", ()))), "columns": str(list(names))}

    def length(self) -> int | None:
        """Rows, where they are known without running a query."""
        shape = getattr(self.data, "shape", None)
        return len(self.data) if shape is None else int((*shape, 0)[0])

    @abstractmethod
    def _schema(self) -> pa.Schema:
        """The columns, as they are given."""

    @abstractmethod
    def _tables(self, columns: list[str], start: int) -> Iterator[tuple[int, pa.Table]]:
        """The rows from ``start`` on, perhaps with some before, each table with the number of its first row."""

    @contextmanager
    def _reading(self) -> Iterator[None]:
        """Turn any error inside into an `InputError`."""
        try:
            yield
        except ProtosieveError:
            raise
        except Exception as error:  # each library has its own
            raise InputError(
                f"{self.name}: this {type(self.data).__name__} cannot be read: {explain(error)}; give columns of "
                "numbers, text, dates or lists, each of one kind of values"
            ) from error


class _SlicedSource(TableSource):
    """Rows that are there by their number."""

    @final
    def _tables(self, columns: list[str], start: int) -> Iterator[tuple[int, pa.Table]]:
        few = self._slice(0, _FEW, columns)
        step = rows_within(few.nbytes / max(len(few), 1))
        for first in range(start, self.length() or 0, step):
            yield first, self._slice(first, first + step, columns)

    @abstractmethod
    def _slice(self, begin: int, end: int, columns: list[str]) -> pa.Table:
        """Rows ``begin`` to ``end``, or as many as there are."""


@final
class _FrameSource(_SlicedSource):
    """A pandas DataFrame. Its index is no column. NaN is null, as pandas means it."""

    @property
    def has_index(self) -> bool:
        """Whether rows have other names than their numbers."""
        index = self.data.index
        return not (type(index).__name__ == "RangeIndex" and (index.start, index.step) == (0, 1) and index.name is None)

    def _schema(self) -> pa.Schema:
        frame = self.data.iloc[:0].set_axis([str(name) for name in self.data.columns], axis=1)
        empty = distinct(pa.schema([(name, pa.null()) for name in frame.columns]), self.name)
        objects = [i for i, dtype in enumerate(frame.dtypes) if isinstance(dtype, np.dtype) and dtype.hasobject]
        known = pa.Schema.from_pandas(frame.drop(columns=[empty.names[place] for place in objects]), False)
        for place in objects:
            known = known.insert(place, pa.field(empty.names[place], self._kind_of(place, empty.names[place])))
        return known

    def _kind_of(self, place: int, name: str) -> pa.DataType:
        """Of a column of Python objects: every one of them is looked at, a piece of the column at a time."""
        found = pa.null()
        for first in range(0, len(self.data), PIECE_ROWS):
            cells = self.data.iloc[first : first + PIECE_ROWS, place]
            try:
                both = [pa.schema([(name, kind)]) for kind in (found, pa.array(cells, from_pandas=True).type)]
                found = pa.unify_schemas(both, promote_options="permissive").field(0).type
            except (pa.ArrowException, TypeError, ValueError, OverflowError) as error:
                raise InputError(
                    f"{self.name}: column {name!r} is not of one kind, by rows {first:,} to "
                    f"{first + len(cells) - 1:,}: {explain(error)}; convert it, such as by astype(str), or drop it"
                ) from error
        return found

    def _slice(self, begin: int, end: int, columns: list[str]) -> pa.Table:
        schema = self.schema()
        part = self.data.iloc[begin:end, [schema.get_field_index(name) for name in columns]].set_axis(columns, axis=1)
        fields = pa.schema([schema.field(name) for name in columns])
        return pa.Table.from_pandas(part, fields, preserve_index=False, nthreads=1)


@final
class _MatrixSource(_SlicedSource):
    """An array, sparse matrix or tensor, as ``.npy`` files have it: the column ``x``, of numbers or of rows of them."""

    def _schema(self) -> pa.Schema:
        shape = tuple(map(int, self.data.shape))
        dtype = self._dense(0, 0).dtype if shape else np.dtype(float)
        if 0 in shape[1:]:
            raise InputError(f"{self.name}: has no columns (shape {shape}); give at least one")
        if dtype.hasobject or dtype.names is not None:
            raise InputError(
                f"{self.name}: is an array of {dtype}, Python objects or records; make it a DataFrame, "
                f"pandas.DataFrame({self.name}), or convert it with astype(float)"
            )
        head = ArrayHead("x", shape, False, dtype, 0)
        head.check(self.name, "the array")
        return pa.schema([head.field])

    def _slice(self, begin: int, end: int, columns: list[str]) -> pa.Table:
        values = self._dense(begin, end)
        return pa.table([as_matrix(values) if values.ndim == 2 else as_column(values)], schema=self.schema())

    def _dense(self, begin: int, end: int) -> NDArray[Any]:
        part = self.data[begin:end]
        if issparse(part):
            return np.asarray(part.toarray())
        if hasattr(part, "detach"):  # of torch: without gradients, in this memory, of a type that NumPy has
            part = part.detach().cpu()
            part = part.float() if str(part.dtype) == "torch.bfloat16" else part
        return np.asarray(part)


@final
class _DatasetSource(_SlicedSource):
    """A Hugging Face `Dataset`, of Arrow tables on disk."""

    def _schema(self) -> pa.Schema:
        return self.data.features.arrow_schema

    def _slice(self, begin: int, end: int, columns: list[str]) -> pa.Table:
        return self.data.select_columns(columns).with_format("arrow")[begin:end]


class _ReadSource(TableSource):
    """Rows that are read from the first on: those before ``start`` are passed over."""

    @final
    def _tables(self, columns: list[str], start: int) -> Iterator[tuple[int, pa.Table]]:
        first = 0
        for batch in self._batches(columns):
            table = batch if isinstance(batch, pa.Table) else pa.table(batch)
            yield first, table
            first += len(table)

    @abstractmethod
    def _batches(self, columns: list[str]) -> Any:
        """Tables or record batches of these columns, perhaps with others."""


@final
class _ArrowSource(_ReadSource):
    """What gives an Arrow stream again and again: Arrow's own tables, polars frames, many others."""

    def _schema(self) -> pa.Schema:
        return pa.RecordBatchReader.from_stream(self.data).schema

    def _batches(self, columns: list[str]) -> Any:
        return pa.RecordBatchReader.from_stream(self.data)


@final
class _InterchangeSource(_ReadSource):
    """What has ``__dataframe__`` only, chunk by chunk."""

    def length(self) -> int | None:
        rows: int | None = self.data.__dataframe__().num_rows()
        return rows

    def _schema(self) -> pa.Schema:
        return next(iter(self._batches([]))).schema

    def _batches(self, columns: list[str]) -> Any:
        from pyarrow.interchange import from_dataframe

        return map(from_dataframe, self.data.__dataframe__().get_chunks())


class _QuerySource(_ReadSource):
    """What is computed, or read from files, anew for each pass, and must give the same rows in the same order."""

    @final
    def length(self) -> int | None:
        return None


@final
class _ScanSource(_QuerySource):
    """A pyarrow Dataset."""

    def _schema(self) -> pa.Schema:
        return self.data.schema

    def _batches(self, columns: list[str]) -> Any:
        return self.data.to_batches(columns=columns, batch_size=PIECE_ROWS, batch_readahead=2, fragment_readahead=1)


@final
class _LazySource(_QuerySource):
    """A polars LazyFrame."""

    def _schema(self) -> pa.Schema:
        return pa.RecordBatchReader.from_stream(self.data.limit(0).collect()).schema

    def _batches(self, columns: list[str]) -> Any:
        return self.data.select(columns).collect_batches(maintain_order=True)


@final
class _RelationSource(_QuerySource):
    """A DuckDB relation."""

    def _schema(self) -> pa.Schema:
        return pa.RecordBatchReader.from_stream(self.data.limit(0)).schema

    def _batches(self, columns: list[str]) -> Any:
        quoted = ['"' + name.replace('"', '""') + '"' for name in columns]
        found = self.data.project(", ".join(quoted))
        read = getattr(found, "to_arrow_reader", None) or found.fetch_record_batch  # as it was called before
        return read(PIECE_ROWS)


@final
class _StreamSource(Source):
    """Tables that come once, one after the other. The first settles the columns; an error in between names the row."""

    def __init__(self, name: str, parts: Iterator[Any]) -> None:
        self.name, self.size, self.comes_once = f"{name} (a stream)", None, True
        self.parts = parts
        self._sources, self._first = self._made(parts), list[Source]()
        self._rows = self._count = 0

    def schema(self) -> pa.Schema:
        if not self._first:
            self._first += [one for one in [next(self._sources, None)] if one is not None]
        if not self._first:
            raise InputError(f"{self.name}: there are no rows; give tables that have some")
        return self._first[0].schema()

    def pieces(self, columns: Sequence[str] | None, start: int, bad: BadRows) -> Iterator[Piece]:
        schema, read = self.schema(), 0
        for source in chain(self._first, self._sources):
            if source is not self._first[0]:
                _check_alike(schema, self._first[0], source)
            before = self._rows
            for piece in source.pieces(columns, 0, bad):
                table, numbers, read = piece.table, piece.numbers + before, read + piece.table.nbytes
                if isinstance(source, _SlicedSource):  # its memory is often used again for the next table
                    table = table.take(pa.array(piece.numbers - piece.numbers[0]))
                self._rows = int(numbers[-1]) + 1
                yield Piece(table, numbers, read)

    def _made(self, parts: Iterator[Any]) -> Iterator[Source]:
        """Each table that has rows."""
        while True:
            try:
                part: Any = next(parts, _END)
            except ProtosieveError:
                raise
            except Exception as error:  # of whatever makes the tables
                raise InputError(
                    f"{self.name}: raised {type(error).__name__} after {self._rows:,} rows: {explain(error)}; nothing "
                    "was chosen or written; begin the stream again"
                ) from error
            if part is _END:
                return
            name = f"{self.name}, table {self._count}{f', from row {self._rows:,} on' * (self._rows > 0)}"
            source = part if isinstance(part, Source) else _source(part, name)
            if source is None:
                raise InputError(f"{name}: a table is wanted, and this is {_wrong(part, 'rows')}")
            if getattr(part, "ndim", 2) == 1:
                raise InputError(
                    f"{name}: is an array of shape {tuple(part.shape)}; give several rows at a time, np.stack(rows)"
                )
            self._count += 1
            if not (isinstance(source, TableSource) and source.length() == 0):
                yield source


def _source(data: Any, name: str) -> Source | None:
    """The source of one table, or of a stream of them; ``None`` for anything else."""
    _refuse(data, name)
    pandas = sys.modules.get("pandas")  # who has a DataFrame has imported it
    if isinstance(data, str | bytes | Mapping | list | tuple):
        return None
    if issparse(data):
        return _MatrixSource(name, data.tocsr())
    if pandas is not None and isinstance(data, pandas.DataFrame):
        return _FrameSource(name, data)
    for made, words in _KINDS.items():
        if _has(data, *words):
            return made(name, data)
    if _has(data, "with_format", "iter"):  # a Hugging Face `IterableDataset`
        return _StreamSource(name, iter(data.with_format("arrow").iter(PIECE_ROWS)))
    if _has(data, "__arrow_c_stream__"):
        return _StreamSource(name, iter(pa.RecordBatchReader.from_stream(data)))
    return _StreamSource(name, iter(data)) if isinstance(data, Iterable) and not hasattr(data, "columns") else None


_KINDS: dict[type[TableSource], tuple[str, ...]] = {  # that can be read again, by what they can do; the first that fits
    _MatrixSource: ("shape", "dtype", "__array__", "__getitem__"),
    _DatasetSource: ("with_format", "select_columns", "__len__"),
    _LazySource: ("collect_batches", "limit"),
    _ScanSource: ("to_batches", "scanner"),
    _RelationSource: ("project", "limit", "fetchall"),
    _ArrowSource: ("__arrow_c_stream__", "__len__"),
    _InterchangeSource: ("__dataframe__",),
}


def _has(data: Any, *words: str) -> bool:
    """Whether it has these methods: of its type, for some tables have attributes named after their columns."""
    return all(hasattr(type(data), word) for word in words)


def _refuse(data: Any, name: str) -> None:
    """`ParameterError` for what is nearly a table."""
    if isinstance(data, np.ma.MaskedArray):
        raise ParameterError(f"{arg(name)} is a masked array; fill it, {name}.filled(0), or make it a DataFrame")
    if _has(data, "mapInArrow"):
        raise ParameterError(f"{arg(name)} is a DataFrame of Spark; pass it to protosieve.spark.select")
    if _has(data, "to_frame", "dtype"):
        raise ParameterError(f"{arg(name)} is a {type(data).__name__}, one column; pass {name}.to_frame()")
    if _has(data, "readline"):
        raise ParameterError(f"{arg(name)} is an open file; pass its path")


def _member(
    part: Any,
    place: int,
    name: str,
    given: Sequence[Any],
    format: str | None,  # noqa: A002
    csv: CsvForm | None,
) -> list[Source]:
    """The sources of one of a list."""
    if _is_path(part):
        return find_sources(part if os.fspath(part) != "-" else ["-", "others"], format, csv)
    found = _source(part, f"{name}[{place}]")
    if found is not None:
        return [found]
    what, remedy = f"a {type(given).__name__} of {type(part).__name__}s", f"make it a table, numpy.array({name})"
    if isinstance(part, Mapping):
        remedy = _frame(name)
    elif part is not given[0] or not (isinstance(part, list | tuple) or np.isscalar(part)):
        what, remedy = f"{part!r:.60} in a {type(given).__name__}", "give frames, arrays or paths"
    raise ParameterError(f"{arg(name)} must be paths or tables, got {what}; {remedy}")


def _check_alike(schema: pa.Schema, first: Source, source: Source) -> None:
    """`InputError` unless a table of a stream has the columns of the first, or narrower ones."""
    check_schemas([first, source])
    for field in source.schema():
        if _is_narrow(schema.field(field.name).type) and not (_is_narrow(field.type) or pa.types.is_null(field.type)):
            raise InputError(
                f"{source.name}: column {field.name!r} holds {field.type}, and {schema.field(field.name).type} in "
                f"{first.name}, by which rows are read; give the column one type in all tables"
            )


def _is_narrow(kind: pa.DataType) -> bool:
    return (kind.value_type if is_list(kind) else kind) in _NARROW


def _size(data: Any) -> int:
    """Bytes, about."""
    if hasattr(data, "memory_usage"):
        return int(data.memory_usage().sum())
    if hasattr(data, "estimated_size"):
        return int(data.estimated_size())
    return int(getattr(data, "nbytes", 0))


def _is_path(given: Any) -> bool:
    return isinstance(given, str | os.PathLike)


def _wrong(given: Any, name: str) -> str:
    """What is no table, and what to give in its place."""
    what = f"a {type(given).__name__}"
    if isinstance(given, Mapping):
        key, value = next(iter(given.items()), (None, None))
        is_table = len(getattr(value, "shape", ())) == 2
        return f"{what}; pass one of its tables, {name}[{key!r}]" if is_table else f"{what}; {_frame(name)}"
    if _is_path(given):
        return f"{given!r}; paths go in a list, list({name})"
    for word in ("collect", "compute", "to_pandas"):
        if _has(given, word):
            return f"{what}; pass {name}.{word}()"
    return f"{brief(given)}; give a path, a frame or an array, or several"


def _frame(name: str) -> str:
    return f"make it a table, pandas.DataFrame({name})"
