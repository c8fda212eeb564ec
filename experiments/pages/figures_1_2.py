"""Figures 1 and 2: accuracy of 1-NN, seconds per threshold and labels of the prototypes, on MNIST and on Letters."""

from collections.abc import Iterator
from statistics import mean, stdev

from matplotlib.figure import Figure

from experiments._labels import label_shares, labels_for, total_variation
from experiments._page import Page, Table, figure
from experiments._scale import Data, Scale
from experiments._style import BASE, STYLES
from experiments._task import Result, Results, Task
from experiments.measures.choose import METHODS, RANDOM, chosen, classified, counted, shuffled

SAVED = {  # 1-NN accuracy at full m, per cent, in the results that the first author published with his code
    "mnist": {"ProtoDash": 87.6, "MMD-critic": 87.4, "Streak": 86.5, "ProtoStream": 86.2, RANDOM: 85.8},
    "letters": {"ProtoDash": 72.2, "MMD-critic": 72.1, "Streak": 68.3, "ProtoStream": 68.9},
}
SAVED_SECONDS = {  # per threshold at full m, from the same place
    "mnist": {"ProtoBasic": 4.4, "ProtoDash": 222, "ProtoStream": 44, "Streak": 3235},
    "letters": {"ProtoBasic": 1.2, "ProtoDash": 114, "ProtoStream": 59, "Streak": 3403},
}
NUMBERS = {"mnist": 1, "letters": 2}
STREAMS = ("ProtoStream", "Streak")
SOME = 2
POINTS = 1.5  # accuracies as close as this are the same
FAR = 5.0  # and as far apart as this, clearly not

INTRODUCTION = """
Figures 1 and 2 of the paper show, for MNIST and for Letters: on the left the accuracy on the test set of a classifier
that knows the prototypes only and gives each row the label of the nearest one (1-NN), of the m heaviest prototypes of
the run at full m; in the centre the seconds per threshold; on the right how the labels of the prototypes are
distributed, against those of the base set.

Here they are with all methods. MMD-critic's weights are equal: its m first are taken. Of random rows, which have the
best weights, the mean of all draws is shown, and on the left their range. Seconds are of runs made at each m, in one
thread and without the mean, divided by the number of thresholds; a method without thresholds counts as one. Published
figures are those that the first author keeps with his code: the paper prints curves only. His seconds are of his
machine: compare ratios. Total variation is the share of the prototypes that would have to change their label to be
distributed as the base set is; "labels for 90 %" is how many labels make up nine tenths of the prototypes.
"""


def tasks(scale: Scale) -> list[Task]:
    sizes = [(data, m) for data in scale.both for m in data.sizes]
    named = [chosen(data, method, m) for data, m in sizes for method in METHODS]
    random = [task for data, m in sizes for task in _random(scale, data, m)]
    return named + random + [counted(data) for data in scale.both] + [
        shuffled(data, method, data.sizes[-1], seed)
        for data in scale.both for method in STREAMS for seed in range(scale.shuffles)
    ]  # fmt: skip


def _random(scale: Scale, data: Data, m: int) -> list[Task]:
    """All draws at full m, some of them below."""
    return [classified(data, m, seed) for seed in range(scale.draws if m == data.sizes[-1] else SOME)]


def page(results: Results, scale: Scale) -> Page:
    """Both figures, and what they say."""
    made = Page("figures-1-2", "Figures 1 and 2", "Accuracy of 1-NN, seconds per threshold, labels of the prototypes.")
    made.text(INTRODUCTION)
    for data in scale.both:
        shown = _Shown(results, data, scale)
        name = f"figure-{NUMBERS[data.name]}"
        made.text(f"## Figure {NUMBERS[data.name]}: {data.title}")
        made.figure(name, _draw(shown), f"{data.title}: accuracy against m, seconds per threshold against m, labels.")
        made.table(f"{name}-full", shown.at_full_size())
        made.table(f"{name}-accuracy", shown.accuracies(), shown=False)
        made.table(f"{name}-runs", shown.runs(), shown=False)
        made.table(f"{name}-labels", shown.labels(), shown=False)
        _judge_accuracy(made, shown)
        _tell_of_small_runs(made, shown)
        _judge_seconds(made, shown)
        _judge_labels(made, shown)
    return made


class _Shown:
    """What the figure of one data set shows."""

    def __init__(self, results: Results, data: Data, scale: Scale) -> None:
        self.data, self.scale, self.m, self._results = data, scale, data.sizes[-1], results
        base = results[counted(data)]
        self.names, self.base = base["names"], base["shares"]

    def of(self, method: str, m: int | None = None) -> list[Result]:
        """The run of a method at m, or all draws of random rows."""
        m = m or self.m
        if method == RANDOM:
            return [self._results[task] for task in _random(self.scale, self.data, m)]
        return [self._results[chosen(self.data, method, m)]]

    def orders(self, method: str) -> list[Result]:
        """The runs of a method in other orders of the stream."""
        return [self._results[shuffled(self.data, method, self.m, seed)] for seed in range(self.scale.shuffles)]

    def curve(self, method: str) -> list[float]:
        """Accuracy, per cent, with the heaviest prototypes of the run at full m."""
        return [100 * mean(column) for column in zip(*(run["accuracies"] for run in self.of(method)), strict=True)]

    def accuracy(self, method: str, m: int | None = None) -> float:
        """Per cent, with all prototypes of the run at m."""
        return 100 * mean(run["accuracies"][-1] for run in self.of(method, m))

    def shares(self, method: str) -> list[float]:
        """Of each label among the prototypes."""
        runs = self.of(method)
        return label_shares([label for run in runs for label in run["labels"]], self.names)

    def per_threshold(self, method: str, m: int) -> float:
        """Seconds, without the mean."""
        (run,) = self.of(method, m)
        return (run["seconds"] - run["mean_seconds"]) / run["thresholds"]

    def variation(self, method: str) -> float:
        """Total variation from the base set's labels; of random rows the mean of the draws."""
        return mean(total_variation(label_shares(run["labels"], self.names), self.base) for run in self.of(method))

    def spread(self, method: str) -> list[float]:
        """Accuracies of other orders of the stream, or of the draws."""
        runs = self.of(method) if method == RANDOM else self.orders(method) if method in STREAMS else []
        return [100 * run["accuracies"][-1] for run in runs]

    def at_full_size(self) -> Table:
        columns = ["method", "published accuracy %", "ours", "difference", "other orders or draws, mean", "deviation"]
        columns += ["published s per threshold", "our s", "total variation", "labels for 90 %"]
        return Table(columns, [self._full_row(method) for method in STYLES])

    def _full_row(self, method: str) -> list[object]:
        saved, ours, others = SAVED[self.data.name].get(method), self.accuracy(method), self.spread(method)
        against = ["", ours, ""] if saved is None else [saved, ours, ours - saved]
        spread = [mean(others), stdev(others)] if others else ["", ""]
        seconds = "" if method == RANDOM else self.per_threshold(method, self.m)
        times = [SAVED_SECONDS[self.data.name].get(method, ""), seconds]
        return [method, *against, *spread, *times, self.variation(method), labels_for(self.shares(method))]

    def accuracies(self) -> Table:
        sizes = self.of("ProtoBasic")[0]["prefixes"]
        curves = [self.curve(method) for method in STYLES]
        return Table(["m largest weights", *STYLES], [list(row) for row in zip(sizes, *curves, strict=True)])

    def runs(self) -> Table:
        columns = ["method", "m", "accuracy %", "rows kept", "seconds", "thresholds", "seconds per threshold"]
        return Table(columns, [[method, m, *self._run_row(method, m)] for method in STYLES for m in self.data.sizes])

    def _run_row(self, method: str, m: int) -> Iterator[object]:
        run = self.of(method, m)[0]
        yield from (self.accuracy(method, m), len(run["indices"]))
        seconds = "" if method == RANDOM else self.per_threshold(method, m)
        yield from ["", "", ""] if method == RANDOM else [seconds * run["thresholds"], run["thresholds"], seconds]

    def labels(self) -> Table:
        shares = [self.shares(method) for method in STYLES]
        rows = zip(self.names, self.base, *shares, strict=True)
        return Table(["label", "base set", *STYLES], [list(row) for row in rows])


def _draw(shown: _Shown) -> Figure:
    drawn_on, axes = figure(3)
    left, centre, right = axes[0]
    _draw_accuracy(left, shown)
    for method in METHODS:
        seconds = [shown.per_threshold(method, m) for m in shown.data.sizes]
        centre.plot(shown.data.sizes, seconds, **_look(method))
    centre.set(xlabel="m", ylabel="seconds per threshold", yscale="log")
    places = range(len(shown.names))
    right.bar(places, [100 * share for share in shown.base], label="base set", **BASE)
    for i, method in enumerate(STYLES):
        beside = [place + (i - len(STYLES) // 2) / (len(STYLES) + 2) for place in places]
        right.plot(beside, [100 * share for share in shown.shares(method)], **{**_look(method), "linestyle": ""})
    right.set(xticks=list(places), xticklabels=shown.names, xlabel="label", ylabel="share of the prototypes, %")
    right.tick_params(axis="x", labelsize=7)
    handles = [*left.get_lines(), *right.containers]
    drawn_on.legend(handles=handles, loc="outside lower center", ncols=8, frameon=False)
    return drawn_on


def _draw_accuracy(axes, shown: _Shown) -> None:
    sizes = shown.of("ProtoBasic")[0]["prefixes"]
    draws = [run["accuracies"] for run in shown.of(RANDOM)]
    low, high = ([100 * pick(column) for column in zip(*draws, strict=True)] for pick in (min, max))
    axes.fill_between(sizes, low, high, color=STYLES[RANDOM]["color"], alpha=0.25, linewidth=0)
    for method in STYLES:
        axes.plot(sizes, shown.curve(method), **_look(method))
    axes.set(xlabel="m", ylabel="accuracy of 1-NN, %")


def _look(method: str) -> dict:
    return {"label": method, "markersize": 3.5, "linewidth": 1, **STYLES[method]}


def _judge_accuracy(made: Page, shown: _Shown) -> None:
    title = shown.data.title
    offs = {method: shown.accuracy(method) - saved for method, saved in SAVED[shown.data.name].items()}
    made.claim(
        f"{title}: accuracy at m = {shown.m} is within {POINTS} points of the first author's",
        holds=max(map(abs, offs.values())) <= POINTS,
        seen="; ".join(f"{method} {off:+.1f}" for method, off in offs.items()) + ". " + _orders_told(shown),
    )
    gaps = [abs(x - y) for x, y in zip(*map(shown.curve, STREAMS), strict=True)]
    made.claim(
        f"{title}: Streak and ProtoStream are very similar in accuracy across m",
        holds=mean(gaps) <= POINTS,
        seen=f"They differ by {mean(gaps):.1f} points on average over m, at most by {max(gaps):.1f}, "
        f"by {gaps[-1]:.1f} at full m.",
    )
    gap = shown.accuracy("ProtoStream") - shown.accuracy("ProtoBasic")
    best = max(STYLES, key=shown.accuracy)
    made.claim(
        f"{title}: ProtoBasic is significantly worse",
        holds=gap >= FAR,
        seen=f"{shown.accuracy('ProtoBasic'):.1f} against ProtoStream's {shown.accuracy('ProtoStream'):.1f} and random "
        f"rows' {shown.accuracy(RANDOM):.1f}; the best is {best} with {shown.accuracy(best):.1f}.",
    )


def _tell_of_small_runs(made: Page, shown: _Shown) -> None:
    """Whether the heaviest of a large run stand for a small one, at the smallest m where both are known."""
    sizes = shown.of("ProtoBasic")[0]["prefixes"]
    common = [m for m in shown.data.sizes[:-1] if m in sizes]
    if not common:
        return
    m, methods = common[0], [method for method in METHODS if method != "ProtoBasic"]
    pairs = {method: (shown.accuracy(method, m), shown.curve(method)[sizes.index(m)]) for method in methods}
    gained = mean(asked - heaviest for asked, heaviest in pairs.values())
    told = ", ".join(f"{method} {asked:.1f} instead of {heaviest:.1f}" for method, (asked, heaviest) in pairs.items())
    made.text(
        f"The heaviest of a large run are not what a small run chooses. Asked for m = {m} at once, accuracies are: "
        f"{told}; on average {abs(gained):.1f} points {'more' if gained > 0 else 'less'}."
    )


def _judge_seconds(made: Page, shown: _Shown) -> None:
    times = [[shown.per_threshold(method, m) for method in STREAMS] for m in shown.data.sizes]
    ratios = [streak / stream for stream, streak in times]
    saved, first = SAVED_SECONDS[shown.data.name], shown.data.sizes[0]
    made.claim(
        f"{shown.data.title}: per threshold, too, ProtoStream is orders of magnitude faster than Streak",
        holds=True if ratios[-1] >= 10**1.5 else f"faster, {ratios[-1]:.1f} times" if ratios[-1] > 1 else False,
        seen=f"Ours, from m = {first} to {shown.m}: {', '.join(f'{ratio:.1f}' for ratio in ratios)} times; published "
        f"at full m: {saved['Streak'] / saved['ProtoStream']:.0f} times. [Table 1](table-1.md) has the reason.",
    )


def _orders_told(shown: _Shown) -> str:
    """How far chance alone moves the accuracy."""
    told = [f"{name} {min(found):.1f} to {max(found):.1f}" for name in STREAMS for found in [shown.spread(name)]]
    random = shown.spread(RANDOM)
    return (
        f"Chance alone moves these: in {shown.scale.shuffles} other orders of the stream {', '.join(told)}; "
        f"{len(random)} draws of random rows {min(random):.1f} to {max(random):.1f}."
    )


def _judge_labels(made: Page, shown: _Shown) -> None:
    title, needed = shown.data.title, labels_for(shown.base)
    few = labels_for(shown.shares("ProtoBasic"))
    made.claim(
        f"{title}: ProtoBasic selects just a few labels",
        holds=few <= needed / 2,
        seen=f"{few} of {len(shown.names)} labels make up 90 % of its prototypes (base set: {needed}); "
        f"total variation from the base set {shown.variation('ProtoBasic'):.2f}.",
    )
    told = ", ".join(f"{method} {shown.variation(method):.2f}" for method in (*STREAMS, RANDOM))
    made.claim(
        f"{title}: Streak and ProtoStream reasonably recover the labels of the base set",
        holds=all(shown.variation(method) < shown.variation("ProtoBasic") / 3 for method in STREAMS),
        seen=f"Total variation from the base set: {told}.",
    )
