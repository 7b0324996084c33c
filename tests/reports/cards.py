#!/usr/bin/env python3
# SPDX-License-Identifier: MIT
"""What a model's card, its folder and the caches of the hub say of its name and licence. `cards.py TARE FOLDER`"""
import os
import sys

from side_parts import Program, keys, put

COMMIT = "0123456789abcdef0123456789abcdef01234567"


def made(p, path, *more):
    code, text = p.run("convert", path, p.path("out.gguf"), "--force", "--no-tokenizer", *more)
    p.expect(f"{path!r}", code == 0, text)
    return keys(p.path("out.gguf")) if code == 0 else {}


def cards(p):
    for text, want in {
        "license: [apache-2.0, mit]": {"license": "apache-2.0,mit"},
        "license:\n- apache-2.0\n- mit": {"license": "apache-2.0,mit"},
        "license: [\n  apache-2.0,\n  mit\n]": {"license": "apache-2.0,mit"},
        "license: [mit]  # ours": {"license": "mit"},
        "license: other\nlicense_name: \"Caf\\u00e9 \\\"one\\\"\\tlicence\"": {"license": "other", "license.name": "Caf\u00e9 \"one\"\tlicence"},
        "license_name: 'it''s: ours' # a comment": {"license.name": "it's: ours"},
        "license_name: \"\\ud83d\\ude00 \\x41\"": {"license.name": "\U0001f600 A"},
        "model_name: \"a \\q b\"": {"name": "a \\q b"},
        "tags:\n- arxiv:2401.00001\n- \"a: b\"\n- key: value": {"tags": ["arxiv:2401.00001", "a: b"]},
        "tags: [\"a, b\", 'c', d]": {"tags": ["a, b", "c", "d"]},
        "base_model: /root/.cache/huggingface/hub/models--some-org--Tiny-7B/snapshots/" + COMMIT:
            {"base_model.0.name": "Tiny 7B", "base_model.0.repo_url": "https://huggingface.co/some-org/Tiny-7B"},
        "license_name: a licence\n  of two lines  # a comment\nlicense: mit": {"license.name": "a licence of two lines", "license": "mit"},
        "license_name: \"one\n\n  two\"\nlicense: mit": {"license.name": "one two", "license": "mit"},
        "license_name: &it \"a: b\"\nlicense: *it": {"license.name": "a: b", "license": "a: b"},
        "license: !!str mit\nlicense_name: ! &b c\nlicense_link: *b": {"license": "mit", "license.name": "c", "license.link": "c"},
        "license: *nobody\nlicense_name: x": {"license": None, "license.name": "x"},
        "license: mit\r\nlicense_link: x\r": {"license": "mit", "license.link": "x"},
    }.items():
        for mark in ("", "\ufeff"):
            got = made(p, p.model("card", {"README.md": f"{mark}---\n{text}\n---\n# Tiny\n"}))
            for key, value in want.items():
                p.expect(f"{text!r}: {key}", got.get("general." + key) == value, repr(got.get("general." + key)))
    got = made(p, p.model("card", {"README.md": b"---\nlicense: caf\xe9\n---\n"}))
    p.expect("a card in Latin-1", got.get("general.license") == "caf\ufffd", repr(got))
    for code in ("utf-16", "utf-16-be"):
        text = "\ufeff---\nlicense: mit\n---\n".encode(code) if code.endswith("be") else "---\nlicense: mit\n---\n".encode(code)
        code, said = p.run("convert", p.model("card", {"README.md": text}), p.path("card.gguf"), "--force", "--no-tokenizer")
        p.expect("a card in UTF-16", code == 0 and "UTF-16" in said and "[llama.card]" in said, said)


def names(p):
    for repository, name in (("some-org--Tiny-Model-1B", "Tiny Model 1B"), ("gpt2", "Gpt2")):
        folder = p.path(f"models--{repository}/snapshots/{COMMIT}")
        os.makedirs(os.path.dirname(folder), exist_ok=True)
        os.rename(p.model("plain"), folder)
        inside = os.path.join(folder, "sub")
        os.symlink(folder, p.path("link"))
        for path in (folder, folder + "/", p.path("link"), p.path(f"models--{repository}")):
            got = made(p, path)
            p.expect(f"{path}", got.get("general.name") == name and COMMIT not in str(got), repr(got))
        os.unlink(p.path("link"))
        os.rename(p.model("plain"), inside)
        p.expect("a folder inside", made(p, inside).get("general.name") == name)
    config = p.model("other", _name_or_path="/home/me/hub/models--some-org--Tiny-Model-1B/snapshots/" + COMMIT)
    p.expect("_name_or_path", made(p, config).get("general.name") == "Tiny Model 1B")
    for folder in ("models--a--b", "snapshots", "models--/snapshots/x"):
        path = p.path(folder)
        os.makedirs(os.path.dirname(path), exist_ok=True)
        os.rename(p.model("plain"), path)
        p.expect(f"no cache: {folder}", made(p, path).get("general.name") is not None)


def folders(p):
    path = os.path.join(os.fsencode(p.folder), b"Caf\xe9-Model-1B")
    os.rename(p.model("plain"), path)
    code, text = p.run("convert", path, p.path("out.gguf"), "--force", "--no-tokenizer")
    p.expect("a folder in Latin-1", code == 0 and keys(p.path("out.gguf")).get("general.name") == "Caf\ufffd Model 1B", text)


def main():
    p = Program()
    for part in (cards, names, folders):
        part(p)
    return p.end("cards and names")


if __name__ == "__main__":
    sys.exit(main())
