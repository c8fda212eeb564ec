"""From files to prototypes: survey, select, weigh; runs that survive."""

from protosieve.pipeline._progress import Tick
from protosieve.pipeline._signals import Stopped
from protosieve.pipeline._survey import Surveyed, survey

__all__ = ["Stopped", "Surveyed", "Tick", "survey"]
