"""From files to prototypes: survey, select, weigh; runs that survive."""

from protosieve.pipeline._progress import Tick
from protosieve.pipeline._select import Surveyed, select, survey
from protosieve.pipeline._signals import Stopped

__all__ = ["Stopped", "Surveyed", "Tick", "select", "survey"]
