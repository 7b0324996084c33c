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
        assert result.bytes == packed_path.stat().st_size < path.stat().st_size, options
        wcodec.decode_checkpoint(packed_path, tmp_path / "back.safetensors", overwrite=True)
        assert (tmp_path / "back.safetensors").read_bytes() == path.read_bytes(), options
        assert np.array_equal(wcodec.decode_layer(packed_path, "a"), a), options


def test_options_reach_the_encoder(packed):
    sizes = [result.bytes for result, _ in packed]
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
        assert [r.name for r in records] == list(model)
        by_name = {r.name: r for r in records}
        assert by_name["a"].shape == (64, 256) and by_name["a"].encoding.name == "i16"
        assert by_name["a"].bytes == a.nbytes > by_name["a"].packed_bytes > 0
    out = np.empty((64, 256), np.int16)
    assert wcodec.decode_layer(model, "a", out=out) is out and np.array_equal(out, a)
    number = list(model).index("a")
    assert np.array_equal(wcodec.decode_layer(model, number), a)
    with pytest.raises(KeyError):
        wcodec.decode_layer(model, "nothing")
    assert all(r.packed_bytes is None for r in wcodec.layers(path))
