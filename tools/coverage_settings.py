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
precision = 2
show_missing = true
skip_covered = true
exclude_also =
    if TYPE_CHECKING:
    raise NotImplementedError
    @overload
"""


def main() -> None:
    """Print them."""
    modules = [path for path in (ROOT / "fedsched").rglob("*.py") if DECORATED.search(path.read_text(encoding="utf-8"))]
    print(SETTINGS.format(modules="\n    ".join(sorted(path.relative_to(ROOT).as_posix() for path in modules))))


if __name__ == "__main__":
    main()
