#!/usr/bin/env python3
# SPDX-License-Identifier: MIT
"""Tokenizers of each kind go into GGUF and come back: the same ids for a page of mixed text, and the
same keys once more. Guards the tokenizer.json that is written of keys. `back_tokenizers.py TARE FOLDER`"""
import json
import os
import shutil
import subprocess
import sys

try:
    import tiny_models
    from compare_gguf import differences
    from tokenizers import Regex, Tokenizer, decoders, models, normalizers, pre_tokenizers, processors, trainers
except ImportError as fault:
    print(f"SKIP: {fault}: needs the package tokenizers")
    sys.exit(77)

SIZE = 640
TEXT = """def f(x):\n\treturn x**2  # añadir 12345 67\n\n  Hello,   world! I'm can't WE'LL\r\n日本語のテキスト、中文字符。 한국어
🎉👩‍👩‍👧 naïve café Ωμέγα русский текст ١٢٣ العربية \t tabs\n\n\n$3.14 + 1e-5 == 0x1F; https://example.com/?q=a&b=c#frag end"""
QWEN2 = (r"(?i:'s|'t|'re|'ve|'m|'ll|'d)|[^\r\n\p{L}\p{N}]?\p{L}+|\p{N}| ?[^\s\p{L}\p{N}]+[\r\n]*|\s*[\r\n]+"
         r"|\s+(?!\S)|\s+")


def texts():
    return [TEXT * 3] + [line for line in TEXT.splitlines() * 4 if line]


def byte_bpe():
    t = Tokenizer(models.BPE())
    t.pre_tokenizer = pre_tokenizers.Sequence([
        pre_tokenizers.Split(Regex(QWEN2), "isolated"),
        pre_tokenizers.ByteLevel(add_prefix_space=False, use_regex=False)])
    t.decoder = decoders.ByteLevel()
    t.train_from_iterator(texts(), trainers.BpeTrainer(
        vocab_size=SIZE - 20, initial_alphabet=pre_tokenizers.ByteLevel.alphabet(), show_progress=False))
    t.add_special_tokens(["<|endoftext|>", "<|im_start|>"])
    t.add_tokens(["<tool>"])
    return t, "qwen2", dict(eos_token="<|endoftext|>", chat_template="{{ messages }}")


def pieces():
    t = Tokenizer(models.BPE(unk_token="<unk>", fuse_unk=True, byte_fallback=True))
    t.normalizer = normalizers.Sequence([normalizers.Prepend("▁"), normalizers.Replace(" ", "▁")])
    t.train_from_iterator(texts(), trainers.BpeTrainer(
        vocab_size=SIZE - 20, special_tokens=["<unk>", "<s>", "</s>"] + [f"<0x{i:02X}>" for i in range(256)],
        show_progress=False))
    # the trainer calls all of these special: bytes are not
    about = json.loads(t.to_str())
    about["added_tokens"] = about["added_tokens"][:3]
    t = Tokenizer.from_str(json.dumps(about))
    t.post_processor = processors.TemplateProcessing(
        single="<s> $A", pair="<s> $A <s> $B", special_tokens=[("<s>", 1)])
    return t, "llama-f32", dict(bos_token="<s>", eos_token="</s>", unk_token="<unk>")


def word_piece():
    t = Tokenizer(models.WordPiece(unk_token="[UNK]"))
    t.normalizer = normalizers.BertNormalizer(lowercase=True)
    t.pre_tokenizer = pre_tokenizers.BertPreTokenizer()
    special = ["[PAD]", "[UNK]", "[CLS]", "[SEP]", "[MASK]"]
    t.train_from_iterator(texts(), trainers.WordPieceTrainer(vocab_size=SIZE - 20, special_tokens=special,
                                                             show_progress=False))
    t.post_processor = processors.TemplateProcessing(
        single="[CLS] $A [SEP]", pair="[CLS] $A [SEP] $B:1 [SEP]:1", special_tokens=[("[CLS]", 2), ("[SEP]", 3)])
    return t, "bert", dict(unk_token="[UNK]", sep_token="[SEP]", pad_token="[PAD]", cls_token="[CLS]",
                           mask_token="[MASK]")


def unigram():
    t = Tokenizer(models.Unigram())
    t.pre_tokenizer = pre_tokenizers.Metaspace()
    t.train_from_iterator(texts(), trainers.UnigramTrainer(
        vocab_size=SIZE - 20, special_tokens=["<pad>", "</s>", "<unk>"], unk_token="<unk>", show_progress=False))
    t.post_processor = processors.TemplateProcessing(
        single="$A </s>", pair="$A </s> $B </s>", special_tokens=[("</s>", 1)])
    return t, "t5", dict(eos_token="</s>", unk_token="<unk>", pad_token="<pad>")


def write_model(folder, name, tokenizer, config):
    function, about = tiny_models.MODELS[name]
    made = function()
    made[0]["vocab_size"] = SIZE
    shapes = {k: ((SIZE,) + v[1:] if v[0] == 320 else v) for k, v in made[1].items()}
    tiny_models.MODELS[name] = (lambda: (made[0], shapes), about)
    tiny_models.write(folder, name)
    tokenizer.save(os.path.join(folder, "tokenizer.json"))
    with open(os.path.join(folder, "tokenizer_config.json"), "w") as f:
        json.dump(config, f)


def faults(tare, folder, make):
    tokenizer, name, config = make()
    model, back = os.path.join(folder, make.__name__), os.path.join(folder, "back", make.__name__)
    there, again = os.path.join(folder, "there.gguf"), os.path.join(folder, "again.gguf")
    write_model(model, name, tokenizer, config)
    for args in ((model, there), (there, back, "--to", "hf"), (back, again)):
        run = subprocess.run([tare, "convert", *args, "--type", "f32", "--quiet", "--no-sync", "--force"],
                             capture_output=True, text=True)
        if run.returncode:
            return [run.stderr.strip()]
    found = [f for f in differences(there, again) if f.startswith("key")]
    restored = Tokenizer.from_file(os.path.join(back, "tokenizer.json"))
    # Of merges over characters llama.cpp keeps the ranks of tokens, which join longer texts otherwise.
    page = [] if make is pieces else [TEXT, TEXT[:100]] + TEXT.split("\n")
    for text in page + TEXT.split():
        if text and tokenizer.encode(text).ids != restored.encode(text).ids:
            found.append(f"{text!r}: {tokenizer.encode(text).ids[:12]} and {restored.encode(text).ids[:12]}")
    return found


def main():
    tare, folder = sys.argv[1:]
    shutil.rmtree(folder, ignore_errors=True)
    os.makedirs(os.path.join(folder, "back"))
    failed = 0
    for make in (byte_bpe, pieces, word_piece, unigram):
        found = faults(tare, folder, make)
        failed += bool(found)
        print("\n  ".join([f"{make.__name__}: {len(found)} differences"] + found[:5]))
    shutil.rmtree(folder)
    return failed > 0


if __name__ == "__main__":
    sys.exit(main())
