"""``result.plot``: the pictures of a result."""

from typing import TYPE_CHECKING, Any

import numpy as np
from numpy.typing import NDArray

from protosieve.errors import InputError
from protosieve.insight import (
    ResultWithData,
    View,
    cards_of,
    curve_of,
    feature_matches,
    labels_of,
    map_of,
    stream_of,
)
from protosieve.plots._canvas import axes_for, grid_for
from protosieve.plots._cards import draw_cards
from protosieve.plots._charts import (
    draw_curve,
    draw_feature,
    draw_labels,
    draw_map,
    draw_spread,
    draw_stream,
    draw_weights,
)
from protosieve.result import Prototypes
from protosieve.selectors import whole_number

if TYPE_CHECKING:
    from matplotlib.axes import Axes


class Plots:
    """Pictures of a result, drawn with matplotlib, with the numbers that `Prototypes.report` has.

    Each method draws on the axes it is given, else on a new figure, and returns the axes. Nothing else of matplotlib's
    is touched: no setting, no style, no other figure. Names and texts that come from data are shown as they are.

    ``data`` is always the same: the rows the prototypes represent, as an array, DataFrame, Arrow table or dict of
    columns, or as files. A run over files keeps a sample of them, and needs none; at most 8,192 rows are looked at.
    ``label`` names a column of the data, or has one label per row of ``data``.

    Examples
    --------
    >>> from sklearn.datasets import load_digits
    >>> from protosieve import ProtoSwap
    >>> X, digit = load_digits(return_X_y=True)
    >>> result = ProtoSwap(n_prototypes=12, random_state=0).fit(X).result_
    >>> axes = result.plot.prototypes(X, label=digit, image_shape=(8, 8))
    >>> len(axes)
    12
    """

    def __init__(self, result: Prototypes) -> None:
        self._result = result

    def __repr__(self) -> str:
        return f"Plots of {self._result!r}"

    def prototypes(
        self,
        data: Any = None,
        *,
        n: int = 24,
        image_shape: Any = None,
        image: str | None = None,
        text: str | None = None,
        label: Any = None,
        columns: int | None = None,
        axes: Any = None,
    ) -> NDArray[np.object_]:
        """The ``n`` heaviest prototypes as cards, each with its label, or row number, and its weight.

        A card shows a picture where rows are images of ``image_shape``, such as (28, 28), or where ``image`` names a
        column of them; the column ``text``; else the features by which it differs most from the average of the data,
        with their values and, as bars, by how many standard deviations. ``columns`` is the number of cards in a line.
        Where ``axes`` are given, as many cards are drawn as there are axes.

        Returns an array of axes. O(n d), and of ``data`` O(8,192 d).

        >>> from sklearn.datasets import load_wine
        >>> from protosieve import ProtoSwap
        >>> wine = load_wine(as_frame=True)
        >>> result = ProtoSwap(n_prototypes=6, random_state=0).fit(wine.data).result_
        >>> print(result.plot.prototypes(wine.data, n=1)[0].get_title())  # doctest: +ELLIPSIS
        row ...
        weight 0...
        """
        most = _most(n, axes)
        view = View(label=label, image_shape=image_shape, image=image, text=text)
        cards, _ = cards_of(self._subject(data, view), n=most)
        return draw_cards(cards, columns, axes)

    def weights(self, data: Any = None, *, ax: "Axes | None" = None) -> "Axes":
        """All weights, the largest first, and where it is known, what share of the data is nearest to each prototype.

        It is known of runs over files, and from ``data``, in O(8,192 m d). Where a prototype has a larger share than
        weight, others near it stand for the same rows.

        >>> from sklearn.datasets import load_iris
        >>> from protosieve import ProtoSwap
        >>> X = load_iris().data
        >>> result = ProtoSwap(n_prototypes=10, random_state=0).fit(X).result_
        >>> ax = result.plot.weights(X)
        >>> [bar.get_height() for bar in ax.patches] == result.weights.tolist()
        True
        """
        shares = self._subject(data).shares
        return draw_weights(self._result.weights, shares, axes_for(ax))

    def map(self, data: Any = None, *, label: Any = None, coordinates: Any = None, ax: "Axes | None" = None) -> "Axes":
        """Data as dots and prototypes as circles, whose area is their weight, in colours of the labels.

        The plane is that of the two largest principal components, in which near need not be near; or that of
        ``coordinates``, two names of columns or an array with a line per row of ``data``, such as a UMAP of your own.
        O(2,000 d + d^3).

        >>> from sklearn.datasets import load_iris
        >>> from protosieve import ProtoSwap
        >>> X, kind = load_iris(return_X_y=True)
        >>> result = ProtoSwap(n_prototypes=10, random_state=0).fit(X).result_
        >>> ax = result.plot.map(X, label=kind, coordinates=X[:, 2:])
        >>> ax.set_xlabel("petal length"), ax.set_ylabel("petal width")  # doctest: +ELLIPSIS
        (Text(...), Text(...))
        """
        subject = self._with_rows("map", data, View(label=label, coordinates=coordinates))
        chart = map_of(subject)
        if chart is None:
            raise InputError("there is no map: all rows of the data are the same, or hold no coordinates")
        return draw_map(chart, self._result.weights, subject.prototypes.labels, axes_for(ax, 4.6))

    def coverage(self, data: Any = None, *, label: Any = None, ax: "Axes | None" = None) -> "Axes":
        """How often each label is in the data, beside the weight of the prototypes that have it.

        Behind a bar stands how many these are. Without labels: how the data spreads over the prototypes, each row
        counted with the one it is nearest to. O(8,192 m d).

        >>> from sklearn.datasets import load_iris
        >>> from protosieve import ProtoSwap
        >>> X, kind = load_iris(return_X_y=True)
        >>> result = ProtoSwap(n_prototypes=10, random_state=0).fit(X).result_
        >>> ax = result.plot.coverage(X, label=kind)
        >>> [tick.get_text() for tick in ax.get_yticklabels()]
        ['0', '1', '2']
        """
        subject = self._subject(data, View(label=label))
        labels = labels_of(subject)
        if labels is not None:
            return draw_labels(labels, axes_for(ax, 1.6 + 0.32 * len(labels.values)))
        if subject.shares is None:
            raise self._without_rows("coverage")
        return draw_spread(subject.shares, axes_for(ax))

    def features(self, data: Any = None, *, n: int = 8, axes: Any = None) -> NDArray[np.object_]:
        """The ``n`` features in which data and weighted prototypes differ most, the worst first.

        Numbers: a dot at the median, a thick line over the half in the middle, a thin one over nine tenths.
        Categories: the shares of their values. They differ by the largest difference of the two distribution
        functions, or of the shares of any set of values. O(8,192 d log(8,192)).

        >>> from sklearn.datasets import load_wine
        >>> from protosieve import ProtoSwap
        >>> wine = load_wine(as_frame=True).data
        >>> result = ProtoSwap(n_prototypes=20, random_state=0).fit(wine).result_
        >>> len(result.plot.features(wine, n=3))
        3
        """
        most = _most(n, axes)
        found = feature_matches(self._with_rows("features", data))
        if found is None:
            raise InputError("there are no features to compare: the rows are embeddings")
        items = found.items[:most]
        grid = grid_for(axes, len(items), 4, (3.2, 1.9))
        for item, ax in zip(items, grid, strict=True):
            draw_feature(item, ax)
        return grid

    def residual_curve(self, data: Any = None, *, ax: "Axes | None" = None) -> "Axes":
        """What one prototype leaves at its best weight, what two leave, and so on, beside as many random rows.

        If it is flat at the right, fewer prototypes would have done. Most results need no ``data`` for it; random rows
        are known of runs over files, and from ``data``. O(min(m, 500)^3 + m^2 d).

        >>> from sklearn.datasets import load_iris
        >>> from protosieve import ProtoSwap
        >>> result = ProtoSwap(n_prototypes=10, random_state=0).fit(load_iris().data).result_
        >>> result.plot.residual_curve().get_yscale()
        'log'
        """
        curve = curve_of(self._subject(data))
        if isinstance(curve, str):
            raise InputError(f"there is no curve: {curve[:1].lower()}{curve[1:]}")
        return draw_curve(curve, axes_for(ax))

    def stream(self, *, ax: "Axes | None" = None) -> "Axes":
        """The residual along the stream, and at the right axis how many rows had been taken in and exchanged.

        The residual is measured against the whole target throughout; without one, where rows came by `partial_fit`
        or a pipe, against the rows seen by then. O(1).

        >>> from sklearn.datasets import load_digits
        >>> from protosieve import ProtoSwap
        >>> result = ProtoSwap(n_prototypes=20, candidates="all", random_state=0).fit(load_digits().data).result_
        >>> ax = result.plot.stream()
        >>> ax.get_xlabel(), ax.get_ylabel()
        ('rows seen', 'residual')
        """
        along = stream_of(self._result)
        if along is None:
            raise InputError(
                "there is no stream to draw: the residual is known at its end alone (batch methods, ProtoBasic, "
                'ProtoSwap unless candidates="all", short streams), or not at all (objectives without a bound)'
            )
        return draw_stream(along, axes_for(ax))

    def _subject(self, data: Any, view: View | None = None) -> ResultWithData:
        return ResultWithData.of(self._result, self._result.sample_of(data), view)

    def _with_rows(self, name: str, data: Any, view: View | None = None) -> ResultWithData:
        """Result and data, where there are rows of the data, and a kernel to compare them by."""
        subject = self._subject(data, view)
        if self._result.kernel is None or subject.sample is None:
            raise self._without_rows(name)
        return subject

    def _without_rows(self, name: str) -> InputError:
        if self._result.kernel is None:
            return InputError(f"{name} compares rows by a kernel; these were chosen by another objective, without one")
        return InputError(f"{name} needs the rows: result.plot.{name}(data=X)")


def _most(n: Any, axes: Any) -> int:
    """``n``, or fewer if there are fewer axes."""
    whole_number(1).check("result.plot", "n", n)
    return int(n) if axes is None else min(int(n), np.size(axes))
