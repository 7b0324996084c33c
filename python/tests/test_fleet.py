# SPDX-License-Identifier: MIT
"""Guards against: a job that is lost with its machine, one that is done twice or not at all after a resume, a
target that is replaced unasked or not the one that was made, and scratch that stays."""
import json
import os
import sqlite3
import time

import pytest
import tare

pytest.importorskip("fsspec")
ray = pytest.importorskip("ray")
from ray.cluster_utils import Cluster  # noqa: E402

import tare.fleet as fleet  # noqa: E402


@pytest.fixture(scope="module")
def cluster():
    """A head that takes no tasks, and two nodes."""
    os.environ.setdefault("RAY_ACCEL_ENV_VAR_OVERRIDE_ON_ZERO", "0")
    c = Cluster(initialize_head=True, head_node_args={"num_cpus": 0, "object_store_memory": 80 << 20,
                                                      "include_dashboard": False})
    c.nodes_of_test = [c.add_node(num_cpus=1, object_store_memory=80 << 20) for _ in range(2)]
    ray.init(address=c.address, log_to_driver=False)
    yield c
    ray.shutdown()
    c.shutdown()


@pytest.fixture
def models(tmp_path):
    (tmp_path / "in").mkdir()
    (tmp_path / "scratch").mkdir()
    for i in range(6):
        tare.save(_tensors(i), tmp_path / "in" / f"{i}.safetensors")
    return tmp_path


def _tensors(i):
    import numpy
    return {"blk.w": numpy.full((64, 256), i / 7, dtype="f4"), "norm": numpy.arange(8, dtype="f4") + i}


def jobs_of(folder, **options):
    return [fleet.Job(f"file://{folder}/in/{i}.safetensors", f"file://{folder}/out/{i}.gguf", "convert",
                      {"type": "q8_0", **options}) for i in range(6)]


def begin(folder, jobs, **options):
    seen = []
    summary = fleet.run(jobs, folder / "ledger.sqlite", scratch=str(folder / "scratch"), progress=seen.append, **options)
    assert os.listdir(folder / "scratch") == []
    return summary, [(p.state, os.path.basename(p.job.source)) for p in seen]


def rows(folder):
    with sqlite3.connect(folder / "ledger.sqlite") as db:
        db.row_factory = sqlite3.Row
        return {os.path.basename(r["source"]): dict(r) for r in db.execute("SELECT * FROM jobs")}


def test_jobs_are_what_the_verbs_make_and_are_kept(cluster, models):
    jobs = jobs_of(models)
    summary, seen = begin(models, jobs)
    assert (summary.n_done, summary.n_kept, summary.failed) == (6, 0, {})
    assert sorted(seen) == [("done", f"{i}.safetensors") for i in range(6)]
    for i in range(6):
        tare.convert(models / "in" / f"{i}.safetensors", models / "own.gguf", type="q8_0", force=True)
        made, row = models / "out" / f"{i}.gguf", rows(models)[f"{i}.safetensors"]
        assert made.read_bytes() == (models / "own.gguf").read_bytes()
        assert row["digest"] == str(tare.digest(made)) and row["tries"] == 1
        assert json.loads(row["files"])[0][1] == made.stat().st_size == row["nbytes"]
    assert sorted(os.listdir(models / "out")) == [f"{i}.gguf" for i in range(6)]

    (models / "out" / "2.gguf").unlink()
    tare.save(_tensors(9), models / "in" / "4.safetensors", force=True)
    summary, seen = begin(models, jobs)
    assert (summary.n_done, summary.n_kept) == (2, 4)
    assert sorted(s for s in seen if s[0] == "done") == [("done", "2.safetensors"), ("done", "4.safetensors")]
    assert tare.open(models / "out" / "4.gguf")["norm"].numpy()[0] == 9


def test_a_node_that_dies_loses_nothing(cluster, models):
    killed = []

    def progress(p):
        if p.state == "done" and not killed:
            until = time.monotonic() + 60
            while len(os.listdir(models / "scratch")) < 2 and time.monotonic() < until:  # both are at work
                time.sleep(0.02)
            killed.append(cluster.nodes_of_test.pop())
            cluster.remove_node(killed[0], allow_graceful=False)
            cluster.nodes_of_test.append(cluster.add_node(num_cpus=1, object_store_memory=80 << 20))

    tare.convert(tare.synth("llama-tiny"), models / "in" / "large.safetensors", keep_names=True)
    jobs = [fleet.Job(f"file://{models}/in/large.safetensors", f"file://{models}/out/{i}.gguf", "quantize",
                      {"mix": "Q4_K_M", "quality": "best", "threads": 1, "keep_names": True}) for i in range(6)]
    summary = fleet.run(jobs, models / "ledger.sqlite", scratch=str(models / "scratch"), progress=progress)
    summary.raise_failed()
    assert killed and summary.n_done == 6
    digests = {str(tare.digest(models / "out" / f"{i}.gguf")) for i in range(6)}
    assert len(digests) == 1
    with sqlite3.connect(models / "ledger.sqlite") as db:
        assert db.execute("SELECT count(*), max(tries) FROM jobs WHERE state = 'done'").fetchone() == (6, 2)
    assert sorted(os.listdir(models / "out")) == [f"{i}.gguf" for i in range(6)]
    assert os.listdir(models / "scratch") == []


def test_what_cannot_be_done_is_named_and_not_tried_again(cluster, models):
    (models / "in" / "1.safetensors").write_bytes(b"\xff" * 100)
    (models / "in" / "3.safetensors").unlink()
    (models / "out").mkdir()
    (models / "out" / "5.gguf").write_bytes(b"another's")
    jobs = jobs_of(models)
    summary, _ = begin(models, jobs)
    assert summary.n_done == 3 and (models / "out" / "5.gguf").read_bytes() == b"another's"
    failed = {os.path.basename(job.source): error for job, error in summary.failed.items()}
    assert sorted(failed) == ["1.safetensors", "3.safetensors", "5.safetensors"]
    assert "FileNotFoundError" in failed["3.safetensors"] and "FileExistsError" in failed["5.safetensors"]
    assert rows(models)["1.safetensors"]["tries"] == 1 and rows(models)["1.safetensors"]["state"] == "failed"
    with pytest.raises(RuntimeError, match="3 jobs failed"):
        summary.raise_failed()
    summary, _ = begin(models, jobs[5:], force=True)
    assert summary.n_done == 1 and tare.open(models / "out" / "5.gguf")


def test_directories_digests_and_packing(cluster, models):
    tare.convert(tare.synth("llama-tiny"), models / "hf", to="hf")
    jobs = [fleet.Job(f"file://{models}/hf", f"file://{models}/p/hf.wcodec", "pack"),
            fleet.Job(f"file://{models}/hf", verb="digest"), fleet.Job(f"file://{models}/hf", verb="verify")]
    summary, _ = begin(models, jobs)
    summary.raise_failed()
    with fleet.Ledger(models / "ledger.sqlite") as book:
        digests = {row["verb"]: row["digest"] for row in book.rows()}
        with pytest.raises(BlockingIOError, match="another run"):
            fleet.Ledger(models / "ledger.sqlite")
    assert digests["pack"] == digests["digest"] == str(tare.digest(models / "hf"))
    summary, _ = begin(models, [fleet.Job(f"file://{models}/p/hf.wcodec", f"file://{models}/back/hf", "unpack")])
    summary.raise_failed()
    assert tare.diff(models / "hf", models / "back" / "hf").same
    with pytest.raises(ValueError, match="a target expected"):
        fleet.Job("x", verb="pack")
    with pytest.raises(ValueError, match="same target"):
        fleet.run([fleet.Job("a", "t"), fleet.Job("b", "t")], models / "ledger.sqlite")


def test_a_folder_of_a_store_has_no_more_than_was_put(tmp_path, monkeypatch):
    """Objects of an earlier output would be taken for parts of this one."""
    fs = pytest.importorskip("fsspec").filesystem("memory")
    monkeypatch.setattr(fleet, "STORES", fleet.STORES | {"memory"})
    (tmp_path / "out" / "sub").mkdir(parents=True)
    for name in "a", "sub/b":
        (tmp_path / "out" / name).write_text(name)
    for name in "a", "sub/c", "d":
        fs.pipe_file(f"/store/x/{name}", b"before")
    fs.pipe_file("/store/x-other", b"stays")
    fleet._put(str(tmp_path / "out"), "memory://store/x", "mark", {})
    assert sorted(fs.find("/store")) == ["/store/x-other", "/store/x/a", "/store/x/sub/b"]
    assert fs.cat_file("/store/x/a") == b"a"


def test_one_model_in_parts_goes_on(cluster, models):
    """What the parts of a job make is what one call makes; a part that is there is not made again."""
    source, target = models / "in" / "3.safetensors", models / "out" / "3.gguf"
    job = fleet.Job(f"file://{source}", f"file://{target}", "convert", {"type": "q8_0"}, parts=3)
    (models / "out").mkdir()
    tare.convert(source, target, type="q8_0", part=(2, 3))
    summary, seen = begin(models, [job])
    assert (summary.n_done, summary.failed) == (1, {}), summary
    assert [state for state, _ in seen] == ["part", "part", "part", "done"]
    assert sorted(os.listdir(models / "out")) == ["3.gguf"]
    tare.convert(source, models / "own.gguf", type="q8_0")
    assert target.read_bytes() == (models / "own.gguf").read_bytes()
    row = rows(models)["3.safetensors"]
    assert row["digest"] == str(tare.digest(target)) and row["nbytes"] == target.stat().st_size
    assert begin(models, [job])[0].n_kept == 1
    summary, seen = begin(models, [fleet.Job(str(target), verb="verify", options={"deep": True}, parts=2)])
    assert (summary.n_done, [state for state, _ in seen]) == (1, ["part", "done"])


def test_parts_of_what_was_there_before_are_replaced(cluster, models):
    """A target that is to be replaced, and parts of another version of the source that a run left which was killed."""
    source, target = models / "in" / "3.safetensors", models / "out" / "3.gguf"
    job = fleet.Job(f"file://{source}", f"file://{target}", "convert", {"type": "q8_0"}, parts=3)
    target.parent.mkdir()
    target.write_bytes(b"another's")
    assert "FileExistsError" in begin(models, [job])[0].failed[job]
    begin(models, [job], force=True)[0].raise_failed()
    for i in 8, 9:
        tare.save(_tensors(i), source, force=True)
        if i == 8:
            with fleet.Ledger(models / "ledger.sqlite") as book:
                book.note(job, state="running", source_is="of before")
            target.unlink()
            tare.save(_tensors(1), models / "other.safetensors")
            os.utime(models / "other.safetensors", (1, 1))
            (models / "other.safetensors").rename(source)
            tare.convert(source, target, type="q8_0", part=(2, 3))
            tare.save(_tensors(i), source, force=True)
        begin(models, [job])[0].raise_failed()
        assert tare.open(target)["norm"].numpy()[0] == i
    assert os.listdir(target.parent) == ["3.gguf"]


def test_a_join_whose_answer_was_lost_is_done(tmp_path):
    """A machine may die while it reads what it has joined, or while it removes the parts."""
    source, target = tmp_path / "3.safetensors", tmp_path / "3.gguf"
    tare.save(_tensors(3), source)
    job = fleet.Job(str(source), str(target), "convert", {"type": "q8_0"}, parts=2)
    run = lambda part: fleet.work(job, part, "", False, str(tmp_path), {})
    assert not run(1)["error"] and not run(2)["error"]
    for left in (), ("3.gguf.part-00002-of-00002",), ("3.gguf.part-00002-of-00002.json",):
        kept = {name: (tmp_path / name).read_bytes() for name in left if (tmp_path / name).exists()}
        first = run(0)
        assert not first["error"] and first["digest"] == str(tare.digest(target)), first
        for name in left:
            (tmp_path / name).write_bytes(kept.get(name, b"{}"))
    assert not run(0)["error"] and sorted(os.listdir(tmp_path)) == ["3.gguf", "3.safetensors"]


def test_parts_of_files_of_a_store_are_of_one_version(tmp_path):
    fs = pytest.importorskip("fsspec").filesystem("memory")
    for i in 1, 2:
        tare.save(_tensors(i), tmp_path / f"{i}.safetensors")
    job = fleet.Job("memory://v/m.safetensors", str(tmp_path / "o.gguf"), "convert", {"type": "q8_0"}, parts=2)
    for i in 1, 2:
        fs.pipe_file("/v/m.safetensors", (tmp_path / f"{i}.safetensors").read_bytes())
        assert not fleet.work(job, i, fleet._identity(job.source, {}), False, str(tmp_path), {})["error"]
    assert "another input" in fleet.work(job, 0, "", False, str(tmp_path), {})["error"]
    folder = fleet.Job("memory://v", str(tmp_path / "p.wcodec"), "pack", parts=2)
    assert "all machines see" in fleet.work(folder, 1, "", False, str(tmp_path), {})["error"]


def test_a_part_that_fails_fails_its_job(cluster, models):
    job = fleet.Job(f"file://{models}/in/3.safetensors", f"file://{models}/out/3.gguf", "convert", {"type": "none"}, parts=3)
    summary, _ = begin(models, [job])
    assert list(summary.failed) == [job] and not (models / "out" / "3.gguf").exists()
    for wrong in ({"target": "s3://b/k", "verb": "convert"}, {"verb": "digest"}):
        with pytest.raises(ValueError, match="part"):
            fleet.Job("in", parts=2, **wrong)
