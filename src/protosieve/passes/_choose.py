"""The methods that judge rows one by one: all rows, one after the other, by a mean that is known or follows them."""

from dataclasses import dataclass, field
from typing import Any, ClassVar

from protosieve._state import storable
from protosieve._typed import are_counts, require
from protosieve._typing import Array
from protosieve.objectives import KernelMean
from protosieve.passes._blocks import Block, Position
from protosieve.passes._options import METHODS
from protosieve.passes._partitions import Partition
from protosieve.passes._pass import Pass, check_count
from protosieve.passes._row_sample import Records
from protosieve.passes._tables import HeldRows, compact
from protosieve.preprocess import Encoding, Layout
from protosieve.selectors import Saved, StreamSelector, restored

__all__ = ["Choice", "ChoosePass"]


@storable
@dataclass
class Choice:
    """A selector that has judged some rows, and the users' own columns of those it may still choose."""

    saved: Saved | None = None  # the selector; brought up to date by `storable`
    held: HeldRows = field(default_factory=HeldRows)
    rows: int = 0
    until: Position | None = None

    def __post_init__(self) -> None:
        self._selector = None if self.saved is None else restored(self.saved)

    def _check_form(self) -> None:
        require(are_counts(self.rows), "how many rows were judged")
        require(self._selector is None or self._selector.n_samples_seen_ == self.rows, "a selector of other rows")

    @classmethod
    def by(cls, selector: StreamSelector[Any, Any]) -> "Choice":
        """Of no rows yet."""
        made = cls()
        made._selector = selector
        return made

    @property
    def selector(self) -> StreamSelector[Any, Any]:
        assert self._selector is not None
        return self._selector

    def take(self, block: Block, rows: Array) -> None:
        """The next rows, counted already, as they are encoded."""
        self.selector.partial_fit(rows)
        held, first = self.selector.held_indices_, self.rows - len(block)
        self.held.follow(held, first, block.numbers, block.sources, block.tables)

    def records(self) -> Records:
        """Of the prototypes, in their order."""
        numbers, files, table = self.held.of(self.selector.result_.indices)
        return Records(numbers, files, compact(table))

    def storable(self) -> "Choice":
        twin = Choice(None, self.held.storable(), self.rows, self.until)
        twin.saved = self.selector.saved()
        return twin

    def merge(self, later: "Choice") -> None:
        raise NotImplementedError("rows are judged one after the other")


@storable
@dataclass(frozen=True, eq=False)
class ChoosePass(Pass[Choice]):
    """All rows, with all columns, to a selector, by a mean that is settled."""

    label: ClassVar[str] = "select"

    stage: str
    encoding: Encoding
    objective: KernelMean
    selector: str
    n_prototypes: int
    seed: int
    like: Array  # rows, in the dtype in which they are judged
    n_rows: int
    skip: bool

    @property
    def given(self) -> list[object]:
        return [self]

    def begin(self, partition: Partition) -> Choice:
        made = METHODS[self.selector](self.n_prototypes, kernel=self.objective.kernel, random_state=self.seed)
        made.begin_by(self.objective, self.like)
        return Choice.by(made)

    def layout(self, value: Choice) -> Layout:
        return self.encoding.layout

    def convert(self, raw: Array) -> Array:
        return self.encoding.transform(raw)

    def take(self, value: Choice, block: Block, partition: Partition) -> None:
        value.take(block, block.rows)

    def end(self, value: Choice, partition: Partition) -> None:
        check_count(partition.names, value.rows, self.n_rows)
