"""How much a test tries: little in `make test`, all of it in `make test-rest`.

A test that tries many things of one kind takes their number from `volume`. Property tests without a number of their own
have that of the profile; both kinds are run again, with all they can try, by `make test-rest`.
"""

import os
from typing import TypeVar

import pytest

Amount = TypeVar("Amount")

# quick: `make test`, and pytest alone. full: `make test-rest`. explore: property tests draw new examples every time.
PROFILE = os.environ.get("HYPOTHESIS_PROFILE", "quick")

EXAMPLES = {"quick": 12, "full": 60, "explore": 1000}

repeated = pytest.mark.repeated  # for tests that use `volume` and are no property tests, which are found by themselves


def volume(quick: Amount, full: Amount) -> Amount:
    """How many to try, or which."""
    return quick if PROFILE == "quick" else full
