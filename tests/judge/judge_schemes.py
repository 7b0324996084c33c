#!/usr/bin/env python3
# SPDX-License-Identifier: MIT
"""Packed weights of every scheme in docs/schemes.md, made of random codes and scales, and what they stand for
by the formula of the scheme: as F32 and rounded once to BF16, out of `tare convert --to hf`, with no part left,
no settings left, and the count that info tells. Then the samples of TARE_TEST_DATA/../cases/schemes, if they
are there. `judge_schemes.py TARE [NAME...]`"""
import json
import os
import shutil
import subprocess
import sys
import tempfile

HERE = os.path.dirname(os.path.abspath(__file__))
sys.path.insert(0, os.path.join(HERE, "../support"))
import numpy as np  # noqa: E402
from safetensors_file import read_safetensors, safetensors  # noqa: E402

F = np.float32
BYTES = {"F32": "<f4", "F16": "<f2", "BF16": "<u2", "I8": "i1", "U8": "u1", "I16": "<i2", "I32": "<i4", "U32": "<u4", "I64": "<i8",
         "F8_E4M3": "u1", "F8_E5M2": "u1", "F8_E8M0": "u1"}
E2M1 = np.array([0, .5, 1, 1.5, 2, 3, 4, 6, -0., -.5, -1, -1.5, -2, -3, -4, -6], F)
E2M3 = np.array([(1 - 2 * (c >> 5)) * (m / 8 if not e else (1 + m / 8) * 2.0 ** (e - 1)) for c in range(64) for e, m in [(c >> 3 & 3, c & 7)]], F)
E4M3 = np.array([(-1 if c & 128 else 1) * ((c & 7) / 512 if not c >> 3 & 15 else (1 + (c & 7) / 8) * 2.0 ** ((c >> 3 & 15) - 7)) for c in range(256)], F)
AWQ = [0, 2, 4, 6, 1, 3, 5, 7]


def half(x):
    """BF16, rounded to the nearest even, as bits."""
    u = np.ascontiguousarray(x, F).view(np.uint32)
    return ((u + 0x7FFF + (u >> 16 & 1)) >> 16).astype(np.uint16)


def number(kind, a):
    if kind == "BF16":
        return (a.astype(np.uint32) << 16).view(F)
    return E4M3[a] if kind == "F8_E4M3" else np.ldexp(F(1), a.astype(int) - 127).astype(F) if kind == "F8_E8M0" else a.astype(F)


def dense(codes, bits, word="<i4"):
    """Codes along the last axis, the first in the lowest bits, across the borders of words."""
    size = np.dtype(word).itemsize * 8
    s = (codes.astype(np.uint8)[..., None] >> np.arange(bits, dtype=np.uint8) & 1).reshape(*codes.shape[:-1], -1)
    s = np.concatenate([s, np.zeros((*s.shape[:-1], -s.shape[-1] % size), np.uint8)], -1)
    return np.packbits(s, -1, bitorder="little").view(word)


def planar(codes, bits):
    c, out, at = codes.reshape(*codes.shape[:-1], -1, 32), [], 0
    while at < bits:
        width = (2 if bits == 3 else 4) if at == 0 else min(2, bits - at)
        out.append(dense(c >> at & (1 << width) - 1, width))
        at += width
    return np.concatenate(out, -1).reshape(*codes.shape[:-1], -1)


class Maker:
    def __init__(self, name, rows=64, cols=192):
        self.r, self.shape = np.random.default_rng(sum(map(ord, name))), (rows, cols)

    def codes(self, bits, shape=None):
        return self.r.integers(0, 1 << bits, shape or self.shape)

    def scales(self, *shape):
        return (self.r.random(shape) / 64 + .01).astype(F)

    def halves(self, *shape):
        return half(self.scales(*shape))

    def exponents(self, *shape):
        return self.r.integers(110, 128, shape).astype(np.uint8)

    def fp8(self, *shape):
        return (self.r.integers(0, 126, shape or self.shape) | self.r.integers(0, 2, shape or self.shape) << 7).astype(np.uint8)


def wide(s, cols):
    return np.repeat(s, -(-cols // s.shape[-1]), -1)[..., :cols]


def gptq(bits=4, g=64, order=False, v2=False, planes=False, word="<i4"):
    def make(m):
        o, i = m.shape
        q, z = m.codes(bits), m.codes(bits, (i // g, o))
        z = np.maximum(z, 0 if v2 else 1)
        s = m.scales(i // g, o).astype(np.float16)
        index = m.r.permutation(np.arange(i) // g) if order else np.arange(i) // g
        put = planar if planes else lambda c, b: dense(c, b, word)
        kind = {"<i4": "I32", "<i2": "I16"}[word]
        t = {"x.qweight": (kind, put(q, bits).T), "x.qzeros": (kind, put(z - (not v2), bits)), "x.scales": ("F16", s)}
        if order:
            t["x.g_idx"] = ("I32", index.astype(np.int32))
        return t, s.astype(F)[index].T * (q - z[index].T).astype(F)
    return make


def awq(m, g=64):
    o, i = m.shape
    q, z, s = m.codes(4), m.codes(4, (i // g, o)), m.scales(i // g, o).astype(np.float16)
    put = lambda c: dense(c.reshape(*c.shape[:-1], -1, 8)[..., AWQ].reshape(c.shape), 4)  # noqa: E731
    return {"x.qweight": ("I32", put(q.T)), "x.qzeros": ("I32", put(z)), "x.scales": ("F16", s)}, \
        (q - np.repeat(z, g, 0).T).astype(F) * np.repeat(s.astype(F), g, 0).T


def awq_gemv(m):
    """One group a row, whose scales are padded to what a word of zero points has."""
    o, i = m.shape
    q, z, s = m.codes(4), m.codes(4, (o, 8)), m.scales(o, 8).astype(np.float16)
    return {"x.qweight": ("I32", dense(q, 4)), "x.qzeros": ("I32", dense(z, 4)), "x.scales": ("F16", s)}, \
        (q - z[:, :1]).astype(F) * s[:, :1].astype(F)


def awq_tiles(m, g=64):
    """llm-awq's pack_intweight, code by code."""
    o, i = m.shape
    q, s, z = m.codes(4), m.scales(8, o).astype(np.float16), (-m.scales(8, o)).astype(np.float16)
    words = np.zeros((o // 4, i), np.uint32)
    for row in range(o):
        for col in range(i):
            c = col % 32
            at = row % 4 * 64 + col % 64 // 32 * 32 + c // 2 % 4 * 8 + c % 2 * 4 + c // 8
            words[row // 4, col // 64 * 64 + at // 4] |= np.uint32(q[row, col] << at % 4 * 4)
    n = i // g
    return {"x.qweight": ("I16", words.astype(np.uint16).view(np.int16)), "x.qzeros": ("F16", z), "x.scales": ("F16", s)}, \
        q.astype(F) * np.repeat(s[:n].astype(F), g, 0).T + np.repeat(z[:n].astype(F), g, 0).T


def packed(bits, groups, zero=False):
    def make(m):
        o, i = m.shape
        q, s, z = m.codes(bits), m.halves(o, groups), m.codes(bits, (o, groups))
        t = {"x.weight_packed": ("I32", dense(q, bits)), "x.weight_scale": ("BF16", s), "x.weight_shape": ("I64", np.array([o, i]))}
        if zero:
            t["x.weight_zero_point"] = ("I32", dense(z.T, bits).T)
        return t, (q - (wide(z, i) if zero else 1 << bits - 1)).astype(F) * wide(number("BF16", s), i)
    return make


def loose(bits):
    """Codes that do not cross the borders of words, as before compressed-tensors 0.20."""
    def make(m):
        (o, i), per = m.shape, 32 // bits
        q, s = m.codes(bits), m.halves(o, 1)
        words = np.pad(q, ((0, 0), (0, -i % per))).astype(np.uint32).reshape(o, -1, per) << (bits * np.arange(per, dtype=np.uint32))
        return {"x.weight_packed": ("I32", words.sum(-1, dtype=np.uint32).view(np.int32)), "x.weight_scale": ("BF16", s),
                "x.weight_shape": ("I64", np.array([o, i]))}, (q - (1 << bits - 1)).astype(F) * number("BF16", s)
    return make


def narrow(make, cols):
    """So few columns that several layouts of compressed-tensors, or numbers of bits, take as many words."""
    def with_shape(m):
        m.shape = 64, cols
        return make(m)
    return with_shape


def ct(bits, **more):
    return {"quant_method": "compressed-tensors", "config_groups": {"group_0": {"weights": {"num_bits": bits}}}, **more}


def ct_groups(**groups):
    """Groups of settings by their target, which a name cannot be here where it begins with re_."""
    return {"quant_method": "compressed-tensors", "config_groups": {
        t: {"targets": [t.replace("re_", "re:^")], "weights": w} for t, w in groups.items()}}


def ct_weights(**words):
    return {"quant_method": "compressed-tensors", "config_groups": {"group_0": {"targets": ["Linear"], "weights": {"num_bits": 4, **words}}}}


def packed_stack(m):
    q, s = m.codes(4, (3, 32, 64)), m.halves(3, 32, 2)
    return {"x.weight_packed": ("I32", dense(q, 4)), "x.weight_scale": ("BF16", s), "x.weight_shape": ("I64", np.array([3, 32, 64]))}, \
        (q - 8).astype(F) * wide(number("BF16", s), 64)


def fp8_runs(m):
    """A scale for 128 columns of each row, the last ones fewer, where 96 and 96 would fit, too."""
    q, s = m.fp8(), m.scales(m.shape[0], 2)
    return {"x.weight": ("F8_E4M3", q), "x.weight_scale_inv": ("F32", s)}, E4M3[q] * np.repeat(s, 128, 1)[:, :m.shape[1]]


def fp8_rows(*shape):
    """A scale a row, or for each matrix of a stack, in a tensor of this shape."""
    def make(m):
        o, i = m.shape
        q, s = m.fp8(*(((3,) if shape[0] == 3 else ()) + (o, i))), m.scales(*shape)
        return {"x.weight": ("F8_E4M3", q), "x.weight_scale": ("F32", s)}, E4M3[q] * s.reshape(*q.shape[:-2], -1, 1)
    return make


def comfy_awq(m, g=64):
    o, i = m.shape
    q, s, z = m.codes(4), m.halves(i // g, o), m.halves(i // g, o)
    return {"x.weight": ("I8", pair(q).view(np.int8)), "x.weight_scale": ("BF16", s), "x.weight_zeros": ("BF16", z),
            "x.comfy_quant": text('{"format": "awq_w4a16", "group_size": 64}')}, \
        (q - 8).astype(F) * np.repeat(number("BF16", s), g, 0).T + np.repeat(number("BF16", z), g, 0).T


def torchao4(m, g=64):
    o, i = m.shape
    q, s, z = m.codes(4), m.halves(i // g, o), m.halves(i // g, o)
    return {"x._weight_qdata": ("U8", pair(q)), "x._weight_scale": ("BF16", s), "x._weight_zero_point": ("BF16", z)}, \
        np.where(q > 7, q - 16, q).astype(F) * np.repeat(number("BF16", s), g, 0).T + np.repeat(number("BF16", z), g, 0).T


def comfy_bare(m):
    q, s = m.fp8(), F(.5)
    note = text('{"format": "float8_e4m3fn"}')
    return {"x.weight": ("F8_E4M3", q), "x.comfy_quant": note, "y.weight": ("F8_E4M3", q), "y.weight_scale": ("F32", s), "y.comfy_quant": note}, \
        {"x.weight": E4M3[q], "y.weight": E4M3[q] * s}


def mlx(bits, g, bias=".biases"):
    def make(m):
        o, i = m.shape
        q, s, b = m.codes(bits), m.halves(o, i // g), m.halves(o, i // g)
        return {"x.weight": ("U32", dense(q, bits, "<u4")), "x.scales": ("BF16", s), "x" + bias: ("BF16", b)}, \
            q.astype(F) * wide(number("BF16", s), i) + wide(number("BF16", b), i)
    return make


def fp8(scale, shape, kind="F32", more=(), codes="x.weight"):
    def make(m):
        o, i = m.shape
        q = m.fp8()
        s = {"F32": m.scales, "BF16": m.halves}.get(kind, m.exponents)(*shape)
        full = number("F8_E8M0" if kind == "U8" else kind, s)
        full = full.reshape(full.shape[0] if full.ndim > 1 or full.size == o else 1, -1)
        rows = 128 if -(-o // 128) == full.shape[0] and full.shape[0] > 1 else -(-o // full.shape[0])
        full = np.repeat(full, rows, 0)[:o]
        cols = 128 if -(-i // 128) == full.shape[1] and full.shape[1] > 1 else -(-i // full.shape[1])
        return {codes: ("F8_E4M3", q), scale: (kind, s), **dict(more)}, E4M3[q] * np.repeat(full, cols, 1)[:, :i]
    return make


def pair(c, high=False):
    return (c[..., 0::2] << 4 | c[..., 1::2] if high else c[..., 0::2] | c[..., 1::2] << 4).astype(np.uint8)


def fp4(codes, scales, stored="U8", kind="U8"):
    def make(m):
        q, e = m.codes(4), m.exponents(m.shape[0], m.shape[1] // 32)
        b = pair(q)
        b = b.view("<u4") if stored == "U32" else b.view(np.int8) if stored == "I8" else b
        return {codes: (stored, b), scales: (kind, e)}, E2M1[q] * wide(number("F8_E8M0", e), m.shape[1])
    return make


def tiles(a):
    r, c = -(-a.shape[0] // 128) * 128, -(-a.shape[1] // 4) * 4
    out = np.zeros(r * c, a.dtype)
    for i in range(a.shape[0]):
        for k in range(a.shape[1]):
            out[(i // 128 * (c // 4) + k // 4) * 512 + i % 32 * 16 + i % 128 // 32 * 4 + k % 4] = a[i, k]
    return out.reshape(r, c)


def text(s):
    return ("U8", np.frombuffer(s.encode(), np.uint8))


def nvfp4(style):
    def make(m):
        o, i = m.shape
        q, s, g = m.codes(4), m.r.integers(1, 126, (o, i // 16)).astype(np.uint8), F(.0123)
        p = half(m.r.uniform(.5, 2, i).astype(F))
        if style == "ct":
            return {"x.weight_packed": ("U8", pair(q)), "x.weight_scale": ("F8_E4M3", s), "x.weight_global_scale": ("F32", np.array([g])),
                    "x.input_global_scale": ("F32", np.array([F(3)]))}, E2M1[q] * wide(E4M3[s] / g, i)
        if style == "mlx":
            return {"x.weight": ("U32", pair(q).view("<u4")), "x.scales": ("U8", s), "x.global_scale": ("F32", np.array([g]))}, \
                E2M1[q] * wide(E4M3[s] * (g / F(2688)), i)
        if style == "comfy":
            return {"x.weight": ("U8", pair(q, True)), "x.weight_scale": ("F8_E4M3", tiles(s)), "x.weight_scale_2": ("F32", g),
                    "x.comfy_quant": text('{"format": "nvfp4"}')}, E2M1[q] * wide(E4M3[s] * g, i)
        more = {"x.pre_quant_scale": ("BF16", p)} if style == "awq" else {}
        d = E2M1[q] * wide(E4M3[s] * g, i)
        return {"x.weight": ("U8", pair(q)), "x.weight_scale": ("F8_E4M3", s), "x.weight_scale_2": ("F32", g), **more}, \
            d * number("BF16", p) if more else d
    return make


def mxfp6(m):
    q, e = m.codes(6), m.exponents(m.shape[0], m.shape[1] // 32)
    return {"x.weight_packed": ("U8", dense(q, 6, "u1")), "x.weight_scale": ("U8", e)}, E2M3[q] * wide(number("F8_E8M0", e), m.shape[1])


def comfy_mxfp8(m):
    q, e = m.fp8(), m.exponents(m.shape[0], m.shape[1] // 32)
    return {"x.weight": ("F8_E4M3", q), "x.weight_scale": ("U8", tiles(e)), "x.comfy_quant": text('{"format": "mxfp8"}')}, \
        E4M3[q] * wide(number("F8_E8M0", e), m.shape[1])


def mlx_fp8(m):
    q, e = m.fp8(), m.exponents(m.shape[0], m.shape[1] // 32)
    return {"x.weight": ("U32", q.view("<u4")), "x.scales": ("U8", e)}, E4M3[q] * wide(number("F8_E8M0", e), m.shape[1])


def int8(codes="x.weight", scale="x.weight_scale", zero=None, groups=1):
    def make(m):
        o, i = m.shape
        q, s, z = (m.codes(8) - 128).astype(np.int8), m.halves(o, groups), (m.codes(8, (o, groups)) - 128).astype(np.int8)
        t = {codes: ("I8", q), scale: ("BF16", s), **({zero: ("I8", z)} if zero else {})}
        return t, (q.astype(F) - (wide(z, i).astype(F) if zero else 0)) * wide(number("BF16", s), i)
    return make


def bnb4(nested):
    def make(m):
        o, i = m.shape
        n, table = o * i, np.sort(m.r.uniform(-1, 1, 16)).astype(F)
        q = m.codes(4, (n,))
        state = {"quant_type": "nf4", "blocksize": 64, "dtype": "bfloat16", "shape": [o, i]}
        t = {"x.weight": ("U8", pair(q, True)[:, None]), "x.weight.quant_map": ("F32", table)}
        a = m.scales(-(-n // 64))
        if nested:
            c, map2, outer = m.codes(8, a.shape), m.scales(256), m.scales(-(-len(a) // 256))
            a = map2[c] * np.repeat(outer, 256)[:len(a)] + F(.25)
            t |= {"x.weight.absmax": ("U8", c), "x.weight.nested_absmax": ("F32", outer), "x.weight.nested_quant_map": ("F32", map2)}
            state |= {"nested_blocksize": 256, "nested_offset": .25}
        else:
            t["x.weight.absmax"] = ("F32", a)
        t["x.weight.quant_state.bitsandbytes__nf4"] = text(json.dumps(state))
        return t, (table[q] * np.repeat(a, 64)[:n]).reshape(o, i)
    return make


def bnb8(m):
    q, s = (m.codes(8) - 128).astype(np.int8), m.scales(m.shape[0])
    return {"x.weight": ("I8", q), "x.SCB": ("F32", s), "x.weight_format": ("U8", np.uint8(0))}, q.astype(F) * s[:, None] * F(7.874015718698502e-3)


def hqq(bits, g, axis, room=None, halves=False):
    """`room`: bits that a code has in its word, where packing says it; `halves`: bytes under the name of another type."""
    def make(m):
        n, width = m.shape[0] * m.shape[1], room or bits
        shape = m.shape if not g else (n // g, g) if axis else (g, n // g)
        one = (shape[0], 1) if axis else (1, shape[1])
        q, s, z = m.codes(bits, shape), m.halves(*one), m.halves(*one)
        per = {8: 1, 4: 2, 3: 10, 2: 4, 1: 8}[width]
        p = np.pad(q, ((0, -len(q) % per), (0, 0))).reshape(per, -1, shape[1])
        store = sum(p[k].astype(np.uint32) << width * (per - 1 - k) for k in range(per))
        codes = ("BF16", store.astype(np.uint8).view(np.uint16)) if halves else ("U8", store)
        t = {"x.W_q": ("I32", store.view(np.int32)) if width == 3 else codes, "x.scale": ("BF16", s), "x.zero": ("BF16", z),
             "x.shape": ("I64", np.array(m.shape)), "x.nbits": ("I32", np.int32(bits)), "x.axis": ("I32", np.int32(axis)),
             **({"x.group_size": ("I32", np.int32(g))} if g else {}), **({"x.packing": text(f"{room}bit_u8")} if room else {})}
        return t, ((q.astype(F) - number("BF16", z)) * number("BF16", s)).reshape(m.shape)
    return make


def torchao_tiles(kind, shape=None):
    """Scales in cuBLAS's tiles, which only the metadata say: of whole tiles there are as many as in rows."""
    def make(m):
        o, i = shape or m.shape
        q, e, f, factor = m.codes(4, (o, i)), m.exponents(o, i // 32), m.fp8(o, i), F(.0123)
        s = m.r.integers(1, 126, (o, i // 16)).astype(np.uint8)
        name, codes, scales, w = {
            "nvfp4": ("NVFP4Tensor", ("U8", pair(q)), ("F8_E4M3", tiles(s).reshape(-(-o // 128) * 32, -1)), E2M1[q] * wide(E4M3[s] * factor, i)),
            "mxfp4": ("MXTensor", ("U8", pair(q)), ("F8_E8M0", tiles(e).reshape(-(-o // 128) * 32, -1)), E2M1[q] * wide(number("F8_E8M0", e), i)),
            "mxfp8": ("MXTensor", ("F8_E4M3", f), ("F8_E8M0", tiles(e).reshape(-(-o // 128) * 32, -1)), E4M3[f] * wide(number("F8_E8M0", e), i))}[kind]
        factors = {"x._weight_per_tensor_scale": ("F32", factor)} if kind == "nvfp4" else {}
        return {"x._weight_qdata": codes, "x._weight_scale": scales, **factors,
                "x.weight": ("metadata", {"_type": name, "_data": {"block_size": 16, "is_swizzled_scales": True}}),
                "tensor_names": ("metadata", ["x.weight"])}, w
    return make


def comfy_listed(file, key, form):
    """Tiles, which only the metadata say, under a name that begins otherwise."""
    def make(m):
        m.shape = 128, 128
        t, w = comfy_mxfp8(m) if form == "mxfp8" else nvfp4("comfy")(m)
        del t["x.comfy_quant"]
        return {**{file + n: part for n, part in t.items()}, "_quantization_metadata": ("metadata", {"layers": {key + "x": {"format": form}, "y.x": "float8_e4m3fn"}})}, \
            {file + "x.weight": w}
    return make


def fp8_inverse(blocks):
    """GPTQModel's, which divides."""
    def make(m):
        (o, i), q, s = m.shape, m.fp8(), m.scales(*blocks) * 1000
        each = np.repeat(np.repeat(s.reshape(s.shape[0], -1), o // s.shape[0], 0), i // (s.shape[1] if s.ndim > 1 else 1), 1)
        return {"x.weight": ("F8_E4M3", q), "x.weight_scale_inv": ("F32", s)}, E4M3[q] / each
    return make


def quarters(m):
    q, e = m.codes(4), m.exponents(m.shape[0], m.shape[1] // 32)
    v = np.array([(1 - 2 * (c >> 3)) * (c & 7) / 4 for c in range(16)], F)
    return {"x.weight_packed": ("U8", pair(q)), "x.weight_scale": ("U8", e)}, v[q] * wide(number("F8_E8M0", e), m.shape[1])


def bnb4_stored(kind):
    """bnb_4bit_quant_storage: the bytes of the codes under the name of another type."""
    def make(m):
        t, w = bnb4(False)(m)
        raw = t["x.weight"][1].astype(np.uint8).reshape(-1)
        return {**t, "x.weight": (kind, raw.view(BYTES[kind])[:, None])}, w
    return make


def gptq_uneven(g):
    """A last group of fewer columns."""
    def make(m):
        o, i = m.shape
        n, index = -(-i // g), np.arange(i) // g
        q, z, s = m.codes(4), m.codes(4, (n, o)), m.scales(n, o).astype(np.float16)
        return {"x.qweight": ("I32", dense(q, 4).T), "x.qzeros": ("I32", dense(z, 4)), "x.scales": ("F16", s)}, \
            s.astype(F)[index].T * (q - z[index].T).astype(F)
    return make


def fp8_columns(*shape):
    """Llama 4's experts by fbgemm: matrices are transposed, and each column has a factor."""
    def make(m):
        q, s = m.fp8(3, 64, shape[-1] if shape[-1] > 1 else shape[-2]), m.scales(*shape)
        return {"x.gate_up_proj": ("F8_E4M3", q), "x.gate_up_proj_scale": ("F32", s)}, {"x.gate_up_proj": E4M3[q] * s.reshape(3, 1, -1)}
    return make


def int8_blocks(m):
    q, s = (m.codes(8) - 128).astype(np.int8), m.scales(2, 3)
    return {"x.weight": ("I8", q), "x.weight_scale_inv": ("F32", s)}, q.astype(F) * np.repeat(np.repeat(s, 32, 0), 64, 1)


def as_type(make, name, kind, offset=0):
    """A part under another type."""
    def changed(m):
        t, w = make(m)
        return {**t, name: (kind, np.asarray(t[name][1]).astype(int) + offset)}, w
    return changed


def few_rows(make, rows):
    """So few that zero points of other numbers of bits take as many words, or do not fill them."""
    def with_shape(m):
        m.shape = rows, 64
        return make(m)
    return with_shape


def unordered(m):
    """All columns are said to be of group 0."""
    t, w = gptq()(m)
    return {**t, "x.g_idx": ("I32", np.zeros(m.shape[1]))}, w


def byte_zeros(m):
    """Zero points of compressed-tensors before they were packed."""
    t, w = packed(4, 3, True)(m)
    z = np.asarray(t["x.weight_zero_point"][1]).view(np.uint32)
    z = (z[:, None] >> 4 * np.arange(8, dtype=np.uint32)[:, None] & 15).reshape(m.shape[0], 3)
    return {**t, "x.weight_zero_point": ("I8", z.astype(np.int8) - 8)}, w


def uneven(kind):
    """Groups of 36 columns, of which the last has fewer, where equal ones would be of 32."""
    def make(m):
        (o, i), bits = m.shape, 4 if kind == "I32" else 8
        q, s, z = m.fp8() if kind == "F8_E4M3" else m.codes(bits), m.scales(o, 6), m.codes(bits, (o, 6))
        each, middle = np.repeat(s, 36, 1)[:, :i], 1 << bits - 1
        if kind == "I32":
            return {"x.weight_packed": ("I32", dense(q, 4)), "x.weight_scale": ("F32", s), "x.weight_shape": ("I64", np.array([o, i])),
                    "x.weight_zero_point": ("I32", dense(z.T, 4).T)}, (q - np.repeat(z, 36, 1)[:, :i]).astype(F) * each
        return {"x.weight": (kind, q - middle if kind == "I8" else q), "x.weight_scale": ("F32", s)}, (E4M3[q] if kind == "F8_E4M3" else (q - middle).astype(F)) * each
    return make


def ct_blocks(rows, cols):
    """Blocks that do not divide the matrix, so that others take as many scales."""
    def make(m):
        o, i = m.shape
        q, s = m.fp8(), m.scales(-(-o // rows), -(-i // cols))
        return {"x.weight": ("F8_E4M3", q), "x.weight_scale": ("F32", s)}, E4M3[q] * np.repeat(np.repeat(s, rows, 0)[:o], cols, 1)[:, :i]
    return make


def one_scale(m):
    q, s = m.codes(4), m.scales(1)
    return {"x.weight_packed": ("I32", dense(q, 4)), "x.weight_scale": ("F32", s), "x.weight_shape": ("I64", np.array(m.shape))}, (q - 8).astype(F) * s


def first_scales(kind, shape, *scales, name="x.weight"):
    """A scale for all of more dimensions than two, or one for each part of the first."""
    def make(m):
        q, s = m.fp8(*shape) if kind == "F8_E4M3" else m.codes(8, shape) - 128, m.scales(*scales)
        more = {} if name == "x.weight" else {name + "_input_scale": ("F32", F(2))}
        return {name: (kind, q), name + ("_scale" if name == "x.weight" else "_weight_scale"): ("F32", s), **more}, \
            {name: (E4M3[q] if kind == "F8_E4M3" else q.astype(F)) * s.reshape(-1, *len(shape[1:]) * [1])}
    return make


def nvfp4_experts(turned, *factors):
    """ModelOpt's of Llama 4, whose columns are rows: of the codes, two a byte, and of the scales."""
    def make(m):
        e, o, i = 3, 32, 64
        q, s, f = m.codes(4, (e, o, i)), m.r.integers(1, 126, (e, o, i // 16)).astype(np.uint8), m.scales(*factors)
        put = (lambda a: a.transpose(0, 2, 1)) if turned else (lambda a: a)
        return {"x.up_proj": ("U8", put(pair(q))), "x.up_proj_weight_scale": ("F8_E4M3", put(s)), "x.up_proj_weight_scale_2": ("F32", f),
                "x.up_proj_input_scale": ("F32", F(2))}, {"x.up_proj": put(E2M1[q] * wide(E4M3[s] * f.reshape(-1, 1, 1), i))}
    return make


def without(make, *names):
    return lambda m: ({n: t for n, t in make(m)[0].items() if n not in names},)


def beside(make, name, kind, a):
    return lambda m: ({**make(m)[0], name: (kind, a)},)


def quanto4(m):
    o, i = m.shape
    q, s, h = m.codes(4, (o * i // 96, 96)), m.halves(o * i // 96, 1), m.halves(o * i // 96, 1)
    p = q.reshape(2, -1, 96)
    return {"x.q_proj.weight._data._data": ("U8", p[0] | p[1] << 4), "x.q_proj.weight._scale": ("BF16", s), "x.q_proj.weight._shift": ("BF16", h)}, \
        (q.astype(F) * number("BF16", s) - number("BF16", h)).reshape(o, i)


def gemma(bits):
    def make(m):
        q, s = m.codes(bits), m.scales(m.shape[0], 1)
        return {"x.weight": ("U8", dense(q, bits, "u1")), "x.weight_scale": ("F32", s)}, (q - (1 << bits - 1)).astype(F) * s
    return make


def bitnet(multiplies):
    def make(m):
        q, s = m.r.integers(0, 3, m.shape), half(np.array([.37], F))
        p = q.reshape(4, -1, m.shape[1])
        v, w = (q - 1).astype(F), number("BF16", s)
        return {"x.weight": ("U8", p[0] | p[1] << 2 | p[2] << 4 | p[3] << 6), "x.weight_scale": ("BF16", s)}, v * w if multiplies else v / w
    return make


def int4_awq(m):
    o, i = m.shape
    q, s, p = m.codes(4), m.scales(o, i // 64), half(m.r.uniform(.5, 2, i).astype(F))
    return {"x.weight": ("U8", q[0::2] | q[1::2] << 4), "x.weight_scale": ("F32", s), "x.pre_quant_scale": ("BF16", p)}, \
        np.where(q > 7, q - 16, q).astype(F) * wide(s, i) * number("BF16", p)


def quark4(middle=0, order=range(8), g=64):
    """Codes, and zero points, from `-middle` on: in two's complement."""
    def make(m):
        (o, i), at = m.shape, list(order)
        q, z, s = m.codes(4) - middle, m.codes(4, (i // g, o)) - middle, m.halves(i // g, o)
        words = [dense((a & 15).reshape(len(a), -1, 8)[..., at].reshape(a.shape), 4) for a in (q.T, z)]
        return {"x.weight": ("I32", words[0]), "x.weight_zero_point": ("I32", words[1]), "x.weight_scale": ("BF16", s)}, \
            (q - np.repeat(z, g, 0).T).astype(F) * np.repeat(number("BF16", s), g, 0).T
    return make


def quark(type, **more):
    return {"quant_method": "quark", "global_quant_config": {"weight": {"dtype": type, "qscheme": "per_group", "group_size": 64}}, **more}


def experts(m):
    e, rows, cols = 2, 48, 64
    q, s = m.codes(4, (e, rows, cols)), m.exponents(e, rows, cols // 32)
    return {"x.gate_up_proj_blocks": ("U8", pair(q).reshape(e, rows, cols // 32, 16)), "x.gate_up_proj_scales": ("U8", s)}, \
        (E2M1[q] * wide(number("F8_E8M0", s), cols)).transpose(0, 2, 1)


GPTQ, AUTO = {"quant_method": "gptq", "sym": False}, {"quant_method": "auto-round", "sym": False}
SCHEMES = {
    "gptq": (dict(GPTQ, bits=4, group_size=64), gptq()), "gptq order": (dict(GPTQ, bits=8), gptq(8, 32, True)),
    "gptq 3 bits": (dict(GPTQ, bits=3), gptq(3)), "gptq v2": (dict(GPTQ, checkpoint_format="gptq_v2"), gptq(2, 32, v2=True)),
    "gptq words": (GPTQ, gptq(4, 96, word="<i2")), "gptq planar 3": (dict(GPTQ, checkpoint_format="gptq_p"), gptq(3, 32, v2=True, planes=True)),
    "gptq planar 7": (dict(GPTQ, checkpoint_format="gptq_p"), gptq(7, 32, v2=True, planes=True)),
    "gptq v2 by format": (dict(GPTQ, format="gptq_v2"), gptq(2, 32, v2=True)), "gptq planar by format": (dict(GPTQ, format="gptq_p"), gptq(3, 32, v2=True, planes=True)),
    "gptq v2 beside": (dict(GPTQ, **{"quantize_config.json": {"checkpoint_format": "gptq_v2"}}), gptq(2, 32, v2=True)),
    **{f"gptq v2 in a part {n}": (part, gptq(2, 32, v2=True)) for n, part in enumerate((
        {"llm_config": {"quantization_config": dict(GPTQ, format="gptq_v2")}}, {"thinker_config": {"text_config": {"quantization_config": dict(GPTQ, format="gptq_v2")}}}))},
    **{f"gptq of {n} rows, {b} bits": (dict(GPTQ, bits=b), few_rows(gptq(b, 32), n)) for n in (1, 4, 20) for b in (3, 4)},
    "gptq order in 64 bits": (GPTQ, as_type(gptq(4, 64, True), "x.g_idx", "I64")), "gptq order of zeros": (dict(GPTQ, desc_act=False), unordered),
    **{f"int8 zero {k}": (None, as_type(int8(zero="x.weight_zero_point"), "x.weight_zero_point", k)) for k in ("I16", "I32", "I64")},
    "compressed-tensors zeros in bytes": (ct(4), byte_zeros), "compressed-tensors one scale": (ct(4), one_scale),
    **{f"compressed-tensors uneven {k}": (ct_weights(num_bits=b, group_size=36, symmetric=k != "I32"), uneven(k)) for k, b in (("I32", 4), ("I8", 8), ("F8_E4M3", 8))},
    **{f"{k} by the first dimension {n}": (None, first_scales(k, (8, 4, 3, 3), *n)) for k in ("I8", "F8_E4M3") for n in ((), (1,), (8,), (8, 1, 1, 1))},
    **{f"fp8 experts {n}": ({"quant_method": "modelopt"}, first_scales("F8_E4M3", (3, 32, 64), *n, name="x.up_proj")) for n in ((), (3,))},
    **{f"nvfp4 experts {t} {n}": ({"quant_method": "modelopt"}, nvfp4_experts(t, *n)) for t in (False, True) for n in ((), (3,))},
    "gptq not rotated": (dict(GPTQ, rotation=None), gptq()),
    "auto-round 0.4": (dict(AUTO, quant_method="intel/auto-round", backend="auto_round:exllamav2"), gptq(4, 64, v2=True)),
    "auto-round 0.4 gptq": (dict(AUTO, backend="auto_round:gptq:exllamav2"), gptq(4, 64)), "auto-round auto": (dict(AUTO, packing_format="auto"), gptq(4, 64)),
    "auto-round uneven": (dict(AUTO, packing_format="auto_round", group_size=128, extra_config={"y": {"group_size": 32}}), gptq_uneven(128)),
    "auto-round mxint4": (dict(AUTO, packing_format="auto_round", data_type="mx_int4"), quarters), "auto-round mxfp4": (dict(AUTO, data_type="mx_fp4"), fp4("x.weight_packed", "x.weight_scale")),
    **{f"torchao {n} {k}": ({"quant_method": "torchao"}, torchao_tiles(k, shape)) for n, shape in (("tiles", (128, 256)), ("padded", None)) for k in ("nvfp4", "mxfp4", "mxfp8")},
    **{f"comfyui {f} {n}": (None, comfy_listed(*n, f)) for f in ("mxfp8", "nvfp4") for n in (
        ("", "model.diffusion_model."), ("model.diffusion_model.", ""), ("model.diffusion_model.", "diffusion_model."), ("net.", ""), ("net.", "net."))},
    **{f"gptqmodel fp8 {len(b)}": ({"quant_method": "fp8", "weight_scale_semantics": "inverse", "weight_block_size": [32, 96]}, fp8_inverse(b)) for b in ((64,), (2, 2))},
    **{f"fp8 columns {n}": ({"quant_method": "fbgemm_fp8"}, fp8_columns(*n)) for n in ((3, 1, 96), (3, 96, 1), (3, 1, 64), (3, 64, 1))}, "fp8 columns": (None, fp8_columns(3, 1, 96)),
    "int8 blocks": ({"quant_method": "blockwise_int8", "weight_block_size": [32, 64]}, int8_blocks),
    **{f"bitsandbytes in {k}": (None, bnb4_stored(k)) for k in ("BF16", "F16", "F32")},
    **{f"hqq {b} in bytes": (None, hqq(b, 64, 1, 8)) for b in (5, 6)}, "hqq 1.58": (None, hqq(1, 64, 1, 2)), "hqq in halves": (None, hqq(4, 64, 1, 4, True)),
    **{f"hqq without groups, axis {a}": (None, hqq(4, None, a)) for a in (0, 1)},
    "auto-round 5": ({"quant_method": "auto-round", "packing_format": "auto_round"}, gptq(5, 32, v2=True)),
    "awq": ({"quant_method": "awq", "bits": 4, "group_size": 64, "version": "gemm"}, awq),
    "awq tiles": ({"quant_method": "awq", "w_bit": 4, "q_group_size": 64, "version": "gemv_fast"}, awq_tiles),
    "awq gemv": ({"quant_method": "awq", "bits": 4, "group_size": -1, "version": "gemv"}, awq_gemv),
    **{f"compressed-tensors {b}": (None, packed(b, 3)) for b in (2, 3, 4, 5, 6, 7, 8)}, "compressed-tensors zero": (None, packed(4, 6, True)),
    "compressed-tensors zero 3": (None, packed(3, 2, True)), "compressed-tensors channel": (None, packed(4, 1)),
    **{f"compressed-tensors old {b}": ({"quant_method": "compressed-tensors", "version": "0.13.0", "config_groups": {
        "group_0": {"weights": {"num_bits": b}}}}, loose(b)) for b in (3, 5, 6, 7)},
    **{f"compressed-tensors narrow {v}": (ct(3, version=v), narrow(make, 100)) for v, make in
       (("0.9", loose(3)), ("0.19.1", loose(3)), ("0.20.0", packed(3, 1)), ("1.0", packed(3, 1)))},
    "compressed-tensors narrow by its bits": (ct(3), narrow(packed(3, 1), 100)),
    **{f"compressed-tensors by {t}": (ct_groups(**{t: {"num_bits": 4}, "y": {"num_bits": 8}, "Linear": {"num_bits": 8, "symmetric": False, "actorder": "group"}}), packed(4, 3)) for t in ("x", "re_x")},
    "compressed-tensors 3 bits by name": (ct_groups(x={"num_bits": 3}, y={"num_bits": 4}), narrow(packed(3, 1), 4)),
    **{f"compressed-tensors blocks by {t}": (ct_groups(y={"num_bits": 8, "block_structure": [48, 100]}, **{t: {"num_bits": 8, "block_structure": [32, 128]}}), ct_blocks(32, 128)) for t in ("x", "re_x", "re_x$")},
    "compressed-tensors one word": (ct(3), narrow(loose(3), 10)), "compressed-tensors stack": (None, packed_stack),
    "compressed-tensors preset": ({"quant_method": "compressed-tensors", "config_groups": {
        "W4A16": ["re:.*q_proj"], "group_1": {"weights": {"num_bits": 8}}}}, packed(4, 3)),
    "fp8 runs": ({"quant_method": "fp8", "weight_block_size": [1, 128]}, fp8_runs), "comfyui without scale": (None, comfy_bare),
    **{f"fp8 rows {n}": ({"quant_method": "fp8", "weight_block_size": [128, 128]}, fp8_rows(*n)) for n in ((64, 1), (64,), (1, 64), (3, 64, 1), (3, 1, 64), (3, 64), (3, 1), (3,))},
    "comfyui awq": (None, comfy_awq), "torchao int4": (None, torchao4),
    "mlx text model": ({"text_config": {"quantization": {"group_size": 64, "bits": 4}}}, mlx(4, 64)),
    "int8": (None, int8()), "int8 zero": (None, int8(zero="x.weight_zero_point")),
    "torchao": (None, int8("x._weight_qdata", "x._weight_scale", "x._weight_zero_point", 3)),
    "torchao fp8": (None, fp8("x._weight_scale", (64, 1), codes="x._weight_qdata")), "quanto": (None, int8("x.weight._data", "x.weight._scale")),
    "quanto fp8": (None, fp8("x.weight._scale", (64, 1), "BF16", codes="x.weight._data")), "quanto 4": ({"quant_method": "quanto"}, quanto4),
    "fp8 blocks": (None, fp8("x.weight_scale_inv", (1, 2))), "fp8 exponents": (None, fp8("x.weight_scale_inv", (1, 2), "F8_E8M0")),
    "fp8 bytes": (None, fp8("x.weight_scale_inv", (64, 6), "U8")), "fp8 row": (None, fp8("x.weight_scale", (64,))),
    "fp8 4-D": (None, fp8("x.weight_scale", (1, 1, 2, 1))), "fp8 one": (None, fp8("x.qscale_weight", (), "F32", {"x.qscale_act": ("F32", F(2))})),
    "comfyui": (None, fp8("x.scale_weight", (1,), "F32", {"x.scale_input": ("F32", F(1)), "scaled_fp8": ("F8_E4M3", np.zeros(2))})),
    "deepseek 4": (None, fp8("x.scale", (1, 2), "F8_E8M0")), "deepseek 4 experts": (None, fp4("x.weight", "x.scale", "I8", "F8_E8M0")),
    "mxfp4": (None, fp4("x.weight_packed", "x.weight_scale")), "quark mxfp4": (None, fp4("x.weight", "x.weight_scale")),
    "mxfp6": (None, mxfp6), "comfyui mxfp8": (None, comfy_mxfp8), "gpt-oss": ({"quant_method": "mxfp4"}, experts),
    "nvfp4": (None, nvfp4("modelopt")), "nvfp4 awq": (None, nvfp4("awq")), "nvfp4 ct": (None, nvfp4("ct")), "nvfp4 comfyui": (None, nvfp4("comfy")),
    "mlx nvfp4": (None, nvfp4("mlx")), "mlx mxfp4": (None, fp4("x.weight", "x.scales", "U32")), "mlx mxfp8": (None, mlx_fp8),
    **{f"mlx {b}": ({"bits": b, "group_size": 64}, mlx(b, 64)) for b in (2, 3, 4, 5, 6, 8)}, "metal": ({"quant_method": "metal", "group_size": 32}, mlx(4, 32, ".qbiases")),
    "bitsandbytes": (None, bnb4(False)), "bitsandbytes nested": (None, bnb4(True)), "bitsandbytes 8": (None, bnb8),
    **{f"hqq {b} axis {a}": (None, hqq(b, 64, a)) for b in (1, 2, 3, 4, 8) for a in (1, 0)}, "quark int4": (None, quark4()),
    "quark signed": (quark("int4", export={"pack_method": "reorder"}), quark4(8, (0, 2, 4, 6, 1, 3, 5, 7))), "quark signed order": (quark("int4"), quark4(8)),
    "gemma 2": ({"quant_method": "gemma", "num_bits": 2}, gemma(2)), "gemma 4": ({"quant_method": "gemma", "module_quant_configs": {"^x$": {"num_bits": 4}}}, gemma(4)),
    "bitnet": ({"quant_method": "bitnet"}, bitnet(False)), "bitnet auto": ({"quant_method": "bitnet", "linear_class": "autobitlinear"}, bitnet(True)),
    "int4-awq": (None, int4_awq),
}
REFUSED = {
    "quantization_config.version": (ct(3), narrow(loose(3), 100)), "num_bits": (None, narrow(packed(4, 1), 4)),
    "more than one number of bits": ({"quant_method": "compressed-tensors", "config_groups": {
        str(b): {"weights": {"num_bits": b}} for b in (4, 8)}}, narrow(packed(8, 1), 4)),
    "blocks of more than one size": (ct_groups(y={"num_bits": 8, "block_structure": [48, 100]}, z={"num_bits": 8, "block_structure": [32, 128]}), ct_blocks(32, 128)),
    "quark: some layers": (quark("uint4", layer_quant_config={"*.x": {"weight": {"dtype": "int4"}}}), quark4()),
    "before 0.20": (ct(3, version="new"), narrow(loose(3), 100)), "0.20 or later": (None, narrow(loose(3), 100)),
    "exl2": (None, {"x.q_weight": ("I32", np.zeros((4, 4))), "x.q_scale": ("I32", np.zeros((4, 4)))}),
    "exl3": (None, {"x.trellis": ("I16", np.zeros((4, 4, 8)))}), "aqlm": (None, {"x.codes": ("I8", np.zeros((4, 4, 1))), "x.codebooks": ("F16", np.ones((1, 4)))}),
    "quip": (None, {"x.Qidxs": ("I16", np.zeros((4, 4)))}), "eetq": (None, {"x.weight": ("I8", np.zeros((4, 4))), "x.weight_scales": ("F16", np.ones(4))}),
    "spqr": (None, {"x.dense_weights": ("I64", np.zeros(4))}), "qqq": (None, {"x.B": ("I32", np.zeros((4, 4))), "x.s_channel": ("F32", np.ones((1, 4)))}),
    "marlin-24": (None, {"x.weight_packed": ("I32", np.zeros((4, 4))), "x.scale_packed": ("F16", np.ones((1, 4))), "x.meta": ("I16", np.zeros((4, 4)))}),
    "fp_quant": (None, {"x.qweight": ("U8", np.zeros((4, 16))), "x.scales": ("U8", np.zeros((4, 1))), "x.forward_hadamard_matrix": ("F16", np.ones((4, 4)))}),
    "nunchaku": (None, {"x.qweight": ("I8", np.zeros((4, 4))), "x.wscales": ("F16", np.ones((1, 4)))}), "bitblas": ({"quant_method": "gptq", "format": "bitblas"}, gptq()),
    "paroquant": (None, {**gptq()(Maker("paroquant"))[0], "x.theta": ("F16", np.ones(4)), "x.pairs": ("I16", np.zeros(4)), "x.channel_scales": ("F16", np.ones(4))}),
    "marlin:": ({"quant_method": "gptq", "is_marlin_format": True}, gptq()), "fouroversix": ({"quant_algo": "FOUROVERSIX"}, gptq()),
    "sparse-24-bitmask": ({"quant_method": "compressed-tensors", "format": "Sparse-24-Bitmask"}, packed(4, 3)),
    "x.input_rotation: transform": (None, lambda m: ({**packed(4, 3)(m)[0], "x.input_rotation": ("F32", np.ones((4, 4)))},)),
    "x.hadamard_K: transform": (None, lambda m: ({**gptq()(m)[0], "x.hadamard_K": ("F32", np.ones((4, 4)))},)),
    "convrot: its": (None, {"x.weight": ("U8", np.zeros((4, 4))), "x.weight_scale": ("F32", np.ones(4)), "x.comfy_quant": text('{"format": "convrot_w4a4"}')}),
    "y.weight_scale_inv": ({"quant_method": "fp8", "weight_block_size": [32, 128]},
                           lambda m: ({"y.weight": ("F8_E4M3", m.fp8()), "y.weight_scale_inv": ("F32", m.scales(3, 2))},)),
    "vptq": ({"quant_method": "vptq"}, {"x.indices": ("I32", np.zeros((4, 4)))}), "marlin": ({"quant_method": "gptq", "checkpoint_format": "marlin"}, gptq()),
    "transform": ({"quant_method": "compressed-tensors", "transform_config": {"config_groups": {"a": {}}}}, packed(4, 3)),
    "transform: its": ({"quant_method": "compressed-tensors"}, lambda m: ({**packed(4, 3)(m)[0], "x.input_rotation": ("F32", np.ones((4, 4)))},)),
    "sparsity": ({"quant_method": "compressed-tensors", "sparsity_config": {"format": "sparse-24-bitmask"}}, packed(4, 3)),
    "convrot": (None, {"x.weight": ("I8", np.zeros((4, 4))), "x.weight_scale": ("F32", np.ones(4)), "x.comfy_quant": text('{"format": "int8_tensorwise", "convrot": true}')}),
    "x.weight_scale_9": (None, {"x.weight": ("I8", np.zeros((4, 4))), "x.weight_scale": ("F32", np.ones(4)), "x.weight_scale_9": ("F32", np.ones(4))}),
    "x.weight_scale": (None, {"x.weight": ("I8", np.zeros((4, 4))), "x.weight_scale": ("F32", np.ones(3))}),
}
# words that tare does not know, and settings that the tensors contradict
REFUSED.update({
    "checkpoint_format says another": (dict(GPTQ, format="gptq_v2", checkpoint_format="gptq"), gptq()), "'gptq_v9'": (dict(GPTQ, format="gptq_v9"), gptq()),
    "none of this module": (None, comfy_listed("net.", "model.", "nvfp4")), "convrot: its weights": (None, lambda m: (
        {**fp8("net.x.weight_scale", (), codes="net.x.weight")(m)[0], "_quantization_metadata": ("metadata", {"layers": {"x": {"format": "int8_tensorwise", "convrot": True}}})},)),
    "settings state none (bits)": (GPTQ, few_rows(gptq(4, 32), 4)), "which is lost": (dict(GPTQ, desc_act=True), unordered), "(rotation)": (dict(GPTQ, rotation="hadamard"), gptq()), "(spinquant_config)": (dict(AUTO, packing_format="auto_round", spinquant_config={"r1": True}), gptq()),
    "'auto_round:qbits'": (dict(AUTO, backend="auto_round:qbits"), gptq()), "(group_size)": (dict(AUTO, group_size=128, extra_config={"x": {"group_size": 96}}), gptq_uneven(96)),
    "others not": (dict(AUTO, data_type="mx_fp4", extra_config={"x": {"data_type": "mx_int4"}}), quarters),
    "quantization_config.format: tare does not know 'new'": (ct(4, format="new"), packed(4, 3)),
    **{f"quantization_config.{k}: tare does not know 'newer'": (ct_weights(**{k: "newer"}), packed(4, 3)) for k in ("type", "strategy", "actorder")},
    "(actorder)": (ct_weights(actorder="Group"), packed(4, 3)), "floats with zero points": (None, beside(fp8("x.weight_scale", (64, 1)), "x.weight_zero_point", "I8", np.ones((64, 1)))),
    "codes have zero points (symmetric)": (ct_groups(x={"num_bits": 4, "symmetric": False}, y={"num_bits": 4}), packed(4, 3)),
    "zero points (symmetric), and": (ct_groups(re_x={"num_bits": 4, "symmetric": False}, Linear={"num_bits": 4}), packed(4, 3)),
    "quantization_config.format: tare does not know 'nested'": ({"quant_method": "compressed-tensors", "quantization_config": {"format": "nested"}}, packed(4, 3)),
    "sparse weights are not decoded": ({"quant_method": "compressed-tensors", "quantization_config": {"format": "dense"}, "sparsity_config": {"format": "sparse-24-bitmask"}}, packed(4, 3)),
    "(symmetric)": (ct_weights(symmetric=False), fp8("x.weight_scale", (64, 1))),
    "quant_algo: tare does not know": ({"quant_method": "modelopt", "quant_algo": "NVFP4_NEW"}, nvfp4("modelopt")), "nvfp4_svd": ({"quant_algo": "NVFP4_SVD"}, nvfp4("modelopt")),
    "mode: tare does not know": ({"bits": 4, "group_size": 64, "x": {"mode": "new"}}, mlx(4, 64)), "dtype: tare does not know 'fp6_e3m2'": (
        {"quant_method": "quark", "global_quant_config": {"weight": {"dtype": "fp6_e3m2"}}}, mxfp6),
    "weight_scale_semantics": ({"quant_method": "fp8", "weight_scale_semantics": "log"}, fp8("x.weight_scale_inv", (64, 1))),
    "torchao: a Float8SparseTensor": ({"quant_method": "torchao"}, beside(fp8("x._weight_scale", (64, 1), codes="x._weight_qdata"), "x.weight", "metadata", {"_type": "Float8SparseTensor"})),
    "x.gate_up_proj_scale": (None, fp8_columns(3, 1, 64)), "qoq: its": ({"quant_method": "qoq"}, gptq()),
    "hqq: codes": (None, beside(hqq(4, 64, 1), "x.packing", "U8", np.frombuffer(b"5bit_64", np.uint8))),
    "x.weight_scale: named": ({"quant_method": "modelopt"}, {"x.weight": ("U8", np.zeros((64, 64))), "x.weight_scale": ("F32", F(1))}),
    "x.weight_global_scale": (None, lambda m: ({**nvfp4("ct")(m)[0], "x.weight_global_scale": ("F32", np.array([np.inf], F))},)),
    "x.pre_quant_scale": (None, lambda m: ({**nvfp4("awq")(m)[0], "x.pre_quant_scale": ("BF16", np.full(192, 0x7f80))},)),
    "x.weight.quant_map": (None, lambda m: ({**bnb4(False)(m)[0], "x.weight.quant_map": ("F32", np.full(16, np.nan, F))},)),
    "x.weight_scale_inv: named": (None, lambda m: ({"x.weight": ("F8_E4M3", m.fp8(200, 200)), "x.weight_scale_inv": ("F32", m.scales(3, 3))},)),
})
# codes whose scale is in no file
REFUSED.update((f'"{codes}": codes of a packed weight', (settings, without(make, scales))) for codes, scales, settings, make in (
    ("x.qweight", "x.scales", GPTQ, gptq()), ("x.weight_packed", "x.weight_scale", None, packed(4, 3)), ("x.W_q", "x.scale", None, hqq(4, 64, 1)),
    ("x._weight_qdata", "x._weight_scale", None, int8("x._weight_qdata", "x._weight_scale")), ("x.weight", "x.SCB", {"quant_method": "bitsandbytes"}, bnb8)))
REFUSED['"x.weight": codes'] = {"bits": 4, "group_size": 64}, without(without(mlx(4, 64), "x.biases"), "x.scales")
REFUSED['"x.qweight": codes'] = {"quant_method": "gguf", "bits": "q4_k_m"}, {"x.qweight": ("U8", np.zeros((64, 144)))}
# what is added to a weight, or changes its order
REFUSED.update((f"{name}: beside its codes", (GPTQ, beside(gptq(), name, kind, np.ones(192)))) for name, kind in (
    ("x.perm", "I32"), ("x.weight_outliers", "F16"), ("x.SU", "F16"), ("x.low_rank", "F16"), ("x.residual", "F32"), ("x.outlier_indices", "I32")))
# wherever the word stands
REFUSED.update((name, (None, {"m.0.x_proj.weight": ("F8_E4M3", np.zeros((4, 4))), name: ("F32", np.ones(1))}))
               for name in ("scale.m.0.x_proj", "m.0.scales.x_proj", "m.0.x_proj.weight.absmax", "m_0_x_proj_dequant_scale",
                            "weight_scales_of_m.0.x_proj", "m.scaling.0.x_proj.inv"))


PARTS = {"text_config", "llm_config", "thinker_config"}


def write(folder, settings, tensors):
    shutil.rmtree(folder, ignore_errors=True)
    os.makedirs(folder)
    with open(os.path.join(folder, "model.safetensors"), "wb") as f:
        f.write(safetensors(((n, k, list(np.shape(a)), np.ascontiguousarray(a).astype(BYTES[k]).tobytes()) for n, (k, a) in tensors.items() if k in BYTES),
                            {n: json.dumps(a) for n, (k, a) in tensors.items() if k not in BYTES}))
    settings = dict(settings or {})
    beside, is_whole = settings.pop("quantize_config.json", None), PARTS & set(settings)
    if beside:
        with open(os.path.join(folder, "quantize_config.json"), "w") as f:
            json.dump(beside, f)
    with open(os.path.join(folder, "config.json"), "w") as f:
        json.dump({"hidden_size": 192, "model_type": "x", "torch_dtype": "float16", **(settings if is_whole else {"quantization_config": settings} if settings else {})}, f)


def judge(tare, source, want, work):
    """What is wrong with a conversion; a list of texts."""
    wrong = []
    for kind in ("f32", "bf16"):
        out = os.path.join(work, "out")
        shutil.rmtree(out, ignore_errors=True)
        run = subprocess.run([tare, "convert", source, out, "--to", "hf", "--type", kind, "-q"], capture_output=True, text=True)
        if run.returncode:
            wrong.append(f"{kind}: exit {run.returncode}: {run.stderr.strip()}")
            continue
        got = read_safetensors(os.path.join(out, "model.safetensors"))[1]
        if set(got) != set(want):
            wrong.append(f"{kind}: tensors {sorted(set(got) ^ set(want))[:6]}")
        for name in set(want) & set(got):
            stored, shape, data = got[name]
            have, right = number(stored, np.frombuffer(data, BYTES[stored]).reshape(shape)), np.asarray(want[name], F)
            if kind == "bf16" and stored == "BF16":
                right = number("BF16", half(right))
            if have.shape != right.shape or not np.array_equal(have, right):
                wrong.append(f"{kind}: {name} {stored} {shape}: {np.sum(have != right) if have.shape == right.shape else 'shape'}")
        if os.path.exists(os.path.join(out, "config.json")):
            with open(os.path.join(out, "config.json")) as f:
                config = json.load(f)
            if {"quantization_config", "quantization"} & set(config) or config["torch_dtype"] != {"f32": "float32", "bf16": "bfloat16"}[kind]:
                wrong.append(f"{kind}: config.json {config}")
    told = json.loads(subprocess.run([tare, "info", "--json", source], capture_output=True, text=True).stdout)
    if told["models"][0]["parameter_count"] != sum(int(np.size(a)) for a in want.values()):
        wrong.append(f"info: {told['models'][0]['parameter_count']} weights")
    return wrong


def samples():
    """Those that are kept apart; none if they are not there."""
    folder = os.path.join(os.environ.get("TARE_TEST_DATA", "/nowhere"), "../cases/schemes")
    if not os.path.exists(os.path.join(folder, "make_schemes.py")):
        print("SKIP of the samples: TARE_TEST_DATA/../cases/schemes is not there")
        return None
    sys.path.insert(0, folder)
    sys.dont_write_bytecode = True
    import make_schemes
    return make_schemes


def main():
    names, bad, n = [a for a in sys.argv[1:] if a != "-v"], [], 0
    tare = os.environ.get("TARE_COMMAND") or os.path.abspath(names.pop(0))
    work = tempfile.mkdtemp(prefix="tare-schemes-")
    source = os.path.join(work, "in")

    def tell(name, wrong):
        for w in wrong:
            print(f"{name}: {w}", flush=True)
        bad.extend(wrong[:1])

    for name, (settings, make) in SCHEMES.items():
        if names and name not in names:
            continue
        tensors, decoded = make(Maker(name))
        stem = "x.q_proj.weight" if "x.q_proj.weight._data._data" in tensors else "x.gate_up_proj" if "x.gate_up_proj_blocks" in tensors else "x.weight"
        plain = half(np.ones(7, F))
        write(source, settings, {**tensors, "norm.weight": ("BF16", plain)})
        decoded = decoded if isinstance(decoded, dict) else {stem: decoded}
        tell(name, judge(tare, source, {**decoded, "norm.weight": number("BF16", plain)}, work))
        n += 1
    for name, (settings, made) in REFUSED.items():
        if names and name not in names:
            continue
        write(source, settings, made(Maker(name))[0] if callable(made) else made)
        for target in (["hf", "--type", "f32"], ["mlx"]):
            run = subprocess.run([tare, "convert", source, os.path.join(work, "out"), "--force", "--to", *target], capture_output=True, text=True)
            if run.returncode not in (3, 5) or name not in run.stderr:
                tell(name, [f"{target}: exit {run.returncode}: {run.stderr}"])
        n += 1
    made = None if names else samples()
    for name in made.SAMPLES if made else ():
        tell(name, judge(tare, made.write(work, name), made.expected(name), work))
        n += 1
    shutil.rmtree(work)
    print(f"{n} schemes, {len(bad)} wrong")
    return bool(bad)


if __name__ == "__main__":
    sys.exit(main())
