"""Downloads from a server on this machine: whole, broken off and resumed, damaged, refused; nothing half-written."""

from __future__ import annotations

import contextlib
import gzip
import hashlib
import json
import socket
import threading
import urllib.parse
from dataclasses import dataclass, field
from http.server import BaseHTTPRequestHandler, ThreadingHTTPServer
from typing import TYPE_CHECKING

import pytest

from fedsched import cli
from fedsched.core.errors import FetchError
from fedsched.io import read
from fedsched.io.fetch import LOGS, fetch

if TYPE_CHECKING:
    from collections.abc import Iterator
    from pathlib import Path

LINES = "".join(f"{k} {k} 5 100 4 -1 -1 4 200 -1 1 7 1 1 1 -1 -1 -1\n" for k in range(1, 2001))
CONTENT = gzip.compress(LINES.encode(), mtime=0)
SHA = hashlib.sha256(CONTENT).hexdigest()


@dataclass
class Served:
    """What the server has and how it behaves; `asked` lists the ranges it was asked for."""

    content: bytes = CONTENT
    tag: str = '"1"'
    breaks_after: int | None = None
    ranges: bool = True
    status: int = 200
    says_length: bool = True
    lies_about_range: bool = False
    asked: list[str | None] = field(default_factory=list)
    url: str = ""


@pytest.fixture
def served(monkeypatch: pytest.MonkeyPatch) -> Iterator[Served]:
    """Serve one file on the loopback interface."""
    monkeypatch.setenv("no_proxy", "127.0.0.1")
    state = Served()

    class Handler(BaseHTTPRequestHandler):
        def do_GET(self) -> None:
            wanted = self.headers["Range"]
            state.asked.append(wanted)
            if state.status != 200:
                self.send_error(state.status)
                return
            begin = int(wanted.removeprefix("bytes=").rstrip("-")) if wanted and state.ranges else 0
            if begin and self.headers["If-Range"] != state.tag:
                begin = 0
            if begin >= len(state.content) > 0:
                self.send_error(416)
                return
            body = state.content[begin:]
            self.send_response(206 if begin else 200)
            if begin:
                first = begin + state.lies_about_range
                self.send_header("Content-Range", f"bytes {first}-{len(state.content) - 1}/{len(state.content)}")
            if state.tag:
                self.send_header("ETag", state.tag)
            if state.says_length:
                self.send_header("Content-Length", str(len(body)))
            self.end_headers()
            self.wfile.write(body if state.breaks_after is None else body[: state.breaks_after])

        def log_message(self, *_: object) -> None:
            pass

    server = ThreadingHTTPServer(("127.0.0.1", 0), Handler)
    thread = threading.Thread(target=server.serve_forever, kwargs={"poll_interval": 0.01})
    thread.start()
    state.url = f"http://127.0.0.1:{server.server_port}/logs/some.swf.gz"
    yield state
    server.shutdown()
    thread.join()
    server.server_close()


def left(folder: Path) -> list[str]:
    """Return the files in a folder."""
    return sorted(path.name for path in folder.iterdir())


def test_a_log_is_downloaded_checked_and_read(served: Served, tmp_path: Path) -> None:
    """Tests that a file is fetched whole, its checksum recorded as sha256sum would, and that it can be read."""
    steps: list[tuple[int, int]] = []
    got = fetch("", url=served.url, folder=tmp_path, progress=lambda done, total: steps.append((done, total)))
    assert got.path == tmp_path / "some.swf.gz"
    assert got.path.read_bytes() == CONTENT
    assert (got.sha256, got.bytes, got.downloaded) == (SHA, len(CONTENT), len(CONTENT))
    assert "trusted at this first download" in got.checked
    assert (tmp_path / "some.swf.gz.sha256").read_text() == f"{SHA}  some.swf.gz\n"
    assert left(tmp_path) == ["some.swf.gz", "some.swf.gz.sha256"]
    assert steps[-1] == (len(CONTENT), len(CONTENT))
    assert len(read(got.path)) == 2000


def test_what_is_there_is_not_downloaded_again(served: Served, tmp_path: Path) -> None:
    """Tests that a second call only compares the checksum that the first recorded."""
    fetch("", url=served.url, folder=tmp_path)
    again = fetch("", url=served.url, folder=tmp_path)
    assert (again.downloaded, len(served.asked)) == (0, 1)
    assert "recorded in some.swf.gz.sha256" in again.checked
    assert "it was there already" in str(again)


def test_a_file_that_changed_is_told(served: Served, tmp_path: Path) -> None:
    """Tests that a file that differs from its recorded checksum is an error, here and on the server."""
    got = fetch("", url=served.url, folder=tmp_path)
    got.path.write_bytes(CONTENT + b"x")
    with pytest.raises(FetchError, match=r"its sha256 is .* as recorded in some.swf.gz.sha256; delete it"):
        fetch("", url=served.url, folder=tmp_path)
    got.path.unlink()
    served.content = gzip.compress(b"1 2 3", mtime=0)
    with pytest.raises(FetchError, match=r"as recorded in some.swf.gz.sha256; the download was deleted"):
        fetch("", url=served.url, folder=tmp_path)
    assert left(tmp_path) == ["some.swf.gz.sha256"]


@pytest.mark.parametrize("says_length", [True, False])
def test_a_wrong_checksum_leaves_nothing(served: Served, tmp_path: Path, says_length: bool) -> None:
    """Tests that a download with another checksum than given is deleted, and that the right one is taken."""
    served.says_length = says_length
    with pytest.raises(FetchError, match=f"its sha256 is {SHA}, not {'0' * 64} as given; the download was deleted"):
        fetch("", url=served.url, folder=tmp_path, sha256="0" * 64)
    assert left(tmp_path) == []
    got = fetch("", url=served.url, folder=tmp_path, sha256=SHA.upper())
    assert got.checked == "as given"
    assert left(tmp_path) == ["some.swf.gz"]


def test_a_broken_download_goes_on_where_it_stopped(served: Served, tmp_path: Path) -> None:
    """Tests that the bytes that came are kept, that only the rest is asked for, and that the whole is right."""
    served.breaks_after = 1000
    with pytest.raises(FetchError, match=r"1,000 of .* bytes; run it again to go on after the 1,000 bytes"):
        fetch("", url=served.url, folder=tmp_path)
    assert left(tmp_path) == [".some.swf.gz.part", ".some.swf.gz.part.json"]
    served.breaks_after = 500
    with pytest.raises(FetchError, match=r"run it again to go on after the 1,500 bytes"):
        fetch("", url=served.url, folder=tmp_path)
    served.breaks_after = None
    got = fetch("", url=served.url, folder=tmp_path, sha256=SHA)
    assert served.asked == [None, "bytes=1000-", "bytes=1500-"]
    assert got.downloaded == len(CONTENT) - 1500
    assert left(tmp_path) == ["some.swf.gz"]


@pytest.mark.parametrize("how", ["ignores ranges", "has another version", "names no version", "another address"])
def test_what_cannot_be_resumed_begins_anew(served: Served, tmp_path: Path, how: str) -> None:
    """Tests that parts of different versions are never glued together."""
    served.tag = "" if how == "names no version" else served.tag
    served.breaks_after = 1000
    with pytest.raises(FetchError):
        fetch("", url=served.url, folder=tmp_path)
    served.breaks_after = None
    served.ranges = how != "ignores ranges"
    url = served.url
    if how == "has another version":
        served.tag, served.content = '"2"', gzip.compress(LINES.encode(), 1, mtime=0)
    if how == "another address":
        url = served.url + "?again"
    got = fetch("", url=url, folder=tmp_path)
    assert got.path.read_bytes() == served.content
    assert got.downloaded == len(served.content)


def test_a_server_that_sends_another_part_is_not_believed(served: Served, tmp_path: Path) -> None:
    """Tests that a wrong Content-Range is an error, after which the next call begins anew."""
    served.breaks_after = 1000
    with pytest.raises(FetchError):
        fetch("", url=served.url, folder=tmp_path)
    served.breaks_after, served.lies_about_range = None, True
    with pytest.raises(FetchError, match="the server sent a part that was not asked for"):
        fetch("", url=served.url, folder=tmp_path)
    assert fetch("", url=served.url, folder=tmp_path).path.read_bytes() == CONTENT


def test_a_part_that_is_longer_than_the_file_begins_anew(served: Served, tmp_path: Path) -> None:
    """Tests that a refusal of the range (416) is answered by a download from the beginning."""
    (tmp_path / ".some.swf.gz.part").write_bytes(b"x" * (len(CONTENT) + 5))
    (tmp_path / ".some.swf.gz.part.json").write_text(json.dumps({"url": served.url, "mark": '"1"'}))
    assert fetch("", url=served.url, folder=tmp_path).path.read_bytes() == CONTENT
    assert served.asked == [f"bytes={len(CONTENT) + 5}-", None]


@pytest.mark.parametrize("note", ["", "[]", '{"url": 3}', '{"mark": 1}', "\0"])
def test_a_damaged_note_is_no_note(served: Served, tmp_path: Path, note: str) -> None:
    """Tests that a note of a partial download that says nothing makes it begin anew."""
    (tmp_path / ".some.swf.gz.part").write_bytes(b"rubbish")
    (tmp_path / ".some.swf.gz.part.json").write_text(note)
    assert fetch("", url=served.url, folder=tmp_path).path.read_bytes() == CONTENT


@pytest.mark.parametrize(
    ("content", "message"),
    [(b"<!DOCTYPE html><p>Gone", "sent a web page, not a log"), (b"", "sent an empty file")],
)
def test_what_is_no_log_is_not_kept(served: Served, tmp_path: Path, content: bytes, message: str) -> None:
    """Tests that an error page with status 200 does not become a log."""
    served.content = content
    with pytest.raises(FetchError, match=message):
        fetch("", url=served.url, folder=tmp_path)
    assert left(tmp_path) == []


@pytest.mark.parametrize("status", [404, 403, 500])
def test_a_refusal_is_said_in_one_line(served: Served, tmp_path: Path, status: int) -> None:
    """Tests that the server's status and the cure are named."""
    served.status = status
    with pytest.raises(FetchError, match=rf"the server says {status} .*; check the address") as caught:
        fetch("", url=served.url, folder=tmp_path)
    assert "\n" not in str(caught.value)
    assert left(tmp_path) == []


def test_no_server_at_all(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    """Tests that a refused connection is one line with the cure."""
    monkeypatch.setenv("no_proxy", "127.0.0.1")
    with contextlib.closing(socket.socket()) as bound:  # bound and not listening: nobody answers there
        bound.bind(("127.0.0.1", 0))
        url = f"http://127.0.0.1:{bound.getsockname()[1]}/a.swf"
        with pytest.raises(FetchError, match="refused; check the network and its proxy, or download the file"):
            fetch("", url=url, folder=tmp_path)
    assert left(tmp_path) == []


def test_a_silent_server_is_not_waited_for(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    """Tests that a server that accepts and says nothing ends in an error after the time limit."""
    monkeypatch.setenv("no_proxy", "127.0.0.1")
    with contextlib.closing(socket.create_server(("127.0.0.1", 0))) as silent:
        url = f"http://127.0.0.1:{silent.getsockname()[1]}/a.swf"
        with pytest.raises(FetchError, match="timed out; check the network"):
            fetch("", url=url, folder=tmp_path, timeout=0.05)


@pytest.mark.parametrize(
    ("options", "message"),
    [
        ({"name": "KTH-SP3"}, "Unknown log 'KTH-SP3'. Did you mean 'KTH-SP2'?"),
        ({"name": "", "url": "ftp://a/b.swf"}, "must be an http or https address"),
        ({"name": "", "url": "file:///etc/passwd"}, "must be an http or https address"),
        ({"name": "", "url": "http://a/b c.swf"}, "without blanks"),
        ({"name": "../b.swf", "url": "http://a/b.swf"}, "must be a plain file name"),
        ({"name": "", "url": "http://a/"}, "name='' must be a plain file name"),
        ({"name": "", "url": "http://a/%2e%2e"}, "must be a plain file name"),
        ({"name": "KTH-SP2", "sha256": "abc"}, "must be 64 hexadecimal digits"),
        ({"name": "KTH-SP2", "folder": "no/such/folder"}, "the folder no/such/folder does not exist; make it first"),
    ],
)
def test_wrong_options_are_refused_before_any_download(options: dict[str, str], message: str) -> None:
    """Tests that wrong options name the value and the cure."""
    with pytest.raises((FetchError, ValueError)) as caught:
        fetch(**options)  # type: ignore[arg-type]
    assert message in str(caught.value)


def test_a_record_that_is_no_checksum_is_told(served: Served, tmp_path: Path) -> None:
    """Tests that a damaged record of a checksum is not overlooked."""
    (tmp_path / "some.swf.gz.sha256").write_text("soon")
    with pytest.raises(FetchError, match="it holds no checksum; delete it"):
        fetch("", url=served.url, folder=tmp_path)
    assert served.asked == []


def test_a_file_without_a_record_gets_one(served: Served, tmp_path: Path) -> None:
    """Tests that a file put there by hand is taken, and its checksum recorded."""
    (tmp_path / "some.swf.gz").write_bytes(CONTENT)
    first = fetch("", url=served.url, folder=tmp_path)
    assert "recorded now" in first.checked
    assert first.recorded is not None
    assert first.recorded.is_file()
    assert fetch("", url=served.url, folder=tmp_path).recorded is None
    assert "recorded in" in fetch("", url=served.url, folder=tmp_path).checked


@pytest.mark.parametrize("planted", [".some.swf.gz.part", ".some.swf.gz.part.json", "some.swf.gz.sha256"])
@pytest.mark.parametrize("hard", [False, True])
def test_a_planted_link_is_not_followed(served: Served, tmp_path: Path, planted: str, hard: bool) -> None:
    """Tests that nobody who can write to the folder makes a download write into, or read, another file of the user."""
    (tmp_path / "folder").mkdir()
    victim, link = tmp_path / "victim", tmp_path / "folder" / planted
    victim.write_text("mine")
    if hard:
        link.hardlink_to(victim)
    else:
        link.symlink_to(victim)
    note = tmp_path / "folder" / ".some.swf.gz.part.json"
    if note != link:
        note.write_text(json.dumps({"url": served.url, "mark": '"1"'}))
    if planted.endswith(".sha256"):
        with pytest.raises(FetchError, match=r"it is a link|it holds no checksum"):
            fetch("some.swf.gz", folder=tmp_path / "folder", url=served.url)
    else:
        got = fetch("some.swf.gz", folder=tmp_path / "folder", url=served.url)
        assert got.path.read_bytes() == CONTENT
        assert not any(path.is_symlink() for path in (tmp_path / "folder").iterdir())
    assert victim.read_text() == "mine"


@pytest.mark.parametrize("name", ["-rf", ".bashrc", "a\nb.swf", "a\x1b[2J.swf", "a\u202efws.gz", "a/b", "a\\b", "a\0b"])
def test_names_that_do_more_than_name_are_refused(tmp_path: Path, name: str) -> None:
    """Tests that neither a user nor an address gives a file a name that acts on checksums, programs or terminals."""
    with pytest.raises(ValueError, match="must be a plain file name"):
        fetch(name, folder=tmp_path, url="http://127.0.0.1:9/x.swf")
    if "/" not in name:
        address = "http://127.0.0.1:9/" + urllib.parse.quote(name)
        with pytest.raises(ValueError, match="must be a plain file name"):
            fetch("", folder=tmp_path, url=address)
    assert not list(tmp_path.iterdir())


def test_known_logs_have_addresses_of_the_archive() -> None:
    """Tests that every log's address is in the archive and ends in its file."""
    assert len(LOGS) >= 8
    for log in LOGS.values():
        assert log.url.startswith("https://www.cs.huji.ac.il/labs/parallel/workload/l_")
        assert log.url.endswith(f"/{log.file}")
        assert log.file.endswith(".swf.gz")


def test_the_command_downloads_lists_and_complains(
    served: Served, tmp_path: Path, capsys: pytest.CaptureFixture[str]
) -> None:
    """Tests `fedsched fetch`: as text, as JSON, without a name, and with a server that has no such file."""
    assert cli.run(["fetch", "log.swf.gz", "--url", served.url, "--out", str(tmp_path), "--sha256", SHA]) == 0
    assert f"sha256 {SHA}: as given" in capsys.readouterr().out
    assert cli.run(["fetch", "log.swf.gz", "--url", served.url, "--out", str(tmp_path), "--json"]) == 0
    said = json.loads(capsys.readouterr().out)
    assert (said["sha256"], said["downloaded"], said["path"]) == (SHA, 0, str(tmp_path / "log.swf.gz"))
    assert cli.run(["fetch", "--json"]) == 0
    assert {entry["name"] for entry in json.loads(capsys.readouterr().out)} == set(LOGS)
    assert cli.run(["fetch"]) == 0
    assert "KTH-SP2-1996-2.1-cln.swf.gz" in capsys.readouterr().out
    served.status = 404
    assert cli.run(["fetch", "x.swf", "--url", served.url, "--out", str(tmp_path)]) == 2
    error = capsys.readouterr().err
    assert error.startswith("fedsched: Cannot fetch http://127.0.0.1:")
    assert error.count("\n") == 1
