# SPDX-License-Identifier: MIT
"""Guards against: numbers that differ from those of the official packages, slices that differ from
numpy's, memory that is copied, not writable or freed too early."""
import gc

import gguf
import ml_dtypes
import numpy as np
import pytest
import tare
from hypothesis import given, settings
from hypothesis import strategies as st


@pytest.mark.parametrize("is_mapped", (True, False))
def test_plain_types(safetensors_path, plain_arrays, is_mapped):
    model = tare.open(safetensors_path, map=is_mapped)
    for name, expected in plain_arrays.items():
        array = model[name].numpy()
        assert array.dtype == expected.dtype and array.shape == expected.shape
        assert np.array_equal(array, expected), name
        assert np.array_equal(np.asarray(model[name]), expected)
        assert model[name].encoding.numpy_dtype() == expected.dtype
        assert bytes(model[name].raw[0]) == expected.tobytes()


def test_mapped_bytes_are_not_copied(safetensors_path):
    model = tare.open(safetensors_path)
    t = model["t.float32"]
    a, b = t.numpy(), t.numpy()
    assert np.shares_memory(a, b) and not a.flags.writeable
    assert np.shares_memory(a, t[2:4, ::3].numpy())
    assert model["t.float32"].raw[0].readonly
    unmapped = tare.open(safetensors_path, map=False)["t.float32"]
    assert unmapped.numpy().flags.writeable


def test_bfloat16_and_fp8(bf16_path):
    path, arrays = bf16_path
    model = tare.open(path)
    for name, expected in arrays.items():
        array = model[name].numpy()
        assert array.dtype == expected.dtype
        assert array.tobytes() == expected.tobytes()
        wide = model[name].numpy("float32")
        assert wide.dtype == np.float32 and np.array_equal(wide, expected.astype(np.float32))
    b = model["b"]
    assert np.array_equal(b.numpy(np.float16), arrays["b"].astype(np.float16))
    assert b.numpy("bf16").dtype == ml_dtypes.bfloat16
    with pytest.raises(tare.UnsupportedError):
        b.numpy("int8")


def test_blocks_are_decoded(gguf_path):
    reader = gguf.GGUFReader(gguf_path)
    model = tare.open(gguf_path)
    for t in reader.tensors:
        expected = gguf.quants.dequantize(t.data, t.tensor_type)
        assert np.array_equal(model[t.name].numpy(), expected)
        assert np.array_equal(model[t.name].numpy("f16"), expected.astype(np.float16))
        assert np.array_equal(model[t.name].numpy("bf16"), expected.astype(ml_dtypes.bfloat16))
        assert bytes(model[t.name].raw[0]) == t.data.tobytes()


def test_out(gguf_path, safetensors_path, plain_arrays):
    blocks, plain = tare.open(gguf_path)["blk.0.weight"], tare.open(safetensors_path)["t.int16"]
    expected = blocks.numpy()
    for out in (np.zeros((4, 512), "f4"), np.zeros((512, 4), "f4").T, np.zeros((8, 1024), "f4")[::2, ::-2],
                np.zeros((4, 512), "f2"), np.zeros((4, 512), ml_dtypes.bfloat16)):
        assert blocks.numpy(out=out) is out
        assert np.array_equal(out, expected.astype(out.dtype))
    out = np.zeros((10, 6), "i2").T
    assert np.array_equal(plain.numpy(out=out), plain_arrays["t.int16"])
    out = np.full((2, 512), 9, "f4")
    assert np.array_equal(blocks[1:3].numpy(out=out), expected[1:3])
    frozen = np.zeros((4, 512), "f4")
    frozen.flags.writeable = False
    for bad in (np.zeros((4, 511), "f4"), frozen):
        with pytest.raises(ValueError):
            blocks.numpy(out=bad)
    with pytest.raises(tare.UnsupportedError):
        blocks.numpy(out=np.zeros((4, 512), "i4"))
    with pytest.raises(ValueError):
        blocks.numpy("f16", out=np.zeros((4, 512), "f4"))


def test_read_into(safetensors_path, plain_arrays):
    t = tare.open(safetensors_path)["t.int32"]
    buffer = bytearray(t.nbytes)
    t.read_into(buffer)
    assert bytes(buffer) == plain_arrays["t.int32"].tobytes()
    part = np.zeros(4, np.int32)
    t.read_into(part, offset=8)
    assert np.array_equal(part, plain_arrays["t.int32"].ravel()[2:6])
    for error, bad in ((IndexError, {"plane": 1}), (tare.UsageError, {"offset": t.nbytes})):
        with pytest.raises(error):
            t.read_into(buffer, **bad)
    with pytest.raises((TypeError, BufferError)):
        t.read_into(b"frozen")


slices = st.one_of(st.integers(-6, 5), st.slices(6), st.none(), st.just(Ellipsis))


@settings(max_examples=150, deadline=None)
@given(key=st.tuples(slices, slices, slices) | slices | st.tuples(slices, slices),
       is_mapped=st.booleans())
def test_slices_are_those_of_numpy(safetensors_path, plain_arrays, key, is_mapped):
    expected_of = plain_arrays["cube"]
    t = tare.open(safetensors_path, map=is_mapped)["cube"]
    try:
        expected = expected_of[key]
    except IndexError:
        with pytest.raises(IndexError):
            t[key]
        return
    part = t[key]
    assert part.shape == expected.shape
    assert np.array_equal(part.numpy(), expected)


@settings(max_examples=100, deadline=None)
@given(rows=st.slices(4), columns=st.slices(512), then=st.slices(20),
       name=st.sampled_from(["blk.0.weight", "blk.1.weight"]))
def test_slices_of_blocks(gguf_path, rows, columns, then, name):
    t = tare.open(gguf_path)[name]
    whole = t.numpy()
    assert np.array_equal(t[rows, columns].numpy(), whole[rows, columns])
    assert np.array_equal(t[rows, columns][:, then].numpy(), whole[rows, columns][:, then])
    assert np.array_equal(t[rows, columns].numpy("f16"), whole[rows, columns].astype(np.float16))


def test_wrong_indexes(safetensors_path):
    t = tare.open(safetensors_path)["cube"]
    for key in (3, (0, 0, 0, 0), (..., ...), (0, -5)):
        with pytest.raises(IndexError):
            t[key]
    for key in ("a", 1.5, [0, 1], np.array([0, 1]), True, (0, np.array([True]))):
        with pytest.raises(TypeError):
            t[key]
    assert len(t) == 3 and t[np.int64(1)].shape == (4, 5)
    assert [p.shape for p in t] == [(4, 5)] * 3


@pytest.mark.numpy2
def test_dlpack(safetensors_path, plain_arrays):
    for is_mapped in (True, False):
        model = tare.open(safetensors_path, map=is_mapped)
        for name, expected in plain_arrays.items():
            array = np.from_dlpack(model[name])
            assert np.array_equal(array, expected), name
        assert model["cube"].__dlpack_device__() == (1, 0)
        copy = np.from_dlpack(model["cube"], copy=True)
        assert copy.flags.writeable and not np.shares_memory(copy, model["cube"].numpy())
        kept = np.from_dlpack(model["cube"][1])
        capsule = model["cube"].__dlpack__()  # one that nobody consumes
        del model, capsule
        gc.collect()
        assert np.array_equal(kept, plain_arrays["cube"][1])


def test_encodings():
    rng = np.random.default_rng(1)
    x = rng.standard_normal((3, 256), dtype=np.float32)
    assert len(tare.encodings) > 50
    for name, kind in (("q8_0", "Q8_0"), ("q4_0", "Q4_0"), ("q5_1", "Q5_1")):
        e = tare.encodings[name]
        planes = e.encode(x)
        expected = gguf.quants.quantize(x, getattr(gguf.GGMLQuantizationType, kind))
        assert bytes(planes[0]) == expected.tobytes() and planes.names == ("blocks",)
        assert np.array_equal(e.decode(planes, x.shape),
                              gguf.quants.dequantize(expected, getattr(gguf.GGMLQuantizationType, kind)))
        assert e.decode(expected.tobytes(), x.shape, "f16").dtype == np.float16
        assert (e.kind, e.sizes((3, 256))) == ("block", (expected.nbytes,))
    best = tare.encodings["q4_k"].encode(x, quality="best")
    assert np.abs(tare.encodings["q4_k"].decode(best, x.shape) - x).max() < 0.3
    with pytest.raises(tare.NeedsImportanceError if False else tare.TareError):
        tare.encodings["iq2_xxs"].encode(x)
    assert len(tare.encodings["iq2_xxs"].encode(x, importance=np.ones(256))[0]) > 0
    for bad in (lambda: tare.encodings["q4_k"].decode(b"short", (1, 256)),
                lambda: tare.encodings["q8_0"].encode(x, quality="worst"),
                lambda: tare.encodings["q8_0"].decode(planes, x.shape, "f64")):
        with pytest.raises((ValueError, tare.UnsupportedError)):
            bad()
    assert "gguf" in tare.formats and tare.mixes["Q4_K_M"].type == "q4_k"


@pytest.mark.numpy2
@pytest.mark.parametrize("suffix", (".safetensors", ".wcodec", ".gguf"))
def test_tensors_as_objects(tmp_path, suffix):
    """The same whether the bytes are mapped or decoded."""
    path = tmp_path / f"m{suffix}"
    tare.save({"m": np.arange(6, dtype="float32").reshape(2, 3), "s": np.float32(3), "e": np.zeros((0, 3), "f4")}, path)
    m, other = tare.open(path), tare.open(path)
    t = m["m"]
    for one in (t[1, 2], t[1][2]):
        assert type(one.numpy()) is np.ndarray and one.numpy().shape == () and one.numpy() == 5
    assert [type(row) for row in t] == [tare.TensorView] * 2 and [float(x.numpy()) for x in t[1]] == [3, 4, 5]
    assert t == m["m"] and hash(t) == hash(m["m"]) and t != m["s"] and t != other["m"] and len({*m.values(), t}) == 3
    assert t and m["e"] and m["e"][:, :1]
    with pytest.raises(TypeError, match="not a container"):
        5 in t
    if suffix != ".gguf":  # which has no tensors without dimensions
        assert m["s"]
        for use in (iter, len):
            with pytest.raises(TypeError, match="without dimensions"):
                use(m["s"])
    assert (np.asarray(t) == t.numpy()).all() and np.array(t).flags.writeable
    if suffix == ".wcodec":
        with pytest.raises(ValueError, match="copy"):
            np.asarray(t, copy=False)
    else:
        assert not np.asarray(t, copy=False).flags.owndata
    with pytest.raises(KeyError, match="the planes are"):
        t.raw["codes"]
    with pytest.raises(IndexError, match="plane 1 of 1"):
        t.raw[1]
    with pytest.raises(TypeError, match="out: an array"):
        t.numpy(out=[0] * 6)


def test_what_does_not_fit_is_named():
    q8_0 = tare.encodings["q8_0"].encode(np.ones((1, 32)))
    for wrong in (np.ones((1,) * 9), ("q8_0", (2, 32), q8_0), ("q8_0", (1, 33), q8_0), ("int8_rowwise", (1, 32), q8_0)):
        with pytest.raises(ValueError, match="^the.name: "):
            tare.build({"the.name": wrong})
    t = tare.build({"v": np.arange(6, dtype="int16")})["v"]
    for offset in (-1, 5, 2 ** 63 - 1):
        with pytest.raises(tare.UsageError, match="read_into: the buffer reaches beyond the plane's bytes"):
            t.read_into(bytearray(12), offset=offset)


def test_encoding_says_what_it_cannot():
    e = tare.encodings
    with pytest.raises(ValueError, match="rows of 33 numbers are no whole blocks of q8_0"):
        e["q8_0"].encode(np.ones((2, 33)))
    with pytest.raises(tare.UnsupportedError, match="^i8 cannot be encoded"):
        e["i8"].encode(np.ones(4))
    with pytest.raises(tare.NeedsImportanceError, match="iq2_xxs"):
        e["iq2_xxs"].encode(np.ones((1, 256)))


def test_words_of_arrays(plain_arrays, safetensors_path, gguf_path):
    model = tare.open(safetensors_path)
    for name, array in plain_arrays.items():
        t = model[name]
        assert (t.dtype, t.ndim, t.size, t.itemsize) == (array.dtype, array.ndim, array.size, array.itemsize)
    part = model["cube"][1:, 0]
    assert (part.dtype, part.ndim, part.size, part.itemsize) == (np.float32, 2, 10, 4)
    block = tare.open(gguf_path)["blk.0.weight"]
    assert (block.dtype, block.size, block.itemsize) == (np.float32, 2048, 4) and block.nbytes < 2048 * 4


@pytest.mark.numpy2
def test_ml_dtypes_that_is_too_old(monkeypatch):
    from tare import _dtypes
    monkeypatch.setattr(_dtypes, "_numpy", {})
    monkeypatch.delattr(ml_dtypes, "float8_e8m0fnu")
    header = b'{"w":{"dtype":"F8_E8M0","shape":[4],"data_offsets":[0,4]}}'
    model = tare.open(len(header).to_bytes(8, "little") + header + bytes([127] * 4))
    with pytest.raises(ImportError, match="ml_dtypes .* has no float8_e8m0fnu"):
        model["w"].numpy()
    assert model["w"].numpy("float32").tolist() == [1] * 4
