#!/usr/bin/env python3
# SPDX-License-Identifier: MIT
"""llama.cpp loads and runs what tare makes of the tiny models, each in a process of its own: decoders say some
tokens, encoders give an embedding. `llama_runs.py TARE FOLDER [NAME...]`. Run by a Python that has the packages of
tests/judge/llama_requirements.txt and numpy; exit 77: one is missing.

A model that cannot run is named below with what llama.cpp says; one of them that runs is a fault, too: the list is
out of date."""
import json
import os
import subprocess
import sys

from checks import need

N_TOKENS = 3

# What llama.cpp (build 11549) does not run of these models, by a word of what it says.
DIFFUSES = "does not support logits"
CANNOT = {
    "dream": DIFFUSES, "llada": DIFFUSES, "llada-moe": DIFFUSES, "rnd1": DIFFUSES,  # the server does not
    "t5": "llama_encode must be called first",  # nor does it encode first
    "gemma3n": "wrong shape",        # has 256 numbers for each layer, whatever the keys say
    "phi3": "vocabulary",            # wants tokens of Phi 3 that a tiny vocabulary lacks
    "qwen3vl": "ggml_can_repeat",    # as many layers as levels of pictures
    "plamo2": "to an end",           # not known why
    "chameleon": "ggml_nelements",   # silences 8,192 tokens of images
    "gemma4-assistant": "llama_context",  # drafts for a model that is loaded first
    "wavtokenizer": "without merges",  # has no tokenizer
    "lfm2-sound": "Tokenizer not initialized",  # nor has this
    "plm": "ne[0] == b->ne[0]",      # not known why
}
ENCODERS = {"bert", "roberta", "distilbert", "nomic-bert", "nomic-bert-moe", "jina-bert-v2", "modern-bert",
            "neo-bert", "eurobert", "t5encoder", "jina-v3", "embeddinggemma", "embeddinggemma2",
            "bert-classes", "roberta-classes", "distilbert-classes"}


def byte_alphabet():
    kept = [*range(33, 127), *range(161, 173), *range(174, 256)]
    others = [b for b in range(256) if b not in kept]
    return [chr(b) for b in kept] + [chr(256 + i) for i in range(len(others))]


def tokenizer(size):
    """A byte-level BPE with `size` tokens: the bytes, a few merges, the last two are special."""
    tokens = byte_alphabet()
    merges = []
    for a in "etaoinsrhl":
        for b in "etaoinsrhl":
            if len(tokens) < size - 2:
                tokens.append(a + b)
                merges.append(f"{a} {b}")
    special = [dict(id=size - 2 + i, content=text, special=True) for i, text in enumerate(("<|begin|>", "<|end|>"))]
    return dict(model=dict(type="BPE", vocab={t: i for i, t in enumerate(tokens)}, merges=merges),
                added_tokens=special, pre_tokenizer=dict(type="ByteLevel", add_prefix_space=False, use_regex=True),
                decoder=dict(type="ByteLevel"))


def say(path, is_encoder):
    import xllamacpp
    params = xllamacpp.CommonParams()
    params.model.path = path
    params.n_ctx, params.n_parallel, params.warmup = 64, 1, False
    if is_encoder:
        params.embedding, params.n_batch, params.n_ubatch = True, 64, 64
        params.pooling_type = xllamacpp.llama_pooling_type.LLAMA_POOLING_TYPE_MEAN
        answer = xllamacpp.Server(params).handle_embeddings({"input": "the rain"})
        found = len(answer["data"][0]["embedding"])
    else:
        answer = xllamacpp.Server(params).handle_completions(
            {"prompt": "the rain", "max_tokens": N_TOKENS, "temperature": 0, "ignore_eos": True})
        found = answer["usage"]["completion_tokens"]
    print("\0%d\0" % found, flush=True)


WORDS = ("error", "assert", "unknown", "missing", "unable", "expected")


def complaints(stderr):
    lines = [line for line in stderr.decode(errors="replace").split("\n")
             if any(word in line.lower() for word in WORDS) and "build_info" not in line]
    return " / ".join(lines[:2])


def ask(script, args, timeout):
    """What `script --say` prints between two NUL, as numbers, in a process of its own; and what llama.cpp says
    against it: one of the two is empty."""
    try:
        done = subprocess.run([sys.executable, "-B", os.path.abspath(script), "--say", *args], capture_output=True,
                              timeout=timeout)
    except subprocess.TimeoutExpired as late:  # a failed assertion may hang, too
        return [], complaints(late.stderr or b"") or "does not come to an end"
    said = [int(n) for n in done.stdout.split(b"\0")[1].split()] if done.returncode == 0 else []
    return (said, "") if said and said[-1] > 0 else ([], complaints(done.stderr) or "ends with %d" % done.returncode)


def run_all(names, run, cannot, what):
    """Runs each; whether one did other than `cannot` says."""
    found = 0
    for name in names:
        said = run(name)
        if name in cannot and not said:
            print("%s: runs now" % name)
        elif said and cannot.get(name, "\0") not in said:
            print("%s: %s" % (name, said[:300]), flush=True)
        else:
            continue
        found += 1
    known = len(set(names) & set(cannot))
    print("%d %s run, %d cannot, %d other than expected" % (len(names) - known - found, what, known, found))
    return found > 0


def start(say_it, main):
    """What both programs are: `--say ...` in a process of its own, else main."""
    if sys.argv[1] == "--say":
        say_it(*sys.argv[2:])
        return 0
    need("tests/judge/llama_requirements.txt", "numpy", "xllamacpp")
    return main(*sys.argv[1:])


def write_tokenizer(model):
    """Beside a model's config.json."""
    with open(os.path.join(model, "config.json")) as f:
        config = json.load(f)
    size = config.get("text_config", config).get("vocab_size", 320)
    with open(os.path.join(model, "tokenizer.json"), "w") as f:
        json.dump(tokenizer(size), f)
    with open(os.path.join(model, "tokenizer_config.json"), "w") as f:
        json.dump(dict(bos_token="<|begin|>", eos_token="<|end|>", tokenizer_class="RobertaTokenizer"), f)


def run(tare, folder, name):
    """What llama.cpp says against a model; empty: it runs."""
    import tiny_models
    model, out = os.path.join(folder, name), os.path.join(folder, name + ".gguf")
    tiny_models.write(model, name)
    write_tokenizer(model)
    done = subprocess.run([tare, "convert", model, out, "--quiet", "--no-sync", "--force"], capture_output=True,
                          text=True)
    if done.returncode:
        return done.stderr.strip()
    info = json.loads(subprocess.run([tare, "info", "--json", out], capture_output=True, text=True).stdout)["models"][0]
    _, complaint = ask(__file__, [out, str(int(name in ENCODERS))], 60)
    os.remove(out)
    if not complaint and not info["llama_cpp"]["runs"]:
        return "runs, but tare info says: " + info["llama_cpp"]["why"]
    return complaint


def main(tare, folder, *names):
    import tiny_models
    texts = [n for n, (_, about) in sorted(tiny_models.MODELS.items()) if not about.get("tower")]
    return run_all(names or texts, lambda name: run(tare, folder, name), CANNOT, "models")


if __name__ == "__main__":
    sys.exit(start(lambda path, encodes: say(path, encodes == "1"), main))
