"""protosieve: the few rows that represent the many, each with a weight, in one pass and fixed memory.

>>> from sklearn.datasets import load_iris
>>> from protosieve import ProtoSwap
>>> X = load_iris().data
>>> ProtoSwap(n_prototypes=10, random_state=0).fit(X).result_.residual < 0.001
True
"""

from importlib.metadata import version

from protosieve._compare import Comparison, compare
from protosieve._criticisms import Criticisms, criticisms
from protosieve._prototypes import Certificate, Prototypes, Trace
from protosieve.errors import (
    InputError,
    OutputError,
    ParameterError,
    ProtosieveError,
    ProtosieveWarning,
    StateFileError,
)
from protosieve.selectors import MMDCritic, ProtoBasic, ProtoDash, ProtoStream, ProtoSwap, SieveStreaming, Streak, load

__all__ = [
    "Certificate",
    "Comparison",
    "Criticisms",
    "InputError",
    "MMDCritic",
    "OutputError",
    "ParameterError",
    "ProtoBasic",
    "ProtoDash",
    "ProtoStream",
    "ProtoSwap",
    "ProtosieveError",
    "ProtosieveWarning",
    "Prototypes",
    "SieveStreaming",
    "StateFileError",
    "Streak",
    "Trace",
    "compare",
    "criticisms",
    "load",
]

__version__ = version("protosieve")
