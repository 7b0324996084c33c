#!/usr/bin/env python3
# SPDX-License-Identifier: MIT
"""PEFT adapters of tiny models become adapters of llama.cpp: rows of B go where those of the weight go, A stays,
alpha is the one that gives PEFT's scale. `lora.py TARE FOLDER`"""
import json
import os
import shutil
import subprocess
import sys

try:
    import numpy as np
    import tiny_models
    from gguf import GGUFReader
except ImportError as fault:
    print(f"SKIP: {fault}: run scripts/venv")
    sys.exit(77)

sys.path.insert(0, os.path.join(os.path.dirname(os.path.abspath(__file__)), "../support"))
from safetensors_file import read_safetensors, safetensors  # noqa: E402

P = "model.layers.0."


def write_adapter(folder, factors, **config):
    os.makedirs(folder, exist_ok=True)
    with open(os.path.join(folder, "adapter_model.safetensors"), "wb") as f:
        f.write(safetensors(("base_model.model." + name, "F32", x.shape, x.astype("<f4").tobytes())
                            for name, x in factors.items()))
    with open(os.path.join(folder, "adapter_config.json"), "w") as f:
        json.dump({"peft_type": "LORA", "r": 4, "lora_alpha": 16, **config}, f)


def read_numbers(path):
    """Tensors in F32 and BF16."""
    return {k: np.frombuffer(raw, "<f4").reshape(shape).copy() if kind == "F32" else
            (np.frombuffer(raw, "<u2").astype(np.uint32) << 16).view(np.float32).reshape(shape) for k, (kind, shape, raw) in read_safetensors(path)[1].items()}


def pair(name, rows, cols, rank=4):
    r = np.random.default_rng(len(name) * rows + cols)
    return {name + ".lora_A.weight": r.standard_normal((rank, cols)).astype(np.float32),
            name + ".lora_B.weight": r.standard_normal((rows, rank)).astype(np.float32)}


def permuted(w, heads):
    return w.reshape(heads, 2, w.shape[0] // heads // 2, -1).swapaxes(1, 2).reshape(w.shape)


def b_of(factors):
    return list(factors.values())[1]


class Case:
    def __init__(self, tare, folder):
        self.tare, self.folder, self.found = tare, folder, []

    def convert(self, model, factors, **config):
        base, adapter, out = (os.path.join(self.folder, n) for n in (model, "adapter", "out.gguf"))
        shutil.rmtree(adapter, ignore_errors=True)
        tiny_models.write(base, model)
        write_adapter(adapter, factors, **config)
        if os.path.exists(out):
            os.remove(out)
        run = subprocess.run([self.tare, "convert", base, out, "--lora", adapter, "--quiet", "--no-sync"],
                             capture_output=True, text=True)
        return run, GGUFReader(out) if run.returncode == 0 else os.path.exists(out)

    def expect(self, what, is_right):
        if not is_right:
            self.found.append(what)

    def accepted(self, title, model, factors, wanted, alpha, **config):
        run, made = self.convert(model, factors, **config)
        if run.returncode:
            self.found.append(f"{title}: {run.stderr.strip()}")
            return
        tensors = {t.name: t.data for t in made.tensors}
        keys = {f.name: f.contents() for f in made.fields.values()}
        self.expect(f"{title}: tensors {sorted(tensors)}", set(tensors) == set(wanted))
        for name in set(tensors) & set(wanted):
            self.expect(f"{title}: {name}", np.array_equal(tensors[name], wanted[name]))
        self.expect(f"{title}: keys", keys["general.type"] == "adapter" and keys["adapter.type"] == "lora" and
                    abs(keys["adapter.lora.alpha"] - alpha) < 1e-4)

    def merge(self, factors, model="llama", **config):
        """One way: into the base as Hugging Face has it."""
        base, adapter, out = (os.path.join(self.folder, n) for n in (model, "adapter", "merged"))
        for old in (adapter, out):
            shutil.rmtree(old, ignore_errors=True)
        tiny_models.write(base, model)
        write_adapter(adapter, factors, **config)
        run = subprocess.run([self.tare, "convert", base, out, "--to", "hf", "--type", "f32", "--apply-adapter", adapter, "--quiet", "--no-sync"],
                             capture_output=True, text=True)
        return run, base, out

    def merged(self, title, factors, others, taken=None, turned=False, **config):
        """What PEFT's formulas make of the base; `others`: a magnitude of so many rows for each pair, whole tensors; `taken`: the
        modules whose factors count, all but the embeddings' may lie turned."""
        r, n = np.random.default_rng(7), others.get("magnitude")
        modules = sorted({name[:name.index(".lora_")] for name in factors})
        rest = {m + ".lora_magnitude_vector": 1 + r.random(n).astype(np.float32) for m in modules if n}
        rest.update({name: np.round(16 * r.standard_normal(shape)).astype(np.float32) / 16 for name, shape in others.items() if name != "magnitude"})
        run, base, out = self.merge({**factors, **rest}, **config)
        if run.returncode:
            self.found.append(f"{title}: {run.stderr.strip()}")
            return
        had, has = (read_numbers(os.path.join(d, "model.safetensors")) for d in (base, out))
        scale = 16 / (2 if config.get("use_rslora") else 4)
        for m in modules if taken is None else taken:
            product = scale * factors[m + ".lora_B.weight"] @ factors[m + ".lora_A.weight"]
            w = had[m + ".weight"] + (product.T if turned else product)
            if n:
                w *= (rest[m + ".lora_magnitude_vector"] / np.linalg.norm(w, axis=1))[:, None]
            had[m + ".weight"] = w
        had.update({name.replace(".base_layer.", "."): x for name, x in rest.items() if name.replace(".base_layer.", ".") in had})
        for name, x in had.items():
            self.expect(f"{title}: {name}", x.shape == has[name].shape and np.abs(x - has[name]).max() < 1e-5)

    def unmerged(self, title, word, factors, **config):
        run, _, out = self.merge(factors, **config)
        self.expect(f"{title}: {run.stderr.strip()}", run.returncode in (2, 3, 5) and word in run.stderr and not os.path.exists(out))

    def refused(self, title, word, model, factors, **config):
        run, is_left = self.convert(model, factors, **config)
        lines = run.stderr.strip().split("\n")
        self.expect(f"{title}: {run.stderr.strip()}",
                    run.returncode in (3, 5) and len(lines) <= 2 and word in lines[-1] and not is_left)


def main():
    tare, folder = sys.argv[1:]
    shutil.rmtree(folder, ignore_errors=True)
    os.makedirs(folder)
    case = Case(tare, folder)
    q, v, down = (pair(P + n, *s) for n, s in (("self_attn.q_proj", (64, 64)), ("self_attn.v_proj", (32, 64)),
                                               ("mlp.down_proj", (64, 96))))

    def two(to, factors, b=None):
        a_name, b_name = factors
        return {f"blk.0.{to}.weight.lora_a": factors[a_name],
                f"blk.0.{to}.weight.lora_b": factors[b_name] if b is None else b}
    b = list(q.values())[1]
    wanted = {**two("attn_q", q, permuted(b, 4)), **two("attn_v", v), **two("ffn_down", down)}
    case.accepted("llama", "llama", {**q, **v, **down}, wanted, 16)
    case.accepted("rank-stabilized", "llama", q, two("attn_q", q, permuted(b, 4)), 32, use_rslora=True)
    fused = pair(P + "self_attn.qkv_proj", 256, 64)
    b = list(fused.values())[1]
    case.accepted("ernie4_5", "ernie4_5", fused,
                  {**two("attn_q", fused, b[:128]), **two("attn_k", fused, b[128:192]), **two("attn_v", fused, b[192:])}, 16)
    half = dict(list(q.items())[:1])
    case.refused("one factor", "lora_A", "llama", half)
    case.refused("another rank", "rank", "llama", {**half, **dict(list(pair(P + "self_attn.q_proj", 64, 64, 8).items())[1:])})
    for odd in (np.nan, np.inf):
        broken = {k: x.copy() for k, x in q.items()}
        b_of(broken)[63, 3] = odd
        case.refused(f"{odd} in a factor", "NaN or Inf in a factor", "llama", broken)
    case.refused("DoRA", "DoRA", "llama", q, use_dora=True)
    case.accepted("alphas by module", "llama", q, two("attn_q", q, permuted(b_of(q), 4) / 2), 16, alpha_pattern={"self_attn.q_proj": 8})
    for odd in ([1, 2], 5, "q_proj"):
        case.refused("alphas that are none", "alpha_pattern: expected an object", "llama", q, alpha_pattern=odd)
        case.refused("ranks that are none", "rank_pattern: expected an object", "llama", q, rank_pattern=odd)
    case.accepted("alphas, a dot for any character", "llama", q, two("attn_q", q, permuted(b_of(q), 4) / 2), 16, alpha_pattern={"self.attn.q_proj": 8})
    case.accepted("a pattern of alphas", "llama", q, two("attn_q", q, permuted(b_of(q), 4) / 2), 16, alpha_pattern={r".*layers\.\d\..*q_proj": 8})
    case.refused("no pattern", "closes", "llama", q, alpha_pattern={"(q_proj": 8})
    case.accepted("what PEFT saves of the base", "llama", {**q, P + "self_attn.q_proj.base_layer.weight": np.zeros((64, 64), np.float32)},
                  two("attn_q", q, permuted(b_of(q), 4)), 16)
    embedding = {"model.embed_tokens.lora_embedding_A": np.random.default_rng(1).standard_normal((4, 320)).astype(np.float32),
                 "model.embed_tokens.lora_embedding_B": np.random.default_rng(2).standard_normal((64, 4)).astype(np.float32)}
    first, second = embedding.values()
    case.accepted("embeddings", "llama", embedding, {"token_embd.weight.lora_a": first.T, "token_embd.weight.lora_b": second}, 16)
    for name, weight, heads in (("gptneox", "gpt_neox.layers.0.attention.query_key_value", 4), ("bloom", "h.0.self_attention.query_key_value", 4)):
        qkv = pair(weight, 192, 64)
        turned = b_of(qkv).reshape(heads, 3, 16, 4).swapaxes(0, 1).reshape(192, 4)
        case.accepted(name, name, qkv, two("attn_qkv", qkv, turned), 16)
    square = pair("transformer.h.0.attn.c_proj", 64, 64)
    conv = pair("transformer.h.0.attn.c_attn", 192, 64)
    case.accepted("Conv1D", "gpt2", {**square, **conv}, {**two("attn_output", square), **two("attn_qkv", conv)}, 16, fan_in_fan_out=False)
    columns = pair("model.layers.0.linear_attn.out_proj", 64, 64)
    kd = tiny_models.MODELS["qwen35"][0]()[0]
    kh, vh, vd = kd["linear_num_key_heads"], kd["linear_num_value_heads"], kd["linear_value_head_dim"]
    a = columns[list(columns)[0]].reshape(4, kh, vh // kh, vd).swapaxes(1, 2).reshape(4, 64)
    case.accepted("columns", "qwen35", columns, {"blk.0.ssm_out.weight.lora_a": a, "blk.0.ssm_out.weight.lora_b": b_of(columns)}, 16)
    case.refused("no alpha", "lora_alpha", "llama", q, lora_alpha=0)
    case.refused("a whole module", "lm_head", "llama", {**q, "lm_head.weight": np.zeros((320, 64))})
    case.refused("what llama.cpp does not adapt", "nothing of the adapter works", "minicpm3", pair(P + "self_attn.q_a_proj", 32, 64))
    case.merged("DoRA", q, {"magnitude": 64}, use_dora=True)
    case.merged("DoRA by a scale", {**q, **down}, {"magnitude": 64}, use_dora=True, use_rslora=True)
    case.merged("a whole module", q, {"model.norm.weight": 64, "lm_head.weight": (320, 64)}, modules_to_save=["lm_head", "norm"])
    three, (at_q, at_v, at_down) = {**q, **v, **down}, [list(x)[0][:-len(".lora_A.weight")] for x in (q, v, down)]
    upper = {k.replace("layers.0", "layers.1"): x for k, x in q.items()}
    at_upper = at_q.replace("layers.0", "layers.1")
    for title, taken, config in (
            ("modules", [at_q], dict(target_modules=["q_proj"])),
            ("a module by its whole name", [at_v], dict(target_modules=[at_v])),
            ("an end that is no name", [at_down], dict(target_modules=["proj", "mlp.down_proj"])),
            ("an expression of modules", [at_q, at_v], dict(target_modules=r".*self_attn\.[qv]_proj")),
            ("all that is linear", [at_q, at_v, at_down], dict(target_modules="all-linear")),
            ("modules left out", [at_q, at_down], dict(target_modules=["q_proj", "v_proj", "down_proj"], exclude_modules=["v_proj"])),
            ("an expression of those left out", [at_down], dict(exclude_modules=r".*\.self_attn\..*")),
            ("an expression of a part", [at_q, at_v, at_down], dict(exclude_modules="self_attn")),
            ("names of other modules", [at_q, at_v, at_down], dict(target_modules=["up_proj"])),
            ("no list of those left out", [at_q, at_v, at_down], dict(exclude_modules=[], layers_to_transform=[], layers_pattern=[]))):
        case.merged(title, three, {}, taken, **config)
    both = {**q, **upper, **down}
    for title, taken, config in (
            ("a layer", [at_upper], dict(layers_to_transform=1)),
            ("layers", [at_q, at_down], dict(layers_to_transform=[0, 7])),
            ("layers of a list", [at_upper], dict(layers_to_transform=[1], layers_pattern="layers")),
            ("layers of lists", [at_upper], dict(layers_to_transform=[1], layers_pattern=["h", "layers"])),
            ("a whole name is of any layer", [at_q, at_upper], dict(layers_to_transform=[1], target_modules=[at_q, "q_proj"]))):
        case.merged(title, both, {}, taken, **config)
    case.merged("DoRA of some", three, {"magnitude": 64}, [at_q, at_down], use_dora=True, exclude_modules=["v_proj"])
    case.merged("fan_in_fan_out of a Linear", three, {}, fan_in_fan_out=True)
    for stated in (True, False):
        case.merged(f"a square Conv1D, fan_in_fan_out {stated}", square, {}, turned=True, model="gpt2", fan_in_fan_out=stated)
        case.accepted(f"a square Conv1D for llama.cpp, {stated}", "gpt2", square, two("attn_output", square), 16, fan_in_fan_out=stated)
        case.accepted(f"Linears, fan_in_fan_out {stated}", "llama", three, wanted, 16, fan_in_fan_out=stated)
    qkv, bias = {**q, **v}, {P + "self_attn.q_proj.base_layer.bias": (64,), P + "self_attn.k_proj.bias": (32,)}
    case.merged("biases of the base", qkv, bias, model="qwen2", bias="all")
    case.refused("biases for llama.cpp", "bias", "qwen2", {**q, P + "self_attn.q_proj.base_layer.bias": np.ones(64, np.float32)}, bias="lora_only")
    case.accepted("modules for llama.cpp", "llama", {**both, **v}, two("ffn_down", down), 16, layers_to_transform=[0], exclude_modules=["self_attn.v_proj", at_q])
    for title, config in (("no such layer", dict(layers_to_transform=[9])), ("another list", dict(layers_to_transform=[0], layers_pattern=["h"])),
                          ("all left out", dict(exclude_modules=["q_proj"]))):
        case.unmerged(title, "nothing is left of the adapter", q, **config)
        case.refused(title + " for llama.cpp", "nothing is left of the adapter", "llama", q, **config)
    case.unmerged("layers of an expression", "target_modules is a text", q, target_modules=".*q_proj", layers_to_transform=[0])
    case.unmerged("a list of no layers", "without layers_to_transform", q, layers_pattern=["layers"])
    case.unmerged("a list by an expression", "not expressions", q, layers_to_transform=[0], layers_pattern=["h|layers"])
    case.unmerged("layers that are none", "expected whole numbers", q, layers_to_transform=["0"])
    for name in ("target_modules", "exclude_modules", "modules_to_save", "layers_pattern"):
        case.unmerged("no names", name, q, **{name: [7]})
    case.unmerged("no magnitudes", "magnitudes are missing", q, use_dora=True)
    case.unmerged("magnitudes that nothing names", "use_dora", {**q, P + "self_attn.q_proj.lora_magnitude_vector": np.ones(64, np.float32)})
    case.unmerged("too few magnitudes", "magnitudes are not as many", {**q, P + "self_attn.q_proj.lora_magnitude_vector": np.ones(60, np.float32)}, use_dora=True)
    case.unmerged("a whole module that is not there", "modules_to_save", q, modules_to_save=["lm_head"])
    case.unmerged("a whole module of another shape", "differs in shape", {**q, "model.norm.weight": np.ones(60, np.float32)}, modules_to_save=["norm"])
    case.unmerged("a bias that the base has not", "matches no tensor", {**q, P + "self_attn.q_proj.lora_B.bias": np.ones(64, np.float32)}, lora_bias=True)
    case.refused("no such weight", "strange", "llama", pair(P + "mlp.strange", 64, 64))
    shutil.rmtree(folder)
    print("\n".join(case.found + [f"{len(case.found)} adapters not as they should be"]))
    return bool(case.found)


if __name__ == "__main__":
    sys.exit(main())
