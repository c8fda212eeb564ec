"""Who imports what: packages know each other by what their ``__init__`` offers."""

import ast
from pathlib import Path

import protosieve

ROOT = Path(protosieve.__file__).parent


def imported(path):
    """Modules of ours that a file imports from."""
    for node in ast.walk(ast.parse(path.read_text())):
        if isinstance(node, ast.ImportFrom) and (node.module or "").startswith("protosieve."):
            yield node.module.split(".")[1:]


def test_no_package_imports_the_private_modules_of_another():
    found = [
        f"{path.relative_to(ROOT)}: {'.'.join(module)}"
        for path in ROOT.rglob("*.py")
        for module in imported(path)
        if len(module) > 1 and module[1].startswith("_") and module[0] != path.relative_to(ROOT).parts[0]
    ]
    assert not found
