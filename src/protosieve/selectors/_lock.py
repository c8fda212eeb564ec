"""One lock per selector, for those that several threads use.

It is kept beside the selector, not in it: copies, clones, pickles and state files know nothing of it, and each copy has
a lock of its own.
"""

import os
import threading
from contextlib import AbstractContextManager
from typing import TypeAlias
from weakref import WeakKeyDictionary

__all__ = ["Lock", "lock_of"]

Lock: TypeAlias = AbstractContextManager[object]

_LOCKS: WeakKeyDictionary[object, Lock] = WeakKeyDictionary()


def lock_of(owner: object) -> Lock:
    """The lock of an object, which a thread that holds it may take again; O(1)."""
    return _LOCKS.setdefault(owner, threading.RLock())  # one step to other threads: no Python code runs inside


# A forked process has one thread: locks that the others held would never be let go.
if hasattr(os, "register_at_fork"):
    os.register_at_fork(after_in_child=_LOCKS.clear)
