#!/usr/bin/env python3
# SPDX-License-Identifier: MIT
"""Tiny models with towers become the two files of llama.cpp, these one Hugging Face model again, and this the two
files once more: the same tensors and keys. A tower alone goes the same way. `back_towers.py TARE FOLDER [KEEP]`"""
import json
import os
import shutil
import subprocess
import sys

try:
    import tiny_models
    from back_agrees import tensors
    from checks import Checks
    from compare_gguf import differences
except ImportError as fault:
    print(f"SKIP: {fault}: run scripts/venv")
    sys.exit(77)

# Those that come back as the class and with the names that they had; of CLIP and SigLIP llama.cpp has no use for the
# norm behind the blocks and the head.
BACK = {"gemma3-vision", "gemma3-vision-f16", "idefics3", "llava", "qwen2vl-vision", "qwen2.5vl-vision", "qwen3vl-vision",
        "qwen3vlmoe-vision", "pixtral", "mistral3-vision", "glm4v-vision"}
LEFT_OUT = ("vision_model.head.", "vision_model.post_layernorm.")
# Norms to which 1 is added, in F16.
ROUNDED = {"gemma3-vision-f16": "norm"}
# SmolVLM comes back as Idefics 3; InternVL as transformers stores it.
RENAMED = {"smolvlm", "internvl", "intern-s1"}
# Encoders that come back without a text model, as that of their tiny model has none.
ENCODERS = {"llama4-vision", "janus"}
ALONE = {"pixtral", "mistral3-vision"}  # one of the encoder's tensors is of the text model
QUIET = ["--quiet", "--no-sync", "--force"]
# Changes to an encoder's keys, and what is said of them.
BROKEN = ((["--set", "clip.vision.patch_size=7"], 3, "patch_embedding"),
          (["--set", "clip.vision.projection_dim=63"], 3, "another width"),
          (["--set", "clip.vision.block_count=4000"], 3, "more layers than the file has tensors"),
          (["--remove", "clip.vision.block_count"], 3, "clip.vision.block_count"),
          (["--remove", "clip.vision.image_mean"], 3, "image_mean"),
          (["--set", "clip.vision.image_size:string=text"], 3, "clip.vision.image_size"),
          (["--set", "clip.projector_type=resampler"], 5, "resampler"))


def two_files(checks, model, name, types):
    """The text model and the encoder of a directory."""
    out = [name + end for end in ("-text.gguf", "-mm.gguf")]
    checks.run("convert", model, out[0], "--no-tokenizer", *types, *QUIET)
    checks.run("convert", model, out[1], "--mmproj", *types, *QUIET)
    return out


def same(checks, name, a, b):
    if not (os.path.exists(a) and os.path.exists(b)):
        return checks.check(f"{name}: a file is missing", False)
    found = [f for f in differences(a, b) if "another order" not in f]
    checks.check(f"{name}: {found[:4]}", not found)


def sections(checks, name, back):
    """transformers takes sections of rotary positions in turns of three."""
    with open(os.path.join(back, "config.json")) as f:
        said = f.read()
    if "mrope_section" in said:
        rope = json.loads(said)["text_config"]
        rope = rope.get("rope_scaling") or rope.get("rope_parameters")
        checks.check(f"{name}: {rope}", len(rope["mrope_section"]) == 3)


def same_tensors(checks, name, was, now):
    lost = [t for t in was if t not in now and not any(part in t for part in LEFT_OUT)]
    checks.check(f"{name}: lost {lost[:3]}", not lost)
    other = [t for t in now if now[t] != was.get(t) and ROUNDED.get(name, "-") not in t]
    checks.check(f"{name}: other {[(t, now[t][:2], t in was and was[t][:2]) for t in other[:3]]}", not other)


def by_itself(checks, name, tower, alone, types):
    """The encoder's file becomes a directory, this the file; but for one that lacks its text model."""
    if name in ALONE:
        said = checks.run("convert", tower, alone, "--to", "hf", *QUIET, code=5).stderr
        return checks.check(f"{name} alone: {said}", "v.token_embd.img_break" in said)
    checks.run("convert", tower, alone, "--to", "hf", *QUIET)
    checks.run("convert", alone, alone + ".gguf", "--mmproj", *types, *QUIET)
    same(checks, name + " alone", tower, alone + ".gguf")


def there_and_back(checks, folder, name):
    model, back, alone = (os.path.join(folder, name + end) for end in ("", "-back", "-alone"))
    tiny_models.write(model, name)
    types = ["--type", "f32"] if tiny_models.MODELS[name][1].get("dtype") == "F32" else []
    text, tower = two_files(checks, model, model, types)
    said = checks.run("convert", text, back, "--to", "hf", "--with-mmproj", tower, *QUIET[1:]).stderr
    checks.check(f"{name}: {said}", "other-encoder" not in said)
    is_back = os.path.isdir(back)
    if name in ALONE and is_back:  # its processor's files alone do not say which token separates rows of a picture
        for file in ("tokenizer.json", "tokenizer_config.json"):
            if os.path.exists(os.path.join(model, file)):
                shutil.copy(os.path.join(model, file), back)
    for was, now in zip((text, tower), two_files(checks, back, model + "-again", types)):
        same(checks, name, was, now)
    if is_back:
        sections(checks, name, back)
    if name in BACK:
        same_tensors(checks, name, tensors(model), tensors(back) if is_back else {})
    by_itself(checks, name, tower, alone, types)


def encoder_alone(checks, folder, name):
    model, tower, alone = (os.path.join(folder, name + end) for end in ("", "-mm.gguf", "-alone"))
    tiny_models.write(model, name)
    checks.run("convert", model, tower, "--mmproj", *QUIET)
    by_itself(checks, name, tower, alone, [])
    was, now = tensors(model), tensors(alone) if os.path.isdir(alone) else {}
    other = [t for t in now if now[t] != was.get(t)]
    checks.check(f"{name}: other {other[:3]}", now and not other)


def refused(checks, folder):
    text, tower, no, broken = (os.path.join(folder, x) for x in (
        "gemma3-vision-text.gguf", "gemma3-vision-mm.gguf", "no", "broken.gguf"))
    other = os.path.join(folder, "llava-text.gguf")

    def check(what, args, code, part):
        said = checks.run("convert", *args, *QUIET, code=code).stderr
        checks.check(f"{what}: {said}", part in said and not os.path.exists(no) and not os.path.exists(no + ".gguf"))

    check("two encoders", (tower, no, "--to", "hf", "--with-mmproj", tower), 5, "not a text model")
    check("two text models", (text, no, "--to", "hf", "--with-mmproj", other), 5, "no encoder")
    check("to GGUF", (text, no + ".gguf", "--with-mmproj", tower), 2, "--with-mmproj")
    said = checks.run("convert", text, no, "--to", "hf", "--with-mmproj", os.path.join(folder, "qwen2vl-vision-mm.gguf"), *QUIET[1:]).stderr
    checks.check(f"the encoder of another model: {said}", "other-encoder" in said)
    shutil.rmtree(no)
    for change, code, part in BROKEN:
        shutil.copy(tower, broken)
        checks.run("edit", broken, *change, "--quiet", "--force")
        check(change, (text, no, "--to", "hf", "--with-mmproj", broken), code, part)


def main():
    tare, folder = sys.argv[1:3]
    shutil.rmtree(folder, ignore_errors=True)
    checks = Checks(tare)
    for name in sorted(BACK | RENAMED):
        there_and_back(checks, folder, name)
    for name in sorted(ENCODERS):
        encoder_alone(checks, folder, name)
    refused(checks, folder)
    if "KEEP" not in sys.argv:
        shutil.rmtree(folder)
    return checks.end()


if __name__ == "__main__":
    sys.exit(main())
