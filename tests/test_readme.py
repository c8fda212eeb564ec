"""What the README prints works as printed."""

import re
import shlex
from pathlib import Path

from terminals import call

ROOT = Path(__file__).parents[1]
README = (ROOT / "README.md").read_text()
GUIDE = (ROOT / "docs" / "command-line.md").read_text()


def test_the_first_example_runs(capsys):
    example = re.search(r"```python\n(.*?)```", README, re.DOTALL).group(1)
    assert len([line for line in example.splitlines() if line.strip()]) <= 12
    exec(compile(example, "README.md", "exec"), {})
    assert "% of what the kernel sees" in capsys.readouterr().out


def test_every_link_leads_somewhere():
    for page in [ROOT / "README.md", ROOT / "CONTRIBUTING.md", *(ROOT / "docs").glob("*.md")]:
        for link in re.findall(r"\]\(([^)#]+)\)", page.read_text()):
            assert (page.parent / link).exists(), f"{page.name}: {link}"


def test_the_demo_runs(tmp_path):
    """And so does what `make demo` runs."""
    assert "$(RUN) -m protosieve demo" in (ROOT / "Makefile").read_text()
    run = call("demo", cwd=tmp_path)
    assert run.returncode == 0, run.stderr
    assert "look most like a prototype of their own kind" in run.stdout
    for page in (README, GUIDE):
        for line in re.search(r"```text\n(.*?)```", page, re.DOTALL).group(1).splitlines():
            assert line in ("", " ...") or line in run.stdout


def test_every_command_it_prints_is_understood(monkeypatch):
    from protosieve.cli import _app

    monkeypatch.setattr(_app, "_later", lambda module, given: module)
    lines = [
        line
        for page in (README, GUIDE)
        for block in re.findall(r"```console\n(.*?)```", page, re.DOTALL)
        for line in block.splitlines()
    ]
    commands = [part for line in lines for part in re.split(r"[|;]", line.split(" # ")[0]) if "protosieve " in part]
    assert len(commands) > 10
    for command in commands:
        words = shlex.split(re.sub(r"[<>] *\S+", "", command[command.index("protosieve ") :]))
        if words[1:2] in (["select"], ["compare"], ["demo"]) and "--help" not in words:
            assert _app.app(words[1:], standalone_mode=False) == f"_{words[1]}", command
