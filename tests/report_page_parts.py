"""Parts that the data of the report's page is made of: pictures, cards, curves, distributions."""

import base64
import struct
import zlib
from typing import Any

import numpy as np
from sklearn.cluster import KMeans

PageData = dict[str, Any]

HOSTILE = (
    "<script>window.harmed=1</script>",
    '"><img src=x onerror="window.harmed=1">',
    "</script><script>window.harmed=1</script>",
    "<!-- <script>",
    "]]>&lt;b&gt;",
    "javascript:window.harmed=1",
    "\u202eright to left\u202c עברית",
    "👩‍👩‍👧‍👦" * 30,
    "W" * 300,
    "line\u2028and\u2029line",
    "half \ud83d of a character",
    "{{report}} ${1+1} `x`",
)


def png(pixels: np.ndarray) -> str:
    """A grey picture as a data address."""
    height, width = pixels.shape
    lines = b"".join(b"\0" + bytes(line) for line in pixels.astype(np.uint8))
    head = struct.pack(">2I5B", width, height, 8, 0, 0, 0, 0)
    chunks = [(b"IHDR", head), (b"IDAT", zlib.compress(lines, 9)), (b"IEND", b"")]
    body = b"".join(struct.pack(">I", len(d)) + k + d + struct.pack(">I", zlib.crc32(k + d)) for k, d in chunks)
    return "data:image/png;base64," + base64.b64encode(b"\x89PNG\r\n\x1a\n" + body).decode()


def digit(pixels: np.ndarray) -> str:
    return png(np.kron(255 - pixels.reshape(8, 8) * 15.9, np.ones((4, 4))))


def card(row: int, weight: float | None, **more: Any) -> PageData:
    empty = dict.fromkeys(("file", "share", "label", "image", "no_image", "text"))
    return {"row": row, "weight": weight, "around": [], "differs": [], "fields": [], **empty, **more}


def chosen(X: np.ndarray, m: int, seed: int) -> tuple[np.ndarray, np.ndarray]:
    """Rows near k-means centres (any rows, where there are many) and the share of the data at each, largest first."""
    rng = np.random.default_rng(seed)
    if m > 100:
        return rng.choice(len(X), m, replace=False), np.sort(rng.dirichlet(np.full(m, 2.0)))[::-1]
    found = KMeans(m, n_init=1, max_iter=20, random_state=seed).fit(X)
    rows, shares = found.transform(X).argmin(0), np.bincount(found.labels_, minlength=m) / len(X)
    order = np.argsort(-shares)
    return rows[order], shares[order]


def around(labels: np.ndarray) -> list[list[Any]]:
    counts = np.bincount(labels, minlength=10) / max(1, len(labels))
    first = [[str(k), float(counts[k])] for k in np.argsort(-counts)[:3] if counts[k]]
    return [*first, [None, max(0.0, 1 - sum(share for _, share in first))]]


def label(value: str, data: float | None, count: int, weight: float, share: float | None) -> PageData:
    return {"value": value, "data": data, "prototypes": weight, "count": count, "nearest": share}


def number(name: str, data: np.ndarray, protos: np.ndarray, distance: float = 0.14) -> PageData:
    at = [0.05, 0.25, 0.5, 0.75, 0.95]
    quantiles = {"data": np.quantile(data, at).tolist(), "prototypes": np.quantile(protos, at).tolist()}
    return {"name": name, "kind": "number", "distance": distance, **quantiles}


def category(name: str, distance: float, more: int, *values: tuple[str, float, float]) -> PageData:
    shares = [{"value": value, "data": data, "prototypes": protos} for value, data, protos in values]
    return {"name": name, "kind": "category", "distance": distance, "values": shares, "more": more}


def figure(name: str, value: str, meaning: str) -> PageData:
    return {"name": name, "value": value, "help": meaning}


def fact(name: str, value: str, note: str | None) -> PageData:
    return {"name": name, "value": value, "note": note}


def quality(m: int, own: float, random: float | None) -> PageData:
    """A curve that falls to ``own``, with the sentences and figures beside it."""
    counts = np.unique(np.linspace(1, m, min(m, 200)).astype(int))
    residual = own * (0.85 / own) ** ((1 - np.log(counts) / np.log(m)) ** 1.3)
    sentences = [f"The {m} prototypes carry {100 - 100 * own:.1f} % of what the kernel sees."]
    if random:
        times = f"{random / own:.1f} times the error of these prototypes"
        sentences = [f"{m} random rows with the best weights would leave {times}.", *sentences]
    figures = [
        figure("Residual", f"{own}", "squared MMD that is left, as a share; 0 is perfect"),
        figure("MMD", f"{own**0.5:.4f}", "distance of the two mean embeddings"),
        figure("Certificate", "≥ 99.2 %", "of what any set of as many rows could carry"),
        figure("Random rows", f"{random}", "residual of as many random rows, mean of 10 draws"),
    ]
    curve = {"count": counts.tolist(), "residual": residual.tolist(), "own": own, "random": random}
    curve["sentence"] = f"With {m * 3 // 5} of them 99 % would be carried; the last five add 0.1 %."
    told = {"sentences": sentences, "figures": figures, "curve": curve, "no_curve": None}
    lead = f"{random / own:.1f} ×" if random else f"{100 - 100 * own:.1f} %"
    return {"lead": lead, "own": own, "random": random, **told}


def stream(looks: int, rows: int) -> PageData:
    """A residual that falls as rows go by, and exchanges that get rarer."""
    accepted = 20 + np.cumsum(np.linspace(3, 0, looks).astype(int))
    return {
        "rows": np.linspace(rows / looks, rows, looks).astype(int).tolist(),
        "residual": (0.0031 + 0.5 * np.exp(-np.linspace(0, 6, looks))).tolist(),
        "accepted": accepted.tolist(),
        "exchanged": (accepted - 20).tolist(),
        "sentence": "Most exchanges were made early; the last third of the rows changed little.",
    }
