"""The peers beside us: other tools that choose rows, each in an environment of its own, scored alike."""
