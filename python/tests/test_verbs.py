# SPDX-License-Identifier: MIT
"""Guards against: a verb that does other than the command, options that are dropped, outputs left
behind after an error or Ctrl-C."""
import hashlib
import io
import json
import os
import pickle
import shutil
import subprocess
import sys

import gguf
import ml_dtypes
import numpy as np
import pytest
import safetensors
import safetensors.numpy
import tare


def test_convert(tmp_path, gguf_path, block_arrays):
    out = tmp_path / "out.safetensors"
    result = tare.convert(gguf_path, out, type="f16", report=True)
    assert result.format == "safetensors" and result.files[0].nbytes == os.path.getsize(out)
    assert result.written_nbytes == os.path.getsize(out)
    by_name = {t.name: t for t in result.tensors}
    assert by_name["blk.0.weight"].becomes.name == "f16"
    assert by_name["blk.0.weight"].source.name == "q8_0"
    arrays = safetensors.numpy.load_file(out)
    assert np.array_equal(arrays["blk.0.weight"],
                          tare.open(gguf_path)["blk.0.weight"].numpy("f16"))
    with pytest.raises(FileExistsError) as e:
        tare.convert(gguf_path, out)
    assert isinstance(e.value, tare.OutputExistsError) and e.value.code == "output.exists"
    assert tare.convert(gguf_path, out, force=True, tensor_type={"norm": "bf16"}, type="f32")
    model = tare.open(out)
    assert (model["norm.weight"].encoding.name, model["blk.1.weight"].encoding.name) == ("bf16", "f32")
    tare.convert(out, tmp_path / "other.gguf", rename_tensor={"blk.*.weight": "layers.*.w", "norm.weight": "n"})
    other = tare.open(tmp_path / "other.gguf")
    assert np.array_equal(other["layers.1.w"].numpy(), model["blk.1.weight"].numpy()) and "n" in other
    with pytest.raises(tare.UsageError, match="nothing in the model has this name"):
        tare.plan(out, tmp_path / "none.gguf", rename_tensor={"absent": "x"})


def test_a_file_of_weights_stands_for_its_directory(tmp_path, caplog):
    """Where it becomes GGUF, as for the command: its names alone make nothing that llama.cpp runs."""
    folder, gguf = tmp_path / "model", tmp_path / "whole.gguf"
    tare.convert(tare.synth("llama-chat"), folder, to="hf")
    tare.convert(folder, gguf)
    caplog.set_level("INFO", "tare")
    tare.convert(folder / "model.safetensors", tmp_path / "file.gguf")
    assert "the whole directory is converted" in caplog.text
    tare.plan(folder / "model.safetensors", tmp_path / "planned.gguf").run()
    for name in "file.gguf", "planned.gguf":
        assert tare.diff(gguf, tmp_path / name).same, name
    tare.quantize(folder / "model.safetensors", tmp_path / "q.gguf", "Q8_0")
    assert tare.open(tmp_path / "q.gguf").metadata["general.architecture"] == "llama"
    for source, options in (folder / "model.safetensors", {"keep_names": True}), (tare.open(folder / "model.safetensors"), {}):
        tare.convert(source, tmp_path / "alone.gguf", force=True, **options)
        assert "model.norm.weight" in tare.open(tmp_path / "alone.gguf")


def test_packed_weights_are_compared_by_their_numbers(tmp_path):
    source, packed = tmp_path / "model", tmp_path / "packed"
    tare.convert(tare.synth("llama-chat"), source, to="hf")
    tare.quantize(source, packed, "w4a16", to="hf")
    codes = {f.code for f in tare.verify(packed, against=source).findings}
    assert "convert.lossy" in codes and "lost.tensor" not in codes
    tare.convert(packed, tmp_path / "packed.gguf")
    assert "lost.tensor" not in {f.code for f in tare.verify(tmp_path / "packed.gguf", against=packed).findings}


def test_a_mix_is_no_type(tmp_path, gguf_path):
    with pytest.raises(tare.UsageError, match=r"that is a mix: tare.quantize\(src, dst, 'Q4_K_M'\)"):
        tare.convert(gguf_path, tmp_path / "x.gguf", type="q4_k_m")


def test_options_reach_the_library(tmp_path, gguf_path):
    out = tmp_path / "o.gguf"
    tare.convert(gguf_path, out, override_kv={"llama.context_length": 77, "t.text": "x", "t.new": 0.25,
                                            "t.flag": False}, align=64, endian="big")
    m = tare.open(out)
    assert m.metadata["llama.context_length"] == 77 and m.metadata["t.new"] == 0.25
    assert m.metadata["t.text"] == "x" and m.metadata["t.flag"] is False
    assert m.info.is_big_endian and m.info.alignment == 64
    with pytest.raises(tare.TareError):
        tare.convert(gguf_path, tmp_path / "s.mcf", strict=True, type="q8", clip=(1.0, -1.0))
    with pytest.raises(tare.UsageError) as e:
        tare.convert(gguf_path, tmp_path / "x.gguf", quality="excellent")
    assert e.value.field == "quality"
    with pytest.raises(tare.UsageError):
        tare.convert(gguf_path, tmp_path / "x.gguf", type="q99")
    with pytest.raises(TypeError):
        tare.convert(gguf_path, tmp_path / "x.gguf", nonsense=1)
    assert sorted(os.listdir(tmp_path)) == ["o.gguf"]
    result = tare.convert(gguf_path, tmp_path / "dir", to="hf", shard_size="4K")
    assert len(result.files) > 2 and os.path.isdir(tmp_path / "dir")


def test_names_are_mapped_as_by_the_command(tmp_path, command):
    """There and back, packed, and kept."""
    tare.convert(tare.synth("llama-tiny"), tmp_path / "hf", to="hf")
    result = tare.convert(tmp_path / "hf", tmp_path / "m.gguf", type="f32", no_tokenizer=True,
                          metadata={"general.license": "mit"})
    model = tare.open(tmp_path / "m.gguf")
    assert "blk.1.attn_q.weight" in model and result.tensors[1].name == "token_embd.weight"
    assert model.metadata["general.name"] == "Hf" and model.metadata["general.license"] == "mit"
    subprocess.run([*command, "convert", tmp_path / "hf", tmp_path / "c.gguf", "--no-tokenizer",
                    "--type", "f32", "--quiet"], check=True)
    tare.convert(tmp_path / "hf", tmp_path / "same.gguf", type="f32", no_tokenizer=True)
    assert (tmp_path / "c.gguf").read_bytes() == (tmp_path / "same.gguf").read_bytes()
    tare.convert(tmp_path / "m.gguf", tmp_path / "back", to="hf")
    assert tare.diff(tmp_path / "hf" / "model.safetensors", tmp_path / "back" / "model.safetensors").same
    assert "model.norm.weight" in tare.open(tmp_path / "back")
    tare.convert(tmp_path / "m.gguf", tmp_path / "kept", to="hf", keep_names=True)
    assert "output_norm.weight" in tare.open(tmp_path / "kept")
    with tare.open(tmp_path / "hf") as hf:
        tare.pack(hf, tmp_path / "hf.wcodec")
    plan = tare.plan(tmp_path / "hf.wcodec", tmp_path / "p.gguf", no_tokenizer=True, type="f32")
    assert plan.tensors[1].name == "token_embd.weight"
    with pytest.raises(tare.UsageError):
        tare.plan(tmp_path / "hf", tmp_path / "x.mcf", vocab_only=True)
    with pytest.raises(tare.UnsupportedError):
        tare.plan(tmp_path / "hf", tmp_path / "x.gguf")


def test_a_path_of_a_directory_is_packed_whole(tmp_path):
    """Not only what the model keeps in memory, as by the command: exclude works."""
    tare.convert(tare.synth("llama-tiny"), tmp_path / "hf", to="hf")
    (tmp_path / "hf" / "state").mkdir()
    (tmp_path / "hf" / "state" / "notes.xyz").write_bytes(b"x" * 100)
    for source, out in ((tmp_path / "hf", tmp_path / "one"), (str(tmp_path / "hf"), tmp_path / "two")):
        tare.pack(source, tmp_path / "hf.wcodec", exclude="config.json", force=True)
        tare.unpack(tmp_path / "hf.wcodec", out)
        assert (out / "state" / "notes.xyz").read_bytes() == b"x" * 100
        assert not (out / "config.json").exists()


def test_adapters_are_merged_before_names_change(tmp_path):
    """As if merged into the directory first, also where types are chosen."""
    tare.convert(tare.synth("llama-tiny"), tmp_path / "hf", to="hf")
    rng = np.random.default_rng(5)
    name = "base_model.model.model.layers.0.self_attn.q_proj."
    (tmp_path / "lora").mkdir()
    tare.save({name + "lora_A.weight": rng.standard_normal((4, 256), dtype="f4"),
               name + "lora_B.weight": rng.standard_normal((256, 4), dtype="f4")},
              tmp_path / "lora" / "adapter_model.safetensors")
    (tmp_path / "lora" / "adapter_config.json").write_text('{"peft_type": "LORA", "r": 4, "lora_alpha": 8}')
    adapter, options = [tmp_path / "lora"], {"no_tokenizer": True, "name": "m"}
    tare.convert(tmp_path / "hf", tmp_path / "merged", to="hf", apply_adapter=adapter)
    for i, alone in enumerate((adapter[0], (os.fsdecode(adapter[0]), 1.0))):
        tare.convert(tmp_path / "hf", tmp_path / f"alone{i}", to="hf", apply_adapter=alone)
        assert tare.diff(tmp_path / "merged", tmp_path / f"alone{i}").same
    result = tare.convert(tmp_path / "hf", tmp_path / "one.gguf", type="f16", apply_adapter=adapter, **options)
    assert "convert.merged" in {f.code for f in result.findings}
    tare.convert(tmp_path / "merged", tmp_path / "two.gguf", type="f16", **options)
    assert tare.diff(tmp_path / "one.gguf", tmp_path / "two.gguf").same
    tare.convert(tmp_path / "hf", tmp_path / "plain.gguf", type="f16", **options)
    assert not tare.diff(tmp_path / "one.gguf", tmp_path / "plain.gguf").same
    tare.quantize(tmp_path / "hf", tmp_path / "fit.gguf", target_bpw=6, apply_adapter=adapter, **options)
    assert tare.diff(tmp_path / "one.gguf", tmp_path / "fit.gguf", tolerance=0.1).same
    with pytest.raises(tare.UnsupportedError, match="an adapter, which is not a model"):
        tare.convert(tmp_path / "lora", tmp_path / "x.gguf")


@pytest.mark.parametrize("suffix", ("hf", "mcf", "infq", "safetensors", "wcodec"))
def test_models_are_compared_under_one_set_of_names(tmp_path, command, suffix):
    """What has Hugging Face's names, in whatever container, beside a GGUF file: as the command does."""
    tare.convert(tare.synth("llama-tiny"), tmp_path / "hf", to="hf")
    gguf, other = tmp_path / "m.gguf", tmp_path / "hf"
    tare.convert(other, gguf, type="f32", no_tokenizer=True, name="m")
    if suffix != "hf":
        other = tmp_path / f"m.{suffix}"
        tare.convert(tmp_path / "hf", other)
    lossy = suffix == "infq"
    for a, b, renamed in ((gguf, other, "b"), (other, gguf, "a")):
        diff = tare.diff(a, b, tolerance=0.01 if lossy else 0)
        shown = {(d.kind, d.name) for d in diff if not d.is_tolerated}
        assert diff.renamed == renamed and shown == {("key", "general.name")}
        out = subprocess.run([*command, "diff", a, b, "--json", *(["--tolerance", "0.01"] if lossy else [])],
                             capture_output=True, text=True)
        said = json.loads(out.stdout)["comparisons"][0]
        assert type(a)(said["renamed"]) == (a, b)["ab".index(renamed)] and len(said["differences"]) == len(diff)
    kept = tare.diff(gguf, other, keep_names=True)
    assert kept.renamed is None and sum(d.kind.startswith("tensor-only") for d in kept) == 42
    assert not {f.code for f in tare.verify(gguf, against=other).findings} & {"lost.tensor"}
    assert "lost.tensor" in {f.code for f in tare.verify(gguf, against=other, keep_names=True).findings}
    with tare.open(gguf) as a, tare.open(other) as b:
        assert tare.diff(a, a).same and tare.diff(a, a).renamed is None
        assert tare.diff(a, b, header_only=True).renamed == "b"  # opened models, too


def test_what_a_reader_raises_reaches_the_caller_of_a_mapped_comparison(tmp_path):
    class Failing:
        def __init__(self, data):
            self.file, self.n_left = io.BytesIO(data), 1 << 30
            self.seek = self.file.seek

        def read(self, n=-1):
            self.n_left -= 1
            if self.n_left < 0:
                raise RuntimeError("the line is down")
            return self.file.read(n)

    tare.convert(tare.synth("llama-tiny"), tmp_path / "hf", to="hf")
    tare.convert(tmp_path / "hf", tmp_path / "m.gguf", type="f32", no_tokenizer=True)
    tare.convert(tmp_path / "hf", tmp_path / "m.safetensors")
    data = (tmp_path / "m.safetensors").read_bytes()
    for is_first in (True, False):
        file = Failing(data)
        with tare.open(file) as model, tare.open(tmp_path / "m.gguf") as gguf:
            file.n_left = 0
            with pytest.raises(RuntimeError, match="the line is down"):
                tare.diff(*((model, gguf) if is_first else (gguf, model)))


def test_plan(tmp_path, gguf_path):
    out = tmp_path / "p.safetensors"
    plan = tare.plan(gguf_path, out)
    assert not out.exists() and plan.format == "safetensors" and not plan.is_identity
    assert {t.action for t in plan.tensors} == {"lossy", "copy"}
    assert any(f.code.startswith("convert.") for f in plan.findings)
    plan.check()
    assert plan.run().written_nbytes == plan.write_nbytes == os.path.getsize(out)
    with pytest.raises(tare.OutputExistsError):
        plan.check()
    with pytest.raises(tare.TareError):
        tare.plan(gguf_path, tmp_path / "q.safetensors", strict=True).run()


def test_quantize(tmp_path, safetensors_path):
    source = tmp_path / "m.safetensors"
    rng = np.random.default_rng(0)
    safetensors.numpy.save_file({"w": rng.standard_normal((8, 256), dtype=np.float32)}, source)
    result = tare.quantize(source, tmp_path / "q.gguf", "Q4_K_M", pure=True)
    assert result.tensors[0].becomes.name == "q4_k"
    with pytest.raises(ValueError):
        tare.quantize(source, tmp_path / "r.gguf", "Q99")


def test_quantize_to_a_target(tmp_path):
    source = tare.synth("llama-tiny")
    plain, measured = tmp_path / "a.gguf", tmp_path / "b.gguf"
    result = tare.quantize(source, plain, target_size="1.1M")
    assert 1_090_000 < os.path.getsize(plain) <= 1_100_000
    assert 0 < result.damage < 0.1
    types = dict(line.rsplit("=", 1) for line in result.recipe.splitlines())
    again = tare.quantize(source, tmp_path / "c.gguf", "Q4_K_M", tensor_type=types)
    assert [t.becomes for t in again.tensors] == [t.becomes for t in result.tensors]
    assert again.damage is None and again.recipe is None
    (tmp_path / "s.txt").write_text("blk.0.ffn_down.weight 1000\n")
    narrow = tare.quantize(source, measured, target_bpw=4.5, types=["q3_k", "q8_0"],
                           sensitivity=tmp_path / "s.txt")
    names = {t.name: t.becomes.name for t in narrow.tensors}
    assert names["model.layers.0.mlp.down_proj.weight"] == "q8_0" and "q3_k" in names.values()
    assert not {"q4_k", "iq4_xs"} & set(names.values())
    for wrong in ({}, {"mix": "Q8_0", "target_bpw": 4}, {"target_bpw": 4, "target_damage": 1}):
        with pytest.raises(ValueError):
            tare.quantize(source, tmp_path / "x.gguf", **wrong)
    with pytest.raises(tare.UsageError):
        tare.quantize(source, tmp_path / "x.gguf", target_size=1000)
    with pytest.raises(tare.UsageError):
        tare.quantize(source, tmp_path / "x.gguf", target_bpw=4, types=["q99"])
    assert not os.path.exists(tmp_path / "x.gguf")


def test_schemes_of_packed_weights(tmp_path, command):
    source = tmp_path / "in"
    tare.convert(tare.synth("llama-tiny"), source, to="hf")
    with open(source / "config.json", "w") as f:
        f.write('{"torch_dtype": "float32"}')
    rules = {"down_proj": "w8a16", "layers.1.*o_proj": "none"}
    result = tare.quantize(source, tmp_path / "a", "w4a16:g32", to="hf", tensor_type=rules)
    subprocess.run([*command, "quantize", source, tmp_path / "b", "w4a16:g32", "--tensor-type", "down_proj=w8a16", "--tensor-type",
                    "layers.1.*o_proj=none"], check=True)
    for name in ("model.safetensors", "config.json"):
        assert (tmp_path / "a" / name).read_bytes() == (tmp_path / "b" / name).read_bytes()
    assert result.recipe is None and "i32" in {t.becomes.name for t in result.tensors}
    fitted = tare.quantize(source, tmp_path / "c", target_bpw=11, to="hf", types=["w4a16", "w8a16", "none"])
    subprocess.run([*command, "quantize", source, tmp_path / "d", "--to", "hf", "--target-bpw", "11", "--types", "w4a16,w8a16,none"], check=True)
    assert (tmp_path / "c/model.safetensors").read_bytes() == (tmp_path / "d/model.safetensors").read_bytes()
    assert 0 < fitted.damage < 1
    again = dict(line.rsplit("=", 1) for line in fitted.recipe.splitlines())
    tare.quantize(source, tmp_path / "e", "w8a16", to="hf", tensor_type=again)
    assert (tmp_path / "e/model.safetensors").read_bytes() == (tmp_path / "d/model.safetensors").read_bytes()
    with pytest.raises(tare.UsageError, match="to='hf'"):
        tare.quantize(source, tmp_path / "x.gguf", "w4a16")
    with pytest.raises(ValueError, match="'q4_0' is not a scheme"):
        tare.quantize(source, tmp_path / "x", "w4a16", to="hf", tensor_type={"down": "q4_0"})
    with pytest.raises(tare.UsageError):
        tare.quantize(source, tmp_path / "x", target_bpw=2, to="hf")
    assert not os.path.exists(tmp_path / "x") and not os.path.exists(tmp_path / "x.gguf")


def test_pack_with_loss(tmp_path):
    source, out = tare.synth("llama-tiny"), tmp_path / "m.wcodec"
    (tmp_path / "s.txt").write_text("model.layers.0.mlp.down_proj.weight 20\n")
    estimate = tare.pack(source, out, lossy=True, target_bpw=3.5, dry_run=True)
    assert not out.exists() and abs(estimate.bits_per_weight / 3.5 - 1) < 0.01
    result = tare.pack(source, out, lossy=True, target_bpw=3.5)
    assert result.n_lossy > 8 and 3.4 < result.bits_per_weight <= 3.5
    assert abs(result.damage / estimate.damage - 1) < 0.1
    assert abs(result.nbytes / estimate.nbytes - 1) < 0.1
    weighed = tare.pack(source, out, force=True, lossy=True, target_size=result.nbytes,
                        sensitivity=tmp_path / "s.txt")
    assert weighed.nbytes <= result.nbytes and weighed.damage > result.damage
    for wrong, said in (({}, "needs one target"), ({"target_bpw": 3, "target_size": "1M"}, "needs one target"),
                        ({"imatrix": "x"}, "needs one target"), ({"target_bpw": 3, "mode": "raw"}, "mode"),
                        ({"target_bpw": 3, "base": source}, "base"), ({"target_bpw": 3, "exclude": "*.md"}, "exclude=")):
        with pytest.raises(ValueError, match=said):
            tare.pack(source, tmp_path / "wrong.wcodec", lossy=True, **wrong)
    with pytest.raises(ValueError, match="exclude=: only a directory"):
        tare.pack(source, tmp_path / "wrong.wcodec", exclude="*.md")
    for name, value in (("target_bpw", 3), ("target_size", "1M"), ("target_damage", 0.1), ("imatrix", "x"), ("sensitivity", "x")):
        with pytest.raises(ValueError, match=f"{name}= is an option of packing with loss: give lossy=True"):
            tare.pack(source, out, **{name: value})
    with pytest.raises(FileNotFoundError):
        tare.pack(source, out, lossy=True, target_bpw=3, imatrix=tmp_path / "none")


@pytest.mark.posix
def test_pack_and_unpack(tmp_path, gguf_path):
    packed, again = tmp_path / "m.wcodec", tmp_path / "m.gguf"
    result = tare.pack(gguf_path, packed, effort="full")
    assert result.nbytes == os.path.getsize(packed) and result.source_nbytes == os.path.getsize(gguf_path)
    assert [layer.name for layer in result.layers][:3] == list(tare.open(gguf_path))
    assert tare.unpack(packed, again).nbytes == os.path.getsize(again)
    with open(gguf_path, "rb") as a, open(again, "rb") as b:
        assert a.read() == b.read()
    assert tare.open(packed).info.container.format == "gguf"
    model, before = tare.open(packed), os.listdir(tmp_path)
    assert model["blk.0.weight"].packed_nbytes
    for suffix in (None, ".gguf"):
        with tare.materialized(packed, suffix=suffix) as path:
            assert suffix is None or path.endswith(suffix)
            with open(path, "rb") as a, open(gguf_path, "rb") as b:
                assert a.read() == b.read()
            assert len(gguf.GGUFReader(path).tensors) == 3
        assert not os.path.exists(path)
    with tare.materialized(gguf_path) as path:
        assert path == gguf_path
    with pytest.raises(tare.UsageError):
        tare.pack(gguf_path, tmp_path / "x.wcodec", segment=3)
    dry = tare.pack(gguf_path, tmp_path / "x.wcodec", effort="full", dry_run=True)
    assert (dry.nbytes, dry.layers) == (result.nbytes, result.layers)
    assert tare.unpack(packed, tmp_path / "x.gguf", dry_run=True).nbytes == os.path.getsize(gguf_path)
    converted = tare.convert(gguf_path, tmp_path / "x.safetensors", dry_run=True)
    assert converted.written_nbytes > 0 and sorted(os.listdir(tmp_path)) == sorted(before)
    with pytest.raises(tare.OutputExistsError):
        tare.convert(gguf_path, again, dry_run=True)
    with pytest.raises(ValueError):
        tare.saves({"w": np.ones(4, np.float32)}, dry_run=True)
    with pytest.raises(tare.OutputExistsError):
        tare.unpack(packed, again)


def test_bases(tmp_path, gguf_path):
    rng = np.random.default_rng(5)
    base = {"w": rng.standard_normal((64, 64), dtype=np.float32).astype(ml_dtypes.bfloat16)}
    tuned = {"w": (base["w"].astype(np.float32) * (1 + 2.0 ** -8)).astype(ml_dtypes.bfloat16)}
    tare.save(base, tmp_path / "base.safetensors")
    tare.save(tuned, tmp_path / "tuned.safetensors")
    result = tare.pack(tmp_path / "tuned.safetensors", tmp_path / "delta.wcodec",
                       base=[tmp_path / "base.safetensors"])
    assert result.n_referring == 1
    with pytest.raises(tare.NeedsBaseError) as e:
        tare.open(tmp_path / "delta.wcodec", strict=True)
    assert e.value.code == "wcodec.base"
    alone = tare.open(tmp_path / "delta.wcodec")
    assert any(f.code == "wcodec.base" and "base.safetensors" in f.text for f in alone.findings)
    model = tare.open(tmp_path / "delta.wcodec", base=[tmp_path / "base.safetensors"])
    assert model["w"].numpy().tobytes() == tuned["w"].tobytes()
    assert model.info.container.bases[0].n_tensors == 1
    assert model.info.container.bases[0].name == "base.safetensors"
    with tare.open(tmp_path / "base.safetensors") as opened:
        tare.convert(tmp_path / "tuned.safetensors", tmp_path / "converted.wcodec", base=[opened])
    assert tare.open(tmp_path / "converted.wcodec").info.container.bases[0].name == "base.safetensors"


def test_save(tmp_path, plain_arrays, bf16_path, gguf_path):
    path = tmp_path / "all.safetensors"
    arrays = {**plain_arrays, **bf16_path[1], "strided": np.arange(24, dtype="i4").reshape(4, 6)[:, ::2],
              "swapped": np.arange(3, dtype=">f4"), "block": tare.open(gguf_path)["norm.weight"]}
    tare.save(arrays, path, metadata={"format": "pt"})
    model = tare.open(path)
    for name, array in arrays.items():
        expected = array.numpy() if isinstance(array, tare.Tensor) else array
        assert np.array_equal(model[name].numpy(), expected), name
    assert model.metadata.pairs == {"format": "pt"}
    with safetensors.safe_open(path, "np") as f:
        assert set(f.keys()) == set(arrays)
        assert all(np.array_equal(f.get_tensor(n), a) for n, a in plain_arrays.items())

    keys = {"general.architecture": "llama", "n": 7, "minus": -3, "x": 0.5, "yes": True, "words": ["a", "ü"],
            "numbers": [1, 2, -3], "reals": np.array([0.5, 2]), "wide": 2 ** 40}
    out = tmp_path / "m.gguf"
    tare.save({"w": plain_arrays["cube"], "q": tare.open(gguf_path)["blk.0.weight"]}, out, metadata=keys)
    read = gguf.GGUFReader(out)
    assert read.fields["words"].contents() == ["a", "ü"]
    m = tare.open(out).metadata
    assert all(m[k] == v if not isinstance(v, np.ndarray) else m[k].numpy().tolist() == v.tolist()
               for k, v in keys.items())
    assert tare.open(out)["q"].encoding.name == "q8_0"
    for bad in ({"w": np.array(["a"])}, {"w": object()}):
        with pytest.raises(TypeError):
            tare.save(bad, tmp_path / "bad.safetensors")
    assert not (tmp_path / "bad.safetensors").exists()


def test_saves(plain_arrays):
    data = tare.saves(plain_arrays, metadata={"a": "b"})
    back = safetensors.numpy.load(data)
    assert all(np.array_equal(back[n], a) for n, a in plain_arrays.items())
    assert tare.open(data).metadata["a"] == "b"
    assert tare.open(tare.saves({"w": np.ones((2, 2))}, to="gguf")).info.format == "gguf"


def test_verify_diff_digest(tmp_path, gguf_path):
    packed = tmp_path / "m.wcodec"
    tare.pack(gguf_path, packed)
    assert tare.verify(gguf_path, deep=True).ok and tare.verify(packed, deep=True, against=gguf_path)
    assert tare.diff(gguf_path, packed).same and not list(tare.diff(gguf_path, packed))
    changed = tare.build({"w": np.ones((2, 2), "f4")})
    other = tare.build({"w": np.array([[1, 1], [1, 2]], "f4"), "v": np.ones(2, "f4")})
    found = tare.diff(changed, other)
    assert not found.same and {d.kind for d in found} == {"tensor-only-b", "value"}
    value = next(d for d in found if d.kind == "value")
    assert value.n_different == 1 and value.max_abs == 1 and value.a == 0
    digests = tare.digest(gguf_path)
    assert digests == tare.digest(packed) and len(str(digests)) == 64
    assert tare.open(gguf_path)["norm.weight"].digest() == digests.tensors["norm.weight"]
    tare.open(gguf_path)["norm.weight"].check()
    manifest = tmp_path / "m.sha256"
    tare.write_manifest(gguf_path, manifest)
    assert hashlib.sha256(manifest.read_bytes()).digest() == digests.whole
    assert tare.verify(packed, manifest=manifest).ok
    assert not tare.verify(changed, manifest=manifest).ok
    nan = tare.build({"w": np.array([np.nan, 1], "f4")})
    assert tare.verify(nan, deep=True).findings


def test_verify_says_everything_once(tmp_path):
    tare.save({"w": np.ones((2, 2), "f4")}, tmp_path / "model.safetensors")
    (tmp_path / "tokenizer.json").write_text("{broken")
    for more in ({}, {"against": tmp_path / "model.safetensors"}, {"deep": True, "against": tmp_path}):
        findings = tare.verify(tmp_path, **more).findings
        assert [f.item_name for f in findings if f.code == "resource.json"] == ["tokenizer.json"]


def test_extract_and_names(tmp_path, gguf_path):
    tare.extract(gguf_path, "blk.0.weight", tmp_path / "w.npy")
    tare.extract(gguf_path, "blk.0.weight", tmp_path / "w.bin")
    t = tare.open(gguf_path)["blk.0.weight"]
    assert np.array_equal(np.load(tmp_path / "w.npy"), t.numpy())
    assert (tmp_path / "w.bin").read_bytes() == bytes(t.raw[0])
    tare.extract(gguf_path, "blk.0.weight", tmp_path / "w.npy", rows=(1, 3), force=True, threads=1)
    tare.extract(gguf_path, "blk.0.weight", tmp_path / "dry.npy", dry_run=True)
    tare.write_manifest(gguf_path, tmp_path / "dry.sha256", dry_run=True)
    assert not (tmp_path / "dry.npy").exists() and not (tmp_path / "dry.sha256").exists()
    assert np.array_equal(np.load(tmp_path / "w.npy"), t[1:3].numpy())
    with pytest.raises(KeyError):
        tare.extract(gguf_path, "nothing", tmp_path / "n.npy")
    name = tare.parse_name("Mixtral-8x7B-v0.1-Q4_0-00001-of-00003.gguf")
    assert (name.size_label, name.encoding, name.shard, name.n_shards) == ("8x7B", "Q4_0", 1, 3)
    assert tare.parse_name("nothing like it") is None
    assert len(tare.synth("llama-tiny")) > 5
    with pytest.raises(tare.UsageError):
        tare.synth("giraffe")


def test_findings_are_logged(tmp_path, gguf_path):
    import logging
    records = []
    log = logging.getLogger("tare")
    handler = logging.Handler()
    handler.emit = records.append
    log.addHandler(handler)
    try:
        tare.convert(gguf_path, tmp_path / "l.safetensors")
    finally:
        log.removeHandler(handler)
    assert records and "convert." in records[0].getMessage()


VERBS = {
    "convert": "tare.convert(model, out, to='gguf', type='iq3_s', quality='best')",
    "pack": "tare.pack(model, out, effort='full')",
    "digest": "tare.digest(model)",
    "verify": "tare.verify(model, deep=True)",
    "diff": "tare.diff(model, tare.synth('llama-1b:normal:2'))",
    "pack with loss": "tare.pack(model, out, lossy=True, target_bpw=4)",
    "load": "tare.load(model)",
    "manifest": "tare.write_manifest(model, out)",
    "extract": "tare.extract(model, 'model.embed_tokens.weight', out)",
}


@pytest.mark.posix
@pytest.mark.parametrize("verb", VERBS)
def test_ctrl_c(tmp_path, verb):
    """In a process of its own: the signal comes while the call runs, and nothing stays."""
    code = f"""
import os, signal, sys, threading, time, tare
out = sys.argv[1] + "/out"
signal.signal(signal.SIGINT, signal.default_int_handler)  # a parent may have it ignored
model = tare.synth("llama-1b")
def press():
    time.sleep(0.15)
    global at
    at = time.perf_counter()
    os.kill(os.getpid(), signal.SIGINT)
threading.Thread(target=press).start()
try:
    {VERBS[verb]}
except KeyboardInterrupt:
    print(time.perf_counter() - at)
    sys.exit(7)
"""
    done = subprocess.run([sys.executable, "-c", code, str(tmp_path)], capture_output=True, text=True,
                          timeout=300)
    assert done.returncode == 7, done.stderr
    assert float(done.stdout) < 20  # how quick is for the benchmark to say
    assert os.listdir(tmp_path) == []


@pytest.mark.posix
def test_ctrl_c_ends_an_encoder():
    """Numbers in memory are encoded piece by piece: the end has not been written."""
    code = """
import os, signal, sys, threading, time, numpy, tare
from tare import _core
signal.signal(signal.SIGINT, signal.default_int_handler)
rows, columns = 8192, 2048
numbers, out = numpy.ones((rows, columns), "float32"), bytearray(rows * columns // 256 * 110)
numbers[:] = numpy.random.default_rng(0).standard_normal(columns)
def press():
    time.sleep(0.05)
    os.kill(os.getpid(), signal.SIGINT)
threading.Thread(target=press).start()
try:
    _core.encode(tare.encodings["iq3_s"].id, numbers, rows, columns, [out], None, True)
except KeyboardInterrupt:
    sys.exit(7 if any(out[:110]) and not any(out[-110:]) else 1)
"""
    done = subprocess.run([sys.executable, "-c", code], capture_output=True, text=True, timeout=300)
    assert done.returncode == 7, done.stderr


@pytest.mark.parametrize("is_mapped", (True, False))
def test_adapters_as_arrays(tmp_path, is_mapped):
    """The factors of a LoRA beside a model are those of its file, in the orientation of W += s * A @ B."""
    rng = np.random.default_rng(0)
    w = {"q.weight": rng.standard_normal((12, 20), dtype=np.float32)}
    a, b = (rng.standard_normal(shape, dtype=np.float32) for shape in ((12, 4), (4, 20)))
    tare.save(w, tmp_path / "m.safetensors")
    (tmp_path / "lora").mkdir()
    tare.save({"base_model.model.q.lora_A.weight": b, "base_model.model.q.lora_B.weight": a},
              tmp_path / "lora" / "adapter_model.safetensors")
    (tmp_path / "lora" / "adapter_config.json").write_text('{"peft_type": "LORA", "r": 4, "lora_alpha": 8}')
    tare.convert(tmp_path / "m.safetensors", tmp_path / "m.infq", to="infq", adapter={"x": tmp_path / "lora"})
    with tare.open(tmp_path / "m.infq", map=is_mapped) as model:
        (adapter,) = model.adapters
        assert (adapter.rows, adapter.columns, adapter.rank, adapter.scale) == (12, 20, 4, 2.0)
        assert {adapter.a.n_elements, adapter.b.n_elements} == {48, 80}
        got = adapter.factors("float32")
        assert [x.shape for x in got] == [(12, 4), (4, 20)]
        assert np.allclose(got[0] @ got[1], a @ b, atol=0.1)  # INFQ quantizes factors, too
        tare.convert(model, tmp_path / "merged.safetensors", apply_adapter=[adapter], type="f32")
        merged = tare.open(tmp_path / "merged.safetensors")["q.weight"].numpy()
        assert np.allclose(merged, model["q.weight"].numpy("float32") + 2 * got[0] @ got[1], atol=1e-5)
    assert adapter.a.shape  # it holds what it needs
    assert got[0].sum() and got[1].sum()  # what was handed out stays
    for read in (adapter.factors, adapter.a.numpy, adapter.b[:1].numpy, lambda: adapter.a.raw[0]):
        with pytest.raises(ValueError, match="the model is closed"):
            read()


def test_adapters_are_extracted(tmp_path):
    """By name: a pair, or all of that name as PEFT has them; nothing is left where that fails."""
    rng = np.random.default_rng(0)
    a, b = (rng.standard_normal(shape, dtype=np.float32) for shape in ((12, 4), (4, 20)))
    plain, stored, lora = tmp_path / "m.safetensors", tmp_path / "m.infq", tmp_path / "lora.safetensors"
    tare.save({"q.weight": rng.standard_normal((12, 20), dtype=np.float32)}, plain)
    tare.save({"A": a, "B": b}, lora)
    tare.convert(plain, stored, adapter={"x": lora})
    tare.extract(stored, "x", tmp_path / "again", adapter=True)
    with pytest.raises(FileExistsError):
        tare.extract(stored, "x", tmp_path / "again", adapter=True)
    tare.extract(stored, "x", tmp_path / "pair.safetensors", adapter=True, no_sync=True)
    with tare.open(tmp_path / "pair.safetensors") as pair:
        assert {name: t.shape for name, t in pair.items()} == {"A": (12, 4), "B": (4, 20)}
    with tare.open(tmp_path / "again" / "adapter_model.safetensors") as factors:
        assert sorted(t.shape for t in factors.values()) == [(4, 20), (12, 4)]
    for wrong in ({"name": "y"}, {"form": "npy"}, {"rows": (0, 1)}, {"dst": tmp_path / "no.gguf"}, {"src": plain}):
        with pytest.raises(ValueError):
            tare.extract(**{"src": stored, "name": "x", "dst": tmp_path / "no", "adapter": True, **wrong})
    assert not any(path.name.startswith("no") for path in tmp_path.iterdir())


def test_files_of_a_result(tmp_path):
    """Paths that can be opened, and the sizes that the files have."""
    model = tare.synth("llama-tiny")
    for name, options in (("m.gguf", {}), ("m.wcodec", {}), ("m.infq", {}), ("hf", {"to": "hf"}),
                          ("parts", {"to": "gguf", "shard_size": "3M"})):
        result = tare.convert(model, tmp_path / name, **options)
        assert result.files and all(os.path.getsize(f.path) == f.nbytes for f in result.files)
        assert sum(f.nbytes for f in result.files) == result.written_nbytes


def test_a_cancelled_token_stops_whatever_it_is_given_to(tmp_path, gguf_path, packed_delta):
    token = tare.CancelToken()
    token.cancel()
    delta, base = packed_delta
    model = tare.open(gguf_path)
    for call in (lambda p: tare.convert(gguf_path, tmp_path / "a.gguf", progress=p),
                 lambda p: tare.save({"w": np.ones(3)}, tmp_path / "b.gguf", progress=p),
                 lambda p: tare.load(gguf_path, progress=p), lambda p: tare.open(gguf_path, progress=p),
                 lambda p: tare.verify(gguf_path, progress=p), lambda p: model["norm.weight"].check(progress=p),
                 lambda p: tare.unpack(delta, tmp_path / "c.gguf", base=[base], progress=p)):
        with pytest.raises(tare.CancelledError):
            call(token)
    plan = tare.plan(gguf_path, tmp_path / "d.gguf")
    plan._progress = token
    with pytest.raises(tare.CancelledError):  # one piece of work is none too few
        plan.run()
    assert not os.listdir(tmp_path)


@pytest.fixture
def packed_delta(tmp_path_factory):
    folder = tmp_path_factory.mktemp("delta")
    a = np.random.default_rng(5).normal(size=(64, 64)).astype("float32")
    tare.save({"w": a}, folder / "base.safetensors")
    a[0] += 1
    tare.save({"w": a}, folder / "tuned.safetensors")
    tare.pack(folder / "tuned.safetensors", folder / "delta.wcodec", base=[folder / "base.safetensors"])
    return folder / "delta.wcodec", folder / "base.safetensors"


def test_bases_where_files_are_opened(packed_delta):
    delta, base = packed_delta
    with tare.open(delta, base=[base]) as model:
        expected = model["w"].numpy()
    assert np.array_equal(tare.load(delta, base=[base])["w"], expected)
    assert np.array_equal(dict(tare.stream(delta, framework="numpy", base=[base]))["w"], expected)
    with pytest.raises(tare.NeedsBaseError, match="base= gives it"):
        tare.load(delta)


def test_paths_and_types_in_every_form(tmp_path):
    state = {"w": np.ones((4, 32), "float32")}
    path = os.fsencode(tmp_path / "b.gguf")
    assert os.path.getsize(tare.save(state, path, type=np.float16).files[0].path)
    assert tare.open(os.fsdecode(path))["w"].encoding.name == "f16"
    with pytest.raises(tare.OutputExistsError, match="force=True replaces it") as e:
        tare.save(state, path)
    assert isinstance(e.value, FileExistsError)
    for option, value in (("type", "nope"), ("endian", "middle"), ("shard_size", "many"), ("threads", -1)):
        with pytest.raises(tare.UsageError, match=f"^{option}: .*not '{value}'"):
            tare.save(state, tmp_path / "c.gguf", **{option: value})
    for wrong in ([1], {1: np.ones(3)}, {"w": None}):
        with pytest.raises((TypeError, ValueError), match="a dict|the name|w: no number format"):
            tare.save(wrong, tmp_path / "d.gguf")
    with pytest.raises(TypeError, match="types: a list"):
        tare.quantize(os.fsdecode(path), tmp_path / "f.gguf", target_bpw=6, types="q4_k,q6_k")
    with pytest.raises(TypeError, match="types: .* is tensor_type"):
        tare.quantize(os.fsdecode(path), tmp_path / "f.gguf", target_bpw=6, types={"ffn": "q4_k"})
    with pytest.raises(ValueError, match="hf is a directory"):
        tare.saves(state, to="hf")


def test_importance_is_asked_for(tmp_path):
    """By the mix or by the type, one class of error."""
    source = tmp_path / "m.safetensors"
    tare.convert(tare.synth("llama-tiny"), source)
    for act in (lambda: tare.quantize(source, tmp_path / "q.gguf", "IQ2_XXS"),
                lambda: tare.convert(source, tmp_path / "q.gguf", type="iq2_xxs"),
                lambda: tare.quantize(source, tmp_path / "q.gguf", "Q4_K_M", output_tensor_type="iq1_s")):
        with pytest.raises(tare.NeedsImportanceError, match="importance matrix"):
            act()


def test_shard_stands_for_its_set(tmp_path):
    tare.convert(tare.synth("llama-tiny"), tmp_path / "set", shard_size=3000000, to="hf")
    shard = str(tmp_path / "set" / "model-00001-of-00003.safetensors")
    result = tare.pack(shard, tmp_path / "whole.wcodec")
    assert [f.code for f in result.findings] == ["pack.whole-set"] and len(tare.open(tmp_path / "whole.wcodec")) == 21
    assert not tare.pack(tmp_path / "set", tmp_path / "folder.wcodec").findings  # that was asked for
    with tare.open(tmp_path / "set") as model:
        assert not tare.pack(model, tmp_path / "opened.wcodec").findings
    with tare.open(shard, one_shard=True) as model:
        result = tare.pack(model, tmp_path / "one.wcodec")
        assert not result.findings and list(tare.open(tmp_path / "one.wcodec")) == list(model)


def test_edit(tmp_path, gguf_path):
    path = tmp_path / "m.gguf"
    shutil.copyfile(gguf_path, path)
    before = path.read_bytes()
    dry = tare.edit(path, set={"general.name": "7"}, dry_run=True)
    assert path.read_bytes() == before and [(c.kind, c.new) for c in dry.changes] == [("key", "general.name")]
    (tmp_path / "note").write_bytes(b"from a file")
    done = tare.edit(path, set={"general.name": "7", "a.number": 7, "a.byte:u8": 7, "a.list": [1, 2], "a.words": ["x", "y"],
                                "a.real": 0.5, "a.on": np.bool_(True)}, set_file={"a.note": tmp_path / "note"})
    assert len(done.changes) == 8 and done.format == "gguf" and str(path) == done.files[0].path
    assert done.changed_nbytes + done.written_nbytes > 0
    with tare.open(path) as model:
        keys = model.metadata
        assert [keys[f"a.{name}"] for name in ("number", "byte", "real", "on", "note")] == [7, 7, 0.5, True, "from a file"]
        assert keys["general.name"] == "7" and keys.type("a.byte") == "u8"
        assert list(keys["a.list"]) == [1, 2] and list(keys["a.words"]) == ["x", "y"]
        names = list(model)
    out = tmp_path / "n.gguf"
    renamed = tare.edit(path, out, rename_tensor={names[0]: "other"}, drop_tensors=names[1], remove="a.*", rename={
        "general.name": "general.title"})
    assert list(tare.open(out)) == ["other", *names[2:]] and ("tensor", names[1], None) in [
        (c.kind, c.old, c.new) for c in renamed.changes]
    assert tare.open(out).metadata["general.title"] == "7"
    assert not tare.edit(path, set={"general.name": "7"}).changes
    for wrong in ({}, {"in_place": True, "rewrite": True, "set": {"a": 1}}):
        with pytest.raises(ValueError):
            tare.edit(path, **wrong)
    for wrong in ({"remove": "none.*"}, {"set": {"general.alignment": 64}}, {"set": {"a:u8": 1, "a:u16": 2}}):
        with pytest.raises(tare.UsageError):
            tare.edit(path, **wrong)
    with pytest.raises(TypeError):
        tare.edit(path, set={"a": object()})
    with pytest.raises(tare.OutputExistsError):
        tare.edit(path, out, remove="a.*")
    with pytest.raises(FileNotFoundError):
        tare.edit(tmp_path / "none", remove="a.*")


def test_report(tmp_path, gguf_path, monkeypatch):
    page, out = tmp_path / "r.html", tmp_path / "f16.gguf"
    tare.convert(gguf_path, out, type="f16")
    assert tare.report(gguf_path, page, dry_run=True)["models"] and not page.exists()
    facts = tare.report([out, gguf_path], page, against=gguf_path)
    assert page.read_bytes().startswith(b"<!DOCTYPE html>") and facts["schema"] == "tare.report/2"
    rows = {t["name"]: t for t in facts["models"][0]["tensors"]}
    assert rows.keys() == set(tare.open(out)) and any(t.get("relative_rmse", 0) > 0 for t in rows.values())
    assert "histogram" not in json.dumps(tare.report(out, header_only=True))
    with pytest.raises(tare.OutputExistsError):
        tare.report(out, page)
    with pytest.raises(FileNotFoundError):
        tare.report(tmp_path / "none", page)
    with pytest.raises(tare.UnsupportedError):
        tare.report(page)
    with pytest.raises(TypeError):
        tare.report(tare.open(out))
    monkeypatch.setattr("tare.__main__.find_command", lambda: None)
    with pytest.raises(RuntimeError):
        tare.report(out)


@pytest.mark.parametrize("options, said", [
    ({"to": "ggu"}, "to: 'ggu' is not one of: gguf, .*did you mean 'gguf'"),
    ({"type": "q8_O"}, "type: .*'q8_O'; did you mean 'q8_"),
    ({"tensor_type": {"a": "q8_00"}}, "^tensor_type: .*did you mean 'q8_0'"),
    ({"mix": "Q4_KM"}, "mix: .*did you mean 'Q4_K_M'"),
])
def test_misspelt_values_are_guessed(tmp_path, gguf_path, options, said):
    verb = tare.quantize if "mix" in options else tare.convert
    with pytest.raises(tare.UsageError, match=said):
        verb(gguf_path, tmp_path / "out.gguf", **options)


def test_an_output_without_a_format_is_named(tmp_path, gguf_path):
    with pytest.raises(tare.UsageError, match="^.*out.foo: the name of the output does not"):
        tare.convert(gguf_path, tmp_path / "out.foo")


def test_misspelt_options_are_guessed(tmp_path, gguf_path):
    for word, meant in (("forced", "force"), ("bases", "base"), ("nosync", "no_sync"), ("shardsize", "shard_size")):
        with pytest.raises(TypeError, match=f"{word!r}; did you mean {meant!r}"):
            tare.convert(gguf_path, tmp_path / "out.gguf", **{word: True})


def test_what_is_returned_takes_a_line(gguf_path, tmp_path):
    for value in (tare.plan(gguf_path, tmp_path / "x.gguf"), tare.digest(gguf_path), tare.report(gguf_path),
                  tare.verify(gguf_path), tare.convert(gguf_path, tmp_path / "y.gguf")):
        assert repr(value).startswith("<") and "tensor" in repr(value) or repr(value) == "<Report good>"
        assert len(repr(value)) < 120 and "\n" not in repr(value)


def test_names_that_are_missing_are_guessed():
    for names, word, near in ((tare.formats, "guff", "gguf"), (tare.mixes, "Q4_KM", "Q4_K_M"),
                              (tare.mixes, "q4_k_m", "Q4_K_M"), (tare.encodings, "q8_00", "q8_0")):
        assert word not in names and names.get(word) is None
        with pytest.raises(KeyError, match=f"did you mean '{near}'"):
            names[word]
    again = pickle.loads(pickle.dumps(tare.formats))
    assert again == tare.formats and again["gguf"].can_write


def test_options_are_spelled_as_here(tmp_path):
    """Texts of the library name options; errors and findings have the names and forms of Python's."""
    source, packed = tmp_path / "m.safetensors", tmp_path / "q8.gguf"
    tare.convert(tare.synth("llama-tiny"), source)
    tare.convert(source, packed, type="q8_0", keep_names=True)
    with pytest.raises(tare.NeedsImportanceError, match=r"give one with imatrix=, or") as caught:
        tare.quantize(source, tmp_path / "q.gguf", "IQ2_XXS")
    assert "`" not in caught.value.what and "--imatrix" not in str(caught.value)
    with pytest.raises(tare.UsageError, match=r"or give allow_requantize=True$"):
        tare.quantize(packed, tmp_path / "q.gguf", "Q4_K_M")
    tiny = tare.build({"w": np.ones((2, 32), "float32")})
    [finding] = tare.convert(tiny, tmp_path / "w.infq", strict=False).findings
    assert "type='int8_rowwise' asks for it, opaque=True carries" in str(finding)


@pytest.mark.parametrize("text, spelled", [
    ("`apply_adapter`, or extract each with `adapter`", "apply_adapter=, or extract each with adapter="),
    ("`no_tokenizer` leaves it out", "no_tokenizer=True leaves it out"),
    ("with `to gguf` or `tensor_type`", "with to='gguf' or tensor_type="),
    ("an edit with `recover`", "an edit with --recover of the command"),
    ("`Not One`, `a b c`", "`Not One`, `a b c`"),
])
def test_each_form_of_an_option(text, spelled):
    from tare._spell import spell
    assert spell(text) == spelled


def test_ladder(tmp_path):
    """A folder of quantizations: what is made of another file is not stored; each file is a model."""
    folder = tmp_path / "models"
    folder.mkdir()
    x = np.random.default_rng(1).normal(size=(64, 512)).astype(np.float32)
    tare.save({"blk.0.ffn_up.weight": x}, folder / "f32.gguf")
    for name in "q8_0", "q4_k":
        tare.convert(folder / "f32.gguf", folder / f"{name}.gguf", type=name)
    packed = tmp_path / "models.wcodec"
    result = tare.pack(folder, packed)
    assert result.n_files == 3 and [f.code for f in result.findings].count("pack.derived") == 2
    with tare.open(packed) as model:
        files = {f.name: f for f in model.packed_files}
        assert (files["f32.gguf"].n_derived, files["q8_0.gguf"].n_derived) == (0, 1)
        assert files["q4_k.gguf"].packed_nbytes < files["q4_k.gguf"].nbytes / 4
        assert files["q8_0.gguf"].bits_per_weight == 8.5
        assert list(model) == [f"{name}.gguf::blk.0.ffn_up.weight" for name in ("f32", "q8_0", "q4_k")]
    with tare.open(f"{packed}::q4_k.gguf") as one, tare.open(folder / "q4_k.gguf") as plain:
        assert one.info.container.minor_version == 5 and tare.diff(one, plain).same
    assert tare.unpack(packed, tmp_path / "one.gguf", file="q8_0.gguf").n_files == 1
    assert (tmp_path / "one.gguf").read_bytes() == (folder / "q8_0.gguf").read_bytes()
    tare.convert(folder / "f32.gguf", tmp_path / "q6_k.gguf", type="q6_k")
    assert tare.pack(tmp_path / "q6_k.gguf", packed, append=True).n_files == 4
    assert [f.n_derived for f in tare.open(packed).packed_files] == [0, 1, 1, 1]
    with pytest.raises(tare.UnsupportedError, match="a file of this name already"):
        tare.pack(tmp_path / "q6_k.gguf", packed, append=True)
    with pytest.raises(ValueError, match="a path is added"):
        tare.pack(tare.open(folder / "f32.gguf"), packed, append=True)
    with pytest.raises(tare.UsageError, match="no file of this name"):
        tare.open(f"{packed}::none.gguf")
