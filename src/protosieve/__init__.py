"""protosieve: the few rows that represent the many, each with a weight, in one pass and fixed memory.

>>> from sklearn.datasets import load_iris
>>> from protosieve import ProtoSwap
>>> X = load_iris().data
>>> ProtoSwap(n_prototypes=10, random_state=0).fit(X).result_.residual < 0.01
True

Names are imported when they are first used (PEP 562): the numeric core takes a second to load, which ``--help`` and a
press of TAB should not wait for.
"""

from pkgutil import iter_modules
from typing import TYPE_CHECKING, Any

from protosieve._doors import opened

if TYPE_CHECKING:
    from protosieve._choose_width import WidthChoice, choose_width
    from protosieve._classifier import PrototypeClassifier
    from protosieve._compare import Comparison, compare
    from protosieve._drift import Drift, DriftAlarm
    from protosieve.errors import (
        InputError,
        OutputError,
        ParameterError,
        ProtosieveError,
        ProtosieveWarning,
        StateFileError,
    )
    from protosieve.insight import Criticisms, criticisms
    from protosieve.result import Certificate, DataSample, Prototypes, Trace
    from protosieve.run import select
    from protosieve.selectors import (
        MMDCritic,
        ProtoBasic,
        ProtoDash,
        ProtoStream,
        ProtoSwap,
        SieveStreaming,
        Streak,
        load,
    )

    __version__: str

__all__ = [
    "Certificate",
    "Comparison",
    "Criticisms",
    "DataSample",
    "Drift",
    "DriftAlarm",
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
    "PrototypeClassifier",
    "Prototypes",
    "SieveStreaming",
    "StateFileError",
    "Streak",
    "Trace",
    "WidthChoice",
    "choose_width",
    "compare",
    "criticisms",
    "load",
    "select",
]

# What selectors are called on the command line, in `select` and `compare`: for help and TAB, which load none of them.
# Each name repeats the ``method`` of its class; a test compares the two.
_STREAMING = {
    "ProtoBasic": "basic", "ProtoStream": "stream", "ProtoSwap": "swap", "SieveStreaming": "sieve", "Streak": "streak",
}  # fmt: skip
_BATCH = {"MMDCritic": "critic", "ProtoDash": "dash"}

_HOMES = {
    "_choose_width": ("WidthChoice", "choose_width"),
    "_classifier": ("PrototypeClassifier",),
    "_compare": ("Comparison", "compare"),
    "_drift": ("Drift", "DriftAlarm"),
    "result": ("Certificate", "DataSample", "Prototypes", "Trace"),
    "errors": ("InputError", "OutputError", "ParameterError", "ProtosieveError", "ProtosieveWarning", "StateFileError"),
    "insight": ("Criticisms", "criticisms"),
    "run": ("select",),
    "selectors": (*_STREAMING, *_BATCH, "load"),
}
_HOME = {name: module for module, names in _HOMES.items() for name in names}
if not TYPE_CHECKING:  # a type checker would take any name for granted

    def __getattr__(name: str) -> Any:
        if name in _HOME or name == "__version__":
            globals()[name] = value = _version() if name == "__version__" else _fetched(name)
            return value
        if name in _rooms():
            return opened(name)
        raise AttributeError(f"module 'protosieve' has no attribute {name!r}")


def _rooms() -> list[str]:
    """The public packages and modules."""
    return [module.name for module in iter_modules(__path__) if not module.name.startswith("_")]


def _fetched(name: str) -> Any:
    try:
        return getattr(opened(_HOME[name]), name)
    except ImportError as error:
        if name != "select":
            raise
        reason = str(error)

    def select(*_: Any, **__: Any) -> None:
        """Where only the numeric core is installed ``import *`` works, and a call of `select` says what is missing."""
        raise ImportError(reason)

    return select


def _version() -> str:
    from importlib.metadata import version

    return version("protosieve")


def __dir__() -> list[str]:
    return sorted([*globals(), *__all__, *_rooms(), "__version__"])
