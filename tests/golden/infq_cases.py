# SPDX-License-Identifier: MIT
"""INFQ packages: each rule of the manifest broken once, and what the format allows."""
import hashlib
import json
import struct

from casebook import bad, good
from directory_cases import Text

MANIFEST = "manifest.json"
FIELDS = {"name": '"a"', "dtype": '"int8_rowwise"', "rows": "2", "cols": "3", "block": "64",
          "scale_dtype": '"fp16"', "layout": '"rowmajor_blocked"', "data_file": '"w.bin"',
          "offset_data": "0", "offset_scales": "6"}
WEIGHTS = bytes([1, 2, 3, 4, 5, 6, 0, 0x3c, 0, 0x3c])


def entry(**changes):
    """An object from texts of values; None leaves a field out."""
    fields = {**FIELDS, **changes}
    return "{%s}" % ",".join('"%s":%s' % f for f in fields.items() if f[1] is not None)


def manifest(*entries, version="1", endianness='"LE"', tensors=None, **more):
    fields = {"version": version, "endianness": endianness,
              "tensors": tensors or "[%s]" % ",".join(entries or (entry(),)), **more}
    return Text("{%s}" % ",".join('"%s":%s' % f for f in fields.items() if f[1] is not None))


def package(text, weights):
    return {MANIFEST: text, "w.bin": weights}


def no(name, note, text, status, at, what, item="none", weights=WEIGHTS, file=MANIFEST, **more):
    bad("infq-" + name, note, text, status, at, what, item, file=file,
        files={**package(text, weights), **more.pop("files", {})}, **more)


def yes(name, note, text, *findings, weights=WEIGHTS, **more):
    good("infq-" + name, note, text, *findings,
         files={**package(text, weights), **more.pop("files", {})}, **more)


def wrong(field, name, value, note, status="CORRUPT", what=None, **more):
    """One field of the entry that is not as it must be; the fault is at the value."""
    text = manifest(entry(**{field: value}), **more)
    no("%s-%s" % (field.replace("_", "-"), name), note, text, status, text.at['"%s":' % field] +
       len(field) + 3, what or "tensors[0].%s: " % field, "tensor 0")


# ---- the manifest
yes("plain", "one tensor", manifest(), has={"format": "infq", "tensors": 1, "version": 1})
yes("unknown-fields", "fields that nobody knows", manifest(entry(x="[1,{}]"), perf='{"cores":8}'))
yes("no-tensors", "no tensors", manifest(tensors="[]"), has={"tensors": 0})
yes("adapters-empty", "an empty list of adapters", manifest(adapters="[]"))
yes("int4", "two codes a byte, a row of three", manifest(entry(dtype='"int4_rowwise"',
                                                               offset_scales="4")),
    weights=WEIGHTS[2:])
yes("shape", "the shape it had", manifest(entry(shape="[2,1,3]")))
yes("scales-file", "scales in a file of their own",
    manifest(entry(scales_file='"s.bin"', offset_scales="0")), files={"s.bin": bytes(4)})
yes("nan-scale", "a scale that is no number", manifest(), weights=WEIGHTS[:8] + b"\1\x7e",
    deep=(("error", "data.scale", "tensor 0"),))
yes("link-inside", "a link that stays inside", manifest(entry(data_file='"l.bin"')),
    links={"l.bin": "w.bin"})
yes("sub-folder", "payloads in folders of the package, one of them by a link that stays inside",
    manifest(entry(data_file='"sub/w.bin"', scales_file='"l/s.bin"', offset_scales="0")), has={"files": 3},
    files={"sub/w.bin": WEIGHTS, "sub/deep/s.bin": WEIGHTS[6:]}, links={"l": "sub/deep"})
text = manifest()
no("cut", "a manifest cut short", Text(text.content.decode()[:-1]), "CORRUPT",
   len(text.content) - 1, "ends too early")
text = Text("[%s]" % manifest().content.decode())
no("list", "a manifest that is a list", text, "CORRUPT", 0, "object")
text = manifest(version="1,\"version\":1")
no("version-twice", "a field given twice", text, "CORRUPT", '1#"version"', "given twice")
for name, value, status in (("2", "2", "UNSUPPORTED"), ("text", '"1"', "UNSUPPORTED"),
                            ("fraction", "1.0", "UNSUPPORTED")):
    text = manifest(version=value)
    no("version-" + name, "another version", text, status, value, "version")
no("version-missing", "no version", manifest(version=None), "CORRUPT", 0, "version: missing")
text = manifest(endianness='"BE"')
no("big-endian", "another byte order", text, "UNSUPPORTED", '"BE"', "endianness")
no("endianness-missing", "no byte order", manifest(endianness=None), "CORRUPT", 0,
   "endianness: missing")
text = Text('{"version":1,"endianness":"LE"}')
no("tensors-missing", "no tensors", text, "CORRUPT", 0, "tensors: missing")
text = manifest(tensors="{}")
no("tensors-object", "tensors that are an object", text, "CORRUPT", "{}", "tensors: expected")
text = manifest(tensors="[7]")
no("tensor-number", "an entry that is a number", text, "CORRUPT", "7]", "object", "tensor 0")
text = manifest(adapters="{}")
no("adapters-object", "adapters that are an object", text, "CORRUPT", "{}", "adapters")
# ---- entries
for field in FIELDS:
    text = manifest(entry(**{field: None}))
    no(field.replace("_", "-") + "-missing", "a field that must be there", text, "CORRUPT",
       text.at['[{'] + 1, "tensors[0].%s: missing" % field, "tensor 0")
for field in ("rows", "cols", "offset_data", "offset_scales"):
    for name, value in (("negative", "-1"), ("fraction", "1.5"), ("exponent", "1e1"),
                        ("beyond", "9007199254740993"), ("text", '"2"'), ("null", "null")):
        wrong(field, name, value, "no whole number up to 2^53")
wrong("dtype", "unknown", '"int2_rowwise"', "another type", "UNSUPPORTED")
wrong("block", "32", "32", "another block")
wrong("scale_dtype", "fp32", '"fp32"', "scales of another type")
wrong("layout", "other", '"colmajor"', "another layout")
wrong("name", "number", "7", "a name that is no string")
wrong("name", "empty", '""', "a name without letters")
wrong("outliers", "number", "1", "outliers that are no object")
wrong("sha256", "short", '"ab"', "a digest of two digits")
wrong("sha256", "letters", '"%s"' % ("g" * 64), "a digest that is none")
for name, value in (("absolute", '"/etc/passwd"'), ("parent", '"../w.bin"'), ("inside", '"a/../w.bin"'),
                    ("parent-behind", '"sub/../../w.bin"'), ("dots", '".."'), ("folder-itself", '"./w.bin"'),
                    ("slash-behind", '"w.bin/"'), ("slashes", '"sub//w.bin"'), ("empty", '""'), ("nul", '"w\\u0000.bin"'), ("number", "1")):
    wrong("data_file", name, value, "a file that is not in the directory")
wrong("scales_file", "parent", '"../w.bin"', "a file that is not in the directory")
for name, value in (("short", "[2]"), ("other", "[2,4]"), ("negative", "[-2,3]"), ("text", '"2,3"'),
                    ("many", "[1,1,1,1,1,1,1,2,3]")):
    wrong("shape", name, value, "a shape that is not that of rows and columns")
wrong("offset_data", "behind", "5", "codes beyond the end", "TRUNCATED", "beyond the end")
wrong("offset_scales", "behind", "7", "scales beyond the end", "TRUNCATED", "beyond the end")
wrong("offset_scales", "far", "9007199254740992", "scales far beyond the end", "TRUNCATED",
      "beyond the end")
text = manifest(entry(offset_scales="5"))
no("overlap", "scales among the codes", text, "CORRUPT", text.at['"offset_scales":'] + 16, "overlaps", "tensor 0")
text = manifest(entry(), entry(name='"b"'))
no("same-place", "two tensors at one place", text, "CORRUPT",
   text.at['1#"offset_data":'] + 14, "tensors[1].offset_data: overlaps", "tensor 1")
text = manifest(entry(), entry(rows="0"))
no("name-twice", "two tensors of one name", text, "CORRUPT", text.at["},{"] + 2, "duplicate",
   "tensor 1")
text = manifest(entry(rows=str(1 << 53), cols=str(1 << 53)))
no("product", "more elements than can be counted", text, "LIMIT", text.at["[{"] + 1, "overflow",
   "tensor 0")
text = manifest(entry(rows='2,"rows":2'))
no("field-twice", "a field given twice", text, "CORRUPT", '1#"rows"', "given twice", "tensor 0")
no("file-missing", "a file that is not there", manifest(entry(data_file='"x.bin"')), "IO", None, "",
   "tensor 0", file="x.bin")
text = manifest(entry(data_file='"l.bin"'))
no("link-leaves", "a link that leaves the directory", text, "CORRUPT", '"l.bin"', "data_file",
   "tensor 0", links={"l.bin": "../infq-plain/w.bin"})

text = manifest(entry(data_file='"l/w.bin"'))
no("folder-leaves", "a folder that is a link and leaves the directory", text, "CORRUPT", '"l/w.bin"', "data_file",
   "tensor 0", links={"l": "../infq-plain"})
text = manifest(*(entry(name='"%s"' % n, rows="0") for n in "abc"), entry(name='"d"', offset_scales="7"))
no("fourth-entry", "the fault of an entry is told by its number", text, "TRUNCATED",
   text.at['3#"offset_scales":'] + 16, "tensors[3].offset_scales: beyond", "tensor 3")

# ---- adapters
FACTOR_A = {"dtype": '"int8_rowwise"', "rows": "2", "cols": "1", "block": "64", "scale_dtype": '"fp16"',
            "layout": '"rowmajor_blocked"', "data_file": '"f.bin"', "offset_data": "0", "offset_scales": "2"}
FACTOR_B = {**FACTOR_A, "rows": "1", "cols": "3", "offset_data": "6", "offset_scales": "9"}
FACTORS = bytes([1, 2, 0, 0x3c, 0, 0x3c, 3, 4, 5, 0, 0x3c])


def text_of(fields):
    return "{%s}" % ",".join('"%s":%s' % f for f in fields.items() if f[1] is not None)


def adapter(a=None, b=None, **changes):
    fields = {"name": '"x"', "rank": "1", "A": text_of({**FACTOR_A, **(a or {})}),
              "B": text_of({**FACTOR_B, **(b or {})}), **changes}
    return text_of(fields)


def adapters(*entries):
    return manifest(adapters="[%s]" % ",".join(entries or (adapter(),)))


def no_adapter(name, note, text, status, at, what, item="adapter 0"):
    no("adapter-" + name, note, text, status, at, what, item, files={"f.bin": FACTORS})


def adapter_field(field, name, value, status="CORRUPT", what=None, part=None):
    changes = {part.lower(): {field: value}} if part else {field: value}
    text = adapters(adapter(**changes))
    begin = text.content.decode().rindex('"%s":%s' % (field, value)) + len(field) + 3
    path = "adapters[0].%s%s: " % (part + "." if part else "", field)
    no_adapter("%s-%s" % (((part or "") + field).lower().replace("_", "-"), name), "a field that is not as it must be",
               text, status, begin, what or path)


for name, text in (("plain", adapters()), ("scaled", adapters(adapter(scale="-2.5e-1", x='{"y":1}'))),
                   ("int4", adapters(adapter(a={"dtype": '"int4_rowwise"'})))):
    yes("adapter-" + name, "an adapter", text, files={"f.bin": FACTORS},
        has={"tensors": 1, "adapters": 1})
yes("adapter-nan-scale", "a factor's scale that is no number", adapters(), files={"f.bin": FACTORS[:4] + b"\1\x7e" + FACTORS[6:]},
    deep=(("error", "data.scale", "adapter 0"),))
A_DIGEST = hashlib.sha256(FACTORS[:6]).hexdigest()
B_DIGEST = hashlib.sha256(FACTORS[6:]).hexdigest()
yes("adapter-sha256", "the digests of factors",
    adapters(adapter(a={"sha256": '"%s"' % A_DIGEST}, b={"sha256": '"%s"' % B_DIGEST})), files={"f.bin": FACTORS})
yes("adapter-sha256-wrong", "the digest of the other factor, in a second adapter",
    adapters(adapter(), adapter(name='"y"', a={"data_file": '"g.bin"'},
                                b={"data_file": '"g.bin"', "sha256": '"%s"' % A_DIGEST})),
    files={"f.bin": FACTORS, "g.bin": FACTORS}, deep=(("error", "data.checksum", "adapter 1"),))
for field in ("name", "rank", "A", "B"):
    text = adapters(adapter(**{field: None}))
    no_adapter(field.lower() + "-missing", "a field that must be there", text, "CORRUPT",
               text.content.decode().index('"adapters":[') + 12, "adapters[0].%s: missing" % field)
for field in FACTOR_A:
    text = adapters(adapter(b={field: None}))
    no_adapter("b-%s-missing" % field.replace("_", "-"), "a field that a factor must have", text, "CORRUPT",
               text.content.decode().index('"B":') + 4, "adapters[0].B.%s: missing" % field)
adapter_field("name", "number", "7")
adapter_field("name", "empty", '""')
adapter_field("rank", "zero", "0")
adapter_field("rank", "fraction", "1.5")
adapter_field("rank", "negative", "-1")
adapter_field("rank", "text", '"1"')
adapter_field("scale", "text", '"1"')
adapter_field("scale", "huge", "1e999")
adapter_field("cols", "other", "2", part="A", what="adapters[0].A.cols: expected the adapter's rank")
adapter_field("rows", "negative", "-2", part="A")
adapter_field("dtype", "other", '"fp16"', "UNSUPPORTED", part="B")
adapter_field("sha256", "short", '"ab"', part="A")
adapter_field("data_file", "parent", '"../f.bin"', part="B")
adapter_field("offset_data", "behind", "9", "TRUNCATED", part="B")
adapter_field("offset_data", "overlap", "5", part="B", what="overlaps")
text = adapters(adapter(rank="2", a={"cols": "2", "rows": "1"}))
no_adapter("rank-of-b", "B of another rank than A", text, "CORRUPT",
           text.content.decode().rindex('"rows":') + 7, "adapters[0].B.rows: expected the adapter's rank")
text = adapters("7")
no_adapter("number", "an adapter that is a number", text, "CORRUPT", text.content.decode().index("[7]") + 1, "object")
text = adapters(adapter(A="[]"))
no_adapter("a-list", "a factor that is a list", text, "CORRUPT", text.content.decode().index('"A":') + 4, "adapters[0].A")
text = adapters(adapter(), adapter(a={"rows": "0"}, b={"rows": "1", "cols": "0"}))
no_adapter("empty-factor", "a factor without elements", text, "CORRUPT",
           text.content.decode().rindex(',{"name":"x"') + 1, "adapters[1]: a factor without elements", "adapter 1")
text = adapters(adapter(), adapter(a={"data_file": '"g.bin"'}, b={"data_file": '"g.bin"'}))
no("adapter-name-twice", "two adapters of one name", text, "CORRUPT",
   text.content.decode().rindex(',{"name":"x"') + 1, "adapters[1].name: duplicate", "adapter 1",
   files={"f.bin": FACTORS, "g.bin": FACTORS})
text = manifest(adapters="[%s]" % adapter(b={"data_file": '"w.bin"', "offset_data": "1", "offset_scales": "4"}))
no_adapter("over-base", "a factor among the codes of the base", text, "CORRUPT",
           text.content.decode().rindex('"offset_data":') + 14, "adapters[0].B.offset_data: overlaps")

# ---- outliers: (1, 2) is 2, (0, 0) is -1
OUTLIERS = {"data_file": '"o.bin"', "offset": "64", "count": "2", "record_bytes": "8",
            "layout": '"row:u32,col:u16,val:fp16"', "align": "64", "x": "[]"}
RECORDS = (1, 2, 0x4000), (0, 0, 0xbc00)


def records(*some):
    return {"o.bin": bytes(64) + b"".join(struct.pack("<IHH", *record) for record in some)}


def outliers(**changes):
    fields = {**OUTLIERS, **changes}
    return entry(outliers="{%s}" % ",".join('"%s":%s' % f for f in fields.items() if f[1] is not None))


def wrong_outliers(field, name, value, note, status="CORRUPT", what=None):
    text = manifest(outliers(**{field: value}))
    begin = text.at['"outliers":']
    at = begin + 11 if value is None else \
        text.content.index(('"%s":' % field).encode(), begin) + len(field) + 3
    no("outliers-%s-%s" % (field.replace("_", "-"), name), note, text, status, at,
       "tensors[0].outliers.%s: %s" % (field, what or ""), "tensor 0", files=records(*RECORDS))


def odd_records(name, note, *some, deep, **more):
    yes("outliers-" + name, note, manifest(outliers(count=str(len(some)))), files=records(*some),
        deep=((deep, "tensor 0"),) if isinstance(deep, str) else deep, **more)


yes("outliers", "two elements that stand for themselves, in any order", manifest(outliers()),
    files=records(*RECORDS), has={"files": 3})
yes("outliers-short-form", "as many as the file has",
    manifest(entry(outliers='{"dtype":"fp16","data_file":"o.bin","offset":64}')),
    files=records(*RECORDS))
yes("outliers-null", "no outliers", manifest(entry(outliers="null")))
yes("outliers-none", "no outliers, and no file", manifest(outliers(count="0", data_file='"x.bin"')))
text = manifest(entry(outliers='{"dtype":"fp16","data_file":"o.bin","offset":128}'))
no("outliers-short-form-behind", "no such place in the file", text, "TRUNCATED", text.at['"offset":'] + 9,
   "tensors[0].outliers.offset: beyond", "tensor 0", files=records(*RECORDS))
text = manifest(entry(outliers='{"dtype":"fp16","data_file":"o.bin","offset":64}'))
no("outliers-short-form-odd", "half a record", text, "TRUNCATED", text.at['"offset":'] + 9,
   "tensors[0].outliers.offset: what follows", "tensor 0",
   files={"o.bin": records(*RECORDS)["o.bin"][:-4]})
for field in ("offset", "data_file"):
    wrong_outliers(field, "missing", None, "a field that must be there", what="missing")
for field in ("offset", "count"):
    for name, value in (("negative", "-1"), ("fraction", "1.5"), ("beyond", "9007199254740993"),
                        ("text", '"2"')):
        wrong_outliers(field, name, value, "no whole number up to 2^53")
wrong_outliers("offset", "aligned", "63", "an offset that is no multiple of 64")
wrong_outliers("data_file", "parent", '"../o.bin"', "a file that is not in the directory")
wrong_outliers("record_bytes", "other", "12", "records of another size")
wrong_outliers("layout", "other", '"col:u16"', "records of another form")
wrong_outliers("align", "other", "32", "another alignment")
wrong_outliers("dtype", "other", '"fp32"', "values of another type")
text = manifest(outliers(count="3"))
no("outliers-too-many", "more records than there are", text, "TRUNCATED", text.at['"offset":'] + 9,
   "tensors[0].outliers.offset: beyond", "tensor 0", files=records(*RECORDS))
text = manifest(outliers(), entry(name='"b"', data_file='"c.bin"', outliers=
    '{"data_file":"o.bin","offset":64,"count":2}'))
no("outliers-overlap", "two tensors with the same records", text, "CORRUPT", text.at['1#"offset":'] + 9,
   "tensors[1].outliers.offset: overlaps", "tensor 1", files={**records(*RECORDS), "c.bin": WEIGHTS})
for name, record in (("row", (2, 0, 0)), ("column", (0, 3, 0))):
    odd_records(name + "-outside", "a record about no element", record, (1, 1, 0),
                deep=(("error", "data.record", "tensor 0"),), reads=((0, "CORRUPT"),))
odd_records("twice", "two records about one element", (1, 1, 0), (1, 1, 0x3c00),
            deep=(("error", "data.duplicate", "tensor 0"),))
odd_records("twice-apart", "the same, not side by side", (1, 1, 0), (0, 1, 0), (1, 1, 0x3c00),
            deep=(("error", "data.duplicate", "tensor 0"),))
odd_records("nan", "a value that is no number", (1, 1, 0x7e00), deep=(("error", "data.nan", "tensor 0"),))
odd_records("inf", "a value that is infinite", (1, 1, 0x7c00), deep=(("error", "data.inf", "tensor 0"),))

# ---- what only reading finds
DIGEST = hashlib.sha256(WEIGHTS).hexdigest()
yes("sha256", "the digest of codes and scales", manifest(entry(sha256='"%s"' % DIGEST)))
yes("sha256-capitals", "the same in capitals", manifest(entry(sha256='"%s"' % DIGEST.upper())))
yes("sha256-wrong", "the digest of something else", manifest(entry(sha256='"%s"' % ("0" * 64))),
    deep=(("error", "data.checksum", "tensor 0"),))
yes("lowest-code", "codes that are not used", manifest(), weights=b"\x80\x80" + WEIGHTS[2:],
    deep=(("warning", "data.lowest-code", "tensor 0"),))
yes("lowest-code-int4", "the same in four bits", manifest(entry(dtype='"int4_rowwise"', offset_scales="4")),
    weights=b"\x88\x01\x11\x01" + WEIGHTS[6:], deep=(("warning", "data.lowest-code", "tensor 0"),))
yes("padding-code", "a half byte that is no code, and is not 0",
    manifest(entry(dtype='"int4_rowwise"', offset_scales="4")), weights=b"\x11\x21\x11\x01" + WEIGHTS[6:],
    deep=(("warning", "data.padding-codes", "tensor 0"),))

# ---- our own entry
OTHER = {"name": "i", "dtype": "i64", "data_file": "t.bin", "offset_data": 0, "shape": [2]}


def ours(**changes):
    other = {k: v for k, v in {**OTHER, **changes}.items() if v is not None}
    return manifest(tare='{"tensors":[%s]}' % json.dumps(other))


FILES = {"t.bin": bytes(16)}
yes("other", "a tensor that is not quantized", ours(), files=FILES, has={"tensors": 2})
text = ours(dtype="q4_0")
no("other-type", "blocks are not stored so", text, "CORRUPT", '"q4_0"', "dtype", "tensor 1",
   files=FILES)
text = ours(shape=None)
no("other-shape-missing", "no shape", text, "CORRUPT", '{"name": "i"', "shape", "tensor 1",
   files=FILES)
text = ours(shape=[1, 1, 1, 1, 1, 1, 1, 1, 2])
no("other-shape-nine", "a shape of nine dimensions", text, "CORRUPT", '[1, 1', "tare.tensors[0].shape: ",
   "tensor 1", files=FILES)
text = manifest(tare="1")
no("ours-number", "an entry of ours that is none", text, "CORRUPT", '1}', "tare")
text = manifest(tare='{"files":["../b"]}')
no("side-file-escape", "a side file that is not in the directory", text, "CORRUPT", '"../b"',
   "tare.files[0]: ")
yes("side-file", "a side file", manifest(tare='{"files":["config.json"]}'),
    files={"config.json": b"{}"}, has={"resources": 1})
