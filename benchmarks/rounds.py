"""``make bench-rounds``: labels in three rounds of 50, by who chooses them.

After each round the rows chosen so far are labelled, and a row of the test set gets the label of the nearest of them.
``cover`` is `ProtoSwap` with the rows of earlier rounds to ``keep``; *farthest point* always takes the row farthest
from those it has; k-means knows nothing of earlier rounds. Beside them is what as many rows chosen at once are worth.
Figures are means over several orders of the rows, in percent, with their standard deviation. ``--write`` makes the
table and the plot of docs/labelling.md. Sets whose files are not at hand are left out.
"""

import argparse
from collections.abc import Callable, Iterator
from pathlib import Path

import numpy as np

from benchmarks.accuracy import accuracy, at_hand
from benchmarks.labels import SETS, k_means
from protosieve import ProtoSwap
from protosieve.kernels import Gaussian
from protosieve.objectives import Coverage

Round = Callable[[np.ndarray, np.ndarray, int, int], np.ndarray]  # rows, those chosen before, m, seed -> row numbers

DOCS = Path(__file__).parents[1] / "docs"
_BEGIN, _END = "<!-- rounds -->", "<!-- end of rounds -->"


def cover(X: np.ndarray, before: np.ndarray, m: int, seed: int) -> np.ndarray:
    """Those that cover best what is not covered yet."""
    selector = ProtoSwap(m, objective=Coverage(), kernel=Gaussian(), random_state=seed)
    result = selector.fit(X, keep=X[before]).result_
    return result.indices[result.is_new]


def at_once(X: np.ndarray, before: np.ndarray, m: int, seed: int) -> np.ndarray:
    """As many as there are by then, without the rounds before."""
    return cover(X, before[:0], len(before) + m, seed)


def farthest(X: np.ndarray, before: np.ndarray, m: int, seed: int) -> np.ndarray:
    """Always the row farthest from all that were chosen."""
    chosen = [*before] or [int(np.random.default_rng(seed).integers(len(X)))]
    left = np.min([((X - X[row]) ** 2).sum(axis=1) for row in chosen], axis=0)
    while len(chosen) < len(before) + m:
        chosen.append(int(left.argmax()))
        left = np.minimum(left, ((X - X[chosen[-1]]) ** 2).sum(axis=1))
    return np.array(chosen[len(before) :])


def random_rows(X: np.ndarray, before: np.ndarray, m: int, seed: int) -> np.ndarray:
    """Any others."""
    return np.random.default_rng(seed).choice(np.setdiff1d(np.arange(len(X)), before), m, replace=False)


CHOOSERS: dict[str, Round] = {
    "cover, at once": at_once,
    "cover": cover,
    "k-means": lambda X, _, m, seed: k_means(X, m, seed),
    "farthest point": farthest,
    "random rows": random_rows,
}

Found = dict[str, dict[str, np.ndarray]]  # by set, then by chooser: a line for each order, a column for each round


def measured(name: str, rounds: int, m: int, draws: int) -> dict[str, np.ndarray]:
    """The accuracy after each round."""
    data = next(at for _, at in at_hand([name], SETS))
    found = {chooser: np.zeros((draws, rounds)) for chooser in CHOOSERS}
    for seed in range(draws):
        order = np.random.default_rng(seed).permutation(len(data.base))
        X, y = data.base[order], data.base_labels[order]
        for chooser, choose in CHOOSERS.items():
            chosen = np.zeros(0, int)
            for number in range(rounds):
                new = choose(X, chosen, m, 100 * seed + number)
                chosen = (
                    np.sort(new) if choose is at_once else np.union1d(chosen, new)
                )  # equally near rows in one order
                found[chooser][seed, number] = 100 * accuracy(data, X[chosen], y[chosen])
                if choose is at_once:  # of these only the number matters
                    chosen = np.arange((number + 1) * m)
    return found


def table(found: Found, m: int) -> Iterator[str]:
    """A line for each set and round."""
    yield f"| | labels | {' | '.join(CHOOSERS)} |"
    yield f"|{'---|' * (2 + len(CHOOSERS))}"
    for name, by_chooser in found.items():
        for number in range(len(next(iter(by_chooser.values()))[0])):
            cells = [
                f"{rounds[:, number].mean():.1f} ± {rounds[:, number].std():.1f}" for rounds in by_chooser.values()
            ]
            yield f"| {name} | {(number + 1) * m} | {' | '.join(cells)} |"


def plot(found: Found, m: int, path: Path) -> None:
    """Accuracy against labels, a panel for each set."""
    from matplotlib.figure import Figure

    figure = Figure(figsize=(3.2 * len(found), 3.4), layout="constrained")
    for place, (name, by_chooser) in enumerate(found.items(), 1):
        axes = figure.add_subplot(1, len(found), place, title=name, xlabel="labels", ylabel="accuracy, %")
        for chooser, rounds in by_chooser.items():
            labels = m * np.arange(1, 1 + rounds.shape[1])
            style = ":" if chooser == "cover, at once" else "-"
            axes.plot(labels, rounds.mean(axis=0), style, marker="o", markersize=3, label=chooser)
        axes.set_xticks(labels)
    figure.legend(*axes.get_legend_handles_labels(), loc="outside lower center", ncols=len(CHOOSERS))
    figure.savefig(path, metadata={"Date": None})


def write(found: Found, m: int) -> None:
    """The table and the plot of docs/labelling.md."""
    before, _, rest = (DOCS / "labelling.md").read_text().partition(_BEGIN)
    after = rest.partition(_END)[2]
    lines = "\n".join(table(found, m))
    (DOCS / "labelling.md").write_text(f"{before}{_BEGIN}\n\n{lines}\n\n{_END}{after}")
    plot(found, m, DOCS / "images" / "rounds.svg")


def main() -> None:
    """Print the table."""
    parser = argparse.ArgumentParser(prog="python -m benchmarks.rounds", description=__doc__.partition("\n")[0])
    parser.add_argument("--sets", nargs="+", choices=SETS, default=["banking77", "mnist", "letters", "clinc150"])
    parser.add_argument("--m", type=int, default=50, help="labels in a round")
    parser.add_argument("--rounds", type=int, default=3)
    parser.add_argument("--draws", type=int, default=5)
    parser.add_argument("--write", action="store_true", help="write the table and the plot of docs/labelling.md")
    options = parser.parse_args()
    found: Found = {}
    for name, _ in at_hand(options.sets, SETS):
        found[name] = measured(name, options.rounds, options.m, options.draws)
        print("\n".join([*table({name: found[name]}, options.m), ""]), flush=True)
    if options.write:
        write(found, options.m)


if __name__ == "__main__":
    main()
