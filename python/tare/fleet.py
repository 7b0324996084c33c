# SPDX-License-Identifier: MIT
"""Many models, or one, on the machines of a Ray cluster: from any URL that fsspec knows to any other.

    import tare.fleet

    jobs = [tare.fleet.Job(f"s3://models/{name}.safetensors", f"gs://small/{name}.gguf", "quantize",
                           {"mix": "Q4_K_M"}) for name in names]
    summary = tare.fleet.run(jobs, "fleet.sqlite", progress=print)

A job is a task of Ray: it reads its source by ranges (a directory is fetched), works in a scratch folder of its
machine, puts the result to its target, and looks at what is there then. The ledger, an SQLite file on the machine that
calls, has a row for each job: its state, tries, digest and sizes. Calling again with the same ledger goes on where the
last run ended: what is done, and neither its source nor its target has changed, is not made again.

A job with `parts` is as many tasks, and one that joins what they wrote beside the target, which so is on a file
system that all machines see.
"""
from __future__ import annotations

import contextlib
import hashlib
import json
import os
import shutil
import socket
import sqlite3
import sys
import tempfile
import time
from collections import deque
from dataclasses import dataclass, field
from importlib import import_module
from typing import Any, Callable, Iterable, Iterator, Mapping, Sequence

from . import version

__all__ = ["Job", "Ledger", "Progress", "Summary", "run"]

VERBS = ("convert", "quantize", "pack", "unpack", "digest", "verify")
WITHOUT_TARGET = ("digest", "verify")
IN_PARTS = ("convert", "quantize", "pack", "verify")
# Stores whose objects appear whole; elsewhere a file is put under another name and renamed.
STORES = {"s3", "s3a", "gs", "gcs", "az", "abfs", "abfss", "adl", "oss", "r2"}
PIECE = 1 << 22


@dataclass(frozen=True, eq=False)
class Job:
    """One model: `options` are those of tare.convert and the other verbs; `mix` of quantize is among them. `parts`:
    of how many tasks its work is made, each by itself."""

    source: str
    target: str = ""
    verb: str = "convert"
    options: Mapping[str, Any] = field(default_factory=dict)
    parts: int = 1

    def __post_init__(self) -> None:
        if self.verb not in VERBS:
            raise ValueError(f"{self.verb!r} is not one of: {', '.join(VERBS)}")
        if bool(self.target) == (self.verb in WITHOUT_TARGET):
            raise ValueError(f"{self.verb} of {self.source}: a target " +
                             ("is not written" if self.target else "expected"))
        if self.parts != 1 and (self.parts < 1 or self.verb not in IN_PARTS):
            raise ValueError(f"parts: at least 1, of {', '.join(IN_PARTS)}")
        if self.parts > 1 and self.target.partition("://")[1] and not self.target.startswith("file://"):
            raise ValueError(f"{self.target}: parts are written on a file system that all machines see, and what they "
                             "are joined into is copied from there")

    @property
    def key(self) -> str:
        """The same for the same work."""
        words = [self.verb, self.source, self.target, dict(self.options), *([self.parts] if self.parts > 1 else [])]
        text = json.dumps(words, sort_keys=True)
        return hashlib.sha256(text.encode()).hexdigest()

    def __eq__(self, other: object) -> bool:
        return isinstance(other, Job) and self.key == other.key

    def __hash__(self) -> int:
        return hash(self.key)


@dataclass(frozen=True)
class Progress:
    """What `progress` is called with, each time that a job ends or is tried again."""

    job: Job
    state: str  # done, part (of a job is done), failed, again, kept
    error: str
    n_done: int
    n_failed: int
    n_jobs: int
    nbytes: int  # written so far

    def __str__(self) -> str:
        why = f": {self.error}" if self.error else ""
        return f"{self.n_done + self.n_failed}/{self.n_jobs} {self.state} {self.job.source}{why}"


@dataclass(frozen=True)
class Summary:
    n_done: int  # in this run
    n_kept: int  # done before
    failed: dict[Job, str]  # and why
    nbytes: int

    def raise_failed(self) -> None:
        if self.failed:
            job, error = next(iter(self.failed.items()))
            raise RuntimeError(f"{len(self.failed)} jobs failed, the first {job.source}: {error}")


# ---- files anywhere

def _place(url: str, storage: Mapping[str, Any]) -> tuple[Any, str]:
    from fsspec.core import url_to_fs

    fs, path = url_to_fs(url, **dict(storage.get(url.partition("://")[0], {})))
    return fs, path.rstrip("/")


def _names(fs: Any, path: str) -> list[str]:
    """The files below a path, as paths from there; of a file the empty one."""
    if fs.isfile(path):
        return [""]
    return sorted(found[len(path):].lstrip("/") for found in fs.find(path))


def _identity(url: str, storage: Mapping[str, Any]) -> str:
    """Of what is there now: it changes when a file is replaced. Empty: nothing is there."""
    fs, path = _place(url, storage)
    fs.invalidate_cache()
    if not fs.exists(path):
        return ""
    h = hashlib.sha256()
    for name in _names(fs, path):
        whole = f"{path}/{name}" if name else path
        info = fs.info(whole)
        marks = [str(info[k]) for k in ("ETag", "etag", "md5Hash", "checksum", "mtime", "LastModified", "last_modified",
                                        "updated", "created") if info.get(k) is not None][:2]
        h.update(json.dumps([name, info["size"], *marks]).encode())
    return h.hexdigest()


def _put(local: str, url: str, mark: str, storage: Mapping[str, Any]) -> None:
    """A file, or all files of a folder, which appears in one step where the file system can rename. What a
    folder of a store had before and has not now goes at the end."""
    fs, path = _place(url, storage)
    protocol = fs.protocol if isinstance(fs.protocol, str) else fs.protocol[0]
    parent, _, last = path.rpartition("/")
    aside = path if protocol in STORES else f"{parent}/.{last}.tare-fleet-{mark}"
    if aside != path:
        with contextlib.suppress(FileNotFoundError):
            fs.rm(aside, recursive=True)
        fs.makedirs(parent, exist_ok=True)
    names = _local_names(local)
    before = set(_names(fs, path)) - {"", *names} if aside == path and os.path.isdir(local) and fs.exists(path) else set()
    for name in names:
        to = f"{aside}/{name}" if name else aside
        if aside != path and name:
            fs.makedirs(to.rpartition("/")[0], exist_ok=True)
        fs.put_file(os.path.join(local, name) if name else local, to)
    for name in sorted(before):
        fs.rm_file(f"{path}/{name}")
    if aside == path:
        return
    if fs.exists(path):
        fs.rm(path, recursive=True)
    fs.mv(aside, path, recursive=os.path.isdir(local))


def _local_names(path: str) -> list[str]:
    if not os.path.isdir(path):
        return [""]
    return sorted(os.path.relpath(os.path.join(folder, name), path)
                  for folder, _, names in os.walk(path) for name in names)


def _file_digest(path: str) -> str:
    h = hashlib.sha256()
    with open(path, "rb") as file:
        while piece := file.read(PIECE):
            h.update(piece)
    return h.hexdigest()


def _check_put(files: list[list[Any]], url: str, storage: Mapping[str, Any]) -> None:
    fs, path = _place(url, storage)
    fs.invalidate_cache()
    for name, nbytes, _ in files:
        whole = f"{path}/{name}" if name else path
        there = fs.info(whole)["size"]
        if there != nbytes:
            raise OSError(f"{whole} has {there} bytes where {nbytes} were put")


# ---- the work of a task

@contextlib.contextmanager
def _scratch(folder: str | None, key: str) -> Iterator[str]:
    """An empty folder on this machine; what a task that was killed left of the same job goes."""
    base, front = folder or tempfile.gettempdir(), f"tare-fleet-{key[:16]}-"
    for name in os.listdir(base):
        if name.startswith(front):
            shutil.rmtree(os.path.join(base, name), ignore_errors=True)
    path = tempfile.mkdtemp(prefix=front, dir=base)
    try:
        yield path
    finally:
        shutil.rmtree(path, ignore_errors=True)


@contextlib.contextmanager
def _source(url: str, folder: str, storage: Mapping[str, Any], is_part: bool) -> Iterator[Any]:
    """What a verb opens: a path of this machine, a file that is read by ranges, or a directory that is fetched, for which a
    part is too little."""
    fs, path = _place(url, storage)
    if "file" in (fs.protocol if isinstance(fs.protocol, tuple) else (fs.protocol,)):
        yield path
    elif fs.isfile(path):
        with fs.open(path, "rb", cache_type="readahead") as file:
            yield file
    elif is_part:
        raise ValueError(f"{url}: each part would fetch all of a directory: put it on a file system that all machines see")
    else:
        here = os.path.join(folder, "in", path.rpartition("/")[2])
        for name in _names(fs, path):
            os.makedirs(os.path.dirname(os.path.join(here, name)), exist_ok=True)
            fs.get_file(f"{path}/{name}", os.path.join(here, name))
        yield here


def _make(job: Job, source: Any, out: str) -> str:
    """Writes `out`; the digest of the model that is there then, or that the source is."""
    import tare

    options: dict[str, Any] = dict(job.options)
    if job.verb == "digest":
        return str(tare.digest(source, **options))
    if job.verb == "verify":
        report = tare.verify(source, **options)
        if not report.ok:
            raise ValueError(f"verify: {report}")
        return ""
    getattr(tare, job.verb)(source, out, **options)
    if job.verb == "unpack":  # what was packed need not be a model
        return ""
    return str(tare.digest(out))


def _make_part(job: Job, part: int, source: Any, version: str, replace: bool) -> dict[str, Any]:
    """Part `part` of a job's, or with 0 what all of them are joined into: `digest` and `files` of that. `version`: of the
    source, which a file object does not tell."""
    import tare

    options: dict[str, Any] = dict(job.options)
    path = job.target.removeprefix("file://")
    if job.verb == "verify":
        report = tare.verify(source, part=(part, job.parts), **options)
        if not report.ok:
            raise ValueError(f"verify: {report}")
        return {}
    if part:
        os.makedirs(os.path.dirname(path) or ".", exist_ok=True)
        which = (part, job.parts) if isinstance(source, str) else (part, job.parts, version)
        getattr(tare, job.verb)(source, path, part=which, **options | ({"force": True} if replace else {}))
        return {}
    _join(path)
    return {"digest": str(tare.digest(path)), "files": _files_of(path)}


def _join(path: str) -> None:
    """What was there is what was to be replaced; but where parts are gone an earlier try has joined them, whose machine
    died before it could say so."""
    import tare

    try:
        there = tare.parts(path)
    except tare.UsageError:
        there = ()
    if not os.path.lexists(path) or there and all(part.state == "done" for part in there):
        tare.join(path, force=True)
        return
    for part in there:
        for name in (part.name, f"{part.name}.json") if part.name else ():
            with contextlib.suppress(FileNotFoundError):
                os.remove(os.path.join(os.path.dirname(path), name))


def _files_of(made: str) -> list[list[Any]]:
    return [[name, os.path.getsize(whole), _file_digest(whole)] for name, whole in
            ((n, os.path.join(made, n) if n else made) for n in _local_names(made))]


def work(job: Job, part: int, version: str, replace: bool, scratch: str | None,
         storage: Mapping[str, Any]) -> dict[str, Any]:
    """In a task; `part`: which one of a job's, 0: all of it, or the join. Errors come back as texts, as those of other machines may be of classes unknown here."""
    mark = job.key[:16]
    began = time.monotonic()
    out: dict[str, Any] = {"node": socket.gethostname(), "error": "", "again": False, "digest": "", "files": []}
    try:
        with _scratch(scratch, f"{job.key[:12]}-{part:03}") as folder, \
                _source(job.source, folder, storage, job.parts > 1) as source:
            if job.parts > 1:
                return out | _make_part(job, part, source, version, replace) | {"seconds": time.monotonic() - began}
            made = os.path.join(folder, "out", job.target.rstrip("/").rpartition("/")[2] or "none")
            os.makedirs(os.path.dirname(made))
            out["digest"] = _make(job, source, made)
            if job.target:
                out["files"] = _files_of(made)
                _put(made, job.target, mark, storage)
                _check_put(out["files"], job.target, storage)
    except Exception as e:
        out.update(error=f"{type(e).__name__}: {e}", again=_may_pass(e), digest="", files=[])
    out["seconds"] = time.monotonic() - began
    return out


def _may_pass(error: Exception) -> bool:
    """Whether another try may succeed: the network, the disk, a store that is busy; not what is wrong for good."""
    import tare

    lasting = (FileNotFoundError, FileExistsError, PermissionError, IsADirectoryError, NotADirectoryError)
    if isinstance(error, lasting) or isinstance(error, tare.TareError) and not isinstance(error, OSError):
        return False
    return not isinstance(error, (TypeError, ValueError, ImportError, AttributeError))


# ---- the ledger

def _lock(fd: int) -> None:
    """The file for this process alone, or an OSError."""
    if sys.platform == "win32":
        import msvcrt
        msvcrt.locking(fd, msvcrt.LK_NBLCK, 1)
    else:
        import fcntl
        fcntl.flock(fd, fcntl.LOCK_EX | fcntl.LOCK_NB)


class Ledger:
    """An SQLite file with the table `jobs`; other programs may read it at any time."""

    COLUMNS = ("key TEXT PRIMARY KEY", "verb TEXT", "source TEXT", "target TEXT", "options TEXT", "state TEXT",
               "tries INTEGER DEFAULT 0", "node TEXT", "seconds REAL", "nbytes INTEGER", "digest TEXT", "files TEXT",
               "source_is TEXT", "target_is TEXT", "error TEXT", "version TEXT", "changed REAL")

    def __init__(self, path: str | os.PathLike[str]) -> None:
        self.lock = open(f"{os.fspath(path)}.lock", "w")
        try:
            _lock(self.lock.fileno())
        except OSError:
            self.lock.close()
            raise BlockingIOError(f"{path}: another run uses this ledger") from None
        self.db = sqlite3.connect(path, isolation_level=None)
        self.db.row_factory = sqlite3.Row
        self.db.execute(f"CREATE TABLE IF NOT EXISTS jobs ({', '.join(self.COLUMNS)})")

    def row(self, job: Job) -> sqlite3.Row | None:
        found: sqlite3.Row | None = self.db.execute("SELECT * FROM jobs WHERE key = ?", (job.key,)).fetchone()
        return found

    def note(self, job: Job, **columns: Any) -> None:
        """On the disk when this returns."""
        columns.update(changed=time.time(), version=version)
        self.db.execute("INSERT OR IGNORE INTO jobs (key, verb, source, target, options) VALUES (?, ?, ?, ?, ?)",
                        (job.key, job.verb, job.source, job.target, json.dumps(dict(job.options), sort_keys=True)))
        self.db.execute(f"UPDATE jobs SET {', '.join(f'{name} = ?' for name in columns)} WHERE key = ?",
                        (*columns.values(), job.key))

    def rows(self) -> list[dict[str, Any]]:
        return [dict(row) for row in self.db.execute("SELECT * FROM jobs ORDER BY source, target")]

    def close(self) -> None:
        self.db.close()
        self.lock.close()

    def __enter__(self) -> Ledger:
        return self

    def __exit__(self, *_: object) -> None:
        self.close()


# ---- a run

class _Run:
    def __init__(self, jobs: Sequence[Job], ledger: Ledger, retries: int, force: bool, scratch: str | None,
                 storage: Mapping[str, Any], progress: Callable[[Progress], object] | None) -> None:
        self.jobs, self.ledger, self.retries, self.force = jobs, ledger, retries, force
        self.scratch, self.storage, self.progress = scratch, storage, progress
        self.waiting: deque[tuple[Job, int, int, float]] = deque()  # part, tries so far, not before this time
        self.running: dict[Any, tuple[Job, int, int]] = {}
        self.left: dict[Job, int] = {}  # parts that are not done
        self.versions: dict[Job, str] = {}  # of sources
        self.replaced: set[Job] = set()  # whose target is there, or who may have parts of another version
        self.failed: dict[Job, str] = {}
        self.n_done = self.n_kept = self.nbytes = 0

    def tell(self, job: Job, state: str, error: str = "") -> None:
        if self.progress:
            self.progress(Progress(job, state, error, self.n_done + self.n_kept, len(self.failed), len(self.jobs),
                                   self.nbytes))

    def fail(self, job: Job, error: str) -> None:
        self.failed[job] = error
        self.ledger.note(job, state="failed", error=error)
        self.tell(job, "failed", error)

    def plan(self, job: Job) -> None:
        """What is done and as it was is kept; a target that another has made is not replaced unasked."""
        row = self.ledger.row(job)
        try:
            source_is = _identity(job.source, self.storage)
            target_is = _identity(job.target, self.storage) if job.target else ""
        except Exception as e:
            self.fail(job, f"{type(e).__name__}: {e}")
            return
        if row and row["state"] == "done" and (row["source_is"], row["target_is"]) == (source_is, target_is):
            self.n_kept += 1
            self.tell(job, "kept")
            return
        ours = row is not None and row["state"] in ("running", "done")
        if not source_is:
            self.fail(job, f"FileNotFoundError: {job.source}")
        elif target_is and not self.force and not ours:
            self.fail(job, f"FileExistsError: {job.target}")
        else:
            self.versions[job] = source_is
            if target_is or row is not None and row["source_is"] not in (None, source_is):
                self.replaced.add(job)  # until it is done, whatever happens
            else:
                self.ledger.note(job, source_is=source_is)
            self.ledger.note(job, state="running", error="", tries=0)
            self.left[job] = job.parts if job.parts > 1 else 0
            self.waiting.extend((job, part, 0, 0.0) for part in (range(1, job.parts + 1) if job.parts > 1 else [0]))

    def start(self, submit: Callable[..., Any]) -> None:
        now = time.monotonic()
        for _ in range(len(self.waiting)):
            job, part, tries, at = self.waiting.popleft()
            if job in self.failed:
                continue
            if at > now:
                self.waiting.append((job, part, tries, at))
                continue
            self.ledger.note(job, tries=tries + 1)
            self.running[submit(job, part, self.versions[job], job in self.replaced, self.scratch, self.storage)] = job, part, tries
            return

    def end(self, job: Job, part: int, tries: int, result: Mapping[str, Any]) -> None:
        if job in self.failed:
            return
        if not result["error"]:
            self.end_part(job, part, result)
        elif result["again"] and tries < self.retries:
            self.ledger.note(job, error=result["error"])
            self.waiting.append((job, part, tries + 1, time.monotonic() + min(60, 2 ** tries)))
            self.tell(job, "again", result["error"])
        else:
            self.fail(job, result["error"])

    def end_part(self, job: Job, part: int, result: Mapping[str, Any]) -> None:
        """The join follows the last part, where there is something to join."""
        self.left[job] -= part > 0
        if part == 0 or (self.left[job] == 0 and not job.target):
            self.finish(job, result)
            return
        self.tell(job, "part")
        if self.left[job] == 0:
            self.waiting.append((job, 0, 0, 0.0))

    def finish(self, job: Job, result: Mapping[str, Any]) -> None:
        nbytes = sum(file[1] for file in result["files"])
        target_is = _identity(job.target, self.storage) if job.target else ""
        self.ledger.note(job, state="done", error="", node=result["node"], seconds=result["seconds"], nbytes=nbytes,
                         digest=result["digest"], files=json.dumps(result["files"]), source_is=self.versions[job],
                         target_is=target_is)
        self.n_done += 1
        self.nbytes += nbytes
        self.tell(job, "done")

    def loop(self, ray: Any, submit: Callable[..., Any], in_flight: int) -> None:
        while self.waiting or self.running:
            while self.waiting and len(self.running) < in_flight:
                n = len(self.running)
                self.start(submit)
                if len(self.running) == n:
                    break  # all wait for their time
            if not self.running:
                time.sleep(0.2)
                continue
            ready, _ = ray.wait(list(self.running), num_returns=1, timeout=1.0)
            for ref in ready:
                job, part, tries = self.running.pop(ref)
                self.end(job, part, tries, _result(ray, ref))


def _result(ray: Any, ref: Any) -> Mapping[str, Any]:
    """What a task returned; that its machine or process is gone is a reason to try again."""
    try:
        result: Mapping[str, Any] = ray.get(ref)
        return result
    except ray.exceptions.RayTaskError as e:  # an exception that `work` did not catch: the package is not there
        return {"error": f"{type(e).__name__}: {e.cause or e}", "again": False}
    except ray.exceptions.RayError as e:
        return {"error": f"{type(e).__name__}: {' '.join(str(e).split())[:300]}", "again": True}


def run(jobs: Iterable[Job], ledger: str | os.PathLike[str], *, retries: int = 3, cpus: float = 1,
        memory: int | None = None, in_flight: int | None = None, scratch: str | None = None, force: bool = False,
        storage_options: Mapping[str, Mapping[str, Any]] | None = None,
        progress: Callable[[Progress], object] | None = None) -> Summary:
    """Does jobs on the cluster that ray is connected to, or on the one that ray.init() finds.

    ledger     path of an SQLite file, made if it is not there; one run at a time uses it
    retries    of a job whose machine died, or that failed because of the network, a disk or a store
    cpus, memory: what Ray sets aside for a task; give a task `cpus` threads by options={"threads": cpus}
    in_flight  tasks at the same time at most; None: twice as many as the cluster's processors can take
    scratch    folder on each machine for what is made, before it is put; None: the system's
    force  replaces targets that no run of this ledger has made
    storage_options {"s3": {...}}: keyword arguments of fsspec's file systems, by protocol
    progress   called with a Progress
    """
    ray: Any = import_module("ray")

    unique = list({job.key: job for job in jobs}.values())
    targets = [job.target for job in unique if job.target]
    if len(set(targets)) < len(targets):
        raise ValueError("two jobs have the same target: " + next(t for t in targets if targets.count(t) > 1))
    if not ray.is_initialized():
        ray.init()
    task = ray.remote(work).options(num_cpus=cpus, memory=memory, max_retries=0)
    with Ledger(ledger) as book:
        state = _Run(unique, book, retries, force, scratch, storage_options or {}, progress)
        for job in unique:
            state.plan(job)
        most = in_flight or max(1, int(2 * ray.cluster_resources().get("CPU", 1) / (cpus or 1)))
        try:
            state.loop(ray, task.remote, most)
        finally:
            for ref in state.running:
                ray.cancel(ref, force=True)
        return Summary(state.n_done, state.n_kept, state.failed, state.nbytes)
