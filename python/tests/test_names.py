# SPDX-License-Identifier: MIT
"""Guards against: options of a mapping to llama.cpp's names, and back, that Python hears and does not follow. Each makes
the file that the command makes with the option of that name."""
import os
import subprocess
import sys

import pytest
import tare

pytest.importorskip("gguf")
sys.path.insert(0, os.path.join(os.path.dirname(__file__), "../../tests/llama"))
import tiny_drafts  # noqa: E402
import tiny_models  # noqa: E402


def by_command(command, source, out, options):
    """The file that the command makes with these options of Python."""
    words = [word for name, value in options.items()
             for word in (["--" + name.replace("_", "-")] if value is True else [f"--{name.replace('_', '-')}={value}"])]
    subprocess.run([*command, "convert", source, out, *words, "--quiet", "--no-sync"], check=True)


@pytest.mark.parametrize("name, options", [
    ("glm4v-vision", {"mmproj": True}), ("glm4v-vision", {"no_tokenizer": True, "like_reference": True}),
    ("step35-nextn", {"mtp": True, "no_tokenizer": True}), ("step35-nextn", {"no_mtp": True, "no_tokenizer": True}),
    ("glm4v-vision", {"no_tokenizer": True, "name": "Named", "type": "f16"})])
def test_options_of_the_command(tmp_path, command, name, options):
    tiny_models.write(tmp_path / "in", name)
    tare.convert(tmp_path / "in", tmp_path / "a.gguf", force=True, **options)
    by_command(command, tmp_path / "in", tmp_path / "b.gguf", {**options, "force": True})
    assert (tmp_path / "a.gguf").read_bytes() == (tmp_path / "b.gguf").read_bytes()


def test_a_draft_takes_from_its_target(tmp_path):
    tiny_models.write(tmp_path / "in", "eagle3")
    tiny_drafts.write_target(tmp_path / "target", "eagle3")
    with pytest.raises(tare.TareError, match="target_model="):
        tare.convert(tmp_path / "in", tmp_path / "a.gguf", no_tokenizer=True)
    with tare.open(tmp_path / "target") as target:
        for i, given in enumerate((target, tmp_path / "target")):
            tare.convert(tmp_path / "in", tmp_path / f"{i}.gguf", target_model=given, no_tokenizer=True, force=True)
    assert (tmp_path / "0.gguf").read_bytes() == (tmp_path / "1.gguf").read_bytes()


def test_a_model_and_its_encoder_become_one(tmp_path):
    tiny_models.write(tmp_path / "in", "glm4v-vision")
    text, encoder, back = (tmp_path / name for name in ("text.gguf", "encoder.gguf", "back"))
    tare.convert(tmp_path / "in", text, no_tokenizer=True, force=True)
    tare.convert(tmp_path / "in", encoder, mmproj=True)
    tare.convert(text, back, to="hf", with_mmproj=encoder)
    assert len(tare.open(back)) > len(tare.open(text))


def test_what_cannot_be_meant_is_refused(tmp_path):
    tiny_models.write(tmp_path / "in", "glm4v-vision")
    out = tmp_path / "out.gguf"
    for options in ({"mtp": True, "no_mtp": True}, {"mmproj": True, "mtp": True}, {"mmproj": True, "pre": "default"},
                    {"mmproj": True, "vocab_only": True}, {"with_mmproj": tmp_path / "in"}):
        with pytest.raises((ValueError, tare.TareError)):
            tare.convert(tmp_path / "in", out, **options)
    for option in ({"mmproj": True}, {"mtp": True}, {"like_reference": True}, {"target_model": tmp_path / "in"}):
        with pytest.raises(tare.UsageError):
            tare.convert(tmp_path / "in", tmp_path / "out.safetensors", **option)
    assert not out.exists()
