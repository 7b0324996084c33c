# SPDX-License-Identifier: MIT
"""Tiny models whose matrices are packed codes with scales beside them, as the libraries write them that
define these forms; `weights` computes from these tensors what they stand for, by the formulas of:
GPTQModel (qlinear's dequantize_weight), AutoAWQ (dequantize_gemm), compressed-tensors (pack_quantized,
naive_quantized, nvfp4), bitsandbytes (dequantize_4bit, int8_vectorwise_dequant), transformers (BitNet's
unpack_weights, MXFP4's convert_moe_packed_tensors), DeepSeek (FP8 with blocks of 128 x 128)."""
import json
import zlib

import numpy as np

from tiny_parts import MODELS, base, dense, model  # noqa: F401

E2M1 = np.array([0, .5, 1, 1.5, 2, 3, 4, 6, -0., -.5, -1, -1.5, -2, -3, -4, -6], np.float32)
NF4 = np.array([-1.0, -0.6961928009986877, -0.5250730514526367, -0.39491748809814453, -0.28444138169288635,
                -0.18477343022823334, -0.09105003625154495, 0.0, 0.07958029955625534, 0.16093020141124725,
                0.24611230194568634, 0.33791524171829224, 0.44070982933044434, 0.5626170039176941,
                0.7229568362236023, 1.0], np.float32)
AWQ_ORDER = [0, 2, 4, 6, 1, 3, 5, 7]


def rng_of(name):
    return np.random.default_rng(zlib.crc32(name.encode()))


def packed_words(codes, bits):
    """Codes along the last axis, the first in the lowest bits of each I32."""
    per = 32 // bits
    codes = codes.astype(np.uint32).reshape(*codes.shape[:-1], -1, per)
    words = np.zeros(codes.shape[:-1], np.uint32)
    for k in range(per):
        words |= codes[..., k] << np.uint32(k * bits)
    return words.view(np.int32)


def unpacked_words(words, bits):
    per = 32 // bits
    parts = [(words.view(np.uint32) >> np.uint32(k * bits)) & np.uint32((1 << bits) - 1) for k in range(per)]
    return np.stack(parts, -1).reshape(*words.shape[:-1], -1)


def gptq(stem, rows, cols, bits=4, order=False):
    r = rng_of(stem)
    groups = cols // 32
    index = np.arange(cols) // 32
    if order:
        index = r.permutation(index)
    return {stem + ".qweight": packed_words(r.integers(0, 1 << bits, (rows, cols)), bits).T.copy(),
            stem + ".qzeros": packed_words(r.integers(0, 1 << bits, (groups, rows)), bits),
            stem + ".scales": (r.random((groups, rows)) / 64 + .01).astype(np.float16),
            stem + ".g_idx": index.astype(np.int32)}


def gptq_weight(t, stem, bits=4):
    codes = unpacked_words(t[stem + ".qweight"].T.copy(), bits).T.astype(np.int32)
    zeros = unpacked_words(t[stem + ".qzeros"], bits).astype(np.int32) + 1
    index, scales = t[stem + ".g_idx"], t[stem + ".scales"].astype(np.float32)
    return (scales[index] * (codes - zeros[index]).astype(np.float32)).T


def awq_words(codes):
    return packed_words(codes.reshape(*codes.shape[:-1], -1, 8)[..., AWQ_ORDER].reshape(codes.shape), 4)


def awq(stem, rows, cols):
    r = rng_of(stem)
    groups = cols // 32
    return {stem + ".qweight": awq_words(r.integers(0, 16, (cols, rows))),
            stem + ".qzeros": awq_words(r.integers(0, 16, (groups, rows))),
            stem + ".scales": (r.random((groups, rows)) / 64 + .01).astype(np.float16)}


def awq_weight(t, stem):
    def codes(words):
        c = unpacked_words(words, 4).reshape(words.shape[0], -1, 8)
        return c[..., np.argsort(AWQ_ORDER)].reshape(words.shape[0], -1).astype(np.float32)
    index = np.arange(t[stem + ".qweight"].shape[0]) // 32
    scales = t[stem + ".scales"].astype(np.float32)[index]
    return ((codes(t[stem + ".qweight"]) - codes(t[stem + ".qzeros"])[index]) * scales).T


def packed(stem, rows, cols, zero=False):
    r = rng_of(stem)
    t = {stem + ".weight_packed": packed_words(r.integers(0, 16, (rows, cols)), 4),
         stem + ".weight_scale": (r.random((rows, cols // 32)) / 64 + .01).astype(np.float16),
         stem + ".weight_shape": np.array([rows, cols], np.int64)}
    if zero:
        t[stem + ".weight_zero_point"] = packed_words(r.integers(0, 16, (cols // 32, rows)), 4).T.copy()
    return t


def packed_weight(t, stem):
    codes = unpacked_words(t[stem + ".weight_packed"], 4).astype(np.float32)
    zero = np.float32(8)
    if stem + ".weight_zero_point" in t:
        zero = unpacked_words(t[stem + ".weight_zero_point"].T.copy(), 4).T.astype(np.float32).repeat(32, 1)
    return (codes - zero) * t[stem + ".weight_scale"].astype(np.float32).repeat(32, 1)


def int8(stem, rows, cols):
    r = rng_of(stem)
    return {stem + ".weight": r.integers(-127, 128, (rows, cols)).astype(np.int8),
            stem + ".weight_scale": (r.random((rows, 1)) / 512).astype(np.float32)}


def int8_weight(t, stem):
    return t[stem + ".weight"].astype(np.float32) * t[stem + ".weight_scale"]


def bnb8(stem, rows, cols):
    r = rng_of(stem)
    return {stem + ".weight": r.integers(-127, 128, (rows, cols)).astype(np.int8),
            stem + ".SCB": r.random(rows).astype(np.float32), stem + ".weight_format": np.array(0, np.uint8)}


def bnb8_weight(t, stem):
    return t[stem + ".weight"].astype(np.float32) * t[stem + ".SCB"][:, None] * np.float32(7.874015718698502e-3)


def nf4(stem, rows, cols, nested=True):
    r, name = rng_of(stem), stem + ".weight"
    blocks = rows * cols // 64
    state = dict(quant_type="nf4", blocksize=64, dtype="bfloat16", shape=[rows, cols])
    t = {name: r.integers(0, 256, (rows * cols // 2, 1)).astype(np.uint8), name + ".quant_map": NF4}
    if nested:
        state.update(nested_blocksize=256, nested_dtype="float32", nested_offset=0.0425)
        t[name + ".absmax"] = r.integers(0, 256, blocks).astype(np.uint8)
        t[name + ".nested_absmax"] = (r.random(-(-blocks // 256)) / 16 + .01).astype(np.float32)
        t[name + ".nested_quant_map"] = np.sort(r.uniform(-1, 1, 256)).astype(np.float32)
    else:
        t[name + ".absmax"] = (r.random(blocks) / 8).astype(np.float32)
    t[name + ".quant_state.bitsandbytes__nf4"] = np.frombuffer(json.dumps(state).encode(), np.uint8)
    return t


def nf4_weight(t, stem):
    name = stem + ".weight"
    state = json.loads(t[name + ".quant_state.bitsandbytes__nf4"].tobytes())
    scales = t[name + ".absmax"]
    if scales.dtype == np.uint8:
        outer = t[name + ".nested_absmax"].repeat(state["nested_blocksize"])[:len(scales)]
        scales = t[name + ".nested_quant_map"][scales] * outer + np.float32(state["nested_offset"])
    bytes_ = t[name].reshape(-1)
    codes = np.stack([bytes_ >> 4, bytes_ & 15], 1).reshape(-1)
    return (t[name + ".quant_map"][codes] * scales.repeat(64)).reshape(state["shape"])


def bitnet(stem, rows, cols):
    r = rng_of(stem)
    codes = r.integers(0, 3, (4, rows // 4, cols)).astype(np.uint8)
    return {stem + ".weight": codes[0] | codes[1] << 2 | codes[2] << 4 | codes[3] << 6,
            stem + ".weight_scale": np.array([r.random() * 16 + 1], np.float32)}


def bitnet_weight(t, stem):
    w = t[stem + ".weight"]
    codes = np.concatenate([(w >> (2 * k)) & 3 for k in range(4)]).astype(np.float32) - 1
    return codes / t[stem + ".weight_scale"]


def e4m3(x):
    """The nearest E4M3 byte of positive numbers, and what the bytes stand for."""
    bits = np.arange(127)
    table = np.where(bits < 8, bits / 512, 2.0 ** ((bits >> 3) - 7.0) * (1 + (bits & 7) / 8)).astype(np.float32)
    return np.abs(x[..., None] - table).argmin(-1).astype(np.uint8), table


class F8(np.ndarray):
    """Bytes that are E4M3 numbers."""
    kind = "F8_E4M3"


class E8(np.ndarray):
    """Bytes that are exponents."""
    kind = "F8_E8M0"


def nvfp4(stem, rows, cols):
    r = rng_of(stem)
    scales, _ = e4m3(r.random((rows, cols // 16)).astype(np.float32) * 8)
    return {stem + ".weight": r.integers(0, 256, (rows, cols // 2)).astype(np.uint8),
            stem + ".weight_scale": scales.view(F8), stem + ".weight_scale_2": np.array(.0078125, np.float32),
            stem + ".input_scale": np.array(1, np.float32)}


def nvfp4_weight(t, stem):
    w, (_, table) = t[stem + ".weight"], e4m3(np.zeros(1, np.float32))
    codes = np.stack([w & 15, w >> 4], -1).reshape(w.shape[0], -1)
    scales = table[np.asarray(t[stem + ".weight_scale"])] * t[stem + ".weight_scale_2"]
    return E2M1[codes] * scales.repeat(16, 1)


def nvfp4_divided(stem, rows, cols):
    """As compressed-tensors names it: the scale of the whole matrix divides."""
    t = nvfp4(stem, rows, cols)
    return {stem + ".weight_packed": t[stem + ".weight"], stem + ".weight_scale": t[stem + ".weight_scale"],
            stem + ".weight_global_scale": np.array([1234.5], np.float32)}


def nvfp4_divided_weight(t, stem):
    w, (_, table) = t[stem + ".weight_packed"], e4m3(np.zeros(1, np.float32))
    codes = np.stack([w & 15, w >> 4], -1).reshape(w.shape[0], -1)
    scales = table[np.asarray(t[stem + ".weight_scale"])] / t[stem + ".weight_global_scale"]
    return E2M1[codes] * scales.repeat(16, 1)


def fp8(stem, rows, cols):
    r = rng_of(stem)
    codes, _ = e4m3(r.random((rows, cols)).astype(np.float32) * 200)
    codes |= (r.integers(0, 2, (rows, cols)) << 7).astype(np.uint8)
    return {stem + ".weight": codes.view(F8),
            stem + ".weight_scale_inv": (r.random((-(-rows // 128), -(-cols // 128))) / 512).astype(np.float32)}


def fp8_weight(t, stem):
    w, (_, table) = np.asarray(t[stem + ".weight"]), e4m3(np.zeros(1, np.float32))
    scales = t[stem + ".weight_scale_inv"].repeat(128, 0).repeat(128, 1)[:w.shape[0], :w.shape[1]]
    return np.where(w & 128, -table[w & 127], table[w & 127]) * scales


# ---- models -----------------------------------------------------------------------------------------

WEIGHTS = {}  # of each model: the function that computes a matrix of its tensors


def quantized(name, make, weight, settings):
    @model(name)
    def _():
        c = base("LlamaForCausalLM", "llama", hidden_size=128, intermediate_size=192, num_hidden_layers=1,
                 quantization_config=settings)
        t = {}
        for tensor, shape in dense(c).items():
            if "_proj.weight" in tensor:
                t.update(make(tensor[:-len(".weight")], *shape))
            else:
                t[tensor] = shape
        return c, t
    WEIGHTS[name] = weight


def group(bits, **more):
    return dict(group_0=dict(weights=dict(num_bits=bits, type="int", **more)))


quantized("gptq", gptq, gptq_weight, dict(quant_method="gptq", bits=4, group_size=32, sym=False))
quantized("gptq-8", lambda *a: gptq(*a, 8, True), lambda t, s: gptq_weight(t, s, 8),
          dict(quant_method="gptq", bits=8, group_size=32, desc_act=True))
quantized("awq", awq, awq_weight, dict(quant_method="awq", bits=4, group_size=32, version="gemm"))
quantized("packed", packed, packed_weight,
          dict(quant_method="compressed-tensors", format="pack-quantized",
               config_groups=group(4, strategy="group", group_size=32)))
quantized("packed-zero", lambda *a: packed(*a, True), packed_weight,
          dict(quant_method="compressed-tensors", format="pack-quantized",
               config_groups=group(4, strategy="group", group_size=32)))
quantized("int8", int8, int8_weight,
          dict(quant_method="compressed-tensors", format="int-quantized",
               config_groups=group(8, strategy="channel")))
quantized("bnb-8", bnb8, bnb8_weight, dict(quant_method="bitsandbytes", load_in_8bit=True))
quantized("bnb-nf4", lambda *a: nf4(*a, False), nf4_weight, dict(quant_method="bitsandbytes", load_in_4bit=True))
quantized("bnb-nf4-double", nf4, nf4_weight, dict(quant_method="bitsandbytes", load_in_4bit=True))
quantized("bitnet-packed", bitnet, bitnet_weight, dict(quant_method="bitnet"))
quantized("nvfp4", nvfp4, nvfp4_weight, dict(quant_method="modelopt", quant_algo="NVFP4"))
quantized("nvfp4-divided", nvfp4_divided, nvfp4_divided_weight,
          dict(quant_method="compressed-tensors", format="nvfp4-pack-quantized",
               config_groups=dict(group_0=dict(weights=dict(num_bits=4, type="float", strategy="tensor_group", group_size=16)))))
quantized("fp8", fp8, fp8_weight, dict(quant_method="fp8", weight_block_size=[128, 128]))


@model("nvfp4-experts")
def _():
    c = base("Qwen3MoeForCausalLM", "qwen3_moe", hidden_size=128, intermediate_size=192, num_hidden_layers=1,
             head_dim=32, num_experts=4, num_experts_per_tok=2, moe_intermediate_size=64, decoder_sparse_step=1,
             norm_topk_prob=True, quantization_config=dict(quant_method="modelopt", quant_algo="NVFP4"))
    p, t = "model.layers.0.", {}
    for tensor, shape in dense(c).items():
        if "mlp" not in tensor:
            t.update(nvfp4(tensor[:-len(".weight")], *shape) if "_proj.weight" in tensor else {tensor: shape})
    t.update({p + "self_attn.q_norm.weight": (32,), p + "self_attn.k_norm.weight": (32,), p + "mlp.gate.weight": (4, 128)})
    for expert in range(4):
        for part, rows, cols in (("gate", 64, 128), ("up", 64, 128), ("down", 128, 64)):
            stem = p + f"mlp.experts.{expert}.{part}_proj"
            t.update(nvfp4(stem, rows, cols))
            t[stem + ".weight_scale_2"] = np.array(1 / (expert + 3), np.float32)
            t[stem + ".input_scale"] = np.array(expert + 1, np.float32)
    return c, t


@model("gpt-oss-mxfp4")
def _():
    c = base("GptOssForCausalLM", "gpt_oss", head_dim=16, num_local_experts=4, num_experts_per_tok=2,
             sliding_window=128, intermediate_size=64, num_hidden_layers=1,
             rope_scaling=dict(rope_type="yarn", factor=32.0, beta_fast=32.0, beta_slow=1.0,
                               original_max_position_embeddings=4096),
             quantization_config=dict(quant_method="mxfp4"))
    t = {k: v for k, v in dense(c, bias=True).items() if "mlp" not in k}
    p, r = "model.layers.0.", rng_of("gpt-oss-mxfp4")
    t.update({p + "self_attn.o_proj.bias": (64,), p + "self_attn.sinks": (4,), p + "mlp.router.weight": (4, 64),
              p + "mlp.router.bias": (4,), p + "mlp.experts.gate_up_proj_bias": (4, 128),
              p + "mlp.experts.down_proj_bias": (4, 64)})
    for name, rows, cols in (("gate_up_proj", 128, 64), ("down_proj", 64, 64)):
        t[p + f"mlp.experts.{name}_blocks"] = r.integers(0, 256, (4, rows, cols // 32, 16)).astype(np.uint8)
        t[p + f"mlp.experts.{name}_scales"] = r.integers(110, 130, (4, rows, cols // 32)).astype(np.uint8)
    return c, t


def mxfp4_weight(t, stem):
    codes, scales = t[stem + "_blocks"], t[stem + "_scales"]
    pairs = np.stack([codes & 15, codes >> 4], -1).reshape(*codes.shape[:-1], 32)
    x = E2M1[pairs] * np.exp2(scales.astype(np.float32) - 127)[..., None]
    return x.reshape(*x.shape[:-2], -1)
