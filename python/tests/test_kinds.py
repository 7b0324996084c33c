# SPDX-License-Identifier: MIT
"""Files of other programs open as models do: ONNX, TensorFlow Lite, whisper.cpp, archives; adapters of other dialects merge."""
import os
import struct
import sys
import zipfile

import numpy
import pytest
import tare

sys.path.insert(0, os.path.join(os.path.dirname(os.path.abspath(__file__)), "..", "..", "tests", "golden"))
pytest.importorskip("flatbuilder", reason="tests/golden is not there")
from flatbuilder import Lite  # noqa: E402
from onnxbuilder import external, model, tensor  # noqa: E402
import whisper_cases  # noqa: E402

W = numpy.arange(6, dtype="float32").reshape(2, 3)


def check(path, name, tmp_path):
    m = tare.open(path)
    assert numpy.array_equal(m[name].numpy(), W)
    packed, again = tmp_path / "packed.wcodec", tmp_path / "again"
    tare.pack(path, packed)
    assert numpy.array_equal(tare.open(packed)[name].numpy(), W)
    tare.unpack(packed, again)
    out = tmp_path / "out.safetensors"
    tare.convert(path, out)
    assert numpy.array_equal(tare.open(out)[name].numpy(), W)
    assert not [f for f in tare.verify(path).findings if f.level == "error"]
    return again


def test_onnx(tmp_path):
    (tmp_path / "m").mkdir()
    path = tmp_path / "m" / "m.onnx"
    path.write_bytes(model(external("w", location="w.bin")))
    (tmp_path / "m" / "w.bin").write_bytes(W.tobytes())
    again = check(path, "w", tmp_path)
    assert (again / "m.onnx").read_bytes() == path.read_bytes()
    assert tare.open(model(tensor("w", _9=W.tobytes())))["w"].shape == (2, 3)


def test_tflite(tmp_path):
    path = tmp_path / "m.tflite"
    path.write_bytes(Lite([{"shape": [2, 3]}], [b"", W.tobytes()]).file())
    assert check(path, "w", tmp_path).read_bytes() == path.read_bytes()


def test_whisper(tmp_path):
    path = tmp_path / "ggml-x.bin"
    path.write_bytes(whisper_cases.head() + whisper_cases.tensor("w", data=W.tobytes()))
    assert check(path, "w", tmp_path).read_bytes() == path.read_bytes()
    assert list(tare.open(path).metadata["whisper.tokens"])[0] == "a"


def test_archive(tmp_path):
    tare.save({"w": W}, tmp_path / "m.gguf")
    with zipfile.ZipFile(tmp_path / "x.zip", "w") as z:
        z.write(tmp_path / "m.gguf", "m.gguf")
    check(tmp_path / "x.zip", "w", tmp_path)
    assert numpy.array_equal(tare.open(str(tmp_path / "x.zip") + "::m.gguf")["w"].numpy(), W)


def test_adapters(tmp_path):
    tare.save({"a.b.weight": W}, tmp_path / "base.safetensors")
    down, up = numpy.ones((1, 3), "float32"), numpy.ones((2, 1), "float32")
    tare.save({"lora_unet_a_b.lora_down.weight": down, "lora_unet_a_b.lora_up.weight": up,
               "lora_unet_a_b.alpha": numpy.array(2, "float32")}, tmp_path / "kohya.safetensors")
    tare.convert(tmp_path / "base.safetensors", tmp_path / "out.safetensors", apply_adapter=[str(tmp_path / "kohya.safetensors")])
    assert numpy.array_equal(tare.open(tmp_path / "out.safetensors")["a.b.weight"].numpy(), W + 2)
