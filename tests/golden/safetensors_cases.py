# SPDX-License-Identifier: MIT
"""safetensors files: each rule of the format broken once, and what the format allows.

The format: u64 N, N bytes of JSON that begin with "{" and may end in spaces, then the data, which
the tensors tile without hole, overlap or rest. The marks of offsets are in the text itself: a case
says which piece of its JSON is at fault, and the position is looked up."""
import struct

from casebook import bad, good


class St:
    """A file from its header text; at[PIECE] is where PIECE first stands in the file (PIECE may
    begin with N# for the N-th occurrence, from 0)."""

    def __init__(self, header, data=b"", length=None, tail=b""):
        self.header = header if isinstance(header, bytes) else header.encode()
        self.length = len(self.header) if length is None else length
        self.content = struct.pack("<Q", self.length) + self.header + data + tail
        self.at = Pieces(self.content)

    def file(self):
        return self.content


class Pieces(dict):
    def __init__(self, content):
        super().__init__()
        self.content = content

    def __missing__(self, piece):
        n, text = 0, piece
        if piece[1:2] == "#":
            n, text = int(piece[0]), piece[2:]
        at = -1
        for _ in range(n + 1):
            at = self.content.index(text.encode(), at + 1)
        return at


def t(name, dtype, shape, begin, end):
    return '"%s":{"dtype":"%s","shape":%s,"data_offsets":[%d,%d]}' % (
        name, dtype, str(list(shape)).replace(" ", ""), begin, end)


def obj(*members):
    return "{" + ",".join(members) + "}"


A = t("a", "F32", [2], 0, 8)
B = t("b", "F32", [2], 8, 16)


def no(name, note, source, status, at, what, item="none", **more):
    bad("st-" + name, note, source, status, at, what, item, suffix=".safetensors", **more)


def yes(name, note, source, *findings, **more):
    good("st-" + name, note, source, *findings, suffix=".safetensors", **more)


# ---- the eight bytes and the brace ----------------------------------------------------------------

no("length-cut", "seven bytes, not even a length", b"\x08\0\0\0\0\0\0", "CORRUPT", 0, "format")
no("length-over-limit", "a header one byte over 100,000,000",
   St(obj(A), bytes(8), length=100000001), "LIMIT", 0, "header")
no("length-2-64", "openasr#73: a header length of 2^64-1 that sizes an allocation",
   St(obj(A), bytes(8), length=(1 << 64) - 1), "LIMIT", 0, "header")
no("length-past-end", "attack 1 of the upstream project: a header longer than the file",
   St(obj(A), bytes(8), length=5000), "TRUNCATED", 0, "header")
no("length-cuts-json", "the header ends inside its last object",
   St(obj(A), bytes(8), length=len(obj(A)) - 2), "CORRUPT", "]}}+1", "ends too early")
no("length-two", "a length of 2 that leaves only the brace and a quote",
   St(obj(A), bytes(8), length=2), "CORRUPT", 10, "ends too early")
no("leading-space", "a space before the brace, which the reference reader lets pass",
   St(" " + obj(A), bytes(8)), "CORRUPT", 8, "{")
no("leading-bom", "a byte order mark before the brace",
   St(b"\xef\xbb\xbf" + obj(A).encode(), bytes(8)), "CORRUPT", 0, "format")
no("leading-bracket", "a list instead of an object", St("[" + obj(A) + "]", bytes(8)),
   "CORRUPT", 8, "{")

# ---- JSON -----------------------------------------------------------------------------------------


def json(name, note, header, at, what):
    no("json-" + name, note, St(header, bytes(8)), "CORRUPT", at, what)


json("trailing-comma", "a comma behind the last member", "{" + A + ",}", ",}+1", "key expected")
json("no-colon", "a key without a colon", '{"a"{"dtype":"F32"}}', '{"dtype"', "colon")
json("no-comma", "two members without a comma", "{" + A + " " + B + "}", '"b"', "comma")
json("single-quotes", "single quotes: not JSON from the second byte on", "{'a':1}", 0, "format")
json("comment", "a comment: not JSON from the second byte on", "{/* x */" + A + "}", 0, "format")
json("comment-inside", "a comment further on", "{" + A + "/* x */}", "/*", "comma")
json("two-documents", "a second object behind the first", obj(A) + "{}", "{}", "follows")
json("trailing-nul", "NUL bytes as padding instead of spaces", obj(A) + "\0\0", 8 + len(obj(A)),
     "follows")
json("control-character", "a raw newline inside a string", '{"a\nb":' + A[4:] + "}", "\nb",
     "control character")
json("bad-escape", "an escape that JSON does not have", '{"a\\qb":' + A[4:] + "}", "\\q", "escape")
json("lone-surrogate", "half of a surrogate pair", '{"\\ud800":' + A[4:] + "}", "\\ud800",
     "surrogate")
json("bad-utf8", "a byte that is not UTF-8", b'{"\xff":' + A[4:].encode() + b"}", 10, "UTF-8")
json("nan", "NaN is no JSON number", obj(A.replace("[2]", "[NaN]")), "NaN", "value")
json("leading-zero", "a number with a leading zero", obj(A.replace("[2]", "[02]")), "02+1",
     "leading zero")
json("plus", "a number with a plus sign", obj(A.replace("[2]", "[+2]")), "+2]", "value")
json("unterminated", "the document ends in an open object", "{" + A, 8 + 1 + len(A),
     "ends too early")
no("json-depth", "a bomb of 100,000 brackets", St('{"a":' + "[" * 100000, b""),
   "LIMIT", 20, "nested")

# ---- duplicates -----------------------------------------------------------------------------------

no("duplicate-tensor", "safetensors#401: one name twice, which collapses silently elsewhere",
   St(obj(A, t("a", "F32", [2], 8, 16)), bytes(16)), "CORRUPT", '1#"a"', "duplicate", "tensor 1")
no("duplicate-tiling", "a duplicate whose survivors tile the data completely",
   St(obj(t("a", "F32", [2], 0, 8), t("a", "F32", [2], 0, 8)), bytes(8)),
   "CORRUPT", '1#"a"', "overlaps", "tensor 1")
no("duplicate-escaped", "one name in two spellings",
   St(obj(A, t("\\u0061", "F32", [2], 8, 16)), bytes(16)), "CORRUPT", '"\\u0061"', "duplicate",
   "tensor 1")
no("duplicate-metadata", "two __metadata__ objects",
   St(obj('"__metadata__":{"a":"b"}', '"__metadata__":{"c":"d"}', A), bytes(8)),
   "CORRUPT", '1#"__metadata__"', "given twice")
no("duplicate-metadata-key", "one key twice in __metadata__",
   St(obj('"__metadata__":{"x":"b","x":"d"}', A), bytes(8)), "CORRUPT", '1#"x"', "duplicate",
   "key 1")
no("duplicate-dtype", "two dtypes for one tensor",
   St('{"a":{"dtype":"F32","dtype":"F16","shape":[2],"data_offsets":[0,8]}}', bytes(8)),
   "CORRUPT", '1#"dtype"', "given twice", "tensor 0")
no("duplicate-shape", "two shapes for one tensor",
   St('{"a":{"dtype":"F32","shape":[2],"shape":[1],"data_offsets":[0,8]}}', bytes(8)),
   "CORRUPT", '1#"shape"', "given twice", "tensor 0")
no("duplicate-offsets", "two ranges for one tensor",
   St('{"a":{"dtype":"F32","shape":[2],"data_offsets":[0,4],"data_offsets":[0,8]}}', bytes(8)),
   "CORRUPT", '1#"data_offsets"', "given twice", "tensor 0")

# ---- metadata -------------------------------------------------------------------------------------


def metadata(name, note, value, at):
    no("metadata-" + name, note, St(obj('"__metadata__":' + value, A), bytes(8)),
       "CORRUPT", at, "metadata")


metadata("number", "a number as a value", '{"step":1000}', "1000")
metadata("null", "null as a value", '{"step":null}', "null")
metadata("bool", "true as a value", '{"step":true}', "true")
metadata("object", "an object as a value", '{"step":{"x":"y"}}', '{"x"')
metadata("list", "a list as a value", '{"step":["y"]}', '["y"')
metadata("string", "__metadata__ that is a string", '"text"', '"text"')
metadata("tensor", "a tensor called __metadata__",
         '{"dtype":"F32","shape":[2],"data_offsets":[0,8]}', "[2]")

# ---- tensor entries -------------------------------------------------------------------------------


def entry(name, note, body, at, what, status="CORRUPT"):
    no("entry-" + name, note, St('{"a":' + body + "}", bytes(8)), status, at, what, "tensor 0")


entry("string", "a tensor that is a string", '"F32"', '"F32"', "object")
entry("list", "a tensor that is a list", '["F32",[2],[0,8]]', '["F32"', "object")
entry("no-dtype", "no dtype", '{"shape":[2],"data_offsets":[0,8]}', '1#{"', "dtype")
entry("no-shape", "no shape", '{"dtype":"F32","data_offsets":[0,8]}', '1#{"', "shape")
entry("no-offsets", "no data_offsets", '{"dtype":"F32","shape":[2]}', '1#{"', "data_offsets")
entry("dtype-number", "a dtype that is a number", '{"dtype":11,"shape":[2],"data_offsets":[0,8]}',
      "11", "dtype")
entry("dtype-unknown", "imp#1603: an unknown dtype skips all checks elsewhere",
      '{"dtype":"F128","shape":[2],"data_offsets":[0,8]}', '"F128"', "dtype", "UNSUPPORTED")
entry("dtype-small-letters", "f32 is no dtype", '{"dtype":"f32","shape":[2],"data_offsets":[0,8]}',
      '"f32"', "dtype", "UNSUPPORTED")
entry("shape-number", "a shape that is a number", '{"dtype":"F32","shape":2,"data_offsets":[0,8]}',
      "2,", "shape")
for name, number in (("negative", "-2"), ("fraction", "2.0"), ("exponent", "2e0"),
                     ("string", '"2"'), ("null", "null"), ("2-64", "18446744073709551616")):
    entry("shape-" + name, "a dimension that is no whole number below 2^64",
          '{"dtype":"F32","shape":[%s],"data_offsets":[0,8]}' % number, number, "shape")
entry("shape-nested", "a shape inside a shape", '{"dtype":"F32","shape":[[2]],"data_offsets":[0,8]}',
      "[2]", "shape")
entry("dims-9", "more dimensions than the limit",
      '{"dtype":"F32","shape":[2,1,1,1,1,1,1,1,1],"data_offsets":[0,8]}', 53, "dimension",
      "LIMIT")
entry("shape-product", "elements beyond 64 bits",
      '{"dtype":"F32","shape":[4294967296,4294967296],"data_offsets":[0,8]}',
      "[4294967296", "overflow", "LIMIT")
entry("shape-bytes", "bytes beyond 64 bits",
      '{"dtype":"F64","shape":[4611686018427387904],"data_offsets":[0,8]}',
      "[4611686018427387904", "overflow", "LIMIT")
entry("shape-bits", "safetensors#749: bits beyond 64 bits, which a doubled F4 dimension hides",
      '{"dtype":"F4","shape":[18446744073709551615,2],"data_offsets":[0,8]}',
      "[18446744073709551615", "overflow", "LIMIT")
entry("offsets-one", "one offset", '{"dtype":"F32","shape":[2],"data_offsets":[8]}', "[8]",
      "data_offsets")
entry("offsets-three", "three offsets", '{"dtype":"F32","shape":[2],"data_offsets":[0,8,8]}',
      "8]}", "data_offsets")
entry("offsets-negative", "a negative begin", '{"dtype":"F32","shape":[2],"data_offsets":[-8,0]}',
      "-8", "data_offsets")
entry("offsets-fraction", "a fractional end", '{"dtype":"F32","shape":[2],"data_offsets":[0,8.0]}',
      "8.0", "data_offsets")
entry("offsets-object", "an object", '{"dtype":"F32","shape":[2],"data_offsets":{"0":8}}',
      '{"0"', "data_offsets")
entry("offsets-2-64", "an end of 2^64", '{"dtype":"F32","shape":[2],"data_offsets":'
      '[0,18446744073709551616]}', "18446744073709551616", "data_offsets")
entry("begin-after-end", "begin > end", '{"dtype":"F32","shape":[2],"data_offsets":[8,0]}',
      "[8,0]", "begin is after")
entry("size-too-small", "four bytes for two F32", '{"dtype":"F32","shape":[2],"data_offsets":[0,4]}',
      "[0,4]", "data_offsets")
entry("size-too-large", "mlx#3363: a shape of fewer bytes than its range",
      '{"dtype":"F32","shape":[1],"data_offsets":[0,8]}', "[0,8]", "data_offsets")
entry("size-megabytes", "mlx#3363: a shape of 4 MB with 8 bytes of data",
      '{"dtype":"F32","shape":[1024,1024],"data_offsets":[0,8]}', "[0,8]", "data_offsets")
entry("f4-odd", "three F4 elements fill no whole byte",
      '{"dtype":"F4","shape":[3],"data_offsets":[0,2]}', "[3]", "whole bytes")
entry("f6-odd", "three F6 elements fill no whole byte",
      '{"dtype":"F6_E2M3","shape":[3],"data_offsets":[0,3]}', "[3]", "whole bytes")
yes("name-empty", "a tensor without a name, as the package safetensors writes and reads it",
    St(obj(t("", "F32", [2], 0, 8)), bytes(8)))
no("name-65536", "a name over the limit", St(obj(t("n" * 65536, "F32", [2], 0, 8)), bytes(8)),
   "LIMIT", 9, "name", "tensor 0")

# ---- the data -------------------------------------------------------------------------------------

no("hole-front", "data that begins behind a hole", St(obj(t("a", "F32", [2], 8, 16)), bytes(16)),
   "CORRUPT", '"a"', "hole", "tensor 0")
no("hole-middle", "a hole between two tensors",
   St(obj(A, t("b", "F32", [2], 16, 24)), bytes(24)), "CORRUPT", '"b"', "hole", "tensor 1")
no("overlap", "lattice#752, h3.c#48: two tensors over the same bytes",
   St(obj(A, t("b", "F32", [2], 4, 12)), bytes(12)), "CORRUPT", '"b"', "overlap", "tensor 1")
no("overlap-same", "two names for the same bytes", St(obj(A, t("b", "F32", [2], 0, 8)), bytes(8)),
   "CORRUPT", '"b"', "overlap", "tensor 1")
no("overlap-empty", "an empty range inside another tensor, which the reference reader refuses",
   St(obj(A, t("b", "F32", [0], 4, 4)), bytes(8)), "CORRUPT", '"b"', "overlap", "tensor 1")
no("empty-behind-end", "an empty range behind the end of the data",
   St(obj(A, t("b", "F32", [0], 16, 16)), bytes(8)), "CORRUPT", '"b"', "hole", "tensor 1")
no("overlap-many", "attack 2 and 3 of the upstream project: 20,000 entries over the same bytes",
   St(obj(*(t("t%d" % i, "F32", [2], 0, 8) for i in range(20000))), bytes(8)),
   "CORRUPT", '"t1"', "overlap", "tensor 1")
no("tail", "bytes after the last tensor: what makes polyglot files",
   St(obj(A), bytes(8), tail=b"PK\x05\x06" + bytes(18)), "CORRUPT", 8 + len(obj(A)) + 8,
   "no tensor")
no("tail-empty-model", "data that no tensor is over", St("{}", bytes(8)), "CORRUPT", 10,
   "no tensor")


# ---- what opens with a finding --------------------------------------------------------------------

yes("data-cut", "a download cut short: the last tensor ends behind the file", St(obj(A, B), bytes(15)),
    ("error", "safetensors.truncated-data", "file end", "none"),
    ("error", "safetensors.truncated-data", '"b"', "tensor 1"), has={"truncated": 1},
    reads=((0, "OK"), (1, "TRUNCATED")))
yes("data-missing", "a header and nothing else", St(obj(A)),
    ("error", "safetensors.truncated-data", "file end", "none"),
    ("error", "safetensors.truncated-data", '"a"', "tensor 0"), has={"truncated": 1},
    reads=((0, "TRUNCATED"),))
yes("data-exabytes", "an end of 2^63 in a file of a few bytes",
    St(obj(t("a", "U8", [1 << 63], 0, 1 << 63)), bytes(8)),
    ("error", "safetensors.truncated-data", "file end", "none"),
    ("error", "safetensors.truncated-data", '"a"', "tensor 0"), has={"truncated": 1},
    reads=((0, "TRUNCATED"),))
yes("unknown-field", "a member that the format does not have",
    St('{"a":{"dtype":"F32","shape":[2],"data_offsets":[0,8],"stride":[1]}}', bytes(8)),
    ("warning", "safetensors.unknown-field", '"stride"', "tensor 0"))

# ---- allowed --------------------------------------------------------------------------------------

yes("fine-plain", "two tensors", St(obj(A, B), bytes(16)),
    has={"format": "safetensors", "tensors": 2, "keys": 0})
yes("fine-empty", "no tensors, no data", St("{}"), has={"tensors": 0})
yes("fine-only-metadata", "metadata alone", St('{"__metadata__":{"format":"pt"}}'),
    has={"tensors": 0, "keys": 1})
yes("fine-trailing-spaces", "a header filled with spaces", St(obj(A) + " " * 77, bytes(8)))
yes("fine-white-space", "white space between the tokens",
    St(obj(A).replace(":", " : ").replace(",", " ,\n\t"), bytes(8)))
yes("fine-out-of-order", "offsets in another order than the header's",
    St(obj(t("a", "F32", [2], 8, 16), t("b", "F32", [2], 0, 8)), bytes(16)), has={"tensors": 2})
yes("fine-metadata-last", "__metadata__ behind the tensors",
    St(obj(A, '"__metadata__":{"a":"\\u00e9\\ud83d\\ude00"}'), bytes(8)), has={"keys": 1})
yes("fine-members-in-any-order", "data_offsets first",
    St('{"a":{"data_offsets":[0,8],"shape":[2],"dtype":"F32"}}', bytes(8)))
yes("fine-scalar", "an empty shape is a scalar", St(obj(t("a", "F32", [], 0, 4)), bytes(4)))
yes("fine-no-elements", "a dimension of 0, an empty range",
    St(obj(t("a", "F32", [0, 4], 0, 0), t("b", "F32", [2], 0, 8), t("c", "U8", [0], 8, 8)),
       bytes(8)), has={"tensors": 3})
yes("fine-unaligned", "an F32 at an odd place: the format does not forbid it",
    St(obj(t("a", "U8", [1], 0, 1), t("b", "F32", [1], 1, 5)), bytes(5)))
yes("fine-escaped-name", "a name with escapes", St(obj(t("a\\\"\\/\\n", "F32", [2], 0, 8)), bytes(8)))
yes("fine-f4-rows", "rows of F4 that share a byte: only the whole tensor must fill bytes",
    St(obj(t("a", "F4", [2, 3], 0, 3)), bytes(3)))
yes("fine-100k", "100,000 tensors", St(obj(*(t("t%d" % i, "U8", [1], i, i + 1)
                                              for i in range(100000))), bytes(100000)),
    has={"tensors": 100000})
SIZES = (("BOOL", 8), ("F4", 4), ("F6_E2M3", 6), ("F6_E3M2", 6), ("U8", 8), ("I8", 8),
         ("F8_E5M2", 8), ("F8_E4M3", 8), ("F8_E8M0", 8), ("F8_E4M3FNUZ", 8), ("F8_E5M2FNUZ", 8),
         ("I16", 16), ("U16", 16), ("F16", 16), ("BF16", 16), ("I32", 32), ("U32", 32),
         ("F32", 32), ("C64", 64), ("F64", 64), ("I64", 64), ("U64", 64))
yes("fine-all-dtypes", "every dtype, four elements each",
    St(obj(*(t(name, name, [4], sum(b for _, b in SIZES[:i]) // 2,
               sum(b for _, b in SIZES[:i + 1]) // 2) for i, (name, _) in enumerate(SIZES))),
       bytes(sum(b for _, b in SIZES) // 2)), has={"tensors": len(SIZES)})
