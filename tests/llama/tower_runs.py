#!/usr/bin/env python3
# SPDX-License-Identifier: MIT
"""llama.cpp loads the mmproj files of the tiny models beside their text models, and answers a question about a
picture or a sound, each in a process of its own. `tower_runs.py TARE FOLDER [NAME...]`. Run by a Python that has
the packages of tests/judge/llama_requirements.txt and numpy; exit 77: one is missing.

A model that cannot run is named below with what llama.cpp says; one of them that runs is a fault, too."""
import base64
import io
import json
import math
import os
import struct
import subprocess
import sys
import wave
import zlib

from llama_runs import ask, run_all, start, tokenizer

# What llama.cpp (build 11549) does not run of these models, by a word of what it says.
CANNOT = {
    # it counts the tokens of a sound otherwise than it computes them
    "ultravox": "expected output 187 tokens", "voxtral": "expected output 187 tokens",
    "hunyuan-vision": "image_tokens->n_tokens",  # the same of a small picture
    "lfm2-audio": "ggml_can_mul_mat",  # its table of positions has 512 columns, whatever the width is
    # it counts what deeper layers see to the width of a picture's vectors, and not to that of a sound's
    "qwen3-omni": "mismatch between vision and audio mmproj",
}
BESIDE = "internvl"  # whose text model stands for those that a tiny model lacks


BREAK = 301  # the token that tiny_towers.py gives to [IMG_BREAK]
AROUND = ("<im_start>", "<im_end>", "<patch_start>", "<patch_end>", "<patch_newline>", "[IMG]", "[IMG_BREAK]", "[IMG_END]", "<fake_token_around_image>", "<global-img>", "<row_1_col_1>",
          "\n\n", "<img>", "</img>", "[BEGIN_AUDIO]", "<image>", "</image>", "<slice>", "</slice>")


def picture(side):
    """A PNG in which colours change from left to right and from top to bottom."""
    rows = b"".join(b"\0" + bytes(v for x in range(side) for v in (255 * x // side, 255 * y // side, 128))
                    for y in range(side))

    def chunk(kind, data):
        return struct.pack(">I", len(data)) + kind + data + struct.pack(">I", zlib.crc32(kind + data))
    return (b"\x89PNG\r\n\x1a\n" + chunk(b"IHDR", struct.pack(">IIBBBBB", side, side, 8, 2, 0, 0, 0))
            + chunk(b"IDAT", zlib.compress(rows)) + chunk(b"IEND", b""))


def sound():
    out = io.BytesIO()
    with wave.open(out, "wb") as w:
        w.setnchannels(1), w.setsampwidth(2), w.setframerate(16000)
        w.writeframes(b"".join(struct.pack("<h", int(9000 * math.sin(i / 9))) for i in range(16000)))
    return out.getvalue()


def vectors(params):
    """Of a picture and of a sound, by a model that makes vectors."""
    import xllamacpp
    params.embedding, params.pooling_type = True, xllamacpp.llama_pooling_type.LLAMA_POOLING_TYPE_MEAN
    server = xllamacpp.Server(params)
    for data in (picture(56), sound()):
        answer = server.handle_embeddings({"input": [{"prompt_string": "the " + os.environ["LLAMA_MEDIA_MARKER"],
                                                      "multimodal_data": [base64.b64encode(data).decode()]}]})
        if "usage" not in answer or not any(answer["data"][0]["embedding"]):
            raise SystemExit("error: %s" % answer)
    print("\0%d 1\0" % answer["usage"]["prompt_tokens"], flush=True)


def say(text, tower, hears):
    import xllamacpp
    params = xllamacpp.CommonParams()
    params.model.path, params.mmproj.path = text, tower
    params.n_ctx, params.n_parallel, params.warmup = 1024, 1, False
    if os.path.basename(text).startswith("embedding"):
        return vectors(params)
    if hears:
        part = {"type": "input_audio", "input_audio": {"format": "wav", "data": base64.b64encode(sound()).decode()}}
    else:
        data = base64.b64encode(picture(56)).decode()
        part = {"type": "image_url", "image_url": {"url": "data:image/png;base64," + data}}
    answer = xllamacpp.Server(params).handle_chat_completions(
        {"messages": [{"role": "user", "content": [{"type": "text", "text": "the"}, part]}], "max_tokens": 3,
         "temperature": 0, "ignore_eos": True})
    if "usage" not in answer:
        raise SystemExit("error: %s" % answer)
    print("\0%d %d\0" % (answer["usage"]["prompt_tokens"], answer["usage"]["completion_tokens"]), flush=True)


def vocabulary(size):
    """One that has the tokens that llama.cpp puts around pictures; the last merges make room for them."""
    made = tokenizer(size)
    tokens = {i: text for text, i in made["model"]["vocab"].items()}
    for i, text in enumerate(AROUND, BREAK - AROUND.index("[IMG_BREAK]")):
        pair = tokens.pop(i)
        made["model"]["merges"].remove(" ".join(pair))
        made["added_tokens"].append(dict(id=i, content=text, special=True))
    made["model"]["vocab"] = {text: i for i, text in tokens.items()}
    return made


def write(folder, name):
    """A tiny model with a tokenizer; its directory."""
    import tiny_models
    model = os.path.join(folder, name)
    tiny_models.write(model, name)
    with open(os.path.join(model, "config.json")) as f:
        config = json.load(f)
    with open(os.path.join(model, "tokenizer.json"), "w") as f:
        json.dump(vocabulary(config.get("text_config", config).get("vocab_size", 320)), f)
    settings = os.path.join(model, "tokenizer_config.json")
    was = {}
    if os.path.exists(settings):
        with open(settings) as f:
            was = json.load(f)
    with open(settings, "w") as f:
        json.dump(dict(was, bos_token="<|begin|>", eos_token="<|end|>", tokenizer_class="RobertaTokenizer"), f)
    return model


def run(tare, folder, name, hears, has_text):
    """What llama.cpp says against a model; empty: it runs."""
    files = [os.path.join(folder, name + suffix) for suffix in (".gguf", ".mmproj.gguf")]
    model = write(folder, name)
    text = model if has_text else write(folder, BESIDE)
    for path, out, more in zip((text, model), files, (["--pre", "gpt-2"], ["--mmproj"])):
        done = subprocess.run([tare, "convert", path, out, "--quiet", "--no-sync", "--force", *more],
                              capture_output=True, text=True)
        if done.returncode:
            return done.stderr.strip()
    _, complaint = ask(__file__, [*files, str(int(hears))], 120)
    for out in files:
        os.remove(out)
    return complaint


def main(tare, folder, *names):
    import tiny_models
    about = {n: about for n, (_, about) in tiny_models.MODELS.items() if about.get("tower")}

    def run_it(name):
        return run(tare, folder, name, about[name]["tower"] == "audio", about[name].get("text", True))
    return run_all(names or list(about), run_it, CANNOT, "models with towers")


if __name__ == "__main__":
    os.environ["LLAMA_MEDIA_MARKER"] = "<__media__>"  # else another one each time
    sys.exit(start(lambda text, tower, hears: say(text, tower, hears == "1"), main))
