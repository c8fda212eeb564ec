"""What we learnt: the residual against the number of prototypes, and that random rows are hard to beat."""

from statistics import mean

from matplotlib.figure import Figure

from experiments._page import Page, Table, figure
from experiments._scale import Data, Scale
from experiments._style import STYLES, look
from experiments._task import Results, Task
from experiments.measures.choose import METHODS, RANDOM, chosen, drawn

INTRODUCTION = """
The paper compares ProtoStream and Streak with each other and with ProtoBasic, by the value l. What it does not have is
*random rows with the best non-negative weights*, and they are the line to beat: weights do much of the work. Here is
what each method leaves over, the residual (squared MMD, as a share of |mu|^2), at the best weights on its rows, at each
m. Random rows are the mean of {draws} draws, the band their range.
"""


def tasks(scale: Scale) -> list[Task]:
    sizes = [(data, m) for data in scale.both for m in data.sizes]
    named = [chosen(data, method, m) for data, m in sizes for method in METHODS]
    return named + [drawn(data, m, seed) for data, m in sizes for seed in range(scale.draws)]


def page(results: Results, scale: Scale) -> Page:
    """The figure, a table for each data set, and what they say."""
    made = Page("residual", "Residual against m", "All methods against random rows with the best weights, at each m.")
    both = [_Seen(results, data, scale.draws) for data in scale.both]
    made.text(INTRODUCTION.format(draws=scale.draws))
    made.figure("residual", _draw(both), "Residual against m; lower is better, both axes logarithmic.")
    for seen in both:
        made.text(f"## {seen.data.title}")
        made.table(f"residual-{seen.data}", seen.table())
        _judge(made, seen)
    return made


class _Seen:
    """Residuals on one data set."""

    def __init__(self, results: Results, data: Data, draws: int) -> None:
        self.data, self._results, self._draws = data, results, draws

    def draws(self, m: int) -> list[float]:
        return [self._results[drawn(self.data, m, seed)]["residual"] for seed in range(self._draws)]

    def of(self, method: str, m: int) -> float:
        """A method's, or the mean of the draws."""
        return mean(self.draws(m)) if method == RANDOM else self._results[chosen(self.data, method, m)]["residual"]

    def curve(self, method: str) -> list[float]:
        return [self.of(method, m) for m in self.data.sizes]

    def against_random(self, method: str) -> list[float]:
        """The method's residual as a multiple of random rows', at each m."""
        return [own / random for own, random in zip(self.curve(method), self.curve(RANDOM), strict=True)]

    def table(self) -> Table:
        return Table(["method", *(f"m = {m}" for m in self.data.sizes)], [[name, *self.curve(name)] for name in STYLES])


def _draw(both: list[_Seen]) -> Figure:
    drawn_on, axes = figure(len(both))
    for on, seen in zip(axes[0], both, strict=True):
        sizes, draws = seen.data.sizes, [seen.draws(m) for m in seen.data.sizes]
        on.fill_between(sizes, *([pick(d) for d in draws] for pick in (min, max)), color="#808080", alpha=0.3, lw=0)
        for method in STYLES:
            on.plot(sizes, seen.curve(method), **look(method))
        on.set(xlabel="m", ylabel="residual", xscale="log", yscale="log", title=seen.data.title)
        on.set_xticks(sizes, [str(m) for m in sizes], minor=False)
        on.minorticks_off()
    drawn_on.legend(*axes[0][0].get_legend_handles_labels(), loc="outside lower center", ncols=4, frameon=False)
    return drawn_on


def _judge(made: Page, seen: _Seen) -> None:
    sizes, title = seen.data.sizes, seen.data.title
    for method in ("ProtoStream", "Streak", "ProtoBasic"):
        made.claim(
            f"{title}: {method}'s rows are better than as many random rows",
            holds=_how_often([ratio < 1 for ratio in seen.against_random(method)], sizes),
            seen=f"Its residual is {_listed(seen.against_random(method))} times that of random rows with the "
            f"best weights, at m = {_listed(sizes)}.",
        )
    others = [min(seen.of(name, m) for name in METHODS if name != "ProtoSwap") for m in sizes]
    ratios = [seen.of("ProtoSwap", m) / other for m, other in zip(sizes, others, strict=True)]
    made.claim(
        f"{title}: ProtoSwap leaves the least, batch methods included",
        holds=_how_often([ratio < 1 for ratio in ratios], sizes),
        seen=f"Its residual is {_listed(ratios)} times the least of the other methods', at m = {_listed(sizes)}.",
    )
    m = sizes[-1]
    stream, random, basic = (seen.of(name, m) for name in ("ProtoStream", RANDOM, "ProtoBasic"))
    made.text(
        f"Of the largest possible l, random rows reach {100 * (1 - random):.2f} % at m = {m}, ProtoStream "
        f"{100 * (1 - stream):.2f} % and ProtoBasic {100 * (1 - basic):.1f} %. By residual the first two "
        f"differ by a factor of {random / stream:.2g}: compare residuals. ProtoStream keeps a row when it adds enough "
        "to a set filled so far, and lets none go; ProtoSwap also lets go, and leaves "
        f"{seen.of('ProtoSwap', m) / stream:.2g} times as much as ProtoStream there."
    )


def _how_often(held: list[bool], sizes: tuple[int, ...]) -> bool | str:
    if all(held) or not any(held):
        return all(held)
    return f"holds at m = {_listed([m for m, yes in zip(sizes, held, strict=True) if yes])} only"


def _listed(values) -> str:
    return ", ".join(f"{value:.2f}" if isinstance(value, float) else f"{value:,}" for value in values)
