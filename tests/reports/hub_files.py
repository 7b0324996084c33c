# SPDX-License-Identifier: MIT
"""Side files, indexes and shards as the hub, trainers, editors and downloaders leave them.

    hub_files.py TARE FOLDER       FOLDER: for what it makes

Guards against: a number that nobody needs making a model unreadable; something else in the place of a
file that is called damage; a directory that transformers opens and tare does not; files of other
programs that become part of a model."""
import json
import os
import shutil
import subprocess
import sys
import unittest

HERE = os.path.dirname(os.path.abspath(__file__))
sys.path += [os.path.join(HERE, "..", "support"), os.path.join(HERE, "..", "llama")]
import tiny_models  # noqa: E402
from safetensors_file import read_safetensors, safetensors  # noqa: E402

COMMAND, FOLDER = os.path.abspath(sys.argv[1]), os.path.abspath(sys.argv[2])
LFS = "version https://git-lfs.github.com/spec/v1\noid sha256:" + "5c" * 32 + "\nsize 17210088\n"
PAGE = "<!DOCTYPE html>\n<html><head><title>Sign in</title></head></html>\n"
MARK = b"\xef\xbb\xbf"


def f32(*numbers):
    import struct
    return struct.pack("<%df" % len(numbers), *numbers)


def weights(**tensors):
    """Vectors of F32 by name."""
    return safetensors([(name, "F32", [len(x)], f32(*x)) for name, x in tensors.items()])


class Files(unittest.TestCase):
    def setUp(self):
        self.folder = os.path.join(FOLDER, self.id().split(".")[-1])
        shutil.rmtree(self.folder, ignore_errors=True)
        os.makedirs(self.folder)

    def put(self, path, content):
        path = os.path.join(self.folder, path)
        os.makedirs(os.path.dirname(path), exist_ok=True)
        with open(path, "wb") as f:
            f.write(content.encode() if isinstance(content, str) else content)

    def get(self, path):
        with open(os.path.join(self.folder, path), "rb") as f:
            return f.read()

    def tare(self, *words):
        done = subprocess.run([COMMAND, *words], cwd=self.folder, stdin=subprocess.DEVNULL, timeout=100,
                              capture_output=True)
        return done.returncode, (done.stdout + done.stderr).decode("utf-8", "replace")

    def run_tare(self, *words, code=0):
        found, text = self.tare(*words)
        self.assertEqual(found, code, text)
        return text

    def convert(self, model, out, *more, code=0):
        return self.run_tare("convert", model, out, "--no-tokenizer", "--force", *more, code=code)

    def model(self, name, directory):
        tiny_models.write(os.path.join(self.folder, directory), name)

    def change(self, directory, file="config.json", **members):
        """Members are added to a JSON file as they are written here."""
        path = os.path.join(directory, file)
        text = self.get(path).decode().rstrip()[:-1].rstrip()
        self.put(path, text + "".join(', "%s": %s' % m for m in members.items()) + "}")

    def vectors(self, model):
        self.run_tare("convert", model, "out.safetensors", "--force", "--quiet")
        return {k: v[2] for k, v in read_safetensors(os.path.join(self.folder, "out.safetensors"))[1].items()}


class Json(Files):
    """What Python writes."""

    def test_numbers_that_are_none(self):
        for name in ("mamba2", "llama", "qwen3"):
            self.model(name, name)
            self.convert(name, "plain.gguf")
            for word in ("Infinity", "-Infinity", "NaN", '{"__float__": "-Infinity"}', "[1, [NaN]]"):
                self.model(name, name)
                self.change(name, of_no_use=word)
                self.convert(name, "odd.gguf")
                self.assertEqual(self.get("plain.gguf"), self.get("odd.gguf"), word)
                self.assertIn("good", self.run_tare("verify", name))

    def test_needed_numbers(self):
        for word in ("Infinity", "NaN", '{"__float__": "Infinity"}', "1e999"):
            self.model("llama", "m")
            self.change("m", rms_norm_eps=word)
            text = self.convert("m", "m.gguf", code=3)
            self.assertIn("rms_norm_eps: is not a finite number", text)
            self.assertFalse(os.path.exists(os.path.join(self.folder, "m.gguf")))

    def test_whole_numbers(self):
        for name, member, number in (("llama", "hidden_size", "64.5"), ("llama", "num_key_value_heads", "2.5"), ("qwen3", "head_dim", "16.5"),
                                     ("mamba2", "state_size", "16.5"), ("llama", "num_hidden_layers", "2.5")):
            self.model(name, "m")
            self.change("m", **{member: number})
            text = self.convert("m", "m.gguf", code=3)
            self.assertIn("not a whole number", text, member)

    def test_side_files(self):
        self.model("llama", "m")
        for file in ("generation_config.json", "trainer_state.json", "preprocessor_config.json"):
            self.put("m/" + file, '{"x": NaN, "y": [-Infinity, Infinity]}')
        self.put("m/tokenizer_config.json", '{"model_max_length": Infinity}')
        self.assertIn("good", self.run_tare("verify", "m"))
        self.put("m/generation_config.json", '{"temperature": NaN, "top_k": 5}')
        text = self.convert("m", "m.gguf")
        self.assertIn("temperature: not a finite number", text)
        keys = self.run_tare("info", "-m", "--all", "m.gguf")
        self.assertIn("general.sampling.top_k", keys)
        self.assertNotIn("general.sampling.temp", keys)
        for value, said in (('"0.7"', "not a number"), ("true", "not a number"), ("[1]", "not a number"), ("1e300", "out of range")):
            self.put("m/generation_config.json", '{"temperature": %s}' % value)
            self.assertIn("temperature: " + ("a number " if "range" in said else "") + said, self.convert("m", "m.gguf"))
        for value, said in (("5.5", True), ("5.0", False), ("null", False)):
            self.put("m/generation_config.json", '{"top_k": %s}' % value)
            self.assertEqual("top_k: not a whole number" in self.convert("m", "m.gguf"), said)

    def test_byte_order_mark(self):
        self.model("llama", "m")
        self.convert("m", "plain.gguf")
        self.put("m/config.json", MARK + self.get("m/config.json"))
        self.convert("m", "marked.gguf")
        self.assertEqual(self.get("plain.gguf"), self.get("marked.gguf"))
        self.assertIn("byte order mark", self.run_tare("verify", "m"))
        self.run_tare("verify", "--strict", "m", code=1)

    def test_headers_stay_strict(self):
        text = b'{"__metadata__":{"a":NaN}}'
        self.put("nan.safetensors", len(text).to_bytes(8, "little") + text)
        self.run_tare("info", "nan.safetensors", code=3)
        text = MARK + b"{}"
        self.put("mark.safetensors", len(text).to_bytes(8, "little") + text)
        self.run_tare("info", "mark.safetensors", code=3)


class SomethingElse(Files):
    """In the place of a file."""

    def test_links_that_lead_nowhere(self):
        for file in ("config.json", "tokenizer.json", "tokenizer_config.json", "generation_config.json", "README.md"):
            for target in ("../blobs/5c5c", file):
                self.model("llama", "m")
                if os.path.lexists(os.path.join(self.folder, "m", file)):
                    os.remove(os.path.join(self.folder, "m", file))
                os.symlink(target, os.path.join(self.folder, "m", file))
                for model in ("m", "m/model.safetensors"):
                    text = self.run_tare("convert", model, "m.gguf", code=5)
                    self.assertIn('m: file "%s": a link whose target is gone' % file, text)
                self.assertEqual(os.listdir(self.folder), ["m"])
                shutil.rmtree(os.path.join(self.folder, "m"))

    def test_side_files(self):
        for file in ("config.json", "tokenizer.json", "tokenizer_config.json", "tokenizer.model", "vocab.txt",
                     "merges.txt", "added_tokens.json", "README.md"):
            for content, word in ((LFS, "Git LFS pointer"), (PAGE, "HTML page"), (MARK + PAGE.encode(), "HTML page"),
                                  (b"\0\5\x16\7" + bytes(90), "AppleDouble"),
                                  ('{"error": "Repository not found"}', "what a server answered")):
                shutil.rmtree(os.path.join(self.folder, "m"), ignore_errors=True)
                self.model("llama", "m")
                self.put("m/" + file, content)
                if word == "HTML page" and file == "README.md":  # what a card may be
                    self.assertNotIn(word, self.run_tare("verify", "m"))
                    continue
                text = self.run_tare("verify", "m", code=1)
                self.assertIn(word, text, (file, content))
                self.assertIn('"%s"' % file, text)

    def test_verify_reads_texts_and_tokenizers(self):
        """What a conversion refuses, and what it has no need of."""
        text, tokenizer = "a text in UTF-8 was expected", "a model of SentencePiece, or lines"
        late = b"{# x #}\n" * 900 + b"\0" * 4096  # a download whose end never came
        bad = {"chat_template.jinja": ((bytes(40), text), (b"\x1f\x8b\x08\0", text), (late, text), (b"\xff\xfex\0", "UTF-16")),
               "additional_chat_templates/tools.jinja": ((late, text),),
               "merges.txt": ((b"", "the file is empty"), (b"caf\xe9 x", text), (late, text)),
               "vocab.txt": ((b"", "the file is empty"), (bytes(8), text)),
               "tokenizer.model": ((b"", "the file is empty"), (bytes(8), tokenizer), (b"\x1f\x8b\x08\0", tokenizer),
                                   (b"Entry not found", "most likely what a server answered")),
               "sentencepiece.bpe.model": ((b"PK\3\4", tokenizer),), "qwen.tiktoken": ((bytes(9), tokenizer),)}
        good = {"chat_template.jinja": (b"", "{{ \u20ac }}".encode()), "merges.txt": (MARK + b"#version: 0.2\na b\n",),
                "vocab.txt": (b"[PAD]\n",), "tokenizer.model": (b"\n\x05\n\1a\x15", b"IQ== 0\nIg== 1\n", b"IQ== 0\r\n", b"IQ== 0"),
                "x.bin": (bytes(40),)}
        self.model("llama", "m")
        for file in {**bad, **good}:
            for content, word in bad.get(file, ()):
                self.put("m/" + file, content)
                found = self.run_tare("verify", "m", code=1)
                self.assertIn(word, found, (file, content))
                self.assertIn('"%s"' % file, found)
            for content in good.get(file, ()):
                self.put("m/" + file, content)
                self.assertIn("good", self.run_tare("verify", "--strict", "m"), (file, content))
            os.remove(os.path.join(self.folder, "m", file))

    def test_an_entry_without_a_tensor(self):
        self.model("llama", "m")
        names = [t for t in read_safetensors(os.path.join(self.folder, "m/model.safetensors"))[1]]
        os.rename(os.path.join(self.folder, "m/model.safetensors"), os.path.join(self.folder, "m/x-00001-of-00001.safetensors"))
        for more, code in ((), 0), (("model.layers.0.extra.weight",), 5):
            self.put("m/model.safetensors.index.json", json.dumps({"metadata": {}, "weight_map": dict.fromkeys([*names, *more], "x-00001-of-00001.safetensors")}))
            text = self.convert("m", "m.gguf", "--strict", code=code)
            self.assertEqual('"model.layers.0.extra.weight": weight_map: no shard has the tensor' in text, code == 5)
            self.convert("m", "m.gguf")

    def test_needed_by_a_conversion(self):
        for file in ("config.json", "tokenizer.json", "tokenizer.model"):
            shutil.rmtree(os.path.join(self.folder, "m"), ignore_errors=True)
            self.model("llama", "m")
            self.put("m/" + file, LFS)
            text = self.run_tare("convert", "m", "m.gguf", code=5)
            self.assertIn("Git LFS pointer", text)
            self.assertIn(file, text)
        for content, word in (("Entry not found", "a short text"), ("", "the file is empty"),
                              ("{}".encode("utf-16"), "UTF-16")):
            self.model("llama", "m")
            self.put("m/config.json", content)
            self.assertIn(word, self.tare("convert", "m", "m.gguf", "--no-tokenizer")[1])
        self.put("m/config.json", '{"a": 1,}')
        self.assertIn("key expected", self.run_tare("convert", "m", "m.gguf", "--no-tokenizer", code=3))

    def test_texts(self):
        """A template, merges or a vocabulary that are no text, or an answer of a server; a card that is not there."""
        import llama_runs
        model = os.path.join(self.folder, "m")
        self.model("llama", "m")
        llama_runs.write_tokenizer(model)
        for content, code, word in ((b"\xff\xfe" + "{{ x }}".encode("utf-16-le"), 5, "UTF-16"), (bytes(40), 3, "a text in UTF-8 was expected"),
                                    (b"\x1f\x8b\x08\x00\xff", 3, "a text in UTF-8 was expected"), (b"Entry not found", 0, "no expression"),
                                    (b"", 0, "no expression"), (b"{{ messages }}", 0, None), (b"{% if x %}y{% endif %}", 0, None)):
            self.put("m/chat_template.jinja", content)
            text = self.run_tare("convert", "m", "m.gguf", "--force", code=code)
            self.assertEqual("chat_template.jinja" in text, word is not None, text)
            self.assertIn(word or "", text)
        os.remove(model + "/chat_template.jinja")
        self.put("m/README.md", LFS)
        self.assertIn("nothing of the model card", self.run_tare("convert", "m", "m.gguf", "--force"))
        os.remove(model + "/tokenizer.json")
        for content, word in ((b"", "the file is empty"), (b"Entry not found", "most likely what a server answered"), (bytes(9), "UTF-8")):
            self.put("m/tokenizer.model", content)
            code, text = self.tare("convert", "m", "m.gguf", "--force")
            self.assertIn(code, (3, 5), text)
            self.assertIn("tokenizer.model", text)
            self.assertIn(word, text)

    def test_tokenizers(self):
        """What Hugging Face's libraries refuse, and kinds that llama.cpp has not."""
        import llama_runs
        self.model("llama", "m")
        llama_runs.write_tokenizer(os.path.join(self.folder, "m"))
        whole = json.loads(self.get("m/tokenizer.json"))
        bpe = whole["model"]
        for change, code, word in (({}, 0, None), ({"model": dict(bpe, merges=bpe["merges"] + ["Q Q"])}, 0, "tokenizer.lost-merge"),
                                   ({"model": dict(bpe, end_of_word_suffix="</w>")}, 5, "model.end_of_word_suffix"),
                                   ({"model": dict(bpe, continuing_subword_prefix="##")}, 5, "model.continuing_subword_prefix"),
                                   ({"model": dict(bpe, continuing_subword_prefix="", end_of_word_suffix=None)}, 0, None),
                                   ({"normalizer": {"type": "Lowercase"}}, 0, "warning: file \"tokenizer.json\": normalizer"),
                                   ({"post_processor": {"type": "ByteLevel"}}, 0, None),
                                   ({"post_processor": {"type": "Sequence", "processors": [{"type": "Spiral"}]}}, 5, "post_processor")):
            self.put("m/tokenizer.json", json.dumps({**whole, **change}))
            text = self.run_tare("convert", "m", "m.gguf", "--force", code=code)
            self.assertIn(word or "", text)
            self.assertEqual(word is None, "tokenizer.json" not in text, text)

    def test_pooling(self):
        """A decoder's, too; and where its settings are gone."""
        self.model("llama", "m")
        self.put("m/modules.json", '[{"path": "1_Pooling", "type": "sentence_transformers.models.Pooling"}]')
        self.assertIn("modules.json", self.convert("m", "m.gguf"))
        self.put("m/1_Pooling/config.json", '{"pooling_mode_lasttoken": true}')
        self.convert("m", "m.gguf")
        self.assertEqual(self.run_tare("info", "m.gguf", "llama.pooling_type", "--raw").strip(), "3")

    def test_adapters(self):
        self.put("base.safetensors", weights(a=[1, 2]))
        p = "base_model.model.a.lora_"
        self.put("ad/adapter_model.safetensors",
                 safetensors([(p + x + ".weight", "F32", [1, 1], f32(1)) for x in "AB"]))
        self.put("ad/adapter_config.json", LFS)
        self.assertIn("Git LFS pointer", self.run_tare("convert", "base.safetensors", "o.safetensors", "--apply-adapter", "ad",
                                                       code=5))

    def test_weights(self):
        for content, word in ((LFS, "Git LFS pointer"), (PAGE, "HTML page"), ("Entry not found", "a short text"),
                              ('{"error":{"code":401}}', "what a server answered"), ('{"message":"no"}', "JSON, not a model"),
                              (b"\0\5\x16\7" + bytes(90), "AppleDouble"), ("", "the file is empty")):
            for path in ("m.safetensors", "m.gguf", "m/model.safetensors"):
                shutil.rmtree(os.path.join(self.folder, "m"), ignore_errors=True)
                self.put(path, content)
                code, text = self.tare("verify", os.path.dirname(path) or path)
                self.assertIn(code, (3, 5))
                self.assertIn(word, text, path)

    def test_links_that_lead_nowhere(self):
        self.put("m/config.json", "{}")
        os.symlink("../../blobs/" + "0" * 64, os.path.join(self.folder, "m/model.safetensors"))
        for command in ("info", "verify"):
            text = self.run_tare(command, "m", code=5)
            self.assertIn('"model.safetensors": a link whose target is gone', text)
        self.assertIn("a link whose target is gone", self.run_tare("info", "m/model.safetensors", code=4))
        os.remove(os.path.join(self.folder, "m/model.safetensors"))
        self.put("m/model.safetensors", weights(a=[1, 2]))
        os.symlink("gone", os.path.join(self.folder, "m/tokenizer.json"))
        self.assertIn('"tokenizer.json": a link whose target is gone', self.run_tare("verify", "m"))

    def test_what_programs_keep(self):
        self.put("m/weights.safetensors", weights(a=[1, 2]))
        double = b"\0\5\x16\7\0\2\0\0Mac OS X        " + bytes(60)
        for name in ("._weights.safetensors", "._config.json", "x/._y.json", ".weights.safetensors.tare-Ab12cd",
                     "weights.safetensors.aria2", ".weights.safetensors.tare-edit"):
            self.put("m/" + name, double)
        text = self.run_tare("info", "m")
        self.assertNotIn("resources ", text)
        text = self.run_tare("verify", "m")
        self.assertIn("may be incomplete although it has its size", text)
        self.assertIn("1 warning", text)
        self.run_tare("convert", "m", "o", "--to", "hf")
        self.assertEqual(os.listdir(os.path.join(self.folder, "o")), ["weights.safetensors"])
        os.makedirs(os.path.join(self.folder, "g"))
        self.run_tare("synth", "llama-tiny", "g/tiny.gguf", "--quiet")
        self.put("g/._tiny.gguf", double)
        self.assertIn("gguf", self.run_tare("info", "g"))

    def test_leftovers_of_an_edit(self):
        self.put("m/model.safetensors", weights(a=[1, 2]))
        self.put("m/.model.safetensors.tare-AbCd12", weights(a=[1]))
        self.run_tare("edit", "m", "--set", "k=v")
        self.assertEqual(os.listdir(os.path.join(self.folder, "m")), ["model.safetensors"])


class Parts(Files):
    def test_raw_parts(self):
        self.run_tare("synth", "llama-tiny", "whole.gguf", "--quiet")
        whole = self.get("whole.gguf")
        half = len(whole) // 2
        for first, second in (("m.gguf.part1of2", "m.gguf.part2of2"), ("m.gguf-split-a", "m.gguf-split-b"),
                              ("m.gguf.00001", "m.gguf.00002"), ("m.gguf.aa", "m.gguf.ab"), ("m-part-1.gguf", "m-part-2.gguf"),
                              ("m.part_1_of_2.gguf", "m.part_2_of_2.gguf")):
            self.put(first, whole[:half])
            self.put(second, whole[half:])
            self.assertIn("join all with cat", self.run_tare("verify", first, code=1), first)
            self.assertIn("join all with cat", self.run_tare("info", second, code=3), second)
            self.put(first, whole)  # a whole file may be called as it likes
            self.assertNotIn("cat", self.run_tare("verify", first))
        self.put("x.gguf.crdownload", whole[:half])
        self.assertIn("download that has not ended", self.run_tare("verify", "x.gguf.crdownload", code=1))
        self.put("part-of-a-name.gguf", whole[:half])
        self.assertNotIn("with cat", self.run_tare("verify", "part-of-a-name.gguf", code=1))

    def test_raw_parts_of_a_model(self):
        self.model("llama", "m")
        whole = self.get("m/model.safetensors")
        os.remove(os.path.join(self.folder, "m/model.safetensors"))
        for one, word in (("model.safetensors.part1of2", "join all with cat"), ("model.safetensors.incomplete", "has not ended")):
            self.put("m/" + one, whole[:9000])
            code, text = self.tare("info", "m")
            self.assertEqual(code, 5)
            self.assertIn(one, text)
            self.assertIn(word, text)
            os.remove(os.path.join(self.folder, "m", one))

    def test_shards_joined_by_cat(self):
        self.put("j.safetensors", weights(a=[1, 2]) + weights(b=[3]))
        self.assertIn("joined with cat", self.run_tare("info", "j.safetensors", code=3))
        self.put("t.safetensors", weights(a=[1, 2]) + bytes(4096))
        self.assertIn("4096 bytes too many", self.run_tare("info", "t.safetensors", code=3))
        self.run_tare("synth", "llama-tiny", "s.gguf", "--quiet")
        self.put("j.gguf", self.get("s.gguf") + self.get("s.gguf"))
        self.assertIn("joined with cat", self.run_tare("verify", "j.gguf"))
        self.run_tare("convert", "s.gguf", "split", "--to", "gguf", "--shard-size", "200K", "--quiet")
        shards = sorted(os.listdir(os.path.join(self.folder, "split")))
        self.assertGreater(len(shards), 1)
        self.put("k.gguf", b"".join(self.get("split/" + s) for s in shards))
        self.assertIn("joined with cat", self.run_tare("info", "k.gguf", code=2))

    def test_type_is_named(self):
        text = b'{"w":{"dtype":"I4","shape":[2],"data_offsets":[0,1]}}'
        self.put("x.safetensors", len(text).to_bytes(8, "little") + text + b"x")
        self.assertIn('dtype "I4": not known', self.run_tare("info", "x.safetensors", code=5))


class Index(Files):
    A, B = "model-00001-of-00002.safetensors", "model-00002-of-00002.safetensors"

    def shards(self, a, b, weight_map, name="model.safetensors.index.json", at=""):
        self.put("m/%s%s" % (at, self.A), weights(**a))
        self.put("m/%s%s" % (at, self.B), weights(**b))
        text = weight_map if isinstance(weight_map, str) else json.dumps({"metadata": {}, "weight_map": weight_map})
        self.put("m/" + name, text)

    def test_tensor_in_two_shards(self):
        for named, number in ((self.A, 7), (self.B, 3)):
            self.shards({"a": [1], "d": [7]}, {"b": [2], "d": [3]}, {"a": self.A, "b": self.B, "d": named})
            found = self.vectors("m")
            self.assertEqual(found, {"a": f32(1), "b": f32(2), "d": f32(number)})
            text = self.run_tare("verify", "--deep", "m")
            self.assertIn('tensor "d": weight_map: the tensor is in another shard, too', text)
            self.assertIn("1 warning", text)
            self.run_tare("convert", "m", "o", "--to", "hf", "--force", "--quiet")
            self.assertEqual(self.vectors("o"), found)
            self.assertIn("good", self.run_tare("verify", "--deep", "--strict", "o"))

    def test_what_the_index_says_wrongly(self):
        self.shards({"a": [1]}, {"b": [2]}, {"a": self.B, "b": self.B})  # nothing leads to the other shard
        self.assertIn('tensor "a": weight_map: no shard has the tensor', self.run_tare("verify", "m", code=1))
        self.shards({"a": [1]}, {"b": [2]}, {"a": self.B, "b": self.A})
        self.assertIn("is in another shard", self.run_tare("verify", "m"))
        self.shards({"a": [1]}, {"b": [2]}, {"a": self.A, "b": self.B, "c": self.B})
        self.assertIn('tensor "c": weight_map: no shard has the tensor', self.run_tare("verify", "m", code=1))
        self.assertEqual(self.vectors("m"), {"a": f32(1), "b": f32(2)})
        for words in (("convert", "m", "o.safetensors"), ("convert", "m", "o", "--to", "hf")):
            text = self.run_tare(*words, "--strict", "--force", code=5)
            self.assertIn('tensor "c": weight_map: no shard has the tensor', text.splitlines()[-1])
        self.shards({"a": [1]}, {"b": [2], "c": [3]}, {"a": self.A, "b": self.B})
        self.assertIn("the index does not list the tensor", self.run_tare("verify", "m"))
        self.shards({"a": [1], "d": [1]}, {"b": [2], "d": [2]}, {"a": self.A, "b": self.B})
        self.run_tare("info", "m", code=3)  # nothing decides which of the two counts
        self.shards({"a": [1], "d": [1]}, {"d": [2]}, '{"weight_map": {"a": "%s", "d": "%s", "d": "%s"}}' % (self.A, self.A, self.B))
        self.assertEqual(self.vectors("m")["d"], f32(2))
        self.assertIn("the last entry counts", self.run_tare("verify", "m"))

    def test_folders(self):
        for prefix, at in (("w/", "w/"), ("./", ""), (".//", ""), ("./w/./", "w/"), ("w/x/", "w/x/")):
            for name in "mou":
                shutil.rmtree(os.path.join(self.folder, name), ignore_errors=True)
            self.shards({"a": [1]}, {"b": [2]}, {"a": prefix + self.A, "b": prefix + self.B}, at=at)
            self.assertEqual(self.vectors("m"), {"a": f32(1), "b": f32(2)})
            self.assertNotIn("resources ", self.run_tare("info", "m"))
            self.run_tare("convert", "m", "o", "--to", "hf", "--force", "--quiet")
            self.assertEqual(self.vectors("o"), {"a": f32(1), "b": f32(2)})
            self.run_tare("pack", "m", "m.wcodec", "--force", "--quiet")
            self.run_tare("unpack", "m.wcodec", "u", "--force", "--quiet")
            self.assertEqual(self.vectors("u"), {"a": f32(1), "b": f32(2)})
        for bad in ("../" + self.A, "/etc/" + self.A, "w/../" + self.A, "w/../../" + self.A, "", ".", "./"):
            self.shards({"a": [1]}, {"b": [2]}, {"a": bad, "b": self.B})
            self.run_tare("info", "m", code=3)

    def test_index_of_a_variant(self):
        for name in ("model.safetensors.index.fp16.json", "model.fp16.safetensors.index.json",
                     "diffusion_pytorch_model.safetensors.index.fp16.json"):
            shutil.rmtree(os.path.join(self.folder, "m"), ignore_errors=True)
            self.shards({"a": [1]}, {"b": [2]}, {"a": self.A, "b": self.B}, name)
            self.run_tare("convert", "m", "o", "--to", "hf", "--force", "--quiet")
            left = os.listdir(os.path.join(self.folder, "o"))
            for index in [x for x in left if ".index." in x]:
                self.assertLessEqual(set(json.loads(self.get("o/" + index))["weight_map"].values()), set(left))

    def test_something_else(self):
        for content, word in ((LFS, "Git LFS pointer"), (PAGE, "HTML page"), ("", "the file is empty")):
            self.shards({"a": [1]}, {"b": [2]}, content)
            code, text = self.tare("info", "m")
            self.assertIn(code, (3, 5))
            self.assertIn("model.safetensors.index.json: ", text)
            self.assertIn(word, text)

    def test_editor_and_python(self):
        text = '{"metadata": {"total_size": NaN}, "weight_map": {"a": "%s", "b": "%s"}}' % (self.A, self.B)
        self.shards({"a": [1]}, {"b": [2]}, MARK.decode() + text)
        self.assertEqual(self.vectors("m"), {"a": f32(1), "b": f32(2)})


if __name__ == "__main__":
    unittest.main(argv=sys.argv[:1])
