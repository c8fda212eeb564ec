"""Runs that survive: the state of a run in a file, now and then, and back."""

import glob
import os
import warnings
from contextlib import suppress
from pathlib import Path

from protosieve import _state
from protosieve._atomic import check_replaceable
from protosieve.errors import ProtosieveWarning, StateFileError, arg
from protosieve.pipeline._run import Run
from protosieve.pipeline._unchanged import changed
from protosieve.selectors._rules import whole_number

__all__ = ["Checkpoint", "take_up"]


class Checkpoint:
    """Where a run is stored, and when next. Each write replaces the one before, or leaves it as it is."""

    def __init__(self, path: str | os.PathLike[str], every: int) -> None:
        whole_number(1).check("checkpoint", "every", every)
        check_replaceable(path)  # also because reading a pipe could wait for ever
        self.path = Path(path)
        self._every = every
        self._since = 0
        self._stored: str | None = None

    def begin(self, run: Run) -> None:
        """The first one, before there is anything to lose: what cannot be written is an error now.

        A run that was killed in the midst of writing has left a temporary file, which goes.
        """
        place = self.path.resolve()
        for left in place.parent.glob(f".{glob.escape(place.name)}.*.tmp"):
            with suppress(OSError):
                left.unlink()
        self._write(run)

    def passed(self, run: Run, rows: int) -> None:
        """So many rows more; once enough have come the run is stored. If that fails the run goes on, with a warning."""
        self._since += rows
        if self._since < self._every:
            return
        self._since = 0
        try:
            self._write(run)
        except StateFileError as error:
            warnings.warn(
                ProtosieveWarning(
                    f"no checkpoint at {_place(run)}: {error.marked} The one of {self._stored} is intact; the run "
                    "goes on"
                ),
                stacklevel=2,
            )

    def finished(self, run: Run) -> None:
        """All rows have been seen: what is left to do may fail, and can then be done again."""
        self._since = self._every
        self.passed(run, 0)

    def leave(self, run: Run) -> str:
        """The last one of a run that is interrupted; returns what to tell."""
        try:
            self._write(run)
        except StateFileError as error:
            return f"{error.marked} {self.untouched()}"
        return f"stored in {self.path}: the same run with {arg('resume', True)} goes on"

    def untouched(self) -> str:
        """What to tell of the one before."""
        return f"The checkpoint of {self._stored} is intact: {arg('resume', True)} goes on from there"

    def remove(self) -> None:
        """The run is over, and its result is where it belongs. A link stays, and leads nowhere until the next run."""
        try:
            self.path.resolve().unlink(missing_ok=True)
        except OSError as error:
            warnings.warn(
                f"the checkpoint {self.path} is no longer needed and cannot be removed: {error.strerror or error}",
                ProtosieveWarning,
                stacklevel=2,
            )

    def _write(self, run: Run) -> None:
        _state.write(self.path, run.storable())
        self._stored = _place(run)


def _place(run: Run) -> str:
    return f"row {run.rows:,} of pass {run.phase + 1}"


def take_up(path: str | os.PathLike[str], fresh: Run, resume: bool) -> Run:
    """The stored run, if there is one and it may go on; else the fresh one.

    `StateFileError` where a stored run is in the way, or is one of other files or other options.
    """
    if not Path(path).exists():
        return fresh
    found = _state.read(path)
    if not isinstance(found, Run):
        raise StateFileError(
            f"{path}: holds a {type(found).__name__}, not a checkpoint; give another {arg('checkpoint')}"
        )
    if not resume:
        raise StateFileError(
            f"{path}: there is a run at {_place(found)} in it; go on with {arg('resume', True)}, or delete it to "
            "start anew"
        )
    difference = found.options.difference(fresh.options) or _changed(found, fresh)
    if difference is not None:
        raise StateFileError(
            f"{path}: is of another run: {difference}. Give what was given then, or delete the checkpoint to start anew"
        )
    return found


def _changed(old: Run, new: Run) -> str | None:
    return changed(old.files, new.files) or changed(old.target_files, new.target_files)
