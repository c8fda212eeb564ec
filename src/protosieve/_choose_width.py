"""The width of a kernel by cross-validation: the one whose prototypes classify other rows best."""

import warnings
from collections.abc import Iterable
from dataclasses import dataclass, replace
from typing import Any

import numpy as np
from sklearn.base import clone
from sklearn.metrics import pairwise_distances_argmin
from sklearn.model_selection import StratifiedKFold

from protosieve import _html
from protosieve._typing import Array, Indices
from protosieve.errors import InputError, ParameterError, ProtosieveWarning, arg
from protosieve.kernels import KERNELS, Kernel
from protosieve.selectors import ProtoSwap, Selector, as_rows, generator, whole_number

_GRID = tuple(2 ** (step / 2) for step in range(-6, 3))  # of the median: an eighth to twice, in factors of sqrt 2


@dataclass(frozen=True)
class WidthChoice:
    """What `choose_width` found; print it for a table.

    Attributes
    ----------
    width : float
        The chosen one.
    widths, accuracy, spread : tuples of floats
        Every width tried, the narrowest first; the mean, over the folds, of the accuracy with it; and its standard
        deviation over the folds.
    median : float
        What the median rule would have taken.
    title : str
        What was done, in a line.
    kernel : Kernel
        The selector's, with the chosen width.
    """

    width: float
    widths: tuple[float, ...]
    accuracy: tuple[float, ...]
    spread: tuple[float, ...]
    median: float
    title: str
    kernel: Kernel

    def __str__(self) -> str:
        lines = [f"{'width':>9}  accuracy  spread"]
        for width, accuracy, spread in zip(self.widths, self.accuracy, self.spread, strict=True):
            mark = "  <- chosen" if width == self.width else ""
            lines.append(f"{width:9.4g}  {accuracy:8.4f}  {spread:6.4f}{mark}")
        return "\n".join([self.title, *lines, *self._notes()])

    def _repr_html_(self) -> str:
        """The table, for a notebook."""
        columns: list[tuple[str, list[object]]] = [
            ("width", [f"{width:.4g}" for width in self.widths]),
            ("accuracy", [_html.Bar(accuracy, f"{accuracy:.4f}") for accuracy in self.accuracy]),
            ("spread", [f"{spread:.4f}" for spread in self.spread]),
            ("", ["chosen" if width == self.width else "" for width in self.widths]),
        ]
        return _html.table(self.title, columns, [_html.note(sentence) for sentence in self._notes()])

    def _notes(self) -> list[str]:
        ends = (self.widths[0], self.widths[-1]) if len(self.widths) > 1 else ()
        more = ["the chosen width is at the end of the grid: try wider ones, or narrower"] if self.width in ends else []
        return [f"the median rule: {self.median:.4g}", *more]


def choose_width(
    X: Any,
    y: Any,
    n_prototypes: int | None = None,
    *,
    widths: Iterable[Any] | None = None,
    folds: int = 5,
    selector: Selector | None = None,
    random_state: Any = 0,
) -> WidthChoice:
    """Choose the width of a kernel by cross-validated accuracy of the prototypes.

    Residuals of different widths cannot be compared: a wide kernel sees little, so little is left over. Labels make
    widths comparable. For each width and each of several folds, prototypes are selected from the other folds and each
    row of the fold gets the label of the prototype nearest to it; the width with the best mean accuracy is chosen, and
    of equal ones the widest, which says as much with a smoother kernel. The selector never sees labels.

    The default kernel, `MultiScale`, has several widths; the one chosen is the largest of them.

    Accuracy is often flat over a factor of two or more. Look at ``spread`` before you trust a difference, and widen the
    grid where the chosen width is at its end.

    Parameters
    ----------
    X : array or DataFrame of shape (n, d)
    y : array of shape (n,)
        The class of each row.
    n_prototypes : int, optional
        Rows to select; by default the selector's own, 10 for the default one. The best width depends on it: more
        prototypes can tell finer detail.
    widths : list of positive numbers, optional
        What to try; ``"median"`` stands for the median rule's. By default the median times 1/8 to 2, in factors of
        sqrt(2).
    folds : int, default 5
        At least 2. Every class has as many rows or more, and is dealt to all folds evenly; rows keep their order.
    selector : selector, default ProtoSwap()
        Run on clones, its kernel (`MultiScale`, `Gaussian` or `Laplacian`) with each width in turn.
    random_state : int, NumPy generator or None, default 0
        Seed of the folds, of the median rule, and of the selector where it has none.

    Returns
    -------
    WidthChoice

    Notes
    -----
    ``folds * len(widths)`` times the cost of a ``fit`` on ``n (1 - 1 / folds)`` rows, and O(n m d) per width to judge:
    with the defaults 45 fits. On many rows, choose on some thousand of them.

    References
    ----------
    Streaming Methods for Restricted Strongly Convex Functions with Applications to Prototype Selection, section 6: "a
    Gaussian kernel [...] whose width is found through cross-validation".

    Examples
    --------
    >>> from sklearn.datasets import load_digits
    >>> from protosieve import ProtoSwap, choose_width
    >>> from protosieve.kernels import Gaussian
    >>> X, digit = load_digits(return_X_y=True)
    >>> found = choose_width(X, digit, widths=[5, 20, 80], selector=ProtoSwap(50, kernel=Gaussian()))
    >>> found.kernel
    Gaussian(width=20.0)
    >>> selector = ProtoSwap(50, kernel=found.kernel, random_state=0).fit(X)
    """
    whole_number(2).check("choose_width", "folds", folds)
    seeds = generator(random_state)
    split, seed = StratifiedKFold(folds, shuffle=True, random_state=_whole(seeds)), _whole(seeds)
    rows = as_rows(X, "X")
    labels = _labels(y, folds, len(rows))
    base = _base(selector, n_prototypes, seed)
    kernel = _with_width(base._kernel())
    median = float(replace(kernel, width="median").resolve(rows, np.random.default_rng(seed)).width)
    tried = _grid(kernel, widths, median)
    scores = np.array(
        [
            [
                _accuracy(clone(base).set_params(kernel=replace(kernel, width=width)), rows, labels, train, held)
                for train, held in split.split(rows, labels)
            ]
            for width in tried
        ]
    )
    mean, spread = scores.mean(axis=1), scores.std(axis=1)
    best = max(range(len(tried)), key=lambda i: (mean[i], tried[i]))
    how = f"{type(base).__name__}, {type(kernel).__name__}"
    title = f"accuracy of the nearest of {base.n_prototypes} prototypes ({how}), {folds} folds"
    return WidthChoice(
        width=tried[best],
        widths=tried,
        accuracy=tuple(mean.tolist()),
        spread=tuple(spread.tolist()),
        median=median,
        title=title,
        kernel=replace(kernel, width=tried[best]),
    )


def _accuracy(selector: Selector, rows: Array, labels: Indices, train: Indices, held: Indices) -> float:
    """The share of held-out rows with the same label as their nearest prototype."""
    with warnings.catch_warnings():
        warnings.simplefilter("ignore", ProtosieveWarning)  # too few kept, with too wide a kernel: the accuracy tells
        result = selector.fit(rows[train]).result_
    nearest = pairwise_distances_argmin(rows[held], result.rows)
    return float(np.mean(labels[train][result.indices][nearest] == labels[held]))


def _labels(y: Any, folds: int, n_rows: int) -> Indices:
    """Classes as numbers."""
    if y is None:
        raise InputError("choose_width: y is None; it judges by labels, so give one for each row")
    given = np.asarray(y)
    if given.ndim != 1:
        raise InputError(f"y has the shape {given.shape}; give one label for each row")
    if len(given) != n_rows:
        raise InputError(f"X has {n_rows} rows and y has {len(given)} labels; give one for each row")
    missing = np.flatnonzero([label is None or label != label for label in given.tolist()])
    if len(missing):
        raise InputError(f"y: row {missing[0]} has no label ({given[missing[0]]}); leave such rows out")
    try:
        classes, numbers, counts = np.unique(given, return_inverse=True, return_counts=True)
    except TypeError as error:
        raise InputError(f"y mixes labels that cannot be sorted ({error}); make all of them text") from error
    if given.dtype.kind == "f" and 2 * len(classes) > n_rows:
        raise InputError(
            f"y has {len(classes)} different numbers for {n_rows} rows: it looks continuous, and classes are needed"
        )
    if len(counts) and counts.min() < folds:
        rare = classes[counts.argmin()]
        raise InputError(
            f"y: class {rare} has {counts.min()} rows, fewer than folds={folds}; use fewer folds or leave it out"
        )
    if len(counts) < 2:
        raise InputError(f"y has {len(counts)} classes; accuracy tells widths apart where there are two or more")
    return numbers


def _base(selector: Selector | None, m: int | None, seed: int) -> Selector:
    """The selector to clone, with ``n_prototypes`` and seed set."""
    if not (selector is None or isinstance(selector, Selector)):
        raise ParameterError(
            f"choose_width: {arg('selector')} must be a selector, such as ProtoStream(50), got {selector!r}"
        )
    base = ProtoSwap() if selector is None else clone(selector)
    if m is not None:
        whole_number(1).check("choose_width", "n_prototypes", m)
        base.set_params(n_prototypes=int(m))
    return base if base.random_state is not None else base.set_params(random_state=seed)


def _with_width(kernel: Kernel) -> Any:
    """The kernel; `ParameterError` if it has no width."""
    if not hasattr(kernel, "width"):
        *others, last = [cls.__name__ for cls in KERNELS.values() if hasattr(cls, "width")]
        raise ParameterError(
            f"choose_width: {arg('selector')} has the kernel {kernel!r}, which has no width; "
            f"leave it out, or use {', '.join(others)} or {last}"
        )
    return kernel


def _grid(kernel: Any, widths: Iterable[Any] | None, median: float) -> tuple[float, ...]:
    """All widths to try, ascending and each once."""
    if widths is None:
        return tuple(median * factor for factor in _GRID)
    if isinstance(widths, str) or not isinstance(widths, Iterable):
        raise ParameterError(f"choose_width: {arg('widths')} must be a list of positive numbers, got {widths!r}")
    wanted = [replace(kernel, width=width).width for width in widths]  # which refuses what is no width
    if not wanted:
        raise ParameterError(f"choose_width: {arg('widths')} is empty; name some, or leave it out")
    return tuple(sorted({median if width == "median" else float(width) for width in wanted}))


def _whole(rng: np.random.Generator) -> int:
    return int(rng.integers(2**31))
