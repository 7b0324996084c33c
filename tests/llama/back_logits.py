#!/usr/bin/env python3
# SPDX-License-Identifier: MIT
"""transformers loads what comes back of the tiny models that it has a class for, and computes the same numbers with
it as with the original. `back_logits.py TARE FOLDER [NAME...]`. Run by a Python that has torch, transformers and
numpy; exit 77: one is missing."""
import json
import os
import shutil
import subprocess
import sys

from checks import run_with_transformers

# Cohere's models have no head of their own, but tiny ones do; Mistral comes back as Llama, RoBERTa without its tokenizer
# as BERT; Qwen 3's experts are normalized in llama.cpp whatever config.json says, Gemma 2 and 3 scale by the width of
# a head, Granite 4 without state-space layers has positions; T5's three embeddings become one; transformers 5.23 cannot
# run Jamba, Phi 3 and ModernBERT with so few tokens. GLM-4.7-Flash without layers that predict more tokens comes back
# as DeepSeek V3, a model without a head as one with it; of BERT's classifier the pooler is lost.
OTHERS = {"command-r", "cohere2moe", "mistral", "ministral3", "roberta", "qwen3moe", "gemma2", "gemma3",
          "granitehybrid-attention", "t5", "jamba", "phi3", "modern-bert", "glm4moelite", "lfm2-model", "qwen2-model",
          "qwen3-model", "llama-model", "bert-classes", "roberta-classes"}
# What is folded into weights (Falcon H1's multipliers) rounds otherwise; the largest difference of a logit.
CLOSE = {"falcon-h1": 0.05, "mamba": 1e-4}


def load(path):
    import torch
    import transformers
    with open(os.path.join(path, "config.json")) as f:
        config = json.load(f)
    name = config["architectures"][0]
    cls = getattr(transformers, name, None)
    if cls is None or ("ConditionalGeneration" in name and "T5" not in name):  # towers have their full size
        return None, name
    return cls.from_pretrained(path, dtype=torch.float32, attn_implementation="eager", local_files_only=True).eval(), name


def tie(path):
    """A tiny model without a head shares its embeddings, whatever its config.json says."""
    with open(os.path.join(path, "model.safetensors"), "rb") as f:
        names = json.loads(f.read(int.from_bytes(f.read(8), "little")))
    with open(os.path.join(path, "config.json")) as f:
        config = json.load(f)
    if not any("lm_head" in name or "embed_out" in name for name in names):
        config["tie_word_embeddings"] = True
        with open(os.path.join(path, "config.json"), "w") as f:
            json.dump(config, f)


def answer(model):
    """The last numbers of a model for sixteen tokens."""
    import torch
    tokens = torch.arange(3, 19).reshape(1, 16)
    with torch.no_grad():
        if model.config.is_encoder_decoder:
            out = model(input_ids=tokens, decoder_input_ids=tokens)
        else:
            out = model(input_ids=tokens)
    return out.logits if hasattr(out, "logits") else out.last_hidden_state


def fault(tare, folder, name):
    """What is wrong; None: nothing; "": transformers has no such class, or cannot run the original."""
    import tiny_models
    model, gguf, back = (os.path.join(folder, name + x) for x in ("", ".gguf", "-back"))
    tiny_models.write(model, name)
    tie(model)
    try:
        was, cls = load(model)
        if was is None:
            return ""
        expected = answer(was)
    except Exception:  # noqa: BLE001 the tiny model is not one that transformers can run
        return ""
    types = ["--type", "f32"] if tiny_models.MODELS[name][1].get("dtype") == "F32" else []
    for args in ((model, gguf, "--no-tokenizer", *types), (gguf, back, "--to", "hf")):
        done = subprocess.run([tare, "convert", *args, "--quiet", "--no-sync", "--force"], capture_output=True, text=True)
        if "back to Hugging Face" in done.stderr:
            return ""
        if done.returncode:
            return done.stderr.strip()[-200:]
    if not os.path.exists(os.path.join(back, "config.json")):
        return ""
    try:
        now, other = load(back)
        if other != cls:
            return "comes back as " + other
        got = answer(now)
    except Exception as wrong:  # noqa: BLE001
        return "%s: %s" % (type(wrong).__name__, str(wrong)[:200])
    far = float((expected - got).abs().max())
    return None if far <= CLOSE.get(name, 0) else "logits differ by %g" % far


def main():
    import tiny_models
    tare, folder, *names = sys.argv[1:]
    shutil.rmtree(folder, ignore_errors=True)
    os.makedirs(folder)
    same, differ = [], 0
    for name in names or sorted(tiny_models.MODELS):
        print(name, end=" ", file=sys.stderr, flush=True)
        said = fault(tare, folder, name)
        if said is None:
            same.append(name)
        elif said and name not in OTHERS:
            print("%s: %s" % (name, said), flush=True)
            differ += 1
    shutil.rmtree(folder)
    print("%d models compute the same, %d do not: %s" % (len(same), differ, " ".join(same)))
    return differ > 0 or not same


if __name__ == "__main__":
    run_with_transformers(main)
