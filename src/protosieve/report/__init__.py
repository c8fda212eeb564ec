"""One page about a result."""
