# SPDX-License-Identifier: MIT
"""Guards against: fields, tensors and numbers of tare.gguf that differ from those of gguf-py."""
import importlib
import shutil
import sys

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
    with pytest.raises(ValueError, match="mode"):
        ours.GGUFReader(safetensors_path, "w")


# ---- over the bytes of a file

def odd_file(path, order=gguf.GGUFEndian.LITTLE):
    """Arrays that are empty or of arrays, an alignment, types that are no numbers, in either order."""
    w = gguf.GGUFWriter(str(path), "llama", endianess=order)
    w.add_custom_alignment(64)
    w.add_uint32("tokenizer.ggml.bos_token_id", 1)
    w.add_array("t.none", [0])
    w.add_array("t.flags", [True, False])
    w.add_array("t.nested", [[1, 2], [3]])
    w.add_array("t.texts", ["a", "", "\u00fc"])
    w.add_float64("t.double", 0.25)
    w.add_uint8("t.small", 7)
    for name, array in (("f32", np.arange(12, dtype="f4").reshape(3, 4)), ("f16", np.ones((2, 32), "f2")),
                        ("f64", np.ones(3)), ("i8", np.arange(5, dtype="i1")), ("i64", np.arange(4))):
        w.add_tensor(name, array)
    for kind in ("Q8_0", "Q4_0", "BF16"):
        t = gguf.GGMLQuantizationType[kind]
        w.add_tensor(kind, gguf.quants.quantize(np.ones((2, 64), "f4"), t), raw_dtype=t)
    w.write_header_to_file()
    w.write_kv_data_to_file()
    w.write_tensors_to_file()
    w.close()
    return str(path)


@pytest.fixture(scope="module", params=("LITTLE", "BIG", "blocks", "carried"))
def file(request, tmp_path_factory, gguf_path, safetensors_path):
    path = tmp_path_factory.mktemp("gguf") / (request.param + ".gguf")
    if request.param == "blocks":
        shutil.copy(gguf_path, path)
    elif request.param == "carried":  # stand-ins, of which the package knows nothing
        tare.convert(safetensors_path, path)
    else:
        odd_file(path, gguf.GGUFEndian[request.param])
    return str(path)


def equal(a, b):
    return a.dtype == b.dtype and a.shape == b.shape and a.tobytes() == b.tobytes()


def test_every_member(file):
    theirs, mine = gguf.GGUFReader(file), ours.GGUFReader(file)
    assert (mine.byte_order, mine.alignment, mine.data_offset, mine.endianess) == (
        theirs.byte_order, theirs.alignment, theirs.data_offset, theirs.endianess)
    assert mine.endianess.name == theirs.endianess.name and equal(mine.data, theirs.data)
    assert mine.gguf_scalar_to_np == theirs.gguf_scalar_to_np
    assert list(mine.fields) == list(theirs.fields) and len(mine.fields) == len(theirs.fields)
    pairs = list(zip(mine.fields.values(), theirs.fields.values()))
    pairs += [(m.field, t.field) for m, t in zip(mine.tensors, theirs.tensors)]
    for m, t in pairs:
        assert (m.offset, m.name, m.data, m.types) == (t.offset, t.name, t.data, t.types), t.name
        assert len(m.parts) == len(t.parts) and all(map(equal, m.parts, t.parts)), t.name
        assert m.contents() == t.contents(), t.name
        if t.types[:1] == [gguf.GGUFValueType.ARRAY]:
            assert m.contents(slice(1)) == t.contents(slice(1)) and m.contents(-1) == t.contents(-1)
    for m, t in zip(mine.tensors, theirs.tensors, strict=True):
        for name in ("name", "tensor_type", "n_elements", "n_bytes", "data_offset"):
            assert getattr(m, name) == getattr(t, name), (t.name, name)
        assert equal(m.shape, t.shape) and equal(m.data, t.data), t.name
        assert m._fields == t._fields and len(m) == len(t) and m[0] == t[0]
    with pytest.raises(ValueError):
        mine.tensors[0].data.reshape(-1)[0] = 1


def script_runs(monkeypatch, capsys, name, reader, *args):
    """What a script of the package says with this reader."""
    module = importlib.import_module("gguf.scripts." + name)
    monkeypatch.setattr(gguf, "GGUFReader", reader)
    monkeypatch.setattr(module, "GGUFReader", reader, raising=False)
    monkeypatch.setattr(sys, "argv", [name, *map(str, args)])
    monkeypatch.setattr("builtins.input", lambda text="": "YES")
    try:
        module.main()
    except SystemExit as end:
        assert not end.code
    return capsys.readouterr().out


@pytest.mark.parametrize("name, args", (
    ("gguf_dump", ()), ("gguf_dump", ("--json",)), ("gguf_dump", ("--json", "--json-array")),
    ("gguf_dump", ("--markdown",)), ("gguf_dump", ("--data-offset",)), ("gguf_dump", ("--data-alignment",)),
    ("gguf_hash", ())))
def test_scripts_say_the_same(file, monkeypatch, capsys, name, args):
    theirs = gguf.GGUFReader
    said = []
    for reader in (theirs, ours.GGUFReader):
        try:
            said.append(script_runs(monkeypatch, capsys, name, reader, *args, file))
        except (KeyError, UnboundLocalError, AttributeError, ValueError) as error:  # of the script itself
            said.append((type(error), str(error)))
    assert said[0] == said[1] and said[0]


@pytest.mark.parametrize("name, args, out", (
    ("gguf_set_metadata", ("FILE", "tokenizer.ggml.bos_token_id", 2), "FILE"),
    ("gguf_set_metadata", ("FILE", "t.double", 0.75, "--force"), "FILE"),
    ("gguf_set_metadata", ("FILE", "t.small", 9, "--dry-run"), "FILE"),
    ("gguf_convert_endian", ("FILE", "big"), "FILE"), ("gguf_convert_endian", ("FILE", "little"), "FILE"),
    ("gguf_new_metadata", ("FILE", "OUT", "--general-name", "new", "--remove-metadata", "t.none"), "OUT")))
@pytest.mark.parametrize("order", ("LITTLE", "BIG"))
def test_scripts_write_the_same(tmp_path, monkeypatch, capsys, name, args, out, order):
    theirs = gguf.GGUFReader
    written = []
    for i, reader in enumerate((theirs, ours.GGUFReader)):
        names = {"FILE": tmp_path / f"{i}.gguf", "OUT": tmp_path / f"out{i}.gguf"}
        if name == "gguf_convert_endian":  # which knows few types
            plain(names["FILE"], gguf.GGUFEndian[order])
        else:
            odd_file(names["FILE"], gguf.GGUFEndian[order])
        script_runs(monkeypatch, capsys, name, reader, *(names.get(a, a) for a in args))
        written.append(names[out].read_bytes())
    assert written[0] == written[1]


def plain(path, order):
    w = gguf.GGUFWriter(str(path), "llama", endianess=order)
    w.add_array("t.texts", ["a", "b"])
    w.add_tensor("f32", np.arange(12, dtype="f4").reshape(3, 4))
    t = gguf.GGMLQuantizationType.Q8_0
    data = gguf.quants.quantize(np.ones((2, 64), "f4"), t)
    w.add_tensor("q8", data, raw_dtype=t)
    w.write_header_to_file()
    w.write_kv_data_to_file()
    w.write_tensors_to_file()
    w.close()


def test_writing_in_place(tmp_path):
    path = odd_file(tmp_path / "w.gguf")
    kept = ours.GGUFReader(path, "c")
    kept.tensors[0].data[0, 0] = 5
    assert gguf.GGUFReader(path).tensors[0].data[0, 0] == 0
    reader = ours.GGUFReader(path, "r+")
    field = reader.fields["t.small"]
    field.parts[field.data[0]][0] = 8
    reader.tensors[0].data[0, 0] = 5
    reader.data.flush()
    again = gguf.GGUFReader(path)
    assert again.fields["t.small"].contents() == 8 and again.tensors[0].data[0, 0] == 5


def test_shard_alone(tmp_path, gguf_path):
    tare.convert(gguf_path, tmp_path / "set", shard_size=3000, to="gguf")
    shards = sorted((tmp_path / "set").iterdir())
    assert len(shards) > 1
    for shard in shards:
        theirs, mine = gguf.GGUFReader(shard), ours.GGUFReader(shard)
        assert list(mine.fields) == list(theirs.fields)
        assert [t.name for t in mine.tensors] == [t.name for t in theirs.tensors]
        assert all(equal(m.data, t.data) for m, t in zip(mine.tensors, theirs.tensors))


@pytest.mark.parametrize("name", ("Q8_0", "Q4_0", "Q5_1", "BF16", "F16", "F32"))
def test_quantize(name):
    a = np.random.default_rng(0).standard_normal((2, 3, 64), dtype=np.float32)
    t = gguf.GGMLQuantizationType[name]
    expected = gguf.quants.quantize(a, t)
    data = ours.quantize(a, t)
    assert data.tobytes() == expected.tobytes() and ours.quantize(a, name).tobytes() == data.tobytes()
    assert data.shape == expected.shape and data.dtype == expected.dtype
    assert np.array_equal(ours.dequantize(data, t), gguf.quants.dequantize(expected, t))
    with pytest.raises(ValueError):
        ours.dequantize(data.view(np.uint8)[..., :-1], t)
    with pytest.raises(tare.UnsupportedError):
        ours.quantize(a, "Q77")
