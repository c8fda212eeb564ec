"""``make bench-coverage``: how often the certificate's bound of the MMD to the whole target holds, over 500 samples.

Rows are fixed; each repeat draws another sample of them, chooses prototypes by it, and compares the bound with the MMD
to all rows. The wide kernel is the hard case: prototypes match the sample nearly perfectly, so that all of the MMD is
the sample's own error and the triangle inequality has no slack.
"""

import sys
import warnings

import numpy as np

from protosieve import ProtoSwap
from protosieve.kernels import Gaussian
from protosieve.means import CalibratedMean, Mean, ReservoirMean

_ROWS, _KEPT = 2000, 40
_LEVELS = (0.5, 0.95)
_MEANS = (ReservoirMean(200), CalibratedMean(400, points=60))


def coverage(mean: Mean, width: float, repeats: int) -> tuple[list[float], float]:
    """The share of samples in which each level's bound holds, and the mean of the bound over the true MMD."""
    rng = np.random.default_rng(5)
    X = rng.normal(scale=3, size=(6, 4))[rng.integers(6, size=_ROWS)] + rng.normal(size=(_ROWS, 4))
    K = Gaussian(width)(X)
    mu = K.mean(axis=1)
    held, sizes = np.zeros(len(_LEVELS)), []
    for seed in range(repeats):
        result = ProtoSwap(_KEPT, kernel=Gaussian(width), mean=mean, random_state=seed).fit(X).result_
        L, w = result.indices, result.weights
        true = np.sqrt(max(0.0, mu.mean() - 2 * w @ mu[L] + w @ K[np.ix_(L, L)] @ w))
        bounds = np.array([result.certificate.mmd_bound(level) for level in _LEVELS])
        held += true <= bounds
        sizes.append(bounds[-1] / true)
    return (held / repeats).tolist(), float(np.mean(sizes))


def main(repeats: int) -> None:
    """Print a table."""
    print(f"{repeats} samples of {_ROWS} rows, {_KEPT} prototypes each")
    print(f"{'mean':60} {'width':>5}", *(f"at {level:.0%}" for level in _LEVELS), " bound / true MMD")
    for mean in _MEANS:
        for width in (2.0, 8.0):
            held, size = coverage(mean, width, repeats)
            print(f"{mean!r:60} {width:5g}", *(f"{share:6.1%}" for share in held), f"{size:8.2f}", flush=True)


if __name__ == "__main__":
    warnings.simplefilter("ignore")
    main(int(sys.argv[1]) if len(sys.argv) > 1 else 500)
