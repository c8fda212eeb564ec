"""State as data: typed values to one file and back, never code.

A *storable* is a dataclass whose ``init`` fields are numbers, text, arrays, random generators, lists of
such, or other storables. ``write`` turns a tree of them into an ``.npz``: one ``.npy`` entry per array and
``manifest.json`` for the rest, with a format version and a digest of everything. ``read`` is its inverse;
it builds only classes registered here and never unpickles.

Fields with ``init=False`` are scratch: not written, made again by ``__post_init__``.
"""

import dataclasses
import hashlib
import io
import json
import os
import zipfile
from pathlib import Path
from typing import Any, TypeVar, cast

import numpy as np

from protosieve._atomic import replacing
from protosieve.errors import StateFileError

__all__ = ["FORMAT", "digest", "dumps", "loads", "read", "storable", "write"]

FORMAT = 1
_MANIFEST = "manifest.json"
_REGISTRY: dict[str, type] = {}
_SCALARS = (bool, int, float, str, type(None))

T = TypeVar("T", bound=type)


def storable(cls: T) -> T:
    """Class decorator: a dataclass that may stand in a state file, under its own name."""
    if cls.__name__ in _REGISTRY:
        raise TypeError(f"two storable classes are called {cls.__name__}")
    _REGISTRY[cls.__name__] = cls
    return cls


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
    """The same as bytes, for engines that carry values from one process to another."""
    stream = io.BytesIO()
    _write_archive(stream, *_packed(root))
    return stream.getvalue()


def loads(data: bytes, name: str = "state") -> Any:
    """What ``dumps`` was given; any damage is one `StateFileError`, that calls the bytes ``name``."""
    return _read(io.BytesIO(data), name)


def digest(root: object) -> str:
    """What tells it from other values."""
    return str(_packed(root)[0]["sha256"])


def read(path: str | os.PathLike[str]) -> Any:
    """Read what ``write`` wrote; any damage is one `StateFileError`."""
    return _read(path, path)


def _read(source: Any, path: str | os.PathLike[str]) -> Any:
    try:
        with zipfile.ZipFile(source) as archive:
            manifest = json.loads(archive.read(_MANIFEST))
            _check_format(path, manifest)
            arrays = {
                name.removesuffix(".npy"): np.lib.format.read_array(io.BytesIO(archive.read(name)), allow_pickle=False)
                for name in archive.namelist()
                if name != _MANIFEST
            }
        if _digest(manifest["body"], arrays) != manifest["sha256"]:
            raise StateFileError(
                f"{path}: the digest does not match, the file was changed after it was written; use an earlier copy"
            )
        return _unpack(manifest["body"], arrays)
    except StateFileError:
        raise
    except FileNotFoundError as error:
        raise StateFileError(f"{path}: no such state file; give the path that .save() was given") from error
    except OSError as error:
        raise StateFileError(f"{path}: cannot be read: {error.strerror or error}") from error
    except Exception as error:  # zip, JSON and array damage have many names; the user needs one
        raise StateFileError(
            f"{path}: not a protosieve state file, or a damaged one ({type(error).__name__}: {error}). "
            "Give a file written by .save()."
        ) from error


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
        archive.writestr(_MANIFEST, json.dumps(manifest))
        for name, array in arrays.items():
            with archive.open(f"{name}.npy", "w", force_zip64=True) as entry:
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
    cls = _REGISTRY[value["type"]]
    return cls(**{name: _unpack(field, arrays) for name, field in value["fields"].items()})


def _generator(state: dict[str, Any]) -> np.random.Generator:
    bits = np.random.PCG64()  # the library makes its generators with default_rng: always PCG64
    bits.state = cast(Any, state)
    return np.random.Generator(bits)
