"""The page that leads to the others."""

import platform
from pathlib import Path

import matplotlib
import numpy as np
import scipy
import sklearn

import protosieve
from experiments._page import Page, Table
from experiments._scale import SMOKE, Scale

__all__ = ["SMOKE_WARNING", "write_index"]

INTRODUCTION = """
The experiments of *Streaming Methods for Restricted Strongly Convex Functions with Applications to Prototype Selection*
(section 6 and appendix B), run on this code, beside what the paper prints and beside methods it does not have.

```console
make paper                              # all of it, into docs/paper, with a bar: some 15 minutes on two cores
python -m experiments --help            # one page, another folder, a quick try
```

Every page and every figure here was written by that command, and every statement on whether a claim holds is computed
from the numbers next to it. Results are remembered, so a second run takes seconds. All tables are also there as CSV.

What does not depend on the machine: choices, values, residuals and accuracies. Seconds do; compare ratios.
"""
SMOKE_WARNING = "**A smoke run: a few rows only. Nothing here says anything about the paper.**"


def write_index(pages: list[Page], scale: Scale, folder: Path) -> None:
    """``README.md``: what this is, the pages, what became of each claim, and how it was made."""
    made = Page("README", "The paper, reproduced", "")
    if scale is SMOKE:
        made.text(SMOKE_WARNING)
    made.text(INTRODUCTION)
    made.text("## Pages")
    made.text("\n".join(f"- [{page.title}]({page.name}.md): {page.summary}" for page in pages))
    made.text("## Claims, and whether they hold here")
    made.table("claims", _claims(pages))
    made.text("## How it was made")
    made.text(_settings(scale))
    made.text(_versions())
    made.write(folder)


def _claims(pages: list[Page]) -> Table:
    rows = [[c.text, c.verdict, c.seen, f"[{page.title}]({page.name}.md)"] for page in pages for c in page.claims]
    return Table(["claim", "here", "seen", "page"], rows)


def _settings(scale: Scale) -> str:
    sizes = "; ".join(f"{data.title} m = {', '.join(map(str, data.sizes))}" for data in scale.both)
    return (
        "A Gaussian kernel of width 5, epsilon = 0.4, the exact mean and the order of the file, unless a page says "
        "otherwise. MNIST: the 10,000 images known as its test set are the base set, pixels in [0, 1], and the other "
        "60,000 the test set, as in the paper. Letters: the first 16,000 rows, and the last 4,000. "
        f"Sizes: {sizes}. Random rows: {scale.draws} draws."
    )


def _versions() -> str:
    modules = [protosieve, np, scipy, sklearn, matplotlib]
    named = [f"{module.__name__} {module.__version__}" for module in modules]
    return f"Python {platform.python_version()}, {', '.join(named)}."
