#!/usr/bin/env python3
# SPDX-License-Identifier: MIT
"""What the command does with towers beside converting them: info, quantize, the list of architectures, the note of
a text model that its tower is left out, options that do not go together. `towers.py TARE FOLDER`"""
import json
import os
import shutil
import sys

try:
    import tiny_models
    from checks import Checks
    from malformed import load, store
except ImportError as fault:
    print(f"SKIP: {fault}: run scripts/venv")
    sys.exit(77)


class Towers(Checks):
    """Of one model after the other in a folder, and one file."""

    def __init__(self, tare, folder):
        super().__init__(tare)
        self.model, self.out, self.no = (os.path.join(folder, name) for name in ("model", "out.gguf", "no.gguf"))

    def write(self, name):
        shutil.rmtree(self.model, ignore_errors=True)
        tiny_models.write(self.model, name)

    def convert(self):
        self.run("convert", self.model, self.out, "--mmproj", "--quiet", "--no-sync", "--force")

    def types(self):
        listed = json.loads(self.run("info", "--json", "-t", self.out).stdout)["models"][0]["tensors"]
        return {t["name"]: t["type"] for t in listed}


def quantized(t):
    run, check, model, out, types = t.run, t.check, t.model, t.out, t.types
    t.write("gemma3-vision")
    run("quantize", model, out, "Q8_0", "--mmproj", "--quiet", "--no-sync")
    made = types()
    check(f"quantize: the projector is {made['mm.input_projection.weight']}",
          made["mm.input_projection.weight"] == "f16")
    check("quantize: patches", made["v.patch_embd.weight"] == made["v.position_embd.weight"] == "f32")
    check("quantize: matrices", made["v.blk.0.attn_q.weight"] == "q8_0")
    run("quantize", model, out, "Q8_0", "--mmproj", "--quiet", "--no-sync", "--force", "--tensor-type",
        "mm.input_projection=f32")
    check("quantize: a rule counts before", types()["mm.input_projection.weight"] == "f32")


def shown(t):
    run, check, model, out = t.run, t.check, t.model, t.out
    t.write("gemma3-vision")
    t.convert()
    check("info", "reads it beside a text model (--mmproj): gemma3" in run("info", out).stdout)
    about = json.loads(run("info", "--json", out).stdout)["models"][0]
    check("info --json", about["llama_cpp"]["mmproj"] == "gemma3" and not about["llama_cpp"]["runs"])
    check("verify", json.loads(run("verify", "--json", out).stdout)["models"][0]["findings"] == [])
    was = open(out, "rb").read()
    config, tensors = load(model)
    store(model, config, {("model." + k if k.startswith(("vision_tower.", "multi_modal")) else k): v
                          for k, v in tensors.items()})
    t.convert()
    check("names that begin with model.", len(open(out, "rb").read()) == len(was))
    t.write("gemma3-vision")
    planned = json.loads(run("convert", "-n", "--json", model, "x.gguf", "--mmproj").stdout)["tensors"]
    projector = next(t for t in planned if t["name"] == "mm.soft_emb_norm.weight")
    check("dry run", projector["made_of"] == "multi_modal_projector.mm_soft_emb_norm.weight"
          and projector["operation"] == "add(1)")
    text = json.loads(run("convert", model, out, "--no-tokenizer", "--json", "--no-sync", "--force").stdout)
    check("the note of a text model", [f for f in text["findings"] if f["code"] == "llama.tower"])
    check("list", "mmproj gemma3" in run("convert", "--list-architectures").stdout)
    listed = json.loads(run("convert", "--list-architectures", "--json").stdout)["architectures"]
    check("list --json", any(a.get("mmproj") == "qwen2vl_merger" for a in listed))
    for more in (["--vocab-only"], ["--pre", "gpt-2"], ["--keep-names"]):
        run("convert", model, t.no, "--mmproj", *more, code=2)
    run("convert", out, t.no, "--mmproj", code=2)
    check("no file is left", not os.path.exists(t.no))


def without_inner(t):
    """CLIP and SigLIP as transformers 5.24 names them, which has no model inside of the tower: the same file."""
    inner = "vision_tower.vision_model."
    for name in ("gemma3-vision", "lfm2-vision", "llava"):
        t.write(name)
        config, tensors = load(t.model)
        t.check(f"{name} has the inner model", any(inner in k for k in tensors))
        files = []
        for renamed in (tensors, {k.replace(inner, "vision_tower."): v for k, v in tensors.items()}):
            store(t.model, config, renamed)
            t.convert()
            with open(t.out, "rb") as f:
                files.append(f.read())
        t.check(f"{name} without the inner model", files[0] == files[1])


def gemma3n(t):
    """llama.cpp does not convolve in BF16."""
    tiny_models.MODELS["gemma3n-senses"][1]["dtype"] = "BF16"
    t.write("gemma3n-senses")
    t.convert()
    t.check("gemma3n: F16", t.types()["v.blk.0.0.conv_exp.weight"] == "f16")


def llava(t):
    """The reference does not convert it: llama.cpp takes the output of the last block but one."""
    run, check, model, out, types = t.run, t.check, t.model, t.out, t.types
    t.write("llava")
    t.convert()
    made = types()
    check("llava: ends", {"v.class_embd", "v.pre_ln.weight", "mm.0.weight", "mm.2.bias"} <= set(made)
          and "v.post_ln.weight" not in made)
    check("llava: every block", "v.blk.3.ln1.weight" in made)
    config, tensors = load(model)
    store(model, dict(config, vision_feature_layer=-3), tensors)
    t.convert()
    check("llava: blocks behind", "v.blk.2.ln1.weight" in types() and "v.blk.3.ln1.weight" not in types())
    for member, value in (("vision_feature_layer", -1), ("vision_feature_select_strategy", "full"),
                          ("projector_hidden_act", "relu")):
        store(model, dict(config, **{member: value}), tensors)
        check(f"llava: {member}", member in run("convert", model, out, "--mmproj", "--force", code=5).stderr)


def activations(t):
    """What llama.cpp computes follows from the keys; another activation, or a word that nobody knows, is an error."""
    run, check, model, out = t.run, t.check, t.model, t.out
    for name, known, other in (("glm4v-vision", "swish", "relu"), ("janus", "gelu_pytorch_tanh", "quick_gelu"), ("qwen3vl-vision", "gelu", "silu"),
                               ("gemma3-vision", "gelu", "silu"), ("youtu-vision", "silu", "relu"), ("llama4-vision", "gelu", "relu")):
        t.write(name)
        config, tensors = load(model)
        for word, code in ((known, 0), (other, 5), ("spiral", 5)):
            store(model, dict(config, vision_config=dict(config["vision_config"], hidden_act=word)), tensors)
            said = run("convert", model, out, "--mmproj", "--force", "--no-sync", code=code).stderr
            check(f"{name}: {word}: {said}", code == 0 or "hidden_act" in said)


def lost(t):
    """Encoders have the same tensors in each block, and what stands before and behind the blocks: llama.cpp does not run others."""
    for name, gone in (("gemma3-vision", "layers.3.mlp.fc2.bias"), ("qwen2.5vl-vision", "blocks.1.norm2.weight"),
                       ("qwen2.5vl-vision", "patch_embed.proj.weight"), ("llava", "multi_modal_projector"), ("llava", "position_embedding.weight"),
                       ("ultravox", "audio_tower.layers.1.fc1.weight"), ("pixtral", "attention.o_proj"), ("janus", "aligner.fc1"), ("deepseek-ocr-vision", "sam_model.net_3"),
                       ("gemma4-omni", "layers.1.lconv1d.linear_end.input_max"), ("muse-glimmer-vision", "vision_projection"), ("muse-glimmer-vision", "ln_pre.bias"),
                       ("dots3note-omni", "blocks.1.mlp.fc2"), ("dots3note-omni", "blocks.3.mlp.gate_weight"), ("nemotron-nano-omni", "featurizer.fb"),
                       *((name, None) for name, (_, about) in tiny_models.MODELS.items() if about.get("tower"))):
        t.write(name)
        config, tensors = load(t.model)
        store(t.model, config, {k: v for k, v in tensors.items() if not gone or gone not in k})
        said = t.run("convert", t.model, t.out, "--mmproj", "--force", "--no-sync").stderr
        t.check(f"{name} without {gone}: {said}", ("llama.uneven" in said or "llama.lost" in said) == bool(gone))


def main():
    tare, folder = sys.argv[1:]
    shutil.rmtree(folder, ignore_errors=True)
    towers = Towers(tare, folder)
    for part in (quantized, shown, without_inner, gemma3n, llava, activations, lost):
        part(towers)
    shutil.rmtree(folder)
    return towers.end()


if __name__ == "__main__":
    sys.exit(main())
