# SPDX-License-Identifier: MIT
"""Llama in Meta's form: the files of the ranks, of which each has a part of each tensor, and what can be wrong with them."""
import json
import struct

from casebook import bad, good
from torchbuilder import archive, dict_of, storage, tensor

DIM, ROWS, VOCABULARY = 4, 6, 8
# which dimension the ranks divide; None: each has a copy
AXES = {"tok_embeddings.weight": ((VOCABULARY, DIM), 1), "norm.weight": ((DIM,), None), "output.weight": ((VOCABULARY, DIM), 0),
        "layers.0.attention.wq.weight": ((DIM, DIM), 0), "layers.0.attention.wk.weight": ((2, DIM), 0),
        "layers.0.attention.wv.weight": ((2, DIM), 0), "layers.0.attention.wo.weight": ((DIM, DIM), 1),
        "layers.0.feed_forward.w1.weight": ((ROWS, DIM), 0), "layers.0.feed_forward.w2.weight": ((DIM, ROWS), 1),
        "layers.0.feed_forward.w3.weight": ((ROWS, DIM), 0), "layers.0.attention_norm.weight": ((DIM,), None),
        "layers.0.ffn_norm.weight": ((DIM,), None), "rope.freqs": ((1,), None)}
PARAMS = {"dim": DIM, "n_layers": 1, "n_heads": 4, "n_kv_heads": 2, "vocab_size": VOCABULARY}
ONE = "consolidated.01.pth"


def values(name, shape):
    """of the whole tensor, row by row"""
    n = shape[0] * (shape[1] if len(shape) > 1 else 1)
    return [len(name) + i / 8 for i in range(n)]


def part(name, rank, ranks, embeddings=1):
    """shape and values of what a rank has"""
    shape, axis = AXES[name]
    axis = embeddings if name == "tok_embeddings.weight" else axis
    all_of = values(name, shape)
    if axis is None:
        return shape, all_of
    size = shape[axis] // ranks
    if axis == 0:
        return (size, shape[1]), all_of[rank * size * shape[1]:(rank + 1) * size * shape[1]]
    return (shape[0], size), [x for r in range(shape[0]) for x in all_of[r * shape[1] + rank * size:r * shape[1] + (rank + 1) * size]]


def file(rank, ranks, embeddings=1, **changed):
    """changed: name -> (shape, values), or None: the tensor is not there"""
    parts = {name: part(name, rank, ranks, embeddings) for name in AXES}
    parts.update({name.replace("__", "."): p for name, p in changed.items()})
    items, storages = {}, {}
    for name, p in parts.items():
        if p is None:
            continue
        shape, numbers = p
        key = str(len(storages))
        storages[key] = struct.pack("<%df" % len(numbers), *numbers)
        items[name] = tensor(shape, (shape[1], 1) if len(shape) > 1 else (1,), data=storage(key, len(numbers)))
    return archive(dict_of(**items), storages).file()


def files(ranks=2, embeddings=1, params=PARAMS, **more):
    made = {"consolidated.%02d.pth" % k: file(k, ranks, embeddings) for k in range(ranks)}
    return {**made, "params.json": json.dumps(params).encode(), **more}


def yes(case, note, made, **has):
    good("meta-" + case, note, b"", files=made, has=has)


def no(case, note, made, status, what, item="none", at=None, file=None):
    bad("meta-" + case, note, b"", status, at, what, item, file=file, files=made)


yes("fine", "two ranks", files(), format="meta", tensors=len(AXES), resources=1)
yes("rows", "embeddings by rows, as Llama 3 has them", files(embeddings=0), format="meta", tensors=len(AXES))
yes("one", "a rank alone", files(1), format="meta", tensors=len(AXES), tensor="tok_embeddings.weight")
yes("tokenizer", "with what belongs to it", files(**{"tokenizer.model": b"\n\x0e\n\x05<unk>\x15\0\0\0\0\x18\x02", "checklist.chk": b"y"}), format="meta")
yes("open-vocabulary", "a vocabulary that is not stated", files(params={**PARAMS, "vocab_size": -1}), tensors=len(AXES))


def without(name, made):
    return {k: v for k, v in made.items() if k != name}


def record(content, name):
    """of a tensor in a file: where it is put together, which ends (tRtR"""
    return content.index(b"(tRtR", content.index(name.encode())) + 4


def changed(case, note, name, what, now, status="CORRUPT", rank=1, item="tensor -1"):
    path = "consolidated.%02d.pth" % rank
    content = file(rank, 2, **{name.replace(".", "__"): now})
    no(case, note, files(**{path: content}), status, what, item, record(content, name) if now else None, path)


no("no-params", "nothing says how large it is", without("params.json", files()), "UNSUPPORTED", "without params.json")
no("params", "a size that is a text", files(params={**PARAMS, "dim": "4"}), "CORRUPT", "dim and n_heads", at=0, file="params.json")
no("params-cut", "params.json is cut", files(**{"params.json": b'{"dim": 4'}), "CORRUPT", "ends too early", at=9, file="params.json")
no("gap", "the second of three is missing", without(ONE, files(**{"consolidated.02.pth": file(1, 2)})), "CORRUPT", "before this one is missing",
   file="consolidated.02.pth")
no("first-gone", "the first of two is missing", without("consolidated.00.pth", files()), "CORRUPT", "before this one is missing", file=ONE)
no("rank-gone", "the last of two is missing", without(ONE, files()), "CORRUPT", "are all files of the ranks there", "tensor -1",
   at=record(file(0, 2), "tok_embeddings.weight"), file="consolidated.00.pth")
no("rank-gone-rows", "the last of two, of Llama 3", without(ONE, files(embeddings=0)), "CORRUPT", "are all files of the ranks there",
   "tensor -1", at=record(file(0, 2, 0), "tok_embeddings.weight"), file="consolidated.00.pth")
CUT = file(1, 2)[:-30]
no("rank-cut", "the last of two is cut", files(**{ONE: CUT}), "TRUNCATED", "zip", at=len(CUT), file=ONE)
changed("copy", "a norm that differs", "norm.weight", "differs from", ((4,), [1, 2, 3, 4]))
changed("shape", "a part of three rows", "layers.0.feed_forward.w1.weight", "another shape or type", ((2, 4), range(8)))
changed("dimensions", "a norm of two dimensions", "norm.weight", "number of dimensions", ((2, 2), range(4)), rank=0)
changed("width", "a norm of three", "norm.weight", "not the one that params.json states", ((3,), range(3)), rank=0)
changed("heads", "keys that each of two ranks has all of", "layers.0.attention.wk.weight", "the parts of all ranks", ((2, 4), range(8)), rank=0)
changed("gone", "a norm that one file lacks", "norm.weight", "the file does not have it", None)
changed("more", "a tensor that the first file lacks", "layers.1.ffn_norm.weight", "consolidated.00.pth does not have it", ((4,), range(4)))
changed("unknown", "a tensor of another architecture", "layers.0.feed_forward.experts.w1", "no tensor of Llama's", ((4,), range(4)), "UNSUPPORTED", rank=0)
good("meta-one-unknown", "the same where nothing is joined", b"", has={"tensors": len(AXES) + 1},
     files=files(1, **{"consolidated.00.pth": file(0, 1, gate=((4,), range(4)))}))
