"""Damaged files: reading them works or is one `InputError` of one line; never another error, a crash or a hang.

PROTOSIEVE_FUZZ says how many damaged files to try, by default 300. They are read in a process of their own, which a
crash in a library would end; it names the file that it was reading.
"""

import os
import subprocess
import sys
from pathlib import Path

import numpy as np
import pytest

from damaged_files import ENDINGS, damaged, whole

CASES = int(os.environ.get("PROTOSIEVE_FUZZ", "300"))
SEED = int(os.environ.get("PROTOSIEVE_FUZZ_SEED", "0"))


def attempt(path):
    """What became of reading the file, in a word; anything but an `InputError` of one line goes up."""
    from protosieve.errors import InputError
    from protosieve.io import BadRows, check_schemas, find_sources

    try:
        sources = find_sources(path)
        check_schemas(sources)
        for piece in sources[0].pieces(None, 3, BadRows(skip=True)):
            assert piece.table.num_rows == len(piece.numbers) > 0
            piece.table.validate(full=True)
    except InputError as error:
        return "refused" if "\n" not in str(error) else "wordy"
    return "read"


def run(folder):
    """Read every file of a folder, saying which before and how it went after."""
    for path in sorted(Path(folder).iterdir()):
        print(path.name, end=" ", flush=True)  # noqa: T201
        print(attempt(str(path)), flush=True)  # noqa: T201


@pytest.mark.parametrize("ending", ENDINGS)
def test_damage_is_one_line_or_harmless(ending, tmp_path):
    rng = np.random.default_rng([SEED, ENDINGS.index(ending)])
    data, count = whole(ending), -(-CASES // len(ENDINGS))
    for case in range(count):
        (tmp_path / f"{case:06}.{ending}").write_bytes(damaged(data, rng))
    script = "import sys; sys.path[:0] = sys.argv[2:]; import test_damaged_files as t; t.run(sys.argv[1])"
    command = [sys.executable, "-c", script, str(tmp_path), *map(str, Path(__file__).parents[:2])]
    found = subprocess.run(command, capture_output=True, text=True, timeout=60 + count)
    assert found.returncode == 0, f"reading {found.stdout.splitlines()[-1:]} of {tmp_path}: {found.stderr[-2000:]}"
    words = [line.split()[-1] for line in found.stdout.splitlines()]
    assert len(words) == count
    assert set(words) <= {"read", "refused"}
