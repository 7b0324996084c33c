# SPDX-License-Identifier: MIT
"""GGUF files that must not open, each with one fault. The fault's CVE or issue number stands in
the note; where there is none it is a rule of the format's own text."""
from casebook import bad
from ggufbuilder import *

SPARE = bytes(4096)  # room behind the directory, so that "the file is short" is not what is found


def one_key():
    return Gguf().kv("general.name", STRING, "x")


def weights():
    return Gguf().kv("general.architecture", STRING, "llama")


# ---- header ---------------------------------------------------------------------------------------

bad("empty-after-magic", "CVE-2024-39720: four bytes and nothing else", b"GGUF",
    "TRUNCATED", 4, "version")
bad("version-cut", "the version ends in the middle", b"GGUF\x03\0",
    "TRUNCATED", 4, "version")
bad("counts-missing", "the file ends after the version", b"GGUF\x03\0\0\0",
    "TRUNCATED", 8, "tensor count")
bad("kv-count-cut", "the file ends in the key count", Gguf().file()[:20],
    "TRUNCATED", 16, "key count")
bad("magic-wrong-case", "gguf in small letters is not the magic", b"gguf" + Gguf().file()[4:],
    "CORRUPT", 0, "format")
bad("version-0", "version 0 never existed", Gguf(version=0), "CORRUPT", "version", "version")
bad("version-4", "a version that does not exist yet", Gguf(version=4),
    "CORRUPT", "version", "version")
bad("version-huge", "a version with all bits set", Gguf(version=0xFFFFFFFF),
    "CORRUPT", "version", "version")
bad("big-endian-v1", "version 1 never existed in big-endian", Gguf(version=1, big=True),
    "CORRUPT", "version", "version")
bad("big-endian-v2", "version 2 never existed in big-endian", Gguf(version=2, big=True),
    "CORRUPT", "version", "version")
bad("tensor-count-2-63", "CVE-2024-21836: n_tensors * sizeof overflows", Gguf(n_tensors=1 << 63),
    "LIMIT", "n_tensors", "tensor count")
bad("tensor-count-overhead", "llama.cpp#15711: n_tensors * overhead overflows",
    Gguf(n_tensors=(1 << 64) // 368 + 1), "LIMIT", "n_tensors", "tensor count")
bad("tensor-count-2-32", "candle#3533: 2^32 tensors in 24 bytes", Gguf(n_tensors=1 << 32),
    "LIMIT", "n_tensors", "tensor count")
bad("tensor-count-at-limit", "2^24 tensors (the limit) that the file has no bytes for",
    Gguf(n_tensors=1 << 24), "TRUNCATED", "n_tensors", "tensor count")
bad("tensor-count-one-more", "one tensor more than there is",
    Gguf(n_tensors=1), "TRUNCATED", "n_tensors", "tensor count")
bad("kv-count-2-63", "CVE-2024-23605: n_kv * sizeof overflows", Gguf(n_kv=1 << 63),
    "LIMIT", "n_kv", "key count")
bad("kv-count-2-32", "candle#3713: 2^32 keys in 24 bytes", Gguf(n_kv=1 << 32),
    "LIMIT", "n_kv", "key count")
bad("kv-count-at-limit", "2^20 keys (the limit) that the file has no bytes for",
    Gguf(n_kv=1 << 20), "TRUNCATED", "n_kv", "key count")

# ---- keys -----------------------------------------------------------------------------------------

bad("key-length-max", "CVE-2024-23496: a length of 2^64-1 plus 1 is 0",
    Gguf().key("general.name", STRING, length=(1 << 64) - 1).raw(SPARE),
    "LIMIT", "key 0", "key", "key 0")
bad("key-length-36-bytes", "CVE-2025-66959: 36 bytes, a key of 2^40 bytes",
    Gguf(n_kv=1).num("Q", 1 << 40).raw(b"abcd").ends(end_in_directory=True),
    "LIMIT", 24, "key", "key 0")
bad("key-length-past-end", "a key of 40 bytes in a file that has 8 more",
    Gguf(n_kv=1).num("Q", 40).raw(b"general.").ends(end_in_directory=True),
    "TRUNCATED", 24, "key", "key 0")
bad("key-65536", "a key one byte over the limit of the format",
    Gguf().kv("k" * 65536, U8, 1), "LIMIT", "key 0", "key", "key 0")
bad("key-empty", "whisper.cpp#3864: an empty key", Gguf().kv("", U32, 1),
    "CORRUPT", "key 0", "empty", "key 0")
bad("key-empty-v1", "ollama#17033: version 1, 24 bytes, a key of no length",
    Gguf(version=1, n_kv=1).num("I", 0).raw(b"\0\0\0\0").ends(end_in_directory=True),
    "CORRUPT", 16, "empty", "key 0")
bad("key-duplicate", "the same key twice",
    Gguf().kv("general.name", STRING, "a").kv("general.type", STRING, "b")
    .kv("general.name", STRING, "a"), "CORRUPT", "key 2", "duplicate", "key 2")
bad("key-duplicate-other-type", "the same key twice with different types",
    Gguf().kv("general.name", STRING, "a").kv("general.name", U8, 1),
    "CORRUPT", "key 1", "duplicate", "key 1")
bad("key-type-13", "the first value type that does not exist", Gguf().key("a", 13).raw(SPARE),
    "CORRUPT", "key 0 type", "value type", "key 0")
bad("key-type-max", "CVE-2024-32878: a bad first type and an early exit with nothing set up",
    Gguf(n_kv=3).key("a", 0xFFFFFFFF).raw(SPARE), "CORRUPT", "key 0 type", "value type", "key 0")
bad("value-cut", "the file ends inside a value",
    Gguf().key("a", U64).raw(b"\1\2\3").ends(end_in_directory=True),
    "TRUNCATED", "key 0 value", "value", "key 0")
bad("value-type-cut", "the file ends inside a value type",
    Gguf(n_kv=1).string("a").raw(b"\4\0\0").ends(end_in_directory=True),
    "TRUNCATED", 33, "value type", "key 0")
bad("second-key-missing", "CVE-2024-41130: the header promises more keys than follow",
    Gguf(n_kv=2).kv("general.name", STRING, "x" * 64).ends(end_in_directory=True),
    "TRUNCATED", 24 + 8 + 12 + 4 + 8 + 64, "key", "key 1")

# ---- strings and arrays ---------------------------------------------------------------------------

bad("string-length-max", "TALOS-2024-1913: a string value of 2^64-1 bytes",
    Gguf().key("general.name", STRING).num("Q", (1 << 64) - 1).raw(SPARE),
    "TRUNCATED", "key 0 value", "string", "key 0")
bad("string-1-gib", "llama.cpp#19003: 1 GiB asked for by 160 bytes",
    Gguf().key("general.name", STRING).num("Q", 1 << 30).raw(bytes(100)),
    "TRUNCATED", "key 0 value", "string", "key 0")
bad("string-49-bytes", "CVE-2025-66960: 49 bytes with a string of 2^62",
    Gguf().key("a", STRING).num("Q", 1 << 62).raw(b"abcd").ends(end_in_directory=True),
    "TRUNCATED", "key 0 value", "string", "key 0")
bad("token-2-31", "CVE-2025-49847: a token longer than INT32_MAX",
    Gguf().key("tokenizer.ggml.tokens", ARRAY).num("I", STRING).num("Q", 2).string("a")
    .mark("long").num("Q", 1 << 31).raw(SPARE),
    "TRUNCATED", "long", "string", "key 0")
bad("token-2-32-1", "CVE-2025-52566: a token length that is -1 as a signed int",
    Gguf().key("tokenizer.ggml.tokens", ARRAY).num("I", STRING).num("Q", 1)
    .mark("long").num("Q", 0xFFFFFFFF).raw(SPARE),
    "TRUNCATED", "long", "string", "key 0")
bad("array-strings-overflow", "CVE-2024-21825: count * 16 wraps for an array of strings",
    Gguf().array("tokenizer.ggml.tokens", STRING, ["a", "b"], count=(1 << 60) + 1),
    "LIMIT", "key 0 count", "array", "key 0")
bad("array-43-bytes", "gguf-py (llama.cpp#27188): 43 bytes, an array of 2^63 elements",
    Gguf().array("ab", U8, [1], count=1 << 63).ends(end_in_directory=True),
    "LIMIT", "key 0 count", "array", "key 0")
bad("array-count-at-limit", "2^30 elements (the limit) that the file has no bytes for",
    Gguf().array("a", U32, [1], count=1 << 30), "TRUNCATED", "key 0 count", "array", "key 0")
bad("array-short-by-one", "an array of 9 numbers with bytes for 8",
    Gguf().array("a", U64, [0] * 8, count=9).ends(end_in_directory=True),
    "TRUNCATED", "key 0 count", "array", "key 0")
bad("array-type-13", "an array of an unknown type",
    Gguf().key("a", ARRAY).mark("type").num("I", 13).num("Q", 1).raw(SPARE),
    "CORRUPT", "type", "type", "key 0")
bad("array-type-unknown-empty", "an unknown element type is one even where there is no element",
    Gguf().key("a", ARRAY).mark("type").num("I", 99).num("Q", 0),
    "CORRUPT", "type", "type", "key 0")
bad("array-strings-cut", "the second string of an array runs past the end",
    Gguf().key("a", ARRAY).num("I", STRING).num("Q", 2).string("one").mark("two")
    .num("Q", 5).raw(b"tw").ends(end_in_directory=True), "TRUNCATED", "two", "string", "key 0")


def nested(levels, innermost=b""):
    """`levels` arrays inside each other, one element each; the last one is empty."""
    g = Gguf().key("a", ARRAY)
    for i in range(levels):
        g.mark("level %d" % i).num("I", ARRAY if i < levels - 1 else U8)
        g.num("Q", 1 if i < levels - 1 else len(innermost))
    return g.raw(innermost)


bad("array-nesting-9", "one level of arrays more than the limit",
    nested(9), "LIMIT", "level 7", "nest", "key 0")
bad("array-nesting-5000", "gguf-py: nested arrays that end in a RecursionError",
    nested(5000), "LIMIT", "level 7", "nest", "key 0")

# ---- alignment ------------------------------------------------------------------------------------

bad("alignment-0", "an alignment of 0 divides by it",
    Gguf().kv("general.alignment", U32, 0), "CORRUPT", "key 0 value", "alignment", "key 0")
for kind, label, value in ((I32, "i32", 32), (U64, "u64", 32), (F32V, "f32", 32.0),
                           (STRING, "string", "32"), (BOOL, "bool", 1)):
    bad("alignment-" + label, "llama.cpp#26318: an alignment that is no u32",
        Gguf().kv("general.alignment", kind, value), "CORRUPT", "key 0 type", "alignment", "key 0")
bad("alignment-array", "an alignment that is an array",
    Gguf().array("general.alignment", U32, [32]), "CORRUPT", "key 0 type", "alignment", "key 0")

# ---- tensor records -------------------------------------------------------------------------------

bad("tensor-name-empty", "a tensor without a name", weights().tensor("", [8], F32),
    "CORRUPT", "tensor 0", "empty", "tensor 0")
bad("tensor-name-duplicate", "two tensors of one name",
    weights().tensor("a", [8], F32).tensor("b", [8], F32).tensor("a", [8], F32),
    "CORRUPT", "tensor 2", "duplicate", "tensor 2")
bad("tensor-name-65536", "a tensor name over the limit", weights().tensor("n" * 65536, [8], F32),
    "LIMIT", "tensor 0", "name", "tensor 0")
bad("tensor-name-length-max", "a tensor name of 2^64-1 bytes",
    weights().tensor("a", [8], F32, length=(1 << 64) - 1).ends(tail=SPARE),
    "LIMIT", "tensor 0", "name", "tensor 0")
bad("tensor-name-past-end", "a tensor name that ends behind the file",
    Gguf(n_tensors=1).num("Q", 60).raw(b"blk.0.attn_q.weight" + bytes(13))
    .ends(end_in_directory=True), "TRUNCATED", 24, "name", "tensor 0")
bad("tensor-record-cut", "llama.cpp#22220: the last record ends inside its offset",
    Gguf(n_tensors=1).string("a" * 8).num("I", 1).num("Q", 8).num("I", 0).num("I", 0)
    .ends(end_in_directory=True), "TRUNCATED", 24 + 16 + 4 + 8 + 4, "offset", "tensor 0")
bad("dims-9", "CVE-2024-21802: a ninth dimension writes behind the array of a reader",
    weights().tensor("a", [1] * 9, F32), "CORRUPT", "tensor 0 n_dims", "dimensions", "tensor 0")
bad("dims-1000", "gguf-tools#25, mlx#3358: ndim far over every array",
    weights().tensor("a", [1] * 1000, F32, data=b"\0" * 4),
    "CORRUPT", "tensor 0 n_dims", "dimensions", "tensor 0")
bad("dims-max", "OpenVINO CVS-188917: 2^32-1 dimensions",
    weights().tensor("a", [8], F32, n_dims=0xFFFFFFFF),
    "CORRUPT", "tensor 0 n_dims", "dimensions", "tensor 0")
bad("dims-cut", "four dimensions promised, two there",
    Gguf(n_tensors=1).string("a" * 8).num("I", 4).num("Q", 8).num("Q", 8)
    .ends(end_in_directory=True), "TRUNCATED", 24 + 16 + 4 + 16, "dimension", "tensor 0")


def product(name, note, dims, kind=F32):
    bad(name, note, weights().tensor("a", dims, kind, data=bytes(64)),
        "CORRUPT", "tensor 0 dim 0", "product", "tensor 0")


product("product-2-64", "2^32 x 2^32 F32: the product is 0 for ggml, which opens the file",
        [1 << 32, 1 << 32])
product("product-wraps-small", "CVE-2026-33298: 2^42+1 columns whose byte size wraps to a few MB",
        [(1 << 42) + 1, 1 << 22])
product("product-wraps-to-4", "test_gguf_reader_validation.py: a product that wraps to 4",
        [4194305, 4194305, 211106198978564])
product("product-2-80", "candle#3714: 2^40 x 2^40", [1 << 40, 1 << 40])
product("product-negative", "I8 2^33 x 3 * 2^30: a product that is negative as a signed number",
        [8589934592, 3221225472], TI8)
product("product-bytes", "elements fit 64 bits, their bytes do not", [1 << 62], TF64)
product("product-dim-0-hides", "a dimension of 0 must not hide that the others overflow",
        [1 << 40, 1 << 40, 0])
bad("size-pad-wraps", "llama.cpp#24759: 2^62-1 F32, whose size padded to 32 wraps to 0",
    weights().tensor("a", [(1 << 62) - 1], F32, data=b"").tensor("b", [8], F32, offset=0),
    "CORRUPT", "tensor 0 offset", "offset", "tensor 0")
bad("sum-of-sizes", "CVE-2025-53630: the sum of padded sizes wraps",
    weights().tensor("a", [0x7FFFFFFFFFFFFFE0], TI8, offset=0, data=b"")
    .tensor("b", [0x7FFFFFFFFFFFFFE0], TI8, offset=0x7FFFFFFFFFFFFFE0, data=b"")
    .tensor("c", [64], TI8, offset=0xFFFFFFFFFFFFFFC0, data=b""),
    "CORRUPT", "tensor 1 offset", "offset", "tensor 1")
bad("sum-of-sizes-bypass", "CVE-2026-27940: two I8 tensors of 0x7FFFFFFFFFFFFFC0 bytes",
    weights().tensor("a", [0x7FFFFFFFFFFFFFC0], TI8, offset=0, data=b"")
    .tensor("b", [0x7FFFFFFFFFFFFFC0], TI8, offset=0x7FFFFFFFFFFFFFC0, data=b""),
    "CORRUPT", "tensor 1 offset", "offset", "tensor 1")
bad("offset-max", "offset + size beyond 64 bits",
    weights().tensor("a", [64], TI8, offset=(1 << 64) - 32, data=b""),
    "CORRUPT", "tensor 0 offset", "offset", "tensor 0")
bad("offset-base-wraps", "offset + size fits 64 bits, the place in the file does not",
    weights().tensor("a", [32], TI8, offset=(1 << 64) - 64, data=b""),
    "CORRUPT", "tensor 0 offset", "offset", "tensor 0")
bad("offset-misaligned", "an offset that is no multiple of 32",
    weights().tensor("a", [8], F32).tensor("b", [8], F32, offset=36),
    "CORRUPT", "tensor 1 offset", "multiple", "tensor 1")
bad("offset-misaligned-64", "a multiple of 32 where the file asks for 64",
    Gguf().kv("general.alignment", U32, 64).tensor("a", [8], F32)
    .tensor("b", [8], F32, offset=32), "CORRUPT", "tensor 1 offset", "multiple", "tensor 1")
bad("overlap", "two tensors over the same bytes",
    weights().tensor("a", [16], F32).tensor("b", [16], F32, offset=32),
    "CORRUPT", "tensor 1 offset", "overlap", "tensor 1")
bad("overlap-same-place", "two tensors in one place are no alias in GGUF",
    weights().tensor("a", [16], F32).tensor("b", [16], F32, offset=0),
    "CORRUPT", "tensor 1 offset", "overlap", "tensor 1")
bad("overlap-inside-out-of-order", "a later record that lies inside an earlier one",
    weights().tensor("b", [8], F32, offset=64, data=b"").tensor("a", [64], F32, offset=0),
    "CORRUPT", "tensor 0 offset", "overlap", "tensor 0")
bad("row-not-divisible", "33 columns of Q4_0, whose block has 32",
    weights().tensor("a", [33, 2], Q4_0, data=bytes(64)),
    "CORRUPT", "tensor 0 dim 0", "block", "tensor 0")
bad("row-half-block", "ne0 16 with Q8_0: the elements make whole blocks, the rows do not",
    weights().tensor("a", [16, 2], Q8_0, data=bytes(34)),
    "CORRUPT", "tensor 0 dim 0", "block", "tensor 0")
bad("row-k-quant", "ne0 128 with Q4_K, whose block has 256",
    weights().tensor("a", [128, 4], Q4_K, data=bytes(288)),
    "CORRUPT", "tensor 0 dim 0", "block", "tensor 0")
bad("big-endian-overlap", "the layout is checked in big-endian files too",
    Gguf(big=True).tensor("a", [16], F32).tensor("b", [16], F32, offset=32),
    "CORRUPT", "tensor 1 offset", "overlap", "tensor 1")
bad("big-endian-string", "a little-endian length in a big-endian file",
    Gguf(big=True).key("general.name", STRING).raw(b"\1\0\0\0\0\0\0\0a" + SPARE),
    "TRUNCATED", "key 0 value", "string", "key 0")
bad("v1-string", "version 1: a u32 length past the end",
    Gguf(version=1).key("general.name", STRING).num("I", 0xFFFFFFF0).raw(SPARE),
    "TRUNCATED", "key 0 value", "string", "key 0")
bad("v1-array", "version 1: a u32 count past the end",
    Gguf(version=1).array("a", U64, [1, 2], count=0x10000000),
    "TRUNCATED", "key 0 count", "array", "key 0")
