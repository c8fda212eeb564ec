"""Damaged files: reading them works or is one `InputError` of one line; never another error, a crash or a hang.

PROTOSIEVE_FUZZ says how many damaged files to try: `make test-rest` tries 300. They are read in a process of their own,
which a crash in a library would end; it names the file that it was reading.
"""

import os
import subprocess
import sys
from pathlib import Path

import numpy as np
import pytest

from damaged_files import ENDINGS, damaged, whole
from volumes import repeated, volume

CASES = int(os.environ.get("PROTOSIEVE_FUZZ") or volume(66, 300))
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


@pytest.fixture(scope="module")
def outcomes(tmp_path_factory):
    """What became of each file, by ending: one process reads them all."""
    folder, count = tmp_path_factory.mktemp("damaged"), -(-CASES // len(ENDINGS))
    for number, ending in enumerate(ENDINGS):
        rng, data = np.random.default_rng([SEED, number]), whole(ending)
        for case in range(count):
            (folder / f"{number:02}-{case:06}.{ending}").write_bytes(damaged(data, rng))
    script = "import sys; sys.path[:0] = sys.argv[2:]; import test_damaged_files as t; t.run(sys.argv[1])"
    command = [sys.executable, "-c", script, str(folder), *map(str, Path(__file__).parents[:2])]
    found = subprocess.run(command, capture_output=True, text=True, timeout=60 + CASES)
    lines = found.stdout.splitlines()
    assert found.returncode == 0, f"reading {lines[-1:]} of {folder}: {found.stderr[-2000:]}"
    words = [line.split()[-1] for line in lines]
    return {ending: words[number * count : (number + 1) * count] for number, ending in enumerate(ENDINGS)}


@repeated
@pytest.mark.parametrize("ending", ENDINGS)
def test_damage_is_one_line_or_harmless(ending, outcomes):
    assert len(outcomes[ending]) == -(-CASES // len(ENDINGS))
    assert set(outcomes[ending]) <= {"read", "refused"}
