# SPDX-License-Identifier: MIT
"""Files that are something else. They are told by content, whatever they are called, and the
message says what they are."""
import gzip
import io
import struct
import zipfile

from casebook import bad


def foreign(name, note, content, what, suffix=".bin"):
    bad("foreign-" + name, note, content, "UNSUPPORTED", None, what, suffix=suffix)


def zip_of(name, content):
    out = io.BytesIO()
    with zipfile.ZipFile(out, "w") as z:
        z.writestr(zipfile.ZipInfo(name), content)
    return out.getvalue()


foreign("zip", "a zip of something else", zip_of("readme.txt", b"x"), "zip")
foreign("ggml", "GGML without version", struct.pack("<8I", 0x67676D6C, *range(7)), "GGML")
foreign("ggmf", "GGMF", struct.pack("<8I", 0x67676D66, 1, *range(6)), "GG")
foreign("ggjt", "GGJT version 3", struct.pack("<8I", 0x67676A74, 3, *range(6)), "GGJT")
foreign("lfs", "a Git LFS pointer",
        b"version https://git-lfs.github.com/spec/v1\noid sha256:" + b"a" * 64
        + b"\nsize 123456\n", "LFS", ".safetensors")
foreign("html", "an error page", b"<!DOCTYPE html>\n<html><body>404</body></html>\n", "HTML",
        ".gguf")
foreign("html-spaces", "an error page that begins with white space",
        b"\n  <html>\n<head><title>Login</title>", "HTML", ".gguf")
foreign("gzip", "gzip", gzip.compress(b"GGUF" + bytes(64), mtime=0), "gzip", ".gguf")
foreign("zstd", "zstd", b"\x28\xb5\x2f\xfd\x24\x04\x21\0\0abcd" + bytes(4), "zstd", ".gguf")
DAT = struct.pack("<ii19sii4f", 1, 19, b"blk.0.ffn_up.weight", 1, 4, 1, 2, 3, 4)
foreign("importance", "an importance matrix of llama.cpp's older form", DAT, "importance", ".dat")
foreign("importance-640", "one whose count of entries begins like a pickle",
        struct.pack("<i", 640) + DAT[4:], "importance", ".dat")
bad("foreign-empty", "a file of no bytes", b"", "TRUNCATED", 0, "empty", suffix=".gguf")
bad("foreign-zeros", "a file of zeros, what a failed download preallocates", bytes(4096), "CORRUPT",
    0, "format", suffix=".gguf")
bad("foreign-text", "a text", b"hello, world, this is no model\n", "CORRUPT", 0, "format",
    suffix=".gguf")
