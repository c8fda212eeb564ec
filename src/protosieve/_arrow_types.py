"""Which of Arrow's many types are numbers, text, times or lists."""

import pyarrow as pa


def is_number(kind: pa.DataType) -> bool:
    """Integers, floats and decimals."""
    return bool(pa.types.is_integer(kind) or pa.types.is_floating(kind) or pa.types.is_decimal(kind))


def is_text(kind: pa.DataType) -> bool:
    """Text, in any of Arrow's layouts."""
    return bool(pa.types.is_string(kind) or pa.types.is_large_string(kind) or pa.types.is_string_view(kind))


def is_time(kind: pa.DataType) -> bool:
    """Dates, timestamps, times and durations; not intervals of months, which have no length."""
    return bool(pa.types.is_temporal(kind) and not pa.types.is_interval(kind))


def is_binary(kind: pa.DataType) -> bool:
    """Bytes, of fixed or variable length."""
    tests = (pa.types.is_binary, pa.types.is_large_binary, pa.types.is_fixed_size_binary, pa.types.is_binary_view)
    return any(test(kind) for test in tests)


def is_list(kind: pa.DataType) -> bool:
    """Lists of fixed or variable length, list views included."""
    plain = pa.types.is_list(kind) or pa.types.is_large_list(kind) or pa.types.is_fixed_size_list(kind)
    return bool(plain or is_list_view(kind))


def is_list_view(kind: pa.DataType) -> bool:
    """Lists whose items stand in any order."""
    return bool(pa.types.is_list_view(kind) or pa.types.is_large_list_view(kind))
