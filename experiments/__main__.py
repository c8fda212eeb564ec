"""Run the paper's experiments and write their tables and figures, the printed ones beside them."""

import argparse
import sys
import time
from pathlib import Path

try:
    from experiments._index import SMOKE_WARNING, write_index
    from experiments._progress import reporting
    from experiments._scale import FULL, SMOKE, Data
    from experiments._task import Results, Store, Task
    from experiments._workers import together
    from experiments.measures._data import dataset
    from experiments.pages import PAGES
    from protosieve.errors import ProtosieveError
except ModuleNotFoundError as missing:
    sys.exit(f"{missing.name} is not installed: run `make paper`, or `pip install --group dev -e '.[cli]'` first")

ROOT = Path(__file__).parents[1]
NAMES = [module.__name__.rpartition(".")[2] for module in PAGES]
EXAMPLES = f"""pages: {", ".join(NAMES)}

examples:
  python -m experiments                          everything, into docs/paper; some 15 minutes, seconds when known
  python -m experiments table_1                  one page of it
  python -m experiments --smoke --out /tmp/try   a few rows only, to see that it runs

The data are looked for in the folder that PROTOSIEVE_DATA names. Results wait in --cache until the code changes: a run
that was stopped goes on where it was."""


def main() -> None:
    """Run the tasks of all pages, or of those named, and write the pages."""
    options = parse()
    scale = SMOKE if options.smoke else FULL
    wanted = [module for module, name in zip(PAGES, NAMES, strict=True) if name in (options.pages or NAMES)]
    store, start = Store(options.cache, fresh=options.fresh), time.perf_counter()
    tasks = list(dict.fromkeys(task for module in wanted for task in module.tasks(scale)))
    missing = [task for task in tasks if not store.knows(task)]
    for data in {data for task in missing for data in task.arguments if isinstance(data, Data)}:
        dataset(data)  # what is not there is missed now, not after minutes
    results = run(tasks, store, quiet=options.quiet)
    pages = [module.page(results, scale) for module in wanted]
    for page in pages:
        if options.smoke:
            page.lead(SMOKE_WARNING)
        page.write(options.out)
    if len(wanted) == len(PAGES):
        write_index(pages, scale, options.out)
    if not options.quiet:
        spent = time.perf_counter() - start
        print(
            f"{len(tasks)} results, {len(missing)} of them new, in {spent:.0f} s; {len(pages)} pages in {options.out}"
        )


def parse() -> argparse.Namespace:
    """The options, checked."""
    parser = argparse.ArgumentParser(
        prog="python -m experiments",
        description=__doc__,
        epilog=EXAMPLES,
        formatter_class=argparse.RawDescriptionHelpFormatter,
    )
    parser.add_argument("pages", nargs="*", metavar="page", help="which pages; by default all, and their index")
    parser.add_argument("--out", type=Path, help="where pages go (docs/paper; with --smoke, smoke in the cache)")
    parser.add_argument("--cache", type=Path, default=ROOT / ".paper", help="where results are kept (.paper)")
    parser.add_argument("--fresh", action="store_true", help="compute all results anew, whatever is kept")
    parser.add_argument("--smoke", action="store_true", help="a few rows only, to see that it runs")
    parser.add_argument("--quiet", action="store_true", help="say nothing unless it fails")
    options = parser.parse_args()
    if unknown := sorted(set(options.pages) - set(NAMES)):
        parser.error(f"no page is called {', '.join(unknown)}; there are {', '.join(NAMES)}")
    if options.out is None:
        options.out = options.cache / "smoke" if options.smoke else ROOT / "docs" / "paper"
    for word in ("cache", "out"):
        folder = getattr(options, word)
        try:
            folder.mkdir(parents=True, exist_ok=True)
        except OSError as error:
            parser.error(f"--{word}: {folder} cannot be a folder to write to ({error.strerror}); name another")
    return options


def run(tasks: list[Task], store: Store, *, quiet: bool = False) -> Results:
    """The results of different tasks, told of on the way: first those that need not be alone, beside each other."""
    beside = [task for task in tasks if not (task.alone or store.knows(task))]
    results = {}
    known = [task for task in tasks if store.knows(task)]
    with reporting(len(tasks), quiet=quiet) as report:
        for task in known:
            report(task, known=True)
            results[task] = store.result(task)
        for task, result in together(beside, store):
            report(task, known=False)
            results[task] = result
        for task in tasks:
            if task not in results:
                report(task, known=False)
                results[task] = store.result(task)
    return results


if __name__ == "__main__":
    try:
        main()
    except ProtosieveError as error:
        sys.exit(f"{error}")
    except KeyboardInterrupt:
        print("\nStopped. What was done is kept: the same command goes on from there.", file=sys.stderr)
        sys.exit(130)
