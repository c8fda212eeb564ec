"""Results written to files, and read back from Parquet and Arrow; both need pyarrow, which a `Prototypes` does not."""

from protosieve.result.files._plain import without_nan
from protosieve.result.files._read import read_prototypes
from protosieve.result.files._write import Destination, as_dash, check_output, write_result, write_table

__all__ = ["Destination", "as_dash", "check_output", "read_prototypes", "without_nan", "write_result", "write_table"]
