#!/usr/bin/env python3
# SPDX-License-Identifier: MIT
"""tare info says that llama.cpp runs a file only if the values of its keys are ones that llama.cpp takes: numbers that do
not go together, parts of heads that cannot turn, lists that say otherwise than the tensors. `values.py TARE FOLDER`
tries those below. With `--llama-cpp`, run by a Python that has the packages of tests/judge/llama_requirements.txt, every
number of every tiny model, or of those named, becomes others in turn, and llama.cpp is asked."""
import os
import re
import shutil
import struct
import sys

try:
    import tiny_models
except ImportError as fault:
    print(f"SKIP: {fault}: run scripts/venv")
    sys.exit(77)
import llama_runs
import loads
from file_verdict import made, refusal, verdict
from gguf_parts import ARRAY, TEXT, Gguf

# A model, a key without the architecture, the value in its place, of a list in that of an element; and words of what is
# said, none where llama.cpp runs it.
KNOWN = [
    ("llama", "expert_gating_func", "u32", 7), ("llama", "attention.layer_norm_epsilon", "f32", -1),
    ("llama", "attention.key_length_swa", "u32", 8), ("bert", "rope.dimension_count", "u32", 7),
    ("qwen2", "rope.dimension_count", "u32", 8, "not the length of a head"),
    ("apertus", "rope.dimension_count", "u32", 8, "not the length of a head"),
    ("gemma3", "rope.dimension_count", "u32", 0, "a part of each head"),
    ("gemma3", "rope.dimension_count", "u32", 64, "more than a head has"),
    ("glm4", "rope.dimension_count", "u32", 7, "odd"), ("gemma4", "rope.dimension_count", "u32", 16),
    ("gemma4", "rope.dimension_count_swa", "u32", 0, "a part of each head"), ("spark2_5", "rope.dimension_count_swa", "u32", 32, "more"),
    ("gpt-oss", "rope.dimension_count", "u32", 8, "attn_k"), ("gemma4", "attention.shared_kv_layers", "u32", 1, "two layers"),
    ("granitehybrid", "expert_feed_forward_length", "u32", 33), ("granitehybrid", "rope.dimension_count", "u32", 7),
    ("rwkv6", "attention.head_count", "u32", 2, "wkv.head_size"), ("rwkv7", "wkv.head_size", "u32", 3, "does not divide"),
    ("grovemoe", "expert_used_count", "u32", 3, "groups"), ("grovemoe", "experts_per_group", "u32", 0, "above 0"),
    ("grovemoe", "expert_chunk_feed_forward_length", "u32", 0), ("bailingmoe2", "expert_shared_count", "u32", 2, "shexp"),
    ("bailingmoe2", "expert_shared_feed_forward_length", "u32", 0), ("hunyuan-moe", "expert_feed_forward_length", "u32", 48),
    ("bailingmoe", "leading_dense_block_count", "u32", 1), ("ernie4_5-moe", "interleave_moe_layer_step", "u32", 0, "above 0"),
    ("glm4moe", "nextn_predict_layers", "u32", 0, "nextn"), ("deci", "attention.head_count_kv", 0, 0, "attn_q"),
    ("deci", "feed_forward_length", 0, 0, "ffn_up"), ("mimo2", "attention.head_count_kv", 0, 0, "attn_k"),
    ("glm-dsa", "attention.indexer.types", 0, 0, "by itself"), ("granite-swa", "attention.rope_pattern", 0, 0, "in no block"),
    ("graniteswitch", "adapters.token_ids_substitute", 0, 320, "is no token"), ("graniteswitch", "adapters.count", "u32", 1, "adapters.count"),
    ("cogvlm", "attention.head_count_kv", "u32", 2), ("cogvlm", "attention.head_count_kv", "u32", 3, "does not divide"),
    ("minicpm3", "attention.head_count_kv", "u32", 2, "it is not attention.head_count"), ("modern-bert", "attention.head_count_kv", "u32", 1),
    ("qwen35", "full_attention_interval", "u32", 0, "above 0"), ("nanbeige", "num_loops", "u32", 0, "above 0"),
    ("qwen4exp", "attention.indexer.top_k", "u32", 63, "does not divide"), ("qwen4exp", "attention.recurrent_layers", 3, 1, "blk.3."),
    ("minimax-m2", "expert_feed_forward_length", "u32", 48), ("laguna", "expert_shared_feed_forward_length", "u32", 0),
    ("sarvam", "nextn_predict_layers", "u32", 1, "nextn.eh_proj"), ("t5encoder", "block_count", "u32", 1, "enc.blk.1"),
    ("mimo2", "nextn_predict_layers", "u32", 4), ("gemma2", "attention.sliding_window_pattern", "u32", 1, "no block has"),
    ("modern-bert", "attention.sliding_window_pattern", "u32", 0, "all blocks"), ("llama4", "attention.sliding_window_pattern", "u32", 1, "no block has"),
    ("afmoe", "attention.sliding_window", "u32", 0, "above 0"), ("lfm2", "rope.dimension_count_swa", "u32", 64), ("mellum", "rope.dimension_count_swa", "u32", 8, "not the length"),
    ("granitemoe-plain", "expert_shared_feed_forward_length", "u32", 64, "shared experts"), ("bert", "attention.layer_norm_rms_epsilon", "f32", -1),
    ("gemma2", "attention.value_length_swa", "u32", 8, "one width"), ("cohere2", "attention.value_length_swa", "u32", 8, "not what the keys say"),
    ("mimo2", "attention.key_length_swa", "u32", 8, "one width"), ("modern-bert", "attention.key_length_swa", "u32", 8),
    ("plamo3", "attention.value_length_swa", "u32", 8, "one width"), ("plamo3", "attention.sliding_window_pattern", "u32", 1, "no block has"),
    ("gpt-oss", "rope.dimension_count_swa", "u32", 8, "not what the keys say"), ("exaone4", "rope.dimension_count_swa", "u32", 64), ("smallthinker", "rope.dimension_count_swa", "u32", 8),
    ("deepseek-ocr", "rope.freq_base", "f32", 0, "10000"), ("ministral3", "rope.scaling.original_context_length", "u32", 0, "temperature_scale"),
    ("nemotron-h", "nextn_predict_layers", "u32", 1, "predict more tokens"), ("rwkv6qwen2", "attention.head_count", "u32", 1),
    ("llama", "context_length", "u32", 0, "told another"), ("deepseek4", "hyper_connection.count", "u32", 2, "has 4"),
    ("glm5-next", "hyper_connection.count", "u32", 8, "has 4"),
]


def packed(kind, value):
    return struct.pack("<" + loads.FORMS[kind], value)


def with_value(keys, name, kind, value):
    """Keys where one has another value; `kind`: "u32", "f32", or the place in a list."""
    for i, (key, is_, blob) in enumerate(keys):
        if key == name and is_ == ARRAY:
            of, items = loads.parts_of(blob)
            items[kind] = packed(of, value)
            return keys[:i] + [(name, *loads.array(of, items))] + keys[i + 1:]
    kind = {"u32": loads.U32, "f32": loads.F32}[kind]
    return [k for k in keys if k[0] != name] + [(name, kind, packed(kind, value))]


def architecture(gguf):
    return next(blob[8:].decode() for key, _, blob in gguf.key_list if key == "general.architecture")


def check_known(tare, folder):
    found, files = [], {}
    for model, key, kind, value, *words in KNOWN:
        if model not in files:
            files[model] = Gguf(made(tare, folder, model))
        gguf, other = files[model], os.path.join(folder, "changed.gguf")
        gguf.write(other, gguf.tensors, with_value(gguf.key_list, f"{architecture(gguf)}.{key}", kind, value))
        said = verdict(tare, other)
        if (words and not said) or any(w not in said for w in words) or (said and not words):
            found.append(f"{model}: {key} {value}: {said or 'runs'}")
    keys = [k for k in gguf.key_list if k[0] != "general.type"]
    gguf.write(other, gguf.tensors, [*keys, ("general.type", TEXT, loads.text(b"mmproj"))])
    if verdict(tare, other):  # which llama.cpp does not read
        found.append(f"with a type: {verdict(tare, other)}")
    return found, len(KNOWN) + 1


# ---- llama.cpp itself -------------------------------------------------------------------------------

# What a model is called by, or which tokens it has, and what memory alone limits.
NOT_TRIED = re.compile(r"general\.|tokenizer\.|.*\.context_length$")


def other_numbers(kind, v):
    if kind == loads.F32:
        return [0.0, -1.0, float("nan")]
    if kind == loads.BOOL:
        return [1 - v]
    return [x for x in dict.fromkeys((0, 1, v - 1, v + 1, 2 * v, v // 2)) if x != v and x >= 0]


def other_keys(keys):
    for i, (name, kind, blob) in enumerate(keys):
        if NOT_TRIED.match(name):
            continue
        if kind in loads.FORMS:
            v = struct.unpack("<" + loads.FORMS[kind], blob)[0]
            for x in other_numbers(kind, v):
                yield f"{name} {v} -> {x}", keys[:i] + [(name, kind, packed(kind, x))] + keys[i + 1:]
        elif kind == ARRAY and loads.parts_of(blob)[0] in loads.FORMS:
            of, items = loads.parts_of(blob)
            for j in sorted({0, len(items) - 1}) if items else ():
                v = struct.unpack("<" + loads.FORMS[of], items[j])[0]
                for x in other_numbers(of, v):
                    yield f"{name}[{j}] {v} -> {x}", with_value(keys, name, j, x)


def compare(tare, folder, model):
    path, other = made(tare, folder, model), os.path.join(folder, "changed.gguf")
    gguf, is_encoder = Gguf(path), model in llama_runs.ENCODERS
    if model in llama_runs.CANNOT or refusal(path, is_encoder):
        return [], 0
    found, n = [], 0
    for what, keys in other_keys(gguf.key_list):
        gguf.write(other, gguf.tensors, keys)
        said, is_refused, n = verdict(tare, other), refusal(other, is_encoder), n + 1
        if bool(said) != is_refused:
            found.append(f"{model}: {what}: llama.cpp {'refuses' if is_refused else 'runs'} it, tare says: {said or 'runs'}")
    return found, n


def main():
    tare, folder, *more = sys.argv[1:]
    shutil.rmtree(folder, ignore_errors=True)
    os.makedirs(folder)
    found, n = check_known(tare, folder)
    if "--llama-cpp" in more:
        texts = [m for m, (_, about) in sorted(tiny_models.MODELS.items()) if not about.get("tower") and m != "wavtokenizer"]
        for model in [m for m in more if m[0] != "-"] or texts:
            faults, k = compare(tare, folder, model)
            print("".join(line + "\n" for line in faults), end="", flush=True)
            found, n = found + faults, n + k
    else:
        print("".join(line + "\n" for line in found), end="")
    shutil.rmtree(folder)
    print(f"{n} files, {len(found)} of which tare says something else")
    return bool(found)


if __name__ == "__main__":
    sys.exit(main())
