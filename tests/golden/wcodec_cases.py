# SPDX-License-Identifier: MIT
"""Containers .wcodec: each rule of the directory broken once, damage in segments, and what the format
allows."""
import json
import struct

from casebook import bad, good
from wcodecbuilder import BYTES, METADATA, RESOURCE, Layer, Wcodec, entry, frame, stream

A, B = Layer("a", b"abcdef", dims=(2, 3)), Layer("b", b"\1\2\3\4", encoding="f32", dims=(1,))
WIDE = [stream(16, stride=4, offset=2, width=2), stream(stride=4, offset=1),
        stream(stride=4, offset=0)]


def u16(n):
    return struct.pack("<H", n)


def u32(n):
    return struct.pack("<I", n)


def u64(n):
    return struct.pack("<Q", n)


def no(name, note, source, at, what, status="CORRUPT", item="none", **more):
    bad("wcodec-" + name, note, source, status, at, what, item, suffix=".wcodec", **more)


def broken(name, note, mark, distance, new, at, what, status="CORRUPT", layers=(A, B), **more):
    """A sound container with some bytes patched."""
    no(name, note, Wcodec(*layers, patches=[(mark, distance, new)], **more), at, what, status)


def yes(name, note, source, *findings, **more):
    good("wcodec-" + name, note, source, *findings, suffix=".wcodec", **more)


# ---- what is right
yes("plain", "two tensors and no files", Wcodec(A, B), has={"format": "wcodec", "version": 1, "tensors": 2})
yes("empty", "nothing at all", Wcodec(), has={"tensors": 0})
yes("streams", "a float cut into three streams", Wcodec(Layer("b", b"\1\2\3\4" * 5000, encoding="f32",
                                                           dims=(5000,), streams=WIDE)))
Q6_K = [stream(16, stride=210, offset=208, width=2),
        stream(6, stride=210, width=128, join=(128, 2, (1, 2, 3, 4, 5, 6, 0, 7))),
        stream(stride=210, offset=192, width=16)]
BLOCKS = bytes(i * i % 113 for i in range(210 * 70))
yes("joined", "nibbles and high bits in one stream",
    Wcodec(Layer("w", BLOCKS, encoding="q6_k", dims=(70, 256), streams=Q6_K)), has={"tensors": 1})
yes("segments", "a stream of four segments", Wcodec(Layer("a", bytes(50000))))
yes("no-bytes", "a tensor without elements", Wcodec(Layer("z", b"", dims=(0,)), A), has={"tensors": 2})
yes("others", "metadata and a resource",
    Wcodec(A, Layer("", json.dumps([{"key": "k", "type": "u8", "value": 7}]).encode(), kind=METADATA),
           Layer("config.json", b"{}", kind=RESOURCE)), has={"tensors": 1, "resources": 1})
yes("crcs", "records with the CRCs of segments", Wcodec(A, B, Layer("z", b"", dims=(0,)), minor=2), has={"tensors": 3})
yes("minor", "a later minor version", Wcodec(A, B, minor=7))
yes("minor-more", "a later minor version whose records have more", Wcodec(A, B, minor=7, more=b"MORE"), has={"tensors": 2})
yes("minor-one", "a minor version before the CRCs", Wcodec(A, B, minor=1), has={"tensors": 2})
yes("packed", "records of layers in a frame of zstd", Wcodec(A, B, minor=5, packed=lambda r: (frame(r), len(r))),
    has={"tensors": 2})
for name, note, packed, at, what in (
        ("frame", "packed records that are no frame", lambda r: (b"?" * 50, len(r)), 64, "zstd frame"),
        ("more", "packed records and a byte", lambda r: (frame(r) + b"?", len(r)), 64, "zstd frame"),
        ("size", "packed records of another size", lambda r: (frame(r), len(r) + 1), 64, "not of their size"),
        ("many", "a few bytes of which many come", lambda r: (frame(b"\0", 1 << 17), 1 << 17), 64, "64 times"),
        ("layer", "a fault in a packed record", lambda r: (frame(r[:4] + b"\7" + r[5:]), len(r)), 64, "unknown kind")):
    no("packed-" + name, note, Wcodec(A, B, minor=5, packed=packed), "index+%d" % at, what)
no("packed-short", "packed records of fewer layers", Wcodec(A, B, minor=5, packed=lambda r: (frame(r[:20]), 20)),
   "index+64", "too small for", "TRUNCATED")
no("packed-early", "packed records in an older version", Wcodec(A, B, minor=4, packed=lambda r: (frame(r), len(r))),
   "index+40", "from version 1.5 on")
no("crcs-missing", "a record without the CRCs of its version", Wcodec(A, B, minor=2, patches=[("crcs 1", 0, b"X")]),
   "crcs 1", "missing")
no("crcs-other", "a CRC that the layer's does not count", Wcodec(A, B, minor=2, patches=[("crcs 0", 8, b"????")]),
   "layer 0+16", "layer CRC")
yes("file-unknown", "a file of no known format", Wcodec(A, files=[("x.bin", [(0, 0, 0, 6)])]),
    has={"tensors": 1})
header = b'{"a":{"dtype":"I8","shape":[2,3],"data_offsets":[0,6]}}'
WHOLE = (A, Layer("m.safetensors", u64(len(header)) + header, kind=BYTES))
SPAN = [(1, 0, 0, 8 + len(header)), (0, 0, 0, 6)]
yes("file", "a file of safetensors", Wcodec(*WHOLE, files=[("m.safetensors", SPAN)]),
    has={"format": "wcodec", "tensors": 1, "version": 1})
yes("folder", "a directory with a file in a folder",
    Wcodec(*WHOLE, Layer("c", b"x", kind=BYTES), files=[("m.safetensors", SPAN), ("s/x", [(2, 0, 0, 1)])]),
    has={"tensors": 1, "resources": 1})

# ---- damage that the directory does not show
yes("damaged", "a segment whose bytes are not those of its CRC",
    Wcodec(A, B, patches=[("segment 0.0.0", 33, b"?")]), deep=(("error", "wcodec.segment", "tensor -1"),),
    reads=(("0", "CHECKSUM"), ("1", "OK")))
yes("damaged-twice", "segments of two tensors, one of them in its header",
    Wcodec(A, B, patches=[("segment 0.0.0", 33, b"?"), ("segment 1.0.0", 9, b"\1")]),
    deep=(("error", "wcodec.segment", "tensor -1"), ("error", "wcodec.segment", "tensor -1")),
    reads=(("0", "CHECKSUM"), ("1", "CORRUPT")))
yes("damaged-crc", "the CRC of a segment", Wcodec(A, patches=[("segment 0.0.0", 4, bytes(4))]),
    deep=(("error", "wcodec.layer", "tensor -1"), ("error", "wcodec.segment", "tensor -1")),
    reads=(("0", "CHECKSUM"),))
yes("damaged-mode", "a mode that there is not", Wcodec(A, patches=[("segment 0.0.0", 0, b"\7")]),
    deep=(("error", "wcodec.segment", "tensor -1"),), reads=(("0", "CORRUPT"),))
yes("damaged-padding", "padding of a segment", Wcodec(A, patches=[("segment 0.0.0", 63, b"\1")]),
    deep=(("error", "wcodec.segment", "tensor -1"),), reads=(("0", "CORRUPT"),))
yes("damaged-end", "padding behind the last stream", Wcodec(A, patches=[("segment 0.0.0", 127, b"\1")]),
    deep=(("error", "wcodec.layer", "tensor -1"),))
yes("damaged-rest", "a run of bytes that nothing needs",
    Wcodec(A, Layer("c", b"xyz", kind=BYTES), patches=[("segment 1.0.0", 33, b"?")]),
    deep=(("error", "wcodec.segment", "resource -1"),))
yes("digest", "the digest of another model", Wcodec(A, patches=[("digest", 0, b"\0\0\0\0")]),
    deep=(("error", "wcodec.digest", "none"),))
no("damaged-header", "a file whose header is damaged",
   Wcodec(*WHOLE, files=[("m.safetensors", SPAN)], patches=[("segment 1.0.0", 50, b"?")]),
   "segment 1.0.0", "CRC-32", "CHECKSUM", "resource -1")

# ---- header and footer
no("cut-header", "a header cut short", Wcodec(A, cut=100), 100, "header", "TRUNCATED")
no("cut", "a container cut in its index", Wcodec(A, cut="footer"), "footer", "ends too early", "TRUNCATED")
no("tail", "bytes behind the footer", Wcodec(A, tail=b"x"), "footer+32", "bytes follow")
broken("version", "a later version", "major", 0, u16(2), "major", "version", "UNSUPPORTED")
broken("header-reserved", "a reserved byte of the header", "reserved", 2, b"\1", "reserved", "reserved")
broken("header-end", "a reserved byte at its end", "magic", 127, b"\1", 84, "reserved")
broken("index-odd", "an index that is not at a multiple of 128", "index offset", 0, u64(129),
       "index offset", "offset of the index")
broken("index-early", "an index in the header", "index offset", 0, u64(0), "index offset", "offset")
broken("index-far", "an index whose end overflows", "index offset", 0, u64(2**64 - 128), "index offset",
       "offset of the index")
broken("index-large", "a directory beyond the limit", "index size", 0, u64(2**40), "index size",
       "size of the index", "LIMIT")
broken("index-small", "an index smaller than its counts", "index size", 0, u64(32), "index offset", "index")
broken("file-size", "another size of the file", "file size", 0, u64(5), "file size", "size of the file")
broken("layer-count", "another number of layers", "count", 0, u32(3), "index", "number of layers")
broken("footer-magic", "a footer without its magic", "footer", 31, b"\2", "footer+24", "magic")
broken("footer-offset", "a footer of another index", "footer", 0, b"\1", "footer", "footer")
broken("footer-size", "a footer of another size", "footer", 8, b"\1", "footer+8", "footer")
broken("footer-zero", "a reserved byte of the footer", "footer", 20, b"\1", "footer+20", "footer")
broken("footer-crc", "a wrong CRC of the directory", "crc", 0, b"\1\2\3\4", "crc", "CRC-32", "CHECKSUM")

# ---- counts of the index
broken("bases-many", "256 bases", "index", 4, u32(256), "index+4", "bases")
broken("form", "files in an unknown form", "index", 12, b"\3", "index+12", "form")
broken("form-none", "files that the form denies", "index", 12, b"\0", "index+12", "form",
       files=[("x", [(0, 0, 0, 1)])])
broken("form-one", "one file that is none", "index", 12, b"\1", "index+12", "form")
broken("index-reserved", "a reserved byte of the counts", "index", 14, b"\1", "index+13", "reserved")
broken("index-reserved-end", "the last reserved byte", "index", 63, b"\1", "index+48", "reserved")
broken("run-long", "a run of layers beyond the index", "index", 16, u64(2**40), "index+64",
       "run of records",
       "TRUNCATED")
broken("run-short", "a run that ends in its second record", "index", 16, u64(100), "layer 1+4",
       "layer", "TRUNCATED", layers=(A, B))

# ---- layers
broken("layer-size", "a record smaller than its fields", "layer 0", 0, u32(20), "layer 0",
       "size of the record")
broken("layer-long", "a record beyond its run", "layer 1", 0, u32(2**31), "layer 1+4", "layer", "TRUNCATED")
broken("layer-kind", "an unknown kind", "layer 1", 4, b"\4", "layer 1+4", "kind")
broken("layer-dims", "nine dimensions", "layer 0", 5, b"\11", "layer 0+5", "dimensions")
broken("layer-regions", "no region", "layer 0", 6, b"\0", "layer 0+5", "regions")
broken("layer-streams", "33 streams", "layer 0", 7, b"\41", "layer 0+5", "streams")
broken("layer-base", "a base that is not there", "layer 0", 8, b"\1", "layer 0+8", "base")
broken("layer-flag", "an unknown flag", "layer 0", 9, b"\2", "layer 0+9", "reserved")
broken("layer-zero", "a reserved byte", "layer 0", 14, b"\1", "layer 0+14", "reserved")
broken("layer-zeros", "four reserved bytes", "layer 0", 20, u32(1), "layer 0+20", "reserved")
broken("layer-offset", "data at an odd place", "layer 0", 24, u64(129), "layer 0+24", "multiples of 128")
broken("layer-in-header", "data in the header", "layer 0", 24, u64(0), "layer 0+24", "multiples of 128")
broken("layer-bytes", "another size than that of its streams", "layer 0", 32, u64(256), "layer 0+32", "size")
broken("layer-gap", "a gap between two layers", "layer 1", 24, u64(384), 384, "gap")
broken("layer-end", "an index behind a gap", "layer 1", 24, u64(128), 256, "end at the index")
broken("layer-kind-dims", "bytes that have dimensions", "layer 0", 4, b"\1", "layer 0+5", "only tensors")
broken("layer-region", "a region of 2^63 bytes", "regions 0", 0, u64(2**63), "regions 0", "size of a region")
no("layer-twice", "two tensors of one name", Wcodec(A, Layer("a", b"x")), "layer 1+56", "another layer",
   item="tensor -1")
no("metadata-twice", "metadata twice", Wcodec(*[Layer(n, b"[]", kind=METADATA) for n in "ab"]), "layer 1+48",
   "another layer", item="resource -1")

# ---- streams
broken("stream-region", "a region that is not there", "stream 0.0", 0, b"\1", "stream 0.0", "region")
broken("stream-item", "values of five bits", "stream 0.0", 1, b"\5", "stream 0.0+1", "bits of a value")
broken("stream-segment", "segments of 2^13 values", "stream 0.0", 2, b"\15", "stream 0.0+1",
       "size of segments")
broken("stream-order", "bytes in big-endian order", "stream 0.0", 3, b"\1", "stream 0.0+1", "byte order")
broken("stream-flag", "an unknown flag", "stream 0.0", 3, b"\4", "stream 0.0+3", "reserved")
broken("stream-packed", "packed scales of 8 bits", "stream 0.0", 3, b"\2", "stream 0.0+1", "packed scales")
broken("stream-stride", "a stride of 0", "stream 0.0", 4, u32(0), "stream 0.0+4", "unit")
broken("stream-width", "a width of 0", "stream 0.0", 12, u32(0), "stream 0.0+4", "unit")
broken("stream-beyond", "bytes beyond the unit", "stream 0.0", 8, u32(1), "stream 0.0+4", "unit")
broken("stream-odd", "16-bit values in one byte", "stream 0.0", 1, b"\20", "stream 0.0+12", "width")
broken("stream-six", "6-bit values in one byte", "stream 0.0", 1, b"\6", "stream 0.0+12", "width")
broken("stream-scales", "scales in a later stream", "stream 0.0", 16, b"\1", "stream 0.0+16", "scales")
broken("stream-scale-form", "a form of scales that are not there", "stream 0.0", 17, b"\1",
       "stream 0.0+16", "scales")
broken("stream-scale-count", "values per scale that is not there", "stream 0.0", 20, u32(1),
       "stream 0.0+16", "scales")
broken("stream-joined", "a stream that is joined twice", "stream 0.0", 18, b"\2", "stream 0.0+18", "joined")
broken("stream-joined-bytes", "a stream of bytes that is joined", "stream 0.0", 18, b"\1", "stream 0.0+28",
       "join", "TRUNCATED")
broken("stream-head", "a head of 32 bytes", "stream 0.0", 24, u32(32), "stream 0.0+24", "head")
broken("stream-head-large", "a head larger than any can be", "stream 0.0", 24, u32(12864), "stream 0.0+24",
       "head")
broken("stream-units", "half a unit at the end", "stream 0.0", 4, u32(4), "stream 0.0+4",
       "whole number of units")
broken("segment-none", "a segment of no bytes", "sizes 0.0", 0, b"\0", "sizes 0.0", "size of a segment")
broken("segment-large", "a segment larger than RAW", "sizes 0.0", 0, b"\2", "sizes 0.0",
       "size of a segment")
THREE = (Layer("b", b"\1\2\3\4", encoding="f32", dims=(1,), streams=WIDE),)
broken("streams-stride", "streams of other strides", "stream 0.1", 4, u32(2), "layer 0", "strides",
       layers=THREE)
broken("streams-overlap", "streams that overlap", "stream 0.2", 8, u32(1), "layer 0", "overlap", layers=THREE)
broken("streams-gap", "streams that leave a byte out", "stream 0.0", 0, b"\1", "layer 0", "cover",
       layers=(Layer("c", b"abcd", b"abcd", encoding="c", dims=(1,),
                     streams=[stream(stride=4, offset=i, region=int(i > 3)) for i in (0, 1, 2, 3)] +
                     [stream(stride=4, offset=0, width=4, region=1)]),))

# ---- joins
FIVE = [stream(16, stride=22, width=2), stream(6, stride=22, offset=6, width=16, join=(2, 1, (4, 0, 1, 2, 3)))]
JOINED = (Layer("w", bytes(range(22)) * 3, encoding="q5_0", dims=(3, 32), streams=FIVE),)


def tangled(name, note, distance, new, at, what, mark="join 0.1", **more):
    broken("join-" + name, note, mark, distance, new, at, what, layers=JOINED, **more)


tangled("item", "joined values of 8 bits", 1, b"\10", "stream 0.1", "6 bits", mark="stream 0.1")
tangled("width", "half of the nibbles", 12, u32(8), "stream 0.1", "width of its nibbles", mark="stream 0.1")
tangled("bits-none", "no high bits", 4, b"\0", "join 0.1+4", "no high bits")
tangled("bits", "four high bits", 4, b"\4", "join 0.1", "join")
tangled("few", "four values in a unit", 5, b"\2", "join 0.1", "join")
tangled("many", "2^11 values in a unit", 5, b"\13", "join 0.1+5", "size of a unit")
tangled("twice", "a place that is there twice", 6, b"\0", "join 0.1", "permutation")
tangled("place", "a place beyond the number", 7, b"\5", "join 0.1", "permutation")
tangled("beyond", "high bits beyond the unit", 0, u32(19), "join 0.1", "in a unit")
tangled("far", "high bits far beyond the unit", 0, u32(2**32 - 1), "join 0.1", "in a unit")
tangled("own", "high bits among the nibbles", 0, u32(6), "layer 0", "overlap")
tangled("other", "high bits in another stream", 0, u32(0), "layer 0", "overlap")
tangled("pair", "a pair of bits where there is one", 4, b"\2", "layer 0", "overlap")
broken("join-gap", "one bit where there is a pair", "join 0.1", 4, b"\1", "layer 0", "cover",
       layers=(Layer("w", BLOCKS, encoding="q6_k", dims=(70, 256), streams=Q6_K),))
no("join-cut", "a record that ends in its join",
   Wcodec(*JOINED, patches=[("stream 0.1", 33, b"\12"), ("layer 0", 0, u32(133))]), "join 0.1+6", "join",
   "TRUNCATED")

# ---- bases
broken("base-size", "a base smaller than its fields", "base 0", 0, u32(39), "base 0", "base", bases=["x.gguf"])
broken("base-zero", "a reserved byte of a base", "base 0", 6, b"\1", "base 0+6", "base", bases=["x.gguf"])

# ---- files
ONE = {"files": [("x.bin", [(0, 0, 0, 3), (0, 0, 3, 3)])]}
broken("file-record", "a record smaller than its fields", "file 0", 0, u32(19), "file 0",
       "size of the record", **ONE)
broken("file-zero", "a reserved byte", "file 0", 6, b"\1", "file 0+6", "reserved", **ONE)
broken("file-bytes", "another size than that of its ranges", "file 0", 8, u64(7), "file 0+8", "size", **ONE)
broken("file-ranges", "more ranges than bytes", "file 0", 16, u32(2**31), "file 0+16", "ranges",
       "TRUNCATED", **ONE)
broken("range-layer", "a layer that is not there", "range 0.0", 0, b"\4", "range 0.0",
       "number of its layer", **ONE)
broken("range-region", "a region that is not there", "range 0.1", 1, b"\1", "range 0.1",
       "number of its layer", **ONE)
broken("range-beyond", "bytes beyond the region", "range 0.1", 3, b"\4", "range 0.1",
       "within its region", **ONE)
broken("range-before", "bytes before the region", "range 0.0", 2, b"\1", "range 0.0",
       "within its region", **ONE)
broken("range-empty", "a range of no bytes", "range 0.1", 3, b"\0", "range 0.1", "within its region", **ONE)
for name, text in (("dots", "../x"), ("dot", "a/./x"), ("root", "/x"), ("empty", ""), ("slash", "a//x"),
                   ("folder", "x/"), ("nul", "x\0y")):
    no("name-" + name, "a file name that leads elsewhere, or nowhere",
       Wcodec(A, files=[(text, [(0, 0, 0, 6)])]), "file 0+20", "relative path")
no("file-twice", "two files of one name", Wcodec(A, files=[("x", [(0, 0, 0, 6)])] * 2), "file 1+20",
   "another file",
   item="resource 1")

# ---- layers as a model
no("encoding", "an encoding of unknown name", Wcodec(Layer("a", b"x", encoding="q99")), None, "encoding",
   "UNSUPPORTED", "tensor 0")
no("shape", "a shape of other bytes", Wcodec(Layer("a", b"abc", dims=(2,))), None, "regions", "CORRUPT",
   "tensor 0")

# ---- links, folders, permissions
LINK, FOLDER = 1, 2
ALL = [("d/m.safetensors", SPAN, entry()), ("d/up", SPAN, entry(LINK, b"../m.safetensors")),
       ("e", [], entry(FOLDER)), ("m.safetensors", SPAN, entry(LINK, b"d/m.safetensors"))]
yes("entries", "a file, links and an empty folder", Wcodec(*WHOLE, files=ALL, minor=1),
    has={"format": "wcodec", "tensors": 1, "resources": 2})


def no_entry(name, note, at, what, *one, before=(), **more):
    """The last of the files says something wrong."""
    files = [("a", []), *before, ("x/y" if not before else "y/z", [], *one)]
    no("entry-" + name, note, Wcodec(A, files=files, minor=1), "entry %d+%d" % (len(files) - 1, at)
       if at >= 0 else "file %d+20" % (len(files) - 1), what, **more)


no_entry("kind", "an entry of an unknown kind", 4, "0 a file, 1 a link", entry(3))
no_entry("reserved", "a reserved byte", 5, "reserved", entry(reserved=1))
no_entry("mode", "permissions with a bit that runs as somebody else", 6, "permissions", entry(mode=0o4755))
no_entry("nanoseconds", "a second of nanoseconds", 8, "nanoseconds", entry(nanoseconds=10**9))
no_entry("target", "a file with a target", 20, "target", entry(0, b"a"))
for name, text in (("empty", b""), ("absolute", b"/etc/passwd"), ("up", b"../../a"), ("later", b"../a/../b"),
                   ("dot", b"./a"), ("slashes", b"b//a"), ("end", b"b/"), ("zero", b"a\0b")):
    no_entry("link-" + name, "a link that might lead out", 24, "target of a link", entry(LINK, text))
no_entry("behind-link", "a file in a folder that is a link", -1, "through a link", entry(), before=[
    ("y", [], entry(LINK, b"a"))], item="resource 2")
no("entry-short", "an entry that the record cuts off", Wcodec(A, files=[("a", []), ("x", [], entry()[:-1])], minor=1),
   "entry 1+20", "record ends inside", "TRUNCATED")
no("entry-folder-size", "a folder with bytes", Wcodec(A, files=[("a", []), ("x", [(0, 0, 0, 1)], entry(FOLDER))], minor=1),
   "file 1+8", "folder has a size")
no("entry-single", "a link that is the only file", Wcodec(A, files=[("x", [], entry(LINK, b"y"))], minor=1, form=1),
   "file 0", "only a directory")
yes("entry-unknown", "something else at the end of a record: a later version's",
    Wcodec(*WHOLE, files=[("m.safetensors", SPAN, b"MORE")], minor=2), has={"tensors": 1})
no("entry-early", "an entry under a version that has none", Wcodec(A, files=[("x", [], entry())], form=1), "entry 0",
   "bytes after")
