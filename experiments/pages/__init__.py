"""What is shown; see `experiments`. A page module has ``tasks(scale)`` and ``page(results, scale)``."""

from experiments.pages import (
    appendix_b1,
    appendix_b2,
    figures_1_2,
    mean,
    orders,
    residual,
    scaling,
    table_1,
    width,
)

__all__ = ["PAGES"]

# in the order of the index: the paper's own, then what we learnt
PAGES = (table_1, figures_1_2, appendix_b1, appendix_b2, width, residual, orders, mean, scaling)
