#!/usr/bin/env python3
# SPDX-License-Identifier: MIT
"""transformers loads what a text model and its encoder become together, and computes the same numbers with it as with
the original: logits of a text, vectors of a picture. `back_pictures.py TARE FOLDER [NAME...]`. Run by a Python
that has torch, transformers and numpy; exit 77: one is missing."""
import json
import os
import shutil
import subprocess
import sys

from checks import run_with_transformers

# InternVL's tiny models are not those of transformers: what comes back is only loaded.
LOADED = {"internvl", "intern-s1"}
NAMES = ("gemma3-vision", "idefics3", "smolvlm", "llava", "qwen2vl-vision", "qwen2.5vl-vision", "qwen3vl-vision",
         "qwen3vlmoe-vision", "glm4v-vision", "pixtral", "mistral3-vision", *sorted(LOADED))
# What llama.cpp has no use for, and no picture either.
UNUSED = ("vision_tower.head.", "vision_tower.post_layernorm.", "vision_model.head.", "vision_model.post_layernorm.")


def load(path):
    """The model; a fault where it lacks a tensor that counts or has one too many."""
    import torch
    import transformers
    with open(os.path.join(path, "config.json")) as f:
        name = json.load(f)["architectures"][0]
    model, about = getattr(transformers, name).from_pretrained(
        path, dtype=torch.float32, attn_implementation="eager", local_files_only=True, output_loading_info=True)
    wrong = [t for t in about["missing_keys"] if not any(part in t for part in UNUSED)] + list(about["unexpected_keys"])
    if wrong:
        raise ValueError("tensors %s" % wrong[:3])
    return model.eval()


def picture(model, name):
    """The vectors that go from the encoder to the text model."""
    import torch
    torch.manual_seed(1)
    v = model.config.vision_config
    if name.startswith(("qwen", "glm4v")):
        about = dict(pixel_values=torch.randn(16, 6 * v.patch_size ** 2), image_grid_thw=torch.tensor([[1, 4, 4]]))
    elif name in ("idefics3", "smolvlm"):
        about = dict(pixel_values=torch.randn(1, 1, 3, v.image_size, v.image_size))
    elif name in ("pixtral", "mistral3-vision"):
        about = dict(pixel_values=torch.randn(1, 3, 56, 56), image_sizes=torch.tensor([[56, 56]]))
    else:
        about = dict(pixel_values=torch.randn(1, 3, v.image_size, v.image_size))
    got = model.model.vision_tower(**about) if name == "pixtral" else model.get_image_features(**about)
    got = getattr(got, "pooler_output", None) if getattr(got, "pooler_output", None) is not None else got
    got = getattr(got, "last_hidden_state", got)
    while not torch.is_tensor(got):
        got = got[0]
    return got


def answers(model, name):
    import torch
    with torch.no_grad():
        return model(input_ids=torch.arange(3, 19).reshape(1, 16)).logits, picture(model, name)


def fault(tare, folder, name):
    """What is wrong; None: nothing."""
    import tiny_models
    model, text, tower, back = (os.path.join(folder, name + x) for x in ("", ".gguf", "-mm.gguf", "-back"))
    tiny_models.write(model, name)
    for args in ((model, text, "--no-tokenizer"), (model, tower, "--mmproj"), (text, back, "--to", "hf", "--with-mmproj", tower)):
        done = subprocess.run([tare, "convert", *args, "--quiet", "--no-sync"], capture_output=True, text=True)
        if done.returncode:
            return done.stderr.strip()[-200:]
    try:
        now = load(back)
        if name in LOADED:
            return None
        far = [float((a - b).abs().max()) for a, b in zip(answers(load(model), name), answers(now, name))]
    except Exception as wrong:  # noqa: BLE001
        return "%s: %s" % (type(wrong).__name__, str(wrong)[:200])
    return "logits differ by %g, a picture by %g" % tuple(far) if any(far) else None


def main():
    tare, folder, *names = sys.argv[1:]
    shutil.rmtree(folder, ignore_errors=True)
    os.makedirs(folder)
    found = {name: fault(tare, folder, name) for name in names or NAMES}
    shutil.rmtree(folder)
    for name, said in found.items():
        print("%s: %s" % (name, said or "the same"))
    return any(found.values())


if __name__ == "__main__":
    run_with_transformers(main)
