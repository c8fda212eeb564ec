"""A result: the prototypes, how good they are, and where they came from."""

from protosieve.result._cells import arrow_values
from protosieve.result._certificate import BestOfSize, Certificate
from protosieve.result._origin import OURS, DataSample, Origin, free_name, own_names
from protosieve.result._prototypes import Prototypes
from protosieve.result._trace import Trace

__all__ = [
    "OURS",
    "BestOfSize",
    "Certificate",
    "DataSample",
    "Origin",
    "Prototypes",
    "Trace",
    "arrow_values",
    "free_name",
    "own_names",
]
