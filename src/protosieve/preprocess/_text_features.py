"""How text becomes numbers: words, pairs of words and pieces of words, weighed and reduced to a few hundred columns.

What is learnt of a sample is a linear map. A text is the sum of its words, each of which is the sum of itself and of
its pieces of 3 to 5 characters, and of its pairs of neighbouring words. A word that comes c times counts 1 + log c. So
a new word, or one that is misspelt, is near those it shares pieces with, and a text costs a few sums for each word.
Nothing is kept by its spelling: features are 64-bit hashes, looked up in a table of those that were frequent.
"""

from base64 import b64decode, b64encode
from collections.abc import Callable, Mapping, Sequence
from dataclasses import dataclass
from typing import Any, NamedTuple

import numpy as np
import pyarrow as pa
import pyarrow.compute as pc
from numpy.typing import NDArray
from scipy.sparse import csr_array

from protosieve._blas import one_thread
from protosieve._state import built, storable
from protosieve._typed import are_finite, require

Hashes = NDArray[np.uint64]
Rows32 = NDArray[np.float32]

COLUMNS = 256
LEARNT_FROM = 8192  # texts
_MOST = 8192  # features of a kind: pieces, and words with pairs of words
_WORDS = 0.8  # what words weigh beside pieces
_PIECES = 3, 4, 5  # characters
_STRIP = 2048  # texts at once
_LONGEST = 4096  # characters that are learnt from
_LEAST = 1e-3  # of the largest singular value
_ROUNDS, _SPARE = 4, 10  # of the search for main axes
_STEPS = 127  # of a coordinate, on each side
_UNSEEN = r"[\x{FE00}-\x{FE0F}\x{200D}]"  # how a sign is drawn, and what joins two
_SEPARATORS = r"[^\p{L}\p{N}\p{M}\p{So}]+"
_WORDS_ALONE = r"([\p{Han}\p{Hiragana}\p{Katakana}\p{So}])"  # of scripts without spaces, and signs such as emoji
_MIXERS = [(30, 0xBF58476D1CE4E5B9), (27, 0x94D049BB133111EB)]
_RADIX = np.uint64(0x9E3779B97F4A7C15)


@storable
@dataclass(frozen=True, eq=False)
class TextFeatures:
    """A table of features, by rising ``hashes``, and what each adds to a text: ``steps`` times ``scale``, a line each.

    The result depends on a text only, not on those beside it, to the last bit. Rows have length one. Texts without a
    known feature, as empty ones are, have a column of their own, the last: they are alike, and like no others.

    >>> texts = pa.array(["the cat sat", "a cat sits", "stocks fell today", "stock prices fall", "the stocks rose"])
    >>> cat, stocks, _ = TextFeatures.learnt(texts).rows(pa.array(["cats sit", "falling stock", None]))
    >>> both = TextFeatures.learnt(texts).rows(texts)
    >>> (both @ cat).argmax() in (0, 1), (both @ stocks).argmax() in (2, 3, 4)
    (True, True)
    """

    hashes: Hashes
    steps: NDArray[np.int8]
    scale: Rows32

    def _check_form(self) -> None:
        n, width = len(self.hashes), len(self.scale)
        require(self.hashes.dtype == np.uint64 and bool((self.hashes[1:] > self.hashes[:-1]).all()), "hashes that rise")
        require(self.steps.dtype == np.int8 and self.steps.shape == (n, width) and width < COLUMNS, "a line for each")
        require(self.scale.dtype == np.float32 and are_finite(self.scale), "finite scales")

    def __deepcopy__(self, memo: object) -> "TextFeatures":
        return self  # nothing in it changes

    @property
    def width(self) -> int:
        """Columns of a text; none where nothing was learnt."""
        return len(self.scale) + bool(len(self.scale))

    def rows(self, cells: pa.Array) -> Rows32:
        """Texts as rows. O(words x columns) time; O(texts x columns) memory."""
        vectors = self.steps * self.scale
        parts = [self._strip(cells[start : start + _STRIP], vectors) for start in range(0, len(cells), _STRIP)]
        return np.concatenate([np.zeros((0, self.width), np.float32), *parts])

    def _strip(self, cells: pa.Array, vectors: Rows32) -> Rows32:
        # sums run by rising hash, so that they do not depend on the texts beside
        counts = _Counts.of(cells)
        found: Rows32 = counts.words @ (self._matrix(counts.parts) @ vectors)
        found += _sublinear(self._matrix(counts.pairs)) @ vectors
        length = np.sqrt(np.einsum("ij,ij->i", found, found))[:, None]
        rows: Rows32 = np.zeros((len(found), self.width), np.float32)
        if self.width:
            np.divide(found, length, out=rows[:, :-1], where=length > 0)
            rows[:, -1:] = length == 0
        return rows

    def _matrix(self, found: "_Found") -> csr_array:
        return found.matrix(self.hashes)

    def as_dict(self) -> dict[str, Any]:
        """Everything, as JSON can hold it."""
        stored = {"hashes": self.hashes.astype("<u8"), "steps": self.steps, "scale": self.scale.astype("<f4")}
        return {name: b64encode(values.tobytes()).decode() for name, values in stored.items()}

    @classmethod
    def from_dict(cls, stored: Mapping[str, str]) -> "TextFeatures":
        """The inverse of `as_dict`; `ValueError`, `KeyError` or `TypeError` for any other dict."""
        hashes, steps, scale = (
            np.frombuffer(b64decode(stored[name], validate=True), dtype)
            for name, dtype in (("hashes", "<u8"), ("steps", "i1"), ("scale", "<f4"))
        )
        fields = {"hashes": hashes.astype(np.uint64), "steps": steps.reshape(len(hashes), len(scale)).copy()}
        made: TextFeatures = built(cls, {**fields, "scale": scale.astype(np.float32)})
        return made

    @classmethod
    def learnt(cls, cells: pa.Array) -> "TextFeatures":
        """From a sample of texts: the most frequent features, weighed by how few texts have them, on the main axes.

        O(rounds columns words), of the first 4,096 characters of each text.
        """
        counts = _Counts.of(pc.utf8_slice_codeunits(_valid(cells), 0, _LONGEST))
        n, table = len(cells), _Table.of(counts)
        if not len(table.hashes):
            return cls(table.hashes, np.zeros((0, 0), np.int8), np.zeros(0, np.float32))
        parts, pairs = counts.parts.matrix(table.hashes), _sublinear(counts.pairs.matrix(table.hashes))
        weights = table.weights(counts.words, parts, pairs, n)
        parts, pairs = parts * weights, pairs * weights
        norms = np.zeros(n)
        for start in range(0, n, _STRIP):
            strip = counts.words[start : start + _STRIP] @ parts + pairs[start : start + _STRIP]
            norms[start : start + _STRIP] = np.sqrt(np.asarray(strip.multiply(strip).sum(axis=1)).ravel())
        per_text = (1 / np.where(norms > 0, norms, 1)).astype(np.float32)[:, None]
        with one_thread():
            axes = _main_axes(counts.words * per_text, parts, pairs * per_text)
        vectors = axes * weights[:, None]
        scale = np.maximum(np.abs(vectors).max(axis=0), np.finfo(np.float32).tiny) / _STEPS
        return cls(table.hashes, np.rint(vectors / scale).astype(np.int8), scale.astype(np.float32))


class SpeltWords(NamedTuple):
    """Each word of each row once: the row, the word's place among the ``spellings``, which differ by more than case.

    A word is spelt as it most often is.

    >>> found = SpeltWords.of([pa.array(["the Cat", "Cat, cat and THE dog"]), pa.array(["", "the bird"])])
    >>> [found.spellings[place] for place in found.places[found.rows == 1]]
    ['the', 'Cat', 'and', 'dog', 'bird']
    """

    rows: NDArray[np.int64]
    places: NDArray[np.int64]
    spellings: list[str]

    @classmethod
    def of(cls, columns: Sequence[pa.Array]) -> "SpeltWords":
        """From columns of text whose rows belong together; O(words)."""
        lists = [_split(cells) for cells in columns]
        rows = np.concatenate([_lines(one) for one in lists])
        coded = pa.concat_arrays([one.flatten().cast(pa.large_string()) for one in lists]).dictionary_encode()
        word = pc.utf8_lower(coded.dictionary).dictionary_encode()
        of_spelling, spelling = word.indices.to_numpy(), coded.indices.to_numpy()
        order = np.lexsort((-np.arange(len(of_spelling)), np.bincount(spelling, minlength=len(of_spelling))))
        best = np.zeros(len(word.dictionary), np.int64)
        best[of_spelling[order]] = order  # the last one stays
        is_word = np.array([text != "" for text in word.dictionary.to_pylist()], np.bool_)[of_spelling][spelling]
        pairs = np.unique((rows * len(best) + of_spelling[spelling])[is_word])
        return cls(pairs // len(best), pairs % len(best), coded.dictionary.take(pa.array(best)).to_pylist())


class _Found(NamedTuple):
    """Features where they were found: the line of each, a word or a text, of so many."""

    lines: NDArray[np.int64]
    features: Hashes
    n_lines: int

    def matrix(self, table: Hashes) -> csr_array:
        """How often each line has each feature of the table."""
        place = np.minimum(np.searchsorted(table, self.features), max(len(table) - 1, 0))
        there = np.flatnonzero(table[place] == self.features) if len(table) else np.zeros(0, np.int64)
        return _matrix(self.lines[there], place[there], (self.n_lines, len(table)))


@dataclass(frozen=True)
class _Counts:
    """The words of texts, the features of each word (itself and its pieces), and the pairs of words of each text."""

    words: csr_array  # texts x different words, which go by rising hash: 1 + log of how often
    own: Hashes  # of each word
    parts: _Found
    pairs: _Found

    @classmethod
    def of(cls, cells: pa.Array) -> "_Counts":
        lists = _split(cells, fold=pc.utf8_lower)
        coded = lists.flatten().dictionary_encode()
        is_word = pc.not_equal(coded.dictionary, "").to_numpy(zero_copy_only=False)
        lines = _lines(lists)
        codes = coded.indices.to_numpy()
        lines, codes = lines[is_word[codes]], codes[is_word[codes]]
        pieces, own = _hashed(coded.dictionary)
        order = np.argsort(own, kind="stable")
        rank = np.empty_like(order)
        rank[order] = np.arange(len(order))
        words = _sublinear(_matrix(lines, rank[codes], (len(lists), len(own))))
        next_to = lines[1:] == lines[:-1]
        pairs = _mixed(own[codes[:-1]] * _RADIX + own[codes[1:]])[next_to]
        every = np.concatenate([rank, rank[pieces.lines]])
        parts = _Found(every, np.concatenate([own, pieces.features]), len(own))
        return cls(words, own, parts, _Found(lines[1:][next_to], pairs, len(lists)))


class _Table(NamedTuple):
    """The features to know, by rising hash: in how many texts each was found, and whether it is a piece of a word."""

    hashes: Hashes
    texts: NDArray[np.int64]
    is_piece: NDArray[np.bool_]

    @classmethod
    def of(cls, counts: _Counts) -> "_Table":
        """The most frequent pieces, and as many words and pairs."""
        hashes, of_part = np.unique(counts.parts.features, return_inverse=True)
        parts = _matrix(counts.parts.lines, of_part, (counts.parts.n_lines, len(hashes)))
        texts = np.zeros(len(hashes), np.int64)
        for start in range(0, counts.words.shape[0], _STRIP):
            texts += np.bincount((counts.words[start : start + _STRIP] @ parts).indices, minlength=len(hashes))
        pairs, of_pair = np.unique(counts.pairs.features, return_inverse=True)
        in_texts = _matrix(counts.pairs.lines, of_pair, (counts.pairs.n_lines, len(pairs)))
        is_piece = ~np.isin(hashes, counts.own)
        pieces = cls(hashes, texts, is_piece)._frequent(is_piece)
        words = cls(
            np.concatenate([hashes[~is_piece], pairs]),
            np.concatenate([texts[~is_piece], np.bincount(in_texts.indices, minlength=len(pairs))]),
            np.zeros((~is_piece).sum() + len(pairs), np.bool_),
        )._frequent()
        found = np.concatenate([pieces.hashes, words.hashes])
        order = np.argsort(found, kind="stable")
        texts = np.concatenate([pieces.texts, words.texts])
        return cls(found[order], texts[order], np.concatenate([pieces.is_piece, words.is_piece])[order])

    def _frequent(self, which: NDArray[np.bool_] | slice = slice(None)) -> "_Table":
        """Those in the most texts: in two at least, if there are any."""
        hashes, texts, is_piece = self.hashes[which], self.texts[which], self.is_piece[which]
        enough = np.flatnonzero(texts >= min(2, int(texts.max(initial=0))))
        order = enough[np.lexsort((hashes[enough], -texts[enough]))[:_MOST]]
        return _Table(hashes[order], texts[order], is_piece[order])

    def weights(self, words: csr_array, parts: csr_array, pairs: csr_array, n: int) -> Rows32:
        """Rare features weigh more; all words and pairs as much as all pieces, or a little less."""
        rare = (np.log((1 + n) / (1 + self.texts)) + 1).astype(np.float32)
        squares = np.zeros(2)
        for start in range(0, n, _STRIP):
            rows = words[start : start + _STRIP] @ (parts * rare) + pairs[start : start + _STRIP] * rare
            per_feature = np.bincount(rows.indices, rows.data.astype(np.float64) ** 2, len(rare))
            squares += per_feature[self.is_piece].sum(), per_feature[~self.is_piece].sum()
        ratio = np.sqrt(squares[0] / squares[1]) if squares.all() else 1.0
        return np.where(self.is_piece, rare, np.float32(_WORDS * ratio) * rare).astype(np.float32)


def _main_axes(words: csr_array, parts: csr_array, pairs: csr_array) -> Rows32:
    """Of the texts ``words @ parts + pairs`` the axes along which they differ most, as columns; a coordinate is divided
    by the square root of its singular value, so that a few common topics do not hide all others.

    By subspace iteration from a fixed start (Halko, Martinsson and Tropp). The product is never formed.
    """
    n, width = pairs.shape
    size = min(COLUMNS - 1 + _SPARE, n, width)
    found = np.random.default_rng(0).standard_normal((width, size)).astype(np.float32)
    for _ in range(_ROUNDS):
        along = np.linalg.qr(words @ (parts @ found) + pairs @ found)[0]
        found = np.linalg.qr(parts.T @ (words.T @ along) + pairs.T @ along)[0]
    _, values, turned = np.linalg.svd(words @ (parts @ found) + pairs @ found, full_matrices=False)
    kept = np.flatnonzero(values > _LEAST * values[0])[: COLUMNS - 1]
    axes: Rows32 = (found @ turned[kept].T) / np.sqrt(values[kept])
    return axes


def _hashed(words: pa.Array) -> tuple[_Found, Hashes]:
    """The pieces of words, which begin and end with a space, and a hash of each word as a whole."""
    padded = [f" {word} " for word in words.to_pylist()]
    points = np.frombuffer("".join(padded).encode("utf-32-le"), np.uint32)
    lengths = np.array([len(word) for word in padded], np.int64)
    ends = np.cumsum(lengths)
    word, place = np.repeat(np.arange(len(padded)), lengths), np.arange(len(points))
    letters = np.append(_mixed(points.astype(np.uint64) + np.uint64(1)), np.zeros(max(_PIECES), np.uint64))
    rolled, lines, features = np.zeros(len(points), np.uint64), [np.zeros(0, np.int64)], [np.zeros(0, np.uint64)]
    for size in range(1, max(_PIECES) + 1):
        rolled = rolled * _RADIX + letters[size - 1 : size - 1 + len(points)]
        if size in _PIECES:
            fits = place + size <= ends[word]
            lines.append(word[fits])
            features.append(_mixed(rolled[fits] + np.uint64(size)))
    power = np.cumprod(np.full(int(lengths.max(initial=0)), _RADIX))  # which wraps around
    sums = np.add.reduceat(letters[: len(points)] * power[place - (ends - lengths)[word]], ends - lengths)
    return _Found(np.concatenate(lines), np.concatenate(features), len(padded)), _mixed(sums)


def _mixed(values: Hashes) -> Hashes:
    """Hashes whose bits all depend on all bits."""
    for shift, factor in _MIXERS:
        values = (values ^ (values >> np.uint64(shift))) * np.uint64(factor)
    return values ^ (values >> np.uint64(31))


def _matrix(lines: NDArray[np.int64], columns: NDArray[np.int64], shape: tuple[int, int]) -> csr_array:
    """How often each pair of a line and a column is there; columns rise within a line."""
    found = csr_array((np.ones(len(lines), np.float32), (lines, columns)), shape)
    found.sum_duplicates()
    return found


def _sublinear(counts: csr_array) -> csr_array:
    counts.data = 1 + np.log(counts.data)
    return counts


def _split(cells: pa.Array, fold: Callable[[pa.Array], pa.Array] = lambda text: text) -> pa.Array:
    """The words of each text; of a text without any an empty one."""
    text = fold(pc.utf8_normalize(_valid(cells), "NFKC"))
    for pattern, by in ((_UNSEEN, ""), (_SEPARATORS, " "), (_WORDS_ALONE, r" \1 ")):
        text = pc.replace_substring_regex(text, pattern, by)
    return pc.utf8_split_whitespace(pc.utf8_trim_whitespace(text).fill_null(""))


def _lines(lists: pa.Array) -> NDArray[np.int64]:
    """The place of the list that each item is in."""
    return np.repeat(np.arange(len(lists)), pc.list_value_length(lists).to_numpy())


def _valid(cells: pa.Array) -> pa.Array:
    """The same, as text that is valid: Parquet does not check it."""
    try:
        cells.validate(full=True)
    except pa.ArrowInvalid:
        raw = cells.cast(pa.binary() if pa.types.is_string(cells.type) else pa.large_binary())
        return pa.array([None if one is None else one.decode("utf-8", "replace") for one in raw.to_pylist()])
    return cells
