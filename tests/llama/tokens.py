#!/usr/bin/env python3
# SPDX-License-Identifier: MIT
"""Tokens of llama.cpp beside those of Hugging Face's library, for tokenizers of each kind with every stage that the library
has: the same on some forty texts, or tare says that they are not, or refuses the tokenizer. What it says must hold: a
tokenizer with the same tokens is converted without a word. `tokens.py TARE FOLDER [NAME...]`, by a Python that has the
packages of python/hosts-requirements.txt and xllamacpp; exit 77: one is missing."""
import ctypes
import itertools
import json
import os
import shutil
import struct
import subprocess
import sys

try:
    import llama_library
    from tokenizers import AddedToken, Regex, Tokenizer
    from tokenizers import decoders as D
    from tokenizers import models as M
    from tokenizers import normalizers as N
    from tokenizers import pre_tokenizers as P
    from tokenizers import processors as R
    from tokenizers import trainers as T
except ImportError as fault:
    print(f"SKIP: {fault}")
    sys.exit(77)

TEXTS = [
    "Hello world, this is a test.", 'def f(x):\n    return x**2 + 3.14e-10\n\n\tprint(f"{i:>3}")\n', "1234567890 12 345 0x7fFF", "我能吞下玻璃而不伤身体。",
    "私はガラスを食べられます。ｱｲｳ", "👩🏽‍💻 🏳️‍🌈 🤦🏼‍♂️", "a" + " " * 40 + "b", "\n\n \n\t\t x \n\n\ny", "I'm you're DON'T 'tis we'LL", "   leading and trailing   ",
    "Ünïcödé Ελληνικά Русский עברית", "https://example.com/?q=1&b=2#f", "CamelCase SNAKE_CASE with-hyphens", " ", "\n", "\r\n a\r\nb", "हिन्दी में पाठ", "தமிழ் உரை",
    "ภาษาไทยทดสอบ", "한국어 텍스트 각각", "العربية مرحبا", "１２３ ⅷ ½ ² ٣", "ﬁ ﬀ Å Å ñ", "\u00a0nbsp\u200bzero\u3000wide", "x" * 50, "a\tb\t\tc", "...!!??--==>>",
    "$100 50% #tag @user", "e\u0301 cafe\u0301 n\u0303", "𝔘𝔫𝔦 𐍈", "Ǆ ŉ İı ẞß", '"quoted" \'single\' “curly”', "end with newline\n", "end with space ", "a <tok> b", "<tok>",
    "<tok>  x", " a <tok>x", "xtok tok tokx", "a b a  b", "a    b     c"]
CORPUS = [" ".join(TEXTS) + " the theory of the thing that there is then other mother father another weather whether\n"] * 4
SPECIAL = ["<s>", "<pad>", "</s>", "<unk>"]
LLAMA_PATTERN = r"(?i:'s|'t|'re|'ve|'m|'ll|'d)|[^\r\n\p{L}\p{N}]?\p{L}+|\p{N}{1,3}| ?[^\s\p{L}\p{N}]+[\r\n]*|\s*[\r\n]+|\s+(?!\S)|\s+"
CASED = (r"[^\r\n\p{L}\p{N}]?[\p{Lu}\p{Lt}\p{Lm}\p{Lo}\p{M}]*[\p{Ll}\p{Lm}\p{Lo}\p{M}]+|[^\r\n\p{L}\p{N}]?[\p{Lu}\p{Lt}\p{Lm}\p{Lo}\p{M}]+"
         r"[\p{Ll}\p{Lm}\p{Lo}\p{M}]*|\p{N}| ?[^\s\p{L}\p{N}]+[\r\n/]*|\s*[\r\n]+|\s+(?!\S)|\s+")
AROUND = R.TemplateProcessing(single="<s> $A </s>", pair="<s> $A </s> $B </s>", special_tokens=[("<s>", 0), ("</s>", 2)])
BLANKS = N.Sequence([N.Prepend("▁"), N.Replace(" ", "▁")])


def finish(t, norm, pre, post, added):
    t.normalizer = norm or N.Sequence([])
    if pre:
        t.pre_tokenizer = pre
    if post:
        t.post_processor = post
    for a in added:
        (t.add_special_tokens if a.special else t.add_tokens)([a])
    return t


def characters(norm=BLANKS, pre=None, post=AROUND, added=(), **options):
    """Merges over characters, with tokens for single bytes."""
    t = Tokenizer(M.BPE(unk_token="<unk>"))
    t.pre_tokenizer = P.Metaspace()
    t.train_from_iterator(CORPUS, T.BpeTrainer(vocab_size=900, special_tokens=SPECIAL + [f"<0x{i:02X}>" for i in range(256)], show_progress=False))
    model = json.loads(t.to_str())["model"]
    merges = [tuple(m) if isinstance(m, list) else tuple(m.split(" ")) for m in model["merges"]]
    t = Tokenizer(M.BPE(vocab=model["vocab"], merges=merges, **dict(dict(byte_fallback=True, unk_token="<unk>", fuse_unk=True), **options)))
    t.decoder = D.Sequence([D.Replace("▁", " "), D.ByteFallback(), D.Fuse()])
    t.add_special_tokens(SPECIAL)
    return finish(t, norm, pre, post, added)


def byte_level(norm=None, pre=P.ByteLevel(add_prefix_space=False), post=None, added=(), left_out=0, whole=(), **options):
    t = Tokenizer(M.BPE())
    t.pre_tokenizer, t.decoder = pre, D.ByteLevel()
    t.train_from_iterator(CORPUS, T.BpeTrainer(vocab_size=700, special_tokens=SPECIAL, initial_alphabet=sorted(P.ByteLevel.alphabet()), show_progress=False))
    if options or left_out or whole:
        model = json.loads(t.to_str())["model"]
        gone = set(sorted(P.ByteLevel.alphabet())[:left_out])
        vocab = [x for x in model["vocab"] if not gone & set(x) or x in SPECIAL] + list(whole)
        merges = [tuple(m) if isinstance(m, list) else tuple(m.split(" ")) for m in model["merges"]]
        merges = [m for m in merges if not gone & set("".join(m))]
        t = Tokenizer(M.BPE(vocab={x: i for i, x in enumerate(vocab)}, merges=merges, **options))
        t.pre_tokenizer, t.decoder = pre, D.ByteLevel()
        t.add_special_tokens(SPECIAL)
    return finish(t, norm, None, post, added)


def by_pattern(*patterns):
    return P.Sequence([*(P.Split(Regex(p), "isolated") for p in patterns), P.ByteLevel(add_prefix_space=False, use_regex=False)])


BERT = R.TemplateProcessing(single="<s> $A </s>", pair="<s> $A </s> $B:1 </s>:1", special_tokens=[("<s>", 0), ("</s>", 2)])


def words(norm=None, pre=P.BertPreTokenizer(), post=BERT, added=(), most=100, prefix="##"):
    t = Tokenizer(M.WordPiece(unk_token="<unk>", max_input_chars_per_word=most))
    t.normalizer, t.pre_tokenizer, t.decoder = norm or N.BertNormalizer(), pre, D.WordPiece()
    t.train_from_iterator(CORPUS, T.WordPieceTrainer(vocab_size=700, special_tokens=SPECIAL, show_progress=False))
    if prefix != "##":
        t.model = M.WordPiece({x.replace("##", prefix, x.startswith("##")): i for x, i in t.get_vocab(False).items()}, unk_token="<unk>",
                              continuing_subword_prefix=prefix)
    return finish(t, t.normalizer, None, post, added)


def pieces(norm=None, pre=P.Metaspace(), post=AROUND, added=(), **options):
    t = Tokenizer(M.Unigram())
    t.normalizer, t.pre_tokenizer = norm or N.NFKC(), pre
    t.train_from_iterator(CORPUS, T.UnigramTrainer(vocab_size=600, special_tokens=SPECIAL, unk_token="<unk>", show_progress=False))
    if options:
        scores = [tuple(x) for x in json.loads(t.to_str())["model"]["vocab"]]
        t.model = M.Unigram(scores + [(f"<0x{i:02X}>", -20.0) for i in range(256)], 3, **options)
    return finish(t, norm, None, post, added)


def token(letters, text="<tok>"):
    return [AddedToken(text, lstrip="l" in letters, rstrip="r" in letters, special="s" in letters, normalized="n" in letters, single_word="w" in letters)]


def tokenizers():
    """NAME, the kind, the function, its arguments."""
    norms = dict(nfc=N.NFC(), nfkc=N.NFKC(), nfd=N.NFD(), lower=N.Lowercase(), strip=N.Strip(), accents=N.StripAccents(), collapse=N.Replace(Regex(" {2,}"), " "))
    added = ["", "n", "s", "sn", "l", "r", "lr", "rs", "lsn", "w"]
    for name, norm in norms.items():
        yield f"characters-{name}", characters, dict(norm=N.Sequence([norm, BLANKS]))
        yield f"byte-level-{name}", byte_level, dict(norm=norm)
        yield f"words-{name}", words, dict(norm=norm)
        yield f"pieces-{name}", pieces, dict(norm=norm)
    for letters in added:
        text = "tok" if letters == "w" else "<tok>"
        for kind in (characters, byte_level, words, pieces):
            yield f"{kind.__name__}-added-{letters}", kind, dict(added=token(letters, text))
    yield "characters", characters, {}
    yield "characters-no-prefix", characters, dict(norm=N.Replace(" ", "▁"), pre=P.Split(" ", "merged_with_previous"))
    for scheme in ("always", "first", "never"):
        yield f"characters-metaspace-{scheme}", characters, dict(norm=None, pre=P.Metaspace(prepend_scheme=scheme, split=False))
        yield f"pieces-{scheme}", pieces, dict(pre=P.Metaspace(prepend_scheme=scheme))
    stages = dict(digits=P.Digits(individual_digits=True), runs=P.Digits(individual_digits=False), punctuation=P.Punctuation(), white=P.WhitespaceSplit(),
                  whitespace=P.Whitespace(), bert=P.BertPreTokenizer(), regex=P.Split(Regex(r"\d"), "isolated"))
    for name, stage in stages.items():
        yield f"characters-{name}", characters, dict(pre=stage)
        yield f"byte-level-{name}", byte_level, dict(pre=P.Sequence([stage, P.ByteLevel(add_prefix_space=False)]))
        yield f"words-{name}", words, dict(pre=stage)
        yield f"pieces-{name}", pieces, dict(pre=P.Sequence([stage, P.Metaspace()]))
    for name, pattern in (("llama3", LLAMA_PATTERN), ("tekken", CASED), ("unknown", r"\p{L}+|\d{1,2}|.")):
        yield f"byte-level-{name}", byte_level, dict(pre=by_pattern(pattern))
    yield "byte-level-prefix", byte_level, dict(pre=P.ByteLevel(add_prefix_space=True))
    yield "byte-level-around", byte_level, dict(post=AROUND)
    yield "byte-level-two", byte_level, dict(post=R.TemplateProcessing(single="<s> <pad> $A", pair="<s> $A $B", special_tokens=[("<s>", 0), ("<pad>", 1)]))
    for clean, chinese, accents, lower in itertools.product((True, False), (True, False), (None, True, False), (True, False)):
        yield f"words-{clean:d}{chinese:d}{accents}{lower:d}", words, dict(norm=N.BertNormalizer(clean, chinese, accents, lower))
    yield "characters-dropout", characters, dict(dropout=0.5)
    yield "characters-no-bytes", characters, dict(byte_fallback=False)
    yield "characters-no-bytes-apart", characters, dict(byte_fallback=False, fuse_unk=False)
    yield "characters-no-bytes-no-unk", characters, dict(byte_fallback=False, unk_token=None)
    yield "characters-ignore-merges", characters, dict(ignore_merges=True)
    yield "byte-level-dropout", byte_level, dict(dropout=0.5)
    yield "byte-level-unk", byte_level, dict(unk_token="<unk>")
    yield "byte-level-part", byte_level, dict(left_out=60)
    yield "byte-level-part-unk", byte_level, dict(left_out=60, unk_token="<unk>")
    yield "byte-level-part-fused", byte_level, dict(left_out=60, unk_token="<unk>", fuse_unk=True)
    for ignore, pattern in itertools.product((False, True), (None, LLAMA_PATTERN, CASED)):
        pre = by_pattern(pattern) if pattern else P.ByteLevel(add_prefix_space=False)
        yield f"byte-level-whole-{ignore:d}{(pattern or '')[:3]}", byte_level, dict(pre=pre, ignore_merges=ignore, whole=("Hellox", "ĠCamelCase", "Hello", "ĠSNAKE", "leading"))
    for behavior, invert in itertools.product(("isolated", "merged_with_previous", "merged_with_next", "contiguous"), (False, True)):
        pre = P.Sequence([P.Split(Regex(LLAMA_PATTERN), behavior, invert), P.ByteLevel(add_prefix_space=False, use_regex=False)])
        yield f"byte-level-{behavior}-{invert:d}", byte_level, dict(pre=pre)
    for name, post in dict(level=R.ByteLevel(), level_offsets=R.ByteLevel(trim_offsets=False), bert=R.BertProcessing(("</s>", 2), ("<s>", 0)),
                           roberta=R.RobertaProcessing(("</s>", 2), ("<s>", 0)), sequence=R.Sequence([R.ByteLevel(), AROUND]),
                           behind=R.TemplateProcessing(single="$A </s>", pair="$A $B </s>", special_tokens=[("</s>", 2)]),
                           front=R.TemplateProcessing(single="<s> $A", pair="<s> $A $B", special_tokens=[("<s>", 0)])).items():
        for kind in (characters, byte_level, words, pieces):
            yield f"{kind.__name__}-post-{name}", kind, dict(post=post)
    yield "words-prefix", words, dict(prefix="@@")
    yield "words-no-prefix", words, dict(prefix="")
    yield "pieces-bytes", pieces, dict(byte_fallback=True)
    yield "words-bare", words, dict(post=None)
    yield "words-short", words, dict(most=10)
    yield "pieces-bare", pieces, dict(post=None)


CLASSES = dict(characters=("LlamaForCausalLM", "llama", "model.embed_tokens.weight"), byte_level=("Qwen2ForCausalLM", "qwen2", "model.embed_tokens.weight"),
               words=("BertModel", "bert", "embeddings.word_embeddings.weight"), pieces=("XLMRobertaModel", "xlm-roberta", "embeddings.word_embeddings.weight"))


def store(folder, kind, t):
    shutil.rmtree(folder, ignore_errors=True)
    os.makedirs(folder)
    t.save(os.path.join(folder, "tokenizer.json"))
    n = max(t.get_vocab(True).values()) + 1
    name, model_type, tensor = CLASSES[kind.__name__]
    config = dict(architectures=[name], model_type=model_type, hidden_size=32, intermediate_size=32, num_hidden_layers=1, num_attention_heads=1,
                  max_position_embeddings=64, rms_norm_eps=1e-5, layer_norm_eps=1e-5, type_vocab_size=1, pad_token_id=1, vocab_size=n)
    roles = dict(bos_token="<s>", eos_token="</s>", unk_token="<unk>", pad_token="<pad>", **(dict(cls_token="<s>", sep_token="</s>") if kind is words else {}))
    for file, what in (("config.json", config), ("tokenizer_config.json", dict(roles, tokenizer_class="PreTrainedTokenizerFast"))):
        with open(os.path.join(folder, file), "w") as f:
            json.dump(what, f)
    header = json.dumps({tensor: dict(dtype="F32", shape=[n, 32], data_offsets=[0, n * 128])}).encode()
    with open(os.path.join(folder, "model.safetensors"), "wb") as f:
        f.write(struct.pack("<Q", len(header)) + header + bytes(n * 128))


class Vocabulary:
    def __init__(self, library, path):
        params = library.model_default_params()
        params.flags[0] = True  # the vocabulary alone
        self.of, self.model = library, library.model_load_from_file(path.encode(), params)
        if not self.model:
            raise RuntimeError(library.fault())
        self.vocabulary = library.model_get_vocab(self.model)

    def ids(self, text, around):
        raw = text.encode()
        ids = (ctypes.c_int32 * (4 * len(raw) + 16))()
        n = self.of.tokenize(self.vocabulary, raw, len(raw), ids, len(ids), around, True)
        return ids[:n]


def judge(tare, folder, library, name, kind, arguments):
    """What is wrong; empty: nothing."""
    t = kind(**arguments)
    store(folder, kind, t)
    run = subprocess.run([tare, "convert", folder, folder + ".gguf", "--vocab-only", "--force", "--no-sync"], capture_output=True, text=True)
    if run.returncode:
        return "" if "llama.cpp" in run.stderr else f"refused without a reason: {run.stderr.strip()[-200:]}"
    is_told = any(code in run.stderr for code in ("tokenizer.not-applied", "tokenizer.prefix-space"))
    theirs = Vocabulary(library, folder + ".gguf")
    differ = [x for x in TEXTS for around in (True, False) if t.encode(x, add_special_tokens=around).ids != theirs.ids(x, around)]
    if differ and not is_told:
        return f"other tokens without a word: {differ[0]!r}"
    return "" if differ or not is_told else f"the same tokens, and yet: {run.stderr.strip()[-200:]}"


def main():
    tare, folder, *names = sys.argv[1:]
    library = llama_library.Library()
    if not library.is_known():
        print("SKIP: the structs of this xllamacpp are others")
        return 77
    shutil.rmtree(folder, ignore_errors=True)
    os.makedirs(folder)
    n = found = 0
    for name, kind, arguments in tokenizers():
        if names and name not in names:
            continue
        n += 1
        wrong = judge(tare, os.path.join(folder, "model"), library, name, kind, arguments)
        if wrong:
            found += 1
            print(f"{name}: {wrong}", flush=True)
    shutil.rmtree(folder)
    print(f"{n} tokenizers, {found} faults")
    return found > 0 or n == 0


if __name__ == "__main__":
    sys.exit(main())
