"""The paper's section 6 and appendix B on this code, beside the printed figures: ``python -m experiments``.

`measures/` computes: functions of plain values, run once and remembered. `pages/` shows: each module names the tasks it
needs and makes a page of Markdown, figures and tables of what they returned. `__main__` runs the one, then the other.
"""
