"""Data as the report's page gets it: digits, a table, texts, and a hostile, a bare and a large one."""

from functools import cache

import numpy as np
from sklearn.datasets import load_digits

from report_page_parts import (
    HOSTILE,
    PageData,
    around,
    card,
    category,
    chosen,
    digit,
    fact,
    figure,
    label,
    number,
    quality,
    stream,
)

_INCOMES = ["≤ 50K", "> 50K"]
_TRAITS = ["age", "income", "hours per week", "capital gain", "years of education"]
_INTENTS = [
    "card arrival",
    "exchange rate",
    "lost or stolen card",
    "top up failed",
    "refund not showing up",
    "cash withdrawal",
]
_ASKED = [
    "How do I know when my card will come?",
    "What is the rate for changing pounds into euros today, and does it differ at weekends?",
    "Help, my card was stolen yesterday on the train and somebody has already paid with it in three shops. "
    "What do I do now, and will I get the money back?",
    "top up didn't work",
    "I returned a coat two weeks ago and the refund is still not there.",
]
_COMMAND = (
    "protosieve select digits/ -m 20 --label digit --image-shape 8x8 --seed 0 -o protos.parquet --report digits.html"
)


def bare() -> PageData:
    """All that may be null is."""
    return {
        "title": "2 rows",
        "version": "0.1.0",
        "state": None,
        "summary": [fact("Rows", "2", None)],
        "quality": {
            **dict.fromkeys(("lead", "own", "random", "curve", "no_curve")),
            "sentences": ["Nothing is known of them."],
            "figures": [],
        },
        "cards": [card(0, 0.5), card(1, 0.5)],
        "criticisms": None,
        "map": None,
        "coverage": {"sentence": "", "shares": None, "labels": None, "features": None},
        "stream": None,
        "rerun": {"command": None, "files": [], "details": [], "parameters": {}},
    }


@cache
def _computed(m: int, seed: int) -> tuple[np.ndarray, ...]:
    """Rows and labels; the chosen rows with their shares; all rows in the plane, and the chosen that is nearest."""
    X, y = load_digits(return_X_y=True)
    rows, shares = chosen(X, m, seed)
    flat = (X - X.mean(0)) @ np.linalg.svd(X - X.mean(0), full_matrices=False)[2][:2].T
    near = (np.square(X).sum(1)[:, None] - 2 * X @ X[rows].T + np.square(X[rows]).sum(1)).argmin(1)
    return X, y, rows, shares, flat, near


def digits(m: int = 20, points: int = 1797, seed: int = 0) -> PageData:
    """Rows of scikit-learn's digits, with pictures."""
    X, y, rows, shares, flat, near = _computed(m, seed)
    held = [(k, y[rows] == k) for k in range(10)]
    return {
        **bare(),
        "title": f"{m} of 1,797 rows",
        "summary": [
            fact("Rows", "1,797", "3 files in digits"),
            fact("Columns", "64 numbers", "as they are; label: digit"),
            fact("Method", "ProtoSwap", "one pass, exchanges, then optimal weights"),
            fact("Prototypes", str(m), None),
            fact("Kernel", "Gaussian, width 31.4", "the median distance of 1,797 rows"),
            fact("Sample", "1,797 rows", "all of them: map, coverage and shares are exact"),
        ],
        "quality": quality(m, 0.0031, 0.0164),
        "cards": [
            card(
                int(row),
                float(shares[i]) * 0.93,
                share=float(shares[i]),
                label=str(y[row]),
                image=digit(X[row]),
                file=f"part-{row % 3}.parquet",
                around=around(y[near == i]),
                fields=[["image id", f"image {row:04d}"], ["writer", f"w{row % 43}"]],
            )
            for i, row in enumerate(rows)
        ],
        "criticisms": {
            "sentence": "Four rows that the prototypes explain worst.",
            "cards": [
                card(r, None, label=str(y[r]), image=digit(X[r]), witness=0.02 - r / 9999, within_chance=r > 99)
                for r in (5, 77, 130, 411)
            ],
        },
        "map": {
            "axes": ["PC 1, 15 % of the variance", "PC 2, 14 % of the variance"],
            "points": [
                [*(flat[i % 1797] + i // 1797).tolist(), int(y[i % 1797]), int(near[i % 1797])] for i in range(points)
            ],
            "labels": [str(k) for k in range(10)],
            "prototypes": flat[rows].tolist(),
            "sentence": "Two directions show 29 % of the variance.",
        },
        "coverage": {
            "sentence": f"Half of the data is nearest to {m * 2 // 5} of the {m} prototypes.",
            "shares": shares.tolist(),
            "labels": {
                "name": "digit",
                "values": [
                    label(
                        str(k),
                        float(np.mean(y == k)),
                        int(own.sum()),
                        float(shares[own].sum()),
                        float(shares[own].sum()),
                    )
                    for k, own in held
                ],
                "more": 0,
            },
            "features": {
                "sentence": "All 64 features are matched within 14 %.",
                "total": 64,
                "items": [number(f"pixel {k}", X[:, k], X[rows, k]) for k in range(8, 40)],
            },
        },
        "stream": stream(40, 1797),
        "rerun": {
            "command": _COMMAND,
            "files": [{"name": f"digits/part-{k}.parquet", "size": 41_234 + k} for k in range(3)],
            "details": [["seed", "0"], ["protosieve", "0.1.0"], ["numpy", "2.1.0"], ["seconds", "1.8"]],
            "parameters": {"m": m, "method": "swap", "kernel": "gaussian", "image_shape": [8, 8], "text": None},
        },
    }


def mixed() -> PageData:
    """A table of numbers and categories, with what makes each row differ; no picture, no text, two labels."""
    rng = np.random.default_rng(1)
    weights = np.sort(rng.dirichlet(np.full(36, 2.0)))[::-1].tolist()
    return {
        **digits(8, 100),
        "title": "36 of 48,842 rows",
        "quality": quality(36, 0.041, None),
        "cards": [
            card(
                int(rng.integers(48_842)),
                weight,
                share=weight,
                label=_INCOMES[int(rng.random() < 0.3)],
                around=[[_INCOMES[0], 0.8], [_INCOMES[1], 0.2]],
                differs=_differs(rng),
                fields=[
                    ["id", f"p{rng.integers(10**6)}"],
                    ["class", "Private"],
                    ["country", "Cuba"],
                    ["sex", "Female"],
                ],
            )
            for weight in weights
        ],
        "criticisms": None,
        "map": _cloud(rng, 1500, 36, _INCOMES),
        "coverage": {
            "sentence": "Half of the data is nearest to 11 of the 36 prototypes.",
            "shares": weights,
            "labels": {
                "name": "income",
                "values": [label(_INCOMES[0], 0.76, 26, 0.74, 0.75), label(_INCOMES[1], 0.24, 10, 0.26, 0.25)],
                "more": 0,
            },
            "features": {
                "sentence": "The worst matched is workclass, by 11 %.",
                "total": 14,
                "items": [
                    category(
                        "workclass", 0.11, 5, ("Private", 0.7, 0.64), ("Self-emp-not-inc", 0.08, 0.1), ("?", 0.05, 0.03)
                    ),
                    number("capital gain", rng.exponential(900, 4000), rng.exponential(500, 36), 0.09),
                    number("age", rng.normal(38, 13, 4000), rng.normal(40, 12, 36), 0.07),
                    category("native country of the person asked", 0.02, 40, ("United-States", 0.9, 0.92)),
                ],
            },
        },
        "stream": {**stream(200, 48_842), "accepted": None, "exchanged": None},
    }


def _differs(rng: np.random.Generator) -> list[PageData]:
    by = np.sort(np.abs(rng.normal(0, 1.5, size=4)))[::-1] * rng.choice([-1, 1], 4)
    names = rng.permutation(_TRAITS)[:4].tolist()
    return [
        {"name": n, "value": f"{38 + 13 * b:.0f}", "usual": "38", "by": float(b)}
        for n, b in zip(names, by, strict=True)
    ]


def texts() -> PageData:
    """Questions to a bank: long and short, of many labels, without the data's own labels."""
    rng = np.random.default_rng(2)
    labels = [f"{_INTENTS[k % 6]} {k // 6 or ''}".strip() for k in range(30)]
    return {
        **digits(8, 100),
        "title": "60 of 13,083 rows",
        "quality": {**quality(60, 0.27, None), "curve": None, "no_curve": "Weights are equal and there is no sample."},
        "cards": [
            card(
                int(rng.integers(13_083)),
                weight,
                share=weight,
                label=labels[i % 30],
                text=_ASKED[i % 5],
                words=["card", "rate", "top-up", "Ausgleich", "送金"][i % 4 :],
                neighbours=[_near(k, text, labels[k]) for k, text in enumerate(_ASKED[: i % 4])],
                around=[[labels[i % 30], 0.7], [None, 0.3]],
            )
            for i, weight in enumerate(np.sort(rng.dirichlet(np.full(60, 3.0)))[::-1].tolist())
        ],
        "criticisms": {
            "sentence": "Two rows.",
            "cards": [card(k, None, text=_ASKED[k], witness=k - 1.5) for k in (1, 2)],
        },
        "map": _cloud(rng, 2000, 60, labels),
        "coverage": {
            **bare()["coverage"],
            "labels": {"name": "intent", "values": [label(v, None, 2, 1 / 30, None) for v in labels[:20]], "more": 10},
        },
        "stream": None,
    }


def _near(row: int, text: str | None, label: str | None) -> PageData:
    return {"row": row, "text": text, "label": label}


def _cloud(rng: np.random.Generator, points: int, cards: int, labels: list[str]) -> PageData:
    at = rng.normal(size=(points, 2)).tolist()
    dots = [[x, y, int(rng.integers(len(labels))), int(rng.integers(cards))] for x, y in at]
    return {
        "axes": ["PC 1, 21 %", "PC 2, 12 %"],
        "points": dots,
        "prototypes": rng.normal(size=(cards, 2)).tolist(),
        "labels": labels,
        "sentence": "A third of the variance.",
    }


def hostile() -> PageData:
    """Names, cells, labels and parameters that try to be more than text."""
    data, h = mixed(), HOSTILE * 4
    for i, one in enumerate(data["cards"]):
        one.update(label=h[i], text=h[i + 1] if i % 3 == 0 else None, no_image=h[i] if i % 3 == 1 else None)
        one.update(file=h[i + 2], fields=[[h[i + 3], h[i + 4]]] * 4, around=[[h[i], 0.6], [h[i + 1], 0.4]])
        one.update(words=list(HOSTILE), neighbours=[_near(i, h[i + 1], h[i + 2]), _near(0, h[i], None)])
        one.update(differs=[{"name": h[i + 5], "value": h[i + 6], "usual": h[i + 7], "by": -9.0}])
    data["cards"][0]["image"] = "javascript:window.harmed=1"
    items = [{**item, "name": h[i]} for i, item in enumerate(data["coverage"]["features"]["items"])]
    items[0] = category(h[0], 0.5, 1, *((v, 0.1, 0.2) for v in HOSTILE))
    return {
        **data,
        "title": "".join(HOSTILE[:4]),
        "version": h[2],
        "summary": [fact(v, v, v) for v in HOSTILE],
        "quality": {**data["quality"], "sentences": list(h[:3]), "figures": [figure(v, v, v) for v in HOSTILE]},
        "criticisms": {"sentence": h[3], "cards": [card(1, None, label=h[0], text=h[1], witness=0.1)]},
        "map": {**data["map"], "axes": [h[0], h[8]], "labels": list(h[:2]), "sentence": h[2]},
        "coverage": {
            "sentence": h[0],
            "shares": data["coverage"]["shares"],
            "labels": {"name": h[1], "values": [label(v, 0.1, 1, 0.1, 0.1) for v in HOSTILE], "more": 2},
            "features": {"sentence": h[4], "total": 9, "items": items},
        },
        "stream": {**stream(3, 3), "sentence": h[1]},
        "rerun": {
            "command": h[0] + h[8],
            "files": [{"name": v, "size": 1} for v in HOSTILE],
            "details": [[v, v] for v in HOSTILE],
            "parameters": {v: [v] for v in (*HOSTILE, "__proto__")},
        },
    }


def large() -> PageData:
    """500 prototypes with pictures, 2,000 dots."""
    return digits(500, 2000)


EXAMPLES = {"digits": digits, "mixed": mixed, "texts": texts, "hostile": hostile, "bare": bare, "large": large}
