"""The result: prototypes, their weights, and how good they are."""

import math
import os
from collections.abc import Mapping
from dataclasses import dataclass, field
from types import MappingProxyType
from typing import TYPE_CHECKING, Any

import numpy as np
from numpy.typing import NDArray
from scipy.special import ndtri

from protosieve import _html
from protosieve._cells import arrow_values
from protosieve._typing import Array, Float64
from protosieve.errors import ParameterError, arg
from protosieve.kernels import Kernel
from protosieve.means import Judge, SamplingError

if TYPE_CHECKING:
    from protosieve.plots import Plots

__all__ = ["OURS", "Certificate", "DataSample", "Prototypes", "Trace"]

OURS = ("row", "file", "weight", "share")  # the first columns of a result's table, before the user's own

_SHOWN, _COLUMNS = 10, 6  # rows, and columns of the user's, in a notebook


@dataclass(frozen=True)
class Certificate:
    """How far a selection is from the best any selection could be, with no unknown constant in it.

    No weights on any number of rows give more than ``upper_bound = |mu|^2 / 2``. Where the mean rests on a sample of
    ``sample`` rows, value and bound are estimates for *all* rows, made by rows that had no part in the choice.
    `standard_error` and `mmd_bound` say how far they may be off; where the mean is exact, None and the MMD.

    With another objective than the kernel mean the bound is what no choice of rows exceeds there: for regressions all
    that is left to explain. Where nobody knows one, for a `SetFunction`, it is NaN, and so are ratio and residual.
    """

    value: float
    upper_bound: float
    sampling: SamplingError | None = field(default=None, repr=False)
    whole: str | None = field(default=None, repr=False)  # of what objective other than the kernel mean the bound is

    @classmethod
    def by(cls, judge: Judge, prototypes: Array, weights: Float64) -> "Certificate":
        """That of weighted prototypes, judged by a sample."""
        value = judge.value(prototypes, weights)
        return cls(value, judge.norm / 2, judge.error(prototypes, weights, value))

    @property
    def sample(self) -> int | None:
        """Rows of the sample that judged; None where the mean is exact."""
        return None if self.sampling is None else self.sampling.rows

    @property
    def ratio(self) -> float:
        """``value / upper_bound``, at most 1: the share of what the kernel sees that the prototypes carry."""
        if math.isnan(self.upper_bound):
            return math.nan
        if not self.upper_bound > 0:
            return 1.0 if self.sampling is None else math.nan
        return min(self.value / self.upper_bound, 1.0)

    @property
    def residual(self) -> float:
        """``1 - ratio``: the squared MMD that is left, as a share of ``|mu|^2``."""
        return 1.0 - self.ratio

    @property
    def mmd(self) -> float:
        """The MMD between the prototypes and the target; NaN for other objectives."""
        if self.whole is not None:
            return math.nan
        return math.sqrt(max(0.0, 2 * (self.upper_bound - self.value)))

    @property
    def standard_error(self) -> float | None:
        """Of the residual, where a sample was judged by; None without one."""
        return None if self.sampling is None else self.sampling.standard_error

    def mmd_bound(self, level: float = 0.95) -> float:
        """The MMD between the prototypes and the target is at most this, in a share ``level`` of samples.

        The bound is that of large samples: with fewer than some 100 rows, or a kernel that a few far rows dominate,
        take it with a grain of salt. Where the mean is exact, the MMD itself.
        """
        if not 0 < level < 1:
            raise ParameterError(f"{arg('level')} must be between 0 and 1, such as 0.95; got {level!r}")
        if self.sampling is None:
            return self.mmd
        if math.isinf(self.sampling.of_squared_mmd):
            return math.inf
        return math.sqrt(self.mmd**2 + max(0.0, float(ndtri(level))) * self.sampling.of_squared_mmd)

    def __str__(self) -> str:
        if math.isnan(self.upper_bound):
            return f"the prototypes are worth {self.value:.6g}; no bound is known to hold that against"
        whole = self.whole or "what the kernel sees of the target"
        carried = (
            f"the prototypes carry {100 * self.ratio:.4g} % of {whole} "
            f"(l = {self.value:.6g} of at most {self.upper_bound:.6g})"
        )
        if self.sampling is None:
            return carried
        return (
            f"{carried}; their MMD to all rows is {self.mmd:.3g}, estimated by {self.sampling.rows:,} of them, "
            f"and with 95 % confidence at most {self.mmd_bound():.3g}"
        )


@dataclass(frozen=True, eq=False)
class Trace:
    """The objective along the stream: ``objective[i]`` after ``rows_seen[i]`` rows.

    By then ``accepted[i]`` rows had been taken into a set, and ``exchanged[i]`` members had given way to others. Either
    is None where a selector does not count it: only `ProtoSwap` exchanges, and ProtoBasic and the batch methods count
    nothing. What is exchanged when a result is asked for is not of the stream, and not counted.

    ``bound[i]`` is what no selection exceeds by the mean that judged then, so ``1 - objective / bound`` is the residual
    along the stream: of a target that is known from the start one number, else that of the rows seen so far. None
    where a file of an earlier version does not say.

    At most some 256 points however long the stream. ProtoBasic, and `ProtoSwap` unless it judges all rows as they come,
    solve no weights on the way and have the last only.
    """

    rows_seen: NDArray[np.int64]
    objective: Float64
    accepted: NDArray[np.int64] | None = None
    exchanged: NDArray[np.int64] | None = None
    bound: Float64 | None = None

    def __len__(self) -> int:
        return len(self.rows_seen)


@dataclass(frozen=True, eq=False)
class DataSample:
    """A uniform random sample of the rows that prototypes represent, to look at beside them.

    Attributes
    ----------
    indices : array of int
        Row numbers, rising: in the target where there is one, else in the input.
    rows : array of shape (n, d)
        The rows as numbers, encoded as those of the prototypes are.
    table : pyarrow.Table, or None
        The rows as they stand in their files, with all columns under the users' own names.
    n_rows : int
        How many rows it is a sample of.
    is_target : bool
        Whether these are rows of a target rather than of the input.
    folders : tuple of str
        Those of the files it was drawn from, where a caller named these.
    """

    indices: NDArray[np.int64]
    rows: Array
    table: Any
    n_rows: int
    is_target: bool
    folders: tuple[str, ...] = ()

    def __post_init__(self) -> None:
        for array in (self.indices, self.rows):
            array.flags.writeable = False

    def __len__(self) -> int:
        return len(self.indices)

    def __repr__(self) -> str:
        return f"DataSample({len(self):,} of {self.n_rows:,} rows of the {'target' if self.is_target else 'input'})"


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
        Zero or more; how much of the target each prototype stands for. Of either sign where the objective is signed.
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
        The columns, where the input had names; where rows are features these are the samples.
    shares : array of float64, or None
        How much of the target is nearest to each prototype, where that was counted: in runs over files.
    table : pyarrow.Table, or None
        The prototypes as they stand in their files, with all columns, beside ``row``, ``file``, ``weight`` and
        ``share``; ``table.to_pandas()`` makes it a DataFrame.
    encoding : Encoding, or None
        How the columns of files became the numbers in ``rows``; ``encoding.encode(frame)`` does it to new rows.
    provenance : mapping, or None
        Command, version, parameters, files and figures of a run over files, as they are written to its output.
    sample : DataSample, or None
        Some of the rows the prototypes represent, drawn at random, with all of their columns: of runs over files.
    folders : tuple of str
        Those of the files that the run was given, and the working folder: a report may show pictures that lie there.
        Empty in a result that was read from a file, whose word on folders is not taken.
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
    sample: DataSample | None = field(default=None, repr=False)
    folders: tuple[str, ...] = field(default=(), repr=False)

    def report(
        self,
        path: str | os.PathLike[str],
        data: Any = None,
        *,
        label: Any = None,
        image_shape: Any = None,
        image: str | None = None,
        text: str | None = None,
        coordinates: Any = None,
        title: str | None = None,
    ) -> None:
        """Write one HTML page about the prototypes, that needs nothing else to be looked at.

        Parameters
        ----------
        path : path
            Where to; it ends in ``.html``. Written whole or not at all.
        data : array, DataFrame, pyarrow Table or dict of columns; or path or paths of files; optional
            The rows the prototypes stand for. At most 8,192 of them, drawn at random, are looked at; of files in one
            pass. Without it, the sample that a run over files keeps; without that, what needs data is left out.
        label : str or sequence, optional
            A column, or one label per row of ``data``.
        image_shape : tuple or str, optional
            Rows are images: height and width, perhaps channels, such as ``(28, 28)`` or ``"32x32x3"``.
        image, text : str, optional
            Columns to be shown: of images (paths, bytes, base64, or dicts of ``bytes`` and ``path``), and of text.
        coordinates : two str, or array of shape (n, 2), optional
            Columns for the map, or a place for each row of ``data``; by default the first two principal components.
        title : str, optional

        Notes
        -----
        Where ``data`` holds the very rows the prototypes were chosen from, in their order, these have its labels and
        other columns, too. A second or less for 500 prototypes, and what reading files and images costs.
        """
        from protosieve.report import check_report, write_report

        check_report(path)
        view = {"label": label, "image_shape": image_shape, "image": image, "text": text, "coordinates": coordinates}
        write_report(self, path, self._looked_at(data), title=title, **view)

    def _looked_at(self, data: Any) -> Any:
        """Of files a sample; what is in memory as it is."""
        paths = [data] if isinstance(data, str | os.PathLike) else data
        if not (isinstance(paths, list | tuple) and paths and all(isinstance(p, str | os.PathLike) for p in paths)):
            return data
        from protosieve.run import draw_sample

        return draw_sample(self, [os.fspath(path) for path in paths])

    def __post_init__(self) -> None:
        object.__setattr__(self, "parameters", MappingProxyType(dict(self.parameters)))
        for array in (self.indices, self.rows, self.weights, *vars(self.trace).values()):
            if array is not None:
                array.flags.writeable = False

    @classmethod
    def read(cls, path: str | os.PathLike[str]) -> "Prototypes":
        """The result in a file that `protosieve.select` wrote: .parquet or .arrow.

        Rows are encoded again from their columns. There is no ``sample``, no `mean` nor the like in ``parameters``, and
        no ``kernel`` where that was a function of your own. `InputError` for a file that is no such result.

        >>> import tempfile
        >>> import numpy as np
        >>> import protosieve
        >>> folder = tempfile.mkdtemp()
        >>> np.save(folder + "/x.npy", np.random.default_rng(0).normal(size=(500, 3)))
        >>> result = protosieve.select(folder + "/x.npy", 5, output=folder + "/chosen.parquet")
        >>> protosieve.Prototypes.read(folder + "/chosen.parquet").residual == result.residual
        True
        """
        from protosieve.run import read_prototypes  # files are read with pyarrow, which not all have

        return read_prototypes(path)

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

    @property
    def plot(self) -> "Plots":
        """Pictures for a notebook: `prototypes`, `weights`, `map`, `coverage`, `features`, `residual_curve`, `stream`.

        With matplotlib: ``pip install 'protosieve[plot]'``.
        """
        from protosieve.plots import Plots

        return Plots(self)

    def _repr_html_(self) -> str:
        """The heaviest, for a notebook."""
        more = [_html.note(f"and {len(self) - _SHOWN:,} more")] if len(self) > _SHOWN else []
        made = {"How good": self.certificate, "Kernel": self.kernel, "Version": self.version, **self.parameters}
        return _html.table(repr(self), self._columns(), [*more, _html.details("How it was made", made)])

    def _columns(self) -> list[tuple[str, list[object]]]:
        """Row numbers, weights and shares as bars, and the first columns of the rows as their source has them."""
        largest = float(np.abs(self.weights).max(initial=0.0)) or 1.0
        columns: list[tuple[str, list[object]]] = [
            ("row", [f"{i:,}" for i in self.indices[:_SHOWN]]),
            ("weight", [_html.Bar(abs(w) / largest, f"{w:#.3g}") for w in self.weights[:_SHOWN]]),
        ]
        if self.shares is not None:
            columns += [("share", [_html.Bar(share, f"{100 * share:.1f} %") for share in self.shares[:_SHOWN]])]
        if self.table is not None:
            theirs = [name for name in self.table.column_names if name not in OURS or name == "file"]
            return columns + [(name, arrow_values(self.table.column(name)[:_SHOWN])) for name in theirs[:_COLUMNS]]
        names = self.feature_names or [f"x{i}" for i in range(self.rows.shape[1])]
        return columns + [
            (name, [f"{x:.4g}" for x in self.rows[:_SHOWN, i]]) for i, name in enumerate(names[:_COLUMNS])
        ]
