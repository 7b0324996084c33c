#!/usr/bin/env python3
# SPDX-License-Identifier: MIT
"""train_small.py WORK KIND [--steps N]: a small language model, trained on WORK/train.txt.

KIND is dense (Qwen 3: norms on queries and keys, an output matrix of its own) or moe (OLMoE: eight
experts, two of them for a token). Both are far too small and too little trained to be of use; they
are there because what holds for one pretrained model may be a property of that model. Writes the
Hugging Face directory WORK/KIND. Progress is saved every hundred steps, so that an interrupted run
goes on where it was.
"""
import argparse
import math
import os

import numpy as np
import torch
import transformers
from tokenizers import Tokenizer, decoders, models, pre_tokenizers, trainers

VOCABULARY = 4096
CONTEXT = 256
BATCH = 8
END = "<|endoftext|>"


def configuration(kind):
    common = {"vocab_size": VOCABULARY, "hidden_size": 256, "num_attention_heads": 4,
              "num_key_value_heads": 2, "max_position_embeddings": 2048, "bos_token_id": 0,
              "eos_token_id": 0, "pad_token_id": None, "tie_word_embeddings": False}
    if kind == "dense":
        return transformers.Qwen3Config(**common, head_dim=64, num_hidden_layers=8,
                                        intermediate_size=768)
    return transformers.OlmoeConfig(**common, num_hidden_layers=6, intermediate_size=256,
                                    num_experts=8, num_experts_per_tok=2, norm_topk_prob=False,
                                    output_router_logits=True, router_aux_loss_coef=0.01)


def tokenizer(work):
    """Byte-level BPE, trained on the same text."""
    path = os.path.join(work, "small-tokenizer.json")
    if not os.path.exists(path):
        bpe = Tokenizer(models.BPE())
        bpe.pre_tokenizer = pre_tokenizers.ByteLevel(add_prefix_space=False)
        bpe.decoder = decoders.ByteLevel()
        bpe.train([os.path.join(work, "train.txt")], trainers.BpeTrainer(
            vocab_size=VOCABULARY, special_tokens=[END], show_progress=False,
            initial_alphabet=pre_tokenizers.ByteLevel.alphabet()))
        bpe.save(path)
    return Tokenizer.from_file(path)


def main():
    parser = argparse.ArgumentParser()
    parser.add_argument("work")
    parser.add_argument("kind", choices=("dense", "moe"))
    parser.add_argument("--steps", type=int, default=800)
    parser.add_argument("--rate", type=float, default=2e-3)
    args = parser.parse_args()
    torch.set_num_threads(int(os.environ.get("THREADS", "1")))
    torch.manual_seed(5)

    bpe = tokenizer(args.work)
    ids = os.path.join(args.work, "train.npy")
    if not os.path.exists(ids):
        with open(os.path.join(args.work, "train.txt"), encoding="utf-8") as f:
            np.save(ids, np.array(bpe.encode(f.read()).ids, dtype=np.uint16))
    text = torch.from_numpy(np.load(ids).astype(np.int64))

    model = transformers.AutoModelForCausalLM.from_config(configuration(args.kind))
    stepper = torch.optim.AdamW(model.parameters(), lr=args.rate, betas=(0.9, 0.95),
                                weight_decay=0.1, fused=True)
    checkpoint = os.path.join(args.work, args.kind + ".pt")
    start = 0
    if os.path.exists(checkpoint):
        state = torch.load(checkpoint)
        start = state["step"]
        model.load_state_dict(state["model"])
        stepper.load_state_dict(state["stepper"])
    for step in range(start, args.steps):
        at = torch.randint(len(text) - CONTEXT, (BATCH,),
                           generator=torch.Generator().manual_seed(step))
        batch = torch.stack([text[i:i + CONTEXT] for i in at.tolist()])
        factor = min(1, (step + 1) / 50) * (0.05 + 0.95 * (1 + math.cos(math.pi * step / args.steps)) / 2)
        for group in stepper.param_groups:
            group["lr"] = args.rate * factor
        with torch.autocast("cpu", torch.bfloat16):
            loss = model(input_ids=batch, labels=batch).loss
        loss.backward()
        torch.nn.utils.clip_grad_norm_(model.parameters(), 1.0)
        stepper.step()
        stepper.zero_grad()
        if step % 20 == 0:
            print(f"step {step}: {loss.item():.3f}", flush=True)
        if (step + 1) % 100 == 0:
            torch.save({"step": step + 1, "model": model.state_dict(),
                        "stepper": stepper.state_dict()}, checkpoint)
    out = os.path.join(args.work, args.kind)
    model.save_pretrained(out)
    transformers.PreTrainedTokenizerFast(tokenizer_object=bpe, eos_token=END,
                                         bos_token=END).save_pretrained(out)


main()
