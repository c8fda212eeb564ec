"""The result: prototypes, their weights, and how good they are."""

import os
from collections.abc import Mapping
from dataclasses import dataclass, field
from types import MappingProxyType
from typing import TYPE_CHECKING, Any

import numpy as np
from numpy.typing import NDArray

from protosieve import _html
from protosieve._doors import library, opened
from protosieve._typing import Array, Float64
from protosieve.errors import InputError
from protosieve.kernels import Kernel
from protosieve.result._cells import arrow_values
from protosieve.result._certificate import Certificate
from protosieve.result._origin import OURS, DataSample, Origin, free_name
from protosieve.result._trace import Trace

if TYPE_CHECKING:
    from protosieve.plots import Plots

_SHOWN, _COLUMNS = 10, 6  # rows, and columns of the user's, in a notebook


@dataclass(frozen=True, eq=False)
class Prototypes:
    """The rows that were kept, the largest weight first. A frozen value: it does not follow the stream.

    Attributes
    ----------
    indices : array of int
        Row numbers in the whole stream, from 0. Rows that were chosen before (``keep``) come last; row i of these is
        number -1 - i.
    rows : array of shape (n_kept, d)
        The rows themselves.
    weights : array of float64
        Zero or more; how much of the target each prototype stands for. Of either sign where the objective is signed.
        Of prototypes that cover the target, the share of it that is nearest to each.
    certificate : Certificate
        The value against the bound of every possible selection.
    objective, residual, mmd : float
        The certificate's: ``l``; relative squared MMD, ``1 - l / (|mu|^2 / 2)``; and MMD. Compare residuals, not
        objectives: ``l`` differs in the fourth digit where the residual differs tenfold.
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
    source : Origin, or None
        What only runs of `protosieve.select` know: None where a selector was fitted.
    covers : bool
        Whether they were chosen to cover the target; then ``objective`` is the mean similarity of a row to its nearest
        prototype, and MMD is NaN.
    is_new : array of bool
        Which rows were chosen now; False for those that were chosen before.
    shares, table, encoding, provenance, sample
        Those of the ``source``; None without one.
    """

    indices: NDArray[np.int64]
    rows: Array
    weights: Float64
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
    source: Origin | None = field(default=None, repr=False)

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
        """Write one HTML page about the prototypes that needs no other file.

        Parameters
        ----------
        path : path
            Where to; it ends in ``.html``. Written completely or not at all.
        data : array, DataFrame, pyarrow Table or dict of columns; or path or paths of files; optional
            The rows the prototypes stand for. At most 8,192 of them, drawn at random, are used; files are read once.
            By default the sample that a run over files keeps; without that, the page omits what needs data.
        label : str or sequence, optional
            A column, or one label per row of ``data``.
        image_shape : tuple or str, optional
            Rows are images: height and width, perhaps channels, such as ``(28, 28)`` or ``"32x32x3"``.
        image, text : str, optional
            Columns to show: of images (paths, bytes, base64, or dicts of ``bytes`` and ``path``), and of text.
        coordinates : two str, or array of shape (n, 2), optional
            Columns for the map, or a place for each row of ``data``; by default the first two principal components.
        title : str, optional

        Notes
        -----
        Where ``data`` holds the rows the prototypes were chosen from, in their order, the prototypes have its labels
        and other columns, too. It takes a second or less for 500 prototypes, plus the time to read files and images.
        """
        opened("report").check_report(path)
        view = {"label": label, "image_shape": image_shape, "image": image, "text": text, "coordinates": coordinates}
        opened("report").write_report(self, path, self.sample_of(data), title=title, **view)

    def save(
        self, path: str | os.PathLike[str], *, output_format: str | None = None, label_column: str | None = None
    ) -> None:
        """Write the prototypes with all of their columns, as `protosieve.select` writes them to ``output``.

        Parameters
        ----------
        path : path
            Its ending names the format. Written completely or not at all.
        output_format : "label-studio", optional
            Tasks for Label Studio, in a .json file.
        label_column : str, optional
            In .csv or .tsv, an empty last column of this name, to be filled in by hand.
        """
        if self.table is None:
            raise InputError(
                "these prototypes have no table: they were chosen from an array. Choose from files with "
                "protosieve.select, or write their arrays, for example with numpy.savez(path, rows=result.rows)"
            )
        files = opened("result.files")
        place = files.Destination.of(path, output_format, label_column)
        files.write_result(self, place)

    def sample_of(self, data: Any) -> Any:
        """Where ``data`` is paths, a `DataSample` of the rows of these files, encoded as ours are; else ``data``."""
        paths = [data] if isinstance(data, str | os.PathLike) else data
        if not (isinstance(paths, list | tuple) and paths and all(isinstance(p, str | os.PathLike) for p in paths)):
            return data
        return opened("run").draw_sample(self, [os.fspath(path) for path in paths])

    def __post_init__(self) -> None:
        object.__setattr__(self, "parameters", MappingProxyType(dict(self.parameters)))
        for array in (self.indices, self.rows, self.weights, *vars(self.trace).values()):
            if array is not None:
                array.flags.writeable = False

    @classmethod
    def read(cls, path: str | os.PathLike[str]) -> "Prototypes":
        """The result in a file that `protosieve.select` wrote: .parquet or .arrow.

        Rows are encoded again from their columns, but those with images or embedded texts are in the file. There is no
        ``sample``, ``parameters`` are few, and ``kernel`` is None where it was a function of your own. `InputError` for
        a file that is no such result.

        >>> import tempfile
        >>> import numpy as np
        >>> import protosieve
        >>> folder = tempfile.mkdtemp()
        >>> np.save(folder + "/x.npy", np.random.default_rng(0).normal(size=(500, 3)))
        >>> result = protosieve.select(folder + "/x.npy", 5, output=folder + "/chosen.parquet")
        >>> protosieve.Prototypes.read(folder + "/chosen.parquet").residual == result.residual
        True
        """
        found: Prototypes = opened("result.files").read_prototypes(path)
        return found

    @property
    def objective(self) -> float:
        """The value ``l`` of the selection."""
        return self.certificate.value

    @property
    def residual(self) -> float:
        """The share of the target that the prototypes do not carry; see `Certificate.residual`."""
        return self.certificate.residual

    @property
    def mmd(self) -> float:
        """The MMD between the prototypes and the target; see `Certificate.mmd`."""
        return self.certificate.mmd

    @property
    def covers(self) -> bool:
        """Whether they were chosen so that every row has one near it (`Coverage`), not to match the kernel mean."""
        return self.kernel is not None and self.certificate.whole is not None

    @property
    def is_new(self) -> NDArray[np.bool_]:
        """Which rows were chosen now, and not before."""
        return np.asarray(self.indices >= 0)

    @property
    def shares(self) -> Float64 | None:
        """How much of the target is nearest to each prototype; see `Origin`."""
        return None if self.source is None else self.source.shares

    @property
    def table(self) -> Any:
        """The prototypes as they stand in their files; see `Origin`."""
        return None if self.source is None else self.source.table

    @property
    def encoding(self) -> Any:
        """How columns became numbers; see `Origin`."""
        return None if self.source is None else self.source.encoding

    @property
    def provenance(self) -> Mapping[str, Any] | None:
        """How a run over files was made; see `Origin`."""
        return None if self.source is None else self.source.provenance

    @property
    def sample(self) -> DataSample | None:
        """Some of the rows the prototypes represent; see `Origin`."""
        return None if self.source is None else self.source.sample

    def to_pandas(self) -> Any:
        """The prototypes as a ``pandas.DataFrame``, one row each; see `to_arrow`.

        Where they were chosen from a DataFrame with an index of its own, they have that index.

        >>> import numpy as np
        >>> from protosieve import ProtoSwap
        >>> X = np.random.default_rng(0).normal(size=(300, 2))
        >>> frame = ProtoSwap(3, random_state=0).fit(X).result_.to_pandas()
        >>> frame.columns.tolist(), np.array_equal(frame[["x0", "x1"]], X[frame["row"]])
        (['row', 'weight', 'x0', 'x1'], True)
        """
        pandas = library("pandas", "to_pandas")
        frame = pandas.DataFrame(self._cells()) if self.table is None else self.table.to_pandas()
        index = (self.provenance or {}).get("index")
        return frame.set_index(index) if index else frame

    def to_arrow(self) -> Any:
        """The prototypes as a ``pyarrow.Table``: row number and weight first, then the rows' own columns.

        Of a run of `protosieve.select` it is the ``table``; else the columns are the features.
        """
        return self.table if self.table is not None else library("pyarrow", "to_arrow").table(self._cells())

    def to_polars(self) -> Any:
        """The prototypes as a ``polars.DataFrame``; see `to_arrow`."""
        polars = library("polars", "to_polars")
        return polars.DataFrame(self._cells()) if self.table is None else polars.from_arrow(self.table)

    def _cells(self) -> dict[str, Array]:
        """The columns of a result without a table, as copies: ours first, and features under free names."""
        cells: dict[str, Array] = {"row": self.indices.copy(), "weight": self.weights.copy()}
        for name, column in zip(self.feature_names or self._numbered(), self.rows.T, strict=True):
            cells[free_name(name, cells)] = column.copy()  # as in a run's table
        return cells

    def _numbered(self) -> list[str]:
        return [f"x{i}" for i in range(self.rows.shape[1])]

    def __getstate__(self) -> dict[str, Any]:
        return {**vars(self), "parameters": dict(self.parameters)}

    def __setstate__(self, state: dict[str, Any]) -> None:
        vars(self).update(state)
        self.__post_init__()

    def __len__(self) -> int:
        return len(self.indices)

    def __repr__(self) -> str:
        by = f"objective={self.objective:.4g}" if self.certificate.whole else f"mmd={self.mmd:.4g}"
        by += f", kernel={self.kernel!r}" if self.kernel else ""
        return f"Prototypes({len(self)} of {self.n_seen:,} rows by {self.selector}, residual={self.residual:.4g}, {by})"

    @property
    def plot(self) -> "Plots":
        """Pictures for a notebook: `prototypes`, `weights`, `map`, `coverage`, `features`, `residual_curve`, `stream`.

        With matplotlib: ``pip install 'protosieve[plot]'``.
        """
        drawn: Plots = opened("plots").Plots(self)
        return drawn

    def _repr_html_(self) -> str:
        """The prototypes of largest weight, for a notebook."""
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
        names = self.feature_names or self._numbered()
        return columns + [
            (name, [f"{x:.4g}" for x in self.rows[:_SHOWN, i]]) for i, name in enumerate(names[:_COLUMNS])
        ]
