"""A folder that keeps the results of partitions, so that a run that was cut short repeats only what is missing."""

import errno
import os
import weakref
from collections.abc import Callable, Collection, Iterator
from contextlib import AbstractContextManager, suppress
from dataclasses import dataclass
from importlib.metadata import version
from pathlib import Path
from types import TracebackType
from typing import Any

from filelock import FileLock, Timeout

from protosieve import _state
from protosieve._atomic import check_replaceable
from protosieve._state import storable
from protosieve._typed import are_counts, require
from protosieve.errors import OutputError, StateFileError, arg, warn
from protosieve.passes import Choice, Fetched, GroupSums, Job, Options, Summary, Sums, Texts, changed

_HEAD, _LOCK = "run.npz", "run.lock"
_NO_LOCKS = (
    errno.ENOLCK,
    errno.ENOSYS,
    errno.EOPNOTSUPP,
)  # of a file system without locks, where others are not kept out
_STAGES: dict[str, type | tuple[type, ...]] = {
    "texts": Texts, "survey": Summary, "target-survey": Summary, "target-sums": (Sums, GroupSums),
    "sums": (Sums, GroupSums), "choose": Choice, "fetch": Fetched,
    "survey-by-words": Summary, "target-survey-by-words": Summary,
}  # fmt: skip


@storable
@dataclass(frozen=True)
class RunHead:
    """Everything that determines the stored results: a run can only be resumed with the same."""

    version: str
    options: Options
    files: list[dict[str, Any]]
    target_files: list[dict[str, Any]]
    seed: int
    made: bool  # whether that run has made the folder

    def _check_form(self) -> None:
        for file in [*self.files, *self.target_files]:
            require(isinstance(file.get("name"), str), "a file without a name")
            require(all(type(value) in (str, int, type(None)) for value in file.values()), "what a file was like")
        require(are_counts(self.seed), "the seed of a run")

    @classmethod
    def of(cls, job: Job, made: bool = False) -> "RunHead":
        files = [*job.files, *job.aside.files]
        return cls(version("protosieve"), job.options, files, job.target_files, job.seed, made)

    def difference(self, now: "RunHead") -> str | None:
        """The first difference in words, or ``None``. A seed that the user did not set may differ."""
        if self.version != now.version:
            return f"it was made by protosieve {self.version}, and this is {now.version}"
        others = changed(self.files, now.files) or changed(self.target_files, now.target_files)
        return self.options.difference(now.options) or others


@storable
@dataclass(frozen=True)
class Kept:
    """A result, and the digest of the run and the pass that it depends on."""

    given: str
    value: Any


class Store:
    """The folder of a run: ``run.npz`` says which it is, other files hold a result each, written whole or not at all.

    Opened for a job that has begun before, ``seed`` is that job's, and ``there`` counts the results it holds; one of a
    partition that was cut short says where it goes on. Another job's folder is a `StateFileError` that names the first
    difference. Nothing in it is ever unpickled. No other run can use it until the ``with`` is left or it is removed.
    """

    def __init__(self, folder: str | os.PathLike[str], job: Job) -> None:
        self.folder = Path(folder)
        made = self._make()
        self._results, self._files = _results(self.folder, job), _files(self.folder, job)
        for path in self._files:
            check_replaceable(path)
        self._release = self._held()
        try:
            self._head = self._begin(RunHead.of(job, made))
        except BaseException:
            self._release()
            raise
        self.seed = self._head.seed
        self._given, self._has_failed, self._has_others = "", False, False
        self.there = sum(path.exists() for path in self._results)
        self._is_used = False  # whether a result that was kept earlier had a part in this run
        for left in self._unfinished():
            with suppress(OSError):
                left.unlink()

    @classmethod
    def look(cls, folder: str | os.PathLike[str], job: Job) -> str:
        """A line about the stored results of a job, empty if there are none. Changes nothing in the folder."""
        place = Path(folder)
        if not (place / _HEAD).exists():
            return ""
        _check_same(place, RunHead.of(job))
        return f"{_told(place, _results(place, job))}\n"

    def __enter__(self) -> "Store":
        return self

    def __exit__(self, kind: type[BaseException] | None, error: BaseException | None, _: TracebackType | None) -> None:
        self._release()

    @staticmethod
    def owns(folder: str | os.PathLike[str], job: Job, path: str | os.PathLike[str]) -> bool:
        """Whether a file is one of those that a job would write to the folder, and remove."""
        return Path(path).resolve() in _files(Path(folder).resolve(), job)

    def begin(self, work: object) -> None:
        """Start a pass: stored results count only if run and pass are the same."""
        self._given, self._has_others = _state.digest([self._head, work]), False

    def found(self, stage: str, partition: int) -> Any | None:
        """The result of a partition, if it is there and whole."""
        path = _path(self.folder, stage, partition)
        if not path.exists():
            return None
        try:
            kept = _state.read(path)
        except StateFileError as error:
            warn(f"{error.marked} The partition is done again")
            return None
        if not isinstance(kept, Kept) or not isinstance(kept.value, _STAGES[stage]) or kept.given != self._given:
            if not self._has_others:
                warn(f"{path}: belongs to another run or to other earlier results; such partitions are done again")
            self._has_others = True
            return None
        self._is_used = True
        return kept.value

    def relied_on(self) -> AbstractContextManager[None]:
        """If results of an earlier run do not fit this one, the error names the folder."""
        return _state.relied_on(self.folder, lambda: self._is_used)

    def keep(self, stage: str, partition: int, result: Any) -> None:
        """Store a result; if that fails the run goes on, with a warning for the first."""
        try:
            _state.write(_path(self.folder, stage, partition), Kept(self._given, result))
        except StateFileError as error:
            if not self._has_failed:
                warn(f"no result kept of partition {partition}: {error.marked} The run goes on")
            self._has_failed = True

    def told(self) -> str:
        """The message shown when a run is resumed."""
        return _told(self.folder, self._results)

    def remove(self) -> None:
        """The run is over, and its result is written: our files go, and the folder if this run has made it."""
        try:
            for path in [*self._unfinished(), *self._results, self.folder / _HEAD, self.folder / _LOCK]:
                path.unlink(missing_ok=True)
            self._release()
            if self._head.made:
                self.folder.rmdir()
        except OSError as error:
            warn(f"{self.folder}: is no longer needed, but cannot be removed: {error.strerror or error}")

    def _make(self) -> bool:
        """Make the folder if needed; true if it is new, or was left by a run that was killed at once."""
        made = not self.folder.exists() or self._was_left()
        try:
            self.folder.mkdir(exist_ok=True)
        except OSError as error:
            raise OutputError(
                f"{self.folder}: cannot be made a folder for results: {error.strerror or error}; give another "
                f"{arg('work')}"
            ) from error
        return made

    def _was_left(self) -> bool:
        """Whether there is a lock but no head: a run was killed just after it began or just before its end."""
        return (self.folder / _LOCK).exists() and not (self.folder / _HEAD).exists()

    def _held(self) -> Callable[[], Any]:
        """Lock the folder; returns a function that unlocks it. If this process is killed, the system unlocks it."""
        lock = FileLock(self.folder / _LOCK, thread_local=False, blocking=False, fallback_to_soft=False)
        try:
            lock.acquire()
        except Timeout as error:
            raise OutputError(
                f"{self.folder}: another run is using it; wait for its end, or give another {arg('work')}"
            ) from error
        except OSError as error:
            if error.errno not in _NO_LOCKS:
                raise OutputError(
                    f"{self.folder}: cannot be written to: {error.strerror or error}; give another {arg('work')}"
                ) from error
        return weakref.finalize(self, lock.release)

    def _begin(self, now: RunHead) -> RunHead:
        """The stored head, or if there is none, the new one, which is written."""
        if (self.folder / _HEAD).exists():
            return _check_same(self.folder, now)
        _state.write(self.folder / _HEAD, now)
        return now

    def _unfinished(self) -> Iterator[Path]:
        """Temporary files of a run that was killed while writing."""
        names = {path.name for path in self._files}
        for path in self.folder.glob(".*.tmp"):
            if path.name[1:].rsplit(".", 2)[0] in names:
                yield path


def _check_same(folder: Path, now: RunHead) -> RunHead:
    """The head stored in a folder; `StateFileError` if it is of another run."""
    head = _state.read(folder / _HEAD)
    if not isinstance(head, RunHead):
        raise StateFileError(f"{folder / _HEAD}: is not of a run over files; give another {arg('work')}")
    difference = head.difference(now)
    if difference is not None:
        raise StateFileError(
            f"{folder}: is of another run: {difference}. Give what was given then, or delete the folder to start anew"
        )
    return head


def _told(folder: Path, results: Collection[Path]) -> str:
    there = sum(path.exists() for path in results)
    return f"{there:,} result{'s' * (there != 1)} of partitions {'is' if there == 1 else 'are'} in {folder} already"


def _path(folder: Path, stage: str, partition: int) -> Path:
    return folder / f"{stage}-{partition:06}.npz"


def _results(folder: Path, job: Job) -> set[Path]:
    """The paths of all results that a run can store."""
    inputs, targets = len(job.inputs), len(job.targets)
    counts = zip(_STAGES, [inputs, inputs, targets, targets, inputs, 1, inputs, inputs, targets], strict=True)
    return {_path(folder, stage, number) for stage, count in counts for number in range(count)}


def _files(folder: Path, job: Job) -> set[Path]:
    """The paths of all files that a run can write."""
    return {*_results(folder, job), folder / _HEAD, folder / _LOCK}
