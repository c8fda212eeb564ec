"""State as data: typed values to one file and back, never code.

A *storable* is a dataclass whose ``init`` fields are numbers, text, arrays, random generators, lists of such, other
storables, or values of a type for which `store_as` says how. ``write`` turns a tree of them into an ``.npz``: one
``.npy`` entry per array and ``manifest.json`` for the rest, with a format version and a digest of everything. ``read``
is its inverse; it builds only classes registered here and never unpickles.

A digest tells accidents, not forgeries: anybody can compute one. So nothing is believed of a file. It is stored as it
is, never compressed, and no entry, array or shape may claim more bytes than are there; every field is of the type its
class declares; and a class with ``_check_form`` refuses values its methods could not work with.

Fields with ``init=False`` are scratch: not written, made again by ``__post_init__``.
"""

import dataclasses
import hashlib
import io
import json
import math
import os
import stat
import zipfile
from collections.abc import Callable, Iterator
from contextlib import contextmanager
from pathlib import Path
from typing import IO, Any, TypeVar, cast

import numpy as np

from protosieve._atomic import replacing
from protosieve._typed import fits, hints_of, require
from protosieve.errors import ProtosieveError, StateFileError

FORMAT = 1
_MANIFEST = "manifest.json"
_REGISTRY: dict[str, type] = {}
_STAND_INS: dict[str, tuple[type, Callable[[Any], Any], Callable[[Any], Any]]] = {}
_SCALARS = (bool, int, float, str, type(None))
_HEADERS = {(1, 0): np.lib.format.read_array_header_1_0, (2, 0): np.lib.format.read_array_header_2_0}
_MISFITS = (ArithmeticError, AssertionError, AttributeError, LookupError, TypeError, ValueError)

T = TypeVar("T", bound=type)


def storable(cls: T) -> T:
    """Class decorator: a dataclass that may stand in a state file, under its own name."""
    if cls.__name__ in _REGISTRY:
        raise TypeError(f"two storable classes are called {cls.__name__}")
    _REGISTRY[cls.__name__] = cls
    return cls


def store_as(kind: type, stored: Callable[[Any], Any], restored: Callable[[Any], Any]) -> None:
    """Values of a type that is no storable dataclass may be stored too: as what ``stored`` makes of them.

    ``restored`` is its inverse, and refuses what ``stored`` could not have made.
    """
    _STAND_INS[kind.__name__] = kind, stored, restored


def write(path: str | os.PathLike[str], root: object) -> None:
    """Write ``root`` to ``path``: complete, or not at all."""
    manifest, arrays = _packed(root)
    try:
        with replacing(path) as stream:
            _write_archive(stream, manifest, arrays)
    except OSError as error:
        raise StateFileError(
            f"cannot write the state to {Path(path).resolve()}: {error.strerror or error}. "
            "Whatever stood there before is unchanged; check that the folder exists, is writable and has room."
        ) from error


def dumps(root: object) -> bytes:
    """What `write` would write, as bytes, for engines that send values to other processes."""
    stream = io.BytesIO()
    _write_archive(stream, *_packed(root))
    return stream.getvalue()


def loads(data: bytes, name: str = "state") -> Any:
    """The inverse of `dumps`; any damage is one `StateFileError`, whose message calls the bytes ``name``."""
    return _read(lambda: io.BytesIO(data), name, _as_it_is)


def digest(root: object) -> str:
    """A digest of the value: equal values have equal digests."""
    return str(_packed(root)[0]["sha256"])


@contextmanager
def relied_on(path: str | os.PathLike[str], is_used: Callable[[], bool]) -> Iterator[None]:
    """What goes wrong inside, where a state was used that was stored earlier, is the fault of that state: each part may
    be right, and yet not fit the data of the run that goes on.
    """
    try:
        yield
    except ProtosieveError:
        raise
    except _MISFITS as error:
        if not is_used():
            raise
        raise StateFileError(
            f"{path}: what it holds does not fit this run ({type(error).__name__}: {error}); if the input files "
            "are the same, please report this, and delete it to start anew"
        ) from error


def _as_it_is(root: Any) -> Any:
    return root


def read(path: str | os.PathLike[str], make: Callable[[Any], Any] = _as_it_is) -> Any:
    """Read what ``write`` wrote, and ``make`` something of it; any damage is one `StateFileError`."""
    return _read(lambda: _opened(path), path, make)


def _opened(path: str | os.PathLike[str]) -> IO[bytes]:
    """Open a regular file. Pipes and devices are refused: reading them may never end. Opening never waits."""
    descriptor = os.open(path, os.O_RDONLY | getattr(os, "O_NONBLOCK", 0) | getattr(os, "O_BINARY", 0))
    kind = os.fstat(descriptor).st_mode
    if not (stat.S_ISREG(kind) or stat.S_ISDIR(kind)):  # a folder has an error of its own
        os.close(descriptor)
        raise StateFileError(f"{path}: not a regular file; give a file written by .save()")
    return os.fdopen(descriptor, "rb")


def _read(source: Callable[[], IO[bytes]], path: str | os.PathLike[str], make: Callable[[Any], Any]) -> Any:
    try:
        with source() as stream, zipfile.ZipFile(stream) as archive:
            _check_entries(archive, stream.seek(0, os.SEEK_END))
            manifest = json.loads(archive.read(_MANIFEST))
            _check_format(path, manifest)
            arrays = {
                name.removesuffix(".npy"): _array(archive.read(name))
                for name in archive.namelist()
                if name != _MANIFEST
            }
        if _digest(manifest["body"], arrays) != manifest["sha256"]:
            raise StateFileError(
                f"{path}: the digest does not match, the file was changed after it was written; use an earlier copy"
            )
        return make(_unpack(manifest["body"], arrays))
    except StateFileError:
        raise
    except FileNotFoundError as error:
        raise StateFileError(f"{path}: no such state file; give the path that .save() was given") from error
    except OSError as error:
        raise StateFileError(f"{path}: cannot be read: {error.strerror or error}") from error
    except Exception as error:  # zip, JSON and array damage have many names; the user needs one
        raise StateFileError(
            f"{path}: not a protosieve state file, or a damaged one ({type(error).__name__}: {error}). "
            "Give a file that protosieve has written."
        ) from error


def _check_entries(archive: zipfile.ZipFile, size: int) -> None:
    """Entries are stored as they are, each once, and together are no longer than the file: nothing grows when read."""
    entries = archive.infolist()
    require(len({entry.filename for entry in entries}) == len(entries), "an entry is there twice")
    for entry in entries:
        require(entry.compress_type == zipfile.ZIP_STORED, f"{entry.filename} is compressed, which .save() never does")
        require(entry.file_size == entry.compress_size, f"{entry.filename} claims a length that it does not have")
    require(sum(entry.file_size for entry in entries) <= size, "its entries claim to be longer than the file")


def _array(data: bytes) -> np.ndarray[Any, Any]:
    """An array of numbers, whose shape says exactly as many bytes as there are."""
    stream = io.BytesIO(data)
    version = np.lib.format.read_magic(stream)
    require(version in _HEADERS, f"array format {version} is not written by .save()")
    shape, is_fortran, dtype = _HEADERS[version](stream)
    require(dtype.kind in "biufSU", f"arrays of {dtype} are not written by .save()")
    require(min(shape, default=0) >= 0 and all(type(length) is int for length in shape), f"shape {shape} of an array")
    require(math.prod(shape) * dtype.itemsize == len(data) - stream.tell(), f"{shape} is not the shape of an array")
    return np.ndarray(shape, dtype, data, stream.tell(), order="F" if is_fortran else "C").copy(order="K")


def _packed(root: object) -> tuple[dict[str, Any], dict[str, np.ndarray[Any, Any]]]:
    """The manifest, and the arrays it speaks of."""
    arrays: dict[str, np.ndarray[Any, Any]] = {}
    body = _pack(root, arrays, "root")
    return {"format": FORMAT, "body": body, "sha256": _digest(body, arrays)}, arrays


def _check_format(path: str | os.PathLike[str], manifest: Any) -> None:
    found = manifest.get("format") if isinstance(manifest, dict) else None
    if not isinstance(found, int):
        raise StateFileError(f"{path}: not a protosieve state file (its manifest has no format number)")
    if found != FORMAT:
        raise StateFileError(
            f"{path}: written in state format {found}, this version reads format {FORMAT}; "
            "load it with the version of protosieve that wrote it"
        )


def _write_archive(stream: Any, manifest: object, arrays: dict[str, np.ndarray[Any, Any]]) -> None:
    with zipfile.ZipFile(stream, "w", zipfile.ZIP_STORED, allowZip64=True) as archive:
        # entries have no date of their own: the same state is the same bytes
        archive.writestr(zipfile.ZipInfo(_MANIFEST), json.dumps(manifest))
        for name, array in arrays.items():
            with archive.open(zipfile.ZipInfo(f"{name}.npy"), "w", force_zip64=True) as entry:
                np.lib.format.write_array(entry, array, allow_pickle=False)


def _digest(body: object, arrays: dict[str, np.ndarray[Any, Any]]) -> str:
    digest = hashlib.sha256(json.dumps(body, sort_keys=True).encode())
    for name in sorted(arrays):
        array = arrays[name]
        digest.update(f"{name} {array.dtype.str} {array.shape}".encode())
        digest.update(np.ascontiguousarray(array).view(np.uint8).data)
    return digest.hexdigest()


def _pack(value: Any, arrays: dict[str, np.ndarray[Any, Any]], place: str) -> Any:
    if isinstance(value, np.generic):
        value = value.item()
    if isinstance(value, _SCALARS):
        return value
    if isinstance(value, np.ndarray) and not value.dtype.hasobject:
        arrays[place] = value
        return {"array": place}
    if isinstance(value, np.random.Generator):
        return {"generator": value.bit_generator.state}
    if isinstance(value, list | tuple):
        return [_pack(item, arrays, f"{place}.{i}") for i, item in enumerate(value)]
    if isinstance(value, dict):
        return {"dict": [[_pack(k, arrays, place), _pack(v, arrays, f"{place}.{k}")] for k, v in value.items()]}
    if type(value) is _REGISTRY.get(type(value).__name__):
        fields = [f.name for f in dataclasses.fields(cast(Any, value)) if f.init]
        return {
            "type": type(value).__name__,
            "fields": {name: _pack(getattr(value, name), arrays, f"{place}.{name}") for name in fields},
        }
    for name, (kind, stored, _) in _STAND_INS.items():
        if isinstance(value, kind):
            return {"kind": name, "stored": _pack(stored(value), arrays, place)}
    raise StateFileError(
        f"cannot save {place.removeprefix('root.')}={value!r}: a state file holds data, never code. "
        "Use the kernels, means and objectives of protosieve, and a number as random_state."
    )


def _unpack(value: Any, arrays: dict[str, np.ndarray[Any, Any]]) -> Any:
    if isinstance(value, list):
        return [_unpack(item, arrays) for item in value]
    if not isinstance(value, dict):
        return value
    if "array" in value:
        return arrays[value["array"]]
    if "generator" in value:
        return _generator(value["generator"])
    if "dict" in value:
        return {_unpack(k, arrays): _unpack(v, arrays) for k, v in value["dict"]}
    if "kind" in value:
        return _STAND_INS[value["kind"]][2](_unpack(value["stored"], arrays))
    return built(_REGISTRY[value["type"]], {name: _unpack(of, arrays) for name, of in value["fields"].items()})


def built(cls: Any, fields: dict[str, Any]) -> Any:
    """A storable, with every field of the type it is declared with, and of a form its methods can work with."""
    hints = hints_of(cls)
    for name, value in fields.items():
        require(name in hints, f"{cls.__name__} has no field {name}")
        require(fits(value, hints[name]), f"{cls.__name__}.{name} is a {type(value).__name__} of the wrong kind")
    built = cls(**fields)
    if hasattr(cls, "_check_form"):
        built._check_form()
    return built


def _generator(state: dict[str, Any]) -> np.random.Generator:
    bits = np.random.PCG64()  # the library makes its generators with default_rng: always PCG64
    bits.state = cast(Any, state)
    return np.random.Generator(bits)
