"""A page of `docs/paper/`: Markdown, with its tables also as CSV and its figures as SVG."""

import csv
import io
import re
from collections.abc import Sequence
from dataclasses import dataclass, field
from pathlib import Path
from typing import Any

import matplotlib
from matplotlib.figure import Figure

__all__ = ["Claim", "Page", "Table", "figure"]

# The same figure is the same file: no date, no random identifiers.
_SVG = {"svg.hashsalt": "protosieve", "svg.fonttype": "none", "font.family": "sans-serif"}


@dataclass(frozen=True)
class Table:
    """Columns by name; numbers to the digits that mean something."""

    columns: Sequence[str]
    rows: Sequence[Sequence[Any]]

    def to_markdown(self) -> str:
        sides = ["---:" if _is_numeric([row[i] for row in self.rows]) else "---" for i in range(len(self.columns))]
        first, *rest = ([_spelt(value) for value in row] for row in [self.columns, *self.rows])
        lines = [first, sides, *rest]
        return "\n".join(f"| {' | '.join(line)} |" for line in lines)

    def write(self, path: Path) -> None:
        """As CSV, all digits."""
        with path.open("w", newline="") as file:
            csv.writer(file, lineterminator="\n").writerows([self.columns, *self.rows])


@dataclass(frozen=True)
class Claim:
    """What the paper, or its readers, say; whether it holds here; and the numbers that show it."""

    text: str
    holds: bool | str  # or in a word how far: "mostly", "not tested"
    seen: str

    @property
    def verdict(self) -> str:
        return {True: "holds", False: "does not hold"}.get(self.holds, self.holds)


@dataclass
class Page:
    """Built from top to bottom; `write` puts it and its files into a folder."""

    name: str
    title: str
    summary: str  # a sentence for the index
    claims: list[Claim] = field(default_factory=list)
    _body: list[str] = field(default_factory=list)
    _tables: dict[str, Table] = field(default_factory=dict)
    _figures: dict[str, Figure] = field(default_factory=dict)

    def text(self, paragraph: str) -> None:
        """Markdown, a paragraph or several."""
        self._body.append(paragraph.strip())

    def lead(self, paragraph: str) -> None:
        """Above all else."""
        self._body.insert(0, paragraph)

    def claim(self, text: str, *, holds: bool | str, seen: str) -> None:
        """A claim and what became of it, here and in the index. ``seen`` states numbers from the results."""
        made = Claim(text, holds, seen)
        self.claims.append(made)
        self._body.append(f"> *{text}*: **{made.verdict}**. {seen}")

    def table(self, name: str, table: Table, *, shown: bool = True) -> None:
        """A table, in the page unless it is too long to read, and as ``name.csv`` beside it."""
        self._tables[name] = table
        self._body.append((table.to_markdown() + "\n\n" if shown else "") + f"[{name}.csv]({name}.csv)")

    def figure(self, name: str, drawn: Figure, words: str) -> None:
        """A figure, and in words what it shows."""
        self._figures[name] = drawn
        self._body.append(f"![{words}]({name}.svg)\n\n*{words}*")

    def write(self, folder: Path) -> None:
        """``name.md``, its CSV and its SVG files."""
        folder.mkdir(parents=True, exist_ok=True)
        for name, table in self._tables.items():
            table.write(folder / f"{name}.csv")
        with matplotlib.rc_context(_SVG):
            for name, drawn in self._figures.items():
                (folder / f"{name}.svg").write_text(_svg(drawn))
        (folder / f"{self.name}.md").write_text("\n\n".join([f"# {self.title}", *self._body]) + "\n")


def figure(columns: int = 1, rows: int = 1, *, width: float = 4.2, height: float = 3.2) -> tuple[Figure, Any]:
    """An empty figure and its axes, as a grid of ``rows`` x ``columns``."""
    drawn = Figure(figsize=(width * columns, height * rows), layout="constrained")
    return drawn, drawn.subplots(rows, columns, squeeze=False)


def _svg(drawn: Figure) -> str:
    """As text, without a date and without what nobody sees: indents, and digits beyond a hundredth of a point."""
    file = io.StringIO()
    drawn.savefig(file, format="svg", metadata={"Date": None, "Creator": None})
    return re.sub(r"\n +", "\n", re.sub(r'="[^"]*"', _shortened, file.getvalue()))


def _shortened(attribute: re.Match[str]) -> str:
    """Coordinates stand in attributes; what is read, the text, does not."""
    return re.sub(r"(\d\.\d\d)\d+", r"\1", attribute.group())


def _is_numeric(values: Sequence[Any]) -> bool:
    """Whether to align to the right."""
    return all(isinstance(value, int | float) or value == "" for value in values)


def _spelt(value: Any) -> str:
    if isinstance(value, float):
        return f"{value:.4g}"
    return f"{value:,}" if isinstance(value, int) else str(value).replace("|", "\\|")
