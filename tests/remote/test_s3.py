# SPDX-License-Identifier: MIT
"""Models in object stores: the command against a look-alike that checks signatures and does wrong when
asked to.

    test_s3.py TARE SUITE      SUITE: read

Guards against: a secret in a message, an unsigned or wrongly signed request, keys whose characters are
changed on the way, half of a list, bytes that are not the object's.
"""
import hashlib
import os
import sys
import unittest

import store
from store import Store
from test_remote import RemoteTest

ODD = "a b+c%20/\u00e9\u6f22&<'(x)!*.gguf"


class StoreTest(RemoteTest):
    def setUp(self):
        super().setUp()
        self.store = Store()
        self.addCleanup(self.store.stop)
        self.env.update(AWS_ACCESS_KEY_ID=store.ACCESS, AWS_SECRET_ACCESS_KEY=store.SECRET,
                        AWS_REGION=store.REGION, AWS_ENDPOINT_URL_S3=self.store.url + "/",
                        AWS_ENDPOINT_URL="http://127.0.0.1:1")
        self.store.objects["m/tiny.gguf"] = self.tiny
        self.url = "s3://models/m/tiny.gguf"

    def anonymous(self):
        del self.env["AWS_ACCESS_KEY_ID"], self.env["AWS_SECRET_ACCESS_KEY"]

    def write(self, name, text):
        os.makedirs(os.path.dirname(self.path(name)), exist_ok=True)
        with open(self.path(name), "w") as f:
            f.write(text)


class Read(StoreTest):
    """Signed requests, names, lists, settings and refusals."""

    def test_an_object_is_read(self):
        self.same_as_tiny(self.url)
        self.tare("convert", self.url, "out.safetensors", "--quiet")
        self.tare("convert", "tiny.gguf", "own.safetensors", "--quiet")
        self.assertEqual(self.read("out.safetensors"), self.read("own.safetensors"))

    def test_keys_of_all_characters(self):
        self.store.objects[ODD] = self.tiny
        self.same_as_tiny("s3://models/" + ODD)
        self.assertIn(ODD, self.tare("info", "s3://models/" + ODD))

    def test_a_folder_is_a_directory(self):
        self.tare("convert", "tiny.gguf", "hf", "--to", "hf", "--quiet")
        self.store.page = 2
        for i, name in enumerate(sorted(os.listdir(self.path("hf")))):
            self.store.objects["f/x y+/" + name] = self.read("hf/" + name)
        self.store.objects["f/x y+/"] = b""  # as consoles make folders
        self.store.objects["f/x y+z"] = b"beside it"
        self.assertIn("hold the same model", self.tare("diff", "s3://models/f/x y+/", "hf"))
        for i in range(5):
            self.store.objects[f"f/x y+/sub/more {i}&.txt"] = b"x"
        self.tare("get", "s3://models/f/x y+/", "-o", "got", "--quiet")
        self.assertIn("x y+", self.tare("get", "s3://models/f/x y+/", "-n"))
        for name in os.listdir(self.path("hf")):
            self.assertEqual(self.read("got/" + name), self.read("hf/" + name))
        self.assertEqual(self.read("got/sub/more 4&.txt"), b"x")

    def test_shards_are_found(self):
        self.tare("convert", "tiny.gguf", "parts", "--to", "gguf", "--shard-size", "200K", "--quiet")
        names = sorted(os.listdir(self.path("parts")))
        self.assertGreater(len(names), 1)
        for name in names:
            self.store.objects["s/" + name] = self.read("parts/" + name)
        self.assertIn("hold the same model", self.tare("diff", "s3://models/s/" + names[1], "tiny.gguf"))

    def test_without_keys_nothing_is_signed(self):
        self.anonymous()
        said = self.fault("info", self.url)
        self.assertIn("HTTP 403 AccessDenied", said)
        self.assertIn("no credentials", said)
        self.store.access = None
        self.same_as_tiny(self.url)

    def test_temporary_keys(self):
        self.store.token = "to+ken/" + "x" * 900
        self.env["AWS_SESSION_TOKEN"] = "old-token"
        said = self.fault("info", self.url)
        self.assertIn("HTTP 400 ExpiredToken", said)
        self.assertIn("expired: get new credentials", said)
        self.assertNotIn("old-token", said)
        self.env["AWS_SESSION_TOKEN"] = self.store.token
        self.same_as_tiny(self.url)

    def test_profiles(self):
        self.anonymous()
        self.write(".aws/credentials",
                   "[default]\naws_access_key_id = x\naws_secret_access_key = y\n# note\n"
                   f"[work]\naws_access_key_id={store.ACCESS}\naws_secret_access_key = {store.SECRET}\n")
        self.write(".aws/config", "[default]\nregion = us-east-1\n[profile sso]\nsso_session = a\n"
                   f"[profile work]\nregion = {store.REGION}\ns3 =\n  region = nested\n"
                   f"endpoint_url = {self.store.url}\n")
        del self.env["AWS_REGION"]
        self.assertIn("InvalidAccessKeyId", self.fault("info", self.url))
        self.env["AWS_PROFILE"] = "work"
        del self.env["AWS_ENDPOINT_URL_S3"], self.env["AWS_ENDPOINT_URL"]
        self.same_as_tiny(self.url)
        self.env["AWS_PROFILE"] = "nobody"
        self.assertIn("AWS_PROFILE names a profile", self.fault("info", self.url, code=2))
        self.env["AWS_PROFILE"] = "sso"
        self.assertIn("export-credentials", self.fault("info", self.url, code=2))
        self.env.update(AWS_SHARED_CREDENTIALS_FILE=self.path("elsewhere"), AWS_PROFILE="default",
                        AWS_ENDPOINT_URL=self.store.url, AWS_CONFIG_FILE="~/no")
        self.write("elsewhere", f"[default]\naws_access_key_id={store.ACCESS}\n")
        self.assertIn("without its secret key", self.fault("info", self.url, code=2))
        self.env["AWS_SHARED_CREDENTIALS_FILE"] = self.folder  # what is there and cannot be read is not missing
        self.assertIn("settings cannot be read", self.fault("info", self.url, code=2))

    def test_parts_of_two_versions_are_not_joined(self):
        """A version shows in the answer for an object, and in the list of a folder."""
        for i in (1, 2):
            self.tare("synth", f"llama-tiny:normal:{i}", f"{i}", "--to", "hf", "--quiet")
            self.tare("pack", f"{i}", f"{i}.wcodec", "--quiet")

        def put(i):
            for name in os.listdir(self.path("1")):
                self.store.objects["v/" + name] = self.read(f"{i}/{name}")
            self.store.objects["v.wcodec"] = self.read(f"{i}.wcodec")

        file, folder = "s3://models/v/model.safetensors", "s3://models/v/"
        for words, out in ((("convert", file, "c.gguf", "--keep-names"), "c.gguf"), (("convert", folder, "d.gguf", "--keep-names"), "d.gguf"),
                           (("pack", folder, "e.wcodec"), "e.wcodec"), (("unpack", "s3://models/v.wcodec", "f"), "f"),
                           (("verify", folder, "--write-manifest", "g.sha"), "g.sha")):
            with self.subTest(words):
                put(1)
                self.tare(*words, "--part", "1/2", "--quiet")
                put(2)
                self.tare(*words, "--part", "2/2", "--quiet")
                self.assertIn("another input", self.fault("join", out, code=2))
                self.assertIn("another input", self.fault(*words, "--part", "1/2", code=2))
                self.tare(*words, "--part", "1/2", "--quiet", "--force")
                self.tare("join", out, "--quiet")

    def test_what_is_refused(self):
        self.assertIn("HTTP 404 NoSuchKey", self.fault("info", "s3://models/m/no.gguf"))
        self.assertIn("HTTP 404 NoSuchBucket", self.fault("info", "s3://others/m/no.gguf"))
        self.assertIn("no object whose key begins so", self.fault("info", "s3://models/no/"))
        self.env["AWS_REGION"] = "us-east-1"
        self.assertIn("another region", self.fault("info", self.url))
        self.env.update(AWS_REGION=store.REGION, AWS_SECRET_ACCESS_KEY="wrong/secret")
        said = self.fault("info", self.url)
        self.assertIn("HTTP 403 SignatureDoesNotMatch", said)
        self.assertNotIn("wrong/secret", said)
        for url in ("s3://", "s3://b", "s3://models/a//b", "s3://models/../b", "s3://key:hidden@models/b"):
            said = self.fault("info", url, code=2)
            self.assertNotIn("hidden", said)

    def test_a_bucket_elsewhere_is_named(self):
        def moved(handler, _):
            self.store.error(handler, 301, "PermanentRedirect", x_amz_bucket_region="ap-south-2",
                             Location="http://127.0.0.1:1/")
            return True
        self.store.fault = moved
        said = self.fault("info", self.url)
        self.assertIn("HTTP 301 PermanentRedirect ap-south-2", said)

    def test_a_busy_store_is_asked_again(self):
        def busy(handler, count):
            if count > 3:
                return False
            self.store.error(handler, *((503, "SlowDown"), (500, "InternalError"),
                                        (400, "RequestTimeout"))[count - 1])
            return True
        self.store.fault = busy
        self.same_as_tiny(self.url)
        self.store.fault = lambda handler, _: self.store.error(handler, 503, "SlowDown") or True
        said = self.fault("info", self.url, "--retries", "1")
        self.assertIn("HTTP 503 SlowDown", said)

    def test_cut_connections_are_gone_on_with(self):
        def cut(handler, count):
            if count > 2 or "list-type" in handler.path:
                return False
            handler.send_range(self.tiny, f'"{hashlib.md5(self.tiny).hexdigest()}"', cut=1000)
            return True
        self.store.fault = cut
        self.same_as_tiny(self.url)

    def test_lists_that_lie_are_refused(self):
        def page(inner):
            def lie(handler, _):
                self.store.xml(handler, "ListBucketResult", inner)
                return True
            return lie
        for inner, what in (("<Contents><Key>f/a</Key></Contents>", "Key and Size"),
                            ("<Contents><Key>g/a</Key><Size>1</Size></Contents>", "not one that was asked"),
                            ("<Contents><Key>f/../a</Key><Size>1</Size></Contents>", "a path expected"),
                            ("<Contents><Key>f/a</Key><Size>-1</Size></Contents>", "a number of bytes"),
                            ("<IsTruncated>true</IsTruncated>", "NextContinuationToken: missing"),
                            ("<IsTruncated>true</IsTruncated><NextContinuationToken>a"
                             "</NextContinuationToken>", "the same page again"),
                            ("<Contents><Key>f/a</Key><Size>1</Size></Contents>" * 2, "listed twice")):
            self.store.fault = page(inner)
            done = self.run_tare("info", "s3://models/f/")
            self.assertIn(done.returncode, (3, 5), inner)
            self.assertIn(what, done.stderr.decode())


def main():
    suites = {"read": Read}
    loader = unittest.defaultTestLoader
    loader.testNamePrefixes = sys.argv[3:] or None
    result = unittest.TextTestRunner(verbosity=1).run(loader.loadTestsFromTestCase(suites[sys.argv[2]]))
    return 0 if result.wasSuccessful() else 1


if __name__ == "__main__":
    sys.exit(main())
