#!/usr/bin/env python3
# SPDX-License-Identifier: MIT
"""Matrices that the libraries quantize which define the forms, and what tare makes of them, beside what the libraries
decode them to. `by_libraries.py TARE FOLDER [NAME...]`, run by a Python with torch, safetensors and those libraries of
bitsandbytes, compressed-tensors, autoawq, auto-gptq, nvidia-modelopt and transformers that are to be asked; one that
is missing, or does not run without a GPU, is said and left out. exit 77: none is there.

Libraries that compute in F16 round the product once; tare's F32, rounded to F16, is to be the same."""
import importlib
import importlib.util
import json
import os
import shutil
import subprocess
import sys
import types
import warnings

warnings.filterwarnings("ignore")
try:
    import numpy as np
    import torch
except ImportError as missing:
    print("SKIP:", missing)
    sys.exit(77)
from gguf_parts import Gguf
from tiny_parts import base, dense

sys.path.insert(0, os.path.join(os.path.dirname(os.path.abspath(__file__)), "../support"))
from safetensors_file import safetensors  # noqa: E402

NAMES = {"self_attn.q_proj": "attn_q", "self_attn.k_proj": "attn_k", "self_attn.v_proj": "attn_v",
         "self_attn.o_proj": "attn_output", "mlp.gate_proj": "ffn_gate", "mlp.up_proj": "ffn_up",
         "mlp.down_proj": "ffn_down"}
TYPES = {torch.float32: "F32", torch.float16: "F16", torch.bfloat16: "BF16", torch.uint8: "U8", torch.int8: "I8",
         torch.int32: "I32", torch.int64: "I64", torch.float8_e4m3fn: "F8_E4M3"}
SCHEMES = {}


def scheme(name, **settings):
    """A function from a matrix to (tensors by suffix, what the library decodes them to)."""
    def register(function):
        SCHEMES[name] = (function, settings)
        return function
    return register


# ---- bitsandbytes -----------------------------------------------------------------------------------

def four_bits(kind, is_double):
    @scheme(f"bitsandbytes {kind}" + " double" * is_double, quant_method="bitsandbytes", load_in_4bit=True)
    def _(w):
        import bitsandbytes.functional as F
        codes, state = F.quantize_4bit(w, quant_type=kind, compress_statistics=is_double)
        parts = {".weight": codes, **{".weight." + k: v for k, v in state.as_dict(packed=True).items()}}
        return parts, F.dequantize_4bit(codes, state)


for kind in ("nf4", "fp4"):
    four_bits(kind, False)
    four_bits(kind, True)


@scheme("bitsandbytes int8", quant_method="bitsandbytes", load_in_8bit=True)
def _(w):
    import bitsandbytes.functional as F
    codes, scales, _ = F.int8_vectorwise_quant(w.half())
    return {".weight": codes, ".SCB": scales}, F.int8_vectorwise_dequant(codes, scales)


# ---- compressed-tensors -----------------------------------------------------------------------------

def compressed(name, form, arguments):
    weights = dict(arguments)
    settings = dict(quant_method="compressed-tensors", format=form,
                    config_groups=dict(group_0=dict(targets=["Linear"], weights=weights)))

    @scheme("compressed-tensors " + name, **settings)
    def _(w):
        from compressed_tensors.compressors import BaseCompressor
        from compressed_tensors.quantization import QuantizationArgs, QuantizationScheme
        from compressed_tensors.quantization.utils import calculate_qparams
        about = QuantizationScheme(targets=["Linear"], weights=QuantizationArgs(**arguments))
        compressor = BaseCompressor.get_value_from_registry(form)
        groups = w.reshape(w.shape[0], -1, arguments.get("group_size") or w.shape[1])
        more = {}
        if form.startswith("nvfp4"):
            more["global_scale"] = 6 * 448 / w.abs().max().reshape(1)
        scale, zero = calculate_qparams(groups.amin(-1), groups.amax(-1), about.weights, **more)
        state = {"weight": w, "weight_scale": scale}
        if not about.weights.symmetric:
            state["weight_zero_point"] = zero
        if more:
            state["weight_global_scale"] = more["global_scale"]
        stored = compressor.compress(state, about)
        if more:  # the compressor itself decodes to BF16
            from compressed_tensors.compressors.nvfp4.helpers import unpack_fp4_from_uint8
            from compressed_tensors.quantization.lifecycle.forward import dequantize
            codes = unpack_fp4_from_uint8(stored["weight_packed"], *w.shape, dtype=torch.float32)
            return {"." + k: v for k, v in stored.items()}, dequantize(
                codes, stored["weight_scale"].float(), args=about.weights, global_scale=state["weight_global_scale"],
                dtype=torch.float32)
        return {"." + k: v for k, v in stored.items()}, compressor.decompress(stored, about)["weight"]


GROUPS = dict(strategy="group", group_size=32, type="int", num_bits=4)
compressed("packed", "pack-quantized", dict(GROUPS, symmetric=True))
compressed("packed with zeros", "pack-quantized", dict(GROUPS, symmetric=False))
compressed("packed, 8 bits", "pack-quantized", dict(GROUPS, num_bits=8, symmetric=True))
compressed("int", "int-quantized", dict(strategy="channel", type="int", num_bits=8, symmetric=True))
compressed("float", "float-quantized", dict(strategy="channel", type="float", num_bits=8, symmetric=True))
compressed("NVFP4", "nvfp4-pack-quantized", dict(strategy="tensor_group", group_size=16, type="float", num_bits=4,
                                                 symmetric=True, scale_dtype="torch.float8_e4m3fn"))


# ---- GPTQ and AWQ -----------------------------------------------------------------------------------

def rounded(w, bits):
    """Scales and zeros in F16 of groups of 32, and the codes' matrix."""
    groups = w.reshape(w.shape[0], -1, 32)
    low, high = groups.amin(-1).clamp(max=0), groups.amax(-1).clamp(min=0)
    scales = ((high - low) / (2 ** bits - 1)).half().float()
    zeros = (-low / scales).round().clamp(1, 2 ** bits - 1)
    codes = ((groups / scales[..., None]).round() + zeros[..., None]).clamp(0, 2 ** bits - 1)
    return scales, zeros, ((codes - zeros[..., None]) * scales[..., None]).reshape(w.shape)


def module_of(package, name):
    """A module of a package whose own start asks for older versions of others."""
    path = getattr(sys.modules.get(package) or importlib.util.find_spec(package), "path", None) or [
        os.path.join(p, package) for p in sys.path if os.path.isdir(os.path.join(p, package))]
    for part in [package] + [f"{package}.{name.rsplit('.', i)[0]}" for i in range(name.count("."), 0, -1)]:
        sys.modules[part] = types.ModuleType(part)
        sys.modules[part].__path__ = [os.path.join(path[0], *part.split(".")[1:])]
    return importlib.import_module(f"{package}.{name}")


def gptq(bits):
    @scheme(f"GPTQ, {bits} bits", quant_method="gptq", bits=bits, group_size=32, sym=False)
    def _(w):
        QuantLinear = module_of("auto_gptq", "nn_modules.qlinear.qlinear_cuda_old").QuantLinear
        scales, zeros, near = rounded(w, bits)
        linear = torch.nn.Linear(w.shape[1], w.shape[0], bias=False)
        linear.weight.data = near
        q = QuantLinear(bits, 32, w.shape[1], w.shape[0], False)
        index = torch.arange(w.shape[1]) // 32
        q.pack(linear, scales.clone(), zeros.clone(), index.int())
        parts = {"." + k: getattr(q, k) for k in ("qweight", "qzeros", "scales", "g_idx")}
        return parts, q.float()(torch.eye(w.shape[1])).T


for bits in (2, 4, 8):
    gptq(bits)


@scheme("AWQ", quant_method="awq", bits=4, group_size=32, version="gemm", zero_point=True)
def _(w):
    from awq.modules.linear.gemm import WQLinear_GEMM
    from awq.utils.packing_utils import dequantize_gemm
    scales, zeros, near = rounded(w, 4)
    linear = torch.nn.Linear(w.shape[1], w.shape[0], bias=False)
    linear.weight.data = near
    q = WQLinear_GEMM.from_linear(linear, 4, 32, scales=scales.T.contiguous(), zeros=zeros.T.contiguous())
    parts = {"." + k: getattr(q, k) for k in ("qweight", "qzeros", "scales")}
    return parts, dequantize_gemm(q.qweight, q.qzeros, q.scales, 4, 32).T


# ---- transformers, ModelOpt -------------------------------------------------------------------------

@scheme("FP8 in blocks", quant_method="fp8", weight_block_size=[128, 128])
def _(w):
    from transformers.integrations.finegrained_fp8 import _dequantize_fp8_weight
    scales = torch.zeros(-(-w.shape[0] // 128), -(-w.shape[1] // 128))
    codes = torch.empty(w.shape, dtype=torch.float8_e4m3fn)
    for i in range(scales.shape[0]):
        for k in range(scales.shape[1]):
            at = np.s_[128 * i:128 * i + 128, 128 * k:128 * k + 128]
            scales[i, k] = w[at].abs().max() / 448
            codes[at] = (w[at] / scales[i, k]).to(torch.float8_e4m3fn)
    return {".weight": codes, ".weight_scale_inv": scales}, _dequantize_fp8_weight(codes, scales, [128, 128], torch.float32)


@scheme("BitNet", quant_method="bitnet")
def _(w):
    from transformers.integrations.bitnet import pack_weights, unpack_weights
    scale = 1 / w.abs().mean()
    codes = pack_weights((w * scale).round().clamp(-1, 1))
    return {".weight": codes, ".weight_scale": scale.reshape(1)}, unpack_weights(codes, torch.float32) / scale


@scheme("ModelOpt NVFP4", quant_method="modelopt", quant_algo="NVFP4")
def _(w):
    from modelopt.torch.quantization.qtensor import NVFP4QTensor
    codes, scales, whole = NVFP4QTensor.quantize(w, 16, try_tensorrt=False)
    decoded = codes.dequantize(torch.float32, scale=scales, double_scale=whole, block_sizes={-1: 16})
    return {".weight": codes._quantized_data, ".weight_scale": scales, ".weight_scale_2": whole}, decoded


# ---- a model of them --------------------------------------------------------------------------------

def write(folder, config, tensors):
    os.makedirs(folder)
    with open(os.path.join(folder, "model.safetensors"), "wb") as f:
        f.write(safetensors((name, TYPES[t.dtype], list(t.shape),
                             t.detach().contiguous().reshape(-1).view(torch.uint8).numpy().tobytes())
                            for name, t in tensors.items()))
    with open(os.path.join(folder, "config.json"), "w") as f:
        json.dump(config, f)


def permuted(w, heads):
    return w.reshape(heads, 2, w.shape[0] // heads // 2, -1).swapaxes(1, 2).reshape(w.shape)


def differ(tare, folder, function, settings):
    """What is other in tare's file; empty: nothing."""
    config = base("LlamaForCausalLM", "llama", hidden_size=128, intermediate_size=192, num_hidden_layers=1,
                  quantization_config=settings)
    random, stored, decoded = torch.Generator().manual_seed(1), {}, {}
    for name, shape in dense(config).items():
        w = torch.randn(shape, generator=random) / 8
        if "_proj" not in name:
            stored[name] = w
            continue
        parts, wanted = function(w)
        stem = name[:-len(".weight")]
        stored.update({stem + k: v for k, v in parts.items()})
        decoded[stem.split("layers.0.")[1]] = wanted.detach()
    write(os.path.join(folder, "model"), config, stored)
    out = os.path.join(folder, "out.gguf")
    run = subprocess.run([tare, "convert", os.path.join(folder, "model"), out, "--no-tokenizer", "--quiet", "--no-sync",
                          "--type", "f32"], capture_output=True, text=True)
    if run.returncode:
        return run.stderr.strip()
    made = {name: np.frombuffer(blob, np.float32)[:int(np.prod(dims))].reshape(dims[::-1])
            for name, dims, _, blob in Gguf(out).tensors}
    for name, to in NAMES.items():
        wanted, got = decoded[name].numpy(), made[f"blk.0.{to}.weight"]
        if to in ("attn_q", "attn_k"):
            wanted = permuted(wanted, 4 if to == "attn_q" else 2)
        if not np.array_equal(got.astype(wanted.dtype), wanted):
            return f"{to}: {np.mean(got.astype(wanted.dtype) != wanted):.2%} of the numbers differ"
    return ""


def main():
    tare, folder, *names = sys.argv[1:]
    found, n = 0, 0
    for name in names or SCHEMES:
        shutil.rmtree(folder, ignore_errors=True)
        os.makedirs(folder)
        try:
            said = differ(tare, folder, *SCHEMES[name])
        except Exception as fault:  # noqa: B902: what a library cannot do is no fault of tare
            print(f"{name}: not asked: {type(fault).__name__}: {str(fault)[:120]}")
            continue
        n, found = n + 1, found + bool(said)
        print(f"{name}: {said or 'equal'}", flush=True)
    shutil.rmtree(folder)
    print(f"{n} forms compared, {found} differ")
    return 77 if n == 0 else bool(found)


if __name__ == "__main__":
    sys.exit(main())
