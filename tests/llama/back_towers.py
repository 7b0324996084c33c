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


def main():
    tare, folder = sys.argv[1:3]
    shutil.rmtree(folder, ignore_errors=True)
    checks = Checks(tare)
    quiet = ["--quiet", "--no-sync", "--force"]

    def files(model, name, types):
        out = [os.path.join(folder, name + end) for end in ("-text.gguf", "-mm.gguf")]
        checks.run("convert", model, out[0], "--no-tokenizer", *types, *quiet)
        checks.run("convert", model, out[1], "--mmproj", *types, *quiet)
        return out

    def same(name, a, b):
        if not (os.path.exists(a) and os.path.exists(b)):
            return checks.check(f"{name}: a file is missing", False)
        found = [f for f in differences(a, b) if "another order" not in f]
        checks.check(f"{name}: {found[:4]}", not found)

    for name in sorted(BACK | RENAMED):
        model, back, alone = (os.path.join(folder, name + end) for end in ("", "-back", "-alone"))
        tiny_models.write(model, name)
        types = ["--type", "f32"] if tiny_models.MODELS[name][1].get("dtype") == "F32" else []
        text, tower = files(model, name, types)
        checks.run("convert", text, back, "--to", "hf", "--with-mmproj", tower, *quiet)
        if name in ALONE and os.path.isdir(back):  # its processor's files alone do not say which token separates rows of a picture
            for file in ("tokenizer.json", "tokenizer_config.json"):
                if os.path.exists(os.path.join(model, file)):
                    shutil.copy(os.path.join(model, file), back)
        for was, now in zip((text, tower), files(back, name + "-again", types)):
            same(name, was, now)
        if os.path.isdir(back) and "mrope_section" in (said := open(os.path.join(back, "config.json")).read()):
            rope = json.loads(said)["text_config"]  # transformers takes these in turns of three
            rope = rope.get("rope_scaling") or rope.get("rope_parameters")
            checks.check(f"{name}: {rope}", len(rope["mrope_section"]) == 3)
        if name in BACK:
            was, now = tensors(model), tensors(back) if os.path.isdir(back) else {}
            lost = [t for t in was if t not in now and not any(part in t for part in LEFT_OUT)]
            checks.check(f"{name}: lost {lost[:3]}", not lost)
            other = [t for t in now if now[t] != was.get(t) and ROUNDED.get(name, "-") not in t]
            checks.check(f"{name}: other {[(t, now[t][:2], t in was and was[t][:2]) for t in other[:3]]}", not other)
        if name in ALONE:
            said = checks.run("convert", tower, alone, "--to", "hf", *quiet, code=5).stderr
            checks.check(f"{name} alone: {said}", "v.token_embd.img_break" in said)
        else:
            checks.run("convert", tower, alone, "--to", "hf", *quiet)
            again = alone + ".gguf"
            checks.run("convert", alone, again, "--mmproj", *types, *quiet)
            same(name + " alone", tower, again)
    for name in sorted(ENCODERS):
        model, tower, alone = (os.path.join(folder, name + end) for end in ("", "-mm.gguf", "-alone"))
        tiny_models.write(model, name)
        checks.run("convert", model, tower, "--mmproj", *quiet)
        checks.run("convert", tower, alone, "--to", "hf", *quiet)
        checks.run("convert", alone, alone + ".gguf", "--mmproj", *quiet)
        same(name, tower, alone + ".gguf")
        was, now = tensors(model), tensors(alone) if os.path.isdir(alone) else {}
        other = [t for t in now if now[t] != was.get(t)]
        checks.check(f"{name}: other {other[:3]}", now and not other)
    # what does not go together
    text, tower, no = (os.path.join(folder, x) for x in ("gemma3-vision-text.gguf", "gemma3-vision-mm.gguf", "no"))
    other = os.path.join(folder, "llava-text.gguf")
    for args, code, part in (((tower, no, "--to", "hf", "--with-mmproj", tower), 5, "no text model"),
                             ((text, no, "--to", "hf", "--with-mmproj", other), 5, "no encoder"),
                             ((text, no + ".gguf", "--with-mmproj", tower), 2, "--with-mmproj")):
        said = checks.run("convert", *args, *quiet, code=code).stderr
        checks.check(f"refused: {said}", part in said and not os.path.exists(no) and not os.path.exists(no + ".gguf"))
    # what an encoder's keys must say
    broken = os.path.join(folder, "broken.gguf")
    for change, code, part in ((["--set", "clip.vision.patch_size=7"], 3, "patch_embedding"),
                               (["--set", "clip.vision.projection_dim=63"], 3, "another width"),
                               (["--set", "clip.vision.block_count=4000"], 3, "more layers than the file has tensors"),
                               (["--remove", "clip.vision.block_count"], 3, "clip.vision.block_count"),
                               (["--remove", "clip.vision.image_mean"], 3, "image_mean"),
                               (["--set", "clip.vision.image_size:string=text"], 3, "clip.vision.image_size"),
                               (["--set", "clip.projector_type=resampler"], 5, "resampler")):
        shutil.copy(tower, broken)
        checks.run("edit", broken, *change, "--quiet", "--force")
        said = checks.run("convert", text, no, "--to", "hf", "--with-mmproj", broken, *quiet, code=code).stderr
        checks.check(f"{change}: {said}", part in said and not os.path.exists(no))
    if "KEEP" not in sys.argv:
        shutil.rmtree(folder)
    return checks.end()


if __name__ == "__main__":
    sys.exit(main())
