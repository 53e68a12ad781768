"""Logs from pipes and the standard input: read once, whatever they are compressed with, by every reader and command."""

from __future__ import annotations

import gzip
import io
import os
import subprocess
import sys
import threading
from pathlib import Path
from types import SimpleNamespace
from typing import TYPE_CHECKING

import pytest

import fedsched as fs
from fedsched import cli
from fedsched.cli import app
from fedsched.core.errors import TraceError
from fedsched.io import FEDERATION_FORMATS, FORMATS, files, read, read_federation, write, write_federation

if TYPE_CHECKING:
    from collections.abc import Callable

SWF = (
    b"; MaxProcs: 4\n1 0 -1 10 1 -1 -1 1 20 -1 1 7 -1 -1 -1 -1 -1 -1\n2 5 -1 10 2 -1 -1 2 20 -1 1 7 -1 -1 -1 -1 -1 -1\n"
)
SACCT = b"JobIDRaw|Submit|Start|ElapsedRaw|AllocCPUS\n1|0|5|10|1\n2|3|9|10|2\n"
CONF = b"ClusterName=c\nNodeName=n[1-4] CPUs=2\n"
PODS = (
    b"name,cpu_milli,memory_mib,num_gpu,gpu_milli,creation_time,deletion_time,scheduled_time\n"
    b"a,1000,512,0,0,0,10,0\nb,1000,512,1,500,5,20,7\n"
)
PODS_NODES = b"sn,cpu_milli,memory_mib,gpu,model\nn0,32000,4096,1,G2\n"
EVENTS = b"-dt 0 -e submit_batch_job | -sim-walltime 10 -n 1 -t 1 a.sh\n-dt 5 -e submit_batch_job | -n 2 -t 1 a.sh\n"
XML = b'<?xml version="1.0"?><platform version="4.1"><zone id="z"><host id="h" speed="1Gf"/></zone></platform>'


def content_of(kind: str, folder: Path) -> bytes:
    """Return a small file of a format."""
    if kind in (known := {"swf": SWF, "sacct": SACCT, "simgrid": XML, "slurm": CONF, "openb": PODS, "events": EVENTS}):
        return known[kind]
    path = folder / f"made.{ {'csv': 'csv', 'batsim': 'json', 'toml': 'toml'}[kind] }"
    if kind == "toml":
        write_federation(fs.Federation.of(2, 3), path)
    else:
        write(fs.Workload(submit=[0, 5], tasks=[1, 2], runtime=[10, 10], nodes=4), path)
    return path.read_bytes()


def piped(monkeypatch: pytest.MonkeyPatch, content: bytes) -> None:
    """Let the standard input hold this."""
    monkeypatch.setattr("sys.stdin", SimpleNamespace(buffer=io.BytesIO(content)))


@pytest.mark.parametrize("pack", [bytes, gzip.compress], ids=["plain", "gz"])
@pytest.mark.parametrize("kind", sorted({*FORMATS.values(), *FEDERATION_FORMATS.values()}))
def test_every_format_is_read_from_the_standard_input(
    kind: str, pack: Callable[[bytes], bytes], tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    """Tests that `-` is what is piped in, for every reader, also packed, under a name of its own."""
    content = content_of(kind, tmp_path)
    if kind in FORMATS.values():
        piped(monkeypatch, pack(content))
        assert len(read("-", kind)) == 2
    if kind in FEDERATION_FORMATS.values():
        piped(monkeypatch, pack(PODS_NODES if kind == "openb" else content))
        found = read_federation("-", kind)
        assert found.nodes
        assert kind in ("toml", "slurm") or found.name == "stdin"


@pytest.mark.skipif(not hasattr(os, "mkfifo"), reason="this system has no named pipes")
@pytest.mark.parametrize("pack", [bytes, gzip.compress], ids=["plain", "gz"])
def test_a_named_pipe_is_read_once(pack: Callable[[bytes], bytes], tmp_path: Path) -> None:
    """Tests that a pipe by its name is read like a file, its suffix telling the format as usual."""
    path = tmp_path / "a.swf"
    os.mkfifo(path)
    writer = threading.Thread(target=path.write_bytes, args=(pack(SWF),))
    writer.start()
    assert len(read(path)) == 2
    writer.join()


def test_a_format_must_be_named(monkeypatch: pytest.MonkeyPatch) -> None:
    """Tests that what has no name is not guessed at: the error says what to give."""
    piped(monkeypatch, SWF)
    with pytest.raises(
        ValueError, match=r"-: the standard input has no name to tell its format; give format= .--from."
    ):
        read("-")


def test_a_trap_in_a_pipe_is_bounded(monkeypatch: pytest.MonkeyPatch) -> None:
    """Tests that compressed data from a pipe may not grow without bound, and that a pipe itself may not either."""
    monkeypatch.setattr(files, "ALLOWANCE", 1000)
    piped(monkeypatch, gzip.compress(b"0" * 10_000_000))
    with pytest.raises(TraceError, match="grow to more than"):
        read("-", "swf")
    monkeypatch.setattr(files, "MOST_PIPED", 10)
    piped(monkeypatch, SWF)
    with pytest.raises(TraceError, match="through the pipe"):
        read("-", "swf")


COMMANDS = {
    "info": ("info", "-"),
    "simulate": ("simulate", "-"),
    "optimize": ("optimize", "-", "--evaluations", "20", "--method", "sa"),
    "bounds": ("bounds", "-"),
    "shift": ("shift", "-", "--put-off", "1h", "--carbon", "carbon.csv", "--evaluations", "20"),
    "compare": ("compare", "-", "--method", "easy", "--method", "fcfs", "--seeds", "1", "--evaluations", "10"),
    "report": ("report", "-"),
    "convert": ("convert", "-"),
    "verify": ("verify", "-"),
    "gang": ("gang", "-"),
    "tune": ("tune", "-", "--conf", "slurm.conf", "--simulations", "2", "--check", "0"),
    "market": ("market", "--trace", "-", "--begin", "0", "--interval", "50", "--length", "1", "2", "--jobs", "1"),
}
NO_LOG = ("sprio", "plot", "generate", "fetch", "completion", "doctor", "demo", "warmup")
NO_LOG += ("bench", "twin", "plan", "apply", "watch", "place")
FILES_ALONE = ("study",)  # which takes logs and folders of dumps, several of them


def test_every_command_is_here() -> None:
    """Tests that no command is added without saying here whether it takes a log."""
    assert {*COMMANDS, *NO_LOG, *FILES_ALONE} == set(app.COMMANDS)


@pytest.mark.parametrize("command", COMMANDS)
def test_every_command_takes_the_standard_input(
    command: str, tmp_path: Path, monkeypatch: pytest.MonkeyPatch, capsys: pytest.CaptureFixture[str]
) -> None:
    """Tests that whatever command takes a log takes one from a pipe, with --from, and says what is missing without."""
    monkeypatch.chdir(tmp_path)
    Path("slurm.conf").write_bytes(CONF)
    Path("carbon.csv").write_text("second,g/kWh\n0,400\n900000,250\n", encoding="utf-8")
    words = [*COMMANDS[command]]
    words += {"report": ["--out", str(tmp_path / "a.html")], "convert": [str(tmp_path / "a.csv")]}.get(command, [])
    piped(monkeypatch, gzip.compress(SWF))
    assert cli.run([*words, "--from", "swf"]) in (0, 1), capsys.readouterr().err
    assert capsys.readouterr().out
    piped(monkeypatch, SWF)
    assert cli.run(words) == 2
    said = capsys.readouterr().err
    assert "--from" in said
    assert "swf" in said


@pytest.mark.parametrize("target", ["-", "/dev/stdout"])
def test_converted_data_stand_alone_on_the_standard_output(target: str, tmp_path: Path) -> None:
    """Tests that what is converted to the standard output is the data alone, the report on stderr, also in a file."""
    if target != "-" and not Path(target).exists():
        pytest.skip("this system has no such name")
    command = [sys.executable, "-m", "fedsched.cli", "convert", "-", target, "--from", "swf", "--to", "csv"]
    done = subprocess.run(command, input=SWF, capture_output=True, check=True)
    (tmp_path / "piped.csv").write_bytes(done.stdout)
    assert len(read(tmp_path / "piped.csv")) == 2
    assert b"2 jobs" in done.stderr
    with (tmp_path / "more").open("wb") as out:
        out.write(b"before\n")
        out.flush()
        subprocess.run(command, input=SWF, stdout=out, stderr=subprocess.DEVNULL, check=True)
    assert (tmp_path / "more").read_bytes() == b"before\n" + done.stdout


@pytest.mark.skipif(not Path("/dev/zero").exists(), reason="there are no such devices here")
@pytest.mark.parametrize("device", ["/dev/zero", "/dev/urandom"])
def test_a_device_without_end_is_refused_before_it_fills_the_disk(
    device: str, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    """A device, as the file itself or as one that it includes, is an error before much of it is kept."""
    monkeypatch.setattr(files, "IN_MEMORY", 4 << 20)
    monkeypatch.setattr(files, "MOST_PIPED", 8 << 20)  # a test that fails shall fill nothing either
    conf = tmp_path / "slurm.conf"
    conf.write_text(f"ClusterName=c\nInclude {device}\n")
    with pytest.raises(TraceError, match=f"{device}: it is a device without an end; give a file"):
        read(device, "swf")
    with pytest.raises(fs.errors.FedschedError, match=f"{device}: it is a device without an end; give a file"):
        read_federation(conf)


@pytest.mark.skipif(not hasattr(os, "mkfifo"), reason="there are no named pipes here")
def test_a_pipe_that_nobody_writes_into_is_an_error(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    """A named pipe waits for somebody to write, and not for ever."""
    monkeypatch.setattr(files, "PATIENCE", 0.1)
    pipe = tmp_path / "log.swf"
    os.mkfifo(pipe)
    with pytest.raises(TraceError, match=r"it is a pipe, and nothing was written into it for 0\.1 s; give a file"):
        read(pipe)


@pytest.mark.skipif(not Path("/proc/self/fd").exists(), reason="open files have no names here")
def test_a_pipe_without_a_name_is_known_to_be_empty_at_once() -> None:
    """A pipe whose writer is gone, as a shell's, holds what it holds: nobody else will come."""
    reads, writes = os.pipe()
    os.close(writes)
    with os.fdopen(reads), pytest.raises(TraceError, match="it has no job"):
        read(f"/dev/fd/{reads}", "swf")


@pytest.mark.skipif(not hasattr(os, "mkfifo"), reason="there are no named pipes here")
@pytest.mark.parametrize("first", ["reader", "writer"])
def test_a_named_pipe_is_read_to_its_end(first: str, tmp_path: Path) -> None:
    """What is written into a named pipe is read whole, whoever comes first and however slowly it is written."""
    pipe = tmp_path / "log.swf"
    os.mkfifo(pipe)
    begun = threading.Event()

    def written() -> None:
        if first == "reader":
            begun.wait(0.1)
        with pipe.open("wb", buffering=0) as out:
            begun.wait(0.05)  # the reader finds a writer who has nothing to say yet
            for line in SWF.splitlines(keepends=True):
                out.write(line)
                begun.wait(0.01)

    writer = threading.Thread(target=written)
    writer.start()
    if first == "writer":
        begun.wait(0.05)
    assert len(read(pipe)) == 2
    writer.join()
