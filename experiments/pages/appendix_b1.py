"""Appendix B.1: do the prototypes of Letters span fonts and strokes?"""

from collections.abc import Callable
from math import log
from statistics import mean

from matplotlib.figure import Figure

from experiments._labels import label_shares, total_variation
from experiments._page import Page, Table, figure
from experiments._scale import Scale
from experiments._style import BASE, STYLES
from experiments._task import Result, Results, Task
from experiments.measures.choose import METHODS, RANDOM, chosen, drawn
from experiments.measures.groups import clustered, dealt

GROUPS = {20: "fonts", 5: "strokes"}
ORDERS = {"numbers": "by number", "ranks": "by size"}
WHOLE = "all base rows"
EVEN = 0.1  # a total variation from even as small as this is quite equitable
MUCH = 2.0  # times

INTRODUCTION = """
The letters come in 20 fonts and 5 stroke styles, but nobody noted which row is which. The paper clusters the rows of
each letter by k-means into 20 groups, then into 5, assigns each prototype to the nearest centre (here: of its own
letter), and shows the share of prototypes per group; beside it the same with groups formed at random. "The more uniform
the distribution the better."

How group 3 of one letter is added to group 3 of another is not said. **By number**, groups are added as k-means
happens to number them: the likely reading, but numbers are arbitrary, so that a sum over 26 letters evens out anything.
**By size**, the groups of each letter are ordered by how many base rows they have, the largest first: then an uneven
choice cannot hide. And we count the **cells touched**: pairs of a letter and a group that have a prototype at all.

Unevenness is the total variation from even shares: the share of prototypes that would have to move to another group for
all groups to have as many; 0 is even. (Normalised entropies are in the CSV files.) Random groups and random rows are
means over several draws.
"""


def tasks(scale: Scale) -> list[Task]:
    m = scale.letters.sizes[-1]
    selections = [chosen(scale.letters, method, m) for method in METHODS]
    random = [drawn(scale.letters, m, seed) for seed in range(scale.draws)]
    return selections + random + [task for groups in GROUPS for task in _groupings(scale, groups)]


def page(results: Results, scale: Scale) -> Page:
    """Both figures, both tables, and what they say."""
    made = Page("appendix-b1", "Appendix B.1: fonts and strokes", "Prototypes of Letters over groups of each letter.")
    made.text(INTRODUCTION)
    shown = [_Shown(results, scale, groups) for groups in GROUPS]
    for reading, words in (("numbers", "by number, as in the paper"), ("ranks", "by size, the largest group first")):
        made.figure(
            f"appendix-b1-{reading}",
            _draw(shown, reading),
            f"ProtoStream's prototypes over the groups, {words}: k-means on the left, random groups on the right.",
        )
    for one in shown:
        made.text(f"## {one.groups} groups ({GROUPS[one.groups]})")
        made.table(f"appendix-b1-{one.groups}", one.table())
        made.table(f"appendix-b1-{one.groups}-entropies", one.entropies(), shown=False)
        made.table(f"appendix-b1-{one.groups}-shares", one.all_shares(), shown=False)
    made.text("## What it shows")
    _judge_evenness(made, shown)
    _judge_contrast(made, shown)
    _judge_cells(made, shown)
    return made


def _groupings(scale: Scale, groups: int) -> list[Task]:
    """k-means first, then random groups."""
    return [clustered(scale.letters, groups), *(dealt(scale.letters, groups, seed) for seed in range(scale.draws))]


class _Shown:
    """The prototypes of all methods over so many groups per letter."""

    def __init__(self, results: Results, scale: Scale, groups: int) -> None:
        m = scale.letters.sizes[-1]
        self.groups = groups
        self.clusters, *self.random = (results[task] for task in _groupings(scale, groups))
        self._kept = {method: [results[chosen(scale.letters, method, m)]["indices"]] for method in METHODS}
        self._kept[RANDOM] = [results[drawn(scale.letters, m, seed)]["indices"] for seed in range(scale.draws)]
        self._kept[WHOLE] = [list(range(len(self.clusters["letters"])))]
        self.cells = len(set(zip(self.clusters["letters"], self.clusters["numbers"], strict=True)))

    @property
    def methods(self) -> list[str]:
        return list(self._kept)

    def kept(self, method: str) -> float:
        """Prototypes."""
        return len(self._kept[method][0])

    def shares(self, method: str, grouping: Result, reading: str) -> list[list[float]]:
        """Of each group, over all letters; one list per selection."""
        of = grouping[reading]
        return [label_shares([of[row] for row in rows], range(self.groups)) for rows in self._kept[method]]

    def uneven(self, method: str, groupings: list[Result], reading: str) -> float:
        """Total variation from even shares, the mean over selections and groupings."""
        even = [1 / self.groups] * self.groups
        return mean(total_variation(s, even) for g in groupings for s in self.shares(method, g, reading))

    def entropy(self, method: str, groupings: list[Result], reading: str) -> float:
        """Of the shares, 1 where they are even; the mean over selections and groupings."""
        return mean(_entropy(s) / log(self.groups) for g in groupings for s in self.shares(method, g, reading))

    def from_base(self, method: str) -> float:
        """Total variation from the base rows' shares, k-means, by size."""
        (base,) = self.shares(WHOLE, self.clusters, "ranks")
        return mean(total_variation(shares, base) for shares in self.shares(method, self.clusters, "ranks"))

    def touched(self, method: str) -> list[int]:
        """Cells of k-means with a prototype; one count per selection."""
        letters, numbers = self.clusters["letters"], self.clusters["numbers"]
        return [len({(letters[row], numbers[row]) for row in rows}) for rows in self._kept[method]]

    def table(self) -> Table:
        columns = ["method", "rows", "by number: k-means", "by number: random groups", "by size: k-means"]
        columns += ["by size: random groups", "by size: from base shares", f"cells touched of {self.cells}"]
        return Table(columns, [
            [method, self.kept(method), *self._all(self.uneven, method), self.from_base(method),
             mean(self.touched(method))]
            for method in self.methods
        ])  # fmt: skip

    def entropies(self) -> Table:
        columns = ["method", "by number: k-means", "by number: random groups", "by size: k-means"]
        columns += ["by size: random groups"]
        return Table(columns, [[method, *self._all(self.entropy, method)] for method in self.methods])

    def _all(self, measure: Callable[[str, list[Result], str], float], method: str) -> list[float]:
        sides = ([self.clusters], self.random)
        return [measure(method, groupings, reading) for reading in ORDERS for groupings in sides]

    def all_shares(self) -> Table:
        """Every bar of the figures, for all methods; of random groups and rows the first draw."""
        columns = ["method", "groups", "order", *(f"group {group}" for group in range(1, self.groups + 1))]
        kinds = {"k-means": self.clusters, "random": self.random[0]}
        return Table(columns, [
            [method, kind, words, *self.shares(method, grouping, reading)[0]]
            for method in self.methods for kind, grouping in kinds.items() for reading, words in ORDERS.items()
        ])  # fmt: skip


def _entropy(shares: list[float]) -> float:
    return -sum(share * log(share) for share in shares if share > 0)


def _draw(shown: list[_Shown], reading: str) -> Figure:
    drawn_on, grid = figure(2, len(shown), width=5.2, height=2.6)
    for line, one in zip(grid, shown, strict=True):
        kinds = {"k-means": one.clusters, "random groups": one.random[0]}
        for axes, (kind, grouping) in zip(line, kinds.items(), strict=True):
            _bars(axes, one, grouping, reading)
            axes.set(title=f"{one.groups} groups ({GROUPS[one.groups]}), {kind}")
        line[0].set(ylabel="share, %")
        top = max(axes.get_ylim()[1] for axes in line)
        for axes in line:
            axes.set_ylim(0, top)
    handles, words = grid[0][0].get_legend_handles_labels()
    drawn_on.legend(handles, words, loc="outside lower center", ncols=3, frameon=False)
    return drawn_on


def _bars(axes, one: _Shown, grouping: Result, reading: str) -> None:
    places = range(1, one.groups + 1)
    bars = {"ProtoStream": {"width": 0.5, "color": STYLES["ProtoStream"]["color"]}, WHOLE: {"width": 0.9, **BASE}}
    for method in (WHOLE, "ProtoStream"):
        heights = [100 * share for share in one.shares(method, grouping, reading)[0]]
        axes.bar(places, heights, label=method, **bars[method])
    axes.axhline(100 / one.groups, color="#000000", linewidth=0.8, linestyle="--", label="even")
    axes.set(xticks=list(places))
    axes.tick_params(axis="x", labelsize=7)


def _judge_evenness(made: Page, shown: list[_Shown]) -> None:
    found = {one: one.uneven("ProtoStream", [one.clusters], "numbers") for one in shown}
    random = {one: one.uneven(RANDOM, [one.clusters], "numbers") for one in shown}
    made.claim(
        "Prototypes of ProtoStream are quite equitably distributed over fonts and strokes",
        holds=max(found.values()) <= EVEN,
        seen="By number "
        + "; ".join(
            f"{found[one]:.3f} from even over {one.groups} groups (random rows {random[one]:.3f})" for one in shown
        )
        + "; by size "
        + "; ".join(f"{one.uneven('ProtoStream', [one.clusters], 'ranks'):.3f}" for one in shown)
        + ".",
    )


def _judge_contrast(made: Page, shown: list[_Shown]) -> None:
    much = {reading: min(_contrast(one, "ProtoStream", reading) for one in shown) >= MUCH for reading in ORDERS}
    made.claim(
        "They are distributed much more evenly than over random groups",
        holds=True if all(much.values()) else "only by size" if much["ranks"] else False,
        seen="Random groups are so many times as uneven: "
        + "; ".join(f"{words} {_contrasts(shown, 'ProtoStream', reading)}" for reading, words in ORDERS.items())
        + ".",
    )
    special = all(_contrast(one, RANDOM, "ranks") < _contrast(one, "ProtoStream", "ranks") / MUCH for one in shown)
    why = " It comes from the groups: the centres of random groups all lie near their letter's mean, and a few of them "
    why += "are nearest to most rows, whichever rows are asked."
    made.claim(
        "That contrast speaks for ProtoStream",
        holds=special,
        seen=f"By size, rows drawn blindly show it {_contrasts(shown, RANDOM, 'ranks')} times, all base rows "
        f"{_contrasts(shown, WHOLE, 'ranks')}.{'' if special else why}",
    )


def _contrast(one: _Shown, method: str, reading: str) -> float:
    """How many times as uneven random groups are."""
    return one.uneven(method, one.random, reading) / max(one.uneven(method, [one.clusters], reading), 1e-12)


def _contrasts(shown: list[_Shown], method: str, reading: str) -> str:
    return ", ".join(f"{_contrast(one, method, reading):.1f} ({one.groups} groups)" for one in shown)


def _judge_cells(made: Page, shown: list[_Shown]) -> None:
    told = [
        f"Of {one.cells} cells are touched by "
        + ", ".join(f"{method} {mean(one.touched(method)):.0f}" for method in (*METHODS, RANDOM))
        for one in shown
    ]
    wide = [GROUPS[one.groups] for one in shown if one.touched("ProtoStream")[0] > max(one.touched(RANDOM))]
    made.claim(
        "ProtoStream selects diverse rows: it touches more of the groups of each letter than any draw of random rows",
        holds=f"for {wide[0]} only" if len(wide) == 1 else bool(wide),
        seen=". ".join(told) + ".",
    )
