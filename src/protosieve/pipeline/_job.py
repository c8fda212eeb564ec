"""A run at work: its passes over the files, one block after the other, told to whoever watches."""

import os
from collections import Counter
from collections.abc import Generator, Iterator, Mapping, Sequence
from contextlib import AbstractContextManager, closing, nullcontext
from dataclasses import dataclass
from functools import partial
from typing import Any

from protosieve import _state
from protosieve.errors import InputError, OutputError, ParameterError, arg
from protosieve.io import Source, find_sources
from protosieve.pipeline._ahead import ahead
from protosieve.pipeline._blocks import Block, Position, patience, read_as_they_come
from protosieve.pipeline._checkpoint import Checkpoint, take_up
from protosieve.pipeline._fresh import fresh
from protosieve.pipeline._options import Options
from protosieve.pipeline._progress import Tick, Watcher
from protosieve.pipeline._run import Phase, Run, phases_of
from protosieve.pipeline._signals import Stop, Stopped, stops
from protosieve.pipeline._unchanged import unchanged
from protosieve.pipeline._watch import Onlookers

__all__ = ["Job", "begin", "check_apart"]

_END = object()


@dataclass
class Job:
    """A run and what it works on."""

    run: Run
    inputs: list[Source]
    phases: list[Phase]
    store: Checkpoint | None
    onlookers: Onlookers | None = None
    is_resumed: bool = False

    def drive(self, watcher: Watcher) -> None:
        """All passes that are left."""
        with stops() as stop:
            try:
                while self.run.phase < len(self.phases):
                    self._pass(self.phases[self.run.phase], watcher, stop)
                if self.store is not None:
                    self.store.finished(self.run)
            except Stopped as stopped:
                stopped.tell(self._story(stopped.whole))
                raise

    def _pass(self, phase: Phase, watcher: Watcher, stop: Stop) -> None:
        run = self.run
        if not run.begun:
            with self.relied_on():
                phase.begin(run)
            run.begun = True
        tick = self._tick(phase, 0)
        self._tell(watcher, tick)  # the first block may take a while
        with unchanged(phase.sources, [*run.files, *run.target_files]), closing(self._blocks(phase)) as blocks:
            while (block := self._next(blocks, stop)) is not _END:
                if block is not None:
                    with self.relied_on():
                        self._take(phase, block)
                    tick = self._tick(phase, block.bytes_read)
                self._tell(watcher, tick)
        phase.check_some(run)
        with self.relied_on():
            phase.end(run)
        run.phase, run.begun, run.position, run.rows = run.phase + 1, False, Position(), 0

    def relied_on(self) -> AbstractContextManager[None]:
        """Where a checkpoint does not fit the files, it is told of."""
        if self.store is None:
            return nullcontext()
        return _state.relied_on(self.store.path, lambda: self.is_resumed)

    def _next(self, blocks: Iterator[Block | None], stop: Stop) -> Any:
        with self.relied_on(), stop.at_once():
            return next(blocks, _END)

    def _blocks(self, phase: Phase) -> Generator[Block | None, None, None]:
        """Those of a pass, and ``None`` where a pipe is quiet: a moment to look."""
        run = self.run
        skip, grow, convert = run.options.bad_rows == "skip", partial(phase.grows, run), partial(phase.convert, run)
        whole = partial(phase.needs_whole_blocks, run)
        blocks = read_as_they_come(phase.sources, run.layout, phase.columns, run.position, skip, grow, convert, whole)
        if phase.grows(run) and run.layout.has_categories:
            return blocks  # in this thread: what grows must not do so while it is stored
        return ahead(blocks, depth=1, patience=patience(phase.sources))

    def _take(self, phase: Phase, block: Block) -> None:
        run = self.run
        if len(block):
            phase.take(run, block)
        if phase.is_first:
            run.left_out.merge(block.left_out)
        run.position, run.rows = block.until, run.rows + len(block)
        if self.store is not None:
            self.store.passed(run, len(block))

    def _tell(self, watcher: Watcher, tick: Tick) -> None:
        watcher(tick)
        if self.onlookers is not None:
            self.onlookers(tick)

    def _tick(self, phase: Phase, bytes_read: int) -> Tick:
        standing = None if phase.label == "survey" else self.run.standing()
        sizes = [source.size for source in phase.sources]
        return Tick(
            label=phase.label,
            phase=self.run.phase + 1,
            phases=len(self.phases),
            rows=self.run.rows,
            bytes_read=bytes_read,
            bytes_in_all=None if None in sizes else sum(size for size in sizes if size is not None),
            residual=None if standing is None else standing.residual,
            exchanged=None if standing is None else standing.exchanged,
        )

    def _story(self, whole: bool) -> str:
        run = self.run
        place = f"stopped at row {run.rows:,} of pass {run.phase + 1} of {len(self.phases)}"
        left = self.onlookers.leave(place) if whole and self.onlookers is not None else None
        if self.store is None:
            hint = "" if run.options.from_stdin else f". With {arg('checkpoint', 'FILE')} a run can go on later"
            return f"{place}; {left or 'nothing was written'}{hint}"
        stored = f"{place}; {self.store.leave(run)}" if whole else f"{place}. {self.store.untouched()}"
        return f"{stored}; {left}" if left else stored


def begin(
    options: Options, store: Checkpoint | None, resume: bool, outputs: Mapping[str, str | os.PathLike[str] | None]
) -> Job:
    """Look at all files, and settle what can be settled before rows are read."""
    inputs = find_sources(options.inputs, options.format)
    target = [] if options.target is None else find_sources(options.target, options.format)
    check_apart(outputs, store, [*inputs, *target])
    run = fresh(options, inputs, target)
    _check_once(phases_of(options, run.layout, inputs, target), store)
    resumed = False
    if store is not None:
        begun, run = run, take_up(store.path, run, resume)
        store.begin(run)
        resumed = run is not begun
    return Job(run, inputs, phases_of(options, run.layout, inputs, target), store, is_resumed=resumed)


def check_apart(
    outputs: Mapping[str, str | os.PathLike[str] | None], store: Checkpoint | None, sources: Sequence[Source]
) -> None:
    """What is written must not take the place of what is read, nor one of them that of another."""
    taken = {os.path.realpath(source.name): "one of the files to be read" for source in sources}
    if store is not None:
        taken[os.path.realpath(store.path)] = "the checkpoint"
    for what, path in outputs.items():
        if path is None or os.fspath(path) == "-":
            continue
        place = os.path.realpath(path)
        if place in taken:
            raise OutputError(f"{os.fspath(path)}: is {taken[place]}, which would be lost; give another {arg(what)}")
        taken[place] = f"the {what}"


def _check_once(phases: Sequence[Phase], store: Checkpoint | None) -> None:
    """What flows by once, such as a named pipe, can be read by one pass, and not be taken up again."""
    times = Counter(source for phase in phases for source in phase.sources if source.comes_once)
    for source, passes in times.items():
        if passes > 1:
            raise InputError(
                f"{source.name}: comes once, and this run would read it {passes} times; store its rows in a file "
                "first, or pipe inputs to standard input, -"
            )
        if store is not None:
            raise ParameterError(f"{arg('checkpoint')} needs rows that can be read again, and {source.name} comes once")
