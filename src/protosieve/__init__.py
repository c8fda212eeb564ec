"""protosieve: the few rows that represent the many, each with a weight, in one pass and fixed memory.

>>> from sklearn.datasets import load_iris
>>> from protosieve import ProtoSwap
>>> X = load_iris().data
>>> ProtoSwap(n_prototypes=10, random_state=0).fit(X).result_.residual < 0.01
True

Names are imported when they are first used (PEP 562): the numeric core takes a second to load, which ``--help`` and a
press of TAB should not wait for.
"""

from importlib import import_module
from typing import TYPE_CHECKING, Any

if TYPE_CHECKING:
    from protosieve._choose_width import WidthChoice, choose_width
    from protosieve._compare import Comparison, compare
    from protosieve._criticisms import Criticisms, criticisms
    from protosieve._prototypes import Certificate, DataSample, Prototypes, Trace
    from protosieve.errors import (
        InputError,
        OutputError,
        ParameterError,
        ProtosieveError,
        ProtosieveWarning,
        StateFileError,
    )
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
    "WidthChoice",
    "choose_width",
    "compare",
    "criticisms",
    "load",
    "select",
]

_HOMES = {
    "_choose_width": ("WidthChoice", "choose_width"),
    "_compare": ("Comparison", "compare"),
    "_criticisms": ("Criticisms", "criticisms"),
    "_prototypes": ("Certificate", "DataSample", "Prototypes", "Trace"),
    "errors": ("InputError", "OutputError", "ParameterError", "ProtosieveError", "ProtosieveWarning", "StateFileError"),
    "run": ("select",),
    "selectors": (
        "MMDCritic", "ProtoBasic", "ProtoDash", "ProtoStream", "ProtoSwap", "SieveStreaming", "Streak", "load",
    ),
}  # fmt: skip
_HOME = {name: module for module, names in _HOMES.items() for name in names}
_ROOMS = (
    "compat",
    "errors",
    "guarantees",
    "io",
    "kernels",
    "means",
    "objectives",
    "passes",
    "plots",
    "preprocess",
    "report",
    "run",
    "selectors",
    "spark",
    "weights",
)


if not TYPE_CHECKING:  # a type checker would take any name for granted

    def __getattr__(name: str) -> Any:
        if name in _ROOMS:
            return import_module(f"protosieve.{name}")
        if name not in _HOME and name != "__version__":
            raise AttributeError(f"module 'protosieve' has no attribute {name!r}")
        globals()[name] = value = _version() if name == "__version__" else _fetched(name)
        return value


def _fetched(name: str) -> Any:
    try:
        return getattr(import_module(f"protosieve.{_HOME[name]}"), name)
    except ModuleNotFoundError as error:
        if name != "select" or error.name != "pyarrow":
            raise
        return _without_pyarrow


def _without_pyarrow(*_: Any, **__: Any) -> None:
    """`select` where only the numeric core is installed: ``import *`` works, calling it says why not."""
    raise ImportError(
        "protosieve.select reads files with pyarrow, which is not installed: pip install 'protosieve[cli]'"
    )


def _version() -> str:
    from importlib.metadata import version

    return version("protosieve")


def __dir__() -> list[str]:
    return sorted([*globals(), *__all__, *_ROOMS, "__version__"])
