#!/usr/bin/env python3
# SPDX-License-Identifier: MIT
"""train_small.py WORK OUT [--steps N]: a GPT-NeoX of 6 M weights, trained on WORK/train.txt.

Another family than Llama: parallel residuals, layer norms, biases, one matrix for queries, keys and
values, feed-forward networks of two matrices. It is far too small and too little trained to be of
use, and is there because what holds for one model may be a property of that model. Matrices of
layers are trained with Muon, which takes a few hundred steps to where all layers are used: without, inner
layers do nearly nothing after as many. OUT is a Hugging Face directory.
"""
import argparse
import math
import os

import numpy as np
import torch
import transformers
from tokenizers import Tokenizer, decoders, models, pre_tokenizers, trainers

VOCABULARY, LAYERS, WIDTH = 4096, 6, 256
CONTEXT, BATCH = 512, 4
END = "<|endoftext|>"
RATE_OF_MATRICES, RATE = 0.02, 3e-3
WARM_UP, COOL_DOWN = 0.03, 0.4  # of the steps


def tokenizer(text):
    """Byte-level BPE."""
    bpe = Tokenizer(models.BPE())
    bpe.pre_tokenizer = pre_tokenizers.ByteLevel(add_prefix_space=False)
    bpe.decoder = decoders.ByteLevel()
    bpe.train_from_iterator([text], trainers.BpeTrainer(
        vocab_size=VOCABULARY, special_tokens=[END], show_progress=False,
        initial_alphabet=pre_tokenizers.ByteLevel.alphabet()))
    return bpe


def new_model():
    return transformers.AutoModelForCausalLM.from_config(transformers.GPTNeoXConfig(
        vocab_size=VOCABULARY, hidden_size=WIDTH, num_attention_heads=WIDTH // 64,
        num_hidden_layers=LAYERS, intermediate_size=4 * WIDTH, max_position_embeddings=2048,
        bos_token_id=0, eos_token_id=0))


def optimizers(model):
    matrices = [w for name, w in model.named_parameters() if w.ndim == 2 and ".layers." in name]
    others = [w for name, w in model.named_parameters() if w.ndim != 2 or ".layers." not in name]
    return [torch.optim.Muon(matrices, lr=RATE_OF_MATRICES, weight_decay=0.01),
            torch.optim.AdamW(others, lr=RATE, betas=(0.9, 0.95), weight_decay=0.01, fused=True)]


def factor(done):
    """Of the rates, when this part of all steps is done."""
    return min(1, done / WARM_UP, 0.02 + (1 - done) / COOL_DOWN)


def train(model, text, steps):
    steppers = optimizers(model)
    rates = [group["lr"] for stepper in steppers for group in stepper.param_groups]
    places = torch.Generator().manual_seed(5)
    mean = math.log(VOCABULARY)
    for step in range(steps):
        at = torch.randint(len(text) - CONTEXT, (BATCH,), generator=places).tolist()
        batch = torch.stack([text[i:i + CONTEXT] for i in at])
        groups = [group for stepper in steppers for group in stepper.param_groups]
        for group, rate in zip(groups, rates):
            group["lr"] = rate * factor((step + 1) / steps)
        with torch.autocast("cpu", torch.bfloat16):
            loss = model(input_ids=batch, labels=batch).loss
        loss.backward()
        for stepper in steppers:
            stepper.step()
            stepper.zero_grad()
        mean += (loss.item() - mean) * 0.05
        if step % 20 == 0:
            print(f"step {step}: {mean:.3f}", flush=True)


def main():
    parser = argparse.ArgumentParser()
    parser.add_argument("work")
    parser.add_argument("out")
    parser.add_argument("--steps", type=int, default=700)
    args = parser.parse_args()
    torch.set_num_threads(int(os.environ.get("THREADS", "1")))
    torch.manual_seed(5)
    with open(os.path.join(args.work, "train.txt"), encoding="utf-8") as f:
        text = f.read()
    bpe = tokenizer(text)
    tokens = torch.from_numpy(np.array(bpe.encode(text).ids, dtype=np.int64))
    print(f"{len(tokens):,} tokens", flush=True)
    model = new_model()
    train(model, tokens, args.steps)
    model.float().save_pretrained(args.out)
    transformers.PreTrainedTokenizerFast(tokenizer_object=bpe, eos_token=END,
                                         bos_token=END).save_pretrained(args.out)


if __name__ == "__main__":
    main()
