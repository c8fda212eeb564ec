"""One page about a result: an `Insight` as a value that JSON can hold, and that value as HTML, in a file or live."""

from protosieve.report._live import HERE, Live
from protosieve.report._page import check_report, page_data, render, save_page, write_report

__all__ = ["HERE", "Live", "check_report", "page_data", "render", "save_page", "write_report"]
