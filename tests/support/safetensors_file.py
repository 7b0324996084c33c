# SPDX-License-Identifier: MIT
"""safetensors in plain Python, for tests that read or write files beside the library."""
import json
import struct


def safetensors(tensors, metadata=None):
    """A file's bytes; tensors: (name, dtype, shape, bytes)."""
    header, data = {"__metadata__": metadata} if metadata else {}, b""
    for name, dtype, shape, raw in tensors:
        header[name] = {"dtype": dtype, "shape": shape, "data_offsets": [len(data), len(data) + len(raw)]}
        data += raw
    text = json.dumps(header).encode()
    return struct.pack("<Q", len(text)) + text + data


def read_safetensors(path):
    """Metadata (None: there is none) and tensors by name: (dtype, shape, bytes)."""
    with open(path, "rb") as f:
        raw = f.read()
    size, = struct.unpack_from("<Q", raw)
    header, out = json.loads(raw[8:8 + size]), {}
    for name, entry in header.items():
        if name != "__metadata__":
            begin, end = entry["data_offsets"]
            out[name] = (entry["dtype"], entry["shape"], raw[8 + size + begin:8 + size + end])
    return header.get("__metadata__"), out
