# SPDX-License-Identifier: MIT
"""Models of several files: safetensors shards with an index, Hugging Face directories, GGUF splits."""
import json

import msgpackbuilder
import torchbuilder
from casebook import bad, good
from ggufbuilder import *
from safetensors_cases import A, St, obj, t

INDEX = "model.safetensors.index.json"
ONE, TWO = "model-00001-of-00002.safetensors", "model-00002-of-00002.safetensors"
SHARD_A = St(obj(A), bytes(8))
SHARD_B = St(obj(t("b", "F32", [2], 0, 8)), bytes(8))
CONFIG = b'{"model_type":"llama","vocab_size":32}'


class Text(St):
    """A file of text whose pieces can be looked up, as in St."""

    def __init__(self, content):
        self.content = content.encode()
        self.at = type(St("{}").at)(self.content)


def index_of(weight_map, total=16):
    return Text(json.dumps({"metadata": {"total_size": total}, "weight_map": weight_map}, indent=1))


MAP = {"a": ONE, "b": TWO}
BOTH = {ONE: SHARD_A, TWO: SHARD_B}


def no(name, note, source, status, at, what, item="none", opened=None, file=INDEX, **files):
    bad(name, note, source, status, at, what, item, opened=opened, file=file, files=files["files"],
        links=files.get("links"))


def shards(index, **more):
    return {INDEX: index, **BOTH, **more}


# ---- the index ------------------------------------------------------------------------------------

index = index_of(MAP)
good("index-fine", "two shards, opened by the directory", index, files=shards(index),
     has={"format": "hf", "tensors": 2})
good("index-fine-by-index", "the same, opened by its index", index, files=shards(index),
     opened=INDEX, has={"tensors": 2})
good("index-fine-by-shard", "the same, opened by its second shard", index, files=shards(index),
     opened=TWO, has={"tensors": 2})
good("index-one-shard", "one member alone", index, files={INDEX: index, TWO: SHARD_B},
     opened=TWO, one_shard=True, has={"format": "safetensors", "tensors": 1})
no("index-shard-missing", "the second shard is not there: its name is said", index, "IO", None,
   "shard", file=TWO, files={INDEX: index, ONE: SHARD_A})
no("index-shard-missing-by-shard", "opened by a member, the other one is not there", index, "IO",
   None, "shard", file=TWO, files={INDEX: index, ONE: SHARD_A}, opened=ONE)
index = index_of({"a": TWO, "b": ONE})
good("index-wrong-shard", "both tensors are in the other shard", index,
     ("warning", "safetensors.other-shard", '"a"', "tensor 0"), ("warning", "safetensors.other-shard", '"b"', "tensor 1"),
     files=shards(index), has={"tensors": 2})
index = index_of({**MAP, "c": TWO})
good("index-tensor-missing", "a tensor that no shard has", index,
     ("error", "safetensors.not-in-shards", '"c"', "tensor -1"), files=shards(index), has={"tensors": 2})
index = index_of({"a": ONE})
shard = St(obj(A, t("b", "F32", [2], 8, 16)), bytes(16))
good("index-tensor-unlisted", "a shard holds a tensor that the index does not know", shard,
     ("warning", "safetensors.not-in-index", '"b"', "tensor 1"), files={INDEX: index, ONE: shard})
for name, path in (("parent", "../model-00002-of-00002.safetensors"), ("absolute", "/etc/passwd"),
                   ("inside", "a/../../x.safetensors"), ("dots", ".."), ("empty", "")):
    index = index_of({"a": ONE, "b": path})
    no("index-escape-" + name, "a shard name that leaves the directory", index, "CORRUPT",
       '"%s"' % path, "leaves the directory", files=shards(index))
index = index_of({"a": ONE, "b": "model\0.safetensors"})
no("index-shard-nul", "a NUL that cuts the name for the system", index, "CORRUPT",
   '"model\\u0000', "leaves the directory", files=shards(index))
index = Text('{"weight_map":{"a":"%s","b":"%s","a":"%s"}}' % (ONE, TWO, ONE))
good("index-duplicate", "one tensor twice in the map: the last entry counts", index,
     ("warning", "safetensors.twice-in-index", '1#"a"', "tensor -1"), files=shards(index), has={"tensors": 2})
index = Text('{"weight_map":{"a":"%s"},"weight_map":{"b":"%s"}}' % (ONE, TWO))
no("index-duplicate-map", "two maps", index, "CORRUPT", '1#"weight_map"', "given twice",
   files=shards(index))
index = index_of(MAP)
shard = St(obj(t("a", "F32", [2], 0, 8), t("b", "F32", [2], 8, 16)), bytes(16))
good("index-tensor-in-both", "both shards hold a tensor of one name: the index decides", index,
     ("warning", "safetensors.in-two-shards", '"a"', "tensor -1"), files={INDEX: index, ONE: SHARD_A, TWO: shard},
     has={"tensors": 2})
unlisted = index_of({"b": TWO, "c": ONE})
no("index-tensor-in-both-unlisted", "the same, and the index names neither", shard, "CORRUPT", '"a"',
   "duplicate", item="tensor 1", file=TWO, files={INDEX: unlisted, ONE: SHARD_A, TWO: shard})
for name, prefix, at in (("folder", "w/", "w/"), ("dot", "./", ""), ("both", "./w/.//", "w/")):
    index = index_of({"a": prefix + ONE, "b": prefix + TWO})
    good("index-in-" + name, "shards in a folder, or behind a dot", index,
         files={INDEX: index, at + ONE: SHARD_A, at + TWO: SHARD_B}, has={"format": "hf", "tensors": 2})
index = index_of(MAP, total=17)
good("index-total-size", "a total_size that is not what the tensors take", index,
     ("warning", "safetensors.total-size", "17", "none"), files=shards(index))
index = index_of(MAP, total="16")
good("index-total-string", "a total_size that is a string", index,
     ("warning", "safetensors.total-size", '"16"', "none"), files=shards(index))
index = Text('{"weight_map":{"a":"%s","b":"%s"}}' % (ONE, TWO))
good("index-no-metadata", "an index without total_size", index, files=shards(index))
index = Text('{"metadata":{}}')
no("index-no-map", "no weight_map", index, "CORRUPT", "{", "weight_map", files=shards(index))
index = Text('{"weight_map":["%s"]}' % ONE)
no("index-map-list", "a map that is a list", index, "CORRUPT", "[", "weight_map",
   files=shards(index))
index = Text('{"weight_map":{"a":1}}')
no("index-map-number", "a shard name that is a number", index, "CORRUPT", "1}", "weight_map",
   files=shards(index))
index = Text('{"weight_map":{"a":"%s"' % ONE)
no("index-cut", "an index cut short", index, "CORRUPT", len(index.content), "ends too early", files=shards(index))
index = Text('["%s"]' % ONE)
no("index-list", "an index that is a list", index, "CORRUPT", "[", "object", files=shards(index))
index = index_of(MAP)
shard = St(obj(t("b", "F32", [2], 8, 16)), bytes(16))
no("index-shard-corrupt", "a shard with a hole", shard, "CORRUPT", '"b"', "hole",
   item="tensor 1", file=TWO, files={INDEX: index, ONE: SHARD_A, TWO: shard})
good("index-shard-cut", "a shard cut short", SHARD_B,
     ("error", "safetensors.truncated-data", len(SHARD_B.content) - 1, "none"),
     ("error", "safetensors.truncated-data", '"b"', "tensor 1"), has={"truncated": 1},
     reads=((0, "OK"), (1, "TRUNCATED")),
     files={INDEX: index, ONE: SHARD_A, TWO: SHARD_B.content[:-1]})
LFS = (b"version https://git-lfs.github.com/spec/v1\noid sha256:" + b"0" * 64
       + b"\nsize 4976698672\n")
no("index-shard-lfs", "a shard that was not fetched", index, "UNSUPPORTED", None, "LFS", file=TWO,
   files={INDEX: index, ONE: SHARD_A, TWO: LFS})

# ---- Hugging Face directories ---------------------------------------------------------------------


def folder(name, note, files, *findings, **more):
    good("hf-" + name, note, SHARD_A, *findings, files=files, **more)


folder("fine", "weights, config and tokenizer",
       {"model.safetensors": SHARD_A, "config.json": CONFIG, "tokenizer.json": b"{}",
        "merges.txt": b"#version: 0.2\n"},
       has={"format": "hf", "tensors": 1, "resources": 3})
folder("links", "a directory whose files are links, as the caches are",
       {"blobs/1": SHARD_A, "blobs/2": CONFIG}, opened="snapshot",
       links={"snapshot/model.safetensors": "../blobs/1", "snapshot/config.json": "../blobs/2"},
       has={"format": "hf", "tensors": 1, "resources": 1})
folder("config-broken", "a config.json that is no JSON is kept and said",
       {"model.safetensors": SHARD_A, "config.json": b"{"},
       ("warning", "model.config-json", 1, "resource 0"), has={"resources": 1},
       deep=(("error", "resource.json", "resource 0"),))
folder("config-not-utf8", "a resource of any bytes",
       {"model.safetensors": SHARD_A, "notes.txt": b"\xff\x00\xfe"}, has={"resources": 1})


def no_folder(name, note, files, what, status="UNSUPPORTED", **more):
    bad("hf-" + name, note, SHARD_A, status, None, what, files=files, **more)


no_folder("no-weights", "a directory with a config and nothing else", {"config.json": CONFIG},
          "safetensors")
folder("numbered", "shards without an index: their names say how many there are", {**BOTH, "config.json": CONFIG},
       has={"format": "hf", "tensors": 2, "resources": 1})
folder("numbered-besides", "a set called model comes before other files",
       {**BOTH, "consolidated.safetensors": SHARD_A, "other-00001-of-00003.safetensors": SHARD_A}, has={"tensors": 2})
no("hf-numbered-missing", "a set without an index that lacks a shard: its name is said", SHARD_A, "IO", None, "shard",
   file=TWO, files={ONE: SHARD_A, "config.json": CONFIG})
no_folder("numbered-twice", "two sets of the same name", {**BOTH, "model-00001-of-00003.safetensors": SHARD_A}, "several")
BIN_A = torchbuilder.archive(torchbuilder.dict_of(a=torchbuilder.tensor())).file()
BIN_B = torchbuilder.legacy(torchbuilder.dict_of(b=torchbuilder.tensor((3, 2), (1, 3))))
BINS = {"pytorch_model-00001-of-00002.bin": BIN_A, "pytorch_model-00002-of-00002.bin": BIN_B, "config.json": CONFIG}
BIN_INDEX = (b'{"metadata":{},"weight_map":{"a":"pytorch_model-00001-of-00002.bin",%s'
             b'"b":"pytorch_model-00002-of-00002.bin"}}')
folder("bin", "weights that PyTorch wrote", {"config.json": CONFIG, "pytorch_model.bin": BIN_A},
       has={"format": "hf", "tensors": 1, "resources": 1, "files": 2})
folder("bin-peft", "an adapter that PyTorch wrote", {"adapter_config.json": b"{}", "adapter_model.bin": BIN_A},
       has={"format": "hf", "tensors": 1})
folder("bin-shards", "an index of them, with a view", {**BINS, "pytorch_model.bin.index.json": BIN_INDEX % b""},
       has={"format": "hf", "tensors": 2, "resources": 1, "files": 3})
folder("bin-lacks", "an index with a tensor that no file has",
       {**BINS, "pytorch_model.bin.index.json": BIN_INDEX % b'"c":"pytorch_model-00002-of-00002.bin",'},
       ("error", "torch.not-in-files", 68, "tensor -1"), has={"tensors": 2})
bad("hf-bin-leaves", "an index that leaves the directory", SHARD_A, "CORRUPT", 19, "leaves", file="pytorch_model.bin.index.json",
    files={"pytorch_model.bin.index.json": b'{"weight_map":{"a":"../b.bin"}}', "config.json": CONFIG})
FLAX_A = msgpackbuilder.packed({"a": {"kernel": msgpackbuilder.array((2,), "float32", bytes(8))}})
FLAX_B = msgpackbuilder.packed({"b": msgpackbuilder.array((3,), "float16", bytes(6)), "step": 1})
FLAX = {"flax_model-00001-of-00002.msgpack": FLAX_A, "flax_model-00002-of-00002.msgpack": FLAX_B, "config.json": CONFIG}
FLAX_INDEX = (b'{"metadata":{},"weight_map":{"a/kernel":"flax_model-00001-of-00002.msgpack",%s'
              b'"b":"flax_model-00002-of-00002.msgpack"}}')
folder("flax", "weights that Flax wrote", {"config.json": CONFIG, "flax_model.msgpack": FLAX_A},
       has={"format": "hf", "tensors": 1, "tensor": "a.kernel", "resources": 1, "files": 2})
folder("flax-shards", "an index of them", {**FLAX, "flax_model.msgpack.index.json": FLAX_INDEX % b""},
       has={"format": "hf", "tensors": 2, "keys": 1, "resources": 1, "files": 3})
folder("flax-lacks", "an index of them with a tensor that no file has",
       {**FLAX, "flax_model.msgpack.index.json": FLAX_INDEX % b'"c/d":"flax_model-00002-of-00002.msgpack",'},
       ("error", "flax.not-in-files", 76, "tensor -1"), has={"tensors": 2})
folder("flax-beside", "the same weights in PyTorch's file come first",
       {**FLAX, "flax_model.msgpack.index.json": FLAX_INDEX % b"", "pytorch_model.bin": BIN_A}, has={"tensors": 1, "tensor": "a"})
bad("hf-flax-cut", "a shard that ends early", SHARD_A, "TRUNCATED", 11, "ends inside a value", file="flax_model-00001-of-00002.msgpack",
    files={**FLAX, "flax_model-00001-of-00002.msgpack": FLAX_A[:-1], "flax_model.msgpack.index.json": FLAX_INDEX % b""})
no_folder("bin-other", "pickles of another name", {"config.json": CONFIG, "x.pth": BIN_A}, "name the file")
no_folder("lfs", "a clone without its large files", {"config.json": CONFIG,
                                                      "model.safetensors": LFS}, "LFS",
          file="model.safetensors")

# ---- GGUF splits ----------------------------------------------------------------------------------


def split(number, count, tensors, name, kind=U16, total_kind=I32):
    g = Gguf()
    if number == 0:
        g.kv("general.name", STRING, "x")
    return (g.kv("split.no", kind, number).kv("split.count", kind, count)
            .kv("split.tensors.count", total_kind, tensors).tensor(name, [8], F32))


def split_files(one, two):
    return {"m-00001-of-00002.gguf": one, "m-00002-of-00002.gguf": two}


FIRST, SECOND = "m-00001-of-00002.gguf", "m-00002-of-00002.gguf"
one, two = split(0, 2, 2, "a"), split(1, 2, 2, "b")
good("split-fine", "two parts, opened by the first", one, files=split_files(one, two), opened=FIRST,
     has={"format": "gguf", "tensors": 2, "files": 2})
good("split-fine-second", "the same, opened by the second", one,
     files=split_files(split(0, 2, 2, "a"), split(1, 2, 2, "b")), opened=SECOND,
     has={"tensors": 2, "files": 2})
good("split-one-shard", "the second part alone", one, files={SECOND: split(1, 2, 2, "b")},
     opened=SECOND, one_shard=True, has={"tensors": 1, "files": 1})
bad("split-missing", "the second part is not there", one, "IO", None, "shard",
    files={FIRST: split(0, 2, 2, "a")}, opened=FIRST)
one, two = split(0, 2, 2, "a"), split(0, 2, 2, "b")
bad("split-number", "both parts say that they are the first", two, "CORRUPT", "key 1 value",
    "split.no", "key 1", files=split_files(one, two), opened=FIRST, file=SECOND)
one, two = split(0, 2, 2, "a"), split(1, 3, 2, "b")
bad("split-count", "the parts do not agree how many they are", two, "CORRUPT", "key 1 value",
    "split.count", "key 1", files=split_files(one, two), opened=FIRST, file=SECOND)
one, two = split(0, 2, 3, "a"), split(1, 2, 3, "b")
bad("split-tensors-count", "a tensor less than the parts say", one, "CORRUPT", "key 3 value",
    "split.tensors.count", "key 3", files=split_files(one, two), opened=FIRST, file=FIRST)
one, two = split(0, 2, 2, "a"), split(1, 2, 2, "a")
bad("split-duplicate", "both parts hold a tensor of one name", two, "CORRUPT", "tensor 0",
    "duplicate", "tensor 1", files=split_files(one, two), opened=FIRST, file=SECOND)
one, two = split(0, 2, 2, "a"), Gguf(n_kv=1).key("a", 99).raw(bytes(64))
bad("split-corrupt", "the second part has a fault of its own", two, "CORRUPT", "key 0 type",
    "value type", "key 0", files=split_files(one, two), opened=FIRST, file=SECOND)
