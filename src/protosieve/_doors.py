"""Packages that are imported when they are needed: those that import their caller, and those that need an extra."""

from importlib import import_module
from typing import Any

_CLI = ("filelock", "pyarrow")  # comes with the extra ``cli``


def opened(name: str) -> Any:
    """The package ``protosieve.<name>``; where it needs a library that is not installed, an `ImportError` says so."""
    try:
        return import_module(f"protosieve.{name}")
    except ModuleNotFoundError as error:
        if error.name not in _CLI:
            raise
        raise ImportError(
            f"protosieve.{name} needs {error.name}, which is not installed: pip install 'protosieve[cli]'"
        ) from error


def library(name: str, caller: str) -> Any:
    """A library that only ``caller`` needs; where it is not installed, an `ImportError` says so."""
    try:
        return import_module(name)
    except ModuleNotFoundError as error:
        raise ImportError(f"{caller} needs {name}, which is not installed: pip install {name}") from error
