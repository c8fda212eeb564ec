"""Kernels as plain values: what a result file says of the kernel it was made with."""

import dataclasses
from collections.abc import Mapping
from typing import Any

import numpy as np

from protosieve.errors import InputError, ParameterError
from protosieve.kernels._base import Kernel


def as_plain(kernel: Kernel | None) -> dict[str, Any] | None:
    """Name and parameters, as JSON can hold them; ``None`` for a user's own function, which it cannot.

    >>> from protosieve.kernels import Polynomial
    >>> as_plain(Polynomial(degree=3))
    {'name': 'Polynomial', 'degree': 3, 'offset': 1.0, 'scale': None}
    """
    if type(kernel) not in _kernels().values():
        return None
    fields = dataclasses.fields(kernel)  # type: ignore[arg-type]  # all of these are dataclasses, their base is not
    values = {field.name: getattr(kernel, field.name) for field in fields}
    plain = {name: value.tolist() if isinstance(value, np.ndarray) else value for name, value in values.items()}
    return {"name": type(kernel).__name__, **plain}


def from_plain(stored: object) -> Kernel | None:
    """The inverse of `as_plain`; `InputError` for anything else.

    >>> from_plain({"name": "Gaussian", "width": 2.0, "shift": None})
    Gaussian(width=2.0)
    """
    if stored is None:
        return None
    known = _kernels()
    if not isinstance(stored, Mapping) or stored.get("name") not in list(known):
        raise InputError(f"a kernel must be one of {', '.join(known)} with its parameters, got {stored!r:.80}")
    given = {name: value for name, value in stored.items() if name != "name"}
    try:
        if given.get("shift") is not None:
            given["shift"] = np.array(given["shift"], np.float64)
            _check_shift(given["shift"])
        return known[stored["name"]](**given)
    except (ParameterError, TypeError, ValueError) as error:
        raise InputError(f"the {stored['name']} kernel cannot have these parameters: {error}") from error


def _kernels() -> dict[str, type[Kernel]]:
    from protosieve.kernels import KERNELS  # of which this module is a part

    return {cls.__name__: cls for cls in KERNELS.values()}


def _check_shift(shift: np.ndarray[Any, Any]) -> None:
    if shift.ndim != 1 or not np.isfinite(shift).all():
        raise ValueError("shift must be a list of numbers")
