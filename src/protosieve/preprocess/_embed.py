"""Models that turn texts or images into vectors: found by name, called for a batch, and what they gave kept on disk.

A model's vector may differ in its last bits with the others of its batch. So what is kept counts: where it is known, a
model is not asked again, and of two processes that ask at once the first to write it down is right. All passes of a
run then see the same numbers.

A name is run where someone who may do so has said it in this process: as an argument, or in a pickle, which is code
anyway. Names in state files and results are data.
"""

import hashlib
import importlib
import os
import sqlite3
import sys
import threading
import zlib
from collections.abc import Callable, Iterable, Iterator, Sequence
from contextlib import closing, contextmanager
from dataclasses import dataclass
from functools import cache
from importlib.metadata import PackageNotFoundError, version
from importlib.util import find_spec
from pathlib import Path
from secrets import token_hex
from tempfile import TemporaryDirectory
from typing import Any, TypeAlias

import numpy as np
from numpy.typing import NDArray

from protosieve._doors import library
from protosieve.errors import InputError, OutputError, ParameterError, arg

Embed: TypeAlias = Callable[[list[Any]], Any]  # some texts or images to a matrix with a row for each

BATCH = 256
_WIDEST = 1 << 16  # numbers in a vector
_AT_ONCE = 32  # images or texts, by models that do not cut batches themselves
_PATIENCE = 600.0  # seconds for others who write
_FOLDER = "PROTOSIEVE_CACHE"
_EXAMPLE = "give one such as sentence-transformers:all-MiniLM-L6-v2, or module:function for your own"


class EmbedError(InputError):
    """A model failed for one of the rows from ``first`` to ``last`` of those it was asked for."""

    def __init__(self, message: object = "", first: int = 0, last: int = 0) -> None:
        super().__init__(message)
        self.first, self.last = first, last


def vectors(name: str, contents: Sequence[bytes], opened: Callable[[bytes], Any]) -> NDArray[np.float32]:
    """A row of length one for each, by the model of this name; what it has no vector for has NaN.

    ``opened`` makes of contents what the model takes. Those that are kept cost a look at the disk; the model is called
    for others, by one thread at a time. Memory is that of the vectors and of a batch.

    >>> name = model_named(lambda texts: [[len(text), 0] for text in texts])
    >>> vectors(name, [b"some", b"more"], bytes.decode)
    array([[1., 0.],
           [1., 0.]], dtype=float32)
    """
    if not contents:
        return np.zeros((0, 0), np.float32)
    with _ONE:
        model = _loaded(name)
        with _kept(model.place) as known:
            starts = range(0, len(contents), BATCH)
            parts = [_batch(model, known, contents[start : start + BATCH], opened, start) for start in starts]
    return np.concatenate(parts)


_ONE = threading.RLock()  # models have threads of their own, and torch is not loaded by two


# -- names


@dataclass(frozen=True)
class _Model:
    """A function, and the file of its vectors: in the folder of all, or in one that goes when the process ends."""

    name: str
    embed: Embed
    file: str
    folder: TemporaryDirectory[str] | None = None

    @property
    def place(self) -> Path:
        return (_folder() if self.folder is None else Path(self.folder.name)) / self.file


_NAMES: dict[str, _Model | None] = {}  # that may be run; with their model those that only this process has


def model_named(given: str | Embed) -> str:
    """The name of a model that may be run from now on; a function that others cannot import gets one of its own."""
    if isinstance(given, str):
        _NAMES.setdefault(given, None)
        return given
    if not callable(given):
        raise ParameterError(f"{arg('embed')} must be a name or a function, got {given!r}; {_EXAMPLE}")
    module, title = getattr(given, "__module__", None), getattr(given, "__qualname__", type(given).__qualname__)
    if module != "__main__" and getattr(sys.modules.get(str(module)), title, None) is given:
        return model_named(f"{module}:{title}")
    for name, model in list(_NAMES.items()):
        if model is not None and model.embed == given:
            return name
    name = f"{module}:{title}#{token_hex(4)}"  # no file names it by chance
    _NAMES[name] = _Model(name, given, "vectors.sqlite", TemporaryDirectory(prefix="protosieve"))
    return name


def is_known(name: str) -> bool:
    """Whether a model may be run."""
    return name in _NAMES


def check_shared(name: str | None, place: str) -> None:
    """`ParameterError` for a function that only this process has, where others need it, as the argument ``place``."""
    if name is not None and _NAMES.get(name) is not None:
        raise ParameterError(
            f"{arg('embed')} is a function that other processes cannot import, {name}, and {arg(place)} needs one that "
            "they can; put it into a module, and give it as 'module:function'"
        )


def version_of(name: str) -> str:
    """What a model is besides its name, as far as files tell; `ParameterError` where there is none. Loads nothing."""
    if _NAMES.get(name) is not None:
        return ""
    prefix, colon, rest = name.partition(":")
    if not (prefix and colon and rest):
        raise ParameterError(f"{arg('embed', name)} names no model; {_EXAMPLE}")
    if prefix in _LIBRARIES:
        module, package, _ = _LIBRARIES[prefix]
        if find_spec(module) is None:
            raise ParameterError(f"{arg('embed', name)} needs {module}, which is not installed: pip install {package}")
        return f"{_installed(package)} {_stamp(rest.partition('/')[2] if prefix == 'open_clip' else rest)}".strip()
    if not {"", str(Path.cwd())} & set(sys.path):  # as ``python -m`` has it
        sys.path.append(str(Path.cwd()))
    importlib.invalidate_caches()
    try:
        found = find_spec(prefix)
    except (ModuleNotFoundError, ValueError):  # of a package that is not there, or of __main__
        found = None
    except Exception as error:  # of a package that is, and fails
        raise _unloaded(name, error) from error
    if found is None:
        raise ParameterError(
            f"{arg('embed', name)}: there is no module {prefix!r}, neither installed nor in {Path.cwd()}; {_EXAMPLE}"
        )
    return _digest(Path(found.origin).read_bytes()).hex() if found.origin and found.has_location else ""


def _installed(package: str) -> str:
    try:
        return version(package)
    except PackageNotFoundError:
        return ""


def _stamp(path: str) -> str:
    """Of a model in a folder or file: it is too large to read twice."""
    try:
        files = [Path(path), *sorted(Path(path).rglob("*"))] if path else []
        said = [f"{file} {file.stat().st_size} {file.stat().st_mtime_ns}" for file in files]
    except (OSError, ValueError):  # it is none
        return ""
    return _digest("\n".join(said).encode()).hex()


# -- models


def _loaded(name: str) -> _Model:
    if not is_known(name):
        raise InputError(
            f"rows become vectors by {name!r}, and a name that was read from a file is not run; if you trust it, give "
            f"it again with {arg('embed', name)}"
        )
    return _NAMES[name] or _load(name)


@cache
def _load(name: str) -> _Model:
    prefix, _, rest = name.partition(":")
    said = version_of(name)
    load = _LIBRARIES[prefix][2] if prefix in _LIBRARIES else lambda rest: _function(prefix, rest)
    try:
        embed = load(rest)
    except Exception as error:
        raise _unloaded(name, error) from error
    return _Model(name, embed, f"{_digest(f'{name} {said}'.encode()).hex()}.sqlite")


def _unloaded(name: str, error: Exception) -> InputError:
    return InputError(f"{arg('embed', name)} cannot be loaded: {_cause(error)}")


def _function(module: str, path: str) -> Embed:
    found: Any = importlib.import_module(module)
    for part in path.split("."):
        found = getattr(found, part)
    if not callable(found):
        raise TypeError(f"{path} is a {type(found).__name__}, and a function is needed")
    made: Embed = found
    return made


def _sentence_transformers(name: str) -> Embed:
    model = library("sentence_transformers", "embed").SentenceTransformer(name)
    return lambda batch: model.encode(batch, convert_to_numpy=True, show_progress_bar=False)


def _model2vec(name: str) -> Embed:
    made: Embed = library("model2vec", "embed").StaticModel.from_pretrained(name).encode
    return made


def _open_clip(name: str) -> Embed:
    open_clip, torch = library("open_clip", "embed"), library("torch", "open_clip")
    kind, slash, weights = (name, "/", None) if name.startswith("hf-hub:") else name.partition("/")
    if not slash:
        raise ValueError("there are no weights; give some, such as ViT-B-32/laion2b_s34b_b79k")
    device = "cuda" if torch.cuda.is_available() else "cpu"
    model, _, prepare = open_clip.create_model_and_transforms(kind, pretrained=weights, device=device)
    tokens = open_clip.get_tokenizer(kind)
    model.eval()

    def some(batch: list[Any]) -> Any:
        with torch.no_grad():
            if isinstance(batch[0], str):
                return model.encode_text(tokens(batch).to(device)).float().cpu().numpy()
            return model.encode_image(torch.stack([prepare(one) for one in batch]).to(device)).float().cpu().numpy()

    return lambda batch: np.concatenate([some(batch[i : i + _AT_ONCE]) for i in range(0, len(batch), _AT_ONCE)])


_LIBRARIES: dict[str, tuple[str, str, Callable[[str], Embed]]] = {  # the module, the package, how a model is loaded
    "sentence-transformers": ("sentence_transformers", "sentence-transformers", _sentence_transformers),
    "model2vec": ("model2vec", "model2vec", _model2vec),
    "open_clip": ("open_clip", "open_clip_torch", _open_clip),
}


# -- batches


def _batch(
    model: _Model, known: "_Kept", contents: Sequence[bytes], opened: Callable[[bytes], Any], start: int
) -> NDArray[np.float32]:
    keys = [_digest(one) for one in contents]
    there = known.of(keys)
    new: dict[bytes, int] = {}
    for place, key in enumerate(keys):
        if key not in there:
            new.setdefault(key, place)
    if new:
        made = _called(model, [contents[i] for i in new.values()], opened, [start + i for i in new.values()])
        known.keep(zip(new, made, strict=True))
        there |= known.of(list(new))  # another process may have been first
    found = [there[key] for key in keys]
    lengths = sorted({len(one) for one in found})
    if len(lengths) > 1:
        raise EmbedError(
            f"{model.name} gives vectors of {lengths[0]} numbers and of {lengths[-1]}; all must be as long",
            start,
            start + len(contents) - 1,
        )
    return np.stack(found)


def _called(
    model: _Model, batch: list[bytes], opened: Callable[[bytes], Any], places: list[int]
) -> NDArray[np.float32]:
    """What the model gives, checked. Where it fails, the first that it fails for alone is looked for."""
    try:
        return _normed(model.embed([opened(one) for one in batch]), len(batch))
    except Exception as error:
        for one, place in zip(batch, places, strict=True) if len(batch) > 1 else ():
            try:
                _normed(model.embed([opened(one)]), 1)
            except Exception as alone:
                raise EmbedError(_failed(model, alone), place, place) from alone
        raise EmbedError(_failed(model, error), places[0], places[-1]) from error


def _failed(model: _Model, error: Exception) -> str:
    return f"{model.name} failed: {_cause(error)}; fix that, or leave the rows out. Vectors made before are kept"


def _cause(error: Exception) -> str:
    said = str(error).strip().splitlines()
    return f"{type(error).__name__}: {said[0]}" if said else type(error).__name__


def _normed(given: Any, n: int) -> NDArray[np.float32]:
    found = np.asarray(given)
    if found.ndim != 2 or len(found) != n or not 0 < found.shape[1] <= _WIDEST or found.dtype.kind not in "fiu":
        raise ValueError(f"it gave {found.dtype} of shape {found.shape} for {n} rows, not a matrix with a row for each")
    values = np.array(found, np.float64, order="C")
    with np.errstate(all="ignore"):  # what is not finite is a fault of its row, and told there
        values[~np.isfinite(values).all(axis=1)] = np.nan
        values /= np.maximum(np.abs(values).max(axis=1, keepdims=True), np.finfo(np.float64).tiny)
        length = np.sqrt((values * values).sum(axis=1, keepdims=True))
        return (values / np.where(length == 0, 1, length)).astype(np.float32)


# -- what is kept


def _folder() -> Path:
    base = os.environ.get("XDG_CACHE_HOME") or Path.home() / ".cache"
    return Path(os.environ.get(_FOLDER) or Path(base) / "protosieve")


def _digest(content: bytes) -> bytes:
    return hashlib.blake2b(content, digest_size=16).digest()


class _Kept:
    """Vectors by what they are of, each with a check sum."""

    def __init__(self, file: sqlite3.Connection) -> None:
        self._file = file
        file.execute("PRAGMA trusted_schema = OFF")
        file.execute("PRAGMA page_size = 32768")  # several vectors each: less to write, and less is left empty
        file.execute("CREATE TABLE IF NOT EXISTS vectors (key BLOB PRIMARY KEY, vector BLOB NOT NULL)")

    def of(self, keys: Sequence[bytes]) -> dict[bytes, NDArray[np.float32]]:
        marks = ",".join("?" * len(keys))
        rows = self._file.execute(f"SELECT key, vector FROM vectors WHERE key IN ({marks})", list(keys)).fetchall()
        for key, stored in rows:
            is_whole = isinstance(key, bytes) and isinstance(stored, bytes) and len(stored) > 4 and not len(stored) % 4
            if not is_whole or _sum(key, stored[4:]) != stored[:4]:
                raise sqlite3.DatabaseError("a vector is not what was written")
        return {key: np.frombuffer(stored, "<f4", offset=4).astype(np.float32) for key, stored in rows}

    def keep(self, new: Iterable[tuple[bytes, NDArray[np.float32]]]) -> None:
        """In one step: all of them or none; those that are there stay."""
        data = [(key, vector.astype("<f4").tobytes()) for key, vector in new]
        with self._file:
            self._file.executemany(
                "INSERT OR IGNORE INTO vectors VALUES (?, ?)", [(key, _sum(key, one) + one) for key, one in data]
            )


def _sum(key: bytes, data: bytes) -> bytes:
    return zlib.crc32(key + data).to_bytes(4, "little")


@contextmanager
def _kept(place: Path) -> Iterator[_Kept]:
    """The file of a model's vectors, made if there is none. It is opened each time: processes may fork in between."""
    try:
        place.parent.mkdir(parents=True, exist_ok=True)
        with closing(sqlite3.connect(place, timeout=_PATIENCE)) as file:
            yield _Kept(file)
    except (OSError, KeyError, UnicodeError, sqlite3.Error) as error:  # damage has many names
        raise OutputError(
            f"{place}: vectors cannot be kept there ({_cause(error)}); delete the file if it is damaged, or name "
            f"another folder in the environment as {_FOLDER}"
        ) from error
