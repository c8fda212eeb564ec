"""The command line as people meet it: as a process, and in a terminal whose screen can be looked at."""

import contextlib
import io
import os
import subprocess
import sys
import time
from pathlib import Path

import pexpect
import pyte

COMMAND = [sys.executable, "-m", "protosieve"]
_PATIENCE = 30  # seconds, on a busy machine
_LEFT_OUT = ("COLUMNS", "LINES", "NO_COLOR", "FORCE_COLOR", "PROTOSIEVE_TRACEBACK")


def environment(**more: str) -> dict[str, str]:
    kept = {name: value for name, value in os.environ.items() if name not in _LEFT_OUT}
    return {**kept, "TERM": "xterm-256color", **more}


def run(
    *arguments: object, cwd: Path | None = None, text: str | None = None, **more: str
) -> subprocess.CompletedProcess:
    """The command with standard input, output and error that are no terminals."""
    return subprocess.run(
        [*COMMAND, *map(str, arguments)],
        cwd=cwd,
        input=text,
        capture_output=True,
        text=True,
        timeout=_PATIENCE,
        env=environment(**more),
    )


def call(*arguments: object, cwd: Path) -> subprocess.CompletedProcess:
    """The same in this process: what is printed and written is as `run` has it, and Python need not start for it."""
    from protosieve.cli import main

    words, out, err = list(map(str, arguments)), io.StringIO(), io.StringIO()
    with contextlib.chdir(cwd), contextlib.redirect_stdout(out), contextlib.redirect_stderr(err):
        code = main(words)
    return subprocess.CompletedProcess(words, code, out.getvalue(), err.getvalue())


class Terminal:
    """A process in a terminal: ``screen`` is what a person sees now, ``seen`` are all lines there ever were."""

    def __init__(self, *command: object, width: int = 80, cwd: Path | None = None, **more: str) -> None:
        program, *arguments = map(str, command)
        self.process = pexpect.spawn(
            program, arguments, dimensions=(50, width), cwd=cwd, env=environment(**more), timeout=_PATIENCE
        )
        self._screen = pyte.Screen(width, 50)
        self._stream = pyte.ByteStream(self._screen)
        self.raw = b""
        self.seen: list[str] = []

    def wait_for(self, text: str) -> None:
        """Until it is on the screen."""
        end = time.monotonic() + _PATIENCE
        while text not in self.screen:
            assert time.monotonic() < end, f"{text!r} did not come:\n{self.screen}"
            assert self._read(1), f"{text!r} did not come before the end:\n{self.screen}"

    def finish(self) -> int:
        """Until the process is over; its exit code."""
        end = time.monotonic() + _PATIENCE
        try:
            while self._read(1):
                assert time.monotonic() < end, f"it did not end:\n{self.screen}"
        finally:
            self.process.close()  # hangs up on whatever is left
        status = self.process.exitstatus
        return 128 + self.process.signalstatus if status is None else status

    @property
    def screen(self) -> str:
        return "\n".join(line.rstrip() for line in self._screen.display).rstrip()

    @property
    def cursor_is_there(self) -> bool:
        return not self._screen.cursor.hidden

    def _read(self, patience: float = _PATIENCE) -> bool:
        """Small bites, so that what is shown for a moment is seen; false at the end."""
        try:
            data = self.process.read_nonblocking(512, timeout=patience)
        except pexpect.TIMEOUT:
            return True
        except pexpect.EOF:
            return False
        self.raw += data
        self._stream.feed(data)
        self.seen += [line.rstrip() for line in self._screen.display if line.strip()]
        return True


def protosieve(*arguments: object, **more: object) -> Terminal:
    """The command in a terminal."""
    return Terminal(*COMMAND, *arguments, **more)
