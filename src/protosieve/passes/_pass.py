"""What a pass over partitions is: a value for each of them, made of its blocks, and one of all these."""

import copy
from abc import ABC, abstractmethod
from collections.abc import Callable, Generator, Iterable
from contextlib import AbstractContextManager, closing, nullcontext
from typing import Any, ClassVar, Generic, Protocol, Self, TypeVar

from protosieve._typing import Array
from protosieve.errors import InputError
from protosieve.passes._ahead import ahead
from protosieve.passes._blocks import Block, Position, patience, read_as_they_come
from protosieve.passes._partitions import Partition
from protosieve.preprocess import Layout

__all__ = ["Pass", "Value", "check_count"]


class Value(Protocol):
    """What a pass knows of one or more partitions: small, whatever their rows, and storable."""

    until: Position | None  # while a partition is being read: where to go on
    rows: int  # that were taken in

    def merge(self, later: Any) -> None:
        """Take in what is known of the partitions that come next."""

    def storable(self) -> Self:
        """The same, as `protosieve._state` can write it."""


V = TypeVar("V", bound=Value)


class Pass(ABC, Generic[V]):
    """What is done with every partition: a value that can be pickled, and knows of no engine.

    ``over`` does all of it for one partition. Engines may do so anywhere and in any order; ``merged`` then takes the
    values in the order of the partitions, so that the answer does not depend on the engine.
    """

    label: ClassVar[str]  # for people
    stage: str  # under which values are kept
    grows: ClassVar[bool] = False  # whether categories that were not seen before are new ones

    skip: bool  # rows that cannot be used

    @property
    def columns(self) -> list[str] | None:
        """To be read; ``None`` for all."""
        return None

    @property
    @abstractmethod
    def given(self) -> list[object]:
        """Storable: what values follow from, besides rows."""

    @abstractmethod
    def begin(self, partition: Partition) -> V:
        """The value before the first row."""

    @abstractmethod
    def take(self, value: V, block: Block, partition: Partition) -> None:
        """The next rows."""

    def end(self, value: V, partition: Partition) -> None:
        """After the last."""

    @abstractmethod
    def layout(self, value: V) -> Layout:
        """By which rows are read."""

    @abstractmethod
    def convert(self, raw: Array) -> Array:
        """What `take` wants of the numbers that were read; called ahead of it, in another thread."""

    def over(
        self,
        partition: Partition,
        begun: V | None = None,
        *,
        waiting: Callable[[], AbstractContextManager[None]] = nullcontext,
        watch: Callable[[V, Block | None], None] | None = None,
    ) -> V:
        """Read a partition, from the beginning or from where the value that is ``begun`` ends.

        ``waiting`` is entered while rows are waited for: nothing is half done then. ``watch`` is called after every
        block, and with ``None`` where a pipe is quiet.
        """
        value = self.begin(partition) if begun is None else begun
        with closing(self._blocks(partition, value)) as blocks:
            while True:
                with waiting():
                    block = next(blocks, _END)
                if block is _END:
                    break
                if block is not None:
                    if len(block):
                        value.rows += len(block)
                        self.take(value, block, partition)
                    self.left_out(value, block)
                    value.until = block.until
                if watch is not None:
                    watch(value, block)
        self.end(value, partition)
        value.until = None
        return value

    def left_out(self, value: V, block: Block) -> None:
        """Rows that cannot be used."""

    def _blocks(self, partition: Partition, value: V) -> Generator[Any, None, None]:
        sources, layout = partition.stretches, self.layout(value)
        start = partition.start if value.until is None else value.until
        blocks = read_as_they_come(
            sources, layout, self.columns, start, self.skip, lambda: self.grows, self.convert, lambda: self.grows
        )
        if self.grows and layout.has_categories:
            return blocks  # in this thread: what grows must not do so while it is stored
        return ahead(blocks, depth=1, patience=patience(sources))

    @staticmethod
    def merged(values: Iterable[V]) -> V:
        """One value of all, which must come in the order of their partitions.

        They are taken in one after the other, so that an iterator need not hold two of them.
        """
        found = iter(values)
        whole = copy.deepcopy(next(found))  # an engine may hand out arrays that must not be written to
        for later in found:
            whole.merge(later)
        return whole


_END: Any = object()


def check_count(names: list[str], found: int, before: int) -> None:
    """Files that are still written to would be surveyed in part and weighed as another whole."""
    if found != before:
        named = names[0] if len(names) == 1 else f"{len(names)} files"
        raise InputError(
            f"{named}: had {before:,} usable rows when read first and {found:,} now, so it has changed "
            "on the way; run again when it is complete"
        )
