#!/usr/bin/env python3
# SPDX-License-Identifier: MIT
"""What tare report writes, without a browser: report_page.py TARE

Guards against names that break out of the page, scripts that the policy does not let in (or lets in
beside ours), a page that says something else than --json, and one that outgrows a megabyte.
"""
import base64
import hashlib
import functools
import html.parser
import http.server
import json
import math
import os
import subprocess
import sys
import tempfile
import threading

import report_models

MEGABYTE = 1000000


class Page(html.parser.HTMLParser):
    """Scripts and styles of a page, and all that could load or run something else."""

    def __init__(self, text):
        super().__init__(convert_charrefs=True)
        self.scripts, self.styles, self.policy, self.loads = [], [], "", []
        self.open = None
        self.feed(text)
        self.close()

    def handle_starttag(self, tag, attrs):
        attrs = dict(attrs)
        if tag in ("script", "style"):
            self.open = [attrs.get("type"), ""]
            (self.scripts if tag == "script" else self.styles).append(self.open)
        if attrs.get("http-equiv") == "Content-Security-Policy":
            self.policy = attrs["content"]
        self.loads += [f"{tag} {k}" for k in attrs if k in ("src", "srcset", "style") or k.startswith("on")]
        if tag in ("link", "iframe", "object", "embed", "base"):
            self.loads.append(tag)

    def handle_endtag(self, tag):
        self.open = None

    def handle_data(self, data):
        if self.open:
            self.open[1] += data


def digest(text):
    return "'sha256-" + base64.b64encode(hashlib.sha256(text.encode()).digest()).decode() + "'"


def same(a, b):
    """Documents alike but for the digits of their numbers."""
    if isinstance(a, dict):
        return isinstance(b, dict) and a.keys() == b.keys() and all(same(a[k], b[k]) for k in a)
    if isinstance(a, list):
        return isinstance(b, list) and len(a) == len(b) and all(map(same, a, b))
    if isinstance(a, float) or isinstance(b, float):
        return math.isclose(a, b, rel_tol=1e-5)
    return a == b


class Quiet(http.server.SimpleHTTPRequestHandler):
    def log_message(self, *_):
        pass


def behind_url(tare, name):
    """A page that is passed on must not carry what a URL has that is nobody's business."""
    server = http.server.ThreadingHTTPServer(("127.0.0.1", 0), functools.partial(Quiet, directory="."))
    threading.Thread(target=server.serve_forever, daemon=True).start()
    url = f"http://user:PASSWORD@127.0.0.1:{server.server_port}/{name}?token=SECRET"
    done = subprocess.run([tare, "report", url, "--against", url, "-o", "-"], check=False, capture_output=True)
    server.shutdown()
    if done.returncode == 5:
        print("SKIP URLs: " + done.stderr.decode())
        return
    assert done.returncode == 0, done.stderr
    assert f"127.0.0.1:{server.server_port}/{name}".encode() in done.stdout
    assert b"PASSWORD" not in done.stdout and b"SECRET" not in done.stdout


def main():
    tare = os.path.abspath(sys.argv[1])
    os.chdir(tempfile.mkdtemp(prefix="tare-report-"))

    def run(*args):
        return subprocess.run([tare, *args], check=True, stdout=subprocess.PIPE).stdout

    def report(*args):
        text = run("report", *args, "-o", "-")
        page = Page(text.decode())
        assert [kind for kind, _ in page.scripts] == ["application/json", None], page.scripts
        assert not page.loads, page.loads
        for kind, (_, inline) in (("script-src", page.scripts[1]), ("style-src", page.styles[0])):
            assert f"{kind} {digest(inline)};" in page.policy, kind
        assert page.policy.startswith("default-src 'none';") and "unsafe" not in page.policy
        data = page.scripts[0][1]
        assert data.isascii() and not set("<>&") & set(data), "unescaped"
        document = json.loads(data)
        assert same(document, json.loads(run("report", *args, "--json")))
        for threads in ("1", "3"):
            assert run("report", *args, "-o", "-", "--threads", threads) == text, "threads"
        return text, document["models"][0]

    report_models.hostile("hostile.safetensors")
    _, document = report("hostile.safetensors")
    assert [t["name"] for t in document["tensors"]] == report_models.HOSTILE
    assert {m["key"] for m in document["metadata"]} == set(report_models.HOSTILE)

    report_models.gguf_bytes("bytes.gguf")
    _, document = report("bytes.gguf")
    assert document["tensors"][0]["name_hex"] == b"\xed\xa0\x80\xff.weight".hex()
    assert document["name"].startswith("\\xff\\xfe</script>")

    report_models.thousand("thousand.safetensors")
    run("convert", "thousand.safetensors", "small.gguf", "--type", "q4_0", "--keep-names", "--quiet")
    text, document = report("small.gguf", "--against", "thousand.safetensors")
    assert len(document["tensors"]) == 1000 and len(text) < MEGABYTE, len(text)
    tensor = next(t for t in document["tensors"] if t["name"].endswith("layers.7.mlp.up_proj.weight"))
    assert tensor["role"] == "feed-forward up" and tensor["layer"] == 7, tensor
    assert tensor["against"] == "differs" and 0.01 < tensor["relative_rmse"] < 0.2, tensor
    assert abs(sum(map(int, tensor["histogram"].split())) - 512) < 4 and tensor["base_type"] == "bf16"
    norm = next(t for t in document["tensors"] if t["name"].endswith("layers.7.input_layernorm.weight"))
    _, document = report("small.gguf", "--against", "thousand.safetensors", "--header-only")
    assert not any(k in t for t in document["tensors"] for k in ("min", "relative_rmse", "histogram"))
    assert {t["against"] for t in document["tensors"]} == {"same type", "not compared"}

    # Values and the norm of what is the same, as if they had been compared.
    _, document = report("thousand.safetensors", "--against", "thousand.safetensors")
    again = next(t for t in document["tensors"] if t["name"] == norm["name"])
    assert again["against"] == "same" and again["relative_rmse"] == 0
    assert math.isclose(again["base_norm"], norm["base_norm"], rel_tol=1e-3), (again, norm)

    # A base of Hugging Face is compared under the names of GGUF.
    report_models.hugging_face("hf", run)
    run("convert", "hf", "hf.gguf", "--type", "q8_0", "--no-tokenizer", "--quiet")
    _, document = report("hf.gguf", "--against", "hf")
    assert document["base"]["is_renamed"] and "keys" not in document["base"]
    assert all(t["against"] in ("same", "differs") and t["relative_rmse"] < 0.02 for t in document["tensors"])
    other = subprocess.run([tare, "report", "hf.gguf", "--against", "hostile.safetensors", "-o", "x.html"],
                           check=False, capture_output=True, text=True)
    assert other.returncode == 2 and "no tensor of" in other.stderr, other
    assert not os.path.exists("x.html")

    behind_url(tare, "hf.gguf")


if __name__ == "__main__":
    main()
