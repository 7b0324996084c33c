#!/usr/bin/env python3
# SPDX-License-Identifier: MIT
"""What llama.cpp has no use for is left out, and is no loss: conversion under --strict, `verify --against --strict`
and `diff` agree about a model with a pooler and files that no key tells of. A missing tensor of the file is a loss for
all of them. `left_out.py TARE FOLDER`"""
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

FILES = {"README.md": "---\nlicense: mit\n---\n# A model\n", "data_config.json": "[]",
         "sentence_bert_config.json": '{"max_seq_length": 256}',
         "modules.json": '[{"path": "1_Pooling", "type": "sentence_transformers.models.Pooling"}]',
         "1_Pooling/config.json": '{"pooling_mode_mean_tokens": true}'}


def main():
    tare, folder = sys.argv[1:]
    shutil.rmtree(folder, ignore_errors=True)
    model, other, out = (os.path.join(folder, x) for x in ("model", "other", "out.gguf"))
    checks = Checks(tare)
    run, check = checks.run, checks.check

    tiny_models.write(model, "bert")
    config, tensors = load(model)
    check("the tiny model has a pooler", any("pooler" in t for t in tensors))
    os.mkdir(os.path.join(model, "1_Pooling"))
    for name, text in FILES.items():
        with open(os.path.join(model, name), "w") as f:
            f.write(text)
    options = [out, "--strict", "--type", "f32", "--no-tokenizer", "--no-sync", "--force"]
    said = json.loads(run("convert", model, *options, "--json").stdout)["findings"]
    check(f"the pooler is named: {said}", any(f["code"] == "llama.left-out" and "pooler" in json.dumps(f) for f in said))
    check("1_Pooling is a key", run("info", out, "bert.pooling_type", "--raw").stdout.strip() == "1")
    run("verify", out, "--against", model, "--strict", "--quiet")
    run("diff", model, out, "--quiet")
    # a tensor that the model has, and the file lacks
    lesser = {t: v for t, v in tensors.items() if "layer.1.output.LayerNorm.bias" not in t}
    os.mkdir(other)
    store(other, config, lesser)
    said = run("convert", other, *options, "--quiet", code=5).stderr  # another block has one
    check(f"the lost bias is named: {said}", "layer_output_norm.bias" in said)
    run("convert", other, *[o for o in options if o != "--strict"], "--quiet")
    run("verify", out, "--against", model, "--quiet", code=1)
    run("diff", model, out, "--quiet", code=1)
    # a number where config.json has a list with one for each layer
    tiny_models.write(model, "mellum")
    config, tensors = load(model)
    for layers in (-5, 4000000000):
        store(model, dict(config, layer_types=layers), tensors)
        said = run("convert", model, *options, "--quiet", code=3).stderr
        check(f"layer_types is no list: {said}", "layer_types: config.json: expected a list" in said)
    shutil.rmtree(folder)
    return checks.end()


if __name__ == "__main__":
    sys.exit(main())
