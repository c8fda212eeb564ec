"""The methods that judge rows one by one: they see all rows in turn, by a mean that is known or follows them."""

from dataclasses import dataclass, field
from typing import Any, ClassVar

from protosieve import _state
from protosieve._state import storable
from protosieve._typed import are_counts, require
from protosieve._typing import Array
from protosieve.objectives import Coverage, KernelMean
from protosieve.passes._blocks import RowBlock
from protosieve.passes._options import METHODS
from protosieve.passes._partitions import Partition
from protosieve.passes._pass import Pass, Value, check_count
from protosieve.passes._tables import HeldRows, Records
from protosieve.preprocess import Encoding, Layout
from protosieve.selectors import Standing, StreamSelector, restored


@storable
@dataclass
class Choice(Value):
    """A selector that has judged some rows, and the users' own columns of those it may still choose."""

    selector: Any  # a `StreamSelector`, stored as its `Saved`
    held: HeldRows = field(default_factory=HeldRows)

    def _check_form(self) -> None:
        require(isinstance(self.selector, StreamSelector) and are_counts(self.rows), "a selector, and its rows")
        require(self.selector.n_samples_seen_ == self.rows, "a selector of other rows")

    def take(self, block: RowBlock, rows: Array) -> None:
        """The next rows, counted already, as they are encoded."""
        self.selector.partial_fit(rows)
        self.held.follow(self.selector.held_indices_, self.rows - len(block), block)

    def records(self) -> Records:
        """Of the prototypes, in their order."""
        numbers = self.selector.result_.indices
        return self.held.of(numbers[numbers >= 0])

    @property
    def standing(self) -> Standing | None:
        found: Standing | None = self.selector.standing_
        return found


@storable
@dataclass(frozen=True, eq=False)
class ChoosePass(Pass[Choice]):
    """All rows, with all columns, to a selector, by a mean that is settled."""

    label: ClassVar[str] = "select"

    stage: str
    encoding: Encoding
    objective: KernelMean | Coverage
    selector: str
    stated: dict[str, Any]  # the objective as it was asked for, if it was
    n_prototypes: int
    seed: int
    like: Array  # rows, in the dtype in which they are judged
    n_rows: int
    skip: bool

    def begin(self, partition: Partition) -> Choice:
        kernel = self.objective.kernel
        made = METHODS[self.selector](self.n_prototypes, kernel=kernel, random_state=self.seed, **self.stated)
        made.begin_by(self.objective, self.like)
        return Choice(made)

    def layout(self, value: Choice) -> Layout:
        return self.encoding.layout

    @property
    def in_threads(self) -> bool:
        return True

    def look(self, block: RowBlock, partition: Partition) -> Array:
        return self.encoding.transform(block.rows)

    def take(self, value: Choice, block: RowBlock, seen: Array, partition: Partition) -> None:
        value.take(block, seen)

    def end(self, value: Choice, partition: Partition) -> None:
        check_count(partition.names, value.rows, self.n_rows)


_state.store_as(StreamSelector, StreamSelector.saved, restored)
