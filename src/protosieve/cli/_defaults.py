"""The defaults of `protosieve.select`, which are the command line's too."""

import ast
from importlib.resources import files
from typing import Any

__all__ = ["DEFAULTS"]


def _read() -> dict[str, Any]:
    """The keyword arguments of `select` and their defaults, as its source states them.

    Importing it would load NumPy, scikit-learn and pyarrow: a second that ``--help`` and a press of TAB do not have.
    """
    source = files("protosieve").joinpath("_select.py").read_text(encoding="utf-8")
    (select,) = (node for node in ast.parse(source).body if isinstance(node, ast.FunctionDef) and node.name == "select")
    pairs = zip(select.args.kwonlyargs, select.args.kw_defaults, strict=True)
    return {argument.arg: ast.literal_eval(default) for argument, default in pairs if default is not None}


DEFAULTS = _read()
