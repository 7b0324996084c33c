#!/usr/bin/env python3
# SPDX-License-Identifier: MIT
"""prose.py WORK: prose to calibrate, test and train with, from three books that Debian packages.

The packages are downloaded with apt-get, unpacked without being installed, and stripped of markup.
One chapter in four calibrates and the next one tests, which is more than enough of both, and the
other two train; a paragraph that a book repeats is dropped. calib.json and test.json are lists of
passages of 3000 characters in a fixed random order, the books in turn, so that the first N are a fair
sample; calib.txt and test.txt are the same as plain text, and train.txt is running text.
"""
import argparse
import glob
import gzip
import html.parser
import itertools
import json
import os
import random
import re
import subprocess

# Name and version; what each holds, below its folder of /usr/share/doc.
BOOKS = {"anarchism=15.3-3": "anarchism/html/*.html",
         "debian-handbook=11.20220922": "debian-handbook/html/en-US/*.html",
         "jargon-text=4.4.7-4.1": "jargon-text/jargon.txt.gz"}
PASSAGE = 3000        # characters: more than 512 tokens of any tokenizer used here
SHORTEST = 200        # a paragraph below this is a heading, a caption or a list of links
CHAPTER = 100_000     # of a book that is one file
BLOCKS = {"p", "br", "li", "dd", "dt", "div", "pre", "td", "h1", "h2", "h3", "h4", "h5"}
SILENT = {"script", "style", "head"}


class Paragraphs(html.parser.HTMLParser):
    """The text of a page; an element of BLOCKS begins a paragraph."""

    def __init__(self, page):
        super().__init__()
        self.text, self.silent = [], 0
        self.feed(page)
        self.close()

    def handle_starttag(self, tag, attrs):
        self.silent += tag in SILENT
        if tag in BLOCKS:
            self.text.append("\n\n")

    def handle_endtag(self, tag):
        self.silent -= tag in SILENT
        if tag in BLOCKS:
            self.text.append("\n\n")

    def handle_data(self, data):
        if not self.silent:
            self.text.append(data)


def fetch(work):
    folder = os.path.join(work, "deb")
    os.makedirs(folder, exist_ok=True)
    for book in BOOKS:
        name, version = book.split("=")
        if not glob.glob(os.path.join(folder, f"{name}_{version}_*.deb")):
            subprocess.run(["apt-get", "download", "-q", book], cwd=folder, check=True)
    for package in glob.glob(os.path.join(folder, "*.deb")):
        subprocess.run(["dpkg-deb", "-x", package, os.path.join(folder, "root")], check=True)
    return os.path.join(folder, "root/usr/share/doc")


def chapters(folder):
    """Book and text of each chapter, with empty lines between paragraphs."""
    for book, pattern in BOOKS.items():
        for path in sorted(glob.glob(os.path.join(folder, pattern))):
            if path.endswith(".gz"):
                with gzip.open(path, "rt", encoding="utf-8", errors="replace") as f:
                    text = f.read()
                yield from ((book, text[at:at + CHAPTER]) for at in range(0, len(text), CHAPTER))
            else:
                with open(path, encoding="utf-8", errors="replace") as f:
                    yield book, "".join(Paragraphs(f.read()).text)


def paragraphs(text, seen):
    for paragraph in re.split(r"\n\s*\n", text):
        paragraph = re.sub(r"\s+", " ", paragraph).strip()
        if len(paragraph) >= SHORTEST and paragraph not in seen:
            seen.add(paragraph)
            yield paragraph


def passages(chosen):
    """Passages of (book, text) pairs: those of a book shuffled, the books in turn."""
    books = {}
    for book, text in chosen:
        books.setdefault(book, []).extend(text[at:at + PASSAGE]
                                          for at in range(0, len(text) - PASSAGE, PASSAGE))
    shuffle = random.Random(1)
    for cut in books.values():
        shuffle.shuffle(cut)
    return [passage for turn in itertools.zip_longest(*books.values()) for passage in turn if passage]


def main(work):
    seen = set()
    texts = []
    for book, chapter in chapters(fetch(work)):
        texts.append((book, "\n\n".join(paragraphs(chapter, seen))))
    for name, first in (("calib", 0), ("test", 1)):
        chosen = [(book, text) for book, text in texts[first::4] if len(text) > PASSAGE]
        cut = passages(chosen)
        with open(os.path.join(work, name + ".json"), "w", encoding="utf-8") as f:
            json.dump(cut, f)
        with open(os.path.join(work, name + ".txt"), "w", encoding="utf-8") as f:
            f.write("\n\n".join(cut))
        print(f"{name}: {len(chosen)} chapters, {len(cut)} passages")
    with open(os.path.join(work, "train.txt"), "w", encoding="utf-8") as f:
        f.write("\n\n".join(text for hand in (2, 3) for _, text in texts[hand::4]))


if __name__ == "__main__":
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("work")
    main(parser.parse_args().work)
