"""What we learnt: the residual against the order of the stream."""

from statistics import mean

from matplotlib.figure import Figure

from experiments._page import Page, Table, figure
from experiments._scale import Data, Scale
from experiments._style import STYLES, look
from experiments._task import Results, Task
from experiments.measures.choose import RANDOM, chosen, drawn, shuffled
from experiments.measures.order import SORTED, ordered

STREAMS = ("ProtoStream", "Streak", "ProtoSwap")
ORDERS = ("file", "shuffled", *SORTED)
SAME = 1.25  # residuals that differ by less than this factor are alike

INTRODUCTION = """
The guarantees of the paper hold in any order of the stream; what one pass leaves over need not be the same. The paper
streams its rows as they lie in the files. Here the same rows come in that order, in {shuffles} random orders (their
mean, and their range as a bar), sorted by label, and sorted by mean similarity to all rows, the least typical or the
most typical first. The mean is exact, so only the order differs. Batch ProtoDash, which sees all rows at once, and
random rows with the best weights are the lines to compare with.
"""
CLOSING = """
A set that only takes in is filled by what came first, as long as that looked useful; when the head of the stream is
unlike the rest, places are gone. ProtoSwap gives them back, and looks once more at a sample of the stream.
"""


def tasks(scale: Scale) -> list[Task]:
    found = []
    for data in scale.both:
        m = _size(data)
        found += [chosen(data, method, m) for method in (*STREAMS, "ProtoDash")]
        found += [drawn(data, m, seed) for seed in range(scale.draws)]
        found += [shuffled(data, method, m, seed) for method in STREAMS for seed in range(scale.shuffles)]
        found += [ordered(data, method, m, order) for method in STREAMS for order in SORTED]
    return found


def page(results: Results, scale: Scale) -> Page:
    """The figure, a table for each data set, and what they say."""
    made = Page("orders", "The order of the stream", "One pass over sorted streams, against shuffled ones.")
    both = [_Seen(results, data, scale) for data in scale.both]
    made.text(INTRODUCTION.format(shuffles=scale.shuffles))
    made.figure("orders", _draw(both), "Residual in several orders of the stream; lower is better, logarithmic.")
    for seen in both:
        made.text(f"## {seen.data.title}, m = {seen.m}")
        made.table(f"orders-{seen.data}", seen.table())
        _judge(made, seen)
    made.text(CLOSING)
    return made


def _size(data: Data) -> int:
    return data.sizes[len(data.sizes) // 2]


class _Seen:
    """Residuals on one data set."""

    def __init__(self, results: Results, data: Data, scale: Scale) -> None:
        self.data, self.m, self._results, self._scale = data, _size(data), results, scale
        self.batch = results[chosen(data, "ProtoDash", self.m)]["residual"]
        self.random = mean(results[drawn(data, self.m, seed)]["residual"] for seed in range(scale.draws))

    def runs(self, method: str, order: str) -> list[float]:
        """Residuals of a method in an order; several where it is random."""
        if order == "file":
            found = [chosen(self.data, method, self.m)]
        elif order == "shuffled":
            found = [shuffled(self.data, method, self.m, seed) for seed in range(self._scale.shuffles)]
        else:
            found = [ordered(self.data, method, self.m, order)]
        return [self._results[task]["residual"] for task in found]

    def of(self, method: str, order: str) -> float:
        return mean(self.runs(method, order))

    def worst(self, method: str) -> tuple[str, float]:
        """The order a method does worst in, and how many times its residual in random orders it leaves there."""
        order = max(ORDERS, key=lambda order: self.of(method, order))
        return order, self.of(method, order) / self.of(method, "shuffled")

    def table(self) -> Table:
        columns = ["order", *STREAMS, *(f"{method} / ProtoDash" for method in STREAMS)]
        rows = []
        for order in ORDERS:
            found = [self.of(method, order) for method in STREAMS]
            rows.append([order, *found, *(value / self.batch for value in found)])
        return Table(columns, rows)


def _draw(both: list[_Seen]) -> Figure:
    drawn_on, axes = figure(len(both))
    for on, seen in zip(axes[0], both, strict=True):
        for shift, method in enumerate(STREAMS, start=-1):
            runs = [seen.runs(method, order) for order in ORDERS]
            middle = [mean(found) for found in runs]
            reach = [
                [y - min(r) for y, r in zip(middle, runs, strict=True)],
                [max(r) - y for y, r in zip(middle, runs, strict=True)],
            ]
            places = [place + shift / 8 for place in range(len(ORDERS))]
            on.errorbar(places, middle, yerr=reach, **{**look(method), "linestyle": "", "markersize": 5})
        for name, value in (("ProtoDash", seen.batch), (RANDOM, seen.random)):
            on.axhline(value, label=name, color=STYLES[name]["color"], linestyle=STYLES[name]["linestyle"], linewidth=1)
        on.set(ylabel="residual", yscale="log", title=f"{seen.data.title}, m = {seen.m}")
        on.set_xticks(range(len(ORDERS)), [order.replace(" mu", "\nmu") for order in ORDERS], fontsize=8)
    drawn_on.legend(*axes[0][0].get_legend_handles_labels(), loc="outside lower center", ncols=5, frameon=False)
    return drawn_on


def _judge(made: Page, seen: _Seen) -> None:
    for method in STREAMS:
        order, times = seen.worst(method)
        beaten = [order for order in ORDERS if seen.of(method, order) > seen.random]
        made.claim(
            f"{seen.data.title}: {method} does as well in any order of the stream",
            holds=times <= SAME,
            seen=f"Worst is {order}: {times:.2f} times the residual of a random order, "
            f"{seen.of(method, order) / seen.batch:.2f} times that of batch ProtoDash. "
            + (f"As many random rows do better in {len(beaten)} of {len(ORDERS)} orders ({', '.join(beaten)})."
               if beaten else "Random rows do better in none."),
        )  # fmt: skip
