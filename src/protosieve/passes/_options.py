"""What a run was asked for: everything that decides its result, as one value that can be stored and compared."""

import dataclasses
import math
import numbers
import os
import re
import sys
from collections.abc import Callable, Iterable, Mapping, Sequence
from dataclasses import dataclass
from inspect import signature
from typing import Any

from protosieve import _defaults as default
from protosieve._formatting import brief
from protosieve._state import storable
from protosieve.errors import ParameterError, arg
from protosieve.insight import image_shape_of
from protosieve.io import STREAM, CsvForm
from protosieve.kernels import KERNELS, Kernel, MultiScale, as_kernel
from protosieve.means import candidates_in
from protosieve.objectives import Coverage, covering_for
from protosieve.preprocess import BALANCES, CYCLES, SCALES, model_named
from protosieve.selectors import SELECTORS, SHORTEST, ProtoSwap, StreamSelector, content_with, whole_number

METHODS: dict[str, Callable[..., StreamSelector[Any, Any]]] = {
    cls.method: cls for cls in SELECTORS if issubclass(cls, StreamSelector)
}
_BATCH = ", ".join(cls.__name__ for cls in SELECTORS if not issubclass(cls, StreamSelector))
POLICIES = ("error", "skip")
GOALS = ("match", "cover")
SPLITS = ("each", "even", "proportional")
_COVERING = [cls.method for cls in SELECTORS if cls.method in METHODS and cls.__name__ in content_with(Coverage())]

_FILES = ("inputs", "target", "keep", "exclude_rows")
_IN_MEMORY = "; this reads files: write the rows to a Parquet file and pass its path"
_LISTS = (
    "target", "keep", "exclude_rows", "quota", "features", "exclude", "id", "categorical", "text", "cycles",
    "coordinates",
)  # fmt: skip


@storable
@dataclass(frozen=True)
class Options:
    """The arguments of `protosieve.select` that decide what is chosen; see there."""

    inputs: list[str]
    n_prototypes: int | str
    kernel: Kernel = dataclasses.field(default_factory=MultiScale)
    target: list[str] | None = None
    keep: list[str] = dataclasses.field(default_factory=list)
    exclude_rows: list[str] = dataclasses.field(default_factory=list)
    method: str = default.METHOD
    goal: str = default.GOAL
    features: list[str] | None = None
    exclude: list[str] = dataclasses.field(default_factory=list)
    id: list[str] = dataclasses.field(default_factory=list)
    label: str | None = None
    embedding: str | None = None
    categorical: list[str] = dataclasses.field(default_factory=list)
    scale: str = default.SCALE
    balance: str = default.BALANCE
    max_categories: int = default.MAX_CATEGORIES
    half_life: int | None = None  # rows of a stream
    day_first: bool = False
    cycles: list[str] = dataclasses.field(default_factory=list)
    sample: int | None = None  # None for one that follows from the number of prototypes
    random_state: int | None = default.RANDOM_STATE
    bad_rows: str = default.BAD_ROWS
    format: str | None = None
    delimiter: str | None = None  # of CSV files
    encoding: str | None = None
    decimal: str | None = None
    image_shape: str | None = None  # such as 28x28
    image: str | None = None
    text: list[str] = dataclasses.field(default_factory=list)
    embed: str | None = None  # the name of a model
    coordinates: list[str] | None = None  # two
    partition_rows: int = default.PARTITION_ROWS
    per: str | None = None  # a column, for each of whose values prototypes are chosen
    split: str = default.SPLIT
    quota: list[str] = dataclasses.field(default_factory=list)  # such as de=20:40, of values of that column

    def __post_init__(self) -> None:
        self._choice("method", METHODS)
        self._choice("goal", GOALS)
        if self.covers and self.method not in _COVERING:
            others = " or ".join(arg("method", name) for name in _COVERING)
            raise ParameterError(
                f"{arg('method', self.method)} chooses rows that match the data, and {arg('goal', 'cover')} asks for "
                f"rows that cover it; leave one of the two out, or use {others}"
            )
        self._choice("scale", SCALES)
        self._choice("balance", BALANCES)
        if self.balance != default.BALANCE and not (self.text or self.image):
            raise ParameterError(
                f"{arg('balance', self.balance)} is for columns of text or images, and none is named; name one with "
                f"{arg('text')} or {arg('image')}"
            )
        for cycle in self.cycles:
            if cycle not in CYCLES:
                raise ParameterError(f"{arg('cycles')} must be among {', '.join(CYCLES)}, got {cycle!r}")
        self._choice("bad_rows", POLICIES)
        whole_number(1).check("select", "max_categories", self.max_categories)
        if self.sample is not None:
            whole_number(10).check("select", "sample", self.sample)
        self._check_half_life()
        whole_number(1).check("select", "partition_rows", self.partition_rows)
        if self.random_state is not None:
            whole_number(0).check("select", "random_state", self.random_state)
        _share(self.n_prototypes)
        for name in ("label", "image", "per"):
            if not isinstance(getattr(self, name), str | None):
                others = f"; others can go to {arg('id')}" if name == "label" else ""
                raise ParameterError(f"{arg(name)} must be the name of one column, got {getattr(self, name)!r}{others}")
        self.csv  # noqa: B018  # it checks its values
        self._check_shown()
        self._check_aside()
        self._check_groups()
        if self.is_stream:
            self._check_stream()

    @property
    def csv(self) -> CsvForm:
        """How CSV files are written."""
        return CsvForm(self.delimiter, self.encoding, self.decimal)

    @property
    def is_stream(self) -> bool:
        """Whether rows come once: standard input, or tables one after the other."""
        return self.inputs in (["-"], [STREAM])

    @property
    def stream(self) -> str:
        """What to call it."""
        return "standard input" if self.inputs == ["-"] else STREAM

    @property
    def judges_rows(self) -> bool:
        """Whether the method judges rows one by one, and must see all of them."""
        return self.method != ProtoSwap.method

    @property
    def covers(self) -> bool:
        """Whether every row is to have a prototype near it; else prototypes match the mean of the rows."""
        return self.goal == "cover"

    @property
    def objective(self) -> dict[str, Coverage]:
        """The objective as an argument of the selector; none where that is the kernel mean."""
        if not self.covers:
            return {}
        given = self.sample
        return {"objective": Coverage(None if given is None else min(candidates_in(given), covering_for(sys.maxsize)))}

    @property
    def quotas(self) -> dict[str, tuple[int, int | None]]:
        """How many rows of a value are chosen at least, and at most.

        >>> Options(["rows.csv"], 100, per="language", quota=["de=20:40", "en=:50", "fr=10:", "it=5"]).quotas
        {'de': (20, 40), 'en': (0, 50), 'fr': (10, None), 'it': (5, 5)}
        """
        found: dict[str, tuple[int, int | None]] = {}
        for one in self.quota:
            value, is_there, bounds = one.rpartition("=")
            least, has_both, most = bounds.partition(":")
            parts = [part for part in (least, most) if part]
            if not (is_there and parts and all(part.isdecimal() for part in parts)):
                raise ParameterError(f"{arg('quota')} must be like de=20:40 (at least, at most), got {one!r}")
            low = int(least or 0)
            high = int(most) if most else (None if has_both else low)
            if value in found or (high is not None and high < low):
                again = "is given twice" if value in found else f"asks for at least {low} and at most {high}"
                raise ParameterError(f"{arg('quota', one)} {again}; give a value one quota, the smaller number first")
            found[value] = low, high
        return found

    def check_quotas(self, m: int) -> None:
        """`ParameterError` where quotas ask for more rows than the ``m`` that are to be chosen."""
        wanted, which = sum(low for low, _ in self.quotas.values()), f", {m:,} rows," if self.is_share else ""
        if wanted > m:
            raise ParameterError(
                f"{arg('quota')} asks for {wanted:,} rows at least, and {arg('n_prototypes', self.n_prototypes)}"
                f"{which} are to be chosen; give more, or smaller quotas"
            )

    @property
    def is_share(self) -> bool:
        """Whether prototypes are a share of the rows."""
        return _share(self.n_prototypes) is not None

    def count(self, rows: int | None) -> int:
        """The number of prototypes, of so many rows."""
        share = _share(self.n_prototypes)
        return int(self.n_prototypes) if share is None else max(1, round(share * (rows or 0)))

    def call(self) -> str:
        """The call of `protosieve.select` that does the same.

        >>> from protosieve.kernels import Gaussian
        >>> Options(["rows.csv"], "1%", kernel=Gaussian(2.0), id=["name"]).call()
        "protosieve.select(['rows.csv'], '1%', kernel=Gaussian(width=2.0), id=['name'])"
        """
        first, second, *others = dataclasses.fields(self)
        words = [_word(field.name, getattr(self, field.name)) for field in (first, second)]
        for field in others:
            value = getattr(self, field.name)
            words += [] if value == _default(field) else [f"{field.name}={_word(field.name, value)}"]
        return f"protosieve.select({', '.join(words)})"

    def difference(self, other: "Options") -> str | None:
        """The first argument in which they differ, in words."""
        for field in dataclasses.fields(self):
            mine, theirs = getattr(self, field.name), getattr(other, field.name)
            if mine != theirs:
                return f"{arg(field.name)} was {mine!r} and is {theirs!r} now"
        return None

    def _choice(self, name: str, known: Iterable[str]) -> None:
        if getattr(self, name) not in known:
            batch = f"; the batch methods are in Python: {_BATCH}" if name == "method" else ""
            raise ParameterError(f"{arg(name)} must be one of {', '.join(known)}, got {getattr(self, name)!r}{batch}")

    def _check_shown(self) -> None:
        if self.coordinates is not None and len(self.coordinates) != 2:
            raise ParameterError(
                f"{arg('coordinates')} must be the names of two columns, such as X,Y; got {self.coordinates!r}"
            )
        image_shape_of(self.image_shape)

    def _check_aside(self) -> None:
        for name in ("keep", "exclude_rows"):
            if "-" in getattr(self, name):
                raise ParameterError(f"{arg(name)} must be files, which standard input is not; got '-'")
            if getattr(self, name) and self.judges_rows:
                raise ParameterError(
                    f"{arg(name)} needs a method that chooses from a sample: {arg('method', ProtoSwap.method)}, and "
                    f"not {self.method}, which judges rows as they come"
                )

    def _check_groups(self) -> None:
        self._choice("split", SPLITS)
        if self.per is None:
            if self.quota:
                raise ParameterError(f"{arg('quota')} is of values of a column; name it with {arg('per')} too")
            if self.split != default.SPLIT:
                raise ParameterError(
                    f"{arg('split', self.split)} says how prototypes are split between the values of a column; name "
                    f"one with {arg('per')} too"
                )
            return
        if self.quota and not self.is_share:  # of a share it is seen when rows are counted
            self.check_quotas(self.count(None))
        if self.quotas and self.split != default.SPLIT:
            raise ParameterError(
                f"{arg('quota')} bounds the values of one choice of all rows, and {arg('split', self.split)} splits it "
                "between them; leave one of the two out"
            )
        if self.judges_rows:
            raise ParameterError(
                f"{arg('per', self.per)} needs {arg('method', default.METHOD)}: {arg('method', self.method)} judges "
                f"rows one by one, for one set of prototypes; leave one of the two out"
            )
        if self.is_stream:
            raise ParameterError(
                f"{arg('per', self.per)} reads rows twice, and {self.stream} comes once; store the rows in a file first"
            )

    def _check_half_life(self) -> None:
        if self.half_life is None:
            return
        whole_number(SHORTEST).check("select", "half_life", self.half_life)
        if not self.is_stream or self.target or self.judges_rows:
            wrong = "the target is that of files" if self.target else f"{self.method} keeps what it has chosen"
            raise ParameterError(
                f"{arg('half_life', self.half_life)} is for the recent past of a stream, such as standard input, and "
                f"{wrong if self.is_stream else 'stored rows have none'}; leave it out"
            )

    def _check_stream(self) -> None:
        if "-" in (self.target or []):
            raise ParameterError(
                f"{arg('target')} must be a file where standard input holds the rows to choose from, got '-'"
            )
        if self.is_share:
            raise ParameterError(
                f"{arg('n_prototypes', self.n_prototypes)} is a share, and {self.stream} does not tell of how many "
                f"rows; give a count, such as {arg('n_prototypes', 500)}"
            )


def options_of(given: Mapping[str, Any]) -> Options:
    """The arguments of `protosieve.select`, by their names, as options; those that decide no result are left out."""
    own = {field.name for field in dataclasses.fields(Options)} - {"inputs", "kernel", "image_shape", *_LISTS}
    embed = given.get("embed")
    named = {"embed": None if embed is None else model_named(embed), "quota": _as_quotas(given.get("quota"))}
    given = {**given, **named}
    lists: dict[str, Any] = {name: names(given[name], name) for name in _LISTS if given.get(name) is not None}
    shape = image_shape_of(given.get("image_shape"))
    return Options(
        inputs=names(given["inputs"], "inputs"),
        kernel=kernel_of(given.get("kernel", default.KERNEL), given.get("width")),
        image_shape=None if shape is None else "x".join(map(str, shape)),
        **lists,
        **{name: given[name] for name in own.intersection(given)},
    )


def _as_quotas(given: Any) -> Any:
    """As the command line has them, of a value and one number or two; None bounds nothing."""
    if not isinstance(given, Mapping):
        return given
    bounds = {value: one if isinstance(one, tuple | list) else (one,) for value, one in given.items()}
    return [f"{value}={':'.join('' if part is None else str(part) for part in both)}" for value, both in bounds.items()]


def names(given: Any, name: str) -> list[str]:
    """One name or several."""
    if given is None:
        return []
    found = list(given) if isinstance(given, Sequence) and not isinstance(given, str) else [given]
    if not all(isinstance(one, str | os.PathLike) for one in found):
        remedy = _IN_MEMORY if name in _FILES and not isinstance(given, numbers.Number) else ""
        raise ParameterError(f"{arg(name)} must be a name or a list of names, got {brief(given)}{remedy}")
    return [os.fspath(one) for one in found]


def kernel_of(kernel: Any, width: Any) -> Kernel:
    """A kernel by name and width, or the one that was given."""
    if not isinstance(kernel, str):
        if width is not None:
            raise ParameterError(f"{arg('width', width)} is for a kernel given by name; {kernel!r} has its own")
        return as_kernel(kernel)
    if kernel not in KERNELS:
        raise ParameterError(f"{arg('kernel')} must be one of {', '.join(KERNELS)} or a kernel object, got {kernel!r}")
    made: Callable[..., Kernel] = KERNELS[kernel]
    if width is None:
        return made()
    if "width" not in signature(made).parameters:
        raise ParameterError(f"{arg('width', width)} was given, and the {kernel} kernel has no width; leave it out")
    return made(width=width)


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
        f'{arg("n_prototypes")} must be a whole number of at least 1, or a share of the rows such as "1%"; got {m!r}'
    )


def _word(name: str, value: Any) -> str:
    """In a call: tables that were given in memory are called by the name of the argument."""
    in_memory = name in _FILES and value and all(re.fullmatch(rf"{name}(\[\d+\]| \(a stream\))?", one) for one in value)
    return name if in_memory else repr(value)


def _default(field: "dataclasses.Field[Any]") -> Any:
    made = field.default_factory
    return field.default if made is dataclasses.MISSING else made()
