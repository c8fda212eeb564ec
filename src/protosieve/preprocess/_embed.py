"""Models that turn texts into vectors: found by name, called for a batch, and what they gave kept on disk.

A model's vector may differ in its last bits with the others of its batch. So what is kept counts: where it is known, a
model is not asked again, and of two processes that ask at once the first to write it down is right. All passes of a
run then see the same numbers.

A name is run where someone who may do so has said it in this process: as an argument, or in a pickle, which is code
anyway. Names in state files and results are data.
"""

import atexit
import hashlib
import importlib
import inspect
import os
import shutil
import sqlite3
import sys
import threading
import zlib
from collections.abc import Callable, Iterable, Iterator, Sequence
from contextlib import closing, contextmanager, redirect_stdout, suppress
from dataclasses import dataclass
from functools import cache
from importlib.machinery import SourceFileLoader
from importlib.metadata import PackageNotFoundError, version
from importlib.util import find_spec
from pathlib import Path
from secrets import token_hex
from tempfile import mkdtemp
from types import CodeType, FunctionType, ModuleType
from typing import Any, TypeAlias

import numpy as np
from numpy.typing import NDArray

from protosieve._doors import library
from protosieve.errors import InputError, OutputError, ParameterError, arg

Embed: TypeAlias = Callable[[list[str]], Any]  # texts to a matrix with a row for each

BATCH = 256
_WIDEST = 1 << 16  # numbers in a vector
_AT_ONCE = 32  # texts, by models that do not cut batches themselves
_PATIENCE = 600.0  # seconds for others who write
_FOLDER = "PROTOSIEVE_CACHE"
_EXAMPLE = "give one such as sentence-transformers:all-MiniLM-L6-v2, or module:function for your own"


class EmbedError(InputError):
    """A model failed for one of the rows from ``first`` to ``last`` of those it was asked for."""

    def __init__(self, message: object = "", first: int = 0, last: int = 0) -> None:
        super().__init__(message)
        self.first, self.last = first, last

    def at(self, numbers: Sequence[int]) -> str:
        """These rows, by their numbers."""
        first, last = numbers[self.first], numbers[self.last]
        return f"row {first}" if first == last else f"rows {first} to {last}"


def vectors(name: str, version: str, texts: Sequence[bytes]) -> NDArray[np.float32]:
    """A row of length one for each, by the model of this name; what it has no vector for has NaN.

    The model is loaded once for each ``version`` that `version_of` gave. Texts that are kept cost a look at the disk;
    it is called for others, by one thread at a time. Memory is that of the vectors and of a batch.

    >>> name = model_named(lambda texts: [[len(text), 0] for text in texts])
    >>> vectors(name, "", [b"some", b"more"])
    array([[1., 0.],
           [1., 0.]], dtype=float32)
    """
    if not texts:
        return np.zeros((0, 0), np.float32)
    with _LOCK:
        model = _loaded(name, version)
        with _open_file(model.place) as known:
            parts = [_batch(model, known, texts[start : start + BATCH], start) for start in range(0, len(texts), BATCH)]
    return np.concatenate(parts)


_LOCK = threading.RLock()  # models have threads of their own, and torch is not loaded by two


def _new_lock() -> None:
    """For a fork: the thread that holds the lock may not be there."""
    global _LOCK
    _LOCK = threading.RLock()


if hasattr(os, "register_at_fork"):
    os.register_at_fork(after_in_child=_new_lock)


# -- names


@dataclass(frozen=True)
class _Model:
    """A function, and the file of its vectors: in the folder of all, or in one that goes when the process ends."""

    name: str
    embed: Embed
    file: str
    folder: Path | None = None

    @property
    def place(self) -> Path:
        return (_folder() if self.folder is None else self.folder) / self.file


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
    unique = token_hex(4)  # no file names it by chance
    name = f"{module}:{title}#{unique}"
    _NAMES[name] = _Model(name, given, f"{unique}.sqlite", _own_folder())
    return name


@cache
def _own_folder() -> Path:
    """One that goes when this process ends, and not when a fork of it does."""
    folder, owner = mkdtemp(prefix="protosieve"), os.getpid()
    atexit.register(lambda: shutil.rmtree(folder, ignore_errors=True) if os.getpid() == owner else None)
    return Path(folder)


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
    """What a model is besides its name, as far as files tell; `ParameterError` where there is none.

    Loads nothing, but for the packages that a module is in.
    """
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
    try:
        with _from_here():
            found = find_spec(prefix)
        loader: Any = found and found.loader
        text = loader.get_data(found.origin) if found and found.has_location else b""
    except (ModuleNotFoundError, ValueError):  # of a package that is not there, or of __main__
        found = None
    except Exception as error:  # of a package that is, and fails, or of a file
        raise _unloaded(name, error) from error
    if found is None:
        raise ParameterError(
            f"{arg('embed', name)}: there is no module {prefix!r}, neither installed nor in {Path.cwd()}; {_EXAMPLE}"
        )
    return _digest(text).hex() if text else ""


@contextmanager
def _from_here() -> Iterator[None]:
    """Modules are looked for in the working folder too, as by ``python -m``; not for longer: data may lie there."""
    here = str(Path.cwd())
    with _LOCK:
        if {"", here} & set(sys.path):
            here = ""
        else:
            sys.path.append(here)
        importlib.invalidate_caches()
        try:
            yield
        finally:
            if here:
                with suppress(ValueError):  # the module did so
                    sys.path.remove(here)


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


def _loaded(name: str, version: str) -> _Model:
    if not is_known(name):
        raise InputError(
            f"rows become vectors by {name!r}, and a name that was read from a file is not run; if you trust it, give "
            f"it again with {arg('embed', name)}"
        )
    return _NAMES[name] or _load(name, version)


@cache
def _load(name: str, _version: str) -> _Model:
    """Once for each version asked for; vectors go under that found now, as an encoding may be from elsewhere."""
    prefix, _, rest = name.partition(":")
    said = version_of(name)
    load = _LIBRARIES[prefix][2] if prefix in _LIBRARIES else lambda rest: _function(prefix, rest, said)
    try:
        embed = load(rest)
    except Exception as error:
        raise _unloaded(name, error) from error
    return _Model(name, embed, f"{_digest(f'{name} {said}'.encode()).hex()}.sqlite")


def _unloaded(name: str, error: Exception) -> InputError:
    return InputError(f"{arg('embed', name)} cannot be loaded: {_cause(error)}")


_AS_LOADED: dict[str, tuple[Any, str]] = {}  # modules: their specs, which are new after a reload, and versions


def _function(module: str, path: str, said: str) -> Embed:
    known = sys.modules.get(module)
    with _from_here():
        loaded = importlib.import_module(module)
    spec, before = _AS_LOADED.get(module, (None, ""))
    is_noted = spec is not None and spec is loaded.__spec__
    is_right = before == said if is_noted else known is None or _is_unchanged(loaded)
    if not is_right:
        raise ImportError(f"{loaded.__file__} was changed after it was imported; reload the module, or start anew")
    _AS_LOADED[module] = loaded.__spec__, said
    found: Any = loaded
    for part in path.split("."):
        found = getattr(found, part)
    if not callable(found):
        raise TypeError(f"{path} is a {type(found).__name__}, and a function is needed")
    made: Embed = found
    return made


def _is_unchanged(module: ModuleType) -> bool:
    """Whether the functions of a module that others imported are those of its file, as far as that can be told."""
    spec = module.__spec__
    if spec is None or not spec.origin or not isinstance(spec.loader, SourceFileLoader):
        return True
    written = set(_codes(spec.loader.source_to_code(spec.loader.get_data(spec.origin), spec.origin)))
    functions = [inspect.unwrap(one) for one in vars(module).values() if isinstance(one, FunctionType)]
    there = [getattr(one, "__code__", None) for one in functions]
    return written.issuperset(code for code in there if isinstance(code, CodeType) and code.co_filename == spec.origin)


def _codes(code: CodeType) -> Iterator[CodeType]:
    yield code
    for one in code.co_consts:
        if isinstance(one, CodeType):
            yield from _codes(one)


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
    model, _, _ = open_clip.create_model_and_transforms(kind, pretrained=weights, device=device)
    tokens = open_clip.get_tokenizer(kind)
    model.eval()

    def encoded(batch: list[str]) -> Any:
        with torch.no_grad():
            return model.encode_text(tokens(batch).to(device)).float().cpu().numpy()

    return lambda batch: np.concatenate([encoded(batch[i : i + _AT_ONCE]) for i in range(0, len(batch), _AT_ONCE)])


_LIBRARIES: dict[str, tuple[str, str, Callable[[str], Embed]]] = {  # the module, the package, how a model is loaded
    "sentence-transformers": ("sentence_transformers", "sentence-transformers", _sentence_transformers),
    "model2vec": ("model2vec", "model2vec", _model2vec),
    "open_clip": ("open_clip", "open_clip_torch", _open_clip),
}


# -- batches


def _batch(model: _Model, known: "_VectorFile", texts: Sequence[bytes], start: int) -> NDArray[np.float32]:
    keys = [_digest(one) for one in texts]
    there = known.of(keys)
    new: dict[bytes, int] = {}
    for place, key in enumerate(keys):
        if key not in there:
            new.setdefault(key, place)
    if new:
        asked = [(key, texts[i].decode("utf-8", "replace"), start + i) for key, i in new.items()]
        there |= _ask(model, known, asked) | known.of(list(new))  # another process may have been first
    found = [there[key] for key in keys]
    lengths = sorted({len(one) for one in found})
    if len(lengths) > 1:
        raise EmbedError(
            f"{model.name} gives vectors of {lengths[0]} numbers and of {lengths[-1]}; all must be as long",
            start,
            start + len(texts) - 1,
        )
    return np.stack(found)


def _ask(model: _Model, known: "_VectorFile", new: list[tuple[bytes, str, int]]) -> dict[bytes, NDArray[np.float32]]:
    """Keep what the model gives for these keys, texts and places; returns what is not finite, which is not kept. Where
    the model fails, it is asked for each alone.
    """
    keys, texts, places = map(list, zip(*new, strict=True))
    try:
        with redirect_stdout(sys.stderr):  # a result, or figures, may be written to the other
            given = model.embed(texts)
    except (Exception, SystemExit) as error:
        if len(new) == 1:
            raise EmbedError(_failed(model, error), *places, *places) from error
        found: dict[bytes, NDArray[np.float32]] = {}
        for one in new:
            found |= _ask(model, known, [one])
        return found
    try:
        made = _normed(given, len(texts))
    except ValueError as error:
        raise EmbedError(_failed(model, error), places[0], places[-1]) from error
    whole = np.isfinite(made).all(axis=1)
    known.keep((keys[i], made[i]) for i in np.flatnonzero(whole))
    return {keys[i]: made[i] for i in np.flatnonzero(~whole)}


def _failed(model: _Model, error: BaseException) -> str:
    return f"{model.name} failed: {_cause(error)}; fix that, or leave the rows out. Vectors made before are kept"


def _cause(error: BaseException) -> str:
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
    given, base = os.environ.get(_FOLDER), os.environ.get("XDG_CACHE_HOME")
    try:
        return Path(given) if given else Path(base or Path.home() / ".cache") / "protosieve"
    except RuntimeError as error:
        raise OutputError(f"vectors cannot be kept: {error}; name a folder in the environment as {_FOLDER}") from error


def _digest(content: bytes) -> bytes:
    return hashlib.blake2b(content, digest_size=16).digest()


class _VectorFile:
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
def _open_file(place: Path) -> Iterator[_VectorFile]:
    """The file of a model's vectors, made if there is none. It is opened each time: processes may fork in between."""
    try:
        place.parent.mkdir(parents=True, exist_ok=True)
        with closing(sqlite3.connect(place, timeout=_PATIENCE)) as file:
            yield _VectorFile(file)
    except (OSError, KeyError, UnicodeError, sqlite3.Error) as error:  # damage has many names
        raise OutputError(
            f"{place}: vectors cannot be kept there ({_cause(error)}); delete the file if it is damaged, or name "
            f"another folder in the environment as {_FOLDER}"
        ) from error
