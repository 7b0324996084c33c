# SPDX-License-Identifier: MIT
"""MCF files: each rule of header, directory, tensor index, QuantInfo, ModelInfo and our private
sections broken once, and what the format allows."""
import struct

from casebook import bad, good
from mcfbuilder import (BITS, CONFIG, DATA, F32, FILES, I8, INDEX, INT4, INT8, K2, K3, K4, K6,
                        METADATA, MODEL_INFO, Mcf, Q4, Q8, QUANT_INFO, blobs, model_info,
                        quantized_size)


def no(name, note, source, status, at, what, item="none"):
    bad("mcf-" + name, note, source, status, at, what, item, suffix=".mcf")


def yes(name, note, source, *findings, **more):
    good("mcf-" + name, note, source, *findings, suffix=".mcf", **more)


def t(name=b"a", dtype=F32, dims=(2, 3), **more):
    return dict(name=name, dtype=dtype, dims=dims, **more)


def one(tensor=None, **header):
    return Mcf(**header).tensors(tensor or t())


def record(tensor=0, method=Q4, domain=0, block=32, top=0, reserved=bytes(6), low=-1.0, high=1.0):
    return (tensor, method, domain, block, top, reserved, low, high)


def quantized(*records, dtype=Q4, **more):
    return one(t(dtype=dtype, dims=(2, 33))).quant(*records, **more)


# ---- header
yes("plain", "one tensor", one(), has={"format": "mcf", "tensors": 1, "alignment": 64})
yes("minor-9", "a later minor version", one(minor=9), has={"tensors": 1})
yes("header-48", "a longer header", one(extra=8))
yes("flags-unknown", "unknown flags of the file", one(flags=0xFFFFFFFFFFFFFFFF))
yes("no-tensors", "a file without tensors", Mcf().add(CONFIG, b"{}"),
    has={"tensors": 0, "resources": 1})
no("cut-header", "the header is cut short", one().file()[:39], "TRUNCATED", 32, "flags")
no("major-2", "another major version", one(major=2), "UNSUPPORTED", "major", "major version")
no("header-size-39", "a header shorter than it can be", one(size=39), "CORRUPT", "header_size",
   "header_size")
no("header-size-huge", "a header beyond the end", one(size=1 << 30), "CORRUPT", "header_size",
   "header_size")
no("no-sections", "no sections", one(count=0), "CORRUPT", "section_count", "section_count")
no("sections-huge", "more sections than the file holds", one(count=0xFFFFFFFF), "CORRUPT",
   "directory", "beyond the end")
no("directory-in-header", "the directory in the header", one(directory=32), "CORRUPT", "directory",
   "overlaps the header")
no("directory-beyond", "the directory beyond the end", one(directory=1 << 40), "CORRUPT",
   "directory", "beyond the end")
no("directory-overflow", "the directory wraps around", one(directory=(1 << 64) - 8), "CORRUPT",
   "directory", "beyond the end")
no("cut-file", "a download cut short", one().file()[:-1], "TRUNCATED", len(one().file()) - 1,
   "file_size")
no("file-longer", "bytes behind the end", one(tail=b"x"), "CORRUPT", "file_size", "file_size")

# ---- directory
for name, options, at, what in (
        ("offset-odd", {"offset": 44}, 8, "not a multiple of 8"),
        ("in-header", {"offset": 32}, 8, "overlaps the header"),
        ("offset-beyond", {"offset": 1 << 40}, 8, "beyond the end"),
        ("size-beyond", {"size": 1 << 40}, 16, "beyond the end"),
        ("size-overflow", {"size": (1 << 64) - 8}, 16, "beyond the end"),
        ("over-directory", {"size": 80}, 8, "overlaps the section directory")):
    no("section-" + name, "a section: " + what, Mcf().add(CONFIG, bytes(64), **options), "CORRUPT",
       "record 0+%d" % at, what)
no("section-overlap", "a section in another",
   Mcf().add(CONFIG, bytes(64)).add(0x104, bytes(8), offset=48), "CORRUPT", "record 1+8",
   "another section")
yes("section-twice", "two sections of one type: the first counts",
    Mcf().add(CONFIG, b"{}").add(CONFIG, b"[]"),
    ("error", "mcf.duplicate-section", "record 1", "none"), has={"resources": 1})
yes("section-unknown", "an unknown section is a resource", one().add(0x9999, b"what", version=7),
    has={"resources": 1})
yes("section-empty", "an empty section, which is no JSON", Mcf().add(0x102, b""),
    has={"resources": 1}, deep=(("error", "resource.json", "resource 0"),))

# ---- tensor index
for name, options, at, what in (
        ("version", {"version": 2}, "index version", "version"),
        ("no-tensors", {"count": 0}, "tensor_count", "tensor_count"),
        ("entries-beyond", {"entries": 1 << 40}, "entries_off", "entries"),
        ("entries-in-head", {"entries": 40}, "entries_off", "entries"),
        ("count-huge", {"count": 1 << 20}, "entries_off", "entries"),
        ("dims-beyond", {"dims_off": 1 << 40}, "dims_off", "dimensions"),
        ("dims-count-huge", {"n_dims": 0xFFFFFFFF}, "dims_off", "dimensions"),
        ("strings-beyond", {"strings": 1 << 40}, "strings_off", "strings"),
        ("strings-size-huge", {"strings_size": (1 << 64) - 1}, "strings_off", "strings")):
    no("index-" + name, "tensor index: " + name, Mcf().tensors(t(), **options),
       "UNSUPPORTED" if name == "version" else "CORRUPT", at, what)
no("index-cut", "a tensor index that ends in its head", Mcf().add(INDEX, bytes(47)), "UNSUPPORTED",
   "section 0x3", "version")
no("index-no-data", "tensors without data section", Mcf().add(
    INDEX, ("index", (t(place=64),), {})), "CORRUPT", "tensor 0+24", "TensorData", "tensor 0")
for name, options, field, status, what in (
        ("name-empty", {"name_len": 0}, 4, "CORRUPT", "empty"),
        ("name-beyond", {"name_off": 9}, 0, "CORRUPT", "name_off"),
        ("name-long", {"name_len": 9}, 0, "CORRUPT", "name_off"),
        ("name-limit", {"name_len": 1 << 20}, 4, "LIMIT", "name_len"),
        ("dtype-wide", {"dtype": 0x10001}, 8, "CORRUPT", "dtype"),
        ("rank-limit", {"rank": 9}, 12, "LIMIT", "rank"),
        ("dim-off", {"dim_off": 2}, 16, "CORRUPT", "dim_off"),
        ("rank-beyond", {"rank": 3}, 16, "CORRUPT", "dim_off"),
        ("dims-overflow", {"dims": (1 << 40, 1 << 40)}, 16, "LIMIT", "overflow"),
        ("data-before", {"place": 40}, 24, "CORRUPT", "TensorData"),
        ("data-beyond", {"place": 1 << 40}, 24, "CORRUPT", "TensorData"),
        ("data-size-beyond", {"data_size": 1 << 40}, 32, "CORRUPT", "TensorData"),
        ("data-size-overflow", {"data_size": (1 << 64) - 1}, 32, "CORRUPT", "TensorData"),
        ("data-size-small", {"data_size": 23}, 32, "CORRUPT", "data_size")):
    options = dict(options)
    if "dims" in options:
        options["size"] = 24
    no("tensor-" + name, "a tensor: " + name, one(t(**options)), status, "tensor 0+%d" % field,
       what, "tensor 0")
for dtype in BITS:
    size = quantized_size(dtype, 2, 33)
    no("quantized-%02x-size" % dtype, "a quantized tensor of another size",
       one(t(dtype=dtype, dims=(2, 33), data=bytes(size + 1))), "CORRUPT", "tensor 0+32",
       "data_size", "tensor 0")
    no("quantized-%02x-rank" % dtype, "a quantized tensor of 1 dimension",
       one(t(dtype=dtype, dims=(66,), data=bytes(size))), "CORRUPT", "tensor 0+12", "rank",
       "tensor 0")
    no("quantized-%02x-place" % dtype, "a quantized tensor that is not aligned",
       one(t(dtype=dtype, dims=(2, 33), data=bytes(size + 64), data_size=size, shift=8)), "CORRUPT",
       "tensor 0+24", "multiple of 64", "tensor 0")
    yes("quantized-%02x" % dtype, "a quantized tensor with odd columns",
        one(t(dtype=dtype, dims=(2, 33))).quant(
            record(method=dtype, top=256 if dtype >= K6 else 0)))
no("tensors-overlap", "two tensors that overlap",
   Mcf().tensors(t(dims=(32,)), t(b"b", dims=(16,), same=0, shift=64)), "CORRUPT", "tensor 1+24",
   "overlaps", "tensor 1")
yes("tensors-shared", "two tensors of one place", Mcf().tensors(
    t(dims=(16,)), t(b"b", dims=(16,), same=0, size=0, data_size=64)), has={"tensors": 2})
yes("tensor-unknown", "a type nobody knows", one(t(dtype=99, dims=(5,))))
yes("tensor-unknown-empty", "a type nobody knows, without elements", one(t(dtype=99, dims=(0, 5))),
    ("warning", "mcf.empty-tensor", "tensor 0+16", "tensor 0"))
no("tensor-unknown-size", "a type nobody knows, without elements, but with bytes", one(
    t(dtype=99, dims=(0, 5), size=8)), "CORRUPT", "tensor 0+32", "data_size", "tensor 0")
no("tensor-unknown-none", "a type nobody knows, with elements, but without bytes", one(
    t(dtype=99, dims=(), size=0)), "CORRUPT", "tensor 0+32", "data_size", "tensor 0")
no("names-twice", "two tensors of one name", Mcf().tensors(t(), t(), index_flags=2), "CORRUPT",
   "tensor 1", "duplicate", "tensor 1")
yes("reserved", "a reserved field that is not 0", one(t(reserved=1)),
    ("error", "mcf.reserved", "tensor 0+20", "tensor 0"))
yes("no-elements", "a dimension of 0", one(t(dims=(0, 3))),
    ("warning", "mcf.empty-tensor", "tensor 0+16", "tensor 0"))
yes("not-sorted", "flagged as sorted and not", Mcf().tensors(t(b"b"), t(b"a")),
    ("error", "mcf.not-sorted", "index flags", "tensor 1"))
yes("not-utf8", "flagged as UTF-8 and not", one(t(b"\xff")),
    ("error", "mcf.not-utf8", "index flags", "tensor 0"))
yes("flag-missing", "a quantized tensor, and the file lacks its flag",
    quantized(record()).__class__(flags=0).tensors(t(dtype=Q4, dims=(2, 33))).quant(record()),
    ("error", "mcf.flag-aligned", "flags", "tensor 0"))

# ---- int8 and int4: with scale, with scale and zero, bare
for dtype, codes in ((INT8, 6), (INT4, 3)):
    yes("int-%02x" % dtype, "a scale and codes", one(
        t(dtype=dtype, data=bytes(64 + codes))).quant(record(method=dtype, block=0)))
    yes("int-%02x-zero" % dtype, "a scale, a zero point and codes", one(
        t(dtype=dtype, data=bytes(128 + codes))).quant(record(method=dtype, block=0, domain=1)))
    yes("int-%02x-bare" % dtype, "codes alone", one(t(dtype=dtype, data=bytes(codes))).quant(
        record(method=dtype, block=0)),
        ("warning", "mcf.bare-codes", "tensor 0+8", "tensor 0"))
    no("int-%02x-size" % dtype, "neither of them", one(t(dtype=dtype, data=bytes(codes + 1))),
       "CORRUPT", "tensor 0+32", "data_size", "tensor 0")
    no("int-%02x-place" % dtype, "regions that are not aligned", one(
        t(dtype=dtype, data=bytes(128 + codes), data_size=64 + codes, shift=8)), "CORRUPT",
       "tensor 0+24", "multiple of 64", "tensor 0")
yes("int-domain", "a domain that does not go with the size", one(
    t(dtype=INT8, data=bytes(64 + 6))).quant(record(method=INT8, block=0, domain=1)),
    ("error", "mcf.quant-domain", "quant 0+5", "tensor 0"))

# ---- QuantInfo
for name, options, field, code in (
        ("method", {"method": Q8}, 4, "mcf.quant-method"),
        ("domain", {"domain": 1}, 5, "mcf.quant-domain"),
        ("domain-2", {"domain": 2}, 5, "mcf.quant-domain"),
        ("block", {"block": 16}, 6, "mcf.quant-block"),
        ("super", {"top": 256}, 6, "mcf.quant-block"),
        ("reserved", {"reserved": b"\0\0\0\0\0\1"}, 10, "mcf.quant-reserved"),
        ("clip", {"low": 2.0}, 16, "mcf.quant-clip"),
        ("clip-nan", {"high": float("nan")}, 16, "mcf.quant-clip")):
    yes("quant-" + name, "QuantInfo: " + name, quantized(record(**options)),
        ("error", code, "quant 0+%d" % field, "tensor 0"))
yes("quant-index", "QuantInfo of no tensor", quantized(record(), record(tensor=1)),
    ("error", "mcf.quant-index", "quant 1", "none"))
yes("quant-twice", "two records of one tensor", quantized(record(), record()),
    ("error", "mcf.quant-twice", "quant 1", "tensor 0"))
yes("quant-missing", "no record of a quantized tensor", one(t(dtype=Q4, dims=(2, 33))),
    ("warning", "mcf.quant-missing", "tensor 0", "tensor 0"))
yes("quant-tail", "QuantInfo goes on", quantized(record(), tail=b"x"),
    ("error", "mcf.quant-size", "quant end", "none"))
yes("quant-version", "QuantInfo of another version", quantized(record(), version=2),
    ("error", "mcf.quant-version", "quant version", "none"),
    ("warning", "mcf.quant-missing", "tensor 0", "tensor 0"))
yes("quant-plain", "a record for each tensor",
    Mcf().tensors(t(), t(b"b", dtype=Q4, dims=(2, 33))).quant(
        record(method=0, block=0), record(tensor=1)))
yes("quant-alone", "QuantInfo without tensors", Mcf().quant(record()),
    ("error", "mcf.quant-index", "quant 0", "none"))
no("quant-count", "more records than there are", quantized(record(), count=2), "TRUNCATED",
   "quant count", "RecordCount")
no("quant-cut", "QuantInfo ends in its head", one().add(QUANT_INFO, b"\1\0\0\0\0"), "TRUNCATED",
   "section 0x2+4", "RecordCount")

# ---- payloads: any bits are legal numbers, and some are told
NAN, INF = b"\0\x7e", b"\0\x7c"
yes("scale-nan", "a scale that is no number", one(
    t(dtype=Q8, dims=(1, 32), data=NAN + bytes(62) + bytes(range(32)))).quant(record(method=Q8)),
    deep=(("error", "data.scale", "tensor 0"),))
yes("super-inf", "an infinite super scale", one(
    t(dtype=K4, dims=(1, 32), data=INF + bytes(62) + b"\x20" + bytes(63) + bytes(16))).quant(
        record(method=K4, top=256)), deep=(("error", "data.scale", "tensor 0"),))
yes("sub-bits", "a sub-scale of more than six bits", one(
    t(dtype=K2, dims=(1, 32), data=bytes(64) + b"\x40" + bytes(63) + bytes(8))).quant(
        record(method=K2, top=256)), deep=(("error", "data.code", "tensor 0"),))
yes("lowest-code", "the code that is not used", one(
    t(dtype=Q8, dims=(1, 32), data=bytes(64) + b"\x80" + bytes(31))).quant(record(method=Q8)),
    deep=(("warning", "data.lowest-code", "tensor 0"),))
yes("padding-codes", "codes beyond the last column", one(
    t(dtype=K3, dims=(1, 31), data=bytes(64) + b"\x20" + bytes(63) + bytes(11) + b"\x20")).quant(
        record(method=K3, top=256)), deep=(("warning", "data.padding-codes", "tensor 0"),))
yes("padding-regions", "bytes between regions", one(
    t(dtype=Q4, dims=(1, 32), data=bytes(2) + b"x" + bytes(61) + bytes(16))).quant(record()),
    deep=(("warning", "data.padding", "none"),))

# ---- ModelInfo
INFO = "section 0x1"
yes("info", "ModelInfo alone gives keys", Mcf().add(MODEL_INFO, model_info(strings=(b"name",))),
    has={"keys": 9, "tensors": 0})
yes("info-and-metadata", "metadata of ours decides", Mcf().add(MODEL_INFO, model_info()).add(
    METADATA, blobs()), has={"keys": 0})
for name, content, at in (
        ("version", model_info(version=2), 0),
        ("cut", model_info()[:60], 56),
        ("name-beyond", model_info(name_off=1 << 40), 0),
        ("name-long", model_info(name_off=80, kv_off=1 << 30), 84),
        ("kv-count", model_info(n_pairs=1 << 30, kv_off=88), 72),
        ("kv-beyond", model_info(n_pairs=1, kv_off=1 << 40), 0),
        ("kv-type", model_info(n_pairs=1, kv_off=88,
                               pairs=struct.pack("<QIIQI4s", 112, 9, 0, 112, 1, b"k")), 96),
        ("kv-empty-key", model_info(n_pairs=1, kv_off=88,
                                    pairs=struct.pack("<QIIQI", 112, 1, 0, 112, 0)), 88)):
    yes("info-" + name, "ModelInfo: " + name, Mcf().add(MODEL_INFO, content),
        ("error", "mcf.model-info", INFO + "+%d" % at, "none"), has={"keys": 0})

# ---- private sections
FILE = "section 0x7a01"
yes("files", "files of ours", Mcf().add(FILES, blobs((b"a.txt", b"A"), (b"b", b""))),
    has={"resources": 2})
no("files-version", "files of another version", Mcf().add(FILES, blobs(version=2)), "UNSUPPORTED",
   FILE, "version")
no("files-count", "more files than there are", Mcf().add(FILES, blobs((b"a", b"A"), count=1 << 30)),
   "CORRUPT", FILE + "+4", "count")
no("files-names", "names beyond the section", Mcf().add(FILES, blobs((b"a", b"A"), names_size=99)),
   "CORRUPT", FILE + "+8", "names_size")
no("files-data", "data beyond the section", Mcf().add(FILES, blobs((b"a", b"A"), shift=8)),
   "CORRUPT", FILE + "+24", "data")
no("files-no-name", "a file without a name", Mcf().add(FILES, blobs((b"", b"A"))), "CORRUPT",
   FILE + "+16", "name")
no("files-cut", "files that end in their head", Mcf().add(FILES, bytes((1, 0, 0, 0, 0))),
   "TRUNCATED", FILE + "+4", "count")
no("files-twice", "a file that is a section, too", Mcf().add(CONFIG, b"{}").add(
    FILES, blobs((b"config.json", b"{}"))), "CORRUPT", None, "duplicate", "resource 1")
yes("metadata", "metadata of ours", Mcf().add(METADATA, blobs(
    (b"model", b'[{"key":"a","type":"u8","value":1}]'),
    (b"safetensors", b'[{"key":"b","type":"string","value":"c"}]'), (b"later", b"?"))),
    has={"keys": 2})
no("metadata-text", "metadata that is no list", Mcf().add(METADATA, blobs((b"model", b"{}"))),
   "CORRUPT", "section 0x7a02+48", "list")
