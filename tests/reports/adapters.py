#!/usr/bin/env python3
# SPDX-License-Identifier: MIT
"""Adapters of PEFT are held against the base that they are for: shapes, tied heads, weights that llama.cpp has no use for, settings
that mean more than factors. `adapters.py TARE FOLDER`"""
import json
import os
import sys

from side_parts import Program, floats, keys, np, put, read_safetensors, safetensors, save

P = "model.layers.0."
CONFIG = {"peft_type": "LORA", "r": 4, "lora_alpha": 8, "target_modules": ["q_proj"], "bias": "none"}


def adapter(p, pairs, rank=4, name="default", **config):
    """pairs: {module: (rows, cols)}"""
    folder, tensors = p.path("adapter"), {}
    rng = np.random.default_rng(3)
    for module, (rows, cols) in pairs.items():
        r = rank[module] if isinstance(rank, dict) else rank
        for letter, shape in (("A", (r, cols)), ("B", (rows, r))):
            middle = "" if name == "default" else name + "."
            tensors[f"base_model.model.{module}.lora_{letter}.{middle}weight"] = (rng.standard_normal(shape), "F32")
    save(folder + "/adapter_model.safetensors", tensors)
    put(folder + "/adapter_config.json", {**CONFIG, **config})
    return folder


def shapes(p):
    """Every kind of rule: rows sorted by heads, cut into several weights, in turns, transposed, stacked."""
    n_made = 0
    for model in ("llama", "phi3", "chatglm", "falcon-7b", "gptneox", "gemma2", "internlm2", "deepseek-v2", "mixtral", "bert"):
        base = p.model("base", of=model)
        there = read_safetensors(base + "/model.safetensors")[1]
        names = [n for n, (_, shape, _) in there.items() if ".0." in n and n.endswith(".weight") and len(shape) == 2][:5]
        for module, (rows, cols) in {n[:-7]: there[n][1] for n in names}.items():
            code, text = p.run("convert", base, p.path("out.gguf"), "--lora", adapter(p, {module: (rows, cols)}), "--force")
            p.expect(f"{model}: {module}", code == 0 or (code in (3, 5) and ("factors" in text or "belong together" in text)), text)
            n_made += code == 0
            for wrong in ((2 * rows, cols), (rows, cols + 32)):
                p.refused(f"{model}: {module} {wrong}", [module.split(".")[-1]], "convert", base, p.path("out2.gguf"), "--lora", adapter(p, {module: wrong}))
                p.expect("nothing is left behind", not os.path.exists(p.path("out2.gguf")))
    p.expect("most can be made", n_made > 20, str(n_made))
    base = p.model("base")
    p.refused("a norm", ["makes a matrix"], "convert", base, p.path("o.safetensors"), "--apply-adapter", adapter(p, {"model.layers.0.input_layernorm": (1, 64)}), codes=(2,))
    p.refused("another layer", ["layers.7"], "convert", base, p.path("o.gguf"), "--lora", adapter(p, {"model.layers.7.mlp.down_proj": (64, 96)}))


def heads(p):
    base = p.model("base")
    there = read_safetensors(base + "/model.safetensors")[1]
    rows, cols = there["model.embed_tokens.weight"][1]
    untied = adapter(p, {"lm_head": (rows, cols)})
    if "lm_head.weight" in there:
        code, text = p.run("convert", base, p.path("o.gguf"), "--lora", untied)
        p.expect("a head", code == 0 and "output.weight.lora_a" in floats(p.path("o.gguf")), text)
    tied = {n: (np.frombuffer(b, "<u2").reshape(s), "U16") for n, (k, s, b) in there.items() if n != "lm_head.weight"}
    put(base + "/model.safetensors", safetensors([(n, "BF16", list(x.shape), x.tobytes()) for n, (x, _) in tied.items()]))
    with open(base + "/config.json") as f:
        config = json.load(f)
    put(base + "/config.json", {**config, "tie_word_embeddings": True})
    p.refused("a tied head", ["lm_head", "tied"], "convert", base, p.path("o2.gguf"), "--lora", adapter(p, {"lm_head": (rows, cols)}))


def towers(p):
    base = p.model("base")
    tower, text_part = {"model.visual.blocks.0.attn.qkv": (64, 64)}, {P + "mlp.down_proj": (64, 96)}
    p.refused("a tower alone", ["visual", "nothing is left"], "convert", base, p.path("o.gguf"), "--lora", adapter(p, tower))
    code, text = p.run("convert", base, p.path("o.gguf"), "--lora", adapter(p, {**tower, **text_part}), "--force")
    p.expect("a part", code == 0 and len(floats(p.path("o.gguf"))) == 2 and "visual" in text and "warning" in text, text)
    p.refused("a part, strictly", ["visual"], "convert", base, p.path("o3.gguf"), "--lora", p.path("adapter"), "--strict", codes=(5,))
    save(p.path("adapter/adapter_model.safetensors"), {})
    p.refused("nothing at all", ["factors"], "convert", base, p.path("o3.gguf"), "--lora", p.path("adapter"))


def settings(p):
    base, module = p.model("base"), {P + "mlp.down_proj": (64, 96)}

    def convert(**config):
        return ["convert", base, p.path("o.gguf"), "--force", "--lora", adapter(p, module, **config)]
    for name, value in {"use_dora": True, "modules_to_save": ["lm_head"], "lora_bias": True, "layer_replication": [[0, 1]], "bias": "all",
                        "alora_invocation_tokens": [1], "target_parameters": ["x"], "trainable_token_indices": [4], "peft_type": "IA3",
                        "init_lora_weights": "pissa", "alpha_pattern": {"(down_": 16}, "use_qalora": True, "kasa_config": {"x": 1},
                        "a_setting_of_tomorrow": True, "use_rslora": "yes", "fan_in_fan_out": 1}.items():
        p.refused(name, ["closes" if name == "alpha_pattern" else name], *convert(**{name: value}))
        if name in ("a_setting_of_tomorrow", "use_rslora", "fan_in_fan_out"):
            p.refused(name + " merged", [name], "convert", base, p.path("o.gguf"), "--force", "--apply-adapter", adapter(p, module, **{name: value}))
    for name, value in {"init_lora_weights": True, "modules_to_save": None, "layer_replication": None, "alpha_pattern": {}, "use_dora": False,
                        "eva_config": {"rho": 2.0}, "auto_mapping": {"base_model_class": "X"}, "made_by": "somebody", "steps": 12}.items():
        code, text = p.run(*convert(**{name: value}))
        p.expect(f"{name}: {value}", code == 0, text)
    p.refused("another rank", ["r is 8", "4"], *convert(r=8))
    code, text = p.run(*convert(r=8, rank_pattern={"down_proj": 4}))
    p.expect("rank_pattern", code == 0 and keys(p.path("o.gguf"))["adapter.lora.alpha"] == 8, text)
    code, text = p.run(*convert(r=8, rank_pattern={"down_proj": 4}, use_rslora=True))  # the rest of the scale is in B
    p.expect("rank_pattern and rslora", code == 0 and abs(keys(p.path("o.gguf"))["adapter.lora.alpha"] - 8 * 8 ** 0.5) < 1e-4, text)
    p.refused("a second name", ["second"], "convert", base, p.path("o4.gguf"), "--lora", two_names(p))
    code, text = p.run("convert", base, p.path("o.gguf"), "--force", "--lora", adapter(p, module, name="mine"))
    p.expect("an adapter with a name", code == 0, text)


def two_names(p):
    folder = adapter(p, {P + "mlp.down_proj": (64, 96)})
    a, b = (np.zeros(s) for s in ((4, 96), (64, 4)))
    save(folder + "/adapter_model.safetensors", {f"base_model.model.{P}mlp.down_proj.lora_{x}.{n}weight": (t, "F32")
                                                  for x, t in (("A", a), ("B", b)) for n in ("", "mine.")})
    return folder


def as_models(p):
    """A folder or a file of factors is no model; its weights may be called as PyTorch's are."""
    folder = adapter(p, {P + "mlp.down_proj": (64, 96)})
    for path in (folder, folder + "/adapter_model.safetensors"):
        p.refused(f"as a model: {path}", ["--lora", "--apply-adapter"], "convert", path, p.path("o5.gguf"))
    code, text = p.run("convert", folder, p.path("kept.gguf"), "--keep-names")
    p.expect("with --keep-names", code == 0 and len(floats(p.path("kept.gguf"))) == 2, text)
    base = p.model("base")
    code, text = p.run("convert", base, p.path("o.gguf"), "--force", "--lora", folder + "/adapter_model.safetensors")
    p.expect("by its file", code == 0, text)
    os.rename(folder + "/adapter_model.safetensors", folder + "/adapter_model.bin")
    for option, out in (("--lora", "o6.gguf"), ("--apply-adapter", "o6.safetensors")):
        code, text = p.run("convert", base, p.path(out), "--force", option, folder)
        p.expect(f"PyTorch's name: {option}", code == 0, text)
    os.remove(folder + "/adapter_model.bin")
    for option, out in (("--lora", "o7.gguf"), ("--apply-adapter", "o7.safetensors")):
        p.refused(f"no weights: {option}", [r"adapter_model\.bin", "safetensors"], "convert", base, p.path(out), option, folder)


def main():
    p = Program()
    for part in (shapes, heads, towers, settings, as_models):
        part(p)
    return p.end("adapters")


if __name__ == "__main__":
    sys.exit(main())
