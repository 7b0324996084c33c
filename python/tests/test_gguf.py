# SPDX-License-Identifier: MIT
"""Guards against: fields, tensors and numbers of tare.gguf that differ from those of gguf-py."""
import gguf
import numpy as np
import pytest
import tare
import tare.gguf as ours


@pytest.fixture(scope="module")
def readers(tmp_path_factory, gguf_path):
    packed = tmp_path_factory.mktemp("gguf") / "m.wcodec"
    tare.pack(gguf_path, packed)
    return gguf.GGUFReader(gguf_path), [ours.GGUFReader(gguf_path), ours.GGUFReader(packed)]


def test_names_of_types():
    for t in gguf.GGMLQuantizationType:
        assert ours.GGMLQuantizationType[t.name] == t
    for t in gguf.GGUFValueType:
        assert ours.GGUFValueType[t.name] == t
    assert ours.GGMLQuantizationType(999).name == "UNKNOWN_999"


def test_fields(readers):
    theirs, mine = readers
    for reader in mine:
        assert list(reader.fields) == list(theirs.fields)
        for name, field in theirs.fields.items():
            f = reader.get_field(name)
            assert f.name == name and f.types == field.types and f.contents() == field.contents(), name
            assert f.data == field.data or name.startswith("GGUF."), name
            for i, j in zip(f.data, field.data):
                assert np.array_equal(f.parts[i], field.parts[j]), name
        tokens = reader.fields["tokenizer.ggml.tokens"]
        assert tokens.contents(7) == "token7" and tokens.contents(slice(-2, None)) == ["token998", "token999"]
        assert reader.get_field("nothing") is None
        assert reader.alignment == theirs.alignment and reader.byte_order == theirs.byte_order


def test_tensors(readers):
    theirs, mine = readers
    for k, reader in enumerate(mine):
        assert len(reader.tensors) == len(theirs.tensors)
        for i, t in enumerate(theirs.tensors):
            m = reader.get_tensor(i)
            assert (m.name, m.tensor_type, m.n_elements, m.n_bytes) == (
                t.name, t.tensor_type, t.n_elements, t.n_bytes)
            assert m.tensor_type.name == t.tensor_type.name and m.shape.tolist() == t.shape.tolist()
            assert m.data_offset == (None if k else t.data_offset)
            assert m.data.dtype == t.data.dtype and m.data.shape == t.data.shape
            assert m.data.tobytes() == t.data.tobytes()


def test_other_containers(bf16_path, safetensors_path):
    reader = ours.GGUFReader(bf16_path[0])
    types = {t.name: t.tensor_type for t in reader.tensors}
    assert types["b"] == gguf.GGMLQuantizationType.BF16 and types["e4"].name == "F8_E4M3" and types["e4"] < 0
    assert reader.tensors[0].data.nbytes == reader.tensors[0].n_bytes
    shapes = {t.name: t.data.shape for t in ours.GGUFReader(safetensors_path).tensors}
    assert shapes["scalar"] == () and shapes["empty"] == (0, 4) and shapes["cube"] == (3, 4, 5)
    with pytest.raises(tare.UnsupportedError):
        ours.GGUFReader(safetensors_path, "r+")


@pytest.mark.parametrize("name", ("Q8_0", "Q4_0", "Q5_1", "BF16", "F16"))
def test_quantize(name):
    a = np.random.default_rng(0).standard_normal((2, 3, 64), dtype=np.float32)
    t = gguf.GGMLQuantizationType[name]
    expected = gguf.quants.quantize(a, t)
    data = ours.quantize(a, t)
    assert data.tobytes() == expected.tobytes() and ours.quantize(a, name).tobytes() == data.tobytes()
    assert data.shape == (*a.shape[:-1], expected.nbytes // 6)
    assert np.array_equal(ours.dequantize(data, t), gguf.quants.dequantize(expected, t))
    with pytest.raises(ValueError):
        ours.dequantize(data[..., :-1], t)
    with pytest.raises(tare.UnsupportedError):
        ours.quantize(a, "Q77")
