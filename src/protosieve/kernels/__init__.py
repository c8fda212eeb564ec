"""Similarities between rows.

>>> from protosieve.kernels import Gaussian
>>> Gaussian(width=5.0)
Gaussian(width=5.0)
"""

from protosieve.kernels._base import Kernel, Points
from protosieve.kernels._function import FunctionKernel, as_kernel
from protosieve.kernels._gaussian import Gaussian
from protosieve.kernels._laplacian import Laplacian
from protosieve.kernels._multiscale import MultiScale
from protosieve.kernels._products import Cosine, Linear, Polynomial
from protosieve.kernels._stored import as_plain, from_plain

# All kernels that have a name; the line by which `select`, the command line and result files know one.
KERNELS: dict[str, type[Kernel]] = {
    cls.__name__.lower(): cls for cls in (Cosine, Gaussian, Laplacian, Linear, MultiScale, Polynomial)
}

__all__ = [
    "KERNELS",
    "Cosine",
    "FunctionKernel",
    "Gaussian",
    "Kernel",
    "Laplacian",
    "Linear",
    "MultiScale",
    "Points",
    "Polynomial",
    "as_kernel",
    "as_plain",
    "from_plain",
]
