"""What a run was asked for: everything that decides its result, as one value that can be stored and compared."""

import csv
import dataclasses
import io
import math
import numbers
import os
import shlex
from collections.abc import Callable, Iterable, Mapping, Sequence
from dataclasses import dataclass
from typing import Any

from protosieve._state import storable
from protosieve.errors import ParameterError
from protosieve.kernels import Cosine, Gaussian, Kernel, Laplacian, Linear, MultiScale, Polynomial, as_kernel
from protosieve.preprocess._settle import SCALES
from protosieve.report._view import image_shape_of
from protosieve.selectors import SELECTORS, StreamSelector
from protosieve.selectors._rules import whole_number

__all__ = ["FLAGS", "KERNELS", "METHODS", "Options", "kernel_of", "names", "options_of", "several", "shape_text"]

METHODS: dict[str, Callable[..., StreamSelector[Any, Any]]] = {
    cls.method: cls for cls in SELECTORS if issubclass(cls, StreamSelector)
}
_BATCH = ", ".join(cls.__name__ for cls in SELECTORS if not issubclass(cls, StreamSelector))
POLICIES = ("error", "skip")

KERNELS: dict[str, Callable[..., Kernel]] = {
    "cosine": Cosine,
    "gaussian": Gaussian,
    "laplacian": Laplacian,
    "linear": Linear,
    "multiscale": MultiScale,
    "polynomial": Polynomial,
}
_WITH_WIDTH = ("gaussian", "laplacian", "multiscale")
_FILES = ("inputs", "target")
_IN_MEMORY = (
    "; select reads files: write the rows to a Parquet file and pass its path, or pass their numeric columns to "
    "ProtoSwap(n_prototypes).fit"
)

# The option of the command line for each argument, where the two differ in more than dashes.
FLAGS = {"inputs": "inputs", "n_prototypes": "-m", "random_state": "--seed", "coordinates": "--map"}


@storable
@dataclass(frozen=True)
class Options:
    """The arguments of `protosieve.select` that decide what is chosen; see there."""

    inputs: list[str]
    n_prototypes: int | str
    kernel: Kernel
    target: list[str] | None = None
    method: str = "swap"
    features: list[str] | None = None
    exclude: list[str] = dataclasses.field(default_factory=list)
    id: list[str] = dataclasses.field(default_factory=list)
    label: str | None = None
    embedding: str | None = None
    categorical: list[str] = dataclasses.field(default_factory=list)
    scale: str = "standard"
    max_categories: int = 32
    sample: int = 16384
    exact_weights: bool = False
    random_state: int | None = 0
    bad_rows: str = "error"
    format: str | None = None
    image_shape: str | None = None  # such as 28x28
    image: str | None = None
    text: str | None = None
    coordinates: list[str] | None = None  # two
    partition_rows: int | None = None  # None for one stream of rows

    def __post_init__(self) -> None:
        self._choice("method", METHODS)
        self._choice("scale", SCALES)
        self._choice("bad_rows", POLICIES)
        for name, least in (("max_categories", 1), ("sample", 10)):
            whole_number(least).check("select", name, getattr(self, name))
        if self.partition_rows is not None:
            whole_number(1).check("select", "partition_rows", self.partition_rows)
        if self.random_state is not None:
            whole_number(0).check("select", "random_state", self.random_state)
        _share(self.n_prototypes)
        if not isinstance(self.label, str | None):
            raise ParameterError(f"label must be the name of one column, got {self.label!r}; others can go to id")
        self._check_shown()
        if self.from_stdin:
            self._check_stdin()

    @property
    def from_stdin(self) -> bool:
        return self.inputs == ["-"]

    def count(self, rows: int) -> int:
        """The number of prototypes, of so many rows."""
        share = _share(self.n_prototypes)
        return int(self.n_prototypes) if share is None else max(1, round(share * rows))

    def command(self) -> str:
        """The command line that does the same."""
        words = ["protosieve", "select", *self.inputs]
        for field in dataclasses.fields(self):
            value = getattr(self, field.name)
            if field.name not in ("inputs", "kernel") and (field.name == "n_prototypes" or value != _default(field)):
                words += _flags(field.name, value)
        return shlex.join(words + _kernel_flags(self.kernel))

    def difference(self, other: "Options") -> str | None:
        """The first argument in which they differ, in words."""
        for field in dataclasses.fields(self):
            mine, theirs = getattr(self, field.name), getattr(other, field.name)
            if mine != theirs:
                return f"{_flag(field.name)} was {mine!r} and is {theirs!r} now"
        return None

    def _choice(self, name: str, known: Iterable[str]) -> None:
        if getattr(self, name) not in known:
            batch = f"; the batch methods are in Python: {_BATCH}" if name == "method" else ""
            raise ParameterError(f"{name} must be one of {', '.join(known)}, got {getattr(self, name)!r}{batch}")

    def _check_shown(self) -> None:
        for name in ("image", "text"):
            if not isinstance(getattr(self, name), str | None):
                raise ParameterError(f"{name} must be the name of one column, got {getattr(self, name)!r}")
        if self.coordinates is not None and len(self.coordinates) != 2:
            raise ParameterError(f"coordinates must be the names of two columns, such as X,Y; got {self.coordinates!r}")
        image_shape_of(self.image_shape)

    def _check_stdin(self) -> None:
        if "-" in (self.target or []):
            raise ParameterError("target must be a file where standard input holds the rows to choose from, got '-'")
        if _share(self.n_prototypes) is not None:
            raise ParameterError(
                f"n_prototypes={self.n_prototypes!r} is a share of rows whose number standard input does not tell; "
                "give a count, such as -m 500"
            )
        if self.partition_rows is not None:
            raise ParameterError(
                "partitions are read twice, and standard input comes once; store the rows in a file first"
            )
        if self.exact_weights:
            raise ParameterError(
                "exact_weights=True needs one more pass, and standard input comes once; store the rows in a file first"
            )


def _flag(name: str) -> str:
    """What an argument is called on the command line."""
    return FLAGS.get(name, f"--{name.replace('_', '-')}")


def options_of(given: Mapping[str, Any]) -> Options:
    """What the arguments of `protosieve.select`, under their names, ask for; others among them decide no result."""
    own = {field.name for field in dataclasses.fields(Options)} - {"inputs", "kernel"}
    lists = ("target", "features", "exclude", "id", "categorical", "coordinates")
    plain = {name: given[name] for name in own.intersection(given).difference(lists)}
    return Options(
        inputs=names(given["inputs"], "inputs"),
        kernel=kernel_of(given.get("kernel", "multiscale"), given.get("width")),
        **several({name: given[name] for name in lists if name in given}),
        **{**plain, "image_shape": shape_text(given.get("image_shape"))},
    )


def names(given: Any, argument: str) -> list[str]:
    """One name or several."""
    if given is None:
        return []
    found = list(given) if isinstance(given, Sequence) and not isinstance(given, str) else [given]
    if not all(isinstance(name, str | os.PathLike) for name in found):
        remedy = _IN_MEMORY if argument in _FILES and not isinstance(given, numbers.Number) else ""
        raise ParameterError(f"{argument} must be a name or a list of names, got {_shown(given)}{remedy}")
    return [os.fspath(name) for name in found]


def shape_text(given: Any) -> str | None:
    """The shape of an image as text.

    >>> shape_text((32, 32, 3)), shape_text("28x28"), shape_text(None)
    ('32x32x3', '28x28', None)
    """
    shape = image_shape_of(given)
    return None if shape is None else "x".join(map(str, shape))


def _shown(given: Any) -> str:
    text = repr(given)
    return text if len(text) <= 60 and "\n" not in text else f"a {type(given).__name__}"


def kernel_of(kernel: Any, width: Any) -> Kernel:
    """A kernel by name and width, or the one that was given."""
    if not isinstance(kernel, str):
        if width is not None:
            raise ParameterError(f"width={width!r} is for a kernel given by name; {kernel!r} has its own")
        return as_kernel(kernel)
    if kernel not in KERNELS:
        raise ParameterError(f"kernel must be one of {', '.join(KERNELS)} or a kernel object, got {kernel!r}")
    if width is None:
        return KERNELS[kernel]()
    if kernel not in _WITH_WIDTH:
        raise ParameterError(f"the {kernel} kernel has no width, but width={width!r} was given; leave it out")
    return KERNELS[kernel](width=width)


def _share(m: object) -> float | None:
    """The share of a percentage such as "1%"; ``None`` for a count."""
    if whole_number(1).holds(m):
        return None
    if isinstance(m, str) and m.endswith("%"):
        try:
            share = float(m[:-1]) / 100
        except ValueError:
            share = math.nan
        if 0 < share <= 1:
            return share
    raise ParameterError(
        f'n_prototypes must be a whole number of at least 1, or a share of the rows such as "1%"; got {m!r}'
    )


def _default(field: "dataclasses.Field[Any]") -> Any:
    made = field.default_factory
    return field.default if made is dataclasses.MISSING else made()


def _flags(name: str, value: Any) -> list[str]:
    flag = _flag(name)
    if isinstance(value, bool):
        return [flag]
    if name == "coordinates":
        return [flag, _quoted(*value)]
    if isinstance(value, list):
        return [word for item in value for word in (flag, item if name == "target" else _quoted(item))]
    return [flag, "none" if value is None else str(value)]


def _quoted(*names: str) -> str:
    """Columns' names in a list separated by commas."""
    text = io.StringIO()
    csv.writer(text, lineterminator="").writerow(names)
    return text.getvalue()


def _kernel_flags(kernel: Kernel) -> list[str]:
    """What the command line can say of a kernel."""
    name = next((name for name, cls in KERNELS.items() if type(kernel) is cls), None)
    if name is None or kernel == MultiScale():
        return []
    width = getattr(kernel, "width", "median")
    return ["--kernel", name] + ([] if width == "median" else ["--width", str(float(width))])


def several(given: dict[str, Any]) -> dict[str, Any]:
    """Arguments that may be one name or several, as lists; those that were not given are left out."""
    lists = ("target", "features", "exclude", "id", "categorical", "coordinates")
    return {name: names(v, name) if name in lists else v for name, v in given.items() if v is not None}
