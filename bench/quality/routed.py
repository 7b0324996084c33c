#!/usr/bin/env python3
# SPDX-License-Identifier: MIT
"""routed.py IN PASSAGES.json OUT [--experts N] [--used K]: a Llama as a mixture that routes each token.

Pretrained weights as they are, and experts that are really chosen from: in each layer, neurons of the
feed-forward network that are active together become an expert, and a router, fitted by least
squares to the share each expert has in the layer's output, picks K of N for a token. What the
others would have added is lost, so this is another model than IN, and worse; but each of its
experts sees inputs of its own, and an error of the router's inputs changes the choice. IN and OUT
are Hugging Face directories in F32.
"""
import argparse
import json
import os
import shutil

import torch
from safetensors.torch import save_file
from transformers import AutoModelForCausalLM, AutoTokenizer

TOKENS, PASSAGES = 512, 8
ROUNDS = 12         # of clustering
EQUAL = 1e-3        # scale of the router: the experts chosen have nearly equal shares
RIDGE = 1e-2        # of the mean square of its inputs


def clusters(activity, n):
    """Columns in n groups of the same size, those active in the same tokens together."""
    rows = torch.nn.functional.normalize(activity.T, dim=1)
    size, group = len(rows) // n, torch.arange(len(rows)) % n
    for _ in range(ROUNDS):
        centres = torch.stack([rows[group == k].mean(0) for k in range(n)])
        near = rows @ torch.nn.functional.normalize(centres, dim=1).T
        best = near.topk(2, 1).values
        room = [size] * n
        for i in (best[:, 1] - best[:, 0]).argsort().tolist():      # the most decided first
            k = max((k for k in range(n) if room[k]), key=lambda k: near[i, k].item())
            group[i], room[k] = k, room[k] - 1
    return [torch.nonzero(group == k)[:, 0] for k in range(n)]


def router(inputs, shares):
    """Rows that predict the shares from the inputs."""
    square = inputs.T @ inputs
    square += RIDGE * square.diagonal().mean() * torch.eye(len(square))
    return torch.linalg.solve(square, inputs.T @ shares).T * EQUAL


class Layer:
    """The feed-forward network of one layer, and what goes through it."""

    def __init__(self, mlp):
        self.mlp, self.inputs, self.hidden = mlp, [], []
        mlp.gate_proj.register_forward_pre_hook(lambda _, x: self.inputs.append(x[0][0]))
        mlp.down_proj.register_forward_pre_hook(lambda _, x: self.hidden.append(x[0][0]))

    def split(self, n, used):
        x, hidden, down = torch.cat(self.inputs), torch.cat(self.hidden), self.mlp.down_proj.weight
        groups = clusters(hidden.abs() * down.norm(dim=0), n)
        parts = torch.stack([(hidden[:, g] @ down[:, g].T).square().sum(1) for g in groups], 1)
        out = {"gate.weight": router(x, parts / parts.sum(1, keepdim=True))}
        for k, g in enumerate(groups):
            out[f"experts.{k}.w1.weight"] = self.mlp.gate_proj.weight[g]
            out[f"experts.{k}.w3.weight"] = self.mlp.up_proj.weight[g]
            out[f"experts.{k}.w2.weight"] = down[:, g] * used
        return out


def main():
    parser = argparse.ArgumentParser()
    parser.add_argument("source")
    parser.add_argument("passages")
    parser.add_argument("target")
    parser.add_argument("--experts", type=int, default=4)
    parser.add_argument("--used", type=int, default=3)
    args = parser.parse_args()
    torch.set_num_threads(int(os.environ.get("THREADS", "1")))
    torch.set_grad_enabled(False)
    model = AutoModelForCausalLM.from_pretrained(args.source, dtype=torch.float32)
    words = AutoTokenizer.from_pretrained(args.source)
    layers = [Layer(layer.mlp) for layer in model.model.layers]
    with open(args.passages, encoding="utf-8") as f:
        for passage in json.load(f)[-PASSAGES:]:
            model.model(input_ids=torch.tensor([words(passage).input_ids[:TOKENS]]))
    weights = {name: w for name, w in model.state_dict().items() if ".mlp." not in name}
    if model.config.tie_word_embeddings:
        del weights["lm_head.weight"]
    for i, layer in enumerate(layers):
        for name, w in layer.split(args.experts, args.used).items():
            weights[f"model.layers.{i}.block_sparse_moe.{name}"] = w
    os.makedirs(args.target, exist_ok=True)
    save_file({name: w.contiguous() for name, w in weights.items()},
              os.path.join(args.target, "model.safetensors"), {"format": "pt"})
    with open(os.path.join(args.source, "config.json"), encoding="utf-8") as f:
        config = json.load(f)
    config.update(architectures=["MixtralForCausalLM"], model_type="mixtral",
                  num_local_experts=args.experts, num_experts_per_tok=args.used,
                  intermediate_size=config["intermediate_size"] // args.experts)
    with open(os.path.join(args.target, "config.json"), "w", encoding="utf-8") as f:
        json.dump(config, f, indent=2)
    for name in ("tokenizer.json", "tokenizer_config.json", "generation_config.json"):
        shutil.copy(os.path.join(args.source, name), args.target)


main()
