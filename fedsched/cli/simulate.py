"""x"""
from pathlib import Path
def command(trace: Path, *, head: int | None = None) -> int:
    """Run x.

    Parameters
    ----------
    trace
        the trace
    """
    return 0
