# SPDX-License-Identifier: MIT
"""Guards against: examples that do not run. Each is run as a user would; a program that is missing
here, vLLM's, has a stand-in that looks at what it is given."""
import importlib.util
import os
import pathlib
import subprocess
import sys

import numpy as np
import pytest
import tare

FOLDER = pathlib.Path(__file__).parents[2] / "examples"


def run(name, *args, **env):
    path = os.pathsep.join([os.path.dirname(os.path.dirname(tare.__file__)), os.environ.get("PYTHONPATH", "")])
    done = subprocess.run([sys.executable, FOLDER / name, *map(str, args)], capture_output=True, text=True,
                          env={**os.environ, "PYTHONPATH": path, **env})
    assert done.returncode == 0, done.stderr[-2000:]
    return done.stdout


def needs(*packages):
    for package in packages:
        if not importlib.util.find_spec(package):
            pytest.skip(f"{package} is not installed")


def test_all_are_here():
    here = pathlib.Path(__file__)
    text = here.read_text() + here.with_name("test_integrations.py").read_text()
    assert len(list(FOLDER.glob("*.py"))) == 7
    assert all(f'"{p.name}"' in text for p in FOLDER.glob("*.py"))


def test_delta(tmp_path):
    rng = np.random.default_rng(0)
    base = {"w": rng.standard_normal((128, 256), dtype=np.float32), "n": np.ones(256, np.float32)}
    tuned = {**base, "w": base["w"] + (rng.random((128, 256)) < 0.01).astype(np.float32)}
    for name, arrays in (("base", base), ("tuned", tuned)):
        tare.save(arrays, tmp_path / f"{name}.safetensors")
    out = run("delta.py", tmp_path / "base.safetensors", tmp_path / "tuned.safetensors", tmp_path / "d.wcodec")
    *_, total = out.splitlines()
    words = total.replace(";", "").replace(",", "").split()
    assert int(words[-1]) == (tmp_path / "d.wcodec").stat().st_size < int(words[3]) / 2
    assert "  w" in out


def test_histogram(tmp_path, gguf_path):
    needs("matplotlib")
    out = run("histogram.py", gguf_path, tmp_path / "h.png", MPLCONFIGDIR=str(tmp_path))
    assert (tmp_path / "h.png").read_bytes()[:4] == b"\x89PNG"
    assert {line.split()[0] for line in out.splitlines()} == {"f32", "q8_0", "q4_0"}


def test_convert(tmp_path):
    tare.save({"w": np.ones((4, 64), np.float32)}, tmp_path / "w.safetensors")
    out = run("convert_checked.py", tmp_path / "w.safetensors", tmp_path / "w.gguf", "q8_0")
    assert "sound; 2 differences" in out and tare.open(tmp_path / "w.gguf")["w"].encoding.name == "q8_0"


def test_stream(tmp_path, safetensors_path):
    needs("torch")
    tare.pack(safetensors_path, tmp_path / "m.wcodec")
    out = run("stream.py", tmp_path / "m.wcodec")
    assert "t.float32" in out and "peak memory" in out


def test_generate(tmp_path):
    needs("torch", "transformers", "tokenizers")
    import torch
    from tokenizers import Tokenizer, models, pre_tokenizers
    from transformers import LlamaConfig, LlamaForCausalLM, PreTrainedTokenizerFast
    words = {w: i for i, w in enumerate("<unk> once upon a time there was".split())}
    tokenizer = Tokenizer(models.WordLevel(words, unk_token="<unk>"))
    tokenizer.pre_tokenizer = pre_tokenizers.Whitespace()
    torch.manual_seed(0)
    model = LlamaForCausalLM(LlamaConfig(vocab_size=len(words), hidden_size=16, intermediate_size=16,
                                         num_hidden_layers=1, num_attention_heads=2, eos_token_id=None))
    model.save_pretrained(tmp_path / "hf")
    PreTrainedTokenizerFast(tokenizer_object=tokenizer, unk_token="<unk>").save_pretrained(tmp_path / "hf")
    tare.pack(tmp_path / "hf", tmp_path / "m.wcodec")
    out = run("generate.py", tmp_path / "m.wcodec", "once upon a")
    ids = model.generate(torch.tensor([[1, 2, 3]]), max_new_tokens=40, do_sample=False)[0].tolist()
    assert out.split() == [list(words)[i] for i in ids]


def test_serve(tmp_path):
    (tmp_path / "hf").mkdir()
    tare.save({"w": np.ones((4, 4), np.float32)}, tmp_path / "hf" / "model.safetensors")
    (tmp_path / "hf" / "config.json").write_text('{"model_type": "llama"}')
    tare.pack(tmp_path / "hf", tmp_path / "m.wcodec")
    (tmp_path / "bin").mkdir()
    vllm = tmp_path / "bin" / "vllm"
    vllm.write_text('#!/bin/sh\necho "$@"\ncat "$2/config.json"\n')
    vllm.chmod(0o755)
    out = run("serve.py", tmp_path / "m.wcodec", tmp_path / "served", "--port", "8001",
              PATH=f"{tmp_path / 'bin'}:{os.environ['PATH']}")
    assert out.splitlines()[0] == f"serve {tmp_path / 'served'} --load-format tare --port 8001"
    assert '"llama"' in out and tare.open(tmp_path / "served" / "model.wcodec")["w"].shape == (4, 4)
    tare.save({"w": np.ones((2, 2), np.float32)}, tmp_path / "hf" / "model.safetensors", force=True)
    tare.pack(tmp_path / "hf", tmp_path / "other.wcodec")
    run("serve.py", tmp_path / "other.wcodec", tmp_path / "served", PATH=f"{tmp_path / 'bin'}:{os.environ['PATH']}")
    assert tare.open(tmp_path / "served" / "model.wcodec")["w"].shape == (2, 2)
