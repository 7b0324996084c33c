# SPDX-License-Identifier: MIT
"""Models of whisper.cpp, and what a stranger may write into one."""
import struct

from casebook import bad, good

NUMBERS = (51864, 1500, 384, 6, 4, 448, 384, 6, 4, 80, 1)
FLOATS = struct.pack("<6f", *range(6))
TOKENS = (b"a", b"\0", b"", "é".encode()[:1])


def head(numbers=NUMBERS, filters=(2, 3), data=FLOATS, tokens=TOKENS, count=None):
    out = struct.pack("<12I", 0x67676d6c, *numbers) + struct.pack("<2I", *filters) + data
    out += struct.pack("<I", len(tokens) if count is None else count)
    return out + b"".join(struct.pack("<I", len(t)) + t for t in tokens)


def tensor(name="decoder.w", dims=(2, 3), kind=0, data=FLOATS, n_dims=None):
    name = name.encode()
    return struct.pack("<3I", len(dims) if n_dims is None else n_dims, len(name), kind) + struct.pack(
        "<%dI" % len(dims), *reversed(dims)) + name + data


HEAD = head()
AT = len(HEAD)


def yes(case, note, content, *findings, **more):
    good("whisper-" + case, note, content, *findings, suffix=".whisper.bin", **more)


def no(case, note, content, status, at, what, item="none"):
    bad("whisper-" + case, note, content, status, at, what, item, suffix=".whisper.bin")


yes("one", "a tensor", HEAD + tensor(), has={"format": "whisper", "tensors": 2, "tensor": "mel_filters", "keys": 12, "files": 1})
yes("none", "no tensors but the filters", HEAD, has={"tensors": 1})
yes("halves", "other types", HEAD + tensor(kind=1, data=FLOATS[:12]) + tensor("q", (1, 32), 8, bytes(34)), has={"tensors": 3})
yes("quantized", "quantized as it is today", head(NUMBERS[:-1] + (2007,)) + tensor("q", (1, 32), 8, bytes(34)), has={"tensors": 2})
no("old", "quantized as in 2023", head(NUMBERS[:-1] + (1002,)), "UNSUPPORTED", 44, "dropped")
no("cut", "data that ends early", HEAD + tensor()[:-1], "TRUNCATED", AT + 12 + 8 + 9, "data of a tensor", "tensor 1")
no("cut-head", "numbers that end early", HEAD[:40], "TRUNCATED", 40, "the file ends before what is to be read")
no("cut-filters", "filters that are not there", head(filters=(1 << 30, 1 << 30)), "TRUNCATED", 56, "data of a tensor", "tensor 0")
no("overflow", "filters of more than 64 bits", head(filters=(0xffffffff, 0xffffffff)), "LIMIT", None, "overflows", "tensor 0")
no("tokens", "more tokens than bytes", head(count=0xffffffff), "TRUNCATED", 56 + 24, "tokens")
no("token", "a token beyond the end", head(tokens=())[:-4] + struct.pack("<II", 1, 60000), "TRUNCATED", 88, "bytes of a token")
no("token-long", "a token of a megabyte", head(tokens=())[:-4] + struct.pack("<II", 1, 1 << 20), "LIMIT", 84, "length of a token")
no("dims", "five dimensions", HEAD + tensor(dims=(1,) * 5), "CORRUPT", AT, "dimensions")
no("type", "a type that there is not", HEAD + tensor(kind=99), "UNSUPPORTED", AT + 8, "type")
no("name", "no name", HEAD + tensor(name=""), "LIMIT", AT + 4, "name")
no("twice", "two tensors of one name", HEAD + tensor() + tensor(), "CORRUPT", AT + len(tensor()), "duplicate", "tensor 2")
