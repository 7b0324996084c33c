# SPDX-License-Identifier: MIT
"""Guards against: types that say nothing, so that misspelt options and words pass a checker."""
import os
import subprocess
import sys

import pytest

pytest.importorskip("mypy")
WRONG = """
import tare
from tare.safetensors import safe_open
safe_open("x", framework="pz")
safe_open("x", "np", bakend="mmap")
safe_open("x", "np", backend="nmap")
tare.quantize("a", "b", "Q4_K_M", forc=True)
tare.save({}, "b", treads=1)
tare.saves({}, threds=1)
tare.plan("a", "b", typ="f16")
tare.open("a").load(dtyp="f16")
tare.pack("a", "b", lossy=True, target_bpww=4.0)
tare.convert("a", "b", thread=1)
tare.unpack("a", "b", thread=1)
tare.diff("a", "b", tolerence=0.1)
tare.verify("a", deeep=True)
tare.load("a", dtyp="f16")
tare.edit("a", sett={"general.name": "x"})
tare.report("a", "b", bas="c")
tare.convert("a", "b", threads="2")
tare.open("a").info.file_bytes
tare.open("a").resources["config.json"].size
"""
RIGHT = """
import numpy
import tare
from typing import Any
from tare.safetensors import safe_open
with safe_open("x", framework="np") as f:
    a: numpy.ndarray[Any, Any] = f.get_tensor("a")
    b: numpy.ndarray[Any, Any] = f.get_slice("a")[1:, ..., 0]
    wrong: int = f.get_tensor("a")  # type: ignore[assignment]
tare.quantize("a", "b", "Q4_K_M", force=True, type="f16", threads=2)
tare.save({}, "b", to="hf", shard_size="1G")
tare.pack("a", "b", lossy=True, target_size="2G", imatrix="i.gguf", base="b", exclude=["*.md"])
"""


def test_words_are_checked(tmp_path):
    package = os.path.dirname(os.path.dirname(__import__("tare").__file__))
    config = os.path.join(os.path.dirname(__file__), "..", "mypy.ini")
    for name, text in (("wrong", WRONG), ("right", RIGHT)):
        (tmp_path / (name + ".py")).write_text(text)
        done = subprocess.run(
            [sys.executable, "-m", "mypy", "--strict", "--config-file", config, "--cache-dir",
             str(tmp_path / "cache"), str(tmp_path / (name + ".py"))], capture_output=True, text=True,
            env={**os.environ, "MYPYPATH": package})
        n_wrong = sum(": error:" in line and "wrong.py" in line for line in done.stdout.splitlines())
        lines = {line.split(":")[1] for line in done.stdout.splitlines() if ": error:" in line}
        assert len(lines) == (19 if name == "wrong" else 0), (n_wrong, done.stdout)
