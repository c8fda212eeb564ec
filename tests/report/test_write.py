"""A report to a file: whole or not at all, and errors before the work."""

import subprocess
import sys

import numpy as np
import pytest

import protosieve
from protosieve import ProtoSwap, _atomic
from protosieve.errors import OutputError, ParameterError


@pytest.fixture
def result():
    return ProtoSwap(n_prototypes=3).fit(np.random.default_rng(0).normal(size=(30, 2))).result_


@pytest.fixture
def page(monkeypatch):
    """A page that is only a title."""
    monkeypatch.setattr("protosieve.report._page.render", lambda data: data["title"].encode())


def test_a_report_is_written_whole(result, page, tmp_path):
    path = tmp_path / "out.html"
    result.report(path, title="mine")
    assert path.read_bytes() == b"mine"
    assert [file.name for file in tmp_path.iterdir()] == ["out.html"]


def test_a_report_that_fails_leaves_what_was_there(result, page, tmp_path):
    path = tmp_path / "out.html"
    path.write_text("before")
    with pytest.raises(ParameterError, match="image_shape must be"):
        result.report(path, image_shape="nothing")
    assert path.read_text() == "before"


@pytest.mark.parametrize(
    ("name", "message"),
    [
        ("out.pdf", "a report is a page; end its name in .html or .htm"),
        ("s3://bucket/out.html", "a report is written to a file on this machine"),
        ("folder.html", "is a folder; give the path of a file"),
        ("none/out.html", "there is no folder"),
    ],
)
def test_a_place_where_no_report_can_be_is_an_error(result, tmp_path, monkeypatch, name, message):
    monkeypatch.chdir(tmp_path)
    (tmp_path / "folder.html").mkdir()
    with pytest.raises(OutputError, match=message):
        result.report(name)


def test_files_are_sampled_as_a_run_samples_them(result, page, tmp_path, monkeypatch):
    asked = []
    monkeypatch.setattr(protosieve.run, "draw_sample", lambda result, files: asked.append(files))
    result.report(tmp_path / "out.html", data=tmp_path / "a.csv")
    result.report(tmp_path / "out.html", data=["b.csv", "c.csv"])
    assert asked == [[str(tmp_path / "a.csv")], ["b.csv", "c.csv"]]


def test_an_insight_needs_no_more_than_the_numeric_core():
    code = (
        "import sys; sys.modules.update(pyarrow=None, PIL=None, matplotlib=None, rich=None)\n"
        "import numpy as np; from protosieve import ProtoSwap; from protosieve.insight import View, describe\n"
        "X = np.random.default_rng(0).normal(size=(50, 4))\n"
        "print(describe(ProtoSwap(n_prototypes=3).fit(X).result_, X, View(image_shape='2x2')).title)"
    )
    said = subprocess.run([sys.executable, "-c", code], capture_output=True, text=True, check=True)
    assert said.stdout.strip() == "3 of 50 rows"


def test_a_full_disk_is_an_error_that_says_so(result, page, tmp_path, monkeypatch):
    def full(path):
        raise OSError(28, "No space left on device")

    monkeypatch.setattr(_atomic, "replacing", full)
    with pytest.raises(OutputError, match="cannot be written: No space left on device; whatever stood there before"):
        result.report(tmp_path / "out.html")
