# SPDX-License-Identifier: MIT
"""Reads and writes INFQ packages; written from the specification and not from the library."""
import hashlib
import json
import os
import struct

from infq_codes import f16, f32, pack, quantize_row, take_outliers, unpack

BITS = {"int8_rowwise": 8, "int4_rowwise": 4}


def read_records(folder, entry, ends):
    """The records of a tensor's outliers."""
    if "outliers" not in entry:
        return b""
    o = entry["outliers"]
    assert (o["record_bytes"], o["layout"], o["align"]) == (8, "row:u32,col:u16,val:fp16", 64)
    assert o["offset"] == (ends.get(o["data_file"], 0) + 63) // 64 * 64
    with open(os.path.join(folder, o["data_file"]), "rb") as f:
        raw = f.read()
    ends[o["data_file"]] = end = o["offset"] + 8 * o["count"]
    assert o["count"] > 0 and end <= len(raw)
    return raw[o["offset"]:end]


def read(folder):
    """name -> (dtype, shape, codes, scale bytes, records, values). Every rule of the format is
    asserted."""
    with open(os.path.join(folder, "manifest.json"), encoding="utf-8") as f:
        manifest = json.load(f)
    assert manifest["version"] == 1 and manifest["endianness"] == "LE"
    assert manifest["adapters"] == []
    out, ends = {}, {}
    for t in manifest["tensors"]:
        bits, rows, cols = BITS[t["dtype"]], t["rows"], t["cols"]
        assert (t["block"], t["scale_dtype"], t["layout"]) == (64, "fp16", "rowmajor_blocked")
        size = rows * (cols if bits == 8 else (cols + 1) // 2)
        with open(os.path.join(folder, t["data_file"]), "rb") as f:
            raw = f.read()
        codes = raw[t["offset_data"]:t["offset_data"] + size]
        scales = raw[t["offset_scales"]:t["offset_scales"] + 2 * rows]
        assert (len(codes), len(scales)) == (size, 2 * rows)
        # The public converter puts one behind the other, tensors too.
        assert t["offset_data"] == ends.get(t["data_file"], 0)
        assert t["offset_scales"] == t["offset_data"] + size
        ends[t["data_file"]] = t["offset_scales"] + 2 * rows
        values = []
        for r in range(rows):
            n = size // rows
            scale = f16(scales[2 * r:2 * r + 2])
            values += [f32(scale * q) for q in unpack(codes[n * r:n * (r + 1)], cols, bits)]
        records = read_records(folder, t, ends)
        places = []
        for row, col, value in struct.iter_unpack("<IH2s", records):
            assert row < rows and col < cols and values[row * cols + col] == 0
            values[row * cols + col] = f16(value)
            places.append((row, col))
        assert places == sorted(set(places))
        assert t["sha256"] == hashlib.sha256(codes + scales + records).hexdigest()
        assert t["name"] not in out
        out[t["name"]] = (t["dtype"], t.get("shape"), codes, scales, records, values)
    for name, end in ends.items():
        assert os.path.getsize(os.path.join(folder, name)) == end
    return manifest, out


def describe_outliers(offset, records, short):
    """short: the form of the seed, which does not say how many there are."""
    if short:
        return {"dtype": "fp16", "data_file": "o.bin", "offset": offset}
    return {"data_file": "o.bin", "offset": offset, "count": len(records) // 8, "record_bytes": 8,
            "layout": "row:u32,col:u16,val:fp16", "align": 64, "why": ["large"]}


def write(folder, tensors, apart=False, is_outlier=None, shuffle=False, **more):
    """tensors: name -> (dtype, rows); a few bytes lie between regions. apart: scales in a file of
    their own. is_outlier: of (row, col, value); the last tensor's are in the short form. shuffle:
    records in another order."""
    os.makedirs(folder)
    entries, weights, scales, outliers = [], b"", b"", b""
    for name, (dtype, rows) in tensors.items():
        records = b""
        if is_outlier:
            rows, records = take_outliers(rows, is_outlier)
        quantized = [quantize_row(row, (1 << (BITS[dtype] - 1)) - 1) for row in rows]
        entry = {"layout": "rowmajor_blocked", "note \"x\"": {"kept": [1, 2.50, None]},
                 "name": name, "dtype": dtype, "rows": len(rows), "cols": len(rows[0]),
                 "block": 64, "scale_dtype": "fp16", "data_file": "w.bin",
                 "offset_data": len(weights)}
        weights += b"".join(pack(q, BITS[dtype]) for q, _ in quantized)
        own = b"".join(scale for _, scale in quantized)
        if apart:
            entry.update(scales_file="s.bin", offset_scales=len(scales))
            scales += own + b"gap"
        else:
            entry["offset_scales"] = len(weights)
            weights += own + b"gap"
        codes = b"".join(pack(q, BITS[dtype]) for q, _ in quantized)
        if shuffle:
            records = b"".join(records[i:i + 8] for i in reversed(range(0, len(records), 8)))
        if records:
            outliers += bytes(-len(outliers) % 64)
            entry["outliers"] = describe_outliers(len(outliers), records, name == list(tensors)[-1])
            outliers += records
        entry["sha256"] = hashlib.sha256(codes + own + records).hexdigest()
        entries.append(entry)
    manifest = {"perf": {"flags": ["avx2"]}, "tensors": entries, "version": 1, "endianness": "LE",
                **more}
    for name, content in (("manifest.json", json.dumps(manifest).encode()), ("w.bin", weights),
                          ("s.bin", scales), ("o.bin", outliers)):
        with open(os.path.join(folder, name), "wb") as f:
            f.write(content)
