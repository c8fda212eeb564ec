"""A data set as a file: where it is found, whether it is the right one, and where a download is kept."""

import hashlib
import os
import zipfile
from abc import ABC, abstractmethod
from collections.abc import Mapping
from http.client import HTTPException
from pathlib import Path
from typing import Any, ClassVar, NamedTuple, TypeAlias

import numpy as np
from numpy.typing import NDArray
from sklearn.datasets import get_data_home

from protosieve._atomic import replacing
from protosieve.errors import InputError, OutputError

__all__ = ["Archive", "Arrays", "Folder", "Known", "digest"]

Arrays: TypeAlias = dict[str, NDArray[Any]]
Folder: TypeAlias = str | os.PathLike[str] | None

_VARIABLE = "PROTOSIEVE_DATA"
_BROKEN = (OSError, ValueError, EOFError, zipfile.BadZipFile, HTTPException)  # what a bad file or line can lead to


class Known(NamedTuple):
    """How an array is recognised."""

    dtype: str
    shape: tuple[int, ...]
    sha256: str  # of its bytes in that dtype


def digest(values: NDArray[Any]) -> str:
    """The sha256 of the bytes, row by row."""
    return hashlib.sha256(np.ascontiguousarray(values).tobytes()).hexdigest()


class Archive(ABC):
    """Arrays in ``name.npz``: from a folder, from an earlier download, or from the network."""

    name: ClassVar[str]
    known: ClassVar[Mapping[str, Known]]
    place: ClassVar[str]  # where downloads come from, in words
    remedy: ClassVar[str]  # where there is no network

    @abstractmethod
    def _fetch(self) -> Arrays:
        """From the network, unchecked."""

    def _doubt(self, arrays: Arrays) -> str:
        """Why arrays of the right shapes are not the right ones, and what to do, where that can be told."""
        return f"their values are not those the paper used; take {self.place}"

    def arrays(self, folder: Folder = None) -> Arrays:
        """All arrays, byte for byte those the paper used, or an `InputError`. A download is kept for the next time."""
        path = self._found(folder)
        if path is not None:
            return self._read(path)
        try:
            fetched = self._fetch()
        except InputError:
            raise
        except _BROKEN as error:
            named = os.environ.get(_VARIABLE)
            there = f"there is no {self.file} in {named}, and " if named else ""
            raise InputError(f"{there}{self.place} cannot be had ({_words(error)}): {self.remedy}") from error
        checked = self._checked(fetched, self.place)
        self._keep(checked)
        return checked

    @property
    def file(self) -> str:
        return f"{self.name}.npz"

    def kept(self) -> Path:
        """Where a download waits for the next time."""
        return Path(get_data_home()) / "protosieve" / self.file

    def _found(self, folder: Folder) -> Path | None:
        if folder is not None:
            path = Path(folder) / self.file
            if not path.is_file():
                raise InputError(
                    f"there is no {self.file} in {folder}: {self.remedy}, or give no folder to download it"
                )
            return path
        named = os.environ.get(_VARIABLE)
        if named and not Path(named).is_dir():
            raise InputError(
                f"{_VARIABLE} names {named}, which is no folder: set it to one that has {self.file}, or to none"
            )
        places = [Path(named) / self.file] if named else []
        return next((path for path in (*places, self.kept()) if path.is_file()), None)

    def _read(self, path: Path) -> Arrays:
        try:
            with path.open("rb") as stream, np.load(stream) as data:
                found = {name: data[name] for name in self.known if name in data}
                there = ", ".join(data)
        except (*_BROKEN, AttributeError, TypeError) as error:  # a .npy in disguise is an array, not a file of arrays
            raise InputError(f"{path} cannot be read ({_words(error)}): replace it, or delete it") from error
        if len(found) < len(self.known):
            raise InputError(
                f"{path} holds {there or 'nothing'}, not {', '.join(self.known)}: replace it, or delete it"
            )
        return self._checked(found, str(path))

    def _checked(self, arrays: Arrays, place: str) -> Arrays:
        exact = {name: _as(values, self.known[name].dtype) for name, values in arrays.items()}
        for name, known in self.known.items():
            if arrays[name].shape != known.shape:
                raise InputError(
                    f"{place}: {name} has the shape {arrays[name].shape}, not {known.shape}: "
                    f"part of it is missing, or it is something else; take {self.place}"
                )
        if any(digest(exact[name]) != known.sha256 for name, known in self.known.items()):
            raise InputError(f"{place}: {self._doubt(exact)}")
        return exact

    def _keep(self, arrays: Arrays) -> None:
        path = self.kept()
        try:
            path.parent.mkdir(parents=True, exist_ok=True)
            with replacing(path) as stream:
                np.savez_compressed(stream, allow_pickle=False, **arrays)
        except OSError as error:
            raise OutputError(
                f"{path} cannot be written ({_words(error)}): make room there, "
                "or set SCIKIT_LEARN_DATA to another folder"
            ) from error


def _as(values: NDArray[Any], dtype: str) -> NDArray[Any]:
    """The values in a dtype where nothing is lost, else as they are."""
    try:
        with np.errstate(invalid="ignore"):
            cast = values.astype(dtype)
            return cast if np.array_equal(cast.astype(values.dtype), values) else values
    except ValueError:
        return values


def _words(error: Exception) -> str:
    return " ".join(str(error).split()) or type(error).__name__
