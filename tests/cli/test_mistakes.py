"""A stranger's mistakes at the command line: each is one line that names it, and nothing is written."""

from __future__ import annotations

from typing import TYPE_CHECKING, Any

import pytest

if TYPE_CHECKING:
    from collections.abc import Callable
    from pathlib import Path

SACCT = "JobID|Submit|ElapsedRaw|AllocCPUS|State\n"
SWF = "1 0 0 {} {} -1 -1 1 10 -1 1 1 1 1 1 1 -1 -1\n"
GROUP = 'name="x"\n[[cluster]]\nname="a"\n[[cluster.group]]\n'
FILES: dict[str, str | bytes] = {
    "empty.swf": "",
    "empty.sacct": "",
    "empty.json": "",
    "empty.toml": "",
    "binary.swf": bytes(range(256)),
    "huge.swf": SWF.format(10, 2**64 - 1),
    "infinite.swf": SWF.format("inf", 1),
    "good.csv": "id,submit,tasks,runtime\n1,0,2,10\n",
    "twice.csv": "id,submit,tasks,runtime\n1,0,2,10\n1,0,2,10\n",
    "half.csv": "id,submit,tasks,runtime\n1,0,2.5,10\n",
    "header.sacct": SACCT,
    "state.sacct": f"{SACCT}1|2025-01-01T00:00:00|5|1|COMPLTED\n",
    "month.sacct": f"{SACCT}1|2025-13-01T00:00:00|5|1|COMPLETED\n",
    "pending.sacct": f"{SACCT}1|2025-01-01T00:00:00|0|0|PENDING\n",
    "short.sacct": f"{SACCT}1|2025-01-01T00:00:00|5\n",
    "negative.toml": f"{GROUP}count = -4\n",
    "typo.toml": f"{GROUP}counts = 4\n",
    "other.json": '{"format": "fedsched result 99"}',
    "checkpoint": "no checkpoint",
}
SHORT = "optimize good.csv --nodes 8 --evaluations 10"
MISTAKES = {
    "info sample --from swff": "Did you mean 'swf'",
    "info sample --from sacct": "no column submit",
    "info nothere.swf": "there is no such file; check the path",
    "info folder.swf": "it is a folder; give a file in it",
    "info empty.swf": "there is no job in it",
    "info empty.sacct": "it is empty",
    "info empty.json": "not valid JSON",
    "info empty.toml": "the key 'cluster' is missing",
    "info binary.swf": "it is not a text file",
    "info huge.swf": "whole number below 2**63",
    "info infinite.swf": "line 1, field 4 (run time): 'inf' is not a number",
    "info twice.csv": "ids must differ",
    "info half.csv": "line 2, column tasks: '2.5' is not a whole number",
    "info header.sacct": "there is no finished job in it",
    "info pending.sacct": "there is no finished job in it",
    "info month.sacct": "line 2, field submit",
    "info state.sacct": "Did you mean 'COMPLETED'",
    "info short.sacct": "line 2: 3 fields where the 5 columns need as many",
    "info negative.toml": "count=-4 must be",
    "info typo.toml": "Did you mean 'count'",
    "info smaple": "Did you mean 'sample'",
    "infos sample": 'Did you mean "info"',
    "info sample --josn": "Did you mean --json",
    "simulate sample --nodes 0": "--nodes=0 must be at least 1",
    f"simulate sample --nodes {2**64}": f"--nodes={2**64} must be at least 1 and at most",
    "simulate sample --nodes 8 --federation example": "not both",
    "simulate sample --policy eazy": "Did you mean 'easy'",
    "simulate sample --head -1": "head=-1 must be at least 0",
    "simulate sample --sample 5 --seed -1": "seed=-1 must be at least 0",
    f"simulate sample --sample 5 --seed {2**70}": f"seed={2**70} must be at most",
    "simulate sample --uplink nan": "--uplink='nan' must be bytes a second",
    "simulate sample --federation example --uplink nroth=1G": "Did you mean 'north'",
    "simulate sample --communication -4": "--communication='-4' must be bytes a second",
    "simulate sample --out nofolder/x.csv": "make it first",
    "simulate sample --out x.txt": "a plan is .csv, .swf or .json",
    "simulate sample --checkpoint x.json": "goes with --policy rolling",
    "simulate good.csv --nodes 8 --out good.csv": "--out and the file that is read are one file",
    f"{SHORT} --out x.json --save ./x.json": "--save and --out are one file",
    f"{SHORT} --save x.json --checkpoint x.json": "--checkpoint and --save are one file",
    f"{SHORT} --checkpoint checkpoint": "not a checkpoint of a search",
    f"{SHORT} --initial other.json": "not a saved result",
    f"{SHORT} --seed -1": "seed=-1 must be at least 0",
    f"{SHORT} --target nan": "target=nan must be a finite number",
    f"{SHORT} --choose knees": "Did you mean 'knee'",
    "optimize sample --seconds inf": "seconds=inf must be finite and above 0",
    "optimize sample --evaluations 0": "evaluations=0 must be at least 1",
    "optimize sample --evaluations 2.5": "unable to convert",
    "compare sample --method eazy": "Did you mean 'easy'",
    "compare sample": "give --evaluations, --seconds or both",
    "compare sample --seeds 0": "--seeds=0 must be at least 1",
    "compare sample --alpha nan": "alpha=nan must lie between 0 and 1",
    "report other.json --out x.html": "not a saved result",
    "report sample --out x.html --price nan": "price_per_kwh=nan must be a finite number",
    "bounds sample --points 0": "points=0 must be at least 1",
    "plot other.json --out x.png": "not a saved result",
    "plot other.json --out x.gif": "a chart is .svg, .png or .pdf",
    "convert nothere.swf x.csv": "there is no such file; check the path",
    "convert sample x.foo": ".foo is no format to write",
    "convert sample x.csv --unit nodes": "takes no --unit",
}


@pytest.mark.parametrize("line", MISTAKES)
def test_a_mistake_is_one_line_and_writes_nothing(
    call: Callable[..., Any], tmp_path: Path, monkeypatch: pytest.MonkeyPatch, line: str
) -> None:
    """Tests that a mistake ends in one line that says what is wrong, and leaves the folder as it was."""
    monkeypatch.chdir(tmp_path)
    for name, text in FILES.items():
        (tmp_path / name).write_bytes(text if isinstance(text, bytes) else text.encode())
    (tmp_path / "folder.swf").mkdir()
    before = {path: path.is_dir() or path.read_bytes() for path in tmp_path.iterdir()}
    status, out, err = call(*line.split())
    assert (status, out, err.count("\n")) == (2, "", 1)
    assert MISTAKES[line] in err
    assert "unexpected" not in err
    assert {path: path.is_dir() or path.read_bytes() for path in tmp_path.iterdir()} == before
