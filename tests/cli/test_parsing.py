"""What the command line says of itself, and what becomes of its words before anything runs."""

import inspect
import re
import shlex
import subprocess
import sys
from pathlib import Path

import pytest

import protosieve
from protosieve._compare import KNOWN
from protosieve.cli import _app, _options
from protosieve.cli._compare import _NOT_OF_SURVEY
from protosieve.cli._flags import command_of, in_flags
from protosieve.cli._options import arguments
from protosieve.cli._options import flags as known_flags
from protosieve.cli._select import _DECIDING
from protosieve.errors import arg
from protosieve.kernels import KERNELS
from protosieve.passes import _options as engine
from protosieve.result.files._write import _LABEL_STUDIO
from protosieve.selectors import SELECTORS, BatchSelector, StreamSelector
from terminals import call, run

SRC = Path(protosieve.__file__).parents[1]
OWN = {
    "quiet",
    "json",
    "watch_at",
    "workers",
    "dask",
    "dry_run",
}  # options of the command, not arguments of the function


def parameters(command):
    return dict(inspect.signature(command).parameters)


def flags(name, command=_app.select):
    """As they are declared; typer keeps the first where its default would be."""
    declared = parameters(command)[name].annotation.__metadata__[0]
    return [declared.default, *declared.param_decls]


def test_the_options_of_select_are_the_arguments_of_the_function():
    assert set(parameters(_app.select)) - OWN == set(parameters(protosieve.select)) - {
        "quiet",
        "progress",
        "executor",
        "window",
    }


def test_the_options_of_compare_are_those_of_select():
    assert set(parameters(_app.compare)) - {"methods"} < set(parameters(_app.select))
    assert set(_NOT_OF_SURVEY) < set(parameters(_app.compare))


def test_an_option_is_called_like_its_argument_but_for_three():
    assert flags("n_prototypes") == ["-m"]
    assert flags("random_state") == ["--seed"]
    assert flags("coordinates") == ["--map"]
    for name in set(parameters(_app.select)) - {"inputs", "n_prototypes", "random_state", "coordinates"}:
        assert flags(name)[0] == f"--{name.replace('_', '-')}"


def test_the_defaults_are_those_of_the_function():
    functions = {
        name: p.default for name, p in parameters(protosieve.select).items() if p.default is not inspect.Parameter.empty
    }
    for name in set(parameters(_app.select)) - OWN - {"inputs", "n_prototypes"}:
        assert str(parameters(_app.select)[name].default) == str(functions[name])


def test_tab_offers_what_the_engine_knows():
    from protosieve.io import _formats
    from protosieve.preprocess import SCALES

    assert tuple(sorted(KERNELS)) == _options.KERNELS
    assert _options.SCALES == tuple(sorted(engine.SCALES)) == tuple(sorted(SCALES))
    assert engine.GOALS == _options.GOALS
    assert tuple(sorted(engine.POLICIES)) == _options.POLICIES
    assert engine.SPLITS == _options.SPLITS
    assert tuple(sorted(_formats.FORMATS)) == _options.FORMATS
    assert _options.OUTPUT_FORMATS == (_LABEL_STUDIO,)


@pytest.mark.parametrize(("declared", "base"), [("_STREAMING", StreamSelector), ("_BATCH", BatchSelector)])
def test_the_names_of_selectors_are_those_their_classes_say(declared, base):
    """Help and TAB have a copy in ``protosieve/__init__.py``: they load no selector. It is the only one."""
    assert getattr(protosieve, declared) == {cls.__name__: cls.method for cls in SELECTORS if issubclass(cls, base)}


def test_tab_offers_the_names_of_selectors():
    assert tuple(sorted(engine.METHODS)) == _options.METHODS
    assert KNOWN == _options.ALL_METHODS


def test_tab_completes_the_last_of_several_methods():
    complete = _options.offer_several(_options.ALL_METHODS)
    assert complete("swap,s") == ["swap,sieve", "swap,streak", "swap,stream"]


@pytest.mark.parametrize(
    ("words", "name", "value"),
    [
        (["-m", "500"], "n_prototypes", 500),
        (["-m", "1%"], "n_prototypes", "1%"),
        (["-m", "5", "--seed", "none"], "random_state", None),
        (["-m", "5", "--seed", "7"], "random_state", 7),
        (["-m", "5", "--width", "2.5"], "width", 2.5),
        (["-m", "5", "--width", "median"], "width", "median"),
        (["-m", "5", "--features", "a,b", "--features", '"c, d"'], "features", ["a", "b", "c, d"]),
        (["-m", "5", "--target", "a,b.csv", "--target", "c.csv"], "target", ["a,b.csv", "c.csv"]),
        (["-m", "5"], "features", None),
        (["-m", "5"], "partition_rows", 250_000),
        (["-m", "5", "--map", '"x, in m",y'], "coordinates", ["x, in m", "y"]),
        (["-m", "5"], "coordinates", None),
    ],
)
def test_a_word_becomes_a_value(monkeypatch, words, name, value):
    monkeypatch.setattr(_app, "_later", lambda module, given: arguments(given))
    given = _app.app(["select", "x.csv", *words], standalone_mode=False)
    assert given[name] == value
    assert given["inputs"] == ["x.csv"]


def test_the_engine_speaks_of_options_the_command_line_has():
    for name in set(parameters(_app.select)) | {"methods"}:
        if name != "inputs":
            command = _app.compare if name == "methods" else _app.select
            assert in_flags(f"select: {arg(name)} must be something") == f"{flags(name, command)[0]} must be something"
    assert in_flags(f"{arg('watch', 'here')} is no port") == f"{flags('watch_at')[0]} here is no port"


def test_every_flag_of_a_message_is_an_option_of_a_command(monkeypatch, tmp_path):
    monkeypatch.setenv("COLUMNS", "300")
    shown = "".join(call(command, "--help", cwd=tmp_path).stdout for command in ("select", "compare", "report"))
    assert set(known_flags().values()) <= set(re.findall(r"(?<!\S)--?[a-z][a-z-]*", shown))


def test_the_command_that_is_told_has_what_decides_the_choice(monkeypatch):
    monkeypatch.setattr(_app, "_later", lambda module, given: given)
    words = ["-m", "1%", "--target", "a b.csv", "--seed", "none", "--id", "name,kind", "--id"]
    words += ['"a,b"', "--day-first", "--kernel", "gaussian", "--width", "2.5"]
    words += ["--partition-rows", "500", "--map", '"x, in m",y']
    more = ["-o", "out.csv", "--quiet", "--workers", "2", "--work", "w", "--report", "page.html", "--method", "swap"]
    given = _app.app(["select", "x.csv", "-", *words, *more], standalone_mode=False)
    assert shlex.split(command_of(given, _DECIDING)) == ["protosieve", "select", "x.csv", "-", *words]


def test_help_needs_nothing_numeric():
    code = (
        "import sys; from protosieve.cli import main; main(['select', '--help']); "
        "sys.exit(bool({'numpy', 'pyarrow', 'sklearn', 'pandas'} & set(sys.modules)))"
    )
    run = subprocess.run([sys.executable, "-c", code], capture_output=True, text=True)
    assert run.returncode == 0
    for word in ("--output", "Exit codes: 0 done", "protosieve select rows.parquet -m 500", "[default: swap]"):
        assert word in run.stdout


def test_help_and_version_are_had_in_both_ways():
    assert "select" in run("--help").stdout
    script = Path(sys.executable).with_name("protosieve")
    shown = subprocess.run([script, "--version"], capture_output=True, text=True)
    assert shown.stdout == f"protosieve {protosieve.__version__}\n"


def test_without_its_dependencies_the_command_says_what_to_install():
    code = f"import sys; sys.path.insert(0, {str(SRC)!r}); from protosieve.cli import main; sys.exit(main(['--help']))"
    run = subprocess.run([sys.executable, "-S", "-c", code], capture_output=True, text=True)
    assert run.returncode == 1
    assert run.stderr == (
        "protosieve: the command line needs filelock and pyarrow and rich and typer, which this Python does not have; "
        "pip install 'protosieve[cli]'\n"
    )


def test_without_pyarrow_the_package_is_whole_but_for_reading_files():
    code = (
        "import sys; sys.modules['pyarrow'] = None\n"
        "from protosieve import *\n"
        "ProtoSwap(2).fit([[1.0], [2.0], [4.0]])\n"
        "for call in (lambda: select('x.csv', 5), lambda: Prototypes.read('x.parquet')):\n"
        "    try:\n        call()\n    except ImportError as error:\n        print(error)"
    )
    run = subprocess.run([sys.executable, "-c", code], capture_output=True, text=True)
    needs = "needs pyarrow, which is not installed: pip install 'protosieve[cli]'"
    assert run.stdout == f"protosieve.run {needs}\nprotosieve.result.files {needs}\n", run.stderr


def test_names_of_the_package_are_found_when_they_are_used():
    assert {*protosieve.__all__, "kernels", "__version__"} <= set(dir(protosieve))
    assert protosieve.kernels.Gaussian(1.0).width == 1.0
    with pytest.raises(AttributeError, match="module 'protosieve' has no attribute 'selekt'"):
        protosieve.selekt  # noqa: B018
