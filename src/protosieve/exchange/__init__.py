"""Rows in an exchange set: up to m members, and the algebra by which a newcomer takes the place of one of them."""

from protosieve.exchange._cover_set import CoverSet
from protosieve.exchange._free_set import FreeExchangeSet
from protosieve.exchange._members import Members
from protosieve.exchange._set import ExchangeSet

__all__ = ["CoverSet", "ExchangeSet", "FreeExchangeSet", "Members"]
