"""The selectors: one algorithm, one file, on one loop."""

from protosieve.selectors._base import StreamSelector
from protosieve.selectors._batch import BatchSelector
from protosieve.selectors._beside import Beside, NothingToChooseError
from protosieve.selectors._files import load, restored
from protosieve.selectors._lock import lock_of
from protosieve.selectors._mmdcritic import MMDCritic
from protosieve.selectors._protobasic import Best, ProtoBasic
from protosieve.selectors._protodash import ProtoDash
from protosieve.selectors._protostream import ProtoStream
from protosieve.selectors._protoswap import SHORTEST, ProtoSwap, nearest_for
from protosieve.selectors._quotas import Quotas
from protosieve.selectors._rows import (
    NO_ROWS,
    as_rows,
    column_names,
    new_rows,
    remember_columns,
    rows_like,
    some_rows,
    target_rows,
)
from protosieve.selectors._rules import Rule, whole_number
from protosieve.selectors._selector import Selector, certificate_of, content_with, default_mean, generator
from protosieve.selectors._sievestreaming import SieveStreaming
from protosieve.selectors._streak import Streak
from protosieve.selectors._stream import Saved, Standing

# All there are. What each is called, and how, its class says; this line is where others learn of it.
SELECTORS: tuple[type[Selector], ...] = (
    MMDCritic, ProtoBasic, ProtoDash, ProtoStream, ProtoSwap, SieveStreaming, Streak,
)  # fmt: skip

__all__ = [
    "NO_ROWS",
    "SELECTORS",
    "SHORTEST",
    "BatchSelector",
    "Beside",
    "Best",
    "MMDCritic",
    "NothingToChooseError",
    "ProtoBasic",
    "ProtoDash",
    "ProtoStream",
    "ProtoSwap",
    "Quotas",
    "Rule",
    "Saved",
    "Selector",
    "SieveStreaming",
    "Standing",
    "Streak",
    "StreamSelector",
    "as_rows",
    "certificate_of",
    "column_names",
    "content_with",
    "default_mean",
    "generator",
    "load",
    "lock_of",
    "nearest_for",
    "new_rows",
    "remember_columns",
    "restored",
    "rows_like",
    "some_rows",
    "target_rows",
    "whole_number",
]
