"""Draw the pictures of README and docs from our own runs: python docs/make_images.py."""

from __future__ import annotations

from pathlib import Path

import fedsched as fs

IMAGES = Path(__file__).resolve().parent / "images"


def main() -> None:
    """Write every picture."""
    IMAGES.mkdir(exist_ok=True)
    jobs = fs.Workload.example().head(300).with_communication(bandwidth=4e6, seed=1)
    fs.simulate(jobs, fs.Federation.example(), "easy").gantt(IMAGES / "gantt.svg")


if __name__ == "__main__":
    main()
