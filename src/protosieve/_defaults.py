"""The defaults of `select` that say something, for all who take its arguments; it imports nothing, as help is quick."""

__all__ = [
    "BAD_ROWS",
    "EVERY",
    "KERNEL",
    "MAX_CATEGORIES",
    "METHOD",
    "RANDOM_STATE",
    "SAMPLE",
    "SCALE",
]

BAD_ROWS = "error"
EVERY = 1_000_000  # rows between two checkpoints
KERNEL = "multiscale"
MAX_CATEGORIES = 32
METHOD = "swap"
RANDOM_STATE = 0
SAMPLE = 16384  # rows
SCALE = "standard"
