"""``python -m protosieve``: the command line."""

import sys

from protosieve.cli import main

if __name__ == "__main__":
    sys.exit(main())
