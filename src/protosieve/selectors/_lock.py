"""One lock per selector, for selectors that several threads use.

It is stored outside the selector: copies, clones, pickles and state files do not contain it, and each copy has its own.
"""

import os
import threading
from contextlib import AbstractContextManager
from typing import TypeAlias
from weakref import WeakKeyDictionary

Lock: TypeAlias = AbstractContextManager[object]

_LOCKS: WeakKeyDictionary[object, Lock] = WeakKeyDictionary()


def lock_of(owner: object) -> Lock:
    """The reentrant lock of an object; O(1)."""
    return _LOCKS.setdefault(owner, threading.RLock())  # atomic: no Python code runs inside


# A forked process has one thread: locks that other threads held would never be released.
if hasattr(os, "register_at_fork"):
    os.register_at_fork(after_in_child=_LOCKS.clear)
