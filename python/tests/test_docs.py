# SPDX-License-Identifier: MIT
"""Guards against: examples in the documentation and in docstrings that do not run as printed."""
import doctest
import importlib
import pathlib
import re
import sys

import numpy
import pytest
import tare

MODULES = ("__init__", "_encodings", "_load", "_model", "_parts", "_save", "_tensor", "_verbs", "gguf", "wcodec",
           "safetensors._install", "safetensors._open", "safetensors._serialize", "safetensors.numpy",
           "safetensors.torch", "torch")
FLAGS = doctest.ELLIPSIS | doctest.NORMALIZE_WHITESPACE


@pytest.fixture
def folder(tmp_path, monkeypatch):
    monkeypatch.chdir(tmp_path)
    return tmp_path


DOCS = pathlib.Path(__file__).parents[2] / "docs"
PAGES = {"transformers": "transformers", "diffusers": "diffusers", "torch-distributed": "torch",
         "tensorrt": "tensorrt_lean", "llama-cpp-python": "safetensors"}


def run_page(page):
    """Runs the examples of a page that have prompts; how many there were."""
    text = page.read_text(encoding="utf-8")
    examples = "\n".join(re.findall(r"^```python\n(>>>.*?)^```", text, re.M | re.S))
    parsed = doctest.DocTestParser().get_doctest(examples, {}, page.name, str(page), 0)
    runner = doctest.DocTestRunner(optionflags=FLAGS)
    runner.run(parsed)
    assert not runner.failures
    return runner.tries


def test_page(folder):
    assert run_page(DOCS / "python.md") > 20


@pytest.mark.parametrize("name", PAGES)
def test_integration_page(folder, name):
    pytest.importorskip(PAGES[name])
    assert run_page(DOCS / "integrations" / (name + ".md")) > 3


def test_every_integration_has_a_page():
    pages = {p.stem for p in (DOCS / "integrations").glob("*.md")}
    assert pages == {*PAGES, "vllm", "sglang", "comfyui"}
    listed = (DOCS / "python.md").read_text(encoding="utf-8")
    assert all(f"integrations/{name}.md" in listed for name in pages)


@pytest.fixture
def model(folder):
    """What the docstrings call `model`, with the names of llama.cpp."""
    rng = numpy.random.default_rng(0)
    shapes = {"token_embd.weight": (256, 64), "output_norm.weight": (64,),
              "blk.0.attn_q.weight": (64, 64), "blk.0.attn_norm.weight": (64,)}
    arrays = {n: rng.integers(-9, 9, s).astype(numpy.float32) for n, s in shapes.items()}
    metadata = {"general.architecture": "llama", "tokenizer.ggml.scores": [0.0, 1.0]}
    tare.save(arrays, "tiny.gguf", metadata=metadata, tensor_type={"blk.0.attn_q": "q8_0"})
    tare.save(arrays, "tiny.safetensors")
    tare.pack("tiny.gguf", "tiny.wcodec")
    return tare.open("tiny.gguf")


@pytest.mark.parametrize("name", MODULES)
def test_docstrings(folder, model, name):
    if name in ("_tensor", "safetensors.torch", "torch"):
        pytest.importorskip("torch", reason="examples make torch tensors")
    module = tare if name == "__init__" else importlib.import_module("tare." + name)
    names = {"tare": tare, "numpy": numpy, "model": model, "torch": sys.modules.get("torch")}
    runner = doctest.DocTestRunner(optionflags=FLAGS)
    for test in doctest.DocTestFinder().find(module, extraglobs=names):
        runner.run(test)
    assert runner.tries and not runner.failures
