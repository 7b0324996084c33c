#!/usr/bin/env python3
# SPDX-License-Identifier: MIT
"""curvature.py IN PASSAGES.json OUT [--passages N]: how the divergence depends on each weight of a model.

IN is a Hugging Face directory, and OUT one of the same shape that has, in place of each weight, half
the mean square of the gradient of the log-likelihood of the model's own predictions: times the
square of a small error there, the KL divergence a token. Errors of different weights are taken to add
up. Predictions are those that divergence.py scores.
"""
import argparse
import json
import os
import shutil

import torch
from safetensors.torch import save_file
from transformers import AutoModelForCausalLM, AutoTokenizer

TOKENS, FIRST = 512, 127


def main():
    parser = argparse.ArgumentParser()
    parser.add_argument("source")
    parser.add_argument("passages")
    parser.add_argument("target")
    parser.add_argument("--passages", type=int, default=4, dest="n")
    args = parser.parse_args()
    torch.set_num_threads(int(os.environ.get("THREADS", "1")))
    torch.manual_seed(11)
    model = AutoModelForCausalLM.from_pretrained(args.source, dtype=torch.float32)
    words = AutoTokenizer.from_pretrained(args.source)
    scored = (TOKENS - FIRST) * args.n
    sums = {}

    def note(name, parameter):
        square = (parameter.grad.square() / (2 * scored)).to(torch.bfloat16)
        sums[name] = sums[name] + square if name in sums else square
        parameter.grad = None

    for name, parameter in model.named_parameters():
        parameter.register_post_accumulate_grad_hook(lambda parameter, name=name: note(name, parameter))
    with open(args.passages, encoding="utf-8") as f:
        passages = json.load(f)[-args.n:]
    for passage in passages:
        logits = model(input_ids=torch.tensor([words(passage).input_ids[:TOKENS]])).logits[0, FIRST:]
        labels = torch.multinomial(torch.softmax(logits.detach(), -1), 1)[:, 0]
        torch.nn.functional.cross_entropy(logits, labels, reduction="sum").backward()
    os.makedirs(args.target, exist_ok=True)
    save_file(sums, os.path.join(args.target, "model.safetensors"), {"format": "pt"})
    for name in os.listdir(args.source):
        if name.endswith(".json"):
            shutil.copy(os.path.join(args.source, name), args.target)


main()
