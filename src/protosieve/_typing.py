"""Names for the types that cross the library's rooms."""

from typing import Any, TypeAlias

import numpy as np
from numpy.typing import NDArray

Array: TypeAlias = NDArray[Any]  # float32 or float64: the input's dtype decides
Float64: TypeAlias = NDArray[np.float64]  # mu, weights and all linear algebra
Indices: TypeAlias = NDArray[np.intp]
