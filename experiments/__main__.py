"""``make paper``: run the paper's experiments and write their pages."""

import argparse
from pathlib import Path

from rich.progress import BarColumn, MofNCompleteColumn, Progress, TextColumn, TimeElapsedColumn

from experiments._page import Page, Table
from experiments._scale import FULL, SMOKE
from experiments._task import Results, Store, Task
from experiments.pages import PAGES

ROOT = Path(__file__).parents[1]


def main() -> None:
    """Run the tasks of all pages, or of those named, and write the pages."""
    parser = argparse.ArgumentParser(prog="python -m experiments", description=__doc__)
    names = [module.__name__.rpartition(".")[2] for module in PAGES]
    parser.add_argument("pages", nargs="*", metavar="page", help=f"of {', '.join(names)}; by default all")
    parser.add_argument("--out", type=Path, default=ROOT / "docs" / "paper", help="where pages go (docs/paper)")
    parser.add_argument(
        "--cache", type=Path, default=ROOT / ".paper", help="where results wait for the next run (.paper)"
    )
    parser.add_argument("--smoke", action="store_true", help="a few rows only, to see that it runs")
    options = parser.parse_args()
    if unknown := set(options.pages) - set(names):
        parser.error(f"no page is called {', '.join(sorted(unknown))}; there are {', '.join(names)}")
    wanted = [module for module, name in zip(PAGES, names, strict=True) if name in (options.pages or names)]
    scale = SMOKE if options.smoke else FULL
    results = run([task for module in wanted for task in module.tasks(scale)], Store(options.cache))
    pages = [module.page(results, scale) for module in wanted]
    for page in pages:
        page.write(options.out)
    if len(wanted) == len(PAGES):
        write_index(pages, options.out)


def run(tasks: list[Task], store: Store) -> Results:
    """All results, with a bar."""
    once, results = list(dict.fromkeys(tasks)), {}
    columns = (TextColumn("{task.description}"), BarColumn(), MofNCompleteColumn(), TimeElapsedColumn())
    with Progress(*columns) as bar:
        line = bar.add_task("", total=len(once))
        for task in once:
            bar.update(line, description=str(task))
            results[task] = store.result(task)
            bar.advance(line)
    return results


def write_index(pages: list[Page], folder: Path) -> None:
    """The page that leads to the others."""
    lines = [f"- [{page.title}]({page.name}.md): {page.summary}" for page in pages]
    judged = Table(
        ["claim", "here", "seen", "page"],
        [[c.text, c.verdict, c.seen, f"[{page.title}]({page.name}.md)"] for page in pages for c in page.claims],
    )
    text = "\n".join(["# The paper, reproduced", "", *lines, "", "## Claims", "", judged.to_markdown()])
    (folder / "README.md").write_text(text + "\n")


if __name__ == "__main__":
    main()
