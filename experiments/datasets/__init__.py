"""The data sets of the paper, as the paper uses them: a base set to choose from and a test set to judge by."""

from experiments.datasets._base import Dataset
from experiments.datasets._letters import load_letters
from experiments.datasets._mnist import load_mnist

__all__ = ["Dataset", "load_letters", "load_mnist"]
