#!/usr/bin/env python3
# SPDX-License-Identifier: MIT
"""Tiny models become GGUF and Hugging Face models again: the same tensors, bit for bit, but for those
named below; and GGUF once more: the same keys and tensors. Guards the way back of every architecture.
`back_agrees.py TARE FOLDER`"""
import json
import os
import shutil
import struct
import subprocess
import sys

try:
    import tiny_models
    from compare_gguf import differences
except ImportError as fault:
    print(f"SKIP: {fault}: run scripts/venv")
    sys.exit(77)

# What llama.cpp has no place for, and what tiny models have twice with different numbers.
LEFT_OUT = ("pooler.dense.", "rotary_emb.inv_freq", "rotary_pos_emb.inv_freq", "layers.2.eh_proj.weight",
            "coder.embed_tokens.weight", "visual.", "model.vision.", "vit.", "vision_tower.", "sam_model.", "model.projector.", "mlp.gate.expert_bias", "mlp.experts.bias",
            "model.mtp_", "mtp.0.", "masked_embedding.")
# Numbers that are rounded on the way there: F16 + 1, exp() of F32; of tied embeddings the first; whole numbers of other width.
ROUNDED = {"falcon-h1": "", "jais": "", "sarvam": "", "deepseek4": "tid2eid", "deepseek4-nextn": "tid2eid", "dots3note": "_a_layernorm", "gemma3n": "embed_tokens", "gemma2": "norm.weight", "mamba": "A_log", "bailingmoe3": "A_log", "bailingmoe3-nextn": "A_log", "t5": "shared.weight", "t5encoder": "shared.weight"}
# Without a tokenizer RoBERTa cannot be told from BERT, whose names it gets; lists of layers of Jamba
# do not say by which rule they were made. RuGPT 3 comes back as GPT-2. MiMo's, Dots 3's and Nemotron H's layers that predict more tokens get the names of the others. Of a model with towers the text model comes back.
OTHER_NAMES = {"muse-glimmer", "dots3note-nextn", "nemotron-h-nextn", "glm5-next", "glm5-next-nextn", "jina-v3", "hy_v4", "roberta", "granite-speech", "mimo2", "mimo2-nextn", "mistral3", "janus", "sarashina2", "qwen3vl", "qwen3vlmoe", "glm4v", "glm-ocr", "minicpmv46", "lfm2-encoder", "mistral4", "llama-model", "llama-embed", "qwen2-model", "qwen3-model", "lfm2-model", "embeddinggemma", "embeddinggemma2", "rugpt3",
               "bert-classes", "roberta-classes", "distilbert-classes"}
OTHER_ORDER = {*ROUNDED, "dots3note-nextn", "nemotron-h-nextn", "mimo2", "mimo2-nextn", "qwen35-even", "glm4moelite", "rugpt3", "bert-classes", "roberta-classes", "distilbert-classes"}
OTHER_KEYS = {**dict.fromkeys(("deepseek4", "deepseek4-nextn"), ("deepseek4.attention.compress_ratios",)), "jamba": ("jamba.attention.head_count_kv",),
              "rugpt3": ("gpt2.attention.head_count_kv", "gpt2.rope.freq_base")}
# What was multiplied into weights, collected into keys, or left out, does not come back yet.
NO_WAY_BACK = {"arwkv7", "bitnet", "chameleon", "graniteswitch", "hrm_text", "kimi-k3", "lfm2-sound", "wavtokenizer"}


def tensors(directory):
    out = {}
    with open(os.path.join(directory, "model.safetensors"), "rb") as f:
        size = struct.unpack("<Q", f.read(8))[0]
        header = json.loads(f.read(size))
        for name, about in header.items():
            if name == "__metadata__":
                continue
            begin, end = about["data_offsets"]
            f.seek(8 + size + begin)
            out[name] = about["dtype"], about["shape"], f.read(end - begin)
    return out


def faults(tare, name, folder):
    model, back = os.path.join(folder, name), os.path.join(folder, "back", name)
    there, again = os.path.join(folder, "there.gguf"), os.path.join(folder, "again.gguf")
    tiny_models.write(model, name)
    was = tensors(model)
    types = ["--type", "f32"] if any(t[0] == "F32" for t in was.values()) else []
    more = ["--quiet", "--no-sync", "--force"]
    for args in ((model, there, "--no-tokenizer", *types), (there, back, "--to", "hf"),
                 (back, again, "--no-tokenizer", *types)):
        run = subprocess.run([tare, "convert", *args, *more], capture_output=True, text=True)
        if "back to Hugging Face" in run.stderr:
            return ["no way back"]
        if run.returncode:
            return [run.stderr.strip()]
        if "hf" in args and not os.path.exists(os.path.join(back, "config.json")):
            return ["no way back"]
    found = [f for f in differences(there, again, OTHER_KEYS.get(name, ())) if "another order" not in f or name not in OTHER_ORDER]
    if name in OTHER_NAMES:
        return found
    now = tensors(back)
    found += [f"{t}: lost" for t in was if t not in now and not any(part in t for part in LEFT_OUT)]
    found += [f"{t}: not in the model" for t in now if t not in was]
    found += [f"{t}: other numbers" for t in now
              if t in was and now[t] != was[t] and ROUNDED.get(name, "-") not in t]
    return found


def main():
    tare, folder, *chosen = sys.argv[1:]
    shutil.rmtree(folder, ignore_errors=True)
    os.makedirs(os.path.join(folder, "back"))
    failed = 0
    names = [n for n, (function, about) in sorted(tiny_models.MODELS.items())
             if "quantization_config" not in function()[0] and not about.get("tower")]
    for name in chosen or names:  # codes that were unpacked and towers do not come back
        found = faults(tare, name, folder)
        if (found == ["no way back"]) != (name in NO_WAY_BACK):
            found = found or ["has a way back"]
        elif name in NO_WAY_BACK:
            found = []
        failed += bool(found)
        if found:
            print("\n  ".join([name + ":"] + found[:6]))
    shutil.rmtree(folder)
    print(f"{len(chosen or names)} models there and back, {failed} differ")
    return failed > 0


if __name__ == "__main__":
    sys.exit(main())
