"""State files that somebody has forged, with a right digest: refused, or of use.

PROTOSIEVE_FORGED says how many to try: `make test-rest` tries 100, `make soak` 1,000. They are used in processes of
their own, whose memory is limited.
"""

import json
import os
import subprocess
import sys
from collections import Counter
from pathlib import Path

import pytest

from volumes import repeated, volume

pytest.importorskip("resource")

FORGED = int(os.environ.get("PROTOSIEVE_FORGED") or volume(20, 60))
SEED = int(os.environ.get("PROTOSIEVE_FUZZ_SEED", "0"))
AT_ONCE = 100


@repeated
@pytest.mark.parametrize("first", range(0, FORGED, AT_ONCE))
def test_a_forged_state_is_refused_or_works_in_a_gigabyte(first):
    count = min(AT_ONCE, FORGED - first)
    script = Path(__file__).with_name("forged_states.py")
    command = [sys.executable, str(script), str(SEED + first), str(count)]
    done = subprocess.run(command, capture_output=True, text=True, timeout=3600)
    assert (done.returncode, done.stderr[-2000:]) == (0, "")
    found = [json.loads(line) for line in done.stdout.splitlines()]
    assert len(found) == count
    wrong = [one for one in found if one["outcome"] not in ("refused", "error", "works")]
    assert not wrong, "\n\n".join("{number} {kind} {file}: {outcome}".format(**one) for one in wrong)
    seen = Counter(one["outcome"] for one in found)
    assert seen["refused"] > count / 4  # they are forgeries indeed,
    assert seen["works"] > 0  # and what they are forged from is sound
