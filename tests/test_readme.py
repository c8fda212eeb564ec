"""What the README prints works as printed."""

import re
import subprocess
import sys
from pathlib import Path

ROOT = Path(__file__).parents[1]
README = (ROOT / "README.md").read_text()


def test_the_first_example_runs(capsys):
    example = re.search(r"```python\n(.*?)```", README, re.DOTALL).group(1)
    assert len([line for line in example.splitlines() if line.strip()]) <= 12
    exec(compile(example, "README.md", "exec"), {})
    assert "% of what the kernel sees" in capsys.readouterr().out


def test_every_link_leads_somewhere():
    for page in [ROOT / "README.md", ROOT / "CONTRIBUTING.md", *(ROOT / "docs").glob("*.md")]:
        for link in re.findall(r"\]\(([^)#]+)\)", page.read_text()):
            assert (page.parent / link).exists(), f"{page.name}: {link}"


def test_the_demo_runs():
    run = subprocess.run([sys.executable, ROOT / "examples" / "digits.py"], capture_output=True, text=True)
    assert run.returncode == 0, run.stderr
    assert "look most like a prototype of their own kind" in run.stdout
