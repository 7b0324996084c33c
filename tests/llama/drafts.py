#!/usr/bin/env python3
# SPDX-License-Identifier: MIT
"""Drafts have the tokenizer of the model that they are for, and the tokens that d2t says (`judge.llama` compares their files
with the reference's, which are made without a tokenizer). `drafts.py TARE FOLDER`"""
import json
import os
import shutil
import sys

try:
    import numpy as np
    import tiny_drafts
    import tiny_models
    from checks import Checks
    from gguf import GGUFReader
    from llama_runs import tokenizer
    from malformed import load, store
except ImportError as fault:
    print(f"SKIP: {fault}: run scripts/venv")
    sys.exit(77)


class Drafts(Checks):
    def __init__(self, tare, folder):
        super().__init__(tare)
        self.model, self.target, self.out = (os.path.join(folder, x) for x in ("model", "target", "out.gguf"))

    def make(self, name):
        for place in (self.model, self.target):
            shutil.rmtree(place, ignore_errors=True)
        tiny_models.write(self.model, name)
        tiny_drafts.write_target(self.target, name)
        with open(os.path.join(self.target, "tokenizer.json"), "w") as f:
            json.dump(tokenizer(320), f)
        with open(os.path.join(self.target, "tokenizer_config.json"), "w") as f:
            json.dump(dict(eos_token="<|end|>"), f)

    def convert(self, *options, model=None, out=None, code=0):
        return self.run("convert", model or self.model, out or self.out, "--type", "f32", "--pre", "default", "--no-sync", "--quiet", "--force",
                        *options, code=code).stderr

    def refused(self, said, *options, code=None, **where):
        got = self.convert(*options, code=code, **where)
        self.check(f"{said!r} is not in {got!r}", "tare: " in got and said in got)

    def with_ids(self, change):
        config, tensors = load(self.model)
        dtype, shape, raw = tensors["d2t"]
        ids = np.frombuffer(raw, "<i8").copy()
        change(ids)
        store(self.model, config, {**tensors, "d2t": (dtype, shape, ids.tobytes())})


def keys_of(path):
    return {f.name: f.contents() for f in GGUFReader(path).fields.values() if f.name.startswith("tokenizer.")}


def main():
    tare, folder = sys.argv[1:]
    shutil.rmtree(folder, ignore_errors=True)
    os.makedirs(folder)
    d = Drafts(tare, folder)
    for name in tiny_drafts.DRAFTS:
        d.make(name)
        d.convert("--target-model", d.target)
        d.convert(model=d.target, out=d.out + ".target.gguf")
        own, other = keys_of(d.out), keys_of(d.out + ".target.gguf")
        mask = own.pop("tokenizer.ggml.mask_token_id", None)
        d.check(f"{name}: other tokens: {[k for k in other if own.get(k) != other[k]]}", own == other)
        d.check(f"{name}: mask_token_id {mask}", mask == (None if name.startswith("eagle3") else 3))
        said = d.run("info", d.out).stdout
        d.check(f"{name}: {said}", "runs it beside the model that it drafts for" in said)
        said = d.run("info", d.out, d.out + ".target.gguf").stdout.splitlines()
        d.check(f"{name}: {said}", said[1].endswith("beside a model") and said[2].endswith("runs it"))
        d.refused("it is a draft, which takes the tokenizer of the model", code=2)
    d.refused("it is no draft", "--target-model", d.target, model=d.target)
    d.make("eagle3")
    d.convert("--target-model", d.target)
    ids = next(t.data for t in GGUFReader(d.out).tensors if t.name == "d2t")
    wanted = np.sort(np.random.default_rng(7).permutation(320)[:128])
    d.check("d2t", np.array_equal(np.frombuffer(ids.tobytes(), "<i8"), wanted))
    d.with_ids(lambda x: x.__setitem__(5, x[5] + 1000))
    d.refused("a token of the draft is none of the model", "--target-model", d.target, code=3)
    d.make("eagle3")
    d.with_ids(lambda x: x.__setitem__(1, x[0] - 1))
    d.refused("two tokens of the draft are the same of the model", "--target-model", d.target, code=3)
    d.make("dspark")
    config, tensors = load(d.model)
    store(d.model, dict(config, markov_head_type="gated"), tensors)
    d.refused("markov_head_type", "--target-model", d.target)
    store(d.model, dict(config, draft_vocab_size=128), tensors)
    d.refused("d2t", "--target-model", d.target)
    store(d.model, config, tensors)
    with open(os.path.join(d.model, "mask_embedding.pt"), "wb") as f:
        f.write(b"x")
    d.refused("mask_embedding.pt", "--target-model", d.target)
    shutil.rmtree(folder)
    return d.end()


if __name__ == "__main__":
    sys.exit(main())
