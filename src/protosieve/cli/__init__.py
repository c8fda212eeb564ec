"""The command line: it parses, calls and prints. Nothing here decides what is chosen."""

import sys
from collections.abc import Sequence
from importlib.util import find_spec

from protosieve.cli._bar import bar

__all__ = ["bar", "main"]

_NEEDED = ("filelock", "pyarrow", "rich", "typer")


def main(arguments: Sequence[str] | None = None) -> int:
    """Run the command line and return its exit code, which ``protosieve --help`` explains."""
    from protosieve.cli._streams import open_closed

    open_closed()
    missing = [name for name in _NEEDED if find_spec(name) is None]
    if missing:
        sys.stderr.write(
            f"protosieve: the command line needs {' and '.join(missing)}, which this Python does not have; "
            "pip install 'protosieve[cli]'\n"
        )
        return 1
    from protosieve.cli._main import run

    return run(sys.argv[1:] if arguments is None else arguments)
