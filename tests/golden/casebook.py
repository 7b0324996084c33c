# SPDX-License-Identifier: MIT
"""What a case of the malformed corpus is: files, how they are opened, and what must come of it.

A case is written as NAME.gguf / NAME.safetensors / NAME/ (whatever its files are called) and
NAME.expect, which test_corpus.c reads. An expectation is a list of lines:

    open PATH                     what to open, relative to the corpus folder
    one-shard                     open with tare_open_options.one_shard
    importance                    open as an importance matrix
    file NAME                     the file in which the offset lies, where it is not the opened one
    status CORRUPT                how opening ends (a name of TARE_STATUS_LIST without ERR_)
    offset 24                     the byte that is named; "none": no byte
    item tensor 1                 the tensor, key, resource or adapter that is named; "item none"
    what some words               a part of the text that is named, in any case
    finding error CODE OFFSET ITEM    one finding of level warning or error, after opening
    deep error CODE ITEM          one finding of tare_verify_resources or tare_verify_data
    has format gguf               a field of the summary
    read tensor 1 TRUNCATED       how reading a tensor ends

Findings of level info are not compared; those of warning and error must be exactly these.
"""
import os
import re

CASES = []


class Case:
    def __init__(self, name, note):
        self.name, self.note = name, note
        self.files, self.links, self.lines = {}, {}, []
        CASES.append(self)

    def line(self, *words):
        self.lines.append(" ".join(str(w) for w in words))
        return self

    def write(self, folder):
        for path, content in self.files.items():
            full = os.path.join(folder, path)
            os.makedirs(os.path.dirname(full), exist_ok=True)
            with open(full, "wb") as f:
                f.write(content)
        for path, target in self.links.items():
            full = os.path.join(folder, path)
            os.makedirs(os.path.dirname(full), exist_ok=True)
            if os.path.lexists(full):
                os.unlink(full)
            os.symlink(target, full)
        with open(os.path.join(folder, self.name + ".expect"), "w", encoding="utf-8") as f:
            f.write("# " + self.note + "\n" + "\n".join(self.lines) + "\n")


def place(source, at):
    """A byte offset: a number, None, or a mark that the builder of the file has set ("key 0"),
    perhaps with a distance ("data+12"); "file end" is its size."""
    if at is None:
        return "none"
    if isinstance(at, int):
        return at
    if at == "file end":
        return len(content_of(source))
    mark, distance = re.fullmatch(r"(.*?)(?:\+(\d+))?", at, re.S).groups()
    return source.at[mark] + int(distance or 0)


def content_of(source):
    return source if isinstance(source, bytes) else source.file()


def begin(name, note, source, suffix, files=None, opened=None, links=None):
    """files: further files as path -> bytes, all inside a folder that has the case's name."""
    case = Case(name, note)
    if files is None:
        case.files[name + suffix] = content_of(source)
        return case.line("open", name + suffix)
    for path, content in files.items():
        case.files[name + "/" + path] = content_of(content)
    for path, target in (links or {}).items():
        case.links[name + "/" + path] = target
    return case.line("open", name + ("/" + opened if opened else ""))


def bad(name, note, source, status, at, what, item="none", suffix=".gguf", **more):
    """A file that does not open."""
    one_shard = more.pop("one_shard", False)
    file = more.pop("file", None)
    importance = more.pop("importance", False)
    case = begin(name, note, source, suffix, **more)
    if one_shard:
        case.line("one-shard")
    if importance:
        case.line("importance")
    case.line("status", status).line("offset", place(source, at)).line("item", item)
    if file:
        case.line("file", file)
    return case.line("what", what)


def good(name, note, source, *findings, suffix=".gguf", has=None, reads=(), deep=(), **more):
    """A file that opens. findings: (level, code, at, item)."""
    one_shard = more.pop("one_shard", False)
    importance = more.pop("importance", False)
    case = begin(name, note, source, suffix, **more)
    if one_shard:
        case.line("one-shard")
    if importance:
        case.line("importance")
    case.line("status", "OK")
    for level, code, at, item in findings:
        case.line("finding", level, code, place(source, at), item)
    for level, code, item in deep:
        case.line("deep", level, code, item)
    for key, value in (has or {}).items():
        case.line("has", key, value)
    for tensor, status in reads:
        case.line("read tensor", tensor, status)
    return case
