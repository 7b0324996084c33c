# SPDX-License-Identifier: MIT
"""Models behind URLs: the command against servers that do wrong, a look-alike of the hub, and nginx.

    test_remote.py TARE SUITE      SUITE: faults, hub or nginx; 77 where nginx is not installed

Guards against: bytes that are not the file's, a password or a token that reaches a message or another
server, many small requests, waiting for ever.
"""
import email.utils
import hashlib
import json
import os
import re
import shutil
import signal
import socket
import subprocess
import sys
import tempfile
import threading
import time
import unittest

from servers import Hub, Nginx, Server

sys.path.insert(0, os.path.join(os.path.dirname(__file__), "..", "support"))
from safetensors_file import safetensors  # noqa: E402

COMMAND = sys.argv[1]
MIB = 1 << 20
# In wine the command gets no signals, and a killed one sends on for a moment.
needs_signals = unittest.skipIf(COMMAND.endswith("x86_64-windows/tare"), "signals of this system")


class RemoteTest(unittest.TestCase):
    """A folder, an environment without the user's settings, and the command."""

    def setUp(self):
        self.folder = tempfile.mkdtemp(prefix="tare-remote-")
        self.addCleanup(shutil.rmtree, self.folder)
        self.env = {"HOME": self.folder, "PATH": os.environ["PATH"], "NO_PROXY": "*"}
        self.tare("synth", "llama-tiny", "tiny.gguf", "--quiet")
        self.tiny = self.read("tiny.gguf")

    def path(self, name):
        return os.path.join(self.folder, name)

    def read(self, name):
        with open(self.path(name), "rb") as f:
            return f.read()

    def run_tare(self, *words):
        return subprocess.run([COMMAND, *words], cwd=self.folder, env=self.env, timeout=100,
                              stdin=subprocess.DEVNULL, capture_output=True)

    def tare(self, *words, code=0):
        """What it wrote to standard output."""
        done = self.run_tare(*words)
        self.assertEqual(done.returncode, code, done.stderr.decode() or done.stdout[:500])
        return done.stdout.decode("utf-8", "replace")

    def begin_tare(self, *words):
        """The command while it works. A parent may have SIGINT ignored, as a shell for what it puts
        into the background."""
        process = subprocess.Popen([COMMAND, *words], cwd=self.folder, env=self.env,
                                   stdout=subprocess.DEVNULL, stderr=subprocess.PIPE,
                                   preexec_fn=lambda: signal.signal(signal.SIGINT, signal.SIG_DFL))
        self.addCleanup(process.wait)
        self.addCleanup(process.kill)
        return process

    def fault(self, *words, code=4):
        """The line it says on standard error."""
        done = self.run_tare(*words)
        self.assertEqual(done.returncode, code, done.stderr.decode() or done.stdout[:500])
        return done.stderr.decode().strip().removeprefix("tare: ")

    def served(self, routes):
        server = Server(routes)
        self.addCleanup(server.stop)
        return server

    def same_as_tiny(self, url, *more):
        self.assertIn("hold the same model", self.tare("diff", url, "tiny.gguf", *more))


class Faults(RemoteTest):
    """A server that does wrong is either outlived or refused, in words."""

    def good(self, h, _):
        h.send_range(self.tiny)

    def one(self, route):
        server = self.served({"/m.gguf": route})
        return server, server.url + "/m.gguf"

    def test_a_directory_takes_one_request(self):
        server, url = self.one(self.good)
        self.assertIn("llama", self.tare("info", url))
        self.assertEqual([h["Range"] for _, h in server.seen], [f"bytes=0-{MIB - 1}"])

    def test_a_hundred_thousand_tensors_take_three_requests(self):
        big = safetensors([(f"model.layers.{i}.mlp.experts.down_proj.weight", "F32", [1], b"\0" * 4)
                           for i in range(100000)])
        server, url = self.one(lambda h, _: h.send_range(big))
        self.assertIn('"tensor_count": 100000', self.tare("info", "--json", url))
        self.assertLessEqual(len(server.seen), 3)

    def test_one_tensor_takes_its_own_bytes(self):
        server, url = self.one(self.good)
        self.tare("extract", url, "model.norm.weight", "-o", "remote.npy")
        asked = len(server.seen)
        self.tare("extract", "tiny.gguf", "model.norm.weight", "-o", "local.npy")
        self.assertEqual(self.read("remote.npy"), self.read("local.npy"))
        self.assertLessEqual(asked, 3)

    def test_several_outputs_take_the_input_twice(self):
        """Once to measure errors on rows that lie everywhere, once to write, and never more."""
        self.tare("synth", "llama-44m:bf16", "large.gguf", "--type", "bf16", "--quiet", "--no-sync")
        large = self.read("large.gguf")
        server, url = self.one(lambda h, _: h.send_range(large))
        self.tare("quantize", url, ".", "--sizes", "25M,Q4_K_M", "--quiet", "--no-sync")
        sent = sum(min(int(end) + 1, len(large)) - int(first) for first, end in
                   (h["Range"].removeprefix("bytes=").split("-") for _, h in server.seen))
        self.assertLessEqual(sent, 2 * len(large))

    def test_convert_and_pack_give_the_same_bytes(self):
        _, url = self.one(self.good)
        for command, out in (("convert", "safetensors"), ("pack", "wcodec")):
            self.tare(command, url, "remote." + out, "--quiet")
            self.tare(command, "tiny.gguf", "local." + out, "--quiet")
            if command == "convert":
                self.assertEqual(self.read("remote." + out), self.read("local." + out))
            else:
                self.tare("unpack", "remote.wcodec", "back.gguf", "--quiet")
                self.assertEqual(self.read("back.gguf"), self.tiny)

    def test_a_packed_file_is_unpacked_from_its_url(self):
        self.tare("pack", "tiny.gguf", "tiny.wcodec", "--quiet")
        packed = self.read("tiny.wcodec")
        server = self.served({"/tiny.wcodec": lambda h, _: h.send_range(packed)})
        self.tare("unpack", server.url + "/tiny.wcodec", "back.gguf", "--quiet")
        self.assertEqual(self.read("back.gguf"), self.tiny)

    def test_cut_connections_go_on_where_they_stopped(self):
        cuts = iter((700000, 1, 99999, 12345))

        def route(h, _):
            h.send_range(self.tiny, cut=next(cuts, None))
        server, url = self.one(route)
        self.same_as_tiny(url)
        second = server.seen[1][1]
        self.assertEqual(second["Range"], f"bytes=700000-{MIB - 1}")
        self.assertEqual(second["If-Range"], '"one"')

    def test_a_server_that_only_cuts_is_given_up(self):
        server, url = self.one(lambda h, _: h.send_range(self.tiny, cut=0))
        line = self.fault("info", url, "--retries", "2")
        self.assertEqual(line, f"{url}: HTTP 206, bytes 0-{MIB - 1}: the server closes the "
                               "connection before all bytes are there")
        self.assertEqual(len(server.seen), 3)

    def test_busy_servers_are_asked_again(self):
        def route(h, count):
            if count == 1:
                h.reply(503, b"busy")
            elif count == 2:
                h.reply(429, b"slow down", Retry_After=1)
            else:
                self.good(h, count)
        _, url = self.one(route)
        start = time.monotonic()
        self.same_as_tiny(url)
        self.assertGreater(time.monotonic() - start, 1.2)

    def test_waits_are_also_dates_and_limits(self):
        later = lambda: email.utils.formatdate(time.time() + 1.5, usegmt=True)  # noqa: E731
        for headers in (lambda: {"Retry_After": later()},
                        lambda: {"RateLimit": '"resolvers";r=0;t=1', "RateLimit_Policy": '"fixed window";"resolvers";q=3000;w=300'},
                        lambda: {"RateLimit": '"pages";r=9;t=900, "api";r=0;t=1'}):
            def route(h, count, headers=headers):
                if count == 1:
                    h.reply(429, b"slow down", **headers())
                else:
                    self.good(h, count)
            _, url = self.one(route)
            self.same_as_tiny(url)
        # waiting until a limit ends is no try
        _, url = self.one(lambda h, count: h.reply(429, b"", RateLimit='"a";r=0;t=1') if count < 3 else self.good(h, count))
        self.same_as_tiny(url, "--retries", "0")
        for headers in ({"RateLimit": '"a";r=0;t=86400'}, {"Retry_After": "Fri, 31 Dec 9999 23:59:59 GMT"}):
            _, url = self.one(lambda h, _, x=headers: h.reply(429, b"", **x))
            self.assertIn("the server asks to come back later", self.fault("info", url))

    def test_a_range_may_come_with_the_status_of_a_whole_file(self):
        def route(h, _):
            first, end = h.asked(self.tiny)
            h.reply(200, self.tiny[first:end], Content_Range=f"bytes {first}-{end - 1}/{len(self.tiny)}")
        server, url = self.one(route)
        self.same_as_tiny(url)
        self.assertGreater(len(server.seen), 1)
        _, url = self.one(lambda h, _: h.reply(200, self.tiny, Content_Range=f"bytes 0-{len(self.tiny) - 1}/{len(self.tiny)}"))
        self.same_as_tiny(url)
        _, url = self.one(lambda h, _: h.reply(200, self.tiny[5:99], Content_Range=f"bytes 5-98/{len(self.tiny)}"))
        self.assertIn("Content-Range: neither the requested range nor the file", self.fault("info", url, code=3))

    def test_a_wait_that_is_too_long_is_refused(self):
        server, url = self.one(lambda h, _: h.reply(429, b"", Retry_After=86400))
        line = self.fault("info", url)
        self.assertIn("HTTP 429, bytes 0-1048575: the server asks to come back later", line)
        self.assertEqual(len(server.seen), 1)

    def test_a_file_that_changes_is_an_error(self):
        for name, second in (("etag", {"etag": '"two"'}), ("size", {"total": len(self.tiny) + 1})):
            def route(h, count, second=second):
                del h.headers["If-Range"]  # a server that does not know it
                h.send_range(self.tiny, **(second if count > 1 else {}))
            with self.subTest(name):
                _, url = self.one(route)
                line = self.fault("verify", "--deep", url)
                self.assertIn("the file changed on the server while it was read", line)

    def test_if_range_that_does_not_match_is_an_error(self):
        def route(h, count):
            h.send_range(self.tiny, etag='"one"' if count == 1 else '"two"')
        _, url = self.one(route)
        self.assertIn("the file changed on the server", self.fault("verify", "--deep", url))

    def test_if_range_that_a_server_does_not_know_is_left_out(self):
        def route(h, _):
            if "If-Range" in h.headers:
                h.reply(200, self.tiny, ETag='"one"')
            else:
                h.send_range(self.tiny)
        _, url = self.one(route)
        self.same_as_tiny(url)

    def test_wrong_answers_are_refused(self):
        def refuses(route, words, code):
            _, url = self.one(route)
            line = self.fault("info", url, code=code)
            self.assertIn(words, line)
            self.assertTrue(line.startswith(url + ": HTTP "), line)
        tiny = self.tiny
        refuses(lambda h, _: h.send_range(tiny, shift=1), "not the requested range", 3)
        refuses(lambda h, _: h.send_range(tiny, length=5), "Content-Length: not that", 3)
        refuses(lambda h, _: h.send_range(tiny, total="*"), "the size of the file is not stated", 5)
        refuses(lambda h, _: h.send_range(tiny, total="x"), "Content-Range: \"bytes FIRST", 3)
        refuses(lambda h, _: h.reply(206, tiny[:9]), "Content-Range: missing", 3)
        refuses(lambda h, _: h.send_range(tiny, Content_Encoding="gzip"), "compresses the file", 5)
        refuses(lambda h, _: h.reply(404), "the server has no such file", 4)
        _, url = self.one(lambda h, _: h.reply(404))
        self.assertTrue(self.fault("info", url).endswith(": the server has no such file"))
        refuses(lambda h, _: h.reply(403), "the server refuses access", 4)
        refuses(lambda h, _: h.reply(301), "not the response that was expected for a file", 4)
        refuses(lambda h, _: h.reply(204), "not the response that was expected for a file", 4)

    def test_redirections_end(self):
        _, url = self.one(lambda h, _: h.reply(302, Location="/m.gguf"))
        self.assertIn("too many redirections", self.fault("info", url))
        _, url = self.one(lambda h, _: h.reply(302, Location="file:///etc/passwd"))
        self.assertIn("not an http or https URL", self.fault("info", url, code=5))

    def test_a_location_that_expires_is_asked_for_again(self):
        def store(h, count):
            if count == 2:
                h.reply(403, b"expired")
            else:
                self.good(h, count)
        server = self.served({"/m.gguf": lambda h, _: h.reply(307, Location="/store?signature=1"),
                              "/store": store})
        self.same_as_tiny(server.url + "/m.gguf")
        self.assertEqual(server.counts["/m.gguf"], 2)

    def test_a_location_expires_under_several_requests(self):
        """All that are on their way find it, one after the other."""
        both = threading.Barrier(2)

        def expired(h, count):
            if count == 1:
                self.good(h, count)
            else:
                both.wait(60)
                h.reply(403, b"expired")
        server = self.served({"/m.gguf": lambda h, count: h.reply(302, Location=f"/store/{min(count, 2)}"),
                              "/store/1": expired, "/store/2": self.good})
        self.same_as_tiny(server.url + "/m.gguf")

    def test_servers_without_ranges_send_small_files_whole(self):
        server, url = self.one(lambda h, _: h.reply(200, self.tiny))
        self.same_as_tiny(url)
        self.assertEqual(len(server.seen), 1)
        _, url = self.one(lambda h, _: h.reply(200, b"x", Content_Length=1 << 40))
        line = self.fault("info", url, code=5)
        self.assertIn("HTTP 200, bytes 0-1048575: the server sends no byte ranges, and the file is "
                      "too large to be read whole: fetch it with a program that keeps it, such as tare get or curl", line)

    def test_an_empty_file_and_a_page_are_named(self):
        _, url = self.one(lambda h, _: h.reply(416, Content_Range="bytes */0"))
        self.assertIn("the file is empty", self.fault("info", url, code=3))
        _, url = self.one(lambda h, _: h.reply(200, b"<!DOCTYPE html><html>hello</html>"))
        self.assertEqual(self.run_tare("info", url).returncode, 5)

    def test_a_slow_server_is_given_up(self):
        def route(h, _):
            h.send_response(206)
            h.send_header("Content-Range", f"bytes 0-{MIB - 1}/{len(self.tiny)}")
            h.send_header("Content-Length", str(MIB))
            h.end_headers()
            for _ in range(600):  # until the client goes
                h.wfile.write(b"x")
                time.sleep(0.1)
        _, url = self.one(route)
        line = self.fault("info", url, "--timeout", "1", "--retries", "0")
        self.assertIn("the server sends nothing, or less than 1 KB/s", line)

    def test_nobody_listens(self):
        with socket.socket() as s:  # which keeps the port from others
            s.bind(("127.0.0.1", 0))
            line = self.fault("info", f"http://127.0.0.1:{s.getsockname()[1]}/m.gguf", "--retries", "1")
        self.assertIn("bytes 0-1048575: no connection to the server", line)

    @needs_signals
    def test_a_stop_ends_what_waits_and_leaves_nothing(self):
        asked, over = threading.Event(), threading.Event()

        def route(h, count):
            if count == 1:
                self.good(h, count)
            else:
                asked.set()
                over.wait(100)
        _, url = self.one(route)
        self.addCleanup(over.set)
        process = self.begin_tare("convert", url, "out.safetensors")
        self.assertTrue(asked.wait(100))  # then it waits for the answer, however slow the machine
        process.send_signal(signal.SIGINT)
        self.assertIn(b"cancelled", process.communicate(timeout=100)[1])
        over.set()
        self.assertEqual(process.returncode, 130)
        self.assertEqual([n for n in os.listdir(self.folder) if "out" in n], [])

    def test_secrets_stay_where_they_belong(self):
        other = self.served({"/m.gguf": self.good})
        port = other.server_port

        def route(h, _):
            h.reply(302, Location=f"http://localhost:{port}/m.gguf")
        first = self.served({"/m.gguf": route})
        url = first.url.replace("//", "//ann:p%40ss@") + "/m.gguf?signature=secret#part"
        text = self.tare("info", url) + self.tare("info", "--json", url)
        self.assertNotIn("ann", text)
        self.assertNotIn("secret", text)
        self.assertIn(f"{first.url}/m.gguf", text)
        self.assertEqual(first.seen[0][0], "/m.gguf?signature=secret")
        self.assertEqual(first.seen[0][1]["Authorization"], "Basic YW5uOnBAc3M=")
        self.assertNotIn("Authorization", other.seen[0][1])
        first.stop()
        line = self.fault("verify", url, "--retries", "0")
        self.assertNotIn("ann", line)
        self.assertNotIn("secret", line)

    def test_two_urls_that_differ_in_what_is_hidden_stay_two(self):
        self.tare("convert", "tiny.gguf", "half.gguf", "--type", "f16", "--quiet")
        half = self.read("half.gguf")
        _, url = self.one(lambda h, _: h.send_range(half if "v=2" in h.path else self.tiny))
        self.assertIn("#2 differ", self.tare("diff", "--header-only", url + "?v=1", url + "?v=2", code=1))

    def test_a_directory_alone_tells_what_differs(self):
        server, url = self.one(self.good)
        self.assertIn("have the same header", self.tare("diff", "--header-only", url, "tiny.gguf"))
        self.assertEqual(len(server.seen), 1)
        self.tare("convert", "tiny.gguf", "half.gguf", "--type", "f16", "--quiet")
        self.tare("diff", "--header-only", url, "half.gguf", code=1)

    def test_shards_are_found_beside_an_index(self):
        self.tare("synth", "llama-tiny", "set", "--to", "hf", "--shard-size", "2M", "--quiet")
        files = {n: self.read("set/" + n) for n in os.listdir(self.path("set"))}
        server = self.served({f"/a%20b/{n}": lambda h, _, d=d: h.send_range(d)
                              for n, d in files.items()})
        index = "model.safetensors.index.json"
        self.tare("diff", server.url + "/a%20b/" + index, "set/" + index)
        line = self.fault("info", server.url + "/a%20b/", code=2)
        self.assertIn("a web server lists no directories", line)

    def test_the_library_is_only_needed_for_urls(self):
        needed = subprocess.run(["ldd", COMMAND], capture_output=True, text=True).stdout
        self.assertNotIn("curl", needed)


class HubTest(RemoteTest):
    """hf://ORG/NAME is a directory like any."""

    def setUp(self):
        super().setUp()
        self.hub = Hub(token="hf_secret")
        self.addCleanup(self.hub.stop)
        self.env |= {"HF_ENDPOINT": self.hub.url, "HF_TOKEN": "hf_secret"}
        self.tare("synth", "llama-tiny", "set", "--to", "hf", "--shard-size", "2M", "--quiet")
        files = {n: self.read("set/" + n) for n in os.listdir(self.path("set"))}
        files |= {"config.json": b'{"model_type": "llama"}', "README.md": b"# tiny",
                  "1_Pooling/config.json": b"{}"}
        self.hub.add("org/tiny", files)
        self.hub.add("org/llama", files | {"tokenizer.json": b"{}", "config.json":
                                           b'{"model_type": "llama", "architectures": ["LlamaForCausalLM"]}'})
        self.hub.add("org/tiny-GGUF", {"tiny.gguf": self.tiny, "sub dir/t.gguf": self.tiny})

    def test_a_model_is_a_directory(self):
        self.assertIn("hf://org/tiny\n  format        hf", self.tare("info", "hf://org/tiny"))
        resources = [p for p in self.hub.seen.paths() if p.endswith("README.md")]
        self.assertEqual(resources, [], "side files are read when they are asked for")
        self.assertIn("what tare convert makes", self.tare("info", "hf://org/llama"))
        self.assertFalse([p for p in self.hub.seen.paths() if p.endswith("tokenizer.json")])

    def test_its_values_are_those_of_the_local_directory(self):
        os.mkdir(self.path("set/1_Pooling"))
        for name in ("config.json", "README.md", "1_Pooling/config.json"):
            with open(self.path("set/" + name), "wb") as f:
                f.write(self.hub.models["org/tiny"][name])
        self.assertIn("hold the same model", self.tare("diff", "hf://org/tiny", "set"))

    def test_all_files_are_of_one_commit(self):
        self.tare("verify", "--deep", "hf://org/tiny")
        listed, *files = self.hub.seen.paths()
        self.assertEqual(listed, "/api/models/org/tiny/revision/main?blobs=true")
        self.assertTrue(files)
        for path in files:
            self.assertIn(f"/resolve/{Hub.COMMIT}/", path)

    def test_files_folders_and_revisions(self):
        url = "hf://org/tiny-GGUF"
        self.same_as_tiny(url + "/tiny.gguf")
        self.same_as_tiny(url + "@refs/pr/1/sub dir/")
        self.same_as_tiny(url + "@refs%2Fpr%2F1/sub dir/t.gguf")
        self.assertIn("/org/tiny-GGUF/resolve/refs%2Fpr%2F1/sub%20dir/t.gguf", self.hub.seen.paths())

    def test_a_pipeline_is_the_models_that_its_index_names(self):
        part = {name: data for name, data in self.hub.models["org/tiny"].items() if "/" not in name}
        index = b'{"_class_name": "X", "unet": ["diffusers", "U"], "vae": ["diffusers", "V"], "scheduler": ["diffusers", "S"]}'
        files = {f"unet/{name}": data for name, data in part.items()}
        files |= {"model_index.json": index, "scheduler/scheduler_config.json": b"{}"}
        self.hub.add("org/pipe", files)
        done = self.run_tare("info", "hf://org/pipe")
        self.assertEqual(done.returncode, 5)
        self.assertRegex(done.stdout.decode(), r"hf://org/pipe/unet/ +hf +llama")
        self.assertNotIn(b"scheduler", done.stdout + done.stderr)
        self.assertIn(b"hf://org/pipe/vae/: a directory that is not a model", done.stderr)
        self.hub.add("org/pipe", files | {"model_index.json": b"["})
        self.assertEqual(self.fault("info", "hf://org/pipe", code=3),
                         "hf://org/pipe/model_index.json: byte 1: JSON text ends too early")

    def test_a_token_goes_to_the_hub_alone(self):
        self.same_as_tiny("hf://org/tiny-GGUF/tiny.gguf")
        for _, headers in self.hub.seen:
            self.assertEqual(headers["Authorization"], "Bearer hf_secret")
        self.assertTrue(self.hub.store.seen)
        for _, headers in self.hub.store.seen:
            self.assertNotIn("Authorization", headers)

    def test_a_token_comes_from_its_file(self):
        del self.env["HF_TOKEN"]
        line = self.fault("info", "hf://org/tiny")
        self.assertEqual(line, "hf://org/tiny: HTTP 401, bytes 0-1048575: the model is gated: accept "
                               "its conditions on the hub, and give a token of the account that did")
        folder = self.path(".cache/huggingface")
        os.makedirs(folder)
        with open(os.path.join(folder, "token"), "w") as f:
            f.write("hf_secret\n")
        self.tare("info", "hf://org/tiny")

    def test_folders_may_begin_with_home(self):
        del self.env["HF_TOKEN"]
        os.makedirs(self.path("hf/hub"))
        with open(self.path("hf/token"), "w") as f:
            f.write("secret\n")
        self.hub.token = "secret"
        for home in ("~/hf", "$HOME/hf", "${HOME}/hf"):
            self.env["HF_HOME"] = home
            self.tare("info", "hf://org/tiny-GGUF/tiny.gguf")
        del self.env["HF_HOME"]
        self.env["HF_TOKEN_PATH"] = "~/hf/token"
        self.tare("info", "hf://org/tiny-GGUF/tiny.gguf")

    def test_a_token_is_trimmed(self):
        for token in ("hf_secret\n", " hf_secret\r\n", "hf_sec\nret", "\ufeffhf_secret\r\n", "\v\fhf_secret\f"):
            self.env["HF_TOKEN"] = token
            self.tare("info", "hf://org/tiny")
            self.assertEqual(self.hub.seen[-1][1]["Authorization"], "Bearer hf_secret")
        del self.env["HF_TOKEN"]
        self.env["HUGGING_FACE_HUB_TOKEN"] = "hf_secret\n"
        self.tare("info", "hf://org/tiny")
        self.env["HUGGING_FACE_HUB_TOKEN"] = "\n"
        os.makedirs(self.path("home"))
        self.env["HF_HOME"] = self.path("home")
        with open(self.path("home/token"), "w") as f:
            f.write("\n  hf_secret\n")
        self.tare("info", "hf://org/tiny")
        with open(self.path("home/token"), "w", encoding="utf-8-sig") as f:
            f.write("hf_secret\n")
        self.tare("info", "hf://org/tiny")
        os.remove(self.path("home/token"))
        os.mkdir(self.path("home/token"))  # what is there and cannot be read is not missing
        self.assertIn("the file of the hub's token cannot be read", self.fault("info", "hf://org/tiny"))
        self.tare("info", self.hub.store.url + next(iter(self.hub.store.routes)))

    def cache(self, folder, model="org/tiny", ref="main"):
        """A model as the hub's tools keep it."""
        root = os.path.join(self.path(folder), "models--" + model.replace("/", "--"))
        snapshot = os.path.join(root, "snapshots", Hub.COMMIT)
        for name in (snapshot, root + "/refs", root + "/blobs"):
            os.makedirs(name, exist_ok=True)
        with open(os.path.join(root, "refs", ref), "w") as f:
            f.write(Hub.COMMIT)
        for name, data in self.hub.models[model].items():
            blob = hashlib.sha256(data).hexdigest()
            with open(os.path.join(root, "blobs", blob), "wb") as f:
                f.write(data)
            os.makedirs(os.path.dirname(os.path.join(snapshot, name)), exist_ok=True)
            os.symlink(os.path.relpath(os.path.join(root, "blobs", blob), os.path.dirname(os.path.join(snapshot, name))),
                       os.path.join(snapshot, name))

    def test_offline_nothing_is_asked(self):
        for name, value in (("HF_HUB_OFFLINE", "1"), ("HF_HUB_OFFLINE", "true"), ("TRANSFORMERS_OFFLINE", "YES")):
            self.env[name] = value
            for url in ("hf://org/tiny", "hf://org/tiny/config.json", self.hub.url + "/org/tiny/resolve/main/x.gguf"):
                self.assertIn("offline: nothing is asked of the hub", self.fault("info", url))
            del self.env[name]
        self.assertEqual(self.hub.seen, [])
        self.env["HF_HUB_OFFLINE"] = "0"
        self.tare("info", "hf://org/tiny")
        self.assertTrue(self.hub.seen)

    def test_offline_the_cache_is_read(self):
        self.env["HF_HUB_OFFLINE"] = "1"
        os.mkdir(self.path("set/1_Pooling"))
        for name in ("config.json", "README.md", "1_Pooling/config.json"):
            with open(self.path("set/" + name), "wb") as f:
                f.write(self.hub.models["org/tiny"][name])
        for name, value, folder in (("HF_HUB_CACHE", "a", "a"), ("HUGGINGFACE_HUB_CACHE", "b", "b"), ("HF_HOME", "c", "c/hub"),
                                    ("XDG_CACHE_HOME", "d", "d/huggingface/hub"), ("HOME", "e", "e/.cache/huggingface/hub")):
            self.cache(folder)
            old, self.env[name] = self.env.get(name), self.path(value)
            for url in ("hf://org/tiny", "hf://org/tiny@" + Hub.COMMIT):
                self.assertIn("hold the same model", self.tare("diff", url, "set"))
            self.tare("info", "hf://org/tiny/model.safetensors.index.json")
            self.assertIn("offline", self.fault("info", "hf://org/tiny@other"))
            self.assertIn("offline", self.fault("info", "hf://org/tiny/none.gguf"))
            self.assertIn("offline", self.fault("info", "hf://org/llama"))
            self.env[name] = old if old else ""
        self.assertEqual(self.hub.seen, [])

    def several(self):
        """A repository of several GGUF models, one of them in shards."""
        self.tare("convert", "tiny.gguf", "split", "--to", "gguf", "--shard-size", "1M", "--quiet")
        shards = sorted(os.listdir(self.path("split")))
        self.assertGreater(len(shards), 1)
        files = {f"Q8_0/m-Q8_0{n[-20:]}": self.read("split/" + n) for n in shards}
        self.tare("convert", "tiny.gguf", "q.gguf", "--type", "q4_0", "--quiet")
        files |= {"m-Q4_0.gguf": self.read("q.gguf"), "m-BF16.gguf": self.tiny, "m-Q4_0_4_4.gguf": self.tiny,
                  "mmproj-BF16.gguf": self.tiny, "a-F32.gguf": self.tiny, "b-F32.gguf": self.tiny, "README.md": b"# several"}
        self.hub.add("org/several", files)

    def check_types(self):
        for kind, name in (("q4_0", "m-Q4_0.gguf"), ("BF16", "m-BF16.gguf"), ("Q8_0", "Q8_0/m-Q8_0-00001-of-")):
            url = "hf://org/several:" + kind
            said = json.loads(self.tare("info", url, "--json"))
            self.assertEqual((said["models"][0]["input"], said["models"][0]["format"]), (url, "gguf"))
            self.assertTrue(any(name in f["name"] for f in said["models"][0]["files"]), said["models"][0]["files"])
            self.assertRegex(self.tare("info", url), "\n  file +.*/" + name)
        self.assertIn("hold the same model", self.tare("diff", "tiny.gguf", "hf://org/several:q8_0"))
        several = self.fault("convert", "hf://org/several:f32", "x.gguf", code=2)
        self.assertIn("several GGUF models are of this type", several)
        self.assertTrue(several.endswith("\nthe models there: a-F32.gguf, b-F32.gguf"), several)
        none = self.fault("verify", "hf://org/several:F16", code=2)
        self.assertIn("no GGUF model is of this type", none)
        self.assertRegex(none, r"there: Q8_0/m-Q8_0-00001-of-\d+.gguf, a-F32.gguf, b-F32.gguf, m-BF16.gguf, m-Q4_0.gguf, m-Q4_0_4_4.gguf, mmproj-BF16.gguf$")
        self.assertIn("as in hf://ORG/NAME:Q4_K_M", self.fault("info", "hf://org/several:", code=2))

    def test_a_type_names_a_file(self):
        self.several()
        self.check_types()
        listed, *files = self.hub.seen.paths()
        self.assertEqual(listed, "/api/models/org/several/revision/main?blobs=true")
        self.assertIn(f"/resolve/{Hub.COMMIT}/", files[0])
        self.env["HF_HUB_OFFLINE"] = "1"
        self.env["HF_HUB_CACHE"] = self.path("cached")
        self.cache("cached", "org/several")
        self.hub.seen.clear()
        self.check_types()
        self.assertEqual(self.hub.seen, [])

    def test_models_of_a_repository_are_a_table(self):
        self.several()
        table = self.tare("info", "hf://org/several").splitlines()
        self.assertEqual(len(table), 8, table)
        self.assertRegex(table[0], "^MODEL.*PARAMETERS +SIZE +BITS/WEIGHT")
        self.assertTrue(any(re.match(r"hf://org/several/m-Q4_0\.gguf +gguf.* 4\.\d\d ", row) for row in table), table)
        said = json.loads(self.tare("info", "hf://org/several", "--json"))
        self.assertEqual(len(said["models"]), 7)
        self.assertIn("-of-00010.gguf, a-F32.gguf, b-F32.gguf", self.fault("convert", "hf://org/several", "x.gguf", code=5))

    def test_the_cache_comes_before_the_network(self):
        self.env["HF_HUB_CACHE"] = self.path("cached")
        self.cache("cached")
        self.assertIn("hold the same model", self.tare("diff", "hf://org/tiny", "hf://org/tiny@" + Hub.COMMIT))
        self.assertEqual(set(self.hub.seen.paths()), {"/api/models/org/tiny/revision/main?blobs=true",
                                                      f"/api/models/org/tiny/revision/{Hub.COMMIT}?blobs=true"})
        self.tare("info", f"hf://org/tiny@{Hub.COMMIT}/model.safetensors.index.json")
        self.assertEqual(len(self.hub.seen), 2)
        shard = os.path.join(self.path("cached"), "models--org--tiny/snapshots", Hub.COMMIT)
        shard = os.path.join(shard, next(n for n in sorted(os.listdir(shard)) if n.endswith(".safetensors")))
        with open(shard, "r+b") as f:
            f.truncate(1000)
        self.tare("verify", "--deep", "hf://org/tiny")
        self.assertTrue(any("/resolve/" in p for p in self.hub.seen.paths()), "a file of another size is fetched")

    def test_parts_are_of_one_commit(self):
        words = ("pack", "hf://org/tiny", "out.wcodec", "--quiet", "--part")
        self.tare(*words, "1/2")
        self.env["HF_HUB_CACHE"] = self.path("cached")
        self.cache("cached")
        self.tare(*words, "2/2")  # of the same commit, from another place
        self.tare("status", "out.wcodec")
        del self.env["HF_HUB_CACHE"]
        self.hub.COMMIT = "f" * 40
        self.assertIn("another input", self.fault(*words, "2/2", code=2))

    def test_pages_of_the_hub(self):
        self.hub.token = None
        url = self.hub.url + "/org/tiny-GGUF"
        self.same_as_tiny(url + "/blob/main/tiny.gguf")
        self.same_as_tiny(url + "/blob/main/tiny.gguf?download=true")
        self.same_as_tiny(url + "/raw/main/tiny.gguf")
        for revision in ("refs/pr/1", "refs%2Fpr%2F1"):
            self.same_as_tiny(f"{url}/blob/{revision}/tiny.gguf")
            self.same_as_tiny(f"{url}/resolve/{revision}/tiny.gguf")
        for page in ("", "/", "/tree/main", "/tree/main/sub"):
            self.assertIn("hf://ORG/NAME", self.fault("info", url + page, code=2))
        self.assertFalse([p for p in self.hub.seen.paths() if "/blob/" in p or "/tree/" in p])

    def test_what_is_not_there(self):
        self.assertIn("HTTP 404, bytes 0-1048575: the hub has no such model, revision or file",
                      self.fault("info", "hf://org/none"))
        self.assertIn("the hub has no such", self.fault("info", "hf://org/tiny@v9/model.safetensors"))
        for url in ("hf://org", "hf://org/", "hf://org/a b", "hf://org/../x", "hf://org/n@/f",
                    "hf://org/name/../f"):
            self.assertIn("hf://ORG/NAME[@REVISION][/FILE], or :TYPE in place of /FILE, expected",
                          self.fault("info", url, code=2), url)

    def test_lists_that_lie_are_refused(self):
        def lists(text):
            self.hub.answer = lambda h, _: h.reply(200, text)
            return self.fault("info", "hf://org/tiny", code=3)
        self.assertIn('hf://org/tiny: byte 27: siblings[0]: rfilename: a path in the model expected',
                      lists(b'{"siblings":[{"rfilename": "../../etc/passwd"}]}'))
        self.assertIn("siblings: missing", lists(b"{}"))
        self.assertIn("twice", lists(b'{"siblings":[{"rfilename":"a"},{"rfilename":"a"}]}'))

    def test_pack_keeps_the_index(self):
        self.tare("pack", "hf://org/tiny", "tiny.wcodec", "--quiet")
        self.tare("unpack", "tiny.wcodec", "back", "--quiet")
        for name in ("model.safetensors.index.json", "README.md", "1_Pooling/config.json"):
            self.assertEqual(self.read("back/" + name), self.hub.models["org/tiny"][name])


class NginxTest(RemoteTest):
    """A real server, by HTTP/1.1 and, with TLS, HTTP/2."""

    def setUp(self):
        super().setUp()
        os.mkdir(self.path("files"))
        shutil.copy(self.path("tiny.gguf"), self.path("files/tiny.gguf"))
        os.mkdir(self.path("nginx"))
        self.nginx = Nginx(self.path("nginx"), self.path("files"))
        self.addCleanup(self.nginx.stop)

    def test_ranges(self):
        self.same_as_tiny(self.nginx.url + "/tiny.gguf")
        self.assertTrue(all(line.startswith("206 ") for line in self.nginx.log()), self.nginx.log())

    def test_tls_is_verified(self):
        url = self.nginx.tls_url + "/tiny.gguf"
        self.assertIn("the server's certificate is not trusted", self.fault("info", url))
        for variable in ("CURL_CA_BUNDLE", "SSL_CERT_FILE"):
            self.env[variable] = self.nginx.cert
            self.same_as_tiny(url)
            del self.env[variable]

    def test_redirections(self):
        self.env["CURL_CA_BUNDLE"] = self.nginx.cert
        self.same_as_tiny(self.nginx.url + "/moved/tiny.gguf")
        asked = [line.split()[1] for line in self.nginx.log()]
        self.assertEqual(asked.count("/moved/tiny.gguf"), 1, "where it leads is kept")
        self.assertIn("redirected from https to http",
                      self.fault("info", self.nginx.tls_url + "/down/tiny.gguf", code=5))

    def test_no_ranges(self):
        self.same_as_tiny(self.nginx.url + "/whole/tiny.gguf")
        with open(self.path("files/large.gguf"), "wb") as f:
            f.truncate(65 * MIB)
        self.assertIn("HTTP 200, bytes 0-1048575: the server sends no byte ranges",
                      self.fault("info", self.nginx.url + "/whole/large.gguf", code=5))

    def test_passwords(self):
        url = self.nginx.url + "/closed/tiny.gguf"
        self.assertIn("HTTP 401", self.fault("info", url))
        self.same_as_tiny(url.replace("//", "//ann:s3cr3t%2Fword@"))

    def test_a_slow_server_is_waited_for(self):
        self.same_as_tiny(self.nginx.url + "/slow/tiny.gguf")

    def test_a_file_that_is_replaced_is_an_error(self):
        process = self.begin_tare("verify", "--deep", self.nginx.url + "/slow/tiny.gguf")
        self.nginx.wait_for_reader(self.path("files/tiny.gguf"))
        changed = bytearray(self.tiny)
        changed[-1] ^= 1
        with open(self.path("files/new"), "wb") as f:
            f.write(changed)
        os.utime(self.path("files/new"), (1, 1))
        os.rename(self.path("files/new"), self.path("files/tiny.gguf"))
        self.assertIn(b"the file changed on the server", process.communicate(timeout=60)[1])


def main():
    suites = {"faults": Faults, "hub": HubTest, "nginx": NginxTest}
    if sys.argv[2] == "nginx" and not Nginx.available:
        print("SKIP: nginx is not installed (nginx-light, openssl)")
        return 77
    loader = unittest.defaultTestLoader
    loader.testNamePrefixes = sys.argv[3:] or None
    suite = loader.loadTestsFromTestCase(suites[sys.argv[2]])
    result = unittest.TextTestRunner(verbosity=1).run(suite)
    return 0 if result.wasSuccessful() else 1


if __name__ == "__main__":
    sys.exit(main())
