"""Which format a file is in: by its ending, by what the user says, or by its first bytes."""

from protosieve.errors import InputError, arg
from protosieve.io._arrow import ArrowSource
from protosieve.io._csv import CsvForm, CsvSource, TsvSource
from protosieve.io._excel import ExcelSource
from protosieve.io._file_source import BOM, FileSource, reading
from protosieve.io._images import ImageFiles, ImageSource
from protosieve.io._jsonlines import JsonLinesSource
from protosieve.io._locations import Location, Pipe
from protosieve.io._numpy import NpySource, NpzSource
from protosieve.io._parquet import ParquetSource
from protosieve.io._source import Source

# All formats: each class says its name, endings and first bytes. Add a new one here.
_SOURCES: tuple[type[FileSource], ...] = (
    ParquetSource, ArrowSource, CsvSource, TsvSource, JsonLinesSource, NpySource, NpzSource, ExcelSource, ImageSource,
)  # fmt: skip
FORMATS = {source.format: source for source in _SOURCES}
ENDINGS = {ending: source.format for source in _SOURCES for ending in source.endings}
_MAGIC = {magic: source.format for source in _SOURCES for magic in source.magic}
_LOOK = 1 << 16


def format_of(path: str) -> str | None:
    """The format that the ending names, in upper or lower case; ``None`` if it is unknown.

    >>> format_of("rows.CSV.gz"), format_of("rows.txt")
    ('csv', None)
    """
    lower = path.lower()
    return next((name for ending, name in ENDINGS.items() if lower.endswith(ending)), None)


def source_of(location: Location, name: str | None, csv: CsvForm) -> Source:
    """The reader of a file, in the format ``name``, or if that is ``None`` in the format it seems to have."""
    pipe = isinstance(location, Pipe)
    if isinstance(location, ImageFiles):
        return ImageSource(location)
    found = name or (_sniffed(location) if pipe else format_of(location.name))
    if found == ImageSource.format:
        raise InputError(f"{location.name}: images are read from files of this machine only; copy them to a folder")
    if found is None:
        raise InputError(
            f"{location.name}: its ending says no known format; known are {', '.join(ENDINGS)}; "
            f"or give {arg('format')} ({', '.join(FORMATS)})"
        )
    if pipe and FORMATS[found].seeks:
        raise InputError(
            f"{location.name}: {found} has its index at the end, so it cannot be read from a pipe; give the file's path"
        )
    reader = FORMATS[found]
    return reader(location, csv) if issubclass(reader, CsvSource) else reader(location)


def _sniffed(location: Location) -> str:
    """The format by the first bytes; for other text CSV or TSV, by which is more frequent in the first line."""
    with reading(location.name, "rows"), location.peek() as opened:
        data = opened.file.read(8)
        if not data:
            raise InputError(f"{location.name}: is empty; pipe rows into it")
        known = _by_magic(data)
        if known is not None:
            return known
        line = (data + opened.file.readline(_LOOK)).removeprefix(BOM).lstrip().split(b"\n", 1)[0]
    text = TsvSource if line.count(b"\t") > line.count(b",") else CsvSource
    return _by_magic(line) or text.format


def _by_magic(data: bytes) -> str | None:
    return next((name for magic, name in _MAGIC.items() if data.startswith(magic)), None)
