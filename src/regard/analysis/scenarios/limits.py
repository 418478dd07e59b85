"""What a request would need in memory, said before anything is allocated."""

from regard.core.errors import InputError

LARGEST_REQUEST_BYTES = 4 * 10**9
_BYTES_PER_NUMBER = 8


def readable_bytes(num_bytes: int) -> str:
    """A number of bytes in the largest decimal unit that keeps it at one or more.

    >>> readable_bytes(8_000_000_000_000)
    '8.0 TB'
    """
    size, units = float(num_bytes), ["B", "kB", "MB", "GB", "TB", "PB"]
    while size >= 1000 and len(units) > 1:
        size /= 1000
        del units[0]
    return f"{size:.1f} {units[0]}"


def require_memory(num_numbers: int, *, what: str, instead: str) -> None:
    """Refuses a request for more doubles than `LARGEST_REQUEST_BYTES` hold, and says what to do instead."""
    num_bytes = num_numbers * _BYTES_PER_NUMBER
    if num_bytes > LARGEST_REQUEST_BYTES:
        raise InputError(
            f"{what} would need {readable_bytes(num_bytes)} of memory; "
            f"Regard stops at {readable_bytes(LARGEST_REQUEST_BYTES)}. {instead}"
        )
