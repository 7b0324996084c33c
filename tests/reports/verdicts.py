#!/usr/bin/env python3
# SPDX-License-Identifier: MIT
"""What llama.cpp would not run is not written without a word: conversion, quantize and edit say what lacks, and --force
writes it all the same. What transformers saves in other forms is the same model. `verdicts.py TARE FOLDER`"""
import json
import os
import re
import shutil
import struct
import sys

HERE = os.path.dirname(os.path.abspath(__file__))
sys.path[:0] = [os.path.join(HERE, "..", "llama"), os.path.join(HERE, "..", "support")]
try:
    import llama_runs
    import tiny_models
    from checks import Checks
    from gguf_parts import Gguf
    from malformed import load, store
    from safetensors_file import safetensors
except ImportError as fault:
    print(f"SKIP: {fault}: run scripts/venv")
    sys.exit(77)

OPTIONS = ("--no-tokenizer", "--no-sync", "--quiet", "--force")
EMBEDDINGS, HEAD = "model.embed_tokens.weight", "lm_head.weight"
GATES, UPS, DOWNS = ("gate_proj", "w1"), ("up_proj", "w3"), ("down_proj", "w2")


class Case(Checks):
    def __init__(self, tare, folder):
        super().__init__(tare)
        self.model, self.out, self.other = (os.path.join(folder, x) for x in ("model", "out.gguf", "other.gguf"))

    def tiny(self, name, change=None):
        """Config and tensors of a tiny model, changed, and written."""
        shutil.rmtree(self.model, ignore_errors=True)
        tiny_models.write(self.model, name)
        config, tensors = load(self.model)
        if change:
            change(config, tensors)
            store(self.model, config, tensors)
        return config, tensors

    def converted(self, name, change=None):
        """Tensors of the GGUF file; what was said."""
        self.tiny(name, change)
        done = self.run("convert", self.model, self.out, *[o for o in OPTIONS if o != "--quiet"])
        return {t[0]: t[1:] for t in Gguf(self.out).tensors} if done.returncode == 0 else {}, done.stderr

    def refused(self, what, *words, options=(), command=("convert",), path=None):
        """Refused in one line with the words, nothing written; with --force it is, and said."""
        if os.path.exists(self.out):
            os.remove(self.out)
        args = [*command, path or self.model, "-o" if command[0] == "edit" else self.out, *([self.out] if command[0] == "edit" else []),
                "--no-sync", *options]
        done = self.run(*args, code=5)
        self.check(f"{what}: {done.stderr}", all(w in done.stderr for w in (*words, "llama.cpp would not run", "--force")))
        self.check(f"{what}: something is written", not os.path.exists(self.out))
        done = self.run(*args, "--force")
        self.check(f"{what}, forced: {done.stderr}", "will not run the result" in done.stderr and os.path.exists(self.out))


# ---- results that llama.cpp would not run -------------------------------------------------------------

def without(*names):
    def change(config, tensors):
        for name in names:
            del tensors[name]
    return change


def fewer_rows(config, tensors):
    kind, (rows, cols), raw = tensors[HEAD]
    tensors[HEAD] = kind, [rows - 64, cols], raw[:len(raw) * (rows - 64) // rows]


def integers(config, tensors):
    name = "model.layers.0.self_attn.q_proj.weight"
    kind, shape, raw = tensors[name]
    tensors[name] = "I8", shape, bytes(shape[0] * shape[1])


def few_factors(config, tensors):
    half = config["hidden_size"] // config["num_attention_heads"] // 2
    config["rope_scaling"] = {"type": "longrope", "long_factor": [1.5] * (half - 2), "short_factor": [1.0] * (half - 2)}
    config["original_max_position_embeddings"] = 128


REFUSED = [
    ("llama", without("model.layers.1.mlp.up_proj.weight"), "blk.1.ffn_up.weight"),
    ("llama", without("model.norm.weight"), "output_norm.weight"),
    ("llama", without(EMBEDDINGS), "token_embd.weight"),
    ("qwen3", without("model.layers.0.self_attn.q_norm.weight"), "blk.0.attn_q_norm.weight"),
    ("llama", integers, "blk.0.attn_q.weight"),
    ("phi3", few_factors, "rope_factors_long.weight"),
    ("mamba2", without("backbone.layers.1.mixer.D"), "blk.1.ssm_d"),
    ("granitehybrid", without("model.layers.0.mamba.in_proj.weight"), "blk.0.ssm_in.weight"),
]


def check_refused(case):
    for name, change, word in REFUSED:
        case.tiny(name, change)
        case.refused(f"{name} without {word}", word, options=("--no-tokenizer",))
    case.tiny("llama", fewer_rows)
    llama_runs.write_tokenizer(case.model)
    case.refused("a head with fewer rows", "output.weight")


def check_files(case):
    """A file that runs is not made one that does not; a file that does not run may be worked on."""
    case.tiny("llama")
    llama_runs.write_tokenizer(case.model)
    case.run("convert", case.model, case.other, "--no-sync", "--quiet", "--force")
    case.run("edit", case.other, "--set", "general.name=other", "--no-sync", "--quiet")
    case.refused("an edit that drops a norm", "output_norm.weight", command=("edit",), path=case.other,
                 options=("--drop-tensors", "output_norm.weight"))
    case.refused("an edit that renames", "blk.1.ffn_up.weight", command=("edit",), path=case.other,
                 options=("--rename-tensor", "blk.1.ffn_up.weight=blk.1.up.weight"))
    gguf = Gguf(case.other)
    for key in ("feed_forward_length", "attention.head_count", "attention.head_count_kv", "attention.key_length",
                "attention.value_length", "rope.dimension_count"):
        gguf.write(case.out, gguf.tensors, [(k, t, bytes(len(v)) if k == "llama." + key else v) for k, t, v in gguf.key_list])
        said = json.loads(case.run("info", "--json", case.out).stdout)["models"][0]["llama_cpp"]
        case.check(f"{key} is 0, and llama.cpp is said to run it", not said["runs"])
    gguf.write(case.other, [t for t in gguf.tensors if t[0] != "output_norm.weight"])
    case.run("convert", case.other, case.out, "--type", "q8_0", "--no-sync", "--quiet", "--force")
    case.run("quantize", case.other, case.out, "Q8_0", "--no-sync", "--quiet", "--force")
    case.run("edit", case.other, "--set", "general.name=another", "--no-sync", "--quiet")


# ---- the same model in other forms ---------------------------------------------------------------------

def expert_parts(tensors):
    """{what stands before "experts.": {part: [names by number]}}"""
    found = {}
    for name in tensors:
        m = re.fullmatch(r"(.*\.experts\.)(\d+)\.(\w+)\.weight", name)
        if m and m.group(3) in GATES + UPS + DOWNS:
            found.setdefault(m.group(1), {}).setdefault(m.group(3), {})[int(m.group(2))] = name
    return found


def stacked(tensors, names):
    parts = [tensors.pop(names[i]) for i in range(len(names))]
    return parts[0][0], [len(parts), *parts[0][1]], b"".join(p[2] for p in parts)


def in_stacks(config, tensors):
    """Gates, ups and downs of all experts in one tensor each, whose name has no ".weight"."""
    for lead, parts in expert_parts(tensors).items():
        for part, names in parts.items():
            tensors[lead + part] = stacked(tensors, names)


def joined(config, tensors):
    """Gate above up, as transformers 5 has them."""
    for lead, parts in expert_parts(tensors).items():
        both = [next(p for p in parts if p in words) for words in (GATES, UPS)]
        n = len(parts[both[0]])
        raw = b"".join(tensors[parts[p][i]][2] for i in range(n) for p in both)
        kind, (rows, cols), _ = tensors[parts[both[0]][0]]
        for p in both:
            stacked(tensors, parts[p])
        down = next(p for p in parts if p in DOWNS)
        tensors[lead + "down_proj"] = stacked(tensors, parts[down])
        tensors[lead + "gate_up_proj"] = kind, [n, 2 * rows, cols], raw


def check_experts(case):
    n_same = 0
    for name in ("afmoe", "bailingmoe", "deepseek", "deepseek-v3", "dots1", "ernie4_5-moe", "exaone-moe", "glm4moe",
                 "hunyuan-moe", "llada-moe", "mellum", "mixtral", "olmoe", "phimoe", "qwen2moe", "qwen3moe", "lfm2moe"):
        before, _ = case.converted(name)
        for form in (in_stacks, joined):
            case.tiny(name, form)
            done = case.run("convert", case.model, case.out, *OPTIONS, code=None)
            after = {t[0]: t[1:] for t in Gguf(case.out).tensors} if done.returncode == 0 else before
            n_same += done.returncode == 0
            case.check(f"{name} {form.__name__}: {sorted(set(before) ^ set(after))[:4]}", before == after)
            case.check(f"{name} {form.__name__}: {done.stderr}", done.returncode == 0 or "experts" in done.stderr)
    case.check(f"only {n_same} models are the same with their experts in stacks", n_same >= 26)


def check_lost_layers(case):
    """Layers that predict more tokens, counted in config.json and not there."""
    for name in ("deepseek-v32", "exaone-moe", "exaone45", "glm-dsa", "glm-ocr", "glm4moe", "mimo2", "hy_v3"):
        counts = []

        def cut(config, tensors):
            n = config.get("text_config", config)["num_hidden_layers"]
            counts.append(n)
            for t in list(tensors):
                m = re.search(r"layers\.(\d+)\.", t)
                if t.startswith(("mtp.", "model.mtp.")) or (m and int(m.group(1)) >= n):
                    del tensors[t]
        before = case.tiny(name)[1]
        after = case.tiny(name, cut)[1]
        done = case.run("convert", case.model, case.out, *[o for o in OPTIONS if o != "--quiet"])
        keys = {k.split(".", 1)[1]: v for k, _, v in Gguf(case.out).key_list}
        case.check(f"{name}: {done.stderr}", ("llama.nextn-gone" in done.stderr) == (len(before) > len(after)) and "will not run" not in done.stderr)
        case.check(f"{name}: blocks", struct.unpack("<I", keys["block_count"])[0] == counts[0])
        case.check(f"{name}: layers", struct.unpack("<I", keys.get("nextn_predict_layers", bytes(4)))[0] == 0)


def check_uncounted_layers(case):
    """Layers that predict more tokens, there and counted nowhere: left out, and said."""
    def count(n):
        return lambda config, _: config.update(num_nextn_predict_layers=n)
    for name in ("exaone-moe", "nemotron-h-nextn"):
        whole, said = case.converted(name, count(1))
        case.check(f"{name}: counted: {said}", any(".nextn." in t for t in whole) and "uncounted" not in said)
        left, said = case.converted(name, count(0))
        case.run("convert", case.model, case.out, "--no-mtp", "--force", *OPTIONS)
        case.check(f"{name}: asked for", left.keys() == {t[0] for t in Gguf(case.out).tensors})
        rest = {t: v for t, v in whole.items() if not t.startswith(f"blk.{max(int(t.split('.')[1]) for t in whole if t.startswith('blk.'))}.")}
        case.check(f"{name}: {said} {set(left) ^ set(rest)}", left.keys() == rest.keys() and "llama.nextn-uncounted" in said)
    _, said = case.converted("deepseek4-nextn", count(0))
    case.check(f"in a file of their own: {said}", "llama.nextn-uncounted" in said and "llama.nextn-apart" not in said)


def check_heads(case):
    """A head that is the embeddings, stored under its own name alone."""
    def tie(config, tensors):
        config["tie_word_embeddings"] = True
        tensors[HEAD] = tensors.pop(EMBEDDINGS)

    def record(config, tensors):
        tensors[HEAD] = tensors.pop(EMBEDDINGS)
    case.tiny("llama")
    embeddings, _ = case.converted("llama", lambda c, t: t.pop(HEAD, None))
    tied, _ = case.converted("llama", tie)
    case.check("a tied head alone", tied == embeddings)
    config, tensors = case.tiny("llama", record)
    with open(os.path.join(case.model, "model.safetensors"), "wb") as f:
        f.write(safetensors(((n, *t) for n, t in tensors.items()), {"format": "pt", EMBEDDINGS: HEAD}))
    case.run("convert", case.model, case.out, *OPTIONS)
    case.check("the record of names that were one tensor", {t[0]: t[1:] for t in Gguf(case.out).tensors} == embeddings)

    def says(is_tied, has_head):
        def change(config, tensors):
            config["tie_word_embeddings"] = is_tied
            if has_head:
                tensors[HEAD] = tensors[EMBEDDINGS]
            else:
                tensors.pop(HEAD, None)
        return change
    for is_tied, has_head in ((True, True), (False, False), (True, False), (False, True)):
        _, said = case.converted("llama", says(is_tied, has_head))
        case.check(f"tied {is_tied}, a head {has_head}: {said}", ("llama.head" in said) == (is_tied == has_head))


def check_lists(case):
    """A list of equal numbers, one for each layer, is that number on the way back."""
    texts = []
    case.tiny("llama")
    llama_runs.write_tokenizer(case.model)
    case.run("convert", case.model, case.other, "--no-sync", "--quiet", "--force")
    gguf = Gguf(case.other)
    lists = [(k, 9, struct.pack("<IQII", 5, 2, *struct.unpack("<I", v) * 2)) if "head_count" in k or k.endswith("feed_forward_length")
             else (k, t, v) for k, t, v in gguf.key_list]
    for keys in (gguf.key_list, lists):
        gguf.write(case.other, gguf.tensors, keys)
        shutil.rmtree(case.model)
        case.run("convert", case.other, case.model, "--to", "hf", "--no-sync", "--quiet")
        with open(os.path.join(case.model, "config.json")) as f:
            texts.append(f.read())
    case.check("lists of heads: " + texts[-1], texts[0] == texts[1])


def check_names(case):
    """A weight whose name has no ".weight"."""
    before, _ = case.converted("llama")

    def rename(config, tensors):
        for name in ("model.norm", "model.layers.0.mlp.up_proj", EMBEDDINGS[:-7]):
            tensors[name] = tensors.pop(name + ".weight")
    after, _ = case.converted("llama", rename)
    case.check("names without .weight", before == after)


def main():
    tare, folder = sys.argv[1:]
    shutil.rmtree(folder, ignore_errors=True)
    os.makedirs(folder)
    case = Case(tare, folder)
    for check in (check_refused, check_files, check_experts, check_lost_layers, check_uncounted_layers, check_heads, check_names, check_lists):
        check(case)
    shutil.rmtree(folder)
    return case.end()


if __name__ == "__main__":
    sys.exit(main())
