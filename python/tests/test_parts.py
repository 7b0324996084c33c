# SPDX-License-Identifier: MIT
"""Guards against: parts that are not what one call writes, a part that is none, and what is of no part."""
import http.server
import os
import threading

import pytest
import tare


def test_parts_are_joined_into_what_one_call_writes(tmp_path):
    tare.convert(tare.synth("llama-tiny"), tmp_path / "in.safetensors", keep_names=True)
    source, out = tmp_path / "in.safetensors", tmp_path / "out.gguf"
    options = {"keep_names": True, "tensor_type": {"q_proj": "f16"}}
    tare.quantize(source, tmp_path / "whole.gguf", "Q8_0", **options)
    assert [p.state for p in (tare.quantize(source, out, "Q8_0", part=(2, 3), **options), tare.parts(out))[1]] == \
        ["missing", "done", "missing"]
    with pytest.raises(tare.UsageError, match="missing"):
        tare.join(out)
    with pytest.raises(tare.UsageError, match="other options"):
        tare.quantize(source, out, "Q8_0", part=(2, 3), keep_names=True)
    for i in (1, 2, 3):
        result = tare.quantize(source, out, "Q8_0", part=(i, 3), threads=1, **options)
        assert os.path.getsize(result.files[0].path) == result.written_nbytes
    joined = tare.join(out, output=tmp_path / "other.gguf", keep=True)
    assert (joined.n_parts, joined.nbytes, joined.is_directory) == (3, os.path.getsize(tmp_path / "whole.gguf"), False)
    tare.join(out)
    for name in ("out.gguf", "other.gguf"):
        assert (tmp_path / name).read_bytes() == (tmp_path / "whole.gguf").read_bytes()
    assert sorted(os.listdir(tmp_path)) == ["in.safetensors", "other.gguf", "out.gguf", "whole.gguf"]
    for wrong in ((0, 3), (4, 3), (1, 0)):
        with pytest.raises(ValueError, match="from 1 to N"):
            tare.convert(source, tmp_path / "x.gguf", part=wrong, keep_names=True)
    with pytest.raises(tare.TareError):
        tare.join(tmp_path / "none.gguf")


class Ranges(http.server.BaseHTTPRequestHandler):
    def do_GET(self):
        data, tag = self.server.file
        first, last = map(int, self.headers["Range"].removeprefix("bytes=").split("-"))
        piece = data[first:last + 1]
        self.send_response(206)
        for name, value in (("Content-Range", f"bytes {first}-{first + len(piece) - 1}/{len(data)}"),
                            ("Content-Length", len(piece)), ("ETag", f'"{tag}"')):
            self.send_header(name, str(value))
        self.end_headers()
        self.wfile.write(piece)

    def log_message(self, *_):
        pass


def test_parts_of_a_url_are_of_one_version(tmp_path):
    tare.convert(tare.synth("llama-tiny"), tmp_path / "in.safetensors", keep_names=True)
    data = (tmp_path / "in.safetensors").read_bytes()
    whole, out = tmp_path / "whole.wcodec", tmp_path / "out.wcodec"
    with http.server.ThreadingHTTPServer(("127.0.0.1", 0), Ranges) as server:
        threading.Thread(target=server.serve_forever, daemon=True).start()
        server.file = data, "one"
        url = f"http://127.0.0.1:{server.server_port}/in.safetensors"
        tare.pack(url, whole)
        for i in 1, 2:
            assert tare.verify(url, deep=True, part=(i, 2)).ok
            tare.pack(url, out, part=(i, 2))
        tare.join(out)
        assert out.read_bytes() == whole.read_bytes()
        out.unlink()
        for i in 1, 2:
            tare.pack(url, out, part=(i, 2))
            server.file = data, "two"
        with pytest.raises(tare.UsageError, match="another input"):
            tare.join(out)
        server.shutdown()
    parts = tmp_path / "o.gguf"
    for i in 1, 2:
        with open(tmp_path / "in.safetensors", "rb") as file:
            tare.convert(file, parts, keep_names=True, part=(i, 2, f"v{i}"))
    assert [part.state for part in tare.parts(parts)] == ["done", "stale"]


def test_parts_of_packing_and_verifying(tmp_path):
    tare.convert(tare.synth("llama-tiny"), tmp_path / "in.safetensors", keep_names=True)
    source, out = tmp_path / "in.safetensors", tmp_path / "out.wcodec"
    tare.pack(source, tmp_path / "whole.wcodec")
    total = 0
    for i in (1, 2, 3):
        result = tare.pack(source, out, part=(i, 3))
        assert result.nbytes == os.path.getsize(f"{out}.part-{i:05}-of-00003")
        total += result.source_nbytes
    assert total == os.path.getsize(source)
    tare.join(out)
    assert out.read_bytes() == (tmp_path / "whole.wcodec").read_bytes()
    for i in (1, 2, 3):
        assert tare.verify(out, deep=True, part=(i, 3)).ok
    damaged = bytearray(out.read_bytes())
    damaged[len(damaged) // 2] ^= 1
    out.write_bytes(damaged)
    assert [tare.verify(out, deep=True, part=(i, 3)).ok for i in (1, 2, 3)].count(False) == 1
    with pytest.raises(ValueError, match="deep=True"):
        tare.verify(out, part=(1, 3))
    with pytest.raises(ValueError, match="from 1 to N"):
        tare.verify(out, deep=True, part=(4, 3))
    for wrong in ({"base": source}, {"dry_run": True}, {"lossy": True, "target_bpw": 4}):
        with pytest.raises(ValueError, match="part"):
            tare.pack(source, out, part=(1, 3), **wrong)
