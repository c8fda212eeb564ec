"""The pseudo-code as it is printed, a fresh quadratic program whenever it asks for one, against the selectors."""

from benchmarks._literal import literal
from experiments._task import Result, Task
from experiments.measures._judge import KERNEL
from experiments.measures.choose import METHODS

__all__ = ["against_literal", "transcribed"]


def transcribed(method: str, m: int, rows: int) -> Task:
    """The task of `against_literal`."""
    return Task(against_literal, (method, m, rows))


def against_literal(method: str, m: int, rows: int) -> Result:
    """Seconds of a method's transcription and of the method, both without the mean, on the first rows of Letters."""
    return literal(METHODS[method](m, kernel=KERNEL, random_state=0), rows)
