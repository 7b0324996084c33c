#!/usr/bin/env python3
# SPDX-License-Identifier: MIT
"""tare info says that llama.cpp runs a file, and no longer if a tensor is missing that llama.cpp needs, has another
shape or a type that it does not compute with. `needs.py TARE FOLDER`. With `--llama-cpp`, run by a Python that has
the packages of tests/judge/llama_requirements.txt, every tensor of every tiny model is left out in turn, all else of the
file is changed as loads.py does, and what llama.cpp then does is what tare says it does."""
import os
import re
import shutil
import struct
import subprocess
import sys
import zlib

try:
    import numpy as np
    import tiny_models
except ImportError as fault:
    print(f"SKIP: {fault}: run scripts/venv")
    sys.exit(77)
import llama_runs
import loads
from gguf_parts import Gguf
from file_verdict import made, refusal, verdict

F32, F16, I32, F64, BF16 = 0, 1, 26, 28, 30
USUAL = ["llama", "qwen3moe", "gpt2", "bert", "mamba2", "deepseek-v2", "granitehybrid", "rwkv7", "t5", "t5encoder"]
OPTIONAL = ["attn_rel_b", "cross_attn_rel_b", "ffn_gate"]  # of T5
# Without these llama.cpp runs on, by a word of the name; a conversion from Hugging Face always has them, and what
# llama.cpp computes without is something else. So tare says no.
RUNS_ON = {"ffn_gate_exps", "ffn_gate", "ffn_gate_inp", "ffn_down_shexp", "ffn_gate_shexp", "ffn_up_shexp"}
PARTIAL = {"grok", "mimo2", "mimo2-nextn", "step35", "step35-nextn", "mixtral", "granitemoe", "granitemoe-plain", "granitehybrid", "ernie4_5-moe",
           "kimi-k3", "kimi-linear", "hy_v3", "hy_v3-nextn", "minimax-01"}
# The same of a model each: a norm of what chooses the tokens that are looked at.
RUNS_ON_WITHOUT = {"glm-dsa": {"indexer.k_norm"}}
# Of layers that predict more tokens it checks less, as nothing but a draft computes with them, which then ends.
RUNS_ON_IN_DRAFTS = {"attn_q", "attn_k", "attn_v", "ffn_down", "ffn_up", "ffn_down_exps", "ffn_up_exps", "ffn_gate_exps", "ffn_gate_inp",
                     "ffn_down_shexp", "ffn_gate_shexp", "ffn_up_shexp", "ffn_latent_down", "ffn_latent_up", "indexer.attn_k", "indexer.attn_q_b", "indexer.k_norm", "indexer.proj"}


def stem(name):
    return re.sub(r"blk\.\d+\.", "blk.#.", name)


class Case:
    def __init__(self, tare, folder, name):
        self.tare, self.name, self.found, self.n = tare, name, [], 0
        self.path = made(tare, folder, name)
        self.gguf = Gguf(self.path)
        self.other = os.path.join(folder, "changed.gguf")

    def without(self, names):
        self.gguf.write(self.other, [t for t in self.gguf.tensors if t[0] not in names])
        self.n += 1
        return verdict(self.tare, self.other)

    def changed(self, name, change):
        self.gguf.write(self.other, [change(*t) if t[0] == name else t for t in self.gguf.tensors])
        self.n += 1
        return verdict(self.tare, self.other)

    def expect(self, what, said, *words):
        if not words and said or words and not all(w in said for w in words):
            self.found.append(f"{self.name}: {what}: {said or 'runs'}")


def halved(name, dims, kind, blob):
    x = np.frombuffer(blob, np.float32)[:int(np.prod(dims))]
    return name, dims, F16, x.astype(np.float16).tobytes()


def in_f16(of):
    """Changes tensors of these names to F16."""
    return lambda name, dims, kind, blob: halved(name, dims, kind, blob) if name in of and kind == F32 else (name, dims, kind, blob)


def doubled(name, dims, kind, blob):
    return name, dims, F64, bytes(8 * int(np.prod(dims)))


def longer(name, dims, kind, blob):
    return name, (*dims[:-1], dims[-1] + 32), kind, blob + bytes(32 * (len(blob) // dims[-1]))


def half(of, axis):
    """Changes tensors of these names to the first half of an axis, fastest first."""
    def change(name, dims, kind, blob):
        kinds = {F32: np.float32, F16: np.uint16, BF16: np.uint16}
        if name not in of or kind not in kinds or len(dims) <= axis or dims[axis] % 2:
            return name, dims, kind, blob
        x = np.frombuffer(blob, kinds[kind])[:int(np.prod(dims))].reshape(dims[::-1])
        x = np.take(x, range(dims[axis] // 2), axis=x.ndim - 1 - axis)
        return name, x.shape[::-1], kind, np.ascontiguousarray(x).tobytes()
    return change


def twice(of, axis):
    """Changes tensors of these names to twice an axis, or to two of them, where they have none such."""
    def change(name, dims, kind, blob):
        if name not in of or kind not in (F32, F16, BF16) or len(dims) < axis:
            return name, dims, kind, blob
        n = int(np.prod(dims)) * (4 if kind == F32 else 2)
        dims = list(dims) + [1] * (axis == len(dims))
        dims[axis] *= 2
        return name, tuple(dims), kind, 2 * blob[:n]
    return change


# Half as many rows or columns, in every block: sizes that the keys or other tensors say.
HALF = [("bert", "blk.#.attn_q.bias", 0), ("bert", "token_embd_norm.weight", 0), ("bert", "position_embd.weight", 1), ("gpt2", "blk.#.attn_qkv.weight", 1),
        ("gpt2", "blk.#.ffn_up.weight", 1), ("mamba2", "blk.#.ssm_out.weight", 1), ("qwen3moe", "blk.#.attn_k_norm.weight", 0),
        ("qwen3moe", "blk.#.ffn_up_exps.weight", 0), ("deepseek-v2", "blk.#.attn_q_b.weight", 1), ("deepseek-v2", "blk.#.ffn_up_shexp.weight", 1),
        ("granitehybrid", "blk.#.ffn_down_shexp.weight", 1), ("rwkv7", "blk.#.time_mix_key.weight", 0), ("arctic", "blk.#.ffn_up_exps.weight", 1),
        ("afmoe", "blk.#.exp_probs_b.bias", 0), ("glm4moe", "blk.#.ffn_gate_shexp.weight", 1), ("rwkv6", "blk.#.channel_mix_key.weight", 1),
        ("rwkv6", "blk.#.time_mix_w1.weight", 1), ("rwkv7", "blk.#.time_mix_v1.weight", 1), ("mamba", "blk.#.ssm_x.weight", 1),
        ("mamba2", "blk.#.ssm_in.weight", 1), ("kimi-linear", "blk.#.ssm_f_b.weight", 1), ("kimi-linear", "blk.#.attn_v_b.weight", 0),
        ("qwen3next", "blk.#.ssm_ba.weight", 1), ("qwen35", "blk.#.nextn.eh_proj.weight", 0), ("lfm2", "blk.#.shortconv.conv.weight", 1),
        ("gemma4", "blk.#.inp_gate.weight", 1), ("gemma4", "per_layer_token_embd.weight", 0), ("laguna", "blk.#.attn_gate.weight", 1),
        ("glm-dsa", "blk.#.indexer.attn_q_b.weight", 1), ("minicpm3", "blk.#.attn_kv_b.weight", 1), ("minimax-01", "blk.#.attn_qkv.weight", 1),
        ("hy_v4", "blk.#.hc_attn_fn.weight", 1), ("modern-bert", "blk.#.ffn_up.weight", 1), ("openelm", "blk.#.attn_q_norm.weight", 0), ("neo-bert", "enc.output_norm.weight", 0),
        ("t5encoder", "enc.blk.#.attn_q.weight", 0), ("t5encoder", "enc.blk.#.attn_rel_b.weight", 1), ("talkie", "blk.#.attn_q_norm.weight", 1),
        ("sarvam", "blk.#.attn_q_norm.weight", 0), ("spark2_5", "blk.#.attn_gate.weight", 0), ("spark2_5", "blk.#.attn_gate.weight", 1),
        ("minimax-m2", "blk.#.attn_k_norm.weight", 0), ("grovemoe", "blk.#.ffn_down_chexps.weight", 0), ("grovemoe", "blk.#.ffn_up_chexps.weight", 1),
        ("bert", "token_types.weight", 1), ("bitnet", "blk.#.ffn_sub_norm.weight", 0),
        ("nvfp4-experts", "blk.#.ffn_gate_exps.input_scale", 0), ("graniteswitch", "blk.#.attn_k.lora_b", 1), ("graniteswitch", "blk.#.ffn_down.lora_a", 0)]
# Twice as many, of what half was found to be of.
TWICE = [("qwen3", "blk.#.attn_k_norm.weight", 0), ("olmo2", "blk.#.attn_k_norm.weight", 0), ("qwen35", "blk.#.attn_q_norm.weight", 0),
         ("plamo2", "blk.#.attn_q_norm.weight", 1), ("plamo2", "blk.#.ssm_dt_norm", 0), ("plamo2", "blk.#.ssm_x.weight", 1),
         ("stablelm-norms", "blk.#.attn_k_norm.weight", 1), ("talkie", "blk.#.attn_output.scale", 0), ("mamba2", "blk.#.ssm_a", 0),
         ("kimi-linear", "blk.#.ssm_conv1d_q.weight", 1), ("rwkv6", "blk.#.time_mix_lerp_fused.weight", 1), ("muse-glimmer", "blk.#.attn_gate.weight", 1),
         ("granite-swa", "blk.#.ffn_up.weight", 1), ("granite-swa-moe", "blk.#.ffn_gate_up_exps.weight", 1), ("granite-swa-moe", "blk.#.ffn_up_shexp.weight", 1),
         ("glm5-next", "blk.#.ffn_down_shexp.weight", 0), ("bitnet", "blk.#.attn_sub_norm.weight", 0), ("roberta-classes", "cls.weight", 0),
         ("t5", "dec.blk.#.cross_attn_k.weight", 1), ("t5", "enc.blk.#.attn_o.weight", 0), ("hrm_text", "hrm.z_l_init", 0), ("hy_v4", "output_hc_scale.weight", 0),
         ("qwen2moe", "blk.#.ffn_gate_inp_shexp.weight", 1)]
# Of these tare says nothing where the rest is right.
UNMEASURED = re.compile(r"altup|laurel|rope_")


def check_halves(case):
    for s, axis in [(s, axis) for m, s, axis in HALF if m == case.name]:
        case.gguf.write(case.other, [half({t[0] for t in case.gguf.tensors if stem(t[0]) == s}, axis)(*t) for t in case.gguf.tensors])
        case.n += 1
        case.expect(f"half of {s}, axis {axis}", verdict(case.tare, case.other), s.split("#")[-1].rsplit(".", 1)[0])


# What llama.cpp computes with in F32, though it is no vector: it ends with another type.
IN_F32 = [("mamba", "blk.#.ssm_a"), ("mamba2", "blk.#.ssm_conv1d.weight"), ("mamba2", "blk.#.ssm_d"), ("kimi-linear", "blk.#.ssm_conv1d_q.weight"),
          ("bert", "token_types.weight"), ("lfm2", "blk.#.shortconv.conv.weight"), ("rwkv7", "blk.#.time_mix_lerp_fused.weight"),
          ("glm5-next", "blk.#.indexer_compressor_ape.weight"), ("gpt-oss", "blk.#.ffn_up_exps.bias"), ("ernie4_5-moe", "blk.#.exp_probs_b.bias")]


def check_types(case):
    for s in [s for m, s in IN_F32 if m == case.name]:
        case.gguf.write(case.other, [in_f16({t[0] for t in case.gguf.tensors if stem(t[0]) == s})(*t) for t in case.gguf.tensors])
        case.n += 1
        case.expect(f"{s} in F16", verdict(case.tare, case.other), s.split("#")[-1].rsplit(".", 1)[0], "F32")


def check_twice(case):
    """Also that no tensor has a dimension more."""
    names = [t[0] for t in case.gguf.tensors]
    more = [(s, None) for s in sorted(set(map(stem, names))) if case.name in USUAL]
    for s, axis in [(s, axis) for m, s, axis in TWICE if m == case.name] + more:
        of = {n for n in names if stem(n) == s}
        if axis is None:
            axis = max([len(t[1]) for t in case.gguf.tensors if t[0] in of])
        case.gguf.write(case.other, [twice(of, axis)(*t) for t in case.gguf.tensors])
        case.n += 1
        case.expect(f"twice {s}, axis {axis}", verdict(case.tare, case.other), s.split("#")[-1].rsplit(".", 1)[0])


# What a conversion would leave out unsaid, and llama.cpp refuses: tensors that a row calls optional, or that another one of
# the block seemed to stand for.
ALSO = [("afmoe", "blk.*.exp_probs_b.bias"), ("arctic", "blk.1.ffn_norm_exps.weight"), ("bert", "position_embd.weight"),
        ("codeshell", "output.weight"), ("hy_v4", "output.weight"), ("hy_v4", "blk.*.indexer.attn_k.weight"), ("hy_v4", "blk.*.indexer.k_norm.bias"), ("maple", "output.weight"),
        ("minimax-01", "blk.0.attn_gate.weight"), ("minimax-01", "blk.1.attn_k.weight"), ("minimax-01", "blk.0.attn_norm_2.weight"),
        ("muse-glimmer", "output.weight"), ("qwen4exp", "blk.2.attn_gate.weight"),
        ("exaone45", "blk.2.nextn.enorm.weight"), ("falcon-h1", "blk.1.attn_output.weight"),
        ("falcon-h1", "blk.1.ssm_conv1d.bias"), ("gemma4", "blk.1.inp_gate.weight"), ("gemma4", "per_layer_token_embd.weight"),
        ("gemma4-moe", "blk.1.ffn_gate_inp.scale"), ("glm4moe", "blk.2.attn_output.weight"), ("gpt-oss", "blk.1.attn_sinks.weight"),
        ("grok", "blk.1.post_ffw_norm.weight"), ("jina-bert-v2", "token_types.weight"), ("mamba", "blk.1.ssm_dt.weight"),
        ("mamba", "blk.1.ssm_dt.bias"), ("mimo2", "blk.*.nextn.hnorm.weight"), ("modern-bert", "blk.1.attn_norm.weight"),
        ("qwen35", "blk.*.attn_gate.weight"), ("qwen3next", "blk.*.ssm_ba.weight"), ("t5encoder", "enc.blk.0.attn_rel_b.weight"), ("deci", "blk.0.attn_norm.weight"),
        ("deci", "blk.0.attn_k.weight"), ("deci", "blk.0.ffn_down.weight"), ("gemma4-assistant", "blk.1.attn_q.weight"),
        ("gemma4-assistant", "blk.1.ffn_up.weight"), ("plamo2", "blk.*.ssm_dt.weight")]


def check_also(case):
    for name in [n for m, n in ALSO if m == case.name]:
        there = [t[0] for t in case.gguf.tensors if re.fullmatch(name.replace(".", r"\.").replace("*", r"\d+"), t[0])]
        case.expect("has " + name, "" if there else "it has not")
        case.expect("without " + name, case.without(there[-1:]), *there[-1:], "missing")


PREDICTING = ["mimo2-nextn", "step35-nextn", "hy_v3-nextn", "qwen35", "glm4moe"]
# Keys without which tensors have another width than llama.cpp takes, blocks are of another kind than their tensors, or
# remember other tokens than they look at.
LATENT = "attention.head_count attention.head_count_kv attention.key_length rope.dimension_count "
BOTH = "attention.key_length_mla attention.value_length_mla "
WIDTHS = {"granitemoe": "expert_shared_feed_forward_length", "step35": "expert_shared_feed_forward_length",
          "grok": "expert_feed_forward_length", "gemma4": "rope.dimension_count_swa", "cohere2moe": "expert_shared_count",
          "arwkv7": "token_shift_count", "bert-classes": "classifier.output_labels", "distilbert": "tokenizer.ggml.token_type_count",
          "deepseek-v2": LATENT + BOTH + "attention.q_lora_rank", "glm-dsa": LATENT + BOTH, "glm4moelite": LATENT + BOTH,
          "hy_v4": LATENT + "leading_dense_block_count expert_gating_func attention.indexer.head_count attention.indexer.key_length "
          "attention.indexer.top_k attention.indexer.types", "kimi-linear": LATENT, "deepseek-ocr": "leading_dense_block_count",
          "dots1": "expert_gating_func", "ernie4_5-moe": "expert_shared_feed_forward_length", "hy_v3": "expert_shared_feed_forward_length",
          "rwkv6": "feed_forward_length", "rwkv6qwen2": "attention.head_count_kv", "granite-swa-moe": "feed_forward_length",
          "granitehybrid": "feed_forward_length", "gemma4-moe": "expert_feed_forward_length",
          "minimax-m2": "feed_forward_length expert_gating_func", "minimax-m3": "leading_dense_block_count",
          "mistral4": "leading_dense_block_count", "nomic-bert-moe": "moe_every_n_layers", "olmoe": "feed_forward_length",
          "nemotron-h-moe": "feed_forward_length expert_feed_forward_length expert_shared_feed_forward_length",
          "minimax-01": "attention.recurrent_layers", "qwen3moe": "expert_feed_forward_length", "qwen3next": "expert_feed_forward_length",
          "rwkv7": "attention.gate_lora_rank", "t5encoder": "feed_forward_length attention.head_count", "smallthinker": "expert_feed_forward_length expert_gating_func",
          "qwen4exp": "expert_feed_forward_length expert_shared_feed_forward_length",
          "qwen2moe": "expert_feed_forward_length expert_shared_feed_forward_length"}
# Keys that llama.cpp has a number for where they are missing, which is the right one.
SPARED = {"gemma4": "rope.dimension_count", "glm4moe": "expert_gating_func", "llama": "attention.key_length", "minicpm3": "attention.head_count_kv"}
# A tensor more, which llama.cpp does not ask for in that block.
MORE = {"deepseek-v2": "blk.1.exp_probs_b.weight", "lfm2": "blk.0.attn_qkv.weight", "jamba": "blk.0.attn_qkv.weight",
        "granitehybrid": "blk.0.attn_qkv.weight", "rwkv6qwen2": "blk.0.attn_norm.bias", "lfm2moe": "blk.0.exp_probs_b.weight",
        "minimax-m3": "blk.1.indexer.k_norm.bias", "minimax-01": "blk.0.attn_qkv.bias", "mpt": "blk.0.attn_q_norm.weight",
        "qwen35": "blk.0.attn_qkv.bias", "qwen3next": "blk.0.ssm_conv1d.bias", "qwen4exp": "blk.3.indexer.k_norm.bias",
        "glm4moe": "blk.0.exp_probs_b.bias", "stablelm": "blk.0.attn_q_norm.weight"}


def check_widths(case):
    for keys, is_needed in ((WIDTHS, True), (SPARED, False)):
        for key in keys.get(case.name, "").split():
            case.gguf.write(case.other, case.gguf.tensors, [k for k in case.gguf.key_list if k[0] != key and not k[0].endswith("." + key)])
            case.n += 1
            case.expect("without " + key, verdict(case.tare, case.other), *[key] * is_needed)
    if case.name == "nvfp4":
        biases = [(n.replace(".weight", ".bias"), d[-1:], F32, bytes(4 * d[-1])) for n, d, _, _ in case.gguf.tensors if n == "blk.0.ffn_up.weight"]
        case.gguf.write(case.other, case.gguf.tensors + biases)
        case.n += 1
        case.expect("with a bias", verdict(case.tare, case.other), "blk.0.ffn_up.bias", "NVFP4")
    if case.name in MORE:
        case.gguf.write(case.other, case.gguf.tensors + [(MORE[case.name], (64,), F32, bytes(256))])
        case.n += 1
        case.expect("more than it has", verdict(case.tare, case.other), MORE[case.name])


def check_predicted(case):
    """Layers that predict more tokens are all there, or, without the first one's projection, may lie in another file."""
    tensors = [t[0] for t in case.gguf.tensors]
    first = min(int(t.split(".")[1]) for t in tensors if ".nextn." in t)
    of_them = [t for t in tensors if t.startswith("blk.") and int(t.split(".")[1]) >= first]
    case.expect("without them", case.without(of_them))
    case.expect("without a norm of the last", case.without([t for t in of_them if t.endswith("attn_norm.weight")][-1:]), "attn_norm", "missing")


def check_usual(case):
    """What every architecture of the list needs; no llama.cpp is there to be asked."""
    case.expect("as it is", verdict(case.tare, case.path))
    for name, dims, kind, _ in case.gguf.tensors:
        word = name.split(".")[-2] if name.endswith(".weight") else ""
        if name.startswith(("enc.", "dec.")) and word in OPTIONAL:
            continue
        if len(dims) == 2 and "blk." in name:
            case.expect("without " + name, case.without([name]), name, "missing")
            case.expect(name + " of doubles", case.changed(name, doubled), name)
        if len(dims) == 1 and word.endswith("norm") and "blk." in name:
            case.expect("without " + name, case.without([name]), name, "missing")
            case.expect(name + " in F16", case.changed(name, halved), name, "F32")
    for name in ("output_norm.weight", "token_embd.weight"):
        if any(t[0] == name for t in case.gguf.tensors):
            case.expect("without " + name, case.without([name]), name, "missing")


def check_shapes(case):
    for name in ("output_norm.weight", "blk.0.attn_q.weight", "blk.1.attn_k.weight", "blk.0.ffn_down.weight",
                 "blk.1.ffn_up.weight", "blk.0.attn_output.weight", "output.weight"):
        case.expect(name + " with more rows", case.changed(name, longer), name)
    case.expect("the count of heads", case.changed("blk.0.attn_q.weight", longer), "attention.head_count is 4 with 16 rows each")


def check_values(case):
    """What no conversion makes, and llama.cpp ends with."""
    arch = "llama."
    eps = struct.pack("<f", -1)
    for what, keys, *words in (
            ("a norm below 0", [(arch + "attention.layer_norm_rms_epsilon", 6, eps)], "from 0 on"),
            ("layers that predict more tokens", [(arch + "nextn_predict_layers", 4, struct.pack("<I", 1))], "blk.1.", "beyond"),
            ("another scaling", [(arch + "rope.scaling.type", 8, struct.pack("<Q", 8) + b"longrope")], "rope_freqs", "another"),
            ("PLaMo's tokens without bytes", [("tokenizer.ggml.model", 8, struct.pack("<Q", 6) + b"plamo2")], "<0x00>")):
        names = [k[0] for k in keys]
        vector = ("rope_freqs.weight", (8,), 0, bytes(32))
        tensors = [t for t in case.gguf.tensors if t[0] != vector[0]] + [vector] * (what == "another scaling")
        case.gguf.write(case.other, tensors, [k for k in case.gguf.key_list if k[0] not in names] + keys)
        case.n += 1
        case.expect(what, verdict(case.tare, case.other), *words)


def table(name, dims, kind, blob):
    return name, dims, I32, bytes(4 * int(np.prod(dims)))


def check_further(case):
    """Of an architecture that llama.cpp knows, and tare has no rows of, it says nothing of single tensors."""
    keys = ["general.architecture=pockettts", *(f"pockettts.{k}" for k in (
        "block_count:u32=2", "context_length:u32=512", "embedding_length:u32=64", "attention.head_count:u32=4",
        "feed_forward_length:u32=96", "attention.layer_norm_epsilon:f32=0.00001"))]
    subprocess.run([case.tare, "edit", case.path, "--force", "--quiet", "--no-sync", *(x for k in keys for x in ("--set", k))],
                   check=True)
    case.gguf = Gguf(case.path)
    case.expect("a table of integers", case.changed("blk.0.ffn_up.weight", table))
    case.expect("a larger head", case.changed("output.weight", longer))


def check_decoder(case):
    """Of blocks without end the first that is missing is named; without a decoder there are none."""
    subprocess.run([case.tare, "edit", case.path, "--force", "--quiet", "--no-sync", "--set",
                    f"{case.name}.decoder_block_count:u32={2 ** 32 - 1}"], check=True)
    case.expect("blocks without end", verdict(case.tare, case.path), *["dec.blk.2.", "missing"] * (case.name == "t5"))


# ---- llama.cpp itself -------------------------------------------------------------------------------

def compare(case):
    """Each tensor left out in all blocks, and in the last one."""
    names = [t[0] for t in case.gguf.tensors]
    is_encoder = case.name in llama_runs.ENCODERS
    case.runs = case.name not in llama_runs.CANNOT and not refusal(case.path, is_encoder)
    if not case.runs:
        return
    case.expect("as it is", verdict(case.tare, case.path))
    predicted = tuple(n[:n.index("nextn.")] for n in names if ".nextn." in n)
    for s in sorted(set(map(stem, names))):
        of_stem = [n for n in names if stem(n) == s]
        word = re.sub(r"^blk\.#\.|\.weight$", "", s)
        for left_out in [of_stem] + [of_stem[-1:]] * (len(of_stem) > 1):
            said = case.without(left_out)
            if case.name in PARTIAL and word in RUNS_ON or word in RUNS_ON_WITHOUT.get(case.name, ()) or case.name == "deci":
                continue
            is_refused = refusal(case.other, is_encoder)
            is_of_draft = all(n.startswith(predicted) for n in left_out)
            if is_of_draft and word in RUNS_ON_IN_DRAFTS and said and not is_refused:
                continue
            if bool(said) != is_refused:
                case.found.append(f"{case.name}: without {left_out}: llama.cpp {'refuses' if is_refused else 'runs'} it, tare says: {said or 'runs'}")


def compare_types(case):
    """Each tensor of F32 in F16, but for those of drafts, which are not computed with here."""
    is_encoder = case.name in llama_runs.ENCODERS
    names = [t[0] for t in case.gguf.tensors if t[2] == F32 and ".nextn." not in t[0]]
    for s in sorted(set(map(stem, names))):
        case.gguf.write(case.other, [in_f16({n for n in names if stem(n) == s})(*t) for t in case.gguf.tensors])
        case.n += 1
        said, is_refused = verdict(case.tare, case.other), refusal(case.other, is_encoder)
        if bool(said) != is_refused:
            case.found.append(f"{case.name}: {s} in F16: llama.cpp {'refuses' if is_refused else 'runs'} it, tare says: {said or 'runs'}")


def compare_sizes(case, change, axes):
    """Every fourth of all such changes."""
    is_encoder, what = case.name in llama_runs.ENCODERS, change.__name__
    names = [t[0] for t in case.gguf.tensors]
    for s, axis in [(s, axis) for s in sorted(set(map(stem, names))) for axis in axes]:
        if zlib.crc32(f"{case.name} {s} {axis}".encode()) % 4 or UNMEASURED.search(s):
            continue
        tensors = [change({n for n in names if stem(n) == s}, axis)(*t) for t in case.gguf.tensors]
        if tensors == case.gguf.tensors:
            continue
        case.gguf.write(case.other, tensors)
        case.n += 1
        said, is_refused = verdict(case.tare, case.other), refusal(case.other, is_encoder)
        if bool(said) != is_refused:
            case.found.append(f"{case.name}: {what} of {s}, axis {axis}: llama.cpp {'refuses' if is_refused else 'runs'} it, tare says: {said or 'runs'}")


def main():
    tare, folder, *more = sys.argv[1:]
    shutil.rmtree(folder, ignore_errors=True)
    os.makedirs(folder)
    asks = "--llama-cpp" in more
    texts = [n for n, (_, about) in sorted(tiny_models.MODELS.items()) if not about.get("tower")]
    found, n = [], 0
    for name in [m for m in more if m[0] != "-"] or (texts if asks else sorted({"nvfp4", *USUAL, *WIDTHS, *SPARED, *MORE, *PREDICTING, *(m for m, _ in ALSO), *(m for m, _, _ in HALF + TWICE), *(m for m, _ in IN_F32)})):
        if name in ("wavtokenizer", "lfm2-sound"):  # which have no tokenizer
            continue
        case = Case(tare, folder, name)
        if asks:
            compare(case)
            if case.runs:
                compare_types(case)
                compare_sizes(case, half, (0, 1))
                compare_sizes(case, twice, (0, 1, 2, 3))
        elif name in USUAL:
            check_usual(case)
        check_also(case)
        check_halves(case)
        check_twice(case)
        check_types(case)
        check_widths(case)
        if name in PREDICTING:
            check_predicted(case)
        if name == "llama" and not asks:
            check_shapes(case)
            check_values(case)
            case.expect("a matrix of integers", case.changed("blk.0.ffn_up.weight", table), "matrices")
            check_further(case)
        if name in ("t5", "bert") and not asks:
            check_decoder(case)
        if asks and case.runs:
            *faults, k = loads.compare(tare, name, case.path, case.other, lambda what, file: refusal(file, name in llama_runs.ENCODERS))
            case.found, n = case.found + faults, n + k
        found, n = found + case.found, n + case.n
        print("".join(line + "\n" for line in case.found), end="", flush=True)
        os.remove(case.path)
    shutil.rmtree(folder)
    print(f"{n} files, {len(found)} of which tare says something else")
    return bool(found)


if __name__ == "__main__":
    sys.exit(main())
