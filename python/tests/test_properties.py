# SPDX-License-Identifier: MIT
"""What must hold of all inputs: what was saved is loaded, streamed and decoded, whole or in part, into new memory or
into the caller's; layers are opened from their parts, and parts that are damaged are errors."""
import os

import ml_dtypes
import numpy as np
import pytest
from hypothesis import HealthCheck, given, settings
from hypothesis import strategies as st
from hypothesis.extra import numpy as hnp

import tare
from tare import wcodec

# With sanitizers, a fifth of the examples; those of the wheel are all.
share = 5 if os.environ.get("TARE_TEST_SHORT") else 1
quick = settings(max_examples=40 // share, deadline=None,
                 suppress_health_check=[HealthCheck.function_scoped_fixture, HealthCheck.too_slow])

DTYPES = [np.dtype(d) for d in ("<f4", "<f8", "<f2", "<i1", "<u1", "<i2", "<i4", "<i8", "?", ml_dtypes.bfloat16)]
FLOATS = [np.dtype(d) for d in ("<f4", "<f2", ml_dtypes.bfloat16)]
names = st.text(st.characters(exclude_categories=["Cs", "Cc"]), min_size=1, max_size=12).filter(
    lambda name: name != "__metadata__")


@st.composite
def arrays(draw, dtypes=DTYPES, max_side=40, min_dims=0):
    """Any bits of any type in any shape."""
    dtype = draw(st.sampled_from(dtypes))
    shape = draw(hnp.array_shapes(min_dims=min_dims, max_dims=4, min_side=0, max_side=max_side)
                 if draw(st.booleans()) else hnp.array_shapes(min_dims=max(min_dims, 1), max_dims=2))
    n = int(np.prod(shape)) * dtype.itemsize
    rng = np.random.default_rng(draw(st.integers(0, 2 ** 32)))
    raw = rng.integers(0, 2 if dtype == bool else draw(st.sampled_from([3, 256])), n, dtype=np.uint8)
    return raw.view(dtype).reshape(shape)


states = st.dictionaries(names, arrays(), min_size=1, max_size=5)


def same(a, b):
    return a.dtype == b.dtype and a.shape == b.shape and a.tobytes() == b.tobytes()


def saved(folder, state, suffix):
    path = str(folder / ("m" + suffix))
    tare.save(state, path, force=True, no_sync=True)
    return path


@pytest.mark.parametrize("suffix", (".safetensors", ".wcodec", ".mcf"))
@quick
@given(data=st.data())
def test_what_was_saved_is_loaded(tmp_path, suffix, data):
    state = data.draw(states)
    path = saved(tmp_path, state, suffix)
    wanted = data.draw(st.lists(st.sampled_from(list(state)), unique=True))
    loaded = tare.load(path, names=wanted, threads=data.draw(st.sampled_from((0, 1, 2))))
    assert list(loaded) == wanted and all(same(loaded[n], state[n]) for n in wanted)
    window = data.draw(st.sampled_from((1, 4096, 1 << 20)))
    streamed = {n: a.copy() for n, a in tare.stream(path, framework="numpy", names=wanted, window=window)}
    assert list(streamed) == wanted and all(same(streamed[n], state[n]) for n in wanted)


@quick
@given(data=st.data())
def test_memory_of_the_caller_is_filled(tmp_path, data):
    """Whatever its strides and its type of float; nothing beside it changes. NaNs are compared as such."""
    state = data.draw(st.dictionaries(names, arrays(FLOATS, 12, 1), min_size=1, max_size=3))
    path = saved(tmp_path, state, data.draw(st.sampled_from((".safetensors", ".wcodec"))))
    dtype = data.draw(st.sampled_from(FLOATS))
    out, frames = {}, {}
    for name, array in state.items():
        steps = [data.draw(st.sampled_from((1, 2, 3, -1, -2))) for _ in array.shape]
        frames[name] = np.full([n * abs(s) + 2 for n, s in zip(array.shape, steps)], 7, dtype)
        inner = frames[name][tuple(slice(1, 1 + n * abs(s), abs(s)) for n, s in zip(array.shape, steps))]
        out[name] = inner[tuple(slice(None, None, 1 if s > 0 else -1) for s in steps)]
    with np.errstate(all="ignore"):
        expected = {n: a.astype(np.float32).astype(dtype) for n, a in state.items()}
    n_sevens = {n: (frames[n] == 7).sum() - (out[n] == 7).sum() for n in state}
    tare.load(path, out=out)
    for name, array in out.items():
        with np.errstate(all="ignore"):
            np.testing.assert_array_equal(array.astype(np.float64), expected[name].astype(np.float64))
            assert (frames[name] == 7).sum() - (array == 7).sum() == n_sevens[name]


ROWWISE = [e for e in tare.encodings.values() if e.can_encode and not e.needs_importance
           and {p.scope for p in e.planes} <= {"elements", "row"}]


@settings(max_examples=200 // share, deadline=None)
@given(encoding=st.sampled_from(ROWWISE), rows=st.integers(1, 40), blocks=st.integers(1, 3),
       cut=st.integers(0, 5), seed=st.integers(0, 2 ** 32))
def test_rows_are_encoded_each_for_itself(encoding, rows, blocks, cut, seed):
    """Eight rows at a time fill whole bytes of all encodings: they are what they are among others."""
    a = np.random.default_rng(seed).normal(0, 1, (rows, encoding.block * blocks)).astype(np.float32)
    try:
        whole = encoding.encode(a)
    except tare.CorruptError:  # rows that fill no whole bytes
        assert encoding.block == 1 and encoding.bits < 8
        return
    decoded = encoding.decode(whole, a.shape)
    first = min(cut * 8, rows // 8 * 8)
    at = encoding.sizes((first, a.shape[1]))
    try:
        part = encoding.encode(a[first:])
    except tare.CorruptError:
        return
    for plane, begin, rest in zip(whole, at, part):
        assert bytes(plane)[begin:] == bytes(rest)
    assert np.array_equal(encoding.decode(part, a[first:].shape), decoded[first:], equal_nan=True)


@st.composite
def layers(draw):
    """An array, and a base or none."""
    a = draw(arrays(DTYPES, 60, 1).filter(lambda a: a.size > 0))
    if not draw(st.booleans()):
        return a, None
    base = a.copy()
    base.reshape(-1).view(np.uint8)[::draw(st.integers(1, 50))] ^= draw(st.integers(0, 1))
    return a, base


@settings(max_examples=150 // share, deadline=None)
@given(layer=layers(), data=st.data(), effort=st.sampled_from(("fast", "full")))
def test_layers_from_their_parts(layer, data, effort):
    a, base = layer
    coded = wcodec.encode(a, base=base, effort=effort)
    again = wcodec.open_coded(bytes(coded.stored()), coded.streams, coded.region_nbytes, coded.crc,
                              base=[base], dtype=a.dtype, shape=a.shape)
    assert same(again.decode(), a) and again.streams == coded.streams
    begin = data.draw(st.integers(0, a.nbytes))
    n = data.draw(st.integers(0, a.nbytes - begin))
    assert bytes(again.decode_region(0, begin, n)) == a.tobytes()[begin:begin + n]


@settings(max_examples=150 // share, deadline=None)
@given(layer=layers(), data=st.data())
def test_damaged_parts_are_errors(layer, data):
    """Or change nothing, where they are padding."""
    a, base = layer
    coded = wcodec.encode(a, base=base)
    stored, streams, crc = bytearray(coded.stored()), list(coded.streams), coded.crc
    region_nbytes = list(coded.region_nbytes)
    what = data.draw(st.sampled_from(("byte", "end", "crc", "size", "member", "region")))
    if what == "byte" and stored:
        stored[data.draw(st.integers(0, len(stored) - 1))] ^= data.draw(st.integers(1, 255))
    elif what == "end":
        del stored[data.draw(st.integers(0, len(stored))):]
    elif what == "crc":
        crc ^= data.draw(st.integers(1, 2 ** 32 - 1))
    elif what == "region":
        region_nbytes[0] = data.draw(st.integers(0, 2 ** 63))
    elif streams:
        i = data.draw(st.integers(0, len(streams) - 1))
        members = {n: getattr(streams[i], n) for n in wcodec.Stream.__slots__}
        if what == "size":
            members["sizes"] = tuple(data.draw(st.lists(st.integers(0, 2 ** 40).map(lambda n: n * 64), max_size=4)))
        else:
            numbers = [n for n, v in members.items() if isinstance(v, int)]
            members[data.draw(st.sampled_from(numbers))] = data.draw(st.integers(0, 2 ** 20))
        streams[i] = wcodec.Stream(*members.values())
    try:
        opened = wcodec.open_coded(bytes(stored), streams, region_nbytes, crc,
                                   base=None if base is None else [base])
        decoded = bytes(opened.decode_region(0, 0, a.nbytes))
    except (tare.TareError, ValueError, OverflowError):
        return
    assert decoded == a.tobytes()


@st.composite
def encoded(draw):
    """A tensor of any number format whose rows stand alone, as build() takes it."""
    encoding = draw(st.sampled_from(ROWWISE))
    rows = draw(st.lists(st.integers(1, 5), max_size=2)) + [draw(st.sampled_from((1, 2, 8)))]
    shape = (*rows, encoding.block * draw(st.integers(1, 3)) * (1 if encoding.block > 1 else 8))
    numbers = np.random.default_rng(draw(st.integers(0, 2 ** 32))).normal(0, 1, shape).astype(np.float32)
    return encoding.name, shape, encoding.encode(numbers)


@settings(max_examples=100 // share, deadline=None,
          suppress_health_check=[HealthCheck.function_scoped_fixture, HealthCheck.too_slow])
@given(tensor=encoded(), suffix=st.sampled_from((None, ".mcf", ".wcodec")), is_mapped=st.booleans(), data=st.data())
def test_parts_are_those_of_the_whole(tmp_path, tensor, suffix, is_mapped, data):
    """Of every number format, in memory, mapped, read and packed; parts of parts, too."""
    model = tare.build({"w": tensor})
    if suffix:
        tare.save(dict(model), tmp_path / ("w" + suffix), opaque=True, force=True, no_sync=True)
        model = tare.open(tmp_path / ("w" + suffix), map=is_mapped)
    dtype = data.draw(st.sampled_from((np.float32, np.float16, ml_dtypes.bfloat16)))
    part, expected = model["w"], model["w"].numpy(dtype)
    assert expected.shape == tensor[1]
    for _ in range(data.draw(st.integers(1, 3))):
        key = data.draw(hnp.basic_indices(expected.shape, allow_newaxis=True, max_dims=8))
        part, expected = part[key], np.asarray(expected[key])
        assert part.shape == expected.shape
    got = part.numpy(dtype)
    assert type(got) is np.ndarray and got.dtype == dtype and got.tobytes() == expected.tobytes()
