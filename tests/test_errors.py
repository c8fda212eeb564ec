"""What an error says to whom: arguments to those who call Python, flags to those at a command line."""

import ast
import copy
import pickle
import re
import warnings
from pathlib import Path

import pytest

import protosieve
from protosieve.cli._flags import in_flags
from protosieve.cli._options import flags
from protosieve.errors import InputError, Message, ProtosieveError, ProtosieveWarning, arg
from protosieve.run import Stopped

SRC = Path(protosieve.__file__).parent
MODULES = sorted(SRC.rglob("*.py"))
FLAG = re.compile(r"(?<![\w-])(--[a-z]|-[moq]\b)")


def kinds(base=ProtosieveError):
    return [base, *(kind for child in base.__subclasses__() for kind in kinds(child))]


def strings(tree):
    """All but docstrings, which speak of the command line where they like."""
    documented = [node for node in ast.walk(tree) if isinstance(node, ast.Module | ast.ClassDef | ast.FunctionDef)]
    told = {id(node.body[0].value) for node in documented if node.body and isinstance(node.body[0], ast.Expr)}
    for node in ast.walk(tree):
        if isinstance(node, ast.Constant) and isinstance(node.value, str) and id(node) not in told:
            yield node.value


@pytest.mark.parametrize("kind", [*kinds(), ProtosieveWarning])
def test_an_error_is_the_same_after_a_journey_between_processes(kind):
    error = kind(f"rows.csv: column 'x' is odd; leave it out with {arg('exclude', 'my x')}")
    for found in (error, pickle.loads(pickle.dumps(error)), copy.copy(error), copy.deepcopy(error)):
        assert type(found) is kind
        assert str(found) == "rows.csv: column 'x' is odd; leave it out with exclude='my x'"
        assert found.args == (str(found),)
        assert in_flags(found) == "rows.csv: column 'x' is odd; leave it out with --exclude 'my x'"
        assert found.parameter is None


@pytest.mark.parametrize(
    ("message", "parameter", "python", "command"),
    [
        (f"{arg('label')} must be a name", "label", "label must be a name", "--label must be a name"),
        (f"compare: {arg('n_prototypes')} is odd", "n_prototypes", "compare: n_prototypes is odd", "-m is odd"),
        (f"compare: {arg('methods[2]')} is odd", "methods", "compare: methods[2] is odd", "--methods is odd"),
        (f"look at it with {arg('watch', True)}", None, "look at it with watch=True", "look at it with --watch"),
        (f"{arg('n_prototypes', 20)}: too many", "n_prototypes", "n_prototypes=20: too many", "-m 20: too many"),
        (f"{arg('watch', 'x:y')} is no port", "watch", "watch='x:y' is no port", "--watch-at x:y is no port"),
        (f"{arg('window')} must be odd", "window", "window must be odd", "window must be odd"),
        ("select: width=2 of 'n_prototypes'", None, "select: width=2 of 'n_prototypes'", None),
        (f"use {arg('exclude', 'it' + chr(39) + 's')}", None, 'use exclude="it\'s"', "use --exclude 'it'\"'\"'s'"),
        (f"use {arg('exclude', chr(0xFDD1) + '=')}", None, "use exclude='\\ufdd1='", f"use --exclude '{chr(0xFDD1)}='"),
        ("", None, "", ""),
    ],
)
def test_arguments_are_named_as_the_reader_knows_them(message, parameter, python, command):
    error = InputError(message)
    assert error.parameter == parameter
    assert str(error) == python
    assert in_flags(error) == (python if command is None else command)


def test_a_run_that_was_stopped_tells_both():
    stopped = Stopped(2)
    stopped.tell(f"go on with {arg('work', 'DIR')}")
    assert isinstance(stopped, Message)
    assert isinstance(stopped, KeyboardInterrupt)
    assert (str(stopped), in_flags(stopped)) == ("go on with work='DIR'", "go on with --work DIR")


def test_a_warning_is_found_by_what_it_says():
    with warnings.catch_warnings(record=True) as found:
        warnings.simplefilter("always")
        warnings.filterwarnings("ignore", "kept 3 of n_prototypes=20")
        for kept in (3, 4):
            warnings.warn(ProtosieveWarning(f"kept {kept} of {arg('n_prototypes', 20)}"), stacklevel=1)
    assert [str(one.message) for one in found] == ["kept 4 of n_prototypes=20"]


@pytest.mark.parametrize("path", [path for path in MODULES if path.parent.name != "cli"], ids=lambda path: path.stem)
def test_flags_are_known_to_the_command_line_alone(path):
    assert [text for text in strings(ast.parse(path.read_text())) if FLAG.search(text)] == []


def test_an_argument_that_a_message_names_is_one():
    trees = [ast.parse(path.read_text()) for path in MODULES]
    nodes = [node for tree in trees for node in ast.walk(tree)]
    known = {node.arg for node in nodes if isinstance(node, ast.arg)} | {
        node.target.id for node in nodes if isinstance(node, ast.AnnAssign) and isinstance(node.target, ast.Name)
    }
    calls = [node for node in nodes if isinstance(node, ast.Call) and getattr(node.func, "id", None) == "arg"]
    named = {call.args[0].value for call in calls if isinstance(call.args[0], ast.Constant)}
    assert named
    assert named <= known
    assert {"exclude", "work", "bad_rows"} <= named & set(flags())
