# SPDX-License-Identifier: MIT
"""Small models that the tests share, written by the official packages so that tare is not its own
witness."""
import os
import sys

import gguf
import ml_dtypes
import numpy as np
import pytest
import safetensors.numpy


def pytest_configure(config):
    config.addinivalue_line("markers", "posix: forks, sends itself a signal, or asks what Windows does not tell")
    config.addinivalue_line("markers", "numpy2: what NumPy 1 cannot be asked for")


def pytest_collection_modifyitems(items):
    for item in items:
        if sys.platform == "win32" and item.get_closest_marker("posix"):
            item.add_marker(pytest.mark.skip(reason="Windows"))
        if int(np.__version__.split(".")[0]) < 2 and item.get_closest_marker("numpy2"):
            item.add_marker(pytest.mark.skip(reason="NumPy 1"))


WIDE = {np.dtype(np.float32): 7, np.dtype(np.int64): 3}


def values(shape, seed=0):
    return np.random.default_rng(seed).standard_normal(shape, dtype=np.float32)


@pytest.fixture(scope="session")
def plain_arrays():
    """One tensor of each plain type that safetensors has in numpy, and some shapes."""
    out = {}
    for i, name in enumerate("float64 float32 float16 int8 uint8 int16 uint16 int32 uint32 int64 "
                             "uint64 bool".split()):
        out["t." + name] = (values((6, 10), i) * 50).astype(name)
    out["scalar"] = np.array(1.5, np.float32)
    out["empty"] = np.zeros((0, 4), np.float32)
    out["cube"] = values((3, 4, 5))
    return out


@pytest.fixture(scope="session")
def safetensors_path(tmp_path_factory, plain_arrays):
    path = tmp_path_factory.mktemp("models") / "plain.safetensors"
    safetensors.numpy.save_file(plain_arrays, path, metadata={"format": "pt", "note": "ü"})
    return str(path)


@pytest.fixture(scope="session")
def block_arrays():
    return {f"blk.{i}.weight": values((4, 512), i + 10) for i in range(2)}


@pytest.fixture(scope="session")
def gguf_path(tmp_path_factory, block_arrays):
    """Quantized and plain tensors, and metadata of every type."""
    path = tmp_path_factory.mktemp("models") / "blocks.gguf"
    w = gguf.GGUFWriter(str(path), "llama")
    w.add_uint32("llama.context_length", 4096)
    w.add_float32("t.float", 0.5)
    w.add_bool("t.bool", True)
    w.add_int64("t.int", -7)
    w.add_string("t.text", "grüße")
    w.add_array("t.numbers", [1, 2, 3, 4])
    w.add_array("t.floats", [0.5, 1.5])
    w.add_array("tokenizer.ggml.tokens", [f"token{i}" for i in range(1000)])
    for name, array in block_arrays.items():
        kind = gguf.GGMLQuantizationType.Q8_0 if "0" in name else gguf.GGMLQuantizationType.Q4_0
        w.add_tensor(name, gguf.quants.quantize(array, kind), raw_dtype=kind)
    w.add_tensor("norm.weight", values((512,), 3))
    w.write_header_to_file()
    w.write_kv_data_to_file()
    w.write_tensors_to_file()
    w.close()
    return str(path)


@pytest.fixture(scope="session")
def bf16_path(tmp_path_factory):
    """BF16 and FP8, which numpy has through ml_dtypes only; the header is written by hand."""
    import json
    arrays = {"b": values((8, 16)).astype(ml_dtypes.bfloat16),
              "e4": values((4, 8)).astype(ml_dtypes.float8_e4m3fn),
              "e5": values((4, 8)).astype(ml_dtypes.float8_e5m2)}
    names = {"b": "BF16", "e4": "F8_E4M3", "e5": "F8_E5M2"}
    header, data = {}, b""
    for name, array in arrays.items():
        header[name] = {"dtype": names[name], "shape": array.shape,
                        "data_offsets": [len(data), len(data) + array.nbytes]}
        data += array.tobytes()
    text = json.dumps(header).encode()
    text += b" " * (-len(text) % 8)
    path = tmp_path_factory.mktemp("models") / "bf16.safetensors"
    path.write_bytes(len(text).to_bytes(8, "little") + text + data)
    return str(path), arrays


@pytest.fixture(scope="session")
def command():
    """The command as the beginning of an argument list: of this build, or installed with the package."""
    built = os.environ.get("TARE_COMMAND")
    return [built] if built else [sys.executable, "-m", "tare"]


@pytest.fixture(scope="session")
def data_folder():
    """Large samples, where the environment names them."""
    folder = os.environ.get("TARE_TEST_DATA")
    if not folder:
        pytest.skip("TARE_TEST_DATA is not set")
    return folder
