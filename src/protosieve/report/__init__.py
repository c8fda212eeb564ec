"""One page about a result: what was chosen, how good it is, what it misses."""
