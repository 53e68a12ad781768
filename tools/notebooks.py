"""Run notebooks from their scripts and store their outputs, small: `python tools/notebooks.py [--keep] [NAME ...]`.

`--keep` takes the outputs that are stored already for cells whose code has not changed, and runs nothing.
"""

from __future__ import annotations

import base64
import io
import os
import resource
import sys
import tempfile
import time
from pathlib import Path
from typing import Any

ROOT = Path(__file__).resolve().parent.parent
FOLDER = ROOT / "notebooks"
COLOURS = 64
WIDTH = 900  # pixels; wider pictures are made smaller


def smaller(picture: str) -> str:
    """Return a PNG in base64, at most so wide and in few colours."""
    from PIL import Image

    image = Image.open(io.BytesIO(base64.b64decode(picture))).convert("RGB")
    if image.width > WIDTH:
        image = image.resize((WIDTH, round(image.height * WIDTH / image.width)), Image.Resampling.LANCZOS)
    out = io.BytesIO()
    image.quantize(COLOURS, dither=Image.Dither.NONE).save(out, "PNG", optimize=True)
    return base64.b64encode(out.getvalue()).decode()


def stored(output: dict[str, Any]) -> dict[str, Any] | None:
    """Return an output as it is stored: none of stderr, of a picture only the picture, no names of objects."""
    if output["output_type"] == "stream":
        return output if output["name"] == "stdout" else None
    data = output.get("data", {})
    if "image/png" in data:
        output["data"] = {"image/png": smaller(data["image/png"])}
        output["metadata"] = {}
    elif "text/html" in data:
        data.pop("text/plain", None)
    return output


def run(notebook: Any) -> None:
    """Run a notebook in an empty cache of compiled code, and keep what it shows."""
    from nbclient import NotebookClient

    with tempfile.TemporaryDirectory() as cache:
        os.environ["FEDSCHED_CACHE"] = cache
        here = {"metadata": {"path": FOLDER}}
        NotebookClient(notebook, timeout=3600, kernel_name="python3", resources=here).execute()


def pruned(notebook: Any) -> None:
    """Leave of what a notebook shows only what is stored."""
    for cell in notebook.cells:
        cell.metadata.pop("execution", None)
        if cell.cell_type == "code":
            cell.outputs = [output for output in map(stored, cell.outputs) if output is not None]


def main(words: list[str]) -> None:
    """Store the outputs of the notebooks that are named, or of all."""
    import jupytext
    import nbformat
    from jupytext.combine import combine_inputs_with_outputs

    os.environ.pop("MPLBACKEND", None)  # a kernel's own draws into the notebook
    os.environ["PYTHONPATH"] = os.pathsep.join(filter(None, (str(ROOT), os.environ.get("PYTHONPATH"))))
    keep = "--keep" in words
    names = [word for word in words if word != "--keep"] or sorted(path.stem for path in FOLDER.glob("*.py"))
    for name in names:
        path = FOLDER / f"{name}.ipynb"
        notebook = jupytext.read(path.with_suffix(".py"))
        before = nbformat.read(path, as_version=4) if path.exists() else None
        if before is not None:
            notebook = combine_inputs_with_outputs(notebook, before, fmt="ipynb")
        if not keep:
            begun, spent = time.perf_counter(), resource.getrusage(resource.RUSAGE_CHILDREN)
            run(notebook)
            now = resource.getrusage(resource.RUSAGE_CHILDREN)
            cpu = now.ru_utime + now.ru_stime - spent.ru_utime - spent.ru_stime
            print(f"{name}: {time.perf_counter() - begun:.0f} s cold, {cpu:.0f} s of processors", flush=True)
        pruned(notebook)
        notebook.metadata = {"kernelspec": notebook.metadata["kernelspec"]}
        for number, cell in enumerate(notebook.cells):
            cell["id"] = f"{name}-{number}".replace("_", "-")
        nbformat.write(notebook, path)
        print(f"{name}: {path.stat().st_size / 1000:.0f} kB", flush=True)


if __name__ == "__main__":
    main(sys.argv[1:])
