# SPDX-License-Identifier: MIT
"""Downloads: `tare get` from a look-alike of the hub and from other servers.

    test_get.py TARE get [TEST...]

Guards against: a file that is not the one asked for, bytes that are fetched twice, what has arrived and
is lost with the run.
"""
import gzip
import hashlib
import json
import os
import re
import sys
import threading
import time
import unittest

from servers import Hub
from test_remote import MIB, RemoteTest


class GetTest(RemoteTest):
    """Downloads: whole files, checked, whatever ended the run before."""

    def setUp(self):
        super().setUp()
        self.hub = Hub()
        self.addCleanup(self.hub.stop)
        self.env |= {"HF_ENDPOINT": self.hub.url}
        self.large = bytes(range(256)) * (24 * MIB // 256)
        self.digest = hashlib.sha256(self.large).hexdigest()
        self.files = {"model.bin": self.large, "config.json": b'{"model_type": "llama"}', "sub/a.json": b"[]"}
        self.hub.add("org/large", self.files)

    def parts(self, folder="large"):
        return [n for n in os.listdir(self.path(folder)) if n.endswith(".tare-part")]

    def check_all(self, folder="large"):
        for name, data in self.files.items():
            self.assertEqual(self.read(f"{folder}/{name}"), data)
        self.assertEqual(self.parts(folder), [])

    def test_a_model_is_fetched_once(self):
        said = self.tare("get", "hf://org/large")
        self.assertIn("large: 3 files, 25.2 MB, all checked", said)
        self.check_all()
        self.hub.store.seen.clear()
        self.assertIn("3 there already, all checked", self.tare("get", "hf://org/large"))
        self.assertEqual(self.hub.store.seen, [])

    def test_names_of_files_folders_and_types(self):
        self.hub.add("org/many", {"m-Q4_K_M.gguf": b"4" * 5000, "m-Q4_K_S.gguf": b"s", "b/m-q4_k_m-00001-of-00002.gguf": b"5",
                                  "README.md": b"# m"})
        self.tare("get", "hf://org/many:q4_k_m", "-o", "typed")
        self.assertEqual(sorted(os.listdir(self.path("typed"))), ["b", "m-Q4_K_M.gguf"])
        self.tare("get", "hf://org/many@main/b/", "-o", "folder")
        self.assertEqual(os.listdir(self.path("folder")), ["b"])
        self.tare("get", "hf://org/many@main/b/", "again")
        self.assertEqual(os.listdir(self.path("again")), ["b"])
        self.assertIn("named twice", self.fault("get", "hf://org/many@main/b/", "again", "-o", "folder", code=2))
        self.tare("get", "hf://org/many/README.md")
        self.assertEqual(self.read("README.md"), b"# m")
        none = self.fault("get", "hf://org/many:Q8_0", code=2)
        self.assertIn("no GGUF file of this type", none)
        self.assertIn("the models there: b/m-q4_k_m-00001-of-00002.gguf, m-Q4_K_M.gguf, m-Q4_K_S.gguf", none)
        self.assertIn("no file of this name", self.fault("get", "hf://org/many/x.gguf", code=2))
        said = json.loads(self.tare("get", "hf://org/many", "-n", "--json"))
        self.assertEqual(len(said["files"]), 4)
        self.assertFalse(os.path.exists(self.path("many")))

    def test_a_killed_run_is_gone_on_with(self):
        may_go_on = threading.Event()

        def stop_midway(handler, _):
            if handler.asked(self.large)[0] >= 12 * MIB:
                may_go_on.wait(60)
            handler.send_range(self.large, f'"{self.digest}"')

        self.hub.store.routes["/" + self.digest] = stop_midway
        process = self.begin_tare("get", "hf://org/large")
        for _ in range(600):
            found = self.parts() if os.path.isdir(self.path("large")) else []
            if found and os.path.getsize(self.path("large/" + found[0])) >= 8 * MIB:
                break
            time.sleep(0.05)
        process.kill()
        process.wait()
        may_go_on.set()
        self.assertEqual(len(self.parts()), 1)
        self.hub.store.seen.clear()
        self.assertIn("from an earlier run, all checked", self.tare("get", "hf://org/large"))
        first = min(int(headers["Range"].partition("=")[2].partition("-")[0]) for _, headers in self.hub.store.seen)
        self.assertGreaterEqual(first, 8 * MIB)
        self.check_all()

    def arrive(self, *command, path, until):
        """Runs the command, and kills it when a part of at least so many bytes is there; how many are."""
        process = self.begin_tare(*command)
        for _ in range(1200):
            found = self.parts(path) if os.path.isdir(self.path(path)) else []
            if found and os.path.getsize(self.path(f"{path}/{found[0]}")) >= until:
                break
            time.sleep(0.05)
        process.kill()
        process.wait()
        return os.path.getsize(self.path(f"{path}/{self.parts(path)[0]}"))

    def test_little_that_has_arrived_is_kept(self):
        """A slow link: no run lives until a mebibyte is there."""
        data = self.large[:2 * MIB]

        def trickle(handler, _):
            first, end = handler.asked(data)
            handler.send_response(206)
            for name, value in (("ETag", f'"{digest}"'), ("Content-Length", end - first),
                                ("Content-Range", f"bytes {first}-{end - 1}/{len(data)}")):
                handler.send_header(name, str(value))
            handler.end_headers()
            for at in range(first, end, 16384):
                handler.wfile.write(data[at:min(at + 16384, end)])
                handler.wfile.flush()
                time.sleep(0 if is_fast else 0.01)

        digest, is_fast = hashlib.sha256(data).hexdigest(), False
        self.files = {"model.bin": data}
        self.hub.add("org/slow", self.files)
        self.hub.store.routes["/" + digest] = self.hub.store.routes["/x.bin"] = trickle
        for name, url in ("slow", "hf://org/slow"), ("plain", self.hub.store.url + "/x.bin"):
            kept, is_fast = 0, False
            command = ("get", url, "-o", name)
            for until in 300_000, 700_000, 1_200_000:
                before, kept = kept, self.arrive(*command, path=name, until=until)
                self.assertGreaterEqual(kept, until)
                self.assertGreater(kept, before)
            is_fast = True
            self.hub.store.seen.clear()
            self.assertIn("from an earlier run", self.tare(*command))
            asked = [re.match("bytes=([0-9]+)-", headers["Range"]) for _, headers in self.hub.store.seen]
            # Of a file that no list has told of, the last byte that is there is asked for: its answer tells the version.
            self.assertEqual(min(int(a[1]) for a in asked), kept if name == "slow" else kept - 1, "nothing is fetched twice")
            if name == "slow":
                self.check_all("slow")
            else:
                self.assertEqual(self.read("plain/x.bin"), data)

    def serve(self, data, until=None):
        """The URL of a file that no list tells of; of bytes from `until` on nothing comes while the test runs."""
        tag, never = f'"{hashlib.sha256(data).hexdigest()}"', threading.Event()
        self.addCleanup(never.set)

        def answer(handler, _):
            if until is not None and handler.asked(data)[0] >= until:
                never.wait(60)
            handler.send_range(data, tag)

        self.hub.store.routes["/x.bin"] = answer
        return self.hub.store.url + "/x.bin"

    def test_a_part_of_another_version_is_left_alone(self):
        """Of a file that no list tells of: what is asked for first may lie beyond its end, or be another's."""
        for folder, now in ("shorter", self.large[:MIB]), ("other", self.large[::-1]):
            command = "get", self.serve(self.large, until=12 * MIB), "-o", folder
            self.arrive(*command, path=folder, until=8 * MIB)
            self.serve(now)
            self.assertNotIn("earlier run", self.tare(*command))
            self.assertEqual(self.read(folder + "/x.bin"), now)

    def test_a_part_that_is_all_there_gets_its_name(self):
        command = "get", self.serve(self.large, until=12 * MIB), "-o", "plain"
        self.arrive(*command, path="plain", until=8 * MIB)
        with open(self.path("plain/" + self.parts("plain")[0]), "wb") as part:
            part.write(self.large)
        self.serve(self.large)
        self.assertIn("25.2 MB from an earlier run", self.tare(*command))
        self.assertEqual(self.read("plain/x.bin"), self.large)
        self.assertEqual(self.parts("plain"), [])

    def test_what_a_file_of_a_server_is_called(self):
        for path, name in ("/a%20b.bin", "a b.bin"), ("/..%2Fx.bin", "..%2Fx.bin"), ("/%2E%2E", "%2E%2E"):
            self.hub.store.routes[path] = lambda handler, _: handler.send_range(b"x" * 99)
            self.tare("get", self.hub.store.url + path, "-o", "named")
            self.assertEqual(self.read("named/" + name), b"x" * 99)
        for name, told in ("m.gguf", "keep their names"), ("m.wcodec", "--pack makes a .wcodec"):
            self.assertIn(told, self.fault("get", self.hub.store.url + "/a%20b.bin", "-o", name, code=2))
            self.assertFalse(os.path.exists(self.path(name)))

    def test_a_large_file_of_a_server_without_ranges(self):
        """It is too large to be kept in memory until all of it is there."""
        data, tag = bytes(range(256)) * (65 * MIB // 256), '"one"'
        url, command = self.hub.store.url + "/x.bin", ("get", self.hub.store.url + "/x.bin", "-o", "plain")

        def answer(handler, count):
            cut = 30 * MIB if count == 2 else None
            handler.reply(200, data[:cut], Content_Length=len(data), ETag=tag)
            handler.close_connection = cut is not None

        self.hub.store.routes["/x.bin"] = answer
        self.assertIn("68.2 MB", self.tare(*command, "-n"))
        self.assertFalse(os.path.exists(self.path("plain")))
        self.assertIn("68.2 MB, not checked", self.tare(*command))  # the connection breaks once
        self.assertEqual(self.hub.store.counts["/x.bin"], 3)
        self.assertEqual(self.read("plain/x.bin"), data)
        data = data[::-1]
        self.assertIn("the output exists", self.fault(*command, code=2))
        self.assertNotEqual(self.read("plain/x.bin"), data)
        self.tare(*command, "-f")
        self.assertEqual(self.read("plain/x.bin"), data)
        self.assertEqual(self.parts("plain"), [])
        self.assertIn("such as tare get", self.fault("info", url, code=5))

    def packed_model(self):
        """A directory of Hugging Face on the hub, and what its files are."""
        self.tare("synth", "llama-tiny", "made", "--to", "hf", "--type", "bf16", "-q")
        files = {n: self.read("made/" + n) for n in os.listdir(self.path("made"))}
        files["sub/notes.md"] = b"# notes"
        self.hub.add("org/packed", files)
        return files

    def check_unpacked(self, packed, files):
        self.tare("unpack", packed, "again")
        for name, data in files.items():
            self.assertEqual(self.read("again/" + name), data)

    def test_a_download_is_packed(self):
        files = self.packed_model()
        self.assertIn("would fetch and pack into packed.wcodec", self.tare("get", "hf://org/packed", "--pack", "-n"))
        said = json.loads(self.tare("get", "hf://org/packed", "--pack", "--json"))
        self.assertEqual((said["output"], said["packed_bytes"]), ("packed.wcodec", os.path.getsize(self.path("packed.wcodec"))))
        self.check_unpacked("packed.wcodec", files)
        self.assertEqual([n for n in os.listdir(self.path(".")) if "tare-" in n], [])
        self.assertIn("--force replaces it", self.fault("get", "hf://org/packed", "--pack", code=2))
        self.assertIn("ends in .wcodec", self.fault("get", "hf://org/packed", "--pack", "-o", "folder", code=2))
        self.assertFalse(os.path.exists(self.path("folder")))

    def test_types_and_files_are_packed(self):
        self.hub.add("org/g", {"m-Q8_0.gguf": self.tiny, "n-F16.gguf": self.tiny + b"", "o-F16.gguf": self.tiny, "a.md": b"#"})
        self.tare("get", "hf://org/g:q8_0", "--pack")
        self.tare("unpack", "g-q8_0.wcodec", "m.gguf")
        self.assertEqual(self.read("m.gguf"), self.tiny)
        self.tare("get", "hf://org/g@main/n-F16.gguf", "--pack", "-o", "n.wcodec")
        self.assertIn("several models", self.fault("get", "hf://org/g:F16", "--pack", code=2))
        self.assertEqual(self.read(".g-F16.wcodec.tare-get/o-F16.gguf"), self.tiny)
        self.hub.store.seen.clear()
        self.fault("get", "hf://org/large", "--pack", code=5)
        self.assertFalse(os.path.exists(self.path(".large.wcodec.tare-get")))

    def test_a_killed_run_that_packs_is_gone_on_with(self):
        files = self.packed_model()
        name = max(files, key=lambda n: len(files[n]))
        digest = hashlib.sha256(files[name]).hexdigest()
        may_go_on, n_asked = threading.Event(), []

        def stop(handler, _):
            n_asked.append(handler.asked(files[name])[0])
            if len(n_asked) > 2:
                may_go_on.wait(60)
            handler.send_range(files[name], f'"{digest}"')

        self.hub.store.routes["/" + digest] = stop
        process = self.begin_tare("get", "hf://org/packed", "--pack")
        for _ in range(600):
            if os.path.exists(self.path(".packed.wcodec.tare-get/config.json")):
                break
            time.sleep(0.05)
        process.kill()
        process.wait()
        may_go_on.set()
        self.assertFalse(os.path.exists(self.path("packed.wcodec")))
        self.assertIn("there already", self.tare("get", "hf://org/packed", "--pack"))
        self.check_unpacked("packed.wcodec", files)

    def test_a_part_that_went_wrong_is_fetched_anew(self):
        os.makedirs(self.path("large"))
        part = f"large/.model.bin.{self.digest[:16]}.tare-part"
        for begun in (b"\0" * (5 * MIB), self.large + b"more"):
            with open(self.path(part), "wb") as f:
                f.write(begun)
            self.tare("get", "hf://org/large", "--force")
            self.check_all()
            os.remove(self.path("large/model.bin"))

    def test_bytes_that_are_not_the_stated_ones(self):
        wrong = self.large[:-1] + b"x"
        self.hub.store.routes["/" + self.digest] = lambda h, _: h.send_range(wrong, '"w"')
        self.assertIn("do not have the digest", self.fault("get", "hf://org/large/model.bin", code=3))
        self.assertFalse(os.path.exists(self.path("model.bin")))
        self.assertEqual(os.path.getsize(self.path(self.parts(".")[0])), 0)

    def test_what_is_in_the_way(self):
        os.makedirs(self.path("large"))
        with open(self.path("large/config.json"), "wb") as f:
            f.write(b"mine")
        self.assertIn("--force replaces it", self.fault("get", "hf://org/large", code=2))
        self.assertEqual(self.read("large/config.json"), b"mine")
        self.tare("get", "hf://org/large", "--force")
        self.check_all()

    def test_what_another_server_sends_is_looked_at(self):
        for at, (body, code, words) in enumerate((
                (self.tiny[:-1000], 3, "the file ends 1000 bytes too early"), (b"", 3, "the file is empty"),
                (gzip.compress(self.tiny), 5, "a gzip archive"), (b"<!DOCTYPE html><html>log in</html>", 5, "an HTML page"),
                (b'{"error":"not found"}', 5, "an error in JSON"), (b"Not found", 3, "a short text"))):
            server = self.served({"/m.gguf": lambda h, _, b=body: h.reply(200, b)})
            text = self.fault("get", server.url + "/m.gguf", "-o", f"x{at}", code=code)
            self.assertIn(words, text)
            self.assertIn("this is what the server sent; it was kept", text)
        server = self.served({"/README.md": lambda h, _: h.reply(200, b"# Tiny"),
                              "/m-00001-of-00002.gguf": lambda h, _: h.send_range(self.tiny)})
        for name in server.routes:
            self.tare("get", server.url + name, "-o", "y")

    def test_another_server_states_no_digest(self):
        server = self.served({"/m.gguf": lambda h, _: h.send_range(self.tiny)})
        self.assertIn("the server states no digest", self.tare("get", server.url + "/m.gguf", "-o", "x"))
        self.assertEqual(self.read("x/m.gguf"), self.tiny)
        self.assertIn("--force replaces it", self.fault("get", server.url + "/m.gguf", "-o", "x", code=2))

    def test_offline_nothing_is_asked(self):
        self.env["HF_HUB_OFFLINE"] = "1"
        self.assertIn("HF_HUB_OFFLINE", self.fault("get", "hf://org/large"))
        self.assertEqual(self.hub.seen, [])


def main():
    loader = unittest.defaultTestLoader
    loader.testNamePrefixes = sys.argv[3:] or None
    result = unittest.TextTestRunner(verbosity=1).run(loader.loadTestsFromTestCase(GetTest))
    return 0 if result.wasSuccessful() else 1


if __name__ == "__main__":
    sys.exit(main())
