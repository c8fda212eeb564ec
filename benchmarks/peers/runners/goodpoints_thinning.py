"""goodpoints: kernel thinning of all rows, and of what Compress leaves of them (together: Compress++)."""

import numpy as np
from _frame import gaussian, run
from goodpoints import compress, kt

# The number of bins is that of `compresspp_kt`; g is 4 in the package's JAX twin of it, 0 by default in itself.
BINS, OVERSAMPLING = 4, 4


def select(X: np.ndarray, m: int, width: float, seed: int, method: str) -> np.ndarray:
    """Both end with the smallest halving that has m rows or more."""
    if method == "kernel thinning":
        return thinned(X, m, width, seed)
    # Its Gaussian is exp(-|x - y|^2 / parameter).
    parameter = np.array([2 * width**2])
    coarse = compress.compress_kt(X, b"gaussian", parameter, g=OVERSAMPLING, num_bins=BINS, seed=seed)
    return coarse[thinned(X[coarse], m, width, seed)]


def thinned(X: np.ndarray, m: int, width: float, seed: int) -> np.ndarray:
    """Kernel thinning with the target kernel for both of its steps."""
    K = gaussian(X, width)
    halvings = (len(X) // m).bit_length() - 1
    return kt.thin_K(K, K, halvings, seed=seed, unique=True)


if __name__ == "__main__":
    run(select)
