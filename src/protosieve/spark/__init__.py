"""Runs on Spark: `select` for a DataFrame that is larger than one machine.

Two passes over the DataFrame by ``mapInArrow``, whose few rows come back by ``toArrow``; no RDDs and no Spark context,
so that Spark Connect and serverless will do. See docs/spark.md.
"""

from protosieve.spark._select import select

__all__ = ["select"]
