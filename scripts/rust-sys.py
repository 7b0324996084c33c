#!/usr/bin/env python3
# SPDX-License-Identifier: MIT
"""rust-sys.py [--update] [--layout c|rust]: the declarations of bindings/rust/src/sys.rs are those of
include/tare. Without an option it says where the file differs; with --update it writes it. --layout
prints a program that prints the size, alignment and offsets of each struct as that language has them:
tests/consumer compares the two.

Declarations are read after the preprocessor of $CC (cc), so lists of macros are what they expand to.
"""
import os
import re
import subprocess
import sys

import tree

OUT = "bindings/rust/src/sys.rs"
HEAD = """// SPDX-License-Identifier: MIT
//
//! What the C headers declare, under their names; their comments say what it means. Made by
//! scripts/rust-sys.py --update from include/tare, which a test compares with this file.
#![allow(non_camel_case_types, missing_docs)]

use std::os::raw::{c_char, c_int, c_uint, c_void};

"""
PLAIN = {"void": "c_void", "char": "c_char", "int": "c_int", "unsigned": "c_uint", "_Bool": "bool", "float": "f32",
         "double": "f64", "size_t": "usize", "uint8_t": "u8", "uint16_t": "u16", "uint32_t": "u32", "uint64_t": "u64",
         "int8_t": "i8", "int16_t": "i16", "int32_t": "i32", "int64_t": "i64"}
KEYWORDS = {"type", "ref", "in", "as", "where", "mod", "fn", "use", "match", "move", "box", "final"}
TOKEN = re.compile(r'"(?:\\.|[^"\\])*"|\w+|\.\.\.|[^\s\w]')
NUMBER = re.compile(r"^#define (TARE_(?:VERSION|MAX|STATS)_\w+) +(\d+)", re.M)
CODE = re.compile(r'^#define (TARE_CODE_\w+) +"([^"]+)"', re.M)


def headers():
    return [h for h in tree.files(".h") if h.startswith("include/tare/") and "/private/" not in h]


def preprocessed():
    """The tokens of our headers alone, after the preprocessor."""
    out = subprocess.run([*os.environ.get("CC", "cc").split(), "-xc", "-std=c11", "-Iinclude", "-E", "-"],
                         input="#include <tare/tare.h>\n", cwd=tree.ROOT, text=True, capture_output=True, check=True).stdout
    lines, ours = [], False
    for line in out.splitlines():
        if line.startswith("# "):
            ours = line.split('"')[1].startswith("include/tare/")
        elif ours:
            lines.append(line)
    return TOKEN.findall("\n".join(lines))


def name_of(word):
    return f"r#{word}" if word in KEYWORDS else word


class Reader:
    """Declarations of C as declarations of Rust. What it does not know ends it with an error."""

    def __init__(self, tokens):
        self.tokens, self.at = tokens, 0
        self.items, self.structs, self.opaque, self.constants = [], {}, [], {}

    def peek(self, ahead=0):
        return self.tokens[self.at + ahead] if self.at + ahead < len(self.tokens) else ""

    def take(self, *expected):
        token = self.peek()
        if expected and token not in expected:
            sys.exit(f"rust-sys: {' '.join(self.tokens[self.at - 8:self.at + 4])}: {' or '.join(expected)} was expected")
        self.at += 1
        return token

    def skip_group(self, opening, closing):
        depth = 0
        while True:
            depth += {opening: 1, closing: -1}.get(self.take(), 0)
            if depth == 0:
                return

    # ---- types

    def base(self):
        """A type without stars: its name in Rust, and whether it is const."""
        is_const, words = False, []
        while re.match(r"\w", self.peek()):
            word = self.peek()
            if word in ("const", "struct", "enum"):
                is_const |= word == "const"
            elif words and not (words == ["unsigned"] and word == "int"):
                break
            elif word != "int" or not words:
                words.append(word)
            self.take()
        name = PLAIN.get(words[0], words[0])
        if name == words[0] and name not in self.structs and name not in self.constants and name not in self.opaque:
            self.opaque.append(name)
        return name, is_const

    def pointers(self, name, is_const):
        while self.peek() == "*":
            self.take()
            name = f"*{'const' if is_const else 'mut'} {name}"
            is_const = self.peek() == "const"
            if is_const:
                self.take()
        return name

    def number(self, *ends):
        """A constant up to one of these tokens: digits, names of enums, operators."""
        words = []
        while self.peek() not in ends:
            word = self.take()
            words.append(str(self.constants.get(word, word)))
        text = " ".join(words).replace("< <", "<<")
        if not re.fullmatch(r"[\d <+|()-]+", text):
            sys.exit(f"rust-sys: a number was expected: {text}")
        return eval(text)

    def declarator(self, base, is_const):
        """(name, type) of what follows a base type."""
        kind = self.pointers(base, is_const)
        if self.peek() == "(":
            self.take("("), self.take("*")
            name = self.take()
            self.take(")")
            return name, self.function(kind)
        name = self.take() if re.match(r"[A-Za-z_]", self.peek()) else ""
        sizes = []
        while self.peek() == "[":
            self.take("[")
            sizes.append(self.number("]"))
            self.take("]")
        for size in reversed(sizes):
            kind = f"[{kind}; {size}]"
        return name, kind

    def parameters(self):
        self.take("(")
        out = []
        if self.peek() == "void" and self.peek(1) == ")":
            self.take()
        while self.peek() != ")":
            base, is_const = self.base()
            name, kind = self.declarator(base, is_const)
            if kind.startswith("["):  # as C passes it
                kind = f"*{'const' if is_const else 'mut'} {kind[1:].split(';')[0]}"
            out.append(f"{name_of(name or '_')}: {kind}")
            if self.peek() == ",":
                self.take()
        self.take(")")
        return ", ".join(out)

    def function(self, returns):
        text = f'Option<unsafe extern "C" fn({self.parameters()})'
        return f"{text}>" if returns == "c_void" else f"{text} -> {returns}>"

    # ---- declarations

    def members(self, owner):
        out = []
        self.take("{")
        while self.peek() != "}":
            if self.peek() == "union":
                self.take()
                union = f"{owner}_union"
                members = self.members(union)
                name = self.take()
                self.add_struct(union, members, "union")
                out.append((name, union))
            else:
                base, is_const = self.base()
                out.append(self.declarator(base, is_const))
                while self.peek() == ",":
                    self.take()
                    out.append(self.declarator(base, is_const))
            self.take(";")
        self.take("}")
        return out

    def add_struct(self, name, members, kind="struct"):
        self.structs[name] = (kind, members)
        lines = "".join(f"    pub {name_of(n)}: {t},\n" for n, t in members)
        self.items.append(f"#[repr(C)]\n#[derive(Clone, Copy)]\npub {kind} {name} {{\n{lines}}}\n")

    def enumeration(self):
        if self.peek() != "{":
            self.take()
        self.take("{")
        value, rows = -1, []
        while self.peek() != "}":
            name, value = self.take(), value + 1
            if self.peek() == "=":
                self.take("=")
                value = self.number(",", "}")
            rows.append((name, value))
            self.constants[name] = value
            if self.peek() == ",":
                self.take()
        self.take("}")
        return rows

    def typedef(self):
        self.take("typedef")
        if self.peek() == "enum":
            self.take("enum")
            rows = self.enumeration()
            name = self.take()
            self.constants[name] = None
            lines = "".join(f"pub const {n}: {name} = {v};\n" for n, v in rows)
            self.items.append(f"pub type {name} = c_uint;\n{lines}")
        elif self.peek() == "struct" and "{" in (self.peek(1), self.peek(2)):
            self.take("struct")
            if self.peek() != "{":
                self.take()
            at = self.at
            self.skip_group("{", "}")
            name, self.at = self.peek(), at
            self.structs[name] = None
            members = self.members(name)
            self.take(name)
            self.add_struct(name, members)
        else:
            base, is_const = self.base()
            name, kind = self.declarator(base, is_const)
            if kind != name:
                self.constants[name] = None
                self.items.append(f"pub type {name} = {kind};\n")
        self.take(";")

    def statement(self):
        if self.peek() == "typedef":
            return self.typedef()
        if self.peek() == "enum":
            self.take()
            rows = self.enumeration()
            self.items.append("".join(f"pub const {n}: c_int = {v};\n" for n, v in rows))
        elif self.peek() == "struct" and self.peek(2) == ";":
            self.take(), self.take()
        elif self.peek() == "struct" and self.peek(2) == "{":
            self.take("struct")
            name = self.take()
            self.structs[name] = None
            self.add_struct(name, self.members(name))
        elif self.peek() == "static":
            while self.peek() != "{":
                self.take()
            return self.skip_group("{", "}")
        elif self.peek() == "extern":
            self.take(), self.take()
            return None
        else:
            self.take("__attribute__")
            self.skip_group("(", ")")
            base, is_const = self.base()
            kind = self.pointers(base, is_const)
            name = self.take()
            returns = "" if kind == "c_void" else f" -> {kind}"
            self.items.append(f'extern "C" {{\n    pub fn {name}({self.parameters()}){returns};\n}}\n')
        return self.take(";")

    def read(self):
        while self.peek():
            self.statement()
        return self


def sys_rs(reader):
    text = HEAD
    for path in headers():
        text += "".join(f"pub const {n}: usize = {v};\n" for n, v in NUMBER.findall(tree.read(path)))
        text += "".join(f"pub const {n}: &str = \"{v}\";\n" for n, v in CODE.findall(tree.read(path)))
    text += "pub const TARE_NO_OFFSET: u64 = u64::MAX;\n"
    for name in reader.opaque:
        if name not in reader.structs and name not in reader.constants:
            text += f"\n#[repr(C)]\npub struct {name} {{\n    _private: [u8; 0],\n}}\n"
    for item in reader.items:
        joins = item.startswith('extern "C"') and text.endswith(";\n}\n")
        text = text[:-2] + item.split("\n", 1)[1] if joins else f"{text}\n{item}"
    return text


def layout(reader, language):
    """Lines NAME SIZE ALIGNMENT OFFSET... of all structs; unions inside them are seen through them."""
    rows = [(name, [n for n, _ in members]) for name, (kind, members) in reader.structs.items() if kind == "struct"]
    if language == "c":
        body = "".join(f'    printf("{name} %zu %zu", sizeof({name}), _Alignof({name}));\n'
                       + "".join(f'    printf(" %zu", offsetof({name}, {m}));\n' for m in members)
                       + '    puts("");\n' for name, members in rows)
        return f"#include <stddef.h>\n#include <stdio.h>\n#include <tare/tare.h>\n\nint main(void) {{\n{body}    return 0;\n}}\n"
    body = "".join(f"    let x = std::mem::MaybeUninit::<{name}>::uninit();\n    let p = x.as_ptr();\n"
                   f'    print!("{name} {{}} {{}}", size_of::<{name}>(), align_of::<{name}>());\n'
                   + "".join(f'    print!(" {{}}", unsafe {{ addr_of!((*p).{name_of(m)}) }} as usize - p as usize);\n'
                             for m in members) + "    println!();\n" for name, members in rows)
    return f"use std::mem::{{align_of, size_of}};\nuse std::ptr::addr_of;\nuse tare::sys::*;\n\nfn main() {{\n{body}}}\n"


def main():
    reader = Reader(preprocessed()).read()
    if "--layout" in sys.argv:
        print(layout(reader, sys.argv[-1]), end="")
        return
    text, path = sys_rs(reader), os.path.join(tree.ROOT, OUT)
    if "--update" in sys.argv:
        with open(path, "w", encoding="utf-8") as file:
            file.write(text)
    same = os.path.exists(path) and tree.read(OUT) == text
    findings = [] if same else [f"{OUT}: not what include/tare declares: scripts/rust-sys.py --update"]
    tree.finish(findings, len(reader.items))


if __name__ == "__main__":
    main()
