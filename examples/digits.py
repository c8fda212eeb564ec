"""The main job on data that ships with scikit-learn: 20 digits that stand for 1,797, read as a stream."""

import numpy as np
from sklearn.datasets import load_digits

from protosieve import ProtoSwap

SHADES = " .:-=+*#%@"


def draw(image: np.ndarray) -> list[str]:
    """An 8 x 8 image in characters."""
    return [
        "".join(SHADES[min(int(pixel / 17 * len(SHADES)), 9)] * 2 for pixel in line) for line in image.reshape(8, 8)
    ]


def show(images: np.ndarray, captions: list[str], per_line: int = 5) -> None:
    """Images side by side, each with a caption."""
    for start in range(0, len(images), per_line):
        pictures = [draw(image) for image in images[start : start + per_line]]
        print("   ".join(f"{caption:16}" for caption in captions[start : start + per_line]))
        for line in zip(*pictures, strict=True):
            print("   ".join(line))
        print()


def main() -> None:
    """Stream the digits in chunks, then look at what was kept."""
    print("1,797 digits in 9 chunks; the target is what has been seen so far, so there is ever more to represent:\n")
    images, digits = load_digits(return_X_y=True)
    selector = ProtoSwap(n_prototypes=20, random_state=0)
    for chunk in np.array_split(images, 9):
        selector.partial_fit(chunk)
        kept, seen = len(selector.weights_), selector.n_samples_seen_
        print(f"after {seen:5} rows: {kept:2} prototypes, residual {selector.result_.residual:.3f}")
    result = selector.result_
    print(f"\n{result}\n{result.certificate}\n")
    labels = digits[result.indices]
    captions = [f"a {d}, weight {w:.3f}" for d, w in zip(labels, result.weights, strict=True)]
    show(result.rows, captions)
    ours = (labels[selector.predict(images)] == digits).mean()
    print(f"{100 * ours:.1f} % of all {len(images)} digits look most like a prototype of their own kind;")
    print(f"of {len(labels)} random rows in their place it is {100 * random_rows(images, digits, len(labels)):.1f} %.")


def random_rows(images: np.ndarray, digits: np.ndarray, n: int, draws: int = 50) -> float:
    """How many digits are nearest to one of their own kind among n random rows, on average."""
    rng = np.random.default_rng(0)
    picks = [rng.choice(len(images), n, replace=False) for _ in range(draws)]
    return float(np.mean([(digits[pick][nearest(images, images[pick])] == digits).mean() for pick in picks]))


def nearest(images: np.ndarray, rows: np.ndarray) -> np.ndarray:
    """The position of the row nearest to each image."""
    return np.argmin((rows**2).sum(axis=1) - 2 * images @ rows.T, axis=1)


if __name__ == "__main__":
    main()
