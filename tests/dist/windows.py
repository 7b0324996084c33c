#!/usr/bin/env python3
# SPDX-License-Identifier: MIT
"""windows.py TARE FOLDER: what is different on Windows, tried in wine with the command TARE, in an empty
folder below FOLDER: paths in both spellings, long ones, names in any script, names that Windows cannot
hold, standard streams, a run that is killed while it writes."""
import hashlib
import os
import shutil
import subprocess
import sys
import tempfile
import time

tare = os.path.abspath(sys.argv[1])


def run(*args, code=0, **streams):
    """What it prints, as bytes; the exit code is as expected."""
    if "input" not in streams:
        streams["stdin"] = subprocess.DEVNULL
    done = subprocess.run([tare, *args], capture_output=True, timeout=300, check=False, **streams)
    assert done.returncode == code, f"{args}: exit code {done.returncode}: {done.stderr.decode(errors='replace')}"
    return done.stdout if code == 0 else done.stderr


def digest(path):
    with open(path, "rb") as f:
        return hashlib.sha256(f.read()).hexdigest()


def windows(path):
    """As a user of Windows would write it: wine's drive Z: is the root."""
    return "Z:" + os.path.abspath(path).replace("/", "\\")


def spellings():
    os.makedirs("one/two")
    run("synth", "llama-tiny", "one\\two\\a.gguf", "--quiet")
    assert os.listdir("one/two") == ["a.gguf"] and sorted(os.listdir(".")) == ["one"], os.listdir(".")
    said = [run("info", "-t", path).split(b"\n", 1)[1] for path in
            ("one/two/a.gguf", "one\\two\\a.gguf", "one/two\\a.gguf", windows("one/two/a.gguf"),
             windows("one/two/a.gguf").replace("\\", "/"), "\\\\?\\" + windows("one/two/a.gguf"))]
    assert len(set(said)) == 1 and len(said[0]) > 500, "spellings of a path lead to different things"
    # What is no path is left as it is: a regular expression.
    assert b"layers.1" not in run("info", "-t", "--filter", r"layers\.0\.", "one/two/a.gguf")


def names():
    name = "mödel ☃/日本 語.gguf"
    os.mkdir(os.path.dirname(name))
    run("convert", "one/two/a.gguf", name, "--type", "q8_0", "--quiet")
    assert os.path.isfile(name), os.listdir(os.path.dirname(name))
    assert "日本 語.gguf".encode() in run("info", name), "a name is not printed as UTF-8"
    run("pack", name.replace("/", "\\"), "ü.wcodec", "--quiet")
    run("unpack", "ü.wcodec", "ß.gguf", "--quiet")
    assert digest("ß.gguf") == digest(name)


def long_paths():
    """wine 8 opens them, and cannot tell where an open folder is, which writing asks for."""
    folder = "/".join(["long"] + [f"folder{i:06}" for i in range(25)])
    os.makedirs(folder)
    path = folder + "/a.gguf"
    assert len(path) > 300
    shutil.copy("one/two/a.gguf", path)
    here = run("info", "-t", "one/two/a.gguf").split(b"\n", 1)[1]
    for spelt in (path, path.replace("/", "\\"), windows(path), "\\\\?\\" + windows(path)):
        assert run("info", "-t", spelt).split(b"\n", 1)[1] == here, spelt
    run("verify", "--deep", path, "--quiet")
    assert b"same model" in run("diff", path, "one/two/a.gguf")
    run("convert", "one/two/a.gguf", folder + "/b.gguf", "--quiet", code=4)
    assert os.listdir(folder) == ["a.gguf"]


def refused_names(host):
    """Packed elsewhere: nothing is unpacked under a name that means something else here."""
    for name in ("aux.txt", "a:b", "end.", "question?"):
        os.mkdir("odd")
        for file in (name, "config.json"):
            with open(os.path.join("odd", file), "w", encoding="utf-8") as f:
                f.write("{}\n")
        subprocess.run([host, "pack", "odd", "odd.wcodec", "--quiet", "--force"], check=True)
        said = run("unpack", "odd.wcodec", "out", "--quiet", code=2)
        assert name.encode() in said, said
        assert not os.path.exists("out"), "something was unpacked"
        shutil.rmtree("odd")


def streams():
    """Bytes, not text: no carriage returns, and a console is not NUL."""
    run("convert", "one/two/a.gguf", "c.safetensors", "--quiet")
    with open("one/two/a.gguf", "rb") as f:
        through = run("convert", "-", "-", "--to", "safetensors", "--quiet", input=f.read())
    assert hashlib.sha256(through).hexdigest() == digest("c.safetensors"), "bytes through pipes are others"
    done = subprocess.run([tare, "convert", "one/two/a.gguf", "-", "--to", "safetensors", "--quiet"],
                          stdin=subprocess.DEVNULL, stdout=subprocess.DEVNULL, stderr=subprocess.PIPE, check=False)
    assert done.returncode == 0, f"NUL: {done.stderr.decode()}"
    assert b"\r" not in run("info", "--json", "one/two/a.gguf") + run("help", "convert")


def urls():
    said = run("info", "https://localhost:9/a.gguf", code=4)
    assert b"no connection to the server" in said, said


def killed():
    """The output is not there, what was there is as it was, and the next run takes the rest away."""
    run("synth", "llama-chat", "big.gguf", "--quiet")
    with open("target.gguf", "wb") as f:
        f.write(b"old")
    for _ in range(5):
        process = subprocess.Popen([tare, "convert", "big.gguf", "target.gguf", "--type", "q6_k", "--quality", "best",
                                    "--force", "--quiet", "--threads", "1"])
        until = time.monotonic() + 60
        while process.poll() is None and not left("target.gguf") and time.monotonic() < until:
            time.sleep(0.01)
        if process.poll() is None:
            process.kill()
            process.wait()
            break
    else:
        raise AssertionError("it always ended before it could be killed")
    time.sleep(1)
    with open("target.gguf", "rb") as f:
        assert f.read() == b"old", "the old file is gone"
    assert left("target.gguf"), "it was killed before it wrote"
    run("convert", "big.gguf", "target.gguf", "--type", "q8_0", "--force", "--quiet")
    assert not left("target.gguf"), os.listdir(".")
    run("verify", "--deep", "target.gguf", "--quiet")


def left(name):
    return [entry for entry in os.listdir(".") if entry.startswith("." + name)]


def main():
    host = os.path.abspath(sys.argv[3]) if len(sys.argv) > 3 else None
    with tempfile.TemporaryDirectory(dir=sys.argv[2], prefix="windows-") as folder:
        os.chdir(folder)
        for step in (spellings, names, long_paths, streams, urls, killed, lambda: refused_names(host) if host else None):
            step()
    print("windows: paths, names, streams and a killed run are as they should be")


if __name__ == "__main__":
    try:
        main()
    except AssertionError as e:
        sys.exit(f"windows.py: {e}")
