"""Put the files of changes/ into the changelog's topmost section, each under its kind, and delete them."""

from __future__ import annotations

import re
import sys
import textwrap
from pathlib import Path

ROOT = Path(__file__).resolve().parent.parent
KINDS = ("added", "changed", "fixed", "removed")
SHAPE = {"width": 120, "initial_indent": "- ", "subsequent_indent": "  ", "break_on_hyphens": False}


def fragments(root: Path) -> list[Path]:
    """Return the files that tell of a change, by name."""
    return sorted(path for path in (root / "changes").glob("*.md") if path.name != "README.md")


def kind_of(path: Path) -> str:
    """Return what kind of change a file tells of; a name that does not say it ends the run."""
    kind = path.name.split(".")[-2] if path.name.count(".") >= 2 else ""
    if kind not in KINDS:
        raise SystemExit(f"{path}: its name must end in one of {', '.join(f'.{kind}.md' for kind in KINDS)}.")
    return kind


def gathered(changelog: str, told: dict[str, list[str]]) -> str:
    """Return the changelog with these texts at the end of their kinds' lists in its first section."""
    head, first, rest = re.split(r"(?m)^(?=## )", changelog, maxsplit=2) + [""] * (2 - changelog.count("\n## "))
    for kind in KINDS:
        if not told.get(kind):
            continue
        points = "\n".join(textwrap.fill(" ".join(text.split()), **SHAPE) for text in told[kind])
        title = f"### {kind.capitalize()}\n"
        if title not in first:
            first = first.rstrip("\n") + f"\n\n{title}"
        before, after = first.split(title)
        own, mark, others = after.partition("\n### ")
        first = before + title + own.rstrip("\n") + "\n" * bool(own.strip()) + points + "\n" + mark + others
    return head + first.rstrip("\n") + "\n" + ("\n" + rest if rest else "")


def whole(root: Path = ROOT) -> str:
    """Return the changelog with the texts of all files of changes/."""
    told: dict[str, list[str]] = {}
    for path in fragments(root):
        told.setdefault(kind_of(path), []).append(path.read_text(encoding="utf-8"))
    return gathered((root / "CHANGELOG.md").read_text(encoding="utf-8"), told)


def main(root: Path = ROOT) -> int:
    """Return 0 where every file was gathered."""
    found = fragments(root)
    (root / "CHANGELOG.md").write_text(whole(root), encoding="utf-8")
    for path in found:
        path.unlink()
    print(f"{len(found)} changes gathered")
    return 0


if __name__ == "__main__":
    sys.exit(main())
