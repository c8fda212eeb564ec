"""Files that are images: a row each, with its path."""

import hashlib
import os
from collections.abc import Iterator, Sequence
from pathlib import Path
from typing import final

import numpy as np
import pyarrow as pa

from protosieve.io._file_source import FileSource, check_path
from protosieve.io._locations import Location, Opened
from protosieve.io._source import BadRows, Piece

_ROWS = 512  # of a piece, and where partitions may be cut: images take long, and progress is told of pieces


@final
class ImageFiles(Location):
    """Many files on this machine as one: a folder may hold a hundred thousand of them. Those that were not named by
    their ``folder`` are called as if they were in the one that holds them all.
    """

    def __init__(self, paths: Sequence[str], folder: str | None = None) -> None:
        for path in paths:
            check_path(path)
        self.paths = list(paths)
        self.name = folder or paths[0]
        if folder is None and len(paths) > 1:
            some = paths if len({Path(path).is_absolute() for path in paths}) == 1 else map(os.path.abspath, paths)
            self.name = str(Path(os.path.commonpath(some), f"{len(paths)} images"))
        self.size = sum(size for _, size, _ in self._found())

    @property
    def identities(self) -> list[tuple[str, str]]:
        """Links among images are many, as in themes of icons, and stand for themselves."""
        return [(os.path.abspath(path), path) for path in self.paths]  # noqa: PTH100  # follows no links

    def open(self) -> Opened:
        raise NotImplementedError("many files are not one stream")

    def fingerprint(self) -> dict[str, str | int]:
        """The names, sizes and times of all."""
        digest = hashlib.sha256("\n".join(map(repr, self._found())).encode()).hexdigest()
        return {"name": self.name, "files": len(self.paths), "size": self.size or 0, "digest": digest[:16]}

    def _found(self) -> Iterator[tuple[str, int, int]]:
        for path in self.paths:
            try:
                found = Path(path).stat()
            except OSError:  # a link to nothing is a row that cannot be used
                yield path, 0, 0
            else:
                yield path, found.st_size, found.st_mtime_ns


@final
class ImageSource(FileSource):
    """Image files, in a column ``path``. They are opened where rows are compared: files that are not images are
    found then.
    """

    format = "images"
    title = "images"
    endings = (".png", ".jpg", ".jpeg", ".webp", ".gif", ".bmp", ".tif", ".tiff")
    column = "path"

    @property
    def folders(self) -> None:
        """Anywhere: the user has named these files, and links among them may lead out of their folder."""

    def groups(self) -> list[int]:
        rows = len(self._paths)
        return [min(_ROWS, rows - start) for start in range(0, rows, _ROWS)]

    def _head(self) -> pa.Schema:
        return pa.schema({self.column: pa.string()})

    def _rows(self, columns: list[str], start: int, bad: BadRows) -> Iterator[Piece]:
        paths = self._paths
        for first in range(start, len(paths), _ROWS):
            part = paths[first : first + _ROWS]
            numbers = np.arange(first, first + len(part))
            table = pa.table({self.column: part}, self._head())
            yield Piece(table, numbers, self._share(first + len(part), len(paths)))

    @property
    def _paths(self) -> list[str]:
        assert isinstance(self.location, ImageFiles)
        return self.location.paths
