"""Tables become matrices, as they stream by."""
