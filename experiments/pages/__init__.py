"""What is shown; see `experiments`. A page module has ``tasks(scale)`` and ``page(results, scale)``."""

from experiments.pages import figures_1_2, orders, residual, scaling, table_1, width

__all__ = ["PAGES"]

PAGES = (table_1, figures_1_2, width, residual, orders, scaling)  # in the order of the index
