"""From what users name (files, folders, patterns, URLs, ``-``) to files, in an order they can foresee."""

import difflib
import glob
import os
import stat
import sys
from collections.abc import Iterator, Sequence
from itertools import groupby, islice
from pathlib import Path
from typing import Any

from protosieve._formatting import counted
from protosieve.errors import InputError, ParameterError, arg, warn
from protosieve.io._csv import CsvForm, CsvSource
from protosieve.io._file_source import check_path, explain, reading
from protosieve.io._formats import ENDINGS, FORMATS, format_of, source_of
from protosieve.io._images import ImageFiles, ImageSource
from protosieve.io._locations import LocalFile, Location, Pipe, RemoteFile
from protosieve.io._source import Source

_BESIDE = (".json", ".json.gz", ".xlsx", ".xls")  # beside other files in a folder these tell about them
_LOOK = 2000  # names in a folder that are compared with a misspelt one

Input = str | os.PathLike[str]


def find_sources(
    inputs: Input | Sequence[Input],
    format: str | None = None,  # noqa: A002  # as users say
    csv: CsvForm | None = None,
) -> list[Source]:
    r"""The files that ``inputs`` name, in the order given; within a folder or pattern sorted by path.

    An input is a path, a folder (searched through; files that begin with ``.`` or ``_`` and those of unknown endings
    are passed over), a pattern (``*``, ``?``, ``[]``, ``**``), a URL (``s3://...``, through fsspec) or ``-`` for
    standard input. A path that exists is taken as it stands. ``format`` overrides what endings say, and ``csv`` says
    how CSV files are written.

    >>> import os, tempfile
    >>> folder = tempfile.mkdtemp()
    >>> for name in ("b.csv", "a.csv", "_notes.csv"):
    ...     with open(os.path.join(folder, name), "w") as file:
    ...         _ = file.write("height,weight\n1.8,77\n")
    >>> [os.path.basename(source.name) for source in find_sources(folder)]
    ['a.csv', 'b.csv']
    """
    if format is not None and format not in FORMATS:
        raise ParameterError(f"{arg('format')} must be one of {', '.join(FORMATS)}; got {format!r}")
    named = [inputs] if isinstance(inputs, str | os.PathLike) else list(inputs)
    paths = [os.fspath(one) for one in named]
    if not paths:
        raise InputError("no input is given; name at least one file, folder, pattern or URL, or - for standard input")
    if "-" in paths and len(paths) > 1:
        raise InputError("- (standard input) cannot be mixed with other inputs; give it alone, once")
    locations = list(_joined(location for path in paths for location in _locations(path, format)))
    _check_distinct(locations)
    return [source_of(location, format, csv or CsvForm()) for location in locations]


def check_form(csv: CsvForm, sources: Sequence[Source]) -> None:
    """`ParameterError` where something is said of CSV files, and none of all that is read is one."""
    if csv.given and not any(isinstance(source, CsvSource) for source in sources):
        raise ParameterError(f"{arg(csv.given)} is for CSV files, and {sources[0].name} is none; leave it out")


def _locations(path: str, wanted: str | None) -> Iterator[Location]:
    if path == "-":
        yield Pipe("standard input", lambda: sys.stdin.buffer, own=False)
    elif "://" in path:
        yield from _remote(path, wanted)
    else:
        with reading(path, "a file"):
            found = _paths(path, wanted)
            folder = path if Path(path).is_dir() else None
            for kind, run in groupby(found, lambda one: wanted or format_of(one)):
                same = list(run)
                yield from ([ImageFiles(same, folder)] if kind == ImageSource.format else map(_local, same))


def _joined(locations: Iterator[Location]) -> Iterator[Location]:
    """Images that follow one another as one."""
    for kind, run in groupby(locations, type):
        same = list(run)
        paths = [path for one in same if isinstance(one, ImageFiles) for path in one.paths]
        yield from [ImageFiles(paths)] if kind is ImageFiles and len(same) > 1 else same


def _local(path: str) -> Location:
    """A regular file, or something that can be read once, such as a named pipe."""
    check_path(path)
    with reading(path, "a file"):
        is_regular = stat.S_ISREG(Path(path).stat().st_mode)
    if is_regular:
        return LocalFile(path)
    return Pipe(path, lambda: Path(path).open("rb"), own=True)


def _paths(path: str, wanted: str | None) -> list[str]:
    if Path(path).is_dir():
        return _usable(sorted(_walk(path)), path, wanted)
    if Path(path).exists():
        return [path]
    if not glob.has_magic(path):
        raise InputError(_missing(path))
    return _matching(path, wanted)


def _matching(pattern: str, wanted: str | None) -> list[str]:
    """The files that match a pattern, or, if only folders match, the files in these."""
    found = sorted(glob.glob(pattern, recursive=True))  # noqa: PTH207  # pathlib's patterns need a folder to begin in
    shown = [path for path in found if not _is_hidden(path) or _is_hidden(pattern)]
    files = [path for path in shown if not Path(path).is_dir()]
    if not shown:
        raise InputError(f"{pattern}: no file matches this pattern; check it, and quote it against the shell")
    return files or _usable(sorted({path for folder in shown for path in _walk(folder)}), pattern, wanted)


def _walk(folder: str) -> Iterator[str]:
    for place, folders, files in os.walk(folder):
        folders[:] = [name for name in folders if not _is_hidden(name)]
        yield from (os.path.join(place, name) for name in files if not _is_hidden(name))  # noqa: PTH118  # keeps "./"


def _is_hidden(path: str) -> bool:
    return path.rstrip("/").rsplit("/", 1)[-1].startswith((".", "_"))


def _usable(files: list[str], folder: str, wanted: str | None) -> list[str]:
    """The files of a folder with a known ending; if a format is named, those with its endings or with none."""
    if wanted is None:
        every = [path for path in files if format_of(path)]
        images = [path for path in every if format_of(path) == ImageSource.format]
        tables = [path for path in every if format_of(path) != ImageSource.format]
        found = [path for path in tables if not path.lower().endswith(_BESIDE)] or images or tables
        if images and found is not images:
            warn(
                f"{folder}: of its files {counted(len(found), 'table')} {'is' if len(found) == 1 else 'are'} read, and "
                f"{counted(len(images), 'image')} not; {arg('format', ImageSource.format)} reads these"
            )
    else:
        found = [path for path in files if format_of(path) == wanted or "." not in path.rsplit("/", 1)[-1]]
    if not found:
        known = ", ".join(ending for ending, name in ENDINGS.items() if wanted in (None, name))
        raise InputError(
            f"{folder}: no file in it has a known ending ({known}); "
            f"name files of other endings one by one, and give {arg('format')}"
        )
    return found


def _missing(path: str) -> str:
    folder, name = Path(path).parent, Path(path).name
    if not folder.is_dir():
        return f"{path}: there is no folder {str(folder)!r}; check the path"
    with os.scandir(folder) as entries:
        near = difflib.get_close_matches(name, [entry.name for entry in islice(entries, _LOOK)], n=1)
    return f"{path}: no such file{f'; did you mean {str(folder / near[0])!r}?' if near else '; check the path'}"


def _check_distinct(locations: list[Location]) -> None:
    seen: dict[str, str] = {}
    for location in locations:
        for identity, name in location.identities:
            if identity in seen:
                raise InputError(
                    f"{name}: is given twice (also as {seen[identity]}), so its rows would count twice; give it once"
                )
            seen[identity] = name


def _remote(url: str, wanted: str | None) -> Iterator[Location]:
    system, path = _file_system(url)
    with reading(url, "a URL"):
        for found in _remote_paths(system, path, url, wanted):
            yield RemoteFile(system, found, system.unstrip_protocol(found))


def _remote_paths(system: Any, path: str, url: str, wanted: str | None) -> list[str]:
    if system.isfile(path):
        return [path]
    if system.isdir(path):
        inside = sorted(system.find(path))
        shown = [one for one in inside if not any(map(_is_hidden, one.removeprefix(path).split("/")))]
        return _usable(shown, url, wanted)
    if not glob.has_magic(path):
        raise InputError(f"{url}: no such file; check the URL and your access rights")
    found = [one for one in sorted(system.glob(path)) if system.isfile(one)]
    if not found:
        raise InputError(f"{url}: no file matches this pattern; check it, and quote it against the shell")
    return found


def _file_system(url: str) -> tuple[Any, str]:
    try:
        import fsspec  # only where a URL is named: it is an extra

        return fsspec.core.url_to_fs(url)  # type: ignore[no-any-return]
    except ImportError as error:
        raise InputError(
            f"{url}: a URL needs more packages ({explain(error)}); run pip install 'protosieve[s3]'"
        ) from error
    except Exception as error:  # unknown protocols, credentials, networks: each library has its own
        raise InputError(f"{url}: cannot be opened: {explain(error)}; check the URL") from error
