"""A run from files to prototypes: `select`, the engines that make its passes, its folder of kept work, its progress."""

from protosieve.run._dask import Cluster, LocalWorkers
from protosieve.run._draw_sample import draw_sample
from protosieve.run._drive import Driver, choose, conclude, settled
from protosieve.run._estimate import Estimate, estimate
from protosieve.run._executor import window_of
from protosieve.run._progress import Tick
from protosieve.run._select import begin, run, select
from protosieve.run._signals import Stopped
from protosieve.run._store import Store
from protosieve.run._survey import Surveyed, survey
from protosieve.run._watch import Onlookers, report_place

__all__ = [
    "Cluster",
    "Driver",
    "Estimate",
    "LocalWorkers",
    "Onlookers",
    "Stopped",
    "Store",
    "Surveyed",
    "Tick",
    "begin",
    "choose",
    "conclude",
    "draw_sample",
    "estimate",
    "report_place",
    "run",
    "select",
    "settled",
    "survey",
    "window_of",
]
