"""Selectors to files and back."""

import os
from typing import Any

from protosieve import _state
from protosieve.errors import StateFileError
from protosieve.selectors._base import StreamSelector
from protosieve.selectors._stream import Saved


def load(path: str | os.PathLike[str]) -> Any:
    """A selector from a file written by its ``save``, ready to go on where it stopped, bit for bit.

    >>> import os, tempfile
    >>> import numpy as np
    >>> from protosieve import ProtoStream, load
    >>> X = np.random.default_rng(0).normal(size=(300, 2))
    >>> selector = ProtoStream(n_prototypes=5, random_state=0).partial_fit(X[:150])
    >>> with tempfile.TemporaryDirectory() as folder:
    ...     selector.save(os.path.join(folder, "run.npz"))
    ...     again = load(os.path.join(folder, "run.npz"))
    >>> whole = ProtoStream(n_prototypes=5, random_state=0).partial_fit(X)
    >>> bool((again.partial_fit(X[150:]).weights_ == whole.weights_).all())
    True
    """

    def made(saved: Any) -> StreamSelector[Any, Any]:
        if not isinstance(saved, Saved) or saved.selector not in _selectors():
            found = saved.selector if isinstance(saved, Saved) else type(saved).__name__
            raise StateFileError(
                f"{path}: holds a {found}, which is no selector of protosieve; load it with what wrote it"
            )
        return restored(saved)

    return _state.read(path, made)


def restored(saved: Saved) -> StreamSelector[Any, Any]:
    """The selector a saved value is of; an error of any kind where it could not go on from there."""
    selector = _selectors()[saved.selector](**saved.parameters)
    selector._restore(saved)
    return selector


def _selectors() -> dict[str, type[StreamSelector[Any, Any]]]:
    from protosieve.selectors import SELECTORS  # of which `load` is a part

    return {cls.__name__: cls for cls in SELECTORS if issubclass(cls, StreamSelector)}
