"""Print the settings of coverage for `make nojit`: it counts the branches of the modules that hold kernels."""

from __future__ import annotations

import re
from pathlib import Path

ROOT = Path(__file__).resolve().parent.parent
DECORATED = re.compile(r"^@(kernel|part|inlined)$", flags=re.MULTILINE)
SETTINGS = """[run]
branch = true
include =
    {modules}
[report]
# A precision of 0 lets 97.5 % pass a floor of 98.
precision = 2
show_missing = true
skip_covered = true
exclude_also =
    if TYPE_CHECKING:
    raise NotImplementedError
    @overload
"""


def modules() -> list[str]:
    """Return the modules that hold kernels, as paths in the project."""
    files = sorted((ROOT / "fedsched").rglob("*.py"))
    return [path.relative_to(ROOT).as_posix() for path in files if DECORATED.search(path.read_text(encoding="utf-8"))]


if __name__ == "__main__":
    print(SETTINGS.format(modules="\n    ".join(modules())))
