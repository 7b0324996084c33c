# SPDX-License-Identifier: MIT
"""Guards against: encode_checkpoint with arguments that are lost on the way or accepted although they
mean nothing, and layers that differ from the tensors that were packed."""
import numpy as np
import pytest
import tare
import tare.wcodec as wcodec


OPTIONS = ({}, {"tile_size": 16}, {"tile_size": 8}, {"tile_size": (1, 256)}, {"tile_size": [8, 32]},
           {"tile_size": "32x8"}, {"predictor_modes": ["none"]}, {"predictor_modes": ["left", "planar"]},
           {"transforms": "none"}, {"transforms": ("dct", "adst")}, {"effort": "fast"})


@pytest.fixture(scope="module")
def smooth(tmp_path_factory):
    """Numbers that resemble their neighbours: what STRUCTURED segments are for."""
    x = np.linspace(0, 6, 256)
    noise = np.random.default_rng(0).normal(0, 2, (64, 256))
    a = np.rint(np.add.outer(np.sin(x[::4]), np.cos(x)) * 50 + noise).astype(np.int16)
    path = tmp_path_factory.mktemp("smooth") / "m.safetensors"
    tare.save({"a": a, "b": np.arange(300, dtype=np.float32)}, path)
    return path, a


@pytest.fixture(scope="module")
def packed(smooth):
    """The model packed with each of OPTIONS: results and paths."""
    paths = [smooth[0].with_name(f"{i}.wcodec") for i in range(len(OPTIONS))]
    return [(wcodec.encode_checkpoint(smooth[0], path, **options), path)
            for options, path in zip(OPTIONS, paths)]


def test_round_trip(smooth, packed, tmp_path):
    path, a = smooth
    for options, (result, packed_path) in zip(OPTIONS, packed):
        assert result.nbytes == packed_path.stat().st_size < path.stat().st_size, options
        wcodec.decode_checkpoint(packed_path, tmp_path / "back.safetensors", force=True)
        assert (tmp_path / "back.safetensors").read_bytes() == path.read_bytes(), options
        assert np.array_equal(wcodec.decode_layer(packed_path, "a"), a), options


def test_options_reach_the_encoder(packed):
    sizes = [result.nbytes for result, _ in packed]
    assert len(set(sizes[:-1])) > 4, sizes


@pytest.mark.parametrize("options", ({"tile_size": 32}, {"tile_size": (16, 8)}, {"tile_size": "x"},
                                     {"predictor_modes": ["right"]}, {"predictor_modes": []},
                                     {"transforms": "fft"}, {"tile_size": {}}), ids=str)
def test_wrong_options(smooth, tmp_path, options):
    with pytest.raises(ValueError):
        wcodec.encode_checkpoint(smooth[0], tmp_path / "m.wcodec", **options)
    assert not (tmp_path / "m.wcodec").exists()


def test_layers(smooth, packed):
    path, a = smooth
    model = tare.open(packed[-1][1])
    for source in (model, packed[-1][1]):
        records = wcodec.layers(source)
        assert sorted(r.name for r in records if r.kind == "tensor") == sorted(model)
        by_name = {r.name: r for r in records}
        assert by_name["a"].shape == (64, 256) and by_name["a"].encoding.name == "i16"
        assert by_name["a"].nbytes == a.nbytes > by_name["a"].packed_nbytes > 0
        assert {r.kind for r in records} == {"tensor", "bytes"}
        assert all(r.encoding is None for r in records if r.kind == "bytes")
        coded = by_name["a"].coded()
        assert coded.packed_nbytes == by_name["a"].packed_nbytes and coded.region_nbytes == (a.nbytes,)
        assert coded.decode().tobytes() == a.tobytes() and coded.crc
    out = np.empty((64, 256), np.int16)
    assert wcodec.decode_layer(model, "a", out=out) is out and np.array_equal(out, a)
    number = list(model).index("a")
    assert np.array_equal(wcodec.decode_layer(model, number), a)
    with pytest.raises(KeyError):
        wcodec.decode_layer(model, "nothing")
    assert all(r.packed_nbytes is None for r in wcodec.layers(path))
    with pytest.raises(ValueError, match="not a .wcodec"):
        wcodec.layers(path)[0].coded()
    coded = wcodec.layers(model)[number].coded()
    model.close()
    assert coded.decode().nbytes == coded.region_nbytes[0]  # it holds what it needs


def test_encode_is_what_a_file_stores(smooth, tmp_path):
    """The layer in memory is byte for byte the layer of the file."""
    arrays = {d: (smooth[1] * 0.37 if "f" in d else smooth[1]).astype(d) for d in
              ("int8", "uint8", "int16", "uint32", "int64", "float16", "float32", "float64")}
    for effort, names in (("fast", list(arrays)), ("full", ["int8", "float32"])):
        tare.save({n: arrays[n] for n in names}, tmp_path / "m.wcodec", effort=effort, force=True)
        for layer in wcodec.layers(tmp_path / "m.wcodec"):
            if layer.kind == "tensor":
                coded, stored = wcodec.encode(arrays[layer.name], effort=effort), layer.coded()
                assert bytes(coded.stored()) == bytes(stored.stored()) and coded.crc == stored.crc, layer
                assert coded.segments(0) == stored.segments(0) and coded.streams == stored.streams


@pytest.mark.parametrize("dtype", ("int8", "uint8", "int16", "float16", "float32", "float64", ">i2", ">f4", "bool"))
def test_encode(dtype):
    a = np.random.default_rng(1).normal(0, 9, (85, 200)).astype(dtype)
    for effort in ("fast", "full") if dtype == "int8" else ("fast",):
        coded = wcodec.encode(a, effort=effort, threads=2)
        assert coded.decode().dtype == a.dtype and coded.decode().tobytes() == a.tobytes()
        assert coded.packed_nbytes == len(coded.stored()) < a.nbytes
        assert bytes(coded.decode_region(0, 1001, 77)) == a.tobytes()[1001:1078]
        for i, stream in enumerate(coded.streams):
            units = np.frombuffer(a.tobytes(), np.uint8).reshape(-1, stream.stride)
            expected = units[:, stream.offset:stream.offset + stream.width].tobytes()
            segments = coded.segments(i)
            assert sum(s.nbytes for s in segments) == stream.nbytes == len(expected)
            assert tuple(s.packed_nbytes for s in segments) == stream.sizes
            assert bytes(coded.decode_segments(i, 0, len(segments))) == expected
            assert bytes(coded.decode_segments(i, len(segments) - 1)) == expected[-segments[-1].nbytes:]
    out = np.empty_like(a)
    assert coded.decode(out) is out and out.tobytes() == a.tobytes()


def test_encode_regions_and_bases():
    rng = np.random.default_rng(2)
    base = rng.integers(-99, 99, 40000).astype(np.int8)
    tuned = base + (rng.random(40000) < 0.02).astype(np.int8)
    alone, against = wcodec.encode(tuned), wcodec.encode(tuned, base=base.copy())
    assert against.packed_nbytes < alone.packed_nbytes / 2
    assert np.array_equal(against.decode(), tuned) and {s.base for s in against.segments(0)} == {"ref"}
    scales = rng.random(1000, np.float32).tobytes()
    coded = wcodec.encode([tuned.tobytes(), scales], [
        {"value_bits": 8, "mode": "raw"}, {"region": 1, "value_bits": 8, "is_repetitive": True}])
    assert coded.region_nbytes == (40000, 4000) and bytes(coded.decode_region(1)) == scales
    assert {s.mode for s in coded.segments(0)} == {"raw"} and coded.decode().dtype == np.uint8


def test_bases_are_for_every_region_or_for_none():
    fields = [{"region": i, "value_bits": 8} for i in range(2)]
    regions, bases = [b"ab" * 500, b"c" * 900], [b"ab" * 500, b"d" * 900]
    coded = wcodec.encode(regions, fields, base=bases)
    parts = bytes(coded.stored()), coded.streams, coded.region_nbytes, coded.crc
    again = wcodec.open_coded(*parts, base=bases)
    assert [bytes(again.decode_region(i)) for i in range(2)] == regions
    alone = wcodec.encode(regions, fields, base=[None, None])
    parts_alone = bytes(alone.stored()), alone.streams, alone.region_nbytes, alone.crc
    assert bytes(wcodec.open_coded(*parts_alone, base=[None, None]).decode_region(1)) == regions[1]
    for wrong, words in (([bases[0], None], "no base of region 1"), (bases[:1], "1 bases for 2 regions"),
                         ([bases[0], b"d" * 899], "region 1 has 899 bytes, not 900")):
        with pytest.raises(ValueError, match=words):
            wcodec.open_coded(*parts, base=wrong)
        with pytest.raises(ValueError, match=words):
            wcodec.encode(regions, fields, base=wrong)


@pytest.mark.parametrize("args, options", (
    (([b"x" * 9],), {}), (([b"x" * 9], [{}]), {}), (([b"x" * 9], [{"value_bits": 8, "width_": 1}]), {}),
    (([b"x" * 9], [{"value_bits": 300}]), {}), (([b"x" * 9], [{"value_bits": 16}]), {}), (([], []), {}),
    (([b"x"] * 5, [{"value_bits": 8}]), {}), (([b"x" * 9], [{"value_bits": 8}]), {"base": [b"x" * 8]}),
    (([b"x" * 9], [{"value_bits": 8}]), {"base": []  + [None, None]}),
    (([b"x" * 9], [{"value_bits": 8, "mode": "best"}]), {}), ((np.zeros(9), None), {"effort": "best"}),
    ((np.zeros(9, "i1"),), {"tile_size": 3})), ids=str)
def test_encode_refuses(args, options):
    with pytest.raises((ValueError, OverflowError)):
        wcodec.encode(*args, **options)


def test_decode_refuses():
    coded = wcodec.encode(np.zeros(5000, np.int8))
    for call in (lambda: coded.decode_region(1, 0, 1), lambda: coded.decode_region(0, 4999, 2),
                 lambda: coded.decode(np.empty(4999, np.int8)), lambda: coded.decode(np.empty((5000, 2))[:, 0])):
        with pytest.raises(ValueError):
            call()
    for call in (lambda: coded.decode_segments(1), lambda: coded.decode_segments(0, 0, 2),
                 lambda: coded.decode_segments(0, 2), lambda: coded.segments(1)):
        with pytest.raises((IndexError, ValueError)):
            call()


def test_layers_are_opened_from_their_parts(smooth):
    """With several streams, bases and their own type; and what does not fit is an error."""
    a = smooth[1]
    base = a + (a % 7 == 0)
    for coded, bases in ((wcodec.encode(a), None), (wcodec.encode(a, base=base), [base])):
        parts = bytes(coded.stored()), coded.streams, coded.region_nbytes, coded.crc
        again = wcodec.open_coded(*parts, base=bases, dtype=a.dtype, shape=a.shape)
        assert np.array_equal(again.decode(), a) and again.decode().dtype == a.dtype
        assert again.streams == coded.streams and again.segments(0) == coded.segments(0)
    with pytest.raises(tare.UsageError):
        wcodec.open_coded(*parts).decode()  # it needs the base
    data, streams, region_nbytes, crc = parts
    with pytest.raises(tare.InputError):
        wcodec.open_coded(data[:-64], streams, region_nbytes, crc)
    with pytest.raises(tare.InputError):
        wcodec.open_coded(data, streams, region_nbytes, crc ^ 1).decode()
    with pytest.raises(ValueError, match=f"region 0 has {base.nbytes - 2} bytes, not {base.nbytes}"):
        wcodec.open_coded(data, streams, region_nbytes, crc, base=[base.reshape(-1)[:-1]])
    for name, value in (("sizes", (63,)), ("sizes", (1 << 40,)), ("head_bytes", 64 << 20), ("log2_segment", 63)):
        wrong = [wcodec.Stream(*(value if n == name else getattr(s, n) for n in s.__slots__)) for s in streams]
        with pytest.raises(ValueError):
            wcodec.open_coded(data, wrong, region_nbytes, crc)
    with pytest.raises(ValueError):
        wcodec.open_coded(data, streams * 40, region_nbytes, crc)


def test_joined_streams(tmp_path):
    """Q6_K has the high bits of its codes apart from the low ones: a stream joins them."""
    values = np.random.default_rng(4).standard_normal((64, 512), dtype=np.float32)
    tare.save({"w": values}, tmp_path / "m.gguf", type="q6_k")
    tare.pack(tmp_path / "m.gguf", tmp_path / "m.wcodec")
    layer = next(r for r in wcodec.layers(tmp_path / "m.wcodec") if r.kind == "tensor")
    coded, raw = layer.coded(), bytes(tare.open(tmp_path / "m.gguf")["w"].raw[0])
    joins = [s.join for s in coded.streams if s.join]
    assert joins == [wcodec.Join(128, 2, 8, joins[0].place)] and sorted(joins[0].place) == list(range(8))
    again = wcodec.open_coded(coded.stored(), coded.streams, coded.region_nbytes, coded.crc)
    assert again.decode().tobytes() == raw and again.streams == coded.streams
    own = wcodec.encode([raw], [s.field for s in coded.streams])
    assert own.decode().tobytes() == raw and [s.join for s in own.streams] == [s.join for s in coded.streams]
    field = next(s.field for s in coded.streams if s.join)
    for name, value in (("place", [0] * 8), ("place", [9] * 11), ("place", [300]), ("high_bits", 3), ("low", 1)):
        join = {n: getattr(joins[0], n) for n in joins[0].__slots__} | {name: value}
        with pytest.raises(ValueError):
            wcodec.encode([raw], [field | {"join": join}])
