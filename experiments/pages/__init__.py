"""What is shown; see `experiments`. A page module has ``tasks(scale)`` and ``page(results, scale)``."""

from experiments.pages import table_1

__all__ = ["PAGES"]

PAGES = (table_1,)  # in the order of the index
