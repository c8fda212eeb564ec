"""Objectives: what a selection is worth."""

from protosieve.objectives._kernel_mean import Block, KernelMean

__all__ = ["Block", "KernelMean"]
