"""What a pass over partitions is: a value for each partition, made of its blocks, and one merged from all."""

import copy
from abc import ABC, abstractmethod
from collections.abc import Callable, Generator, Iterable
from contextlib import AbstractContextManager, closing, nullcontext
from dataclasses import dataclass
from typing import Any, ClassVar, Generic, TypeVar

from protosieve._threads import ahead_of
from protosieve.errors import InputError
from protosieve.passes._blocks import Position, RowBlock, patience, read_as_they_come
from protosieve.passes._partitions import Partition
from protosieve.passes._prefetch import prefetched
from protosieve.preprocess import Layout
from protosieve.selectors import Standing


@dataclass(kw_only=True)
class Value:
    """What a pass knows of one or more partitions: small, however many rows these have. It can be stored."""

    rows: int = 0  # that were taken in
    until: Position | None = None  # while a partition is being read: where to go on

    def merge(self, later: Any) -> None:
        """Take in what is known of the partitions that come next."""
        raise NotImplementedError("rows are judged one after the other")

    @property
    def standing(self) -> Standing | None:
        """How good the set is that a selector holds, if there is one."""
        return None


V = TypeVar("V", bound=Value)


class Pass(ABC, Generic[V]):
    """What is done with every partition: a value that can be pickled and stored, and knows of no engine.

    ``over`` makes the value of one partition. Engines may call it anywhere and in any order; values are then merged in
    the order of the partitions, so the answer does not depend on the engine.
    """

    label: ClassVar[str]  # for people
    stage: str  # under which values are kept
    skip: bool  # rows that cannot be used

    @property
    def grows(self) -> bool:
        """Whether categories that were not seen before are new ones."""
        return False

    def needs_full_blocks(self, value: V) -> bool:
        """Whether blocks must not be cut short where a pipe is slow."""
        return self.grows

    @property
    def columns(self) -> list[str] | None:
        """To be read; ``None`` for all."""
        return None

    @property
    def in_threads(self) -> bool:
        """Whether several blocks may be looked at at once: where `look` has something to do."""
        return False

    @abstractmethod
    def begin(self, partition: Partition) -> V:
        """The value before the first row."""

    def look(self, block: RowBlock, partition: Partition) -> Any:
        """What a block says by itself, whatever came before: asked ahead of `take`, of several blocks at a time."""

    @abstractmethod
    def take(self, value: V, block: RowBlock, seen: Any, partition: Partition) -> None:
        """The next rows, and what `look` has seen in them."""

    def end(self, value: V, partition: Partition) -> None:
        """After the last."""

    @abstractmethod
    def layout(self, value: V) -> Layout:
        """The layout by which rows are read."""

    def over(
        self,
        partition: Partition,
        begun: V | None = None,
        *,
        waiting: Callable[[], AbstractContextManager[None]] = nullcontext,
        watch: Callable[[V, RowBlock | None], None] | None = None,
        alone: bool = False,
    ) -> V:
        """Read a partition, from the beginning or from where the value that is ``begun`` ends.

        ``waiting`` is entered while rows are waited for: nothing is half done then. ``watch`` is called after every
        block, and with ``None`` where a pipe is quiet. A partition that is read ``alone`` has all processors.
        """
        value = self.begin(partition) if begun is None else begun
        with (
            closing(self._blocks(partition, value)) as blocks,
            closing(self._looked_at(blocks, partition, value, alone)) as found,
        ):
            while True:
                with waiting():
                    block, seen = next(found, (_END, None))
                if block is _END:
                    break
                if block is not None:
                    if len(block):
                        value.rows += len(block)
                        self.take(value, block, seen, partition)
                    self.left_out(value, block)
                    value.until = block.until
                if watch is not None:
                    watch(value, block)
        self.end(value, partition)
        value.until = None
        return value

    def left_out(self, value: V, block: RowBlock) -> None:
        """Take note of rows that cannot be used."""

    def _looked_at(
        self, blocks: Iterable[RowBlock | None], partition: Partition, value: V, alone: bool
    ) -> Generator[tuple[Any, Any], None, None]:
        """Blocks with what `look` sees in them, several at a time where the partition is read alone.

        Not those of a pipe, where blocks that came would wait for others; and not where categories grow as rows are
        read: a value that is stored must know those of its own rows only.
        """

        def look(block: RowBlock | None) -> tuple[RowBlock | None, Any]:
            return block, self.look(block, partition) if block else None

        is_stored = all(source.size is not None for source in partition.row_ranges)
        several = alone and self.in_threads and is_stored and not self._categories_grow(value)
        return ahead_of(look, blocks, in_threads=several)

    def _categories_grow(self, value: V) -> bool:
        return self.grows and bool(self.layout(value).categories())

    def _blocks(self, partition: Partition, value: V) -> Generator[Any, None, None]:
        sources, layout = partition.row_ranges, self.layout(value)
        start = partition.start if value.until is None else value.until
        blocks = read_as_they_come(
            sources, layout, self.columns, start, self.skip, lambda: self.grows, lambda: self.needs_full_blocks(value)
        )
        if self._categories_grow(value):
            return blocks  # in this thread: categories must not grow while they are being stored
        return prefetched(blocks, depth=1, patience=patience(sources))

    @staticmethod
    def merged(values: Iterable[V]) -> V:
        """One value of all, which must come in the order of their partitions.

        They are taken in one after the other, so that an iterator need not hold two of them.
        """
        found = iter(values)
        whole = copy.deepcopy(next(found))  # an executor may return arrays that are read-only
        for later in found:
            whole.merge(later)
        return whole


_END: Any = object()


def check_count(names: list[str], found: int, before: int) -> None:
    """`InputError` if a file has other rows than when it was surveyed, as one that is still being written has."""
    if found != before:
        raise InputError(
            f"{together(names)}: had {before:,} usable rows when read first and {found:,} now, so it has changed "
            "on the way; run again when it is complete"
        )


def together(names: list[str]) -> str:
    """What to call files in a message."""
    return names[0] if len(names) == 1 else f"{len(names)} files"
