"""Table 1: seconds and objective of every method, the paper's figures beside ours."""

from statistics import mean

from experiments._page import Page, Table
from experiments._scale import Data, Scale
from experiments._task import Results, Task
from experiments.measures.choose import METHODS, RANDOM, chosen, drawn

PRINTED = {  # method: (seconds, l)
    "mnist": {"ProtoBasic": (2, 0.0587), "ProtoStream": (1482, 0.0705), "Streak": (108341, 0.0705)},
    "letters": {"ProtoBasic": (1, 0.0395), "ProtoStream": (338, 0.0468), "Streak": (52025, 0.0468)},
}


def tasks(scale: Scale) -> list[Task]:
    named = [chosen(data, method, data.sizes[-1]) for data in scale.both for method in METHODS]
    return named + [drawn(data, data.sizes[-1], seed) for data in scale.both for seed in range(scale.draws)]


def page(results: Results, scale: Scale) -> Page:
    """The table, and what it says."""
    made = Page("table-1", "Table 1", "Seconds and objective of every method, on both data sets.")
    for data in scale.both:
        made.text(f"## {data.name.capitalize()}, m = {data.sizes[-1]}")
        made.table(f"table-1-{data}", _table(results, data, scale.draws))
    return made


def _table(results: Results, data: Data, draws: int) -> Table:
    m = data.sizes[-1]
    rows = []
    for method in METHODS:
        found = results[chosen(data, method, m)]
        seconds, value = PRINTED[data.name].get(method, ("", ""))
        rows.append(
            [method, seconds, found["seconds"], value, found["objective"], found["residual"], len(found["indices"])]
        )
    draws_of = [results[drawn(data, m, seed)] for seed in range(draws)]
    rows.append(
        [RANDOM, "", "", "", *(mean(found[name] for found in draws_of) for name in ("objective", "residual")), m]
    )
    return Table(["method", "paper's s", "our s", "paper's l", "our l", "residual", "rows kept"], rows)
