"""A table as wide as the terminal: columns that do not fit are left out, rather than squeezed."""

from dataclasses import dataclass
from typing import TYPE_CHECKING

from rich.cells import cell_len, set_cell_size

from protosieve._formatting import one_line

if TYPE_CHECKING:
    from rich.console import Console

_WIDEST = 24  # of a cell
_BETWEEN = 2


@dataclass(frozen=True)
class TableColumn:
    """A heading and a cell per line."""

    name: str
    cells: list[str]
    right: bool = False  # numbers end where numbers end

    def shortened(self) -> "TableColumn":
        return TableColumn(_short(self.name), [_short(cell) for cell in self.cells], self.right)

    @property
    def width(self) -> int:
        return max(cell_len(text) for text in (self.name, *self.cells))

    def padded(self) -> list[str]:
        """The heading and the cells, all of one width."""
        return [self._padded(text) for text in (self.name, *self.cells)]

    def _padded(self, text: str) -> str:
        space = " " * (self.width - cell_len(text))
        return space + text if self.right else text + space


def draw(columns: list[TableColumn], console: "Console") -> None:
    """The first columns that fit; on a terminal with a heading that stands out, and a line under it."""
    head, *lines = zip(*(column.padded() for column in _fitting(columns, console.width)), strict=True)
    gap = " " * _BETWEEN
    console.print(gap.join(head).rstrip(), style="bold", no_wrap=True)
    if console.is_terminal:
        console.print(gap.join("─" * cell_len(name) for name in head), style="dim", no_wrap=True)
    for line in lines:
        console.print(gap.join(line).rstrip(), no_wrap=True)


def _fitting(columns: list[TableColumn], width: int) -> list[TableColumn]:
    fitting: list[TableColumn] = []
    for column in (column.shortened() for column in columns):
        width -= column.width + (_BETWEEN if fitting else 0)
        if width < 0 and fitting:
            break
        fitting.append(column)
    return fitting


def _short(text: str) -> str:
    """Cut where it is too wide, counting the cells of the terminal.

    >>> _short("a sentence of some length")
    'a sentence of some leng…'
    """
    text = one_line(text)
    return text if cell_len(text) <= _WIDEST else set_cell_size(text, _WIDEST - 1).rstrip() + "…"
