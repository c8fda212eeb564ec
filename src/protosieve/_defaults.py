"""The defaults of `select` that say something, for all who take its arguments; it imports nothing, as help is quick."""

BALANCE = "kinds"
BAD_ROWS = "error"
GOAL = "match"
KERNEL = "multiscale"
MAX_CATEGORIES = 32
METHOD = "swap"
PARTITION_ROWS = 250_000
RANDOM_STATE = 0
SAMPLE = 16384  # rows that `compare` and `survey` keep
SCALE = "auto"
SPLIT = "each"
