"""The result: prototypes, their weights, and how good they are."""

from collections.abc import Mapping
from dataclasses import dataclass, field
from types import MappingProxyType
from typing import Any

import numpy as np
from numpy.typing import NDArray

from protosieve._typing import Array, Float64
from protosieve.kernels import Kernel

__all__ = ["Certificate", "Prototypes", "Trace"]


@dataclass(frozen=True)
class Certificate:
    """How far a selection is from the best any selection could be, with no unknown constant in it.

    No weights on any number of rows give more than ``upper_bound = |mu|^2 / 2``. Where the mean is that of a sample of
    ``sample`` rows, all of this holds for the sample, and for the target as far as the sample is like it.
    """

    value: float
    upper_bound: float
    sample: int | None = None

    @property
    def ratio(self) -> float:
        """``value / upper_bound``, at most 1: the share of what the kernel sees that the prototypes carry."""
        return min(self.value / self.upper_bound, 1.0) if self.upper_bound > 0 else 1.0

    @property
    def residual(self) -> float:
        """``1 - ratio``: the squared MMD that is left, as a share of ``|mu|^2``."""
        return 1.0 - self.ratio

    def __str__(self) -> str:
        target = "the target" if self.sample is None else f"a sample of {self.sample:,} rows of the target"
        return (
            f"the prototypes carry {100 * self.ratio:.4g} % of what the kernel sees of {target} "
            f"(l = {self.value:.6g} of at most {self.upper_bound:.6g})"
        )


@dataclass(frozen=True, eq=False)
class Trace:
    """The objective along the stream: ``objective[i]`` after ``rows_seen[i]`` rows.

    At most some 256 points however long the stream. ProtoBasic, which solves no weights on the way, has the last only.
    """

    rows_seen: NDArray[np.int64]
    objective: Float64

    def __len__(self) -> int:
        return len(self.rows_seen)


@dataclass(frozen=True, eq=False)
class Prototypes:
    """The rows that were kept, the largest weight first. A frozen value: it does not follow the stream.

    Attributes
    ----------
    indices : array of int
        Row numbers in the whole stream, from 0.
    rows : array of shape (n_kept, d)
        The rows themselves.
    weights : array of float64
        Zero or more; how much of the target each prototype stands for.
    objective, residual, mmd : float
        ``l``; relative squared MMD, ``1 - l / (|mu|^2 / 2)``; and MMD. Compare residuals, not objectives: ``l`` differs
        in the fourth digit where the residual differs tenfold.
    certificate : Certificate
        The value against the bound of every possible selection.
    trace : Trace
        The objective along the stream.
    kernel : Kernel, or None
        With its width as a number; ``None``, and MMD is NaN, where the objective is not the kernel mean.
    selector, parameters, n_seen, random_state, version
        How it was made.
    intercept : float
        The constant beside the weighted rows, where the objective has one.
    evaluations : int, or None
        Calls of a `SetFunction`, the result's own included.
    feature_names : tuple of str, or None
        The columns, where the input had names.
    shares : array of float64, or None
        How much of the target is nearest to each prototype, where that was counted: in runs over files.
    table : pyarrow.Table, or None
        The prototypes as they stand in their files, with all columns, beside ``row``, ``file``, ``weight`` and
        ``share``; ``table.to_pandas()`` makes it a DataFrame.
    encoding : Encoding, or None
        How the columns of files became the numbers in ``rows``; ``encoding.encode(frame)`` does it to new rows.
    provenance : mapping, or None
        Command, version, parameters, files and figures of a run over files, as they are written to its output.
    """

    indices: NDArray[np.int64]
    rows: Array
    weights: Float64
    objective: float
    residual: float
    mmd: float
    certificate: Certificate
    trace: Trace = field(repr=False)
    kernel: Kernel | None
    selector: str
    parameters: Mapping[str, Any] = field(repr=False)
    n_seen: int
    random_state: object
    version: str
    intercept: float = 0.0
    evaluations: int | None = None
    feature_names: tuple[str, ...] | None = None
    shares: Float64 | None = field(default=None, repr=False)
    table: Any = field(default=None, repr=False)
    encoding: Any = field(default=None, repr=False)
    provenance: Mapping[str, Any] | None = field(default=None, repr=False)

    def __post_init__(self) -> None:
        object.__setattr__(self, "parameters", MappingProxyType(dict(self.parameters)))
        for array in (self.indices, self.rows, self.weights, self.trace.rows_seen, self.trace.objective):
            array.flags.writeable = False

    def __getstate__(self) -> dict[str, Any]:
        return {**vars(self), "parameters": dict(self.parameters)}

    def __setstate__(self, state: dict[str, Any]) -> None:
        vars(self).update(state)
        self.__post_init__()

    def __len__(self) -> int:
        return len(self.indices)

    def __repr__(self) -> str:
        by = f"mmd={self.mmd:.4g}, kernel={self.kernel!r}" if self.kernel else f"objective={self.objective:.4g}"
        return f"Prototypes({len(self)} of {self.n_seen:,} rows by {self.selector}, residual={self.residual:.4g}, {by})"
