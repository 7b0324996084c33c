# SPDX-License-Identifier: MIT
"""The official `gguf` package reads what `tare quantize` writes: the types that llama.cpp's rules ask
for, worked out here again from their words, and numbers that are near the original."""
import unittest

import gguf
import numpy as np
from gguf import GGMLQuantizationType as Type
from gguf.quants import dequantize

from command import TareTest

LAYERS, WIDTH, HEADS, KV_HEADS, HIDDEN, VOCABULARY = 16, 256, 8, 2, 512, 320
# How far the values of a type may be from normal ones, by relative RMSE.
ERRORS = {Type.Q3_K: 0.16, Type.Q4_K: 0.08, Type.Q5_K: 0.04, Type.Q6_K: 0.02, Type.Q8_0: 0.006,
          Type.F32: 0}


def shapes(experts):
    stack = (experts,) if experts else ()
    ending = "_exps" if experts else ""
    yield "token_embd.weight", (VOCABULARY, WIDTH)
    yield "output.weight", (VOCABULARY, WIDTH)
    yield "output_norm.weight", (WIDTH,)
    for i in reversed(range(LAYERS)):
        layer = f"blk.{i}."
        yield layer + "attn_norm.weight", (WIDTH,)
        yield layer + "attn_q.weight", (WIDTH, WIDTH)
        yield layer + "attn_k.weight", (WIDTH * KV_HEADS // HEADS, WIDTH)
        yield layer + "attn_v.weight", (WIDTH * KV_HEADS // HEADS, WIDTH)
        yield layer + "attn_output.weight", (WIDTH, WIDTH)
        if experts:
            yield layer + "ffn_gate_inp.weight", (experts, WIDTH)
        yield layer + f"ffn_gate{ending}.weight", stack + (HIDDEN, WIDTH)
        yield layer + f"ffn_up{ending}.weight", stack + (HIDDEN, WIDTH)
        yield layer + f"ffn_down{ending}.weight", stack + (WIDTH, HIDDEN)


def write(path, experts=0):
    rng = np.random.default_rng(experts)
    writer = gguf.GGUFWriter(path, "llama")
    writer.add_block_count(LAYERS)
    writer.add_head_count(HEADS)
    writer.add_head_count_kv(KV_HEADS)
    if experts:
        writer.add_expert_count(experts)
    tensors = {}
    for name, shape in shapes(experts):
        tensors[name] = rng.standard_normal(shape).astype(np.float32)
        writer.add_tensor(name, tensors[name])
    writer.write_header_to_file()
    writer.write_kv_data_to_file()
    writer.write_tensors_to_file()
    writer.close()
    return tensors


def gets_more_bits(layer):
    eighth = LAYERS // 8
    return layer < eighth or layer >= 7 * LAYERS // 8 or (layer - eighth) % 3 == 2


def q4_k_m(name, experts):
    if "norm" in name or "gate_inp" in name:
        return Type.F32
    if name == "output.weight":
        return Type.Q6_K
    if experts == 8 and ("attn_k" in name or "attn_v" in name):
        return Type.Q8_0
    if experts == 8 and "attn_output" in name:
        return Type.Q5_K
    if ("attn_v" in name or "ffn_down" in name) and gets_more_bits(int(name.split(".")[1])):
        return Type.Q6_K
    return Type.Q4_K


class Quantized(TareTest):
    def check(self, mix, experts, expected, number):
        tensors = write(self.path("in.gguf"), experts)
        self.tare("quantize", "in.gguf", "out.gguf", mix, "--force", "--quiet")
        reader = gguf.GGUFReader(self.path("out.gguf"))
        self.assertEqual(reader.fields["general.file_type"].contents(), number)
        self.assertEqual(reader.fields["general.quantization_version"].contents(), 2)
        self.assertEqual({t.name for t in reader.tensors}, set(tensors))
        for t in reader.tensors:
            self.assertEqual(t.tensor_type, expected(t.name, experts), t.name)
            before, after = tensors[t.name], dequantize(t.data, t.tensor_type)
            error = np.linalg.norm(after - before) / np.linalg.norm(before)
            self.assertLessEqual(error, ERRORS[t.tensor_type], t.name)

    def test_mix(self):
        self.check("Q4_K_M", 0, q4_k_m, 15)

    def test_eight_experts(self):
        self.check("Q4_K_M", 8, q4_k_m, 15)

    def test_single_type(self):
        self.check("Q8_0", 0, lambda name, _: Type.F32 if "norm" in name else Type.Q8_0, 7)


if __name__ == "__main__":
    unittest.main()
