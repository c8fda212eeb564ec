"""What is shown; see `experiments`. A page module has ``tasks(scale)`` and ``page(results, scale)``."""

from experiments.pages import appendix_b1, appendix_b2, figures_1_2, mean, table_1

__all__ = ["PAGES"]

PAGES = (table_1, figures_1_2, appendix_b1, appendix_b2, mean)  # in the order of the index
