# SPDX-License-Identifier: MIT
"""What tare says of a file's chances in llama.cpp, and what llama.cpp says."""
import functools
import json
import os
import resource
import shutil
import signal
import subprocess
import sys

import llama_runs
import tiny_models

os.environ.setdefault("GGML_NO_BACKTRACE", "1")  # a failed assertion would start a debugger


def verdict(tare, path):
    """Why not; empty: llama.cpp runs it."""
    run = subprocess.run([tare, "info", "--json", path], capture_output=True, text=True)
    said = json.loads(run.stdout)["models"][0]["llama_cpp"]
    return "" if said["runs"] else said["why"]


def made(tare, folder, name):
    model, out = os.path.join(folder, name), os.path.join(folder, name + ".gguf")
    tiny_models.write(model, name)
    llama_runs.write_tokenizer(model)
    run = subprocess.run([tare, "convert", model, out, "--quiet", "--no-sync", "--force"], capture_output=True)
    shutil.rmtree(model)
    return out if run.returncode == 0 else None


@functools.cache
def llama_cpp():
    """Opened once, before the processes that ask it."""
    import llama_library
    library = llama_library.Library()
    if not library.is_known():
        raise ImportError("llama_library.py: the structs of this xllamacpp are others")
    return library


def attempt(library, path, is_encoder):
    import llama_library
    signal.alarm(10)  # some values have loops without an end
    resource.setrlimit(resource.RLIMIT_AS, (1 << 33, 1 << 33))
    resource.setrlimit(resource.RLIMIT_CORE, (0, 0))
    llama_library.Model(library, path).say(b"the rain", is_encoder)


def refusal(path, is_encoder):
    """Whether llama.cpp does not load and run a file, in a child of this process."""
    library = llama_cpp()
    sys.stdout.flush()
    child = os.fork()
    if child == 0:
        os.dup2(os.open(os.devnull, os.O_WRONLY), 2)
        os.dup2(2, 1)
        try:
            attempt(library, path, is_encoder)
        except BaseException:  # noqa: B902: whatever it is, the file does not run
            os._exit(1)
        os._exit(0)
    return os.waitpid(child, 0)[1] != 0
