"""What is shown; see `experiments`. A page module has ``tasks(scale)`` and ``page(results, scale)``."""

from experiments.pages import figures_1_2, table_1

__all__ = ["PAGES"]

PAGES = (table_1, figures_1_2)  # in the order of the index
