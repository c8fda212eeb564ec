"""The report: what a run chose, how well it stands for the data and how to run it again, as one page."""

from protosieve.report._page import render

__all__ = ["render"]
