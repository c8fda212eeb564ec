"""Stories as the report's page gets them, made by hand: digits, a table, texts, a hostile one, a bare one, a large one."""

import base64
import struct
import zlib
from typing import Any

import numpy as np
from sklearn.cluster import KMeans
from sklearn.datasets import load_digits

Story = dict[str, Any]

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
    "{{story}} ${1+1} `x`",
)


def png(pixels: np.ndarray) -> str:
    """A grey picture as a data address."""
    height, width = pixels.shape
    lines = b"".join(b"\0" + bytes(line) for line in pixels.astype(np.uint8))
    chunks = [
        (b"IHDR", struct.pack(">2I5B", width, height, 8, 0, 0, 0, 0)),
        (b"IDAT", zlib.compress(lines, 9)),
        (b"IEND", b""),
    ]
    body = b"".join(struct.pack(">I", len(d)) + k + d + struct.pack(">I", zlib.crc32(k + d)) for k, d in chunks)
    return "data:image/png;base64," + base64.b64encode(b"\x89PNG\r\n\x1a\n" + body).decode()


def card(row: int, weight: float | None, **more: Any) -> Story:
    empty = dict.fromkeys(("file", "share", "label", "image", "no_image", "text", "at"))
    return {"row": row, "weight": weight, "around": [], "differs": [], "fields": [], **empty, **more}


def bare() -> Story:
    """All that may be null is."""
    return {
        "format": 1,
        "title": "2 rows",
        "version": "0.1.0",
        "state": None,
        "summary": [{"name": "Rows", "value": "2", "note": None}],
        "quality": {"sentences": ["Nothing is known of them."], "figures": [], "curve": None, "no_curve": None},
        "cards": [card(0, 0.5), card(1, 0.5)],
        "criticisms": None,
        "map": None,
        "coverage": {"sentence": "", "shares": None, "labels": None, "features": None},
        "stream": None,
        "again": {"command": None, "files": [], "details": [], "parameters": {}},
    }


def digits(m: int = 20, points: int = 1797, seed: int = 0) -> Story:
    """The rows nearest to k-means centres of scikit-learn's digits, with pictures."""
    X, y = load_digits(return_X_y=True)
    chosen, shares = _chosen(X, m, seed)
    near = np.square(X[:, None] - X[chosen][None]).sum(2).argmin(1) if m <= 100 else np.arange(len(X)) % m
    flat = (X - X.mean(0)) @ np.linalg.svd(X - X.mean(0), full_matrices=False)[2][:2].T
    cards = [
        card(
            int(row), float(shares[i]) * 0.93, share=float(shares[i]), label=str(y[row]), image=_digit(X[row]), at=flat[row].tolist(),
            file=f"part-{row % 3}.parquet", around=_around(y[near == i]), fields=[["image id", f"image {row:04d}"], ["writer", f"w{row % 43}"]],
        )
        for i, row in enumerate(chosen)
    ]  # fmt: skip
    dots = [[*map(float, flat[i % 1797] + i // 1797), int(y[i % 1797]), int(near[i % 1797])] for i in range(points)]
    missed = [
        card(int(r), None, label=str(y[r]), image=_digit(X[r]), witness=w)
        for r, w in zip((5, 77, 130, 411), (0.012, 0.009, 0.006, -0.004), strict=True)
    ]
    return {
        **bare(),
        "title": f"{m} of 1,797 rows",
        "summary": [
            {"name": "Rows", "value": "1,797", "note": "3 files in digits"},
            {"name": "Columns", "value": "64 numbers", "note": "as they are; label: digit"},
            {"name": "Method", "value": "ProtoSwap", "note": "one pass, exchanges, then optimal weights"},
            {"name": "Prototypes", "value": str(m), "note": None},
            {"name": "Kernel", "value": "Gaussian, width 31.4", "note": "the median distance of 1,797 rows"},
            {"name": "Sample", "value": "1,797 rows", "note": "all of them: map, coverage and shares are exact"},
        ],
        "quality": _quality(m, 0.0031, 0.0164),
        "cards": cards,
        "criticisms": {"sentence": "Four rows that the prototypes explain worst.", "cards": missed},
        "map": {"axes": ["PC 1, 15 % of the variance", "PC 2, 14 % of the variance"], "points": dots, "labels": [str(k) for k in range(10)], "sentence": "Two directions show 29 % of the variance."},
        "coverage": {
            "sentence": f"Half of the data is nearest to {m * 2 // 5} of the {m} prototypes.",
            "shares": shares.tolist(),
            "labels": {"name": "digit", "values": _labels(y, y[chosen], shares), "more": 0},
            "features": {"sentence": "All 64 features are matched within 14 %.", "total": 64, "items": [_number(f"pixel {k}", X[:, k], X[chosen, k]) for k in range(8, 40)]},
        },
        "stream": _stream(40, 1797),
        "again": {
            "command": "protosieve select digits/ -m 20 --label digit --image-shape 8x8 --seed 0 -o prototypes.parquet --report digits.html",
            "files": [{"name": f"digits/part-{k}.parquet", "size": 41_234 + k} for k in range(3)],
            "details": [["seed", "0"], ["protosieve", "0.1.0"], ["numpy", "2.1.0"], ["python", "3.11.9"], ["seconds", "1.8"]],
            "parameters": {"m": m, "method": "swap", "kernel": "gaussian", "width": "median", "label": "digit", "image_shape": [8, 8], "text": None},
        },
    }  # fmt: skip


def mixed() -> Story:
    """A table of numbers and categories, with what makes each row differ; no picture, no text, two labels."""
    rng = np.random.default_rng(1)
    weights = np.sort(rng.dirichlet(np.full(36, 2.0)))[::-1]
    names = ["age", "income", "hours per week", "capital gain", "years of education"]
    cards = [
        card(
            int(rng.integers(48_842)), float(w), share=float(w), label=["≤ 50K", "> 50K"][int(rng.random() < 0.3)], at=rng.normal(size=2).tolist(),
            around=[["≤ 50K", 0.8], ["> 50K", 0.2]],
            differs=[{"name": n, "value": f"{rng.integers(1, 99)}", "usual": f"{rng.integers(1, 99)}", "by": float(rng.normal(0, 1.5))} for n in rng.permutation(names)[:4]],
            fields=[["id", f"p{rng.integers(10**6)}"], ["workclass", "Private"], ["occupation", "Craft-repair"], ["country", "United-States"], ["sex", "Female"]],
        )
        for w in weights
    ]  # fmt: skip
    shares = [
        {"value": v, "data": d, "prototypes": p}
        for v, d, p in [
            ("Private", 0.7, 0.64),
            ("Self-emp-not-inc", 0.08, 0.1),
            ("Local-gov", 0.06, 0.08),
            ("?", 0.05, 0.03),
        ]
    ]
    features = [
        {"name": "workclass", "kind": "category", "distance": 0.11, "values": shares, "more": 5},
        _number("capital gain", rng.exponential(900, 4000), rng.exponential(500, 36), 0.09),
        _number("age", rng.normal(38, 13, 4000), rng.normal(40, 12, 36), 0.07),
        _number("hours per week", rng.normal(40, 12, 4000), rng.normal(41, 9, 36), 0.05),
        {
            "name": "native country of the person asked",
            "kind": "category",
            "distance": 0.02,
            "values": [{"value": "United-States", "data": 0.9, "prototypes": 0.92}],
            "more": 40,
        },
    ]
    return {
        **digits(8, 100),
        "title": "36 of 48,842 rows",
        "quality": {**_quality(36, 0.041, 0.117), "curve": {**_quality(36, 0.041, 0.117)["curve"], "random": None}},
        "cards": cards,
        "criticisms": None,
        "map": {"axes": ["PC 1, 21 %", "PC 2, 12 %"], "points": [[*rng.normal(size=2).tolist(), int(rng.random() < 0.24), int(rng.integers(36))] for _ in range(1500)], "labels": ["≤ 50K", "> 50K"], "sentence": "Two directions show 33 % of the variance."},
        "coverage": {
            "sentence": "Half of the data is nearest to 11 of the 36 prototypes.",
            "shares": weights.tolist(),
            "labels": {"name": "income", "values": [{"value": "≤ 50K", "data": 0.76, "count": 26, "weight": 0.74, "share": 0.75}, {"value": "> 50K", "data": 0.24, "count": 10, "weight": 0.26, "share": 0.25}], "more": 0},
            "features": {"sentence": "The worst matched is workclass, by 11 %.", "total": 14, "items": features},
        },
        "stream": {**_stream(200, 48_842), "accepted": None, "exchanged": None},
    }  # fmt: skip


INTENTS = (
    "card arrival",
    "exchange rate",
    "lost or stolen card",
    "top up failed",
    "refund not showing up",
    "pending cash withdrawal",
)


def texts() -> Story:
    """Questions to a bank: long and short, of many labels, without the data's own labels."""
    rng = np.random.default_rng(2)
    asked = [
        "How do I know when my card will come?",
        "What is the rate for changing pounds into euros today, and does it differ at weekends?",
        "Help, my card was stolen yesterday on the train and somebody has already paid with it in three shops. What do I do now, and will I get the money back?",
        "top up didn't work",
        "I returned a coat two weeks ago and the refund is still not there.",
    ]
    labels = [f"{INTENTS[k % 6]} {k // 6 or ''}".strip() for k in range(30)]
    weights = np.sort(rng.dirichlet(np.full(60, 3.0)))[::-1]
    cards = [
        card(
            int(rng.integers(13_083)),
            float(w),
            share=float(w),
            label=labels[i % 30],
            text=asked[i % 5],
            at=rng.normal(size=2).tolist(),
            around=[[labels[i % 30], 0.7], ["other", 0.3]],
        )
        for i, w in enumerate(weights)
    ]
    values = [{"value": label, "data": None, "count": 2, "weight": 1 / 30, "share": None} for label in labels[:20]]
    return {
        **digits(8, 100),
        "title": "60 of 13,083 rows",
        "quality": {**_quality(60, 0.27, 0.4), "curve": None, "no_curve": "Weights are equal and there is no sample of the data: what fewer would leave is not known."},
        "cards": cards,
        "criticisms": {"sentence": "What they miss.", "cards": [card(9, None, text=asked[2], label=labels[3], witness=0.02), card(8, None, text=asked[3], witness=-0.01)]},
        "map": {"axes": ["PC 1, 9 %", "PC 2, 7 %"], "points": [[*rng.normal(size=2).tolist(), int(rng.integers(30)), int(rng.integers(60))] for _ in range(2000)], "labels": labels, "sentence": "Two directions show 16 % of the variance."},
        "coverage": {"sentence": "Shares are even.", "shares": None, "labels": {"name": "intent", "values": values, "more": 10}, "features": None},
        "stream": None,
    }  # fmt: skip


def hostile() -> Story:
    """Names, cells, labels and parameters that try to be more than text."""
    story = mixed()
    h = [HOSTILE[i % len(HOSTILE)] for i in range(48)]
    for i, one in enumerate(story["cards"]):
        one.update(
            label=h[i],
            text=h[i + 1] if i % 3 == 0 else None,
            file=h[i + 2],
            fields=[[h[i + 3], h[i + 4]]] * 4,
            around=[[h[i], 0.6], [h[i + 1], 0.4]],
        )
        one.update(
            differs=[{"name": h[i + 5], "value": h[i + 6], "usual": h[i + 7], "by": -9.0}],
            no_image=h[i] if i % 3 == 1 else None,
        )
    story["cards"][0]["image"] = "javascript:window.harmed=1"
    coverage, again = story["coverage"], story["again"]
    coverage.update(
        sentence=h[0],
        labels={
            "name": h[1],
            "values": [{"value": v, "data": 0.1, "count": 1, "weight": 0.1, "share": 0.1} for v in HOSTILE],
            "more": 2,
        },
    )
    coverage["features"]["items"] = [{**item, "name": h[i]} for i, item in enumerate(coverage["features"]["items"])]
    coverage["features"]["items"][0]["values"] = [{"value": v, "data": 0.1, "prototypes": 0.2} for v in HOSTILE]
    again.update(
        command=h[0] + h[8],
        files=[{"name": v, "size": 1} for v in HOSTILE],
        details=[[v, v] for v in HOSTILE],
        parameters={v: [v] for v in HOSTILE} | {"__proto__": "x"},
    )
    story["map"].update(axes=[h[0], h[8]], labels=h[:2], sentence=h[2])
    story["criticisms"] = {"sentence": h[3], "cards": [card(1, None, label=h[0], text=h[1], witness=0.1)]}
    story["stream"] = {**_stream(3, 3), "sentence": h[1]}
    story["quality"].update(sentences=list(h[:3]), figures=[{"name": v, "value": v, "help": v} for v in HOSTILE])
    return {
        **story,
        "title": "".join(HOSTILE[:4]),
        "summary": [{"name": v, "value": v, "note": v} for v in HOSTILE],
        "version": h[2],
    }


def large() -> Story:
    """500 prototypes with pictures, 2,000 dots."""
    return digits(500, 2000)


STORIES = {"digits": digits, "mixed": mixed, "texts": texts, "hostile": hostile, "bare": bare, "large": large}


def _chosen(X: np.ndarray, m: int, seed: int) -> tuple[np.ndarray, np.ndarray]:
    """Rows and the share of the data at each, largest first."""
    rng = np.random.default_rng(seed)
    if m > 100:
        return rng.choice(len(X), m, replace=False), np.sort(rng.dirichlet(np.full(m, 2.0)))[::-1]
    found = KMeans(m, n_init=1, max_iter=20, random_state=seed).fit(X)
    rows, shares = found.transform(X).argmin(0), np.bincount(found.labels_, minlength=m) / len(X)
    order = np.argsort(-shares)
    return rows[order], shares[order]


def _digit(x: np.ndarray) -> str:
    return png(np.kron(255 - x.reshape(8, 8) * 15.9, np.ones((4, 4))))


def _around(labels: np.ndarray) -> list[list[Any]]:
    counts = np.bincount(labels, minlength=10) / max(1, len(labels))
    return [[str(k), float(counts[k])] for k in np.argsort(-counts)[:3] if counts[k]]


def _labels(data: np.ndarray, chosen: np.ndarray, shares: np.ndarray) -> list[Story]:
    return [{"value": str(k), "data": float(np.mean(data == k)), "count": int(np.sum(chosen == k)), "weight": float(shares[chosen == k].sum()), "share": float(shares[chosen == k].sum())} for k in range(10)]  # fmt: skip


def _number(name: str, data: np.ndarray, chosen: np.ndarray, distance: float = 0.14) -> Story:
    at = [0.05, 0.25, 0.5, 0.75, 0.95]
    return {"name": name, "kind": "number", "distance": distance, "data": np.quantile(data, at).tolist(), "prototypes": np.quantile(chosen, at).tolist()}  # fmt: skip


def _quality(m: int, own: float, random: float) -> Story:
    counts = np.unique(np.linspace(1, m, min(m, 200)).astype(int))
    residual = own * (0.85 / own) ** ((1 - np.log(counts) / np.log(m)) ** 1.3)
    return {
        "sentences": [f"The {m} prototypes carry {100 - 100 * own:.1f} % of what the kernel sees.", f"{m} random rows with the best weights would leave {random / own:.1f} times as much."],
        "figures": [
            {"name": "Residual", "value": f"{own}", "help": "squared MMD that is left, as a share; 0 is perfect"},
            {"name": "MMD", "value": f"{own**0.5:.4f}", "help": "distance of the two mean embeddings"},
            {"name": "Certificate", "value": "≥ 99.2 %", "help": "of what any set of as many rows could carry"},
            {"name": "Random rows", "value": f"{random}", "help": "residual of as many random rows, mean of 10 draws"},
        ],
        "curve": {"count": counts.tolist(), "residual": residual.tolist(), "kept": m, "own": own, "random": random, "sentence": f"With {m * 3 // 5} of them 99 % would be carried; the last five add 0.1 %."},
        "no_curve": None,
    }  # fmt: skip


def _stream(looks: int, rows: int) -> Story:
    seen = np.linspace(rows / looks, rows, looks).astype(int)
    accepted = 20 + np.cumsum(np.linspace(3, 0, looks).astype(int))
    return {"rows": seen.tolist(), "residual": (0.0031 + 0.5 * np.exp(-np.linspace(0, 6, looks))).tolist(), "accepted": accepted.tolist(), "exchanged": (accepted - 20).tolist(), "sentence": "Most exchanges were made early; the last third of the rows changed little."}  # fmt: skip
