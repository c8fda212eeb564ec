"""Rows of files as blocks: nothing lost, nothing twice, and every row numbered as it stands in its file."""

import json
import tracemalloc

import numpy as np
import pytest

from protosieve.io import check_schemas, find_sources
from protosieve.passes import Position, read_blocks, rows_per_block
from protosieve.preprocess import Layout

N = 40_000
BAD = [3, 16_384, 30_000, 30_001, N - 1]  # the reader looks at all of them before it gives its first piece


def write_jsonl(path):
    lines = [json.dumps({"a": i}) for i in range(N)]
    for i in BAD:
        lines[i] = "{"
    path.write_text("\n".join(lines))
    return path


def write_csv(path):
    lines = [f"{i},x" for i in range(N)]
    for i in BAD:
        lines[i] += ",y"
    path.write_text("\n".join(["a,b", *lines]))
    return path


def blocks(paths, start=Position()):  # noqa: B008  (it is frozen)
    sources = find_sources(paths)
    layout = Layout.of(check_schemas(sources), features="a")
    return list(read_blocks(sources, layout, ["a"], start, True, lambda: True))


@pytest.mark.parametrize("write", [write_csv, write_jsonl])
def test_rows_left_out_shift_no_numbers_and_are_told_of_in_order(tmp_path, write):
    paths = [write(tmp_path / f"{i}.{write.__name__.removeprefix('write_')}") for i in range(2)]
    found = blocks(paths)
    good = np.setdiff1d(np.arange(N), BAD)
    np.testing.assert_array_equal(np.concatenate([block.rows[:, 0] for block in found]), np.tile(good, 2))
    np.testing.assert_array_equal(np.concatenate([block.numbers for block in found]), [*good, *(N + good)])
    assert sum(block.left_out.count for block in found) == 2 * len(BAD)
    told = [line.split(", row ")[1].split(":")[0] for block in found for line in block.left_out.first]
    assert told == [str(row) for row in BAD] * 2


@pytest.mark.parametrize("write", [write_csv, write_jsonl])
def test_from_the_end_of_any_block_on_the_rest_is_the_same(tmp_path, write):
    paths = [write(tmp_path / f"{i}.{write.__name__.removeprefix('write_')}") for i in range(2)]
    found = blocks(paths)
    for done, block in enumerate(found, 1):
        rest = blocks(paths, block.until)
        assert [(part.until, part.left_out) for part in rest] == [(part.until, part.left_out) for part in found[done:]]
        for mine, theirs in zip(rest, found[done:], strict=True):
            np.testing.assert_array_equal(mine.numbers, theirs.numbers)
            np.testing.assert_array_equal(mine.rows, theirs.rows)


def test_rows_left_out_take_no_memory_however_many_they_are(tmp_path):
    n = 60_000
    np.save(tmp_path / "x.npy", np.where(np.arange(n) % 300 == 0, 1.0, np.nan))
    sources = find_sources(tmp_path / "x.npy")
    layout = Layout.of(sources[0].schema())
    tracemalloc.start()
    (block,) = read_blocks(sources, layout, None, Position(), True, lambda: True)
    peak = tracemalloc.get_traced_memory()[1]
    tracemalloc.stop()
    assert (len(block), block.left_out.count) == (200, n - 200)
    assert peak < 400 * n / 2  # an error message and its place are more than that for half of the rows


def test_blocks_have_one_size_for_so_many_columns():
    assert [rows_per_block(width) for width in (1, 64, 65, 384, 10**6)] == [16384, 16384, 8192, 2048, 512]
