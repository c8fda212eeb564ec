"""How much of everything: the paper's sizes, or a few rows to see that it runs."""

from dataclasses import dataclass

__all__ = ["FULL", "SMOKE", "Data", "Scale"]


@dataclass(frozen=True)
class Data:
    """A data set of the paper, or the head of it, and the numbers of prototypes asked of it, the largest last."""

    name: str
    sizes: tuple[int, ...]
    rows: int | None = None  # of the base set; None is all
    test_rows: int | None = None
    folds: int = 3  # of the cross-validation

    def __str__(self) -> str:
        return self.name

    @property
    def title(self) -> str:
        return "MNIST" if self.name == "mnist" else self.name.capitalize()


@dataclass(frozen=True)
class Scale:
    """What all pages are made of."""

    mnist: Data
    letters: Data
    draws: int  # random selections
    shuffles: int  # orders of the stream
    widths: tuple[float, ...]  # of the kernel, the paper's among them
    stream_rows: tuple[int, ...]  # of the synthetic stream
    literal_rows: int
    literal_m: int
    target_m: int  # for targets of one label, beside the full size
    target_streak_m: int  # for Streak, which takes minutes at the full size
    reservoirs: tuple[int, ...]  # rows of running samples
    sample_seeds: int

    @property
    def both(self) -> tuple[Data, Data]:
        return self.mnist, self.letters


FULL = Scale(
    mnist=Data("mnist", (25, 75, 150, 250, 500, 750)),
    letters=Data("letters", (25, 50, 100, 166, 300, 500)),
    draws=10,
    shuffles=3,
    widths=(1.25, 2.5, 3.5, 5.0, 7.0, 20.0),
    stream_rows=(10_000, 30_000, 100_000, 300_000, 1_000_000),
    literal_rows=8000,
    literal_m=100,
    target_m=100,
    target_streak_m=250,
    reservoirs=(250, 500, 1000, 2000, 4000, 8000),
    sample_seeds=5,
)
SMOKE = Scale(
    mnist=Data("mnist", (5, 20), rows=600, test_rows=500, folds=2),
    letters=Data("letters", (5, 20), rows=600, test_rows=300, folds=2),
    draws=2,
    shuffles=2,
    widths=(2.5, 5.0, 20.0),
    stream_rows=(1000, 2000),
    literal_rows=200,
    literal_m=5,
    target_m=10,
    target_streak_m=15,
    reservoirs=(50, 200),
    sample_seeds=2,
)
