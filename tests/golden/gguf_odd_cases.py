# SPDX-License-Identifier: MIT
"""GGUF files that open: with findings where something is odd, with none where the format allows
it. Every row of the table of oddities is here."""
import struct

from casebook import good
from ggufbuilder import *
from gguf_cases import nested, weights


def plain():
    return weights().tensor("a", [8], F32).tensor("b", [32, 2], Q8_0)


# ---- allowed: no finding --------------------------------------------------------------------------

good("fine-plain", "a small ordinary file", plain(),
     has={"format": "gguf", "version": 3, "tensors": 2, "keys": 1, "alignment": 32, "big-endian": 0,
          "truncated": 0})
good("fine-empty", "no keys, no tensors", Gguf(), has={"tensors": 0, "keys": 0})
good("fine-v1", "version 1", Gguf(version=1).kv("general.name", STRING, "x")
     .array("a", STRING, ["b", "c"]).tensor("t", [8], F32), has={"version": 1, "tensors": 1})
good("fine-v1-nul", "version 1 strings may end in a NUL that is counted",
     Gguf(version=1).kv("general.name\0", STRING, "x\0").tensor("t\0", [8], F32),
     has={"version": 1, "key": "general.name", "tensor": "t"})
good("fine-v2", "version 2", Gguf(version=2).kv("general.name", STRING, "x").tensor("t", [8], F32),
     has={"version": 2})
good("fine-big-endian", "big-endian, version 3",
     Gguf(big=True).kv("general.name", STRING, "x").array("n", U16, [1, 2, 3])
     .tensor("t", [8], F32).tensor("q", [32], Q4_0), has={"big-endian": 1, "version": 3})
good("fine-name-64", "a name of 64 bytes, what the specification allows and ggml does not",
     weights().tensor("n" * 64, [8], F32))
good("fine-key-65535", "the longest key", Gguf().kv("k" * 65535, U8, 1))
good("fine-trailing-ones", "shapes that end in 1", weights().tensor("a", [8, 1, 1], F32),
     has={"dims": 3})
good("fine-empty-arrays", "arrays without elements, of every type",
     Gguf().array("a.u", U8, []).array("a.s", STRING, []).array("a.a", ARRAY, []))
good("fine-nested", "nested arrays, 8 levels", nested(8, b"\1\2\3"))
good("fine-nested-mixed", "an array of arrays of strings and numbers",
     Gguf().key("a", ARRAY).num("I", ARRAY).num("Q", 3)
     .num("I", STRING).num("Q", 2).string("x").string("yz")
     .num("I", U16).num("Q", 1).num("H", 7).num("I", F64V).num("Q", 0))
good("fine-gap", "a gap of zeros between tensors",
     weights().tensor("a", [8], F32).tensor("b", [8], F32, offset=4096))
good("fine-out-of-order", "offsets in another order than the records",
     weights().tensor("a", [8], F32, offset=64).tensor("b", [8], F32, offset=0)
     .tensor("c", [8], F32, offset=32))
good("fine-last-unpadded", "the last tensor ends with the file",
     weights().tensor("a", [3], F32).ends(pad_last=False))
for unit in (8, 16, 24, 64, 4096, 65536):
    good("fine-alignment-%d" % unit, "a multiple of 8",
         Gguf().kv("general.alignment", U32, unit).tensor("a", [3], F32).tensor("b", [8], F32),
         has={"alignment": unit})
good("fine-alignment-2-31-no-tensors", "llama.cpp#24997: nothing lies in the data section",
     Gguf().kv("general.alignment", U32, 1 << 31), has={"alignment": 1 << 31})
good("fine-every-value-type", "all types of values",
     Gguf().kv("v.u8", U8, 255).kv("v.i8", I8, -128).kv("v.u16", U16, 65535)
     .kv("v.i16", I16, -32768).kv("v.u32", U32, 1 << 31).kv("v.i32", I32, -1)
     .kv("v.f32", F32V, 0.5).kv("v.bool", BOOL, 1).kv("v.string", STRING, "\u00e9")
     .kv("v.u64", U64, (1 << 64) - 1).kv("v.i64", I64, -1 << 63).kv("v.f64", F64V, 1e300)
     .array("v.bools", BOOL, [0, 1, 0]))
good("fine-template", "CVE-2024-34359: a chat template is text; nothing here runs it",
     Gguf().kv("tokenizer.chat_template", STRING, "{{ ''.__class__.__mro__[1].__subclasses__() }}"))
good("fine-architecture-quote", "an architecture that would escape from a script is only a text",
     Gguf().kv("general.architecture", STRING, "llama\" & calc.exe & rem \""))
good("fine-block-count", "llama.cpp#25821: block_count far over what a program has room for",
     weights().kv("llama.block_count", U32, 0xFFFFFFFF))
good("fine-no-architecture", "CVE-2025-0312: what a program asks for without looking is not there",
     Gguf().tensor("token_embd.weight", [8], F32))
good("fine-block-count-0", "CVE-2025-0317: a block_count of 0 that somebody divides by",
     weights().kv("llama.block_count", U32, 0))
good("fine-scores-u8", "llama.cpp#26690: scores as u8, read by others as f32",
     Gguf().array("tokenizer.ggml.tokens", STRING, ["a", "b"])
     .array("tokenizer.ggml.scores", U8, [1, 2]).array("tokenizer.ggml.token_type", U8, [1, 1]))
good("fine-token-minus-one", "llama.cpp#25969: a byte token of value -1",
     Gguf().array("tokenizer.ggml.tokens", STRING, ["<0x-1>", "<0xFFF>", ""]))
good("fine-all-types", "a tensor of each type used here",
     weights().tensor("f16", [4], F16).tensor("q4_0", [32], Q4_0).tensor("q4_1", [32], Q4_1)
     .tensor("q5_0", [32], Q5_0).tensor("q5_1", [32], Q5_1).tensor("q8_0", [32], Q8_0)
     .tensor("q8_1", [32], Q8_1).tensor("q4_k", [256], Q4_K).tensor("i8", [3], TI8)
     .tensor("i16", [3], TI16).tensor("i32", [3], TI32).tensor("i64", [3], TI64)
     .tensor("f64", [3], TF64).tensor("bf16", [3], BF16).tensor("mxfp4", [32], MXFP4))


def many_tensors(n):
    g = Gguf()
    for i in range(n):
        g.tensor("t%d" % i, [1], TI8, offset=32 * i, data=b"")
    g.data.append((32 * (n - 1), b"\0"))
    return g


def many_keys(n):
    g = Gguf()
    for i in range(n):
        g.kv("k%d" % i, U8, 1)
    return g


# A reader that compares each name with all others takes half a minute for these.
good("fine-100k-tensors", "100,000 tensors", many_tensors(100000), has={"tensors": 100000})
good("fine-100k-keys", "100,000 keys", many_keys(100000), has={"keys": 100000})

# ---- warnings -------------------------------------------------------------------------------------


def odd_key(name, note, key):
    good(name, note, Gguf().kv(key, U8, 1), ("warning", "gguf.key-characters", "key 0", "key 0"))


def architecture_keys(first, *keys):
    g = Gguf()
    for key in (first, *keys):
        g.kv(key, STRING, "command-r") if key == "general.architecture" else g.kv(key, U8, 1)
    return g


good("fine-key-hyphen", "keys of an architecture with a hyphen", architecture_keys("general.architecture", "command-r.block_count"))
good("fine-key-hyphen-first", "the same before the architecture", architecture_keys("command-r.block_count", "general.architecture"))
good("key-hyphen-of-another", "a hyphen in the name of another architecture",
     architecture_keys("general.architecture", "falcon-h1.block_count"), ("warning", "gguf.key-characters", "key 1", "key 1"))
odd_key("key-hyphen", "a key with a hyphen that names no architecture", "general.my-name")
odd_key("key-spaces", "a key with spaces", "general name")
odd_key("key-capital", "a key with capitals", "general.Name")
odd_key("key-control", "a key with a control character", "general.\x01name")
odd_key("key-empty-segment", "two dots in a row", "general..name")
odd_key("key-osc-8", "llama.cpp#28969: a key that is a terminal hyperlink",
        "\x1b]8;;http://example.com\x07click\x1b]8;;\x07")
odd_key("key-osc-52", "llama.cpp#28969: a key that fills the clipboard", "\x1b]52;c;cm0gLXJm\x07")
good("tensor-name-control", "a tensor name that clears the screen",
     weights().tensor("\x1b[2J", [8], F32),
     ("warning", "gguf.name-characters", "tensor 0", "tensor 0"))
good("tensor-name-nul", "a NUL in a tensor name", weights().tensor("a\0b", [8], F32),
     ("warning", "gguf.name-characters", "tensor 0", "tensor 0"))
for length in (65, 65535):
    good("tensor-name-%d" % length, "longer than the specification's 64 bytes",
         weights().tensor("n" * length, [8], F32),
         ("warning", "gguf.name-length", "tensor 0", "tensor 0"))
for rank in (5, 8):
    good("dims-%d" % rank, "more than 4 dimensions",
         weights().tensor("a", [2] + [1] * (rank - 1), F32),
         ("warning", "gguf.dims-count", "tensor 0 n_dims", "tensor 0"), has={"dims": rank})
good("dims-0", "a scalar without dimensions", weights().tensor("a", [], F32),
     ("warning", "gguf.dims-count", "tensor 0 n_dims", "tensor 0"))
good("dim-zero", "whisper.cpp#3864, llama.cpp#24263: a dimension of 0 that others divide by",
     weights().tensor("a", [0, 4], F32, data=b"").tensor("b", [8], F32),
     ("warning", "gguf.dim-zero", "tensor 0 dim 0", "tensor 0"))
for unit in (1, 2, 4):
    good("alignment-%d" % unit, "less than 8, yet a power of two",
         Gguf().kv("general.alignment", U32, unit).tensor("a", [3], F32).tensor("b", [3], TI8),
         ("warning", "gguf.alignment", "key 0 value", "key 0"), has={"alignment": unit})
good("padding-before-data", "bytes that are not 0 between directory and data",
     weights().tensor("a", [8], F32).ends(padding=b"\xaa"),
     deep=(("warning", "data.padding", "none"),))
good("padding-between", "bytes that are not 0 between two tensors",
     weights().tensor("a", [3], F32, data=bytes(12) + b"garbage").tensor("b", [8], F32, offset=32),
     deep=(("warning", "data.padding", "none"),))
good("tail", "bytes after the end", plain().ends(tail=b"PK\x03\x04 and more"),
     ("warning", "gguf.tail", "end", "none"))
good("magic-fugg", "llama.cpp PR 20019: the big-endian magic that was not adopted",
     Gguf(big=True, magic=b"FUGG").tensor("a", [8], F32),
     ("warning", "gguf.magic-fugg", "magic", "none"), has={"big-endian": 1})
good("type-unknown", "a type that does not exist yet takes the gap to the next offset",
     weights().tensor("a", [32], 97, data=b"\1" * 64).tensor("b", [8], F32, offset=64),
     ("warning", "gguf.type-unknown", "tensor 0 type", "tensor 0"))
good("type-negative", "llama.cpp PR 19856: a type of -1 indexes before a table",
     weights().tensor("a", [32], 0xFFFFFFFF, data=b"\1" * 32),
     ("warning", "gguf.type-unknown", "tensor 0 type", "tensor 0"))

# ---- errors that do not stop the opening ----------------------------------------------------------

for kind in (4, 5, 31, 32, 33, 36, 37, 38):
    good("type-removed-%d" % kind, "a type that ggml has taken out of files",
         weights().tensor("a", [32], kind, data=b"\1" * 32),
         ("error", "gguf.type-removed", "tensor 0 type", "tensor 0"))
good("bool-7", "a bool that is neither 0 nor 1", Gguf().kv("a.b", BOOL, 7),
     ("error", "gguf.bool", "key 0 value", "key 0"))
good("bool-in-array", "the third bool of an array is 2", Gguf().array("a.b", BOOL, [0, 1, 2]),
     ("error", "gguf.bool", "key 0 element 2", "key 0"))
good("utf8-value", "a string value that is not UTF-8", Gguf().kv("a.b", STRING, b"ab\xff"),
     ("error", "gguf.utf8", "key 0 value", "key 0"))
good("utf8-surrogate", "a surrogate in UTF-8", Gguf().kv("a.b", STRING, b"\xed\xa0\x80"),
     ("error", "gguf.utf8", "key 0 value", "key 0"))
good("utf8-overlong", "a slash in two bytes", Gguf().kv("a.b", STRING, b"\xc0\xaf"),
     ("error", "gguf.utf8", "key 0 value", "key 0"))
good("utf8-in-array", "one string of an array is not UTF-8",
     Gguf().array("a.b", STRING, ["x", b"\x80", "y"]),
     ("error", "gguf.utf8", "key 0 element 1", "key 0"))
good("utf8-into-length", "strings that are not UTF-8, but would be with the length between them",
     Gguf().array("a.b", STRING, [b"\xc3", b"\xc3" + b"x" * 168]),
     ("error", "gguf.utf8", "key 0 element 0", "key 0"))
good("utf8-out-of-length", "a string that begins with the rest of a character",
     Gguf().array("a.b", STRING, ["\u00e9".encode(), b"\xa9"]),
     ("error", "gguf.utf8", "key 0 element 1", "key 0"))
good("utf8-strings", "characters of two, three and four bytes in an array",
     Gguf().array("a.b", STRING, ["\u0120the".encode(), "\u6570\u636e".encode(), "\U0001f600".encode()]))
good("utf8-long-strings", "tokens of 128 bytes and more between others",
     Gguf().array("a.b", STRING, ["\u0120the".encode(), "\u0120".encode() * 64, "\u6570".encode(),
                                  "\u0120".encode() * 3000, "\u6570".encode()]))
good("utf8-behind-long-string", "the first of two bad strings comes after one of 256 bytes",
     Gguf(big=True).array("a.b", STRING, ["\u0120the".encode(), "\u0120".encode() * 128, "x",
                                          b"\xe6\x95", b"\xc4"]),
     ("error", "gguf.utf8", "key 0 element 3", "key 0"))
good("utf8-long-string", "a string of 300 bytes ends inside a character",
     Gguf().array("a.b", STRING, ["\u0120the".encode(), b"x" * 299 + b"\xc4", "y"]),
     ("error", "gguf.utf8", "key 0 element 1", "key 0"))
good("utf8-key", "a key that is not UTF-8", Gguf().kv(b"a.\xff", U8, 1),
     ("error", "gguf.utf8", "key 0", "key 0"))
good("utf8-tensor-name", "a tensor name that is not UTF-8", weights().tensor(b"a\xfe", [8], F32),
     ("error", "gguf.utf8", "tensor 0", "tensor 0"))
for unit in (3, 5, 12, 13, 100):
    good("alignment-%d" % unit, "neither 1, 2, 4 nor a multiple of 8",
         Gguf().kv("general.alignment", U32, unit).tensor("a", [3], F32).tensor("b", [8], F32),
         ("error", "gguf.alignment", "key 0 value", "key 0"), has={"alignment": unit})
good("data-cut", "a download cut short: the last tensor ends behind the file",
     plain().ends(pad_last=False, cut=1),
     ("error", "gguf.truncated-data", "file end", "none"),
     ("error", "gguf.truncated-data", "tensor 1 offset", "tensor 1"),
     has={"truncated": 1}, reads=((0, "OK"), (1, "TRUNCATED")))
good("data-missing", "the file ends with its directory",
     plain().ends(end_in_directory=True),
     ("error", "gguf.truncated-data", "file end", "none"),
     ("error", "gguf.truncated-data", "tensor 0 offset", "tensor 0"),
     ("error", "gguf.truncated-data", "tensor 1 offset", "tensor 1"),
     has={"truncated": 1}, reads=((0, "TRUNCATED"), (1, "TRUNCATED")))
good("data-past-end", "CVE-2026-7482: offset + size far behind the end, read while quantizing",
     weights().tensor("a", [1 << 30], F32, data=b"").tensor("b", [8], F32, offset=1 << 40, data=b""),
     ("error", "gguf.truncated-data", "file end", "none"),
     ("error", "gguf.truncated-data", "tensor 0 offset", "tensor 0"),
     ("error", "gguf.truncated-data", "tensor 1 offset", "tensor 1"),
     has={"truncated": 1}, reads=((0, "TRUNCATED"), (1, "TRUNCATED")))
for power in (30, 31):
    good("alignment-2-%d" % power, "ggml#1516: the data section begins behind the file",
         Gguf().kv("general.alignment", U32, 1 << power).tensor("a", [8], F32),
         ("error", "gguf.truncated-data", "file end", "none"),
         ("error", "gguf.truncated-data", "tensor 0 offset", "tensor 0"),
         has={"truncated": 1}, reads=((0, "TRUNCATED"),))

# ---- what only reading the data shows (verify --deep) ---------------------------------------------

NAN, INF = struct.pack("<f", float("nan")), struct.pack("<f", float("inf"))
good("deep-nan", "a NaN in F32", weights().tensor("a", [4], F32, data=bytes(8) + NAN + bytes(4)),
     deep=(("error", "data.nan", "tensor 0"),))
good("deep-inf", "an Inf in F32", weights().tensor("a", [4], F32, data=INF + bytes(12)),
     deep=(("error", "data.inf", "tensor 0"),))
good("deep-f16-inf", "an Inf in F16", weights().tensor("a", [2], F16, data=b"\0\0\0\x7c"),
     deep=(("error", "data.inf", "tensor 0"),))
good("deep-scale-nan", "Q8_0 whose scale is a NaN",
     weights().tensor("a", [32], Q8_0, data=b"\x01\x7e" + bytes(32)),
     deep=(("error", "data.scale", "tensor 0"),))
good("deep-scale-inf", "Q4_0 whose scale is Inf, what overflow while quantizing leaves",
     weights().tensor("a", [32], Q4_0, data=b"\0\x7c" + bytes(16)),
     deep=(("error", "data.scale", "tensor 0"),))
good("deep-min-inf", "Q4_1 whose minimum is Inf",
     weights().tensor("a", [32], Q4_1, data=b"\0\0\0\xfc" + bytes(16)),
     deep=(("error", "data.scale", "tensor 0"),))
good("deep-e8m0", "MXFP4 whose exponent is 255, which is no number",
     weights().tensor("a", [32], MXFP4, data=b"\xff" + bytes(16)),
     deep=(("error", "data.scale", "tensor 0"),))
good("deep-big-endian-nan", "a NaN in a big-endian file",
     Gguf(big=True).tensor("a", [2], F32, data=struct.pack(">ff", 1.0, float("nan"))),
     deep=(("error", "data.nan", "tensor 0"),))
