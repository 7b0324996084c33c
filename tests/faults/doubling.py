#!/usr/bin/env python3
# SPDX-License-Identifier: MIT
"""Input of twice the size takes about twice the work, whatever a stranger put into it: names, keys, nesting, patterns,
pages, lists. Work is counted in instructions by valgrind, not in time. `doubling.py TARE FOLDER [WORD]`"""
import base64
import json
import os
import re
import shutil
import struct
import subprocess
import sys

HERE = os.path.dirname(os.path.abspath(__file__))
sys.path[:0] = [os.path.join(HERE, "../support"), os.path.join(HERE, "../golden")]
import ggufbuilder as gb  # noqa: E402
import msgpackbuilder as mp  # noqa: E402
import onnxbuilder as onnx  # noqa: E402
import torchbuilder  # noqa: E402
import whisper_cases as whisper  # noqa: E402
from flatbuilder import Lite  # noqa: E402
from safetensors_file import safetensors  # noqa: E402

MOST = 2.6  # what a doubling may cost: n log n and a constant part, but not n squared
CONFIG = {"architectures": ["LlamaForCausalLM"], "model_type": "llama", "hidden_size": 32, "intermediate_size": 32,
          "num_hidden_layers": 1, "num_attention_heads": 4, "num_key_value_heads": 4, "vocab_size": 8,
          "max_position_embeddings": 64, "rms_norm_eps": 1e-5, "rope_theta": 10000.0, "hidden_act": "silu"}
CASES = []


def case(least, *arguments, exits=(0,)):
    """A function of n that writes files into the current folder, and what is then run."""
    def add(make):
        CASES.append((make.__name__, make, least, arguments, exits))
        return make
    return add


def store(name, content):
    if os.path.dirname(name):
        os.makedirs(os.path.dirname(name), exist_ok=True)
    with open(name, "wb") as f:
        f.write(content if isinstance(content, bytes) else
                (content if isinstance(content, str) else json.dumps(content)).encode())


def prepare(*arguments):
    """Runs the command on what was stored."""
    subprocess.run([os.environ["TARE"], *arguments], check=True, capture_output=True)


def floats(name, *shape):
    n = 1
    for d in shape:
        n *= d
    return name, "F32", list(shape), b"\0\0\x80?" * n


def model(folder="hf", config=(), files=(), vocabulary=8):
    block = "model.layers.0."
    tensors = [floats("model.embed_tokens.weight", vocabulary, 32), floats("lm_head.weight", vocabulary, 32),
               floats("model.norm.weight", 32), floats(block + "input_layernorm.weight", 32),
               floats(block + "post_attention_layernorm.weight", 32)]
    tensors += [floats(block + f"self_attn.{n}_proj.weight", 32, 32) for n in "qkvo"]
    tensors += [floats(block + f"mlp.{n}_proj.weight", 32, 32) for n in ("gate", "up", "down")]
    store(folder + "/model.safetensors", safetensors(tensors, {"format": "pt"}))
    store(folder + "/config.json", {**CONFIG, "vocab_size": vocabulary, **dict(config)})
    for name, content in dict(files).items():
        store(folder + "/" + name, content)


# ---- safetensors -------------------------------------------------------------------------------------


@case(2000, "verify", "--deep", "x.safetensors")
def tensors_of_safetensors(n):
    store("x.safetensors", safetensors([floats(f"t{i}", 1) for i in range(n)]))


@case(2000, "verify", "x.safetensors", exits=(3,))
def a_name_many_times(n):
    entry = '"t":{"dtype":"U8","shape":[1],"data_offsets":[0,1]}'
    text = ("{" + ",".join([entry] * n) + "}").encode()
    store("x.safetensors", struct.pack("<Q", len(text)) + text + b"\0")


@case(2000, "verify", "x.safetensors", exits=(3,))
def tensors_that_overlap(n):
    text = json.dumps({f"t{i}": {"dtype": "U8", "shape": [n], "data_offsets": [i, n + i]} for i in range(n)}).encode()
    store("x.safetensors", struct.pack("<Q", len(text)) + text + bytes(2 * n))


@case(10000, "info", "-t", "x.safetensors", "--filter", "a.*b")
def a_long_name(n):
    store("x.safetensors", safetensors([floats("a" * n, 1)]))


@case(4000, "info", "x.safetensors")
def metadata_of_safetensors(n):
    store("x.safetensors", safetensors([floats("t", 1)], {f"k{i}": "v" for i in range(n)}))


@case(2000, "info", "--json", "x.safetensors")
def numbers_in_names(n):
    store("x.safetensors", safetensors([floats(f"model.layers.{i}.a.weight", 1) for i in range(n)]))


@case(1000, "diff", "x.safetensors", "y.safetensors", exits=(1,))
def names_that_differ(n):
    store("x.safetensors", safetensors([floats(f"a.{i}.weight", 1) for i in range(n)]))
    store("y.safetensors", safetensors([floats(f"b.{i}.weight", 1) for i in range(n)]))


@case(1000, "edit", "x.safetensors", "-o", "y.safetensors", "--rename-tensor", "t*=u*")
def tensors_renamed(n):
    store("x.safetensors", safetensors([floats(f"t{i}", 1) for i in range(n)]))


@case(1000, "convert", "x.safetensors", "y.mcf", "--force")
def tensors_into_mcf(n):
    store("x.safetensors", safetensors([floats(f"t{i}", 1) for i in range(n)]))


@case(500, "pack", "x.safetensors", "x.wcodec", "--force")
def tensors_packed(n):
    store("x.safetensors", safetensors([floats(f"t{i}", 1) for i in range(n)]))


# ---- GGUF --------------------------------------------------------------------------------------------


def gguf(fill, name="x.gguf"):
    g = gb.Gguf()
    g.kv("general.architecture", gb.STRING, "llama")
    fill(g)
    store(name, bytes(g.file()))


def words(n, key="tokenizer.ggml.tokens", word=lambda i: f"w{i}"):
    def fill(g):
        g.kv("tokenizer.ggml.model", gb.STRING, "gpt2")
        g.array(key, gb.STRING, [word(i) for i in range(n)])
    return fill


@case(4000, "info", "x.gguf")
def tokens_of_gguf(n):
    gguf(words(n))


@case(4000, "info", "x.gguf")
def a_token_many_times(n):
    gguf(words(n, word=lambda i: "w"))


@case(4000, "info", "x.gguf")
def merges_of_gguf(n):
    gguf(words(n, "tokenizer.ggml.merges", lambda i: f"a{i} b"))


@case(2000, "info", "x.gguf")
def keys_of_gguf(n):
    def fill(g):
        for i in range(n):
            g.kv(f"k.{i}", gb.U32, i)
    gguf(fill)


@case(1000, "verify", "--deep", "x.gguf")
def tensors_of_gguf(n):
    def fill(g):
        for i in range(n):
            g.tensor(f"blk.{i}.a.weight", [1], gb.F32, data=b"\0\0\x80?")
    gguf(fill)


@case(1000, "verify", "--deep", "x.gguf", exits=(1,))
def numbers_that_are_none(n):
    def fill(g):
        for i in range(n):
            g.tensor(f"blk.{i}.a.weight", [1], gb.F32, data=b"\0\0\xc0\x7f")
    gguf(fill)


@case(100000, "info", "x.gguf")
def a_long_template(n):
    gguf(lambda g: g.kv("tokenizer.chat_template", gb.STRING, "{% if a %}{{ b" * n))


# ---- directories of Hugging Face --------------------------------------------------------------------


@case(500, "info", "hf")
def entries_of_an_index(n):
    model()
    os.rename("hf/model.safetensors", "hf/model-00001-of-00001.safetensors")
    store("hf/model-00001-of-00001.safetensors", safetensors([floats(f"t{i}", 1) for i in range(n)]))
    store("hf/model.safetensors.index.json",
          {"weight_map": {f"t{i}": "model-00001-of-00001.safetensors" for i in range(n)}})


@case(100, "info", "hf")
def shards_of_an_index(n):
    model()
    os.remove("hf/model.safetensors")
    names = [f"model-{i + 1:05}-of-{n:05}.safetensors" for i in range(n)]
    for i, name in enumerate(names):
        store("hf/" + name, safetensors([floats(f"t{i}", 1)]))
    store("hf/model.safetensors.index.json", {"weight_map": {f"t{i}": s for i, s in enumerate(names)}})


@case(300, "info", "hf")
def files_of_a_directory(n):
    model(files={f"x{i}.txt": "x" for i in range(n)})


@case(4000, "convert", "hf", "x.gguf", "--no-tokenizer", "--force")
def a_page_of_blocks(n):
    model(files={"README.md": "---\n" + "a: |\n" * n + "---\n"})


@case(4000, "convert", "hf", "x.gguf", "--no-tokenizer", "--force")
def a_page_of_lists(n):
    model(files={"README.md": "---\nlicense:\n" + "  - mit\n" * n + "tags: [" + "a, " * n + "b]\n---\n"})


@case(4000, "convert", "hf", "x.gguf", "--no-tokenizer", "--force")
def a_page_of_quotes(n):
    model(files={"README.md": "---\nlicense: \"" + "\\u0041" * n + "\"\n---\n"})


@case(2000, "convert", "hf", "x.gguf", "--no-tokenizer", "--force", exits=(0, 3, 5))
def config_of_many_keys(n):
    model(config={f"k{i}": [i] for i in range(n)})


@case(10, "convert", "hf", "x.gguf", "--no-tokenizer", "--force")
def config_that_is_deep(n):
    deep = []
    for _ in range(n):
        deep = [deep]
    model(config={"k": deep})


def tokenizer(n, tokens=None, merges=(), added=()):
    vocabulary = tokens or {f"w{i}": i for i in range(n)}
    return {"version": "1.0", "model": {"type": "BPE", "vocab": vocabulary, "merges": list(merges)},
            "pre_tokenizer": {"type": "ByteLevel", "add_prefix_space": False}, "decoder": {"type": "ByteLevel"},
            "added_tokens": list(added)}


@case(1000, "convert", "hf", "x.gguf", "--force", exits=(0, 3, 5))
def words_of_a_tokenizer(n):
    model(vocabulary=n, files={"tokenizer.json": json.dumps(tokenizer(n))})


@case(1000, "convert", "hf", "x.gguf", "--force", exits=(0, 3, 5))
def merges_of_a_tokenizer(n):
    model(vocabulary=n, files={"tokenizer.json": json.dumps(tokenizer(
        n, {f"a{i}": i for i in range(n)}, [f"a{i} a{i + 1}" for i in range(n - 1)]))})


@case(1000, "convert", "hf", "x.gguf", "--force", exits=(0, 3, 5))
def words_added_to_a_tokenizer(n):
    added = [{"id": i, "content": f"<w{i}>", "special": True, "lstrip": False, "rstrip": False, "normalized": False,
              "single_word": False} for i in range(n)]
    model(vocabulary=2 * n, files={"tokenizer.json": json.dumps(tokenizer(n, {f"v{i}": n + i for i in range(n)},
                                                                           added=added))})


def tekken(tokens):
    config = {"pattern": "x", "num_vocab_tokens": len(tokens), "default_vocab_size": len(tokens) + 1000,
              "default_num_special_tokens": 1000, "version": "v3"}
    some = [{"rank": i, "token_bytes": base64.b64encode(t).decode(), "token_str": None} for i, t in enumerate(tokens)]
    model(vocabulary=len(tokens) + 1000, config={"architectures": ["MistralForCausalLM"], "model_type": "mistral"},
          files={"tekken.json": json.dumps({"config": config, "vocab": some})})


@case(32, "convert", "hf", "x.gguf", "--force")
def words_of_tekken(n):  # of 4 to 20 letters, each the beginning of a longer one
    tekken([bytes([i]) for i in range(256)] + [f"{w:04}".encode() + b"a" * k for w in range(n) for k in range(17)])


@case(32, "convert", "hf", "x.gguf", "--force")
def long_words_of_tekken(n):
    tekken([bytes([i]) for i in range(256)] + [bytes([97 + w % 26]) * k + b"%d" % (w // 26) for w in range(n)
                                               for k in range(257, 260)])


# ---- packed weights -----------------------------------------------------------------------------------


def packed_model(folder, n, settings):
    """n weights of compressed-tensors whose words may hold codes of 3 or of 4 bits."""
    tensors = []
    for i in range(n):
        stem = f"model.layers.{i}.p."
        tensors += [(stem + "weight_packed", "I32", [4, 1], bytes(16)), floats(stem + "weight_scale", 4, 1),
                    (stem + "weight_shape", "I64", [2], struct.pack("<2Q", 4, 8))]
    store(folder + "/model.safetensors", safetensors(tensors, {"format": "pt"}))
    store(folder + "/config.json", {**CONFIG, "quantization_config": {"quant_method": "compressed-tensors", **settings}})


@case(200, "info", "hf")
def targets_of_groups(n):
    groups = {f"group_{i}": {"targets": [f"model.layers.{i}.p"], "weights": {"num_bits": 3 + i % 2}}
              for i in range(n)}
    packed_model("hf", n, {"config_groups": groups})


@case(200, "info", "hf")
def targets_of_a_group(n):
    groups = {"g": {"targets": [f"model.layers.{i}.p" for i in range(n)], "weights": {"num_bits": 3}},
              "h": {"targets": ["Linear"], "weights": {"num_bits": 4}}}
    packed_model("hf", n, {"config_groups": groups})


@case(500, "info", "hf")
def modules_of_autoround(n):
    tensors = []
    for i in range(n):
        stem = f"model.layers.{i}.p."
        tensors += [(stem + "qweight", "I32", [8, 8], bytes(256)), (stem + "qzeros", "I32", [4, 1], bytes(16)),
                    floats(stem + "scales", 4, 8)]
    store("hf/model.safetensors", safetensors(tensors, {"format": "pt"}))
    store("hf/config.json", {**CONFIG, "quantization_config": {
        "quant_method": "auto-round", "bits": 4, "group_size": 16, "packing_format": "auto_round:auto_gptq",
        "extra_config": {f"model.layers.{i}.p": {"bits": 4, "group_size": 16} for i in range(n)}}})


@case(500, "info", "hf")
def modules_of_mlx(n):  # names of one length: others are told apart by it
    tensors, names = [], [f"m{10000 + i}" for i in range(n)]
    for name in names:
        stem = name + "."
        tensors += [(stem + "weight", "U32", [4, 8], bytes(128)), floats(stem + "scales", 4, 1),
                    floats(stem + "biases", 4, 1)]
    store("hf/model.safetensors", safetensors(tensors, {"format": "mlx"}))
    store("hf/config.json", {**CONFIG, "quantization": {
        "group_size": 64, "bits": 4, **{name: {"group_size": 64, "bits": 4} for name in names}}})


# ---- adapters, recipes, patterns ---------------------------------------------------------------------


@case(200, "convert", "hf", "x.gguf", "--no-tokenizer", "--force", "--apply-adapter", "lora", exits=(0, 3, 5))
def patterns_of_an_adapter(n):
    model()
    pairs = [floats(f"base_model.model.model.layers.0.self_attn.q_proj.lora_{x}.weight", *s)
             for x, s in (("A", (4, 32)), ("B", (32, 4)))]
    store("lora/adapter_model.safetensors", safetensors(pairs))
    store("lora/adapter_config.json", {"peft_type": "LORA", "r": 4, "lora_alpha": 8, "target_modules": ["q_proj"],
                                       "rank_pattern": {f"layers.{i + 1}.x": 8 for i in range(n)}})


@case(200, "convert", "lora", "x", "--as-adapter", "peft", "--force", "-n", exits=(0, 3, 5))
def modules_of_an_adapter(n):
    names = [f"model.layers.{i}.{'m.' * 20}q_proj" for i in range(n)]
    store("lora/adapter_model.safetensors", safetensors(
        floats(f"base_model.model.{name}.lora_{x}.weight", *s) for name in names for x, s in (("A", (1, 2)), ("B", (2, 1)))))
    store("lora/adapter_config.json", {"peft_type": "LORA", "r": 1, "lora_alpha": 8, "target_modules": names + ["q_proj"],
                                       "exclude_modules": [f"{i}.k_proj" for i in range(n)], "layers_to_transform": list(range(n)),
                                       "modules_to_save": None, "layers_pattern": ["h", "layers"]})


@case(500, "quantize", "hf", "x.gguf", "Q8_0", "--no-tokenizer", "--force", "--tensor-type-file", "rules", "-n",
      exits=(0, 2, 3))
def rules_of_a_recipe(n):
    model()
    store("rules", "".join(f"blk.{i}.x=f16\n" for i in range(n)))


@case(1000, "info", "-t", "x.safetensors", "--filter")
def a_long_filter(n):
    store("x.safetensors", safetensors([floats("a" * 1000, 1)]))
    return ["(a|aa)*" + "a?" * n + "b"]


# ---- pickles -----------------------------------------------------------------------------------------


@case(1000, "info", "x.pt")
def entries_of_a_pickle(n):
    store("x.pt", torchbuilder.archive(torchbuilder.dict_of(**{f"t{i}": torchbuilder.tensor() for i in range(n)}),
                                       {"0": bytes(24)}).file())


@case(100, "info", "x.pt", exits=(0, 3, 5))
def a_pickle_that_is_deep(n):
    value = torchbuilder.tensor()
    for _ in range(n):
        value = torchbuilder.dict_of(a=value)
    store("x.pt", torchbuilder.archive(value, {"0": bytes(24)}).file())


@case(100, "info", "x.pt", exits=(0, 3))
def members_of_a_zip(n):
    store("x.pt", torchbuilder.archive(torchbuilder.dict_of(t=torchbuilder.tensor()),
                                       {str(i): bytes(24) for i in range(n)}).file())


@case(1000, "info", "x.pkl", exits=(0, 3, 5))
def a_pickle_of_references(n):
    store("x.pkl", b"\x80\x02(lq\x00" + b"(h\x00h\x00lq\x01" * n + b".")


# ---- other containers --------------------------------------------------------------------------------


@case(1000, "info", "x.onnx")
def tensors_of_onnx(n):
    store("x.onnx", onnx.model(*(onnx.tensor(f"t{i}") for i in range(n))))


@case(1000, "info", "x.onnx", exits=(3,))
def a_name_many_times_in_onnx(n):
    store("x.onnx", onnx.model(*(onnx.tensor("t") for _ in range(n))))


@case(1000, "info", "x.onnx")
def pairs_of_onnx(n):
    store("x.onnx", onnx.model(onnx.tensor(), _14=[onnx.message(_1=f"k{i}", _2="v") for i in range(n)]))


@case(1000, "info", "x.onnx")
def constants_of_onnx(n):
    nodes = [onnx.message(_2=f"c{i}", _4="Constant", _5=onnx.message(_1="value", _5=onnx.tensor(""), _20=4)) for i in range(n)]
    store("x.onnx", onnx.model(onnx.tensor(), nodes=nodes))


@case(1000, "info", "x.onnx")
def graphs_in_onnx(n):
    graph = onnx.message(_5=[onnx.tensor("w")])
    nodes = [onnx.message(_2=f"c{i}", _3="loop", _4="Loop", _5=onnx.message(_1="body", _6=graph, _20=5)) for i in range(n)]
    store("x.onnx", onnx.model(onnx.tensor(), nodes=nodes))


@case(100, "info", "x.onnx", exits=(0, 3))
def onnx_that_is_deep(n):
    graph = onnx.message(_5=[onnx.tensor("w")])
    for _ in range(n):
        graph = onnx.message(_1=[onnx.message(_2="c", _4="Loop", _5=onnx.message(_1="body", _6=graph, _20=5))], _5=[onnx.tensor("w")])
    store("x.onnx", onnx.message(_1=8, _2="by hand", _8=onnx.message(_1="", _2=17), _7=graph))


@case(500, "info", "x.tflite")
def tensors_of_tflite(n):
    store("x.tflite", Lite([{"shape": [6], "name": f"t{i}"} for i in range(n)], [b"", bytes(24)]).file())


@case(500, "info", "x.tflite")
def a_name_many_times_in_tflite(n):
    store("x.tflite", Lite([{"shape": [6]}] * n, [b"", bytes(24)]).file())


@case(500, "info", "x.tflite")
def graphs_and_buffers_of_tflite(n):
    graphs = [[{"shape": [6], "buffer": i + 1}] for i in range(n)]
    store("x.tflite", Lite(None, [b"", *[bytes(24)] * n], graphs=graphs).file())


ARRAY = mp.array((2, 3), "float32", bytes(24))


@case(2000, "info", "x.msgpack")
def arrays_of_flax(n):
    store("x.msgpack", mp.packed({f"t{i}": ARRAY for i in range(n)}))


@case(2000, "info", "x.msgpack")
def values_of_flax(n):
    store("x.msgpack", mp.packed({"w": ARRAY, **{f"k{i}": i for i in range(n)}, "list": list(range(n))}))


@case(100, "info", "x.msgpack", exits=(0, 3))
def flax_that_is_deep(n):
    store("x.msgpack", mp.packed({"a": 0})[:-1] * n + mp.packed({"w": ARRAY}))


@case(4000, "info", "x.bin")
def tokens_of_whisper(n):
    store("x.bin", whisper.head(tokens=[b"w%d" % i for i in range(n)]) + whisper.tensor())


@case(1000, "info", "x.bin")
def tensors_of_whisper(n):
    store("x.bin", whisper.head() + b"".join(whisper.tensor(f"t{i}") for i in range(n)))


@case(500, "info", "x.npz")
def arrays_of_numpy(n):
    archive = torchbuilder.Zip()
    head = b"{'descr': '<f4', 'fortran_order': False, 'shape': (2, 3), }\n"
    for i in range(n):
        archive.add(f"t{i}.npy", b"\x93NUMPY\x01\0" + struct.pack("<H", len(head)) + head + bytes(24))
    store("x.npz", archive.file())


@case(2000, "info", "dcp")
def chunks_of_a_checkpoint(n):
    chunks = [((i, 0), (1, 1)) for i in range(n)]
    checkpoint = torchbuilder.Checkpoint().say("w", torchbuilder.described((n, 1), chunks))
    content = torchbuilder.saved((1, 1), [1])
    for at, _ in chunks:
        checkpoint.add("__0_0.distcp", "w", at, content)
    for name, content in checkpoint.files().items():
        store("dcp/" + name, content)


@case(500, "info", "dcp")
def tensors_of_a_checkpoint(n):
    checkpoint, content = torchbuilder.Checkpoint(), torchbuilder.saved((1, 1), [1])
    for i in range(n):
        checkpoint.say(f"t{i}", torchbuilder.described((1, 1), [((0, 0), (1, 1))])).add("__0_0.distcp", f"t{i}", (0, 0), content)
    for name, content in checkpoint.files().items():
        store("dcp/" + name, content)


@case(1000, "verify", "--manifest", "list", "x.safetensors")
def lines_of_a_manifest(n):
    store("x.safetensors", safetensors([floats(f"t{i}", 1) for i in range(n)]))
    prepare("verify", "--write-manifest", "list", "x.safetensors")


@case(500, "info", "x.infq", exits=(0,))
def tensors_of_infq(n):
    store("x.safetensors", safetensors([floats(f"t{i}", 1, 32) for i in range(n)]))
    prepare("convert", "x.safetensors", "x.infq", "--to", "infq")


@case(500, "verify", "--deep", "x.mcf")
def tensors_of_mcf(n):
    store("x.safetensors", safetensors([floats(f"t{i}", 1, 32) for i in range(n)]))
    prepare("convert", "x.safetensors", "x.mcf")


@case(500, "verify", "--deep", "x.wcodec")
def tensors_of_wcodec(n):
    store("x.safetensors", safetensors([floats(f"t{i}", 1, 32) for i in range(n)]))
    prepare("pack", "x.safetensors", "x.wcodec")


@case(50, "info", "x.wcodec")
def files_of_a_ladder(n):
    for i in range(n):
        g = gb.Gguf().kv("general.architecture", gb.STRING, "llama").tensor("t", [32], gb.F32)
        store(f"all/{i}.gguf", bytes(g.file()))
    prepare("pack", "all", "x.wcodec")


@case(400, "convert", "x.safetensors", "y.safetensors", "--force", "--apply-adapter", "lora.safetensors")
def factors_of_kohya(n):
    store("x.safetensors", safetensors([floats(f"model.layers.{i}.q_proj.weight", 4, 4) for i in range(n)]))
    names = [f"lora_unet_model_layers_{i}_q_proj" for i in range(n)]
    store("lora.safetensors", safetensors([
        part for k in names for part in (floats(k + ".lora_down.weight", 2, 4), floats(k + ".lora_up.weight", 4, 2), floats(k + ".alpha"))]))


@case(500, "quantize", "hf", "x.gguf", "Q8_0", "--no-tokenizer", "--force", "--imatrix", "i.gguf", exits=(0,))
def entries_of_an_importance(n):
    model()
    g = gb.Gguf()
    g.kv("general.type", gb.STRING, "imatrix").kv("imatrix.chunk_count", gb.U32, 1).kv("imatrix.chunk_size", gb.U32, 512)
    g.array("imatrix.datasets", gb.STRING, ["x"])
    for i in range(n):
        g.tensor(f"blk.0.t{i}.weight.in_sum2", [32], gb.F32).tensor(f"blk.0.t{i}.weight.counts", [1], gb.F32)
    store("i.gguf", bytes(g.file()))


@case(50, "info")
def shards_of_gguf(n):
    for i in range(n):
        g = gb.Gguf()
        if not i:
            g.kv("general.architecture", gb.STRING, "llama")
        g.kv("split.no", gb.U16, i).kv("split.count", gb.U16, n).kv("split.tensors.count", gb.I32, n)
        g.tensor(f"t{i}", [8], gb.F32)
        store("set/x-%05d-of-%05d.gguf" % (i + 1, n), bytes(g.file()))
    return ["set/x-00001-of-%05d.gguf" % n]


# ---- counting ----------------------------------------------------------------------------------------


def instructions(tare, make, n, arguments, exits):
    shutil.rmtree("run", ignore_errors=True)
    os.mkdir("run")
    os.chdir("run")
    more = make(n) or []
    run = subprocess.run(["valgrind", "--tool=callgrind", "--callgrind-out-file=/dev/null", tare, *arguments, *more,
                          "--threads", "1"], capture_output=True, text=True, stdin=subprocess.DEVNULL)
    os.chdir("..")
    found = re.search(r"Collected : (\d+)", run.stderr)
    if run.returncode not in exits or not found:
        return f"{make.__name__}, {n}: exit {run.returncode}: {run.stderr}"
    return int(found[1])


def main():
    tare, folder, word = os.path.abspath(sys.argv[1]), sys.argv[2], "".join(sys.argv[3:])
    os.environ["TARE"] = tare
    if not shutil.which("valgrind"):
        print("SKIP: valgrind is not installed")
        sys.exit(77)
    shutil.rmtree(folder, ignore_errors=True)
    os.makedirs(folder)
    os.chdir(folder)
    wrong = []
    for name, make, least, arguments, exits in CASES:
        if word not in name:
            continue
        one, two, four = (instructions(tare, make, n, arguments, exits) for n in (least, 2 * least, 4 * least))
        if str in map(type, (one, two, four)):
            wrong += [x for x in (one, two, four) if isinstance(x, str)]
            continue
        growth = (four - two) / max(two - one, 1)
        print(f"{name:28} {least:6} {one:12,} {two:12,} {four:12,}  x {growth:.2f}", flush=True)
        if growth > MOST and four > 1.2 * two:
            wrong.append(f"{name}: the second doubling costs {growth:.1f} times the first")
    sys.exit("\n".join(wrong) or 0)


main()
