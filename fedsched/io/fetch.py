"""Downloads of the Parallel Workloads Archive's logs: resumed after interruptions, checked, and written atomically."""

from __future__ import annotations

import hashlib
import http.client
import json
import os
import re
import secrets
import stat
import urllib.error
import urllib.parse
import urllib.request
from contextlib import suppress
from dataclasses import dataclass
from pathlib import Path
from typing import IO, TYPE_CHECKING, Any, Protocol, cast

from fedsched.core.errors import FetchError, unknown_name
from fedsched.core.text import one_line
from fedsched.io.atomic import check_writable

if TYPE_CHECKING:
    from collections.abc import Callable, Mapping
    from os import PathLike

    class Response(Protocol):
        """A server's answer to a request, which is closed at the end of a `with` block."""

        status: int
        headers: Mapping[str, str]

        def read(self, size: int, /) -> bytes:
            """Return the next bytes of the content, at most `size`; b"" at the end."""
            ...

        def __enter__(self) -> Response: ...
        def __exit__(self, *exception: object) -> None: ...


ARCHIVE = "https://www.cs.huji.ac.il/labs/parallel/workload/"
TIMEOUT = 30.0
_CHUNK = 1 << 18
# Windows has neither such links by default nor this flag.
_NO_LINKS = getattr(os, "O_NOFOLLOW", 0)
_BINARY = getattr(os, "O_BINARY", 0)


@dataclass(frozen=True, slots=True)
class KnownLog:
    """A log of the archive: its file, its folder, and a description."""

    file: str
    folder: str
    about: str

    @property
    def url(self) -> str:
        """Return the log's address in the archive."""
        return f"{ARCHIVE}{self.folder}/{self.file}"


# The archive publishes no checksums, so none is listed: the first download records its own beside the file.
LOGS = {
    "ANL-Intrepid": KnownLog("ANL-Intrepid-2009-1.swf.gz", "l_anl_int", "Argonne, Blue Gene/P, 2009"),
    "CTC-SP2": KnownLog("CTC-SP2-1996-3.1-cln.swf.gz", "l_ctc_sp2", "Cornell, 338 nodes, 1996, cleaned"),
    "HPC2N": KnownLog("HPC2N-2002-2.2-cln.swf.gz", "l_hpc2n", "Umea, 240 CPUs, 2002 to 2006, cleaned"),
    "KTH-SP2": KnownLog("KTH-SP2-1996-2.1-cln.swf.gz", "l_kth_sp2", "Stockholm, 100 nodes, 1996, cleaned"),
    "LANL-CM5": KnownLog("LANL-CM5-1994-4.1-cln.swf.gz", "l_lanl_cm5", "Los Alamos, 1024 nodes, 1994, cleaned"),
    "METACENTRUM": KnownLog("METACENTRUM-2009-2.swf.gz", "l_metacentrum", "Czechia, 14 clusters, 2009"),
    "NASA-iPSC": KnownLog("NASA-iPSC-1993-3.1-cln.swf.gz", "l_nasa_ipsc", "NASA Ames, 128 nodes, 1993, cleaned"),
    "SDSC-BLUE": KnownLog("SDSC-BLUE-2000-4.2-cln.swf.gz", "l_sdsc_blue", "San Diego, 1152 CPUs, 2000, cleaned"),
    "SDSC-SP2": KnownLog("SDSC-SP2-1998-4.2-cln.swf.gz", "l_sdsc_sp2", "San Diego, 128 nodes, 1998, cleaned"),
}


@dataclass(frozen=True, slots=True)
class Fetched:
    """A downloaded file, and how its content was checked.

    Parameters
    ----------
    path
        The file.
    url
        Its address.
    sha256, bytes
        Its checksum, and its size.
    downloaded
        The number of bytes that were downloaded now; 0 if the file was there.
    checked
        In words, by what its content was checked.
    recorded
        The file in which this call recorded the checksum; None if the checksum was known before.
    """

    path: Path
    url: str
    sha256: str
    bytes: int
    downloaded: int
    checked: str
    recorded: Path | None = None  # the file with the checksum that this call recorded for later ones

    def __str__(self) -> str:
        how = f"{self.downloaded:,} bytes downloaded" if self.downloaded else "it was there already"
        return f"{one_line(self.path)}: {self.bytes:,} bytes, {how}\nsha256 {self.sha256}: {self.checked}"


def fetch(
    name: str,
    *,
    folder: str | PathLike[str] = ".",
    url: str | None = None,
    sha256: str | None = None,
    timeout: float = TIMEOUT,
    progress: Callable[[int, int], None] | None = None,
) -> Fetched:
    """Return the file of a log of the archive; download it unless it exists.

    An interrupted download is resumed if the server can do so. The file gets its name only when it is complete and its
    checksum is right. The archive publishes no checksums: without `sha256` the first download is trusted, its checksum
    is written to NAME.sha256 beside it (as by `sha256sum`), and the file must match it at every later call.

    Parameters
    ----------
    name
        A log's name in `LOGS`; with `url` the name of the file to write, by default that in the address.
    folder
        The folder of the file.
    url
        Another address (http or https) than the archive's.
    sha256
        The checksum that the file must have: 64 hexadecimal digits.
    timeout
        The longest silence of the server, in seconds.
    progress
        Called with the bytes downloaded so far and those of the whole file, 0 if the server does not tell.
    """
    address, file = _address(name, url)
    if sha256 is not None and not re.fullmatch(r"[0-9a-fA-F]{64}", sha256):
        raise ValueError(f"sha256={sha256!r} must be 64 hexadecimal digits.")
    target = Path(folder) / file
    if not target.parent.is_dir():
        raise FetchError(f"Cannot fetch {name}: the folder {target.parent} does not exist; make it first.")
    wanted, whose = _wanted(target, sha256)
    recorded = _sidecar(target) if wanted is None else None
    if target.is_file():
        found = _digest(target)
        if wanted is None:
            checked = _record(target, found, "there before without a checksum: recorded now")
        else:
            _compare(target, found, wanted, whose, "delete it to download it anew")
            checked = f"as {whose}"
        return Fetched(target, address, found, target.stat().st_size, 0, checked, recorded)
    check_writable(target)
    part = target.with_name(f".{file}.part")
    try:
        with _Download(address, part) as download:
            received = download.run(timeout, progress)
            # The open file is checked, as another one may have its name by now.
            found = _digest_of(download.file)
            try:
                _check_content(download.file, address)
                if wanted is not None:
                    _compare(part, found, wanted, whose, "the download was deleted")
            except FetchError:
                part.unlink()
                _validator(part).unlink(missing_ok=True)
                raise
            if os.fstat(download.file.fileno()).st_ino != part.lstat().st_ino:
                raise FetchError(f"{part}: another program replaced this file; fetch into a folder of your own.")
        checked = f"as {whose}" if wanted else _record(target, found, "trusted at this first download and recorded")
        part.replace(target)
        _validator(part).unlink(missing_ok=True)
    except OSError as error:
        raise FetchError(f"Cannot write {target}: {error.strerror or error}; check the folder and the disk.") from error
    return Fetched(target, address, found, target.stat().st_size, received, checked, recorded)


def _address(name: str, url: str | None) -> tuple[str, str]:
    """Return the address of a file to download, and the name under which it is stored.

    `name` is that of a known log, or with `url` the file's name. Raise an UnknownNameError for an unknown log, and a
    ValueError for an unsafe name or address.
    """
    if url is None:
        by_lower = {known.lower(): log for known, log in LOGS.items()}
        by_lower |= {log.file.lower(): log for log in LOGS.values()}
        if name.lower() not in by_lower:
            raise unknown_name("log", name, LOGS)
        log = by_lower[name.lower()]
        return log.url, log.file
    parts = urllib.parse.urlsplit(url)
    if parts.scheme not in ("http", "https") or not parts.netloc or not url.isascii() or re.search(r"\s", url):
        raise ValueError(f"url={url!r} must be an http or https address, without blanks.")
    file = name or Path(urllib.parse.unquote(parts.path)).name
    # A line's end could forge entries of a checksum file, a leading dash is an option to the next program, a leading
    # dot hides the file.
    if not file or file[0] in ".-" or not file.isprintable() or "/" in file or "\\" in file:
        raise ValueError(
            f"name={file!r} must be a plain file name: printable, without / or \\, and beginning with neither a dash "
            "nor a dot; give the folder with folder=."
        )
    return url, file


# ---- checksums ----------------------------------------------------------------------------------------------------


def _sidecar(target: Path) -> Path:
    return target.with_name(f"{target.name}.sha256")


def _wanted(target: Path, sha256: str | None) -> tuple[str | None, str]:
    """Return the checksum that the file must have, and its source in words: given, or recorded beside the file.

    Return None and "" if none is known.
    """
    if sha256 is not None:
        return sha256.lower(), "given"
    text = _read_small(_sidecar(target), "a checksum's file")
    if text is not None:
        match = re.match(r"([0-9a-fA-F]{64})\b", text)
        if match is None:
            raise FetchError(f"{_sidecar(target)}: it holds no checksum; delete it to trust the next download.")
        return match[1].lower(), f"recorded in {_sidecar(target).name}"
    return None, ""


def _record(target: Path, found: str, how: str) -> str:
    _put(_sidecar(target), f"{found}  {target.name}\n")
    return f"{how} in {_sidecar(target).name} (the archive publishes none)"


def _digest(path: Path) -> str:
    with path.open("rb") as stream:
        return _digest_of(stream)


def _digest_of(stream: IO[bytes]) -> str:
    stream.seek(0)
    return hashlib.file_digest(stream, "sha256").hexdigest()  # type: ignore[arg-type]


def _compare(path: Path, found: str, wanted: str, whose: str, cure: str) -> None:
    if found != wanted:
        raise FetchError(f"{path}: its sha256 is {found}, not {wanted} as {whose}; {cure}.")


def _check_content(stream: IO[bytes], url: str) -> None:
    """Raise a FetchError if the server sent nothing, or a web page in place of a log."""
    stream.seek(0)
    begin = stream.read(256).lstrip().lower()
    if not begin:
        raise FetchError(f"Cannot fetch {url}: the server sent an empty file; check the address.")
    if begin.startswith((b"<!doctype", b"<html", b"<?xml")):
        raise FetchError(f"Cannot fetch {url}: the server sent a web page, not a log; check the address.")


# ---- the download -------------------------------------------------------------------------------------------------


def _validator(part: Path) -> Path:
    """Return the path of the file that records the address and version of a partial download."""
    return part.with_name(f"{part.name}.json")


class _Download:
    """A download into a partial file, open for writing; it goes on with an earlier part if its version is known.

    `have` is the number of bytes that are there, and `mark` their version. An empty file is deleted at the end.
    """

    def __init__(self, url: str, part: Path) -> None:
        self.url, self.part = url, part
        kept = _reopen(part)
        self.have, self.mark = (0, "") if kept is None else _resumable(url, part, os.fstat(kept.fileno()).st_size)
        if kept is not None and not self.have:
            kept.close()
        self.file = kept if kept is not None and self.have else _create(part)

    def __enter__(self) -> _Download:
        return self

    def __exit__(self, *exception: object) -> None:
        self.file.close()
        if self.part.is_file() and not self.part.stat().st_size:
            self.part.unlink()

    def run(self, timeout: float, progress: Callable[[int, int], None] | None) -> int:
        """Download the rest of the file, or all of it if the server cannot resume; return how many bytes came.

        Raise a FetchError if the server refuses or the connection ends early; the partial file then stays.
        """
        url, have = self.url, self.have
        headers = {"User-Agent": "fedsched", "Accept-Encoding": "identity"}
        if have:
            headers |= {"Range": f"bytes={have}-", "If-Range": self.mark}
        try:
            with _open(url, headers, timeout) as response:
                resumed = have > 0 and response.status == 206 and _range_begin(response) == have
                if response.status == 206 and not resumed:
                    self._begin_anew()
                    raise FetchError(
                        f"Cannot fetch {url}: the server sent a part that was not asked for; run it again."
                    )
                # A server that ignores the range, or has another version by now, sends the whole file.
                if not resumed:
                    self._begin_anew()
                have = self.have
                length = response.headers.get("Content-Length") or ""
                total = have + int(length) if length.isdigit() else 0
                _note_validator(url, self.part, response)
                received = 0
                self.file.seek(have)
                while block := self._next_block(response):
                    self.file.write(block)
                    received += len(block)
                    if progress is not None:
                        progress(have + received, total)
                self.file.flush()
        except urllib.error.HTTPError as error:
            error.close()
            if error.code == 416 and have:  # the bytes here are not the beginning of the server's file
                self._begin_anew()
                return self.run(timeout, progress)
            raise FetchError(
                f"Cannot fetch {url}: the server says {error.code} {error.reason}; check the address, or give another "
                "with --url."
            ) from None
        except (urllib.error.URLError, http.client.HTTPException) as error:
            raise self._broken(error) from None
        if total and have + received != total:
            raise self._broken(f"the connection ended after {have + received:,} of {total:,} bytes")
        return received

    def _begin_anew(self) -> None:
        self.file.truncate(0)
        self.have, self.mark = 0, ""

    def _next_block(self, response: Response) -> bytes:
        try:
            return response.read(_CHUNK)
        except (OSError, http.client.HTTPException) as error:
            raise self._broken(error) from None

    def _broken(self, why: object) -> FetchError:
        self.file.flush()
        reason = getattr(why, "reason", why)
        said = getattr(reason, "strerror", None) or str(reason) or type(reason).__name__
        size = os.fstat(self.file.fileno()).st_size
        if size:
            cure = f"run it again to go on after the {size:,} bytes that are here"
        else:
            cure = "check the network and its proxy, or download the file elsewhere and put it into the folder"
        return FetchError(f"Cannot fetch {self.url}: {' '.join(said.split())}; {cure}.")


def _open(url: str, headers: dict[str, str], timeout: float) -> Response:
    try:
        return cast("Response", urllib.request.urlopen(urllib.request.Request(url, headers=headers), timeout=timeout))
    except urllib.error.URLError:
        raise
    except OSError as error:  # a time limit, a reset, a certificate
        raise urllib.error.URLError(error) from None


def _resumable(url: str, part: Path, size: int) -> tuple[int, str]:
    """Return how many bytes of a partial download can be used, all or 0, and the version that they are of.

    They cannot be used (0 and "") if no note says that they are of this address and a known version.
    """
    with suppress(OSError, ValueError, TypeError, AttributeError, FetchError):
        noted: Any = json.loads(_read_small(_validator(part), "a download's note") or "null")
        mark = noted.get("mark")
        if noted.get("url") == url and isinstance(mark, str) and mark.isascii() and mark.isprintable() and mark:
            return size, mark
    return 0, ""


def _note_validator(url: str, part: Path, response: Response) -> None:
    """Write the note with the address and the version that the server tells ("" if none), for a later resumption."""
    tag = response.headers.get("ETag") or ""
    mark = tag if tag and not tag.startswith("W/") else response.headers.get("Last-Modified") or ""
    _put(_validator(part), json.dumps({"url": url, "mark": mark}))


def _range_begin(response: Response) -> int:
    match = re.match(r"bytes (\d+)-", response.headers.get("Content-Range") or "")
    return int(match[1]) if match else -1


# ---- files with predictable names in shared folders: links and other users' files are never followed ---------------


def _create(path: Path) -> IO[bytes]:
    """Return a new, empty file of that name, open to write and read; an existing file or link is removed."""
    path.unlink(missing_ok=True)
    return os.fdopen(os.open(path, os.O_RDWR | os.O_CREAT | os.O_EXCL | _NO_LINKS | _BINARY, 0o644), "w+b")


def _reopen(path: Path) -> IO[bytes] | None:
    """Return the file of this path, open to write and read; None if there is none, or if it is not this user's alone.

    Links, files that are not plain, other users' files and files with a second name are not.
    """
    with suppress(OSError):
        number = os.open(path, os.O_RDWR | _NO_LINKS | _BINARY)
        found = os.fstat(number)
        user = os.getuid() if hasattr(os, "getuid") else found.st_uid
        if stat.S_ISREG(found.st_mode) and found.st_uid == user and found.st_nlink == 1:
            return os.fdopen(number, "r+b")
        os.close(number)
    return None


def _put(path: Path, text: str) -> None:
    """Write a small file atomically; a link of its name is replaced, never followed."""
    temporary = path.with_name(f".{secrets.token_hex(8)}.part")
    try:
        with _create(temporary) as out:
            out.write(text.encode("utf-8", "backslashreplace"))
        temporary.replace(path)
    finally:
        temporary.unlink(missing_ok=True)


def _read_small(path: Path, what: str) -> str | None:
    """Return the first 64 KiB of a file as text, None if there is no file; a symbolic link raises a FetchError."""
    if path.is_symlink():
        raise FetchError(f"{path}: it is a link, which could lead anywhere; {what} is a plain file: delete the link.")
    try:
        with path.open("rb") as stream:
            return stream.read(1 << 16).decode("utf-8", "replace")
    except FileNotFoundError:
        return None
