#!/usr/bin/env python3
# SPDX-License-Identifier: MIT
"""PEFT's logits judge adapters. Tiny models of logits_models.py get adapters with random numbers, and llama.cpp says what PEFT
says: with the adapter beside the base (`--lora`), and with it merged on the way (`--apply-adapter`). `lora_logits.py TARE FOLDER
[NAME...]`, run by a Python that has the packages of python/hosts-requirements.txt and peft; exit 77: one is missing."""
import os
import re
import shutil
import subprocess
import sys
import zlib

from checks import need
from logits import NEAR, aside, distance, make

DENSE = dict(target_modules="all-linear")
HEAD = dict(target_modules=["q_proj", "embed_tokens", "lm_head"])
DORA = dict(DENSE, use_dora=True)
STACKS = dict(target_modules=[], target_parameters=["experts.gate_up_proj", "experts.down_proj"])
MERGED = "llama.cpp's adapters have no such thing"

# name: (model, members of LoraConfig[, why there is no adapter beside the base])
ADAPTERS = {
    **{name: (name, DENSE) for name in (
        "apertus", "arcee", "cohere", "cohere2", "ernie4_5", "exaone4", "falcon-7b", "falcon-40b", "gemma", "gemma2", "gemma3", "glm", "glm4",
        "gpt-neox", "granite", "hunyuan-dense", "llama", "mistral", "nemotron", "olmo2", "phi3", "qwen2", "qwen3", "qwen3_5", "smollm3",
        "stablelm", "starcoder2")},
    "afmoe": ("afmoe", dict(target_modules=["q_proj", "k_proj", "v_proj"])),
    "bloom": ("bloom", dict(target_modules=["query_key_value", "dense_4h_to_h"])),
    "gpt2": ("gpt2", dict(target_modules=["c_attn", "c_fc", "mlp.c_proj"], fan_in_fan_out=True)),
    "gpt2-square": ("gpt2", dict(target_modules=["attn.c_proj"], fan_in_fan_out=True)),
    "deepseek-v3": ("deepseek-v3", dict(target_modules=["o_proj"])),
    "deepseek-v3-queries": ("deepseek-v3", dict(target_modules=["q_a_proj", "q_b_proj"]), "llama.cpp computes with these without adapters"),
    "deepseek-v3-values": ("deepseek-v3", dict(target_modules=["kv_b_proj"]), "llama.cpp has the keys' part of kv_b_proj transposed by heads"),
    "qwen3-moe-attention": ("qwen3-moe", dict(target_modules=["q_proj", "v_proj"])),
    "granite-hybrid": ("granite-hybrid", dict(target_modules=["q_proj", "k_proj", "out_proj"])),
    "ranks": ("llama", dict(DENSE, rank_pattern={"q_proj": 8, r"layers\.[01]\.mlp\.up_proj": 2})),
    "alphas": ("llama", dict(DENSE, alpha_pattern={"k_proj": 5, r"model.layers.1..*v_proj": 32})),
    "stabilized": ("llama", dict(DENSE, use_rslora=True, rank_pattern={"v_proj": 9})),
    "one-layer": ("llama", dict(target_modules=["q_proj", "down_proj"], layers_to_transform=[1])),
    "head": ("llama", HEAD),
    "embeddings": ("qwen3", dict(target_modules=["embed_tokens"])),
    "dora": ("llama", DORA, MERGED),
    "dora-scaled": ("qwen3", dict(DORA, use_rslora=True, alpha_pattern={"k_proj": 5}), MERGED),
    "dora-conv1d": ("gpt2", dict(target_modules=["c_attn", "c_fc"], fan_in_fan_out=True, use_dora=True), MERGED),
    "dora-head": ("llama", dict(HEAD, use_dora=True), MERGED),
    "dora-fused": ("falcon-40b", DORA, MERGED),
    "whole-head": ("llama", dict(DENSE, modules_to_save=["lm_head"]), MERGED),
    "whole-embeddings": ("llama", dict(DENSE, modules_to_save=["embed_tokens", "input_layernorm"]), MERGED),
    "dora-and-whole": ("gemma2", dict(DORA, modules_to_save=["norm"]), MERGED),
    **{name + "-experts": (name, STACKS, MERGED) for name in ("gemma4-moe", "glm4-moe", "granite-hybrid", "granite-moe", "llama4", "mixtral", "qwen3-moe")},
    "experts-and-attention": ("qwen3-moe", dict(STACKS, target_modules=["q_proj"], rank_pattern={"experts.down_proj": 3, "q_proj": 5},
                                                use_rslora=True), MERGED),
    "experts-gates": ("gpt-oss", dict(STACKS, target_parameters=["experts.gate_up_proj"], alpha_pattern={"gate_up_proj": 3}), MERGED),
    "experts-down": ("mixtral", dict(STACKS, target_parameters=["experts.down_proj"]), MERGED),
    "experts-router": ("qwen3-moe", dict(STACKS, target_parameters=["mlp.gate.weight", "experts.gate_up_proj"]), MERGED),
    "biases": ("starcoder2", dict(DENSE, lora_bias=True), MERGED),
    "base-biases": ("qwen2", dict(target_modules=["q_proj", "down_proj"], bias="all"), MERGED),
    "base-biases-of-some": ("starcoder2", dict(target_modules=["q_proj", "c_fc"], bias="lora_only", exclude_modules=["layers.1.self_attn.q_proj"]), MERGED),
    "biases-scaled": ("qwen2", dict(target_modules=["q_proj", "v_proj"], lora_bias=True, use_rslora=True), MERGED),
}


def adapt(folder, name, ids):
    """The adapter's directory beside the model's; PEFT's logits."""
    import peft
    import torch
    import transformers
    with torch.no_grad():
        model = transformers.AutoModelForCausalLM.from_pretrained(folder, dtype=torch.float32, attn_implementation="eager").eval()
        members = dict(dict(r=4, lora_alpha=8, task_type="CAUSAL_LM"), **ADAPTERS[name][1])
        model = peft.get_peft_model(model, peft.LoraConfig(**members)).eval()
        g = torch.Generator().manual_seed(zlib.crc32(name.encode()))
        for path, p in model.named_parameters():
            if "magnitude" in path:
                p.mul_(1 + 0.2 * torch.rand(p.shape, generator=g))
            elif re.search("lora_|modules_to_save", path) or (path.endswith(".bias") and p.requires_grad):
                p.add_(0.3 * torch.randn(p.shape, generator=g))
        model.save_pretrained(folder + ".lora")
        return model(input_ids=torch.tensor([ids])).logits[0].numpy()


def convert(tare, *args):
    """What tare has against it."""
    run = subprocess.run([tare, "convert", *args, "--type", "f32", "--no-sync", "--force", "--quiet"], capture_output=True, text=True)
    return run.returncode and run.stderr.strip().split("\n")[-1]


def judge(tare, library, folder, name):
    """(beside, merged): None where the numbers are equal, else what is seen."""
    import numpy as np
    from llama_library import Model
    model, base, lora, merged = (os.path.join(folder, name + x) for x in ("", ".gguf", ".lora.gguf", ".merged.gguf"))
    make(model, ADAPTERS[name][0])
    ids = [int(i) for i in np.random.default_rng(zlib.crc32(name.encode())).integers(3, 350, 40)]
    want = adapt(model, name, ids)

    def seen(fault, path, adapter=None):
        said = fault or aside(lambda: distance(Model(library, path).logits(ids, adapter=adapter), want))
        return None if re.fullmatch(r"[\d.e-]+", said) and float(said) <= NEAR else said
    fault = convert(tare, model, base)
    beside = seen(fault or convert(tare, model, lora, "--lora", model + ".lora"), base, lora)
    return beside, seen(convert(tare, model, merged, "--apply-adapter", model + ".lora"), merged)


def main(tare, folder, *names):
    import torch
    import transformers
    from llama_library import Library
    torch.set_num_threads(1)
    torch.set_grad_enabled(False)
    transformers.utils.logging.set_verbosity_error()
    transformers.utils.logging.disable_progress_bar()
    library, faults = Library(), 0
    if not library.is_known():
        print("llama_library.py: the structs of this xllamacpp are others")
        return 1
    for name in names or ADAPTERS:
        shutil.rmtree(folder, ignore_errors=True)
        os.makedirs(folder)
        is_merged = len(ADAPTERS[name]) > 2
        beside, merged = judge(tare, library, folder, name)
        if merged:
            print(f"{name}, merged: {merged}"[:250], flush=True)
        if bool(beside) != is_merged or (is_merged and not beside.startswith("tare: ")):
            print(f"{name}, beside: " + (beside or "equal, though this was known: " + ADAPTERS[name][2])[:250], flush=True)
        faults += bool(merged) + (bool(beside) != is_merged)
    shutil.rmtree(folder, ignore_errors=True)
    print(f"{len(names) or len(ADAPTERS)} adapters, {faults} not as they should be")
    return faults > 0


if __name__ == "__main__":
    os.environ.update(HF_HUB_OFFLINE="1", TOKENIZERS_PARALLELISM="false", GGML_NO_BACKTRACE="1")
    need("python/hosts-requirements.txt", "numpy", "torch", "transformers", "xllamacpp", "peft")
    sys.exit(main(*sys.argv[1:]))
