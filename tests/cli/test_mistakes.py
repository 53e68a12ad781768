"""A stranger's mistakes at the command line: each is one line that names it, and nothing is written."""

from __future__ import annotations

import gzip
import importlib
from typing import TYPE_CHECKING, Any

import pytest

if TYPE_CHECKING:
    from collections.abc import Callable
    from pathlib import Path

SACCT = "JobID|Submit|ElapsedRaw|AllocCPUS|State\n"
SWF = "1 0 0 {} {} -1 -1 1 10 -1 1 1 1 1 1 1 -1 -1\n"
GROUP = 'name="x"\n[[cluster]]\nname="a"\n[[cluster.group]]\n'
BATSIM = '{{"nb_res": 4, "jobs": [{{"id": "1", "subtime": 0, "res": {}, "profile": "{}"}}], "profiles": {{"p": {}}}}}'
MARKET = (
    "interval = [0, 600]\n[[node]]\nperformance = {}\nprice = 4.4\n[[job]]\nnodes = 1\nlength = 150\nbudget = 500\n"
)
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
    "twice.json": '{"nb_res": 4, "nb_res": 8, "jobs": [], "profiles": {}}',
    "other.json": '{"format": "fedsched result 99"}',
    "checkpoint": "no checkpoint",
    "seventeen.swf": "1 0 0 10 4 -1 -1 4 20 -1 1 1 1 1 1 1 -1\n",
    "nan.swf": SWF.format("nan", 1),
    "commas.swf": SWF.format(10, 1).replace(" ", ","),
    "negative.swf": SWF.format(-10, 1),
    "comments.swf": "; nothing but comments\n",
    "page.swf": "<!DOCTYPE html><html></html>\n",
    "zeros.swf": SWF.format(10, 1).encode() + b"\0\0",
    "wide.swf": ("; x\n" + SWF.format(10, 1)).encode("utf-16"),
    "zip.swf": b"PK\x03\x04 and so on",
    "cut.swf.gz": gzip.compress(SWF.format(10, 1).encode() * 500)[:60],
    "nothing.swf.gz": gzip.compress(b""),
    "names.csv": "id,submit,tasks,runtime\n",
    "missing.csv": "id,submit,tasks\n1,0,2\n",
    "colour.csv": "id,submit,tasks,runtime,colour\n1,0,2,10,red\n",
    "columns.csv": "id,submit,tasks,runtime,tasks\n1,0,2,10,4\n",
    "quote.csv": 'id,submit,tasks,runtime\n1,0,"2,10\n',
    "short.csv": "id,submit,tasks,runtime\n1,0,2\n",
    "nan.csv": "id,submit,tasks,runtime\n1,0,2,nan\n",
    "bits.csv": "id,submit,tasks,runtime\n1,0,99999999999999999999,10\n",
    "fraction.csv": "id,submit,tasks,runtime,compute_fraction\n1,0,2,10,1.5\n",
    "day.sacct": f"{SACCT}1|yesterday|5|1|COMPLETED\n",
    "cpus.sacct": f"{SACCT}1|2025-01-01T00:00:00|5|x|COMPLETED\n",
    "columns.sacct": "JobID|ElapsedRaw|AllocCPUS|State\n1|5|1|COMPLETED\n",
    "twice.sacct": "JobID|Submit|Submit|ElapsedRaw|AllocCPUS|State\n1|0|0|5|1|COMPLETED\n",
    "steps.sacct": f"{SACCT}1.batch|2025-01-01T00:00:00|5|1|COMPLETED\n",
    "queue.json": '{"jobs": [{"job_id": 1}], "meta": {"slurm": {}}}',
    "list.json": "[]",
    "deep.json": "[" * 100_000,
    "profile.json": BATSIM.format(2, "q", '{"type": "delay", "delay": 100}'),
    "nan.json": BATSIM.format(2, "p", '{"type": "delay", "delay": NaN}'),
    "half.json": BATSIM.format(2.5, "p", '{"type": "delay", "delay": 100}'),
    "kind.json": BATSIM.format(2, "p", '{"type": "dealy", "delay": 100}'),
    "flops.json": BATSIM.format(2, "p", '{"type": "parallel_homogeneous", "cpu": 1e9, "com": 0}'),
    "speed.toml": f"{GROUP}count = 4\nspeed = 0\n",
    "text.toml": f'{GROUP}count = "4"\n',
    "watts.toml": f"{GROUP}count = 4\nbusy_watts = 5\nidle_watts = 9\n",
    "one.toml": f"{GROUP}count = 1\n",
    "broken.xml": "<platform",
    "page.xml": "<html/>",
    "none.xml": '<?xml version="1.0"?><platform version="4.1"></platform>',
    "market.toml": MARKET.format(4.0),
    "slow.toml": MARKET.format(-4.0),
}
SHORT = "optimize good.csv --nodes 8 --evaluations 10"
MISTAKES = {
    "info sample --from swff": "Did you mean 'swf'",
    "info sample --from sacct": "no column submit",
    "info nothere.swf": "there is no such file; check the path",
    "info folder.swf": "it is a folder; give a file in it",
    "info empty.swf": "it has no job",
    "info empty.sacct": "it is empty",
    "info empty.json": "not valid JSON",
    "info empty.toml": "the key 'cluster' is missing",
    "info binary.swf": "it is not a text file",
    "info huge.swf": "whole number below 2**63",
    "info infinite.swf": "line 1, field 4 (run time): 'inf' is not a number",
    "info twice.csv": "ids must differ",
    "info half.csv": "line 2, column tasks: '2.5' is not a whole number",
    "info header.sacct": "it has no finished job",
    "info pending.sacct": "it has no finished job",
    "info month.sacct": "line 2, field submit",
    "info state.sacct": "Did you mean 'COMPLETED'",
    "info short.sacct": "line 2: 3 fields, but 5 columns",
    "info negative.toml": "count=-4 must be",
    "info typo.toml": "Did you mean 'count'",
    "info smaple": "Did you mean 'sample'",
    "infos sample": "Did you mean 'info'",
    "info sample --josn": "Did you mean '--json'",
    "simulate sample --nodes 0": "--nodes=0 must be at least 1",
    f"simulate sample --nodes {2**64}": f"--nodes={2**64} must be at least 1 and at most",
    "simulate sample --nodes 8 --federation example": "not both",
    "simulate sample --policy eazy": "Did you mean 'easy'",
    "simulate sample --policy fifo": "Did you mean 'fcfs'? Known: fcfs and",
    "simulate sample --policy zzz": "Known: fcfs, easy, easy-sjbf, conservative",
    "simulate sample --policy zzzz": 'more (all: the page "Policies"',
    "compare sample --method fifo --seconds 1": "Did you mean 'fcfs'",
    "simulate sample --policy mine.py": "name a policy in the file: mine.py:NAME",
    "simulate sample --policy absent.py:Mine": "there is no such file; a policy of your own is FILE.py:NAME",
    "report sample --policy mine.py:Mine --out r.html": "is named on the command line of fedsched simulate",
    "simulate sample --head -1": "head=-1 must be at least 0",
    "simulate sample --sample 5 --seed -1": "seed=-1 must be at least 0",
    f"simulate sample --sample 5 --seed {2**70}": f"seed={2**70} must be at most",
    "simulate sample --uplink nan": "--uplink='nan' must be bytes a second",
    "simulate sample --federation example --uplink nroth=1G": "Did you mean 'north'",
    "simulate sample --communication -4": "--communication='-4' must be bytes a second",
    "simulate sample --out nofolder/x.csv": "make it first",
    "simulate sample --out x.txt": "a plan must be .csv, .swf or .json",
    "simulate sample --checkpoint x.json": "goes with --policy rolling",
    "simulate good.csv --nodes 8 --out good.csv": "--out and the file that is read are the same file",
    f"{SHORT} --out x.json --save ./x.json": "--save and --out are the same file",
    f"{SHORT} --save x.json --checkpoint x.json": "--checkpoint and --save are the same file",
    f"{SHORT} --checkpoint checkpoint": "not a checkpoint of a search",
    f"{SHORT} --initial other.json": "not a saved result",
    f"{SHORT} --seed -1": "seed=-1 must be at least 0",
    f"{SHORT} --target nan": "target=nan must be a finite number",
    f"{SHORT} --choose knees": "Did you mean 'knee'",
    "optimize sample --seconds inf": "seconds=inf must be finite and above 0",
    "optimize sample --evaluations 0": "evaluations=0 must be at least 1",
    "optimize sample --evaluations 2.5": "--evaluations='2.5' must be a whole number",
    "compare sample --method eazy": "Did you mean 'easy'",
    "compare sample": "give --evaluations, --seconds or both",
    "compare sample --seeds 0": "--seeds=0 must be at least 1",
    "compare sample --alpha nan": "alpha=nan must lie between 0 and 1",
    "report other.json --out x.html": "not a saved result",
    "report sample --out x.html --price nan": "price_per_kwh=nan must be a finite number",
    "bounds sample --points 0": "points=0 must be at least 1",
    "plot other.json --out x.png": "not a saved result",
    "plot other.json --out x.gif": "a chart must be .svg, .png or .pdf",
    "convert nothere.swf x.csv": "there is no such file; check the path",
    "convert sample x.foo": ".foo is no format to write",
    "convert sample x.csv --unit nodes": "takes no --unit",
    # Files that are not what they seem.
    "info seventeen.swf": '17 fields where 18 are needed. on_error="skip" (fedsched: --on-error skip)',
    "info nan.swf": "line 1, field 4 (run time): 'nan' is not a number",
    "info commas.swf": "line 1, field 1 (job id)",
    "info negative.swf": "cleaning leaves no job (0 of 1 record kept; 1 dropped: no run time)",
    "info comments.swf": "it has no job",
    "info page.swf": "'<!DOCTYPE' is not a number",
    "info zeros.swf": "it is not a text file",
    "info wide.swf": "it is not a text file",
    "info zip.swf": "it is a zip archive",
    "info cut.swf.gz": "the compressed data end in the middle",
    "info nothing.swf.gz": "it has no job",
    "info good.csv/x": "there is no such file",
    "info names.csv": "it has no job",
    "info missing.csv": "Column 'runtime' is missing",
    "info colour.csv": "Unknown column 'colour'",
    "info columns.csv": "column 'tasks' occurs twice; leave one",
    "info quote.csv": "line 2: a quote is opened and never closed",
    "info short.csv": "line 2: 3 fields, but 4 columns",
    "info nan.csv": "Job 1: runtime=nan must be finite and above 0",
    "info bits.csv": "line 2, column tasks: 99999999999999999999 has more than 64 bits",
    "info fraction.csv": "compute_fraction=1.5 must lie between 0 and 1",
    "info day.sacct": "line 2, field submit: 'yesterday' is no time",
    "info cpus.sacct": "line 2, field alloccpus: 'x' is no number",
    "info columns.sacct": "no column submit; the first line must name the columns",
    "info twice.sacct": "column submit occurs twice; leave one",
    "info steps.sacct": "it has no finished job",
    "info queue.json": "dump with sacct --json",
    "info list.json": "it has no 'jobs', a list",
    "info deep.json": "its brackets are nested too deeply",
    "info profile.json": "Unknown profile 'q'. Known: p",
    "info nan.json": "delay=nan must be a number",
    "info half.json": "res=2.5 must be a whole number",
    "info kind.json": "its type 'dealy' says no run time",
    "info flops.json": "it counts flops",
    "info speed.toml": "speed=0.0 must be finite and above 0",
    "info text.toml": "count='4' must be a whole number",
    "info watts.toml": "idle_watts=9.0 must lie between 0 and busy_watts=5.0",
    "info broken.xml": "not valid XML",
    "info page.xml": "a <html>, not a <platform>",
    "info none.xml": "there is no host to run jobs on",
    "simulate good.csv --federation good.csv": "a log, which describes no machine",
    "simulate good.csv --federation one.toml": "exceeds the federation's 1 node;",
    "simulate good.csv --federation gone.toml": "there is no such file",
    # What the parser meets.
    "info": "info: SOURCE is missing.",
    "info sample more": "info takes only SOURCE; leave out 'more'.",
    "doctor extra": "doctor takes only options; leave out 'extra'.",
    "convert good.csv x.csv y.csv": "convert takes only SOURCE, TARGET; leave out 'y.csv'.",
    "plot other.json": "plot: --out is missing.",
    "plot other.json --outt x.png": "plot: --out is missing; it has no option --outt.",
    "simulate sample --head ten": "--head='ten' must be a whole number.",
    "simulate sample --head --nodes 8": "--head has no value; give it a whole number.",
    "simulate sample --nodes 8 --nodes 9": "--nodes is given more than once; give it once.",
    "simulate sample --knowledge guess": "--knowledge='guess' must be one of 'estimate', 'runtime'.",
    "simulate sample --kill-at-estimate=maybe": "--kill-at-estimate='maybe' must be true or false.",
    "simulate sample --same-time btach": "Did you mean 'batch'?",
    "simulate sample --heda 5": "Unknown option '--heda'. Did you mean '--head'?",
    "simulate sample -x": "Unknown option '-x'.",
    "study sample --shring block": "--scenario, --seed, --sweep. See: fedsched study --help.",
    "optimize sample --seconds ten": "--seconds='ten' must be a number.",
    "generate lublim --out x.swf": "MODEL='lublim' must be one of 'lublin', 'poisson', 'planted'. Did you",
    "market --tasks 5": "--tasks takes 2 values, not 1.",
    "--debugg simulate sample": "Unknown option '--debugg'. Did you mean '--debug'?",
    # Options that say nothing, contradict, or come too late.
    "verify good.csv --nodes 0": "--nodes=0 must be at least 1",
    "verify folder.swf": "it is a folder; give a file in it",
    "compare good.csv --nodes 8 --method easy --retry --seeds 1": "--retry repeats the failed runs in the file",
    "compare good.csv --nodes 8 --method easy --baseline eazy --seeds 1": "Did you mean 'easy'",
    "compare good.csv --nodes 8 --method css": "'css' runs on market, which is not named here",
    "compare market --method cbs": "'cbs' runs on a log, which is not named here",
    "gang good.csv --processors 99999999999": "must be at most 1000000 in all: each has a queue of its own",
    "gang good.csv --processors 8 --time-limit -1": "--time-limit=-1.0 is before the first job arrives",
    "gang good.csv --processors 8 --head 0": "is empty: there is nothing to simulate",
    "gang good.csv --processors 8 --warmup nan": "--warmup=nan must be finite",
    "gang pinto-2019-s1 --warmup -1": "--warmup=-1.0 must be finite and at least 0",
    "market --begin 5": "leave --begin out",
    "market --file market.toml --nodes 5": "leave --nodes out",
    "market --file slow.toml": "performance=-4.0 must be finite and above 0",
    "market --trace good.csv": "give --federation.",
    "market --trace good.csv --nodes 8": "leave --nodes out",
    "market --trace good.csv --federation example --begin nan": "--begin=nan must be a finite number",
    "market --trace good.csv --federation example --begin 1e300": "--begin=1e+300 must be nearer to the log's first",
    "market --trace good.csv --federation example --begin=-1e17": "--begin=-1e+17 must be nearer to the log's first",
    "simulate twice.json": "'nb_res' occurs twice in one JSON object; remove one of them.",
    "generate poisson --out x.swf --load inf": "load=inf must be finite and above 0",
    "simulate good.csv --nodes 8 --uplink=": "--uplink='' must be bytes a second",
    f"{SHORT} --package 1 --objective makespan --objective energy": "needs one objective",
}
# Of a mistake the parser says in its own words what it met; ours are the option, the value and the rule.
PARSERS = ("Unused Tokens", "unable to convert", "Invalid value", "requires an argument", "specified multiple times")


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
    assert not any(words in err for words in ("unexpected", *PARSERS))
    assert {path: path.is_dir() or path.read_bytes() for path in tmp_path.iterdir()} == before


def test_what_may_not_be_read_says_whom_to_ask(
    call: Callable[..., Any], tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    """Tests that a file without permission is one line with its cure."""
    (tmp_path / "closed.swf").write_text(SWF.format(10, 1))

    def refused(*_: object) -> None:
        raise PermissionError(13, "Permission denied")

    monkeypatch.setattr("fedsched.io.files._opened", refused)
    _, _, err = call("info", tmp_path / "closed.swf")
    assert err == f"fedsched: {tmp_path / 'closed.swf'}: you may not read it; ask its owner, or give another path.\n"


def test_no_memory_is_said_in_a_line(call: Callable[..., Any], monkeypatch: pytest.MonkeyPatch) -> None:
    """Tests that a problem too large for the machine is no unexpected error."""

    def exhausted(*_: object, **__: object) -> None:
        raise MemoryError("Unable to allocate 745. GiB")

    monkeypatch.setattr(importlib.import_module("fedsched.simulate"), "simulate", exhausted)  # no package: its verb
    status, _, err = call("simulate", "sample", "--nodes", 128)
    assert (status, err.count("\n")) == (2, 1)
    assert "not enough memory (Unable to allocate 745. GiB); use fewer jobs" in err
