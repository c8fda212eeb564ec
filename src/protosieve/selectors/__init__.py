"""The selectors: one algorithm, one file, on one loop."""

from protosieve.selectors._base import StreamSelector
from protosieve.selectors._batch import BatchSelector
from protosieve.selectors._files import load
from protosieve.selectors._mmdcritic import MMDCritic
from protosieve.selectors._protobasic import ProtoBasic
from protosieve.selectors._protodash import ProtoDash
from protosieve.selectors._protostream import ProtoStream
from protosieve.selectors._protoswap import ProtoSwap
from protosieve.selectors._sievestreaming import SieveStreaming
from protosieve.selectors._streak import Streak

__all__ = [
    "BatchSelector",
    "MMDCritic",
    "ProtoBasic",
    "ProtoDash",
    "ProtoStream",
    "ProtoSwap",
    "SieveStreaming",
    "Streak",
    "StreamSelector",
    "load",
]
