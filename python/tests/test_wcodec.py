# SPDX-License-Identifier: MIT
"""Guards against: encode_checkpoint with arguments that are lost on the way or accepted although they
mean nothing, and layers that differ from the tensors that were packed."""
import numpy as np
import pytest
import tare
import tare.wcodec as wcodec


@pytest.fixture(scope="module")
def smooth(tmp_path_factory):
    """Numbers that resemble their neighbours: what STRUCTURED segments are for."""
    x = np.linspace(0, 6, 256)
    noise = np.random.default_rng(0).normal(0, 2, (256, 256))
    a = np.rint(np.add.outer(np.sin(x), np.cos(x)) * 50 + noise).astype(np.int16)
    path = tmp_path_factory.mktemp("smooth") / "m.safetensors"
    tare.save({"a": a, "b": np.arange(300, dtype=np.float32)}, path)
    return path, a


OPTIONS = ({}, {"tile_size": 16}, {"tile_size": 8}, {"tile_size": (1, 256)}, {"tile_size": [8, 32]},
           {"tile_size": "32x8"}, {"predictor_modes": ["none"]}, {"predictor_modes": ["left", "planar"]},
           {"transforms": "none"}, {"transforms": ("dct", "adst")}, {"effort": "fast"})


@pytest.mark.parametrize("options", OPTIONS, ids=str)
def test_round_trip(smooth, tmp_path, options):
    path, a = smooth
    result = wcodec.encode_checkpoint(path, tmp_path / "m.wcodec", **options)
    assert result.bytes == (tmp_path / "m.wcodec").stat().st_size < path.stat().st_size
    wcodec.decode_checkpoint(tmp_path / "m.wcodec", tmp_path / "back.safetensors")
    assert (tmp_path / "back.safetensors").read_bytes() == path.read_bytes()
    assert np.array_equal(wcodec.decode_layer(tmp_path / "m.wcodec", "a"), a)


def test_options_reach_the_encoder(smooth, tmp_path):
    path, _ = smooth
    sizes = {}
    for options in OPTIONS[:-1]:
        wcodec.encode_checkpoint(path, tmp_path / "m.wcodec", overwrite=True, **options)
        sizes[str(options)] = (tmp_path / "m.wcodec").stat().st_size
    assert len(set(sizes.values())) > 4, sizes


@pytest.mark.parametrize("options", ({"tile_size": 32}, {"tile_size": (16, 8)}, {"tile_size": "x"},
                                     {"predictor_modes": ["right"]}, {"predictor_modes": []},
                                     {"transforms": "fft"}, {"tile_size": {}}), ids=str)
def test_wrong_options(smooth, tmp_path, options):
    with pytest.raises(ValueError):
        wcodec.encode_checkpoint(smooth[0], tmp_path / "m.wcodec", **options)
    assert not (tmp_path / "m.wcodec").exists()


def test_layers(smooth, tmp_path):
    path, a = smooth
    wcodec.encode_checkpoint(path, tmp_path / "m.wcodec", effort="fast")
    model = tare.open(tmp_path / "m.wcodec")
    for source in (model, tmp_path / "m.wcodec"):
        records = wcodec.layers(source)
        assert [r.name for r in records] == list(model)
        by_name = {r.name: r for r in records}
        assert by_name["a"].shape == (256, 256) and by_name["a"].encoding.name == "i16"
        assert by_name["a"].bytes == a.nbytes > by_name["a"].packed_bytes > 0
    out = np.empty((256, 256), np.int16)
    assert wcodec.decode_layer(model, "a", out=out) is out and np.array_equal(out, a)
    number = list(model).index("a")
    assert np.array_equal(wcodec.decode_layer(model, number), a)
    with pytest.raises(KeyError):
        wcodec.decode_layer(model, "nothing")
    assert all(r.packed_bytes is None for r in wcodec.layers(path))
