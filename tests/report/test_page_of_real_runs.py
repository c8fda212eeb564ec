"""Pages of real runs in a real browser: what is computed, told and drawn fits together."""

import re
import subprocess
import sys

import numpy as np
import pandas as pd
import pytest

import protosieve
from browsers import grave_findings, shown_cards

pytestmark = [pytest.mark.thorough, pytest.mark.xdist_group("browser")]

OPTIONS = {
    "table": {"label": "churn", "id": "name", "text": "note"},
    "sample": {"sample": 500, "id": ["name", "note"]},
    "target": {"target": "target.csv", "id": ["name", "note"], "label": "churn"},
    "equal": {"method": "sieve", "id": ["name", "note"]},
    "places": {"coordinates": ["age", "income"], "id": ["name", "note"]},
}


def _customers(rows, seed):
    rng = np.random.default_rng(seed)
    since = np.datetime64("2010-01-01") + rng.integers(0, 5000, rows).astype("m8[D]")
    return pd.DataFrame(
        {
            "name": [f"<b>customer</b> {i}" for i in range(rows)],
            "age": rng.integers(18, 90, rows),
            "income": np.exp(rng.normal(10, 0.6, rows)).round(2),
            "job": rng.choice(["clerk", "nurse", "<script>window.harmed = 1</script>"], rows),
            "since": since.astype("M8[s]"),
            "note": [f"who called {k} times about the terms of a contract" for k in rng.integers(0, 9, rows)],
            "churn": rng.choice(["yes", "no", ""], rows),
        }
    )


@pytest.fixture(scope="module")
def pages(tmp_path_factory):
    """The results of runs over one table, and their pages."""
    folder = tmp_path_factory.mktemp("runs")
    _customers(3000, 0).to_csv(folder / "rows.csv", index=False)
    _customers(1000, 1).to_csv(folder / "target.csv", index=False)
    made = {}
    for name, options in OPTIONS.items():
        given = {key: folder / value if key == "target" else value for key, value in options.items()}
        page = folder / f"{name}.html"
        made[name] = protosieve.select(folder / "rows.csv", 15, report=page, **given), page
    return made


@pytest.mark.parametrize("name", OPTIONS)
def test_the_page_of_a_run_shows_its_result(pages, visit, name):
    result, file = pages[name]
    window = visit()
    page = window.open(file)
    assert len(shown_cards(page)) == len(result)
    assert f"{len(result)} of 3,000 rows" in page.locator("h1").inner_text()
    assert window.said == []
    assert window.asked == [file.as_uri()]
    assert page.evaluate("window.harmed") is None
    assert grave_findings(page) == []
    window.resize(320)
    assert page.evaluate("document.documentElement.scrollWidth") <= 320


def test_dates_are_shown_as_dates(pages, visit):
    page = visit().open(pages["table"][1])
    text = page.locator("#coverage").inner_text()
    assert re.search(r"\b20[12]\d-\d\d-\d\d\b", text)
    assert "10⁹" not in text


def test_a_run_that_goes_on_is_followed_by_its_page(visit, tmp_path):
    command = [sys.executable, "-m", "protosieve", "select", "-", "-m", "6", "--format", "jsonl", "--watch"]
    pipes = {"stdin": subprocess.PIPE, "stdout": subprocess.DEVNULL, "stderr": subprocess.PIPE}
    with subprocess.Popen(command, cwd=tmp_path, text=True, **pipes) as process:
        page = visit().page
        page.goto(process.stderr.readline().split()[-1])
        page.get_by_text("Waiting for the first rows").wait_for()
        rng = np.random.default_rng(0)
        rows = rng.normal(size=(20_000, 2)).round(4).tolist()
        process.stdin.write("".join(f'{{"x": {x}, "y": {y}}}\n' for x, y in rows))
        process.stdin.flush()
        page.locator("#cards > li").first.wait_for()
        assert len(shown_cards(page)) == 6
        process.stdin.close()
        page.get_by_text("The run is over").wait_for()
        assert process.wait(60) == 0
    assert (tmp_path / "prototypes.html").exists()
