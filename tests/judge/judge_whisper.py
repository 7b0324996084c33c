# SPDX-License-Identifier: MIT
"""Models for whisper.cpp, byte for byte: a second writer puts the numbers, filters, tokens and tensors into their places,
and NumPy and the gguf package make halves and blocks of the numbers. Run by judge.py."""
import json
import os
import struct
import unittest

import numpy
from gguf import GGMLQuantizationType, quants
from safetensors.numpy import load_file, save_file

from command import TareTest

FILE_TYPES = {"F32": 0, "F16": 1, "Q4_0": 2002, "Q4_1": 2003, "Q8_0": 2007, "Q5_0": 2008, "Q5_1": 2009}
TOKENS = [b"!", b"", b"\xc2", "é".encode(), b"\0"]
ALWAYS_F32 = ("encoder.conv1.bias", "encoder.conv2.bias", "encoder.positional_embedding", "decoder.positional_embedding")
SHAPES = {"encoder.conv1.weight": (8, 5, 3), "encoder.conv1.bias": (8, 1), "encoder.positional_embedding": (7, 64),
          "encoder.blocks.0.attn_ln.weight": (64,), "encoder.blocks.0.attn.query.weight": (32, 64),
          "encoder.blocks.0.mlp.0.weight": (96, 64), "decoder.positional_embedding": (9, 64),
          "decoder.token_embedding.weight": (70, 64)}


def stored(name, array, kind):
    """The number of the type that whisper.cpp's quantizer gives a tensor of halves, and its bytes."""
    if name in ALWAYS_F32 or array.ndim == 1 or kind == "F32":
        return 0, array.astype("<f4").tobytes()
    if array.ndim > 2 or kind == "F16":
        return 1, array.astype("<f2").tobytes()
    number = GGMLQuantizationType[kind]
    return number.value, quants.quantize(array.astype("<f4"), number).tobytes()


def whisper(tensors, kind, numbers=(51865, 1500, 64, 4, 1, 448, 64, 4, 1, 80), filters=None, tokens=TOKENS):
    filters = numpy.linspace(0, 1, 80 * 3).astype("<f4").reshape(80, 3) if filters is None else filters
    out = struct.pack("<12i", 0x67676d6c, *numbers, FILE_TYPES[kind]) + struct.pack("<2i", *filters.shape)
    out += filters.tobytes()
    out += struct.pack("<i", len(tokens)) + b"".join(struct.pack("<i", len(t)) + t for t in tokens)
    for name, array in tensors.items():
        number, data = stored(name, array, kind)
        out += struct.pack("<3i", array.ndim, len(name), number)
        out += struct.pack("<%di" % array.ndim, *reversed(array.shape)) + name.encode() + data
    return out


class Whisper(TareTest):
    def setUp(self):
        super().setUp()
        random = numpy.random.default_rng(11)
        self.tensors = {n: random.standard_normal(s).astype("f2").astype("f4") for n, s in SHAPES.items()}
        self.write("f16.bin", whisper(self.tensors, "F16"))

    def check(self, name, kind):
        self.assertEqual(self.read(name), whisper(self.tensors, kind), (name, kind))

    def test_quantize(self):
        for kind in FILE_TYPES:
            self.tare("quantize", "f16.bin", "out.bin", kind, "--to", "whisper", "--verify", "--strict", "--force", "--no-sync")
            self.check("out.bin", kind)

    def test_convert(self):
        for kind in FILE_TYPES:
            self.tare("convert", "f16.bin", "out.bin", "--type", kind.lower(), "--to", "whisper", "--force", "--no-sync")
            self.check("out.bin", kind)
        self.tare("convert", "f16.bin", "same.bin", "--to", "whisper", "--no-sync", "--strict")
        self.check("same.bin", "F16")

    def test_through_other_formats(self):
        """The order is that of the container on the way."""
        given = self.tensors
        for suffix in ("safetensors", "gguf", "wcodec", "mcf"):
            self.tare("convert", "f16.bin", "way." + suffix, "--no-sync", "--keep-names")
            self.tensors = {n: given[n] for n in self.info("way." + suffix)["tensors"] if n in given}
            self.assertEqual(len(self.tensors), len(given))
            self.tare("convert", "way." + suffix, "back.bin", "--to", "whisper", "--force", "--no-sync")
            self.check("back.bin", "F16")
            self.tare("quantize", "way." + suffix, "back.bin", "Q5_0", "--to", "whisper", "--force", "--no-sync")
            self.check("back.bin", "Q5_0")

    def test_from_f32(self):
        """Convolutions are halves beside blocks, as whisper.cpp loads them."""
        self.write("f32.bin", whisper(self.tensors, "F32"))
        self.tare("quantize", "f32.bin", "out.bin", "Q8_0", "--to", "whisper", "--no-sync", "--strict")
        self.check("out.bin", "Q8_0")


WIDTH, FFN, ENCODER, DECODER = 64, 256, 2, 11
ATTENTION = [("k_proj.weight", "key.weight"), ("v_proj.weight", "value.weight"), ("v_proj.bias", "value.bias"),
             ("q_proj.weight", "query.weight"), ("q_proj.bias", "query.bias"), ("out_proj.weight", "out.weight"),
             ("out_proj.bias", "out.bias")]


def both(theirs, ours):
    return [(theirs + end, ours + end) for end in (".weight", ".bias")]


def names():
    """Of all tensors, as transformers lists them and whisper.cpp calls them."""
    for n in (1, 2):
        yield from both("encoder.conv%d" % n, "encoder.conv%d" % n)
    yield "encoder.embed_positions.weight", "encoder.positional_embedding"
    for part, layers in (("encoder", ENCODER), ("decoder", DECODER)):
        if part == "decoder":
            yield "decoder.embed_tokens.weight", "decoder.token_embedding.weight"
            yield "decoder.embed_positions.weight", "decoder.positional_embedding"
        for i in range(layers):
            theirs, ours = "%s.layers.%d." % (part, i), "%s.blocks.%d." % (part, i)
            kinds = [("self_attn", "attn"), ("encoder_attn", "cross_attn")][:1 + (part == "decoder")]
            for a, b in kinds:
                yield from ((theirs + a + "." + x, ours + b + "." + y) for x, y in ATTENTION)
                yield from both(theirs + a + "_layer_norm", ours + b + "_ln")
            for a, b in (("fc1", "mlp.0"), ("fc2", "mlp.2"), ("final_layer_norm", "mlp_ln")):
                yield from both(theirs + a, ours + b)
        yield from both(part + ".layer_norm", part + {"encoder": ".ln_post", "decoder": ".ln"}[part])


def shape(name):
    if name.endswith("conv1.weight"):
        return WIDTH, 80, 3
    if name.endswith("conv2.weight"):
        return WIDTH, WIDTH, 3
    if "embed_positions" in name:
        return (12 if name.startswith("encoder") else 10), WIDTH
    if "embed_tokens" in name:
        return 51865, WIDTH
    rows, cols = {"fc1": (FFN, WIDTH), "fc2": (WIDTH, FFN)}.get(name.split(".")[-2], (WIDTH, WIDTH))
    return (rows, cols) if name.endswith(".weight") and "norm" not in name else (rows,)


def mel(n):
    """librosa.filters.mel(sr=16000, n_fft=400, n_mels=n), by its definition."""
    top = 15 + numpy.log(8.0) / (numpy.log(6.4) / 27)
    points = numpy.linspace(0, top, n + 2)
    hz = numpy.where(points >= 15, 1000 * numpy.exp(numpy.log(6.4) / 27 * (points - 15)), points * (200.0 / 3))
    slopes = numpy.subtract.outer(hz, numpy.linspace(0, 8000, 201))
    steps = numpy.diff(hz)
    out = numpy.zeros((n, 201), "f4")
    for i in range(n):
        out[i] = numpy.maximum(0, numpy.minimum(-slopes[i] / steps[i], slopes[i + 2] / steps[i + 1]))
    out *= (2.0 / (hz[2:] - hz[:n]))[:, None]
    out[0, 0] = -0.0  # as in OpenAI's own; which zero maximum(0, -0) is, NumPy leaves open
    return out


def alphabet():
    """GPT-2's: a character for each byte."""
    seen = [*range(33, 127), *range(161, 173), *range(174, 256)]
    rest = [b for b in range(256) if b not in seen]
    return {**{b: chr(b) for b in seen}, **{b: chr(256 + i) for i, b in enumerate(rest)}}


def tokens():
    """All bytes, pairs and longer ones, up to the empty one and the end of text: 50,258."""
    out = [bytes([b]) for b in range(256)]
    out += [bytes([a, b]) for a in range(256) for b in range(196)][:50000]
    return out + [b"", b"<|endoftext|>"]


class HuggingFace(TareTest):
    def setUp(self):
        super().setUp()
        random = numpy.random.default_rng(12)
        self.pairs = list(names())
        self.tensors = {a: random.standard_normal(shape(a)).astype("f2").astype("f4") for a, _ in self.pairs}
        self.numbers = (51865, 12, WIDTH, 4, ENCODER, 10, WIDTH, 2, DECODER, 80)
        self.ours = {b: self.tensors[a].reshape(WIDTH, 1) if a in ("encoder.conv1.bias", "encoder.conv2.bias") else
                     self.tensors[a] for a, b in self.pairs}
        self.tokens = tokens()
        self.make("hf", "f2")

    def make(self, folder, dtype, prefix="model."):
        os.mkdir(self.path(folder))
        save_file({prefix + n: t.astype(dtype) for n, t in self.tensors.items()}, self.path(folder + "/model.safetensors"))
        config = {"architectures": ["WhisperForConditionalGeneration"], "model_type": "whisper", "d_model": WIDTH,
                  "vocab_size": 51865, "max_source_positions": 12, "max_target_positions": 10, "num_mel_bins": 80,
                  "encoder_layers": ENCODER, "decoder_layers": DECODER, "encoder_attention_heads": 4,
                  "decoder_attention_heads": 2, "encoder_ffn_dim": FFN, "decoder_ffn_dim": FFN}
        letters = alphabet()
        vocab = {"".join(letters[b] for b in t): i for i, t in enumerate(self.tokens)}
        self.write(folder + "/config.json", json.dumps(config).encode())
        self.write(folder + "/vocab.json", json.dumps(dict(sorted(vocab.items()))).encode())

    def check(self, name, kind):
        expected = whisper(self.ours, kind, self.numbers, mel(80), self.tokens)
        self.assertTrue(self.read(name) == expected, (name, kind))

    def test_there(self):
        self.make("wide", "f4")
        self.make("base", "f2", "")
        for folder in ("hf", "wide", "base"):
            self.tare("convert", folder, "out.bin", "--to", "whisper", "--force", "--no-sync", "--strict")
            self.check("out.bin", "F16")
        for kind in FILE_TYPES:
            self.tare("convert", "wide", "out.bin", "--to", "whisper", "--type", kind.lower(), "--force", "--no-sync")
            self.check("out.bin", kind)
        self.tare("quantize", "hf", "out.bin", "Q5_1", "--to", "whisper", "--force", "--no-sync", "--strict")
        self.check("out.bin", "Q5_1")

    def test_rows_of_feed_forward(self):
        """whisper.cpp has four times the width, whatever config.json says."""
        name = "encoder.layers.0.fc1.weight"
        self.tensors[name] = self.tensors[name][:96]
        self.make("narrow", "f2")
        self.tare("convert", "narrow", "x.bin", "--to", "whisper", code=5)

    def test_head(self):
        """A stored head is the embeddings, unless config.json says that it is another one."""
        self.tensors = {**self.tensors, "proj_out.weight": self.tensors["decoder.embed_tokens.weight"] + 1}
        self.make("head", "f2", "")
        config = json.loads(self.read("head/config.json"))
        for is_tied in (True, False):
            self.write("head/config.json", json.dumps({**config, "tie_word_embeddings": is_tied}).encode())
            self.tare("convert", "head", "out.bin", "--to", "whisper", "--force", "--no-sync", code=0 if is_tied else 5)
        self.check("out.bin", "F16")

    def test_and_back(self):
        self.write("a.bin", whisper(self.ours, "F16", self.numbers, mel(80), self.tokens[:-1]))
        self.tare("convert", "a.bin", "back", "--to", "hf", "--no-sync", "--strict")
        got = load_file(self.path("back/model.safetensors"))
        self.assertEqual(sorted(got), sorted("model." + n for n in self.tensors))
        for name, array in self.tensors.items():
            self.assertTrue(numpy.array_equal(got["model." + name].astype("f4"), array), name)
        letters = alphabet()
        vocab = json.loads(self.read("back/vocab.json"))
        self.assertEqual(vocab, {"".join(letters[b] for b in t): i for i, t in enumerate(self.tokens)})
        merges = self.read("back/merges.txt").decode().splitlines()
        self.assertEqual(merges[1:], [letters[t[0]] + " " + letters[t[1]] for t in self.tokens[256:-2]])
        added = json.loads(self.read("back/added_tokens.json"))
        self.assertEqual([added[t] for t in ("<|startoftranscript|>", "<|en|>", "<|su|>", "<|translate|>", "<|transcribe|>",
                                             "<|nocaptions|>", "<|notimestamps|>", "<|0.00|>", "<|30.00|>")],
                         [50258, 50259, 50357, 50358, 50359, 50362, 50363, 50364, 51864])
        config = json.loads(self.read("back/config.json"))
        self.assertEqual((config["encoder_ffn_dim"], config["decoder_start_token_id"]), (FFN, 50258))
        self.tare("convert", "back", "b.bin", "--to", "whisper", "--no-sync", "--strict")
        self.check("b.bin", "F16")

    def test_what_does_not_fit(self):
        os.mkdir(self.path("other"))
        for name in ("model.safetensors", "vocab.json"):
            os.link(self.path("hf/" + name), self.path("other/" + name))
        config = json.loads(self.read("hf/config.json"))
        for change in ({"model_type": "llama"}, {"encoder_layers": 3}, {"encoder_layers": 1}, {"d_model": None},
                       {"vocab_size": 50000}, {"vocab_size": 51866}, {"d_model": WIDTH + 1}, {"max_source_positions": 13},
                       {"max_target_positions": 9}, {"num_mel_bins": 81}, {"encoder_attention_heads": 3},
                       {"decoder_attention_heads": 0}):
            self.write("other/config.json", json.dumps({**config, **change}).encode())
            self.tare("convert", "other", "x.bin", "--to", "whisper", code=5 if "model_type" in change or
                      config["encoder_layers"] > change.get("encoder_layers", 99) else 3)
            self.assertFalse(os.path.exists(self.path("x.bin")), change)


if __name__ == "__main__":
    unittest.main()
