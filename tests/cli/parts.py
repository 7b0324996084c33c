#!/usr/bin/env python3
# SPDX-License-Identifier: MIT
"""parts.py TARE [--short]: an output that is written in parts is what one command writes, byte for byte, for every number
of parts (two with --short) and however it was interrupted; and what does not belong together is never joined, but named."""
import json
import os
import resource
import shutil
import signal
import subprocess
import sys
import tempfile
import time
import zlib

tare = os.path.abspath(sys.argv[1])
failures = []
VARIABLES = ("SLURM_ARRAY_TASK_ID", "SLURM_ARRAY_TASK_COUNT", "SLURM_ARRAY_TASK_MIN", "SLURM_ARRAY_TASK_MAX", "JOB_COMPLETION_INDEX",
             "JOB_COMPLETIONS", "RANK", "WORLD_SIZE")
clean = {k: v for k, v in os.environ.items() if k not in VARIABLES}


def change(path, at):
    """A byte of a file becomes another one."""
    with open(path, "r+b") as f:
        f.seek(at)
        byte = f.read(1)[0]
        f.seek(at)
        f.write(bytes([byte ^ 1]))


def check(what, is_right, shown=""):
    if not is_right:
        failures.append(f"{what}\n{shown}")


def run(*command, code=0, **env):
    done = subprocess.run((tare, *map(str, command)), env={**clean, **env}, capture_output=True, text=True)
    text = done.stdout + done.stderr
    check(f"{' '.join(map(str, command))}: exit code {done.returncode}, not {code}", done.returncode == code, text)
    return text


def content(path):
    """All that an output consists of; times only of what is not written now."""
    if os.path.isfile(path):
        with open(path, "rb") as file:
            return file.read()
    found = {}
    for folder, folders, files in os.walk(path):
        for name in folders + files:
            whole = os.path.join(folder, name)
            facts = os.lstat(whole)
            inner = os.readlink(whole) if os.path.islink(whole) else content(whole) if os.path.isfile(whole) else None
            found[os.path.relpath(whole, path)] = (inner, facts.st_mode)
    return found


def part_name(out, index, count):
    return f"{out}.part-{index:05}-of-{count:05}"


def write_parts(count, verb, source, out, *options, order=None):
    for index in order or range(count, 0, -1):
        run(verb, source, out, *options, "--part", f"{index}/{count}", "-q")


def try_case(verb, source, out, *options):
    """Every number of parts, as files and in one output; of what is packed as files, whose places the join knows."""
    run(verb, source, "whole-" + out, *options, "-q", "-j1")
    expected = content("whole-" + out)
    for count in (1, 3) if "--short" in sys.argv else (1, 2, 3, 7, 64):
        for shared in ((),) if verb == "pack" else ((), ("--shared",)):
            write_parts(count, verb, source, out, *options, *shared)
            if isinstance(expected, bytes) and not shared and verb != "pack":
                joined = b"".join(content(part_name(out, i, count)) for i in range(1, count + 1))
                check(f"{verb} {out}: {count} parts, one after the other", joined == expected)
            run("status", out)
            run("join", out, "-q")
            check(f"{verb} {out}: {count} parts joined {shared}", content(out) == expected)
            check(f"{verb} {out}: left behind", [n for n in os.listdir(".") if n.startswith(out) and n != out] == [])
            shutil.rmtree(out) if os.path.isdir(out) else os.remove(out)


def try_kinds():
    try_case("convert", "m.gguf", "a.gguf", "--type", "q8_0")
    try_case("quantize", "m.gguf", "b.gguf", "Q4_K_M")
    try_case("convert", "m.gguf", "c.safetensors")
    try_case("convert", "m.gguf", "d", "--to", "hf", "--keep-names", "--shard-size", "300K")
    try_case("convert", "m.gguf", "h.mcf", "--type", "k4")
    run("convert", "m.gguf", "folder", "--to", "hf", "--keep-names", "-q")
    os.makedirs("folder/inner/empty")
    run("convert", "m.gguf", "folder/inner/m.safetensors", "-q")
    for name in ("empty.txt", "z.txt"):
        open(os.path.join("folder", name), "w").close()
    os.symlink("inner/m.safetensors", "folder/link")
    os.chmod("folder/inner/m.safetensors", 0o640)
    run("pack", "folder", "folder.wcodec", "-q")
    try_case("unpack", "folder.wcodec", "e")
    run("pack", "m.gguf", "m.gguf.wcodec", "-q")
    try_case("unpack", "m.gguf.wcodec", "f.gguf")


def write_safetensors(path, tensors):
    """(name, type, shape, bytes) of each."""
    at, header = 0, {}
    for name, kind, shape, data in tensors:
        header[name] = {"dtype": kind, "shape": shape, "data_offsets": [at, at + len(data)]}
        at += len(data)
    text = json.dumps(header).encode()
    with open(path, "wb") as file:
        file.write(len(text).to_bytes(8, "little") + text + b"".join(data for *_, data in tensors))


def try_packed():
    """Tensors of the same bytes, which different parts have, and files that are no model's; every option of the bytes."""
    noise = lambda seed, n: b"".join(((seed * 7919 + i * i * 31) >> 8 & 0x3FFF).to_bytes(2, "little") for i in range(n // 2))
    os.mkdir("twice")
    ones, big = b"\x80\x3f" * 40000, noise(3, 90000)
    write_safetensors("twice/model.safetensors", [
        ("a", "BF16", [200, 225], big), ("b", "BF16", [40000], ones), ("c", "BF16", [225, 200], big), ("d", "BF16", [200, 225], big),
        ("e", "F16", [40000], ones), ("f", "BF16", [40000], ones), ("g", "BF16", [0, 7], b""), ("h", "BF16", [0, 7], b""),
        ("i", "BF16", [200, 225], noise(4, 90000))])
    with open("twice/config.json", "w") as file:
        json.dump({"model_type": "none"}, file)
    with open("twice/other.bin", "wb") as file:
        file.write(noise(5, 300000))
    os.makedirs("twice/empty")
    os.symlink("other.bin", "twice/link")
    try_case("pack", "twice", "i.wcodec")
    try_case("pack", "twice", "j.wcodec", "--exclude", "other.bin", "--exclude", "link", "--effort", "full")
    try_case("pack", "m.gguf", "k.wcodec", "--for", "gpu", "--segment", "16Ki")
    try_case("pack", "whole-h.mcf", "l.wcodec")
    run("verify", "--deep", "whole-i.wcodec")
    write_parts(2, "pack", "m.gguf", "o.wcodec")
    check("one file", json.loads(run("join", "o.wcodec", "--json"))["file_count"] == 1)
    os.remove("o.wcodec")
    out = "q.wcodec"
    write_parts(3, "pack", "twice", out)
    for options in (("--effort", "full"), ("--exclude", "other.bin"), ("--for", "gpu")):
        check(f"{options}: a part of other bytes", "other options" in run("pack", "twice", out, *options, "--part", "2/3", code=2))
    check("there already", "there already" in run("pack", "twice", out, "--part", "2/3"))
    os.utime("twice/config.json", (1, 1))
    run("pack", "twice", out, "--part", "2/3", "-q", "--force")
    refused(out, part_name(out, 2, 3), "another input or with other options")
    for name in [n for n in os.listdir(".") if n.startswith(out)]:
        os.remove(name)
    for wrong in (("--shared",), ("--base", "m.gguf"), ("--lossy", "--target-bpw", "4")):
        run("pack", "m.gguf", out, "--part", "1/2", *wrong, code=2)
    run("pack", "m.gguf", "-", "--to", "wcodec", "--part", "1/2", code=2)
    run("pack", "m.gguf", "--append", "whole-k.wcodec", "--part", "1/2", code=2)
    run("pack", "whole-k.wcodec", out, "--part", "1/2", code=2)
    os.mkdir("several")
    for name in ("1.gguf", "2.gguf"):
        os.link("m.gguf", "several/" + name)
    check("a ladder", "one machine" in run("pack", "several", out, "--part", "1/2", code=2))
    os.mkdir("none")
    check("no model", "is not one" in run("pack", "none", out, "--part", "1/2", code=2))
    check("nothing was left", [n for n in os.listdir(".") if n.startswith(out)] == [])


def findings(name, *options):
    """What verifying a model says is wrong."""
    text = subprocess.run((tare, "verify", name, "--deep", "--json", *options), env=clean, capture_output=True, text=True).stdout
    model = json.loads(text)["models"][0]
    return {(f["code"], f.get("offset"), f["text"]) for f in model["findings"]}, model["is_good"]


def try_verified():
    """Manifests of digests are outputs like others; what all shares of a model find is what is found of the whole."""
    for source in ("m.gguf", "twice", "whole-i.wcodec", "whole-h.mcf"):
        run("verify", source, "--write-manifest", "whole.sha256", "-q", "--force")
        for count in (1, 3, 64):
            for i in range(count, 0, -1):
                run("verify", source, "--write-manifest", "v.sha256", "--part", f"{i}/{count}", "-q")
            joined = b"".join(content(part_name("v.sha256", i, count)) for i in range(1, count + 1))
            run("join", "v.sha256", "-q")
            check(f"manifest of {source} by {count}", content("v.sha256") == content("whole.sha256") == joined)
            os.remove("v.sha256")
    shutil.copy("m.gguf", "bad.gguf")
    with open("bad.gguf", "r+b") as file:
        for part in (3, 5, 9):
            file.seek(os.path.getsize("bad.gguf") * part // 10 & ~63)
            file.write(b"\xff\x7f" * 64)
    shutil.copy("whole-k.wcodec", "bad.wcodec")
    for part in (3, 6):
        change("bad.wcodec", os.path.getsize("bad.wcodec") * part // 10)
    for name in ("bad.gguf", "bad.wcodec", "m.gguf", "whole-i.wcodec"):
        whole, is_good = findings(name)
        check(f"{name} is told from a good one", is_good == (not name.startswith("bad")))
        for count in (1, 2, 5, 64):
            found = [findings(name, "--part", f"{i}/{count}") for i in range(1, count + 1)]
            union = set().union(*(f for f, _ in found))
            check(f"{name} by {count}", union == whole, (union, whole))
            check(f"{name} by {count}: good", all(good for _, good in found) == is_good)
    for wrong in ((), ("--deep", "--shared"), ("--deep", "--manifest", "whole.sha256"), ("--deep", "--against", "m.gguf"), ("--deep", "twice")):
        run("verify", "m.gguf", "--part", "1/2", *wrong, code=2)


def try_strange_parts():
    """Bytes of a packed part that its record vouches for, and that nobody wrote: the join refuses them or makes what is sound."""
    out = "s.wcodec"
    write_parts(3, "pack", "twice", out)
    path = part_name(out, 1, 3)
    whole, record = content(path), json.loads(content(path + ".json"))
    first = whole.rindex(b"WCODEC\0\1") - 400
    for at in [*range(first, len(whole), 29 if "--short" in sys.argv else 3), *range(0, 128, 9)]:
        changed = bytearray(whole)
        changed[at] ^= 0x41
        for n in (len(whole),) if at % 2 else (len(whole), at):
            with open(path, "wb") as file:
                file.write(changed[:n])
            piece = {**record["files"][0], "size_bytes": n, "part_bytes": n, "crc32": zlib.crc32(changed[:n])}
            with open(path + ".json", "w") as file:
                json.dump({**record, "files": [piece]}, file)
            done = subprocess.run((tare, "join", out, "--keep", "-q"), env=clean, capture_output=True, text=True)
            check(f"byte {at} of {n}: exit code {done.returncode}", done.returncode in (0, 2, 3, 5), done.stderr)
            check(f"byte {at} of {n}: an output", os.path.exists(out) == (done.returncode == 0))
            if done.returncode == 0:
                text = subprocess.run((tare, "unpack", out, "s-again", "-q"), env=clean, capture_output=True, text=True)
                check(f"byte {at} of {n}: what was made", text.returncode in (0, 3), text.stderr)
                shutil.rmtree("s-again", ignore_errors=True)
                os.remove(out)
    for change in ({"is_packed": 1}, {"is_packed": False}, {"is_shared": True}, {"is_directory": True}, {"files": []}):
        with open(path + ".json", "w") as file:
            json.dump({**record, **change}, file)
        refused(out, path, "record")
    for name in [n for n in os.listdir(".") if n.startswith(out)]:
        os.remove(name)


def try_choice():
    """Types that are chosen for a size are chosen once."""
    run("quantize", "m.gguf", "g.gguf", "--target-bpw", "5", "--part", "1/2", code=2)
    run("quantize", "m.gguf", "g.gguf", "--target-bpw", "5", "--recipe", "r.txt", "--dry-run", "-q")
    run("quantize", "m.gguf", "whole-g.gguf", "--tensor-type-file", "r.txt", "-q")
    write_parts(3, "quantize", "m.gguf", "g.gguf", "--tensor-type-file", "r.txt")
    run("join", "g.gguf", "-q")
    check("a recipe by parts", content("g.gguf") == content("whole-g.gguf"))


def refused(out, name, word, code=2):
    text = run("join", out, code=code)
    check(f"join of {out} names {name} and says {word}", name in text and word in text, text)
    check(f"{out} was made", not os.path.exists(out))


def try_wrong():
    out = "w.gguf"
    write = lambda index, count=3, *options: run("convert", "m.gguf", out, "-q", "--part", f"{index}/{count}", *options)
    refused(out, out, "no part")
    write(1), write(3)
    refused(out, part_name(out, 2, 3), "missing")
    check("status says so", "missing: part 2" in run("status", out, code=1))
    check("ranges", run("status", out, "--ranges", code=1) == "1\n")
    write(2, 3, "--type", "f16")
    refused(out, part_name(out, 2, 3), "another input or with other options")
    check("a stale part is not taken over",
          "another input, with other options" in run("convert", "m.gguf", out, "--part", "2/3", code=2))
    write(2, 3, "--force")
    run("status", out)
    write(1, 2)
    refused(out, part_name(out, 1, 2), "besides")
    for tail in ("", ".json"):
        os.remove(part_name(out, 1, 2) + tail)
    shutil.copy(part_name(out, 1, 3), f"{out}.part-1-of-3")
    refused(out, f"{out}.part-1-of-3", "besides")
    os.remove(f"{out}.part-1-of-3")
    for tail in ("", ".json"):
        shutil.copy(part_name(out, 1, 3) + tail, part_name(out, 2, 3) + tail)
    refused(out, part_name(out, 2, 3), "another part")
    write(2, 3, "--force")
    os.truncate(part_name(out, 3, 3), 100)
    refused(out, part_name(out, 3, 3), "bytes")
    write(3)  # a part that does not have its bytes is made again
    change(part_name(out, 2, 3), 1000)
    check("a changed byte is seen", "not those that were written" in run("join", out, code=3))
    check("nothing is written then", not os.path.exists(out))
    write(2, 3, "--force")
    os.remove(part_name(out, 3, 3) + ".json")
    refused(out, part_name(out, 3, 3), "not finished")
    write(3)
    check("a part that is done stays", "there already" in run("convert", "m.gguf", out, "--part", "3/3"))
    os.utime("m.gguf", (1, 1))  # another input, as far as can be told
    check("a changed input is seen", "another input" in run("convert", "m.gguf", out, "--part", "3/3", code=2))
    write(3, 3, "--force")
    refused(out, part_name(out, 3, 3), "another input or with other options")
    write(1, 3, "--force"), write(2, 3, "--force")
    run("join", out, "-q", "--keep")
    run("convert", "m.gguf", "whole-w.gguf", "-q")
    check("joined at last", content(out) == content("whole-w.gguf"))
    run("join", out, code=2)
    run("join", out, "-q", "--force")


def try_adapter():
    """What an adapter's file holds, and its scale, are part of what a part depends on, though it is merged before."""
    os.mkdir("lora")
    with open("lora/adapter_config.json", "w") as file:
        json.dump({"peft_type": "LORA", "r": 2, "lora_alpha": 4}, file)
    name = "base_model.model.model.layers.0.self_attn.q_proj.lora_"
    run("synth", "llama-chat", "hf", "--to", "hf", "--type", "bf16", "-q")
    head = json.dumps({name + "A.weight": {"dtype": "F32", "shape": [2, 256], "data_offsets": [0, 2048]},
                       name + "B.weight": {"dtype": "F32", "shape": [256, 2], "data_offsets": [2048, 4096]}}).encode()
    with open("lora/adapter_model.safetensors", "wb") as file:
        file.write(len(head).to_bytes(8, "little") + head + b"\0\0\x80\x3d" * 1024)
    words = ("convert", "hf", "l.gguf", "--part", "1/2", "--apply-adapter")
    run(*words, "lora:0.5")
    check("the same adapter", "there already" in run(*words, "lora:0.5"))
    check("another scale", "other options" in run(*words, "lora:0.6", code=2))
    os.utime("lora/adapter_model.safetensors", (1, 1))
    check("another file of it", "other options" in run(*words, "lora:0.5", code=2))


def try_records():
    """Records are read as any file from a stranger."""
    out = "r.gguf"
    write_parts(2, "convert", "m.gguf", out)
    path = part_name(out, 1, 2) + ".json"
    with open(path) as file:
        text = file.read()
    for at in range(0, len(text), 7):
        with open(path, "w") as file:
            file.write(text[:at])
        refused(out, part_name(out, 1, 2), "record")
    record = json.loads(text)
    for change in ({"end": 2**63}, {"begin": record["end"] + 1}, {"part": 0}, {"part_count": 10**9}, {"plan": "x"}, {"files": 7},
                   {"files": [{**record["files"][0], "name": "../x"}]}, {"files": [{**record["files"][0], "part_bytes": 1}]},
                   {"is_directory": 1}, {"schema": "tare.part/9"}):
        with open(path, "w") as file:
            json.dump({**record, **change}, file)
        refused(out, part_name(out, 1, 2), "record")
    for change in ({"output": "other.gguf"}, {"begin": 1, "end": record["end"] + 1}):
        with open(path, "w") as file:
            json.dump({**record, **change}, file)
        refused(out, part_name(out, 1, 2), "part")


def try_outside():
    """A link that records or a shared folder have leads nobody out of the output."""
    os.mkdir("victim")
    open("victim/key", "w").close()
    os.chmod("victim/key", 0o600)
    before = content("victim")
    entry = {"size_bytes": 0, "offset": 0, "part_bytes": 0}
    stated = {**entry, "is_folder": True, "mode": 0o777, "seconds": 0, "nanoseconds": 0}
    link = {"name": "a", "link_to": "../victim", **entry}
    file = {**stated, "name": "a/key", "crc32": 0}
    del file["is_folder"]
    for files, has_link in (([link, {**stated, "name": "a/new"}], False), ([link, {**stated, "name": "a"}], False),
                            ([link, {**stated, "name": "a/key"}], False), ([file], True)):
        shutil.rmtree("out.parts", ignore_errors=True)
        os.mkdir("out.parts")
        if has_link:
            os.symlink("../victim", "out.parts/a")
        with open(part_name("out", 1, 1) + ".json", "w") as record:
            json.dump({"schema": "tare.part/1", "output": "out", "plan": "00" * 32, "part": 1, "part_count": 1,
                       "begin": 0, "end": 0, "total_bytes": 0, "is_directory": True, "is_shared": True,
                       "withheld": 0, "files": files}, record)
        done = subprocess.run((tare, "join", "out"), env=clean, capture_output=True, text=True)
        check(f"a join behind a link: {files}", done.returncode in (2, 4) and "out.parts/a" in done.stderr, done.stderr)
        check(f"what lies behind a link was changed: {files}", content("victim") == before)
        check("an output was made", not os.path.lexists("out"))
    shutil.rmtree("out.parts")
    os.remove(part_name("out", 1, 1) + ".json")


def try_killed():
    """SIGKILL at any moment: the next run makes the part again, and nothing is left behind."""
    for shared in ((), ("--shared",)):
        out = "k.gguf"
        for delay in (0.0, 0.01, 0.02, 0.04, 0.08, 0.16):
            for index in (1, 2):
                process = subprocess.Popen((tare, "quantize", "m.gguf", out, "Q4_K_M", "--part", f"{index}/2", "-q", "-j1", *shared),
                                           env=clean, stderr=subprocess.DEVNULL)
                time.sleep(delay)
                process.send_signal(signal.SIGKILL)
                process.wait()
        write_parts(2, "quantize", "m.gguf", out, "Q4_K_M", *shared)
        if shared:
            change(out + ".parts", 1000)
            check("a changed byte is seen where all share", "part 1 of 2" in run("join", out, code=3))
            write_parts(2, "quantize", "m.gguf", out, "Q4_K_M", "--force", *shared)
        process = subprocess.Popen((tare, "join", out, "-q"), env=clean, stderr=subprocess.DEVNULL)
        process.send_signal(signal.SIGKILL)
        process.wait()
        if not os.path.exists(out):
            run("join", out, "-q")
        check(f"after SIGKILL {shared}", content(out) == content("whole-b.gguf"))
        left = [n for n in os.listdir(".") if "k.gguf" in n and n != out]
        check("left behind", left == [] or os.path.exists(out), left)
        for name in [out, *left]:
            os.remove(name)


def try_auto():
    def part(code=0, **env):
        text = run("convert", "m.gguf", "auto.gguf", "--part", "auto", "--dry-run", "--json", code=code, **env)
        return (json.loads(text)["part"], json.loads(text)["part_count"]) if code == 0 else text

    slurm = lambda i, n, least, most: {"SLURM_ARRAY_TASK_ID": str(i), "SLURM_ARRAY_TASK_COUNT": str(n),
                                       "SLURM_ARRAY_TASK_MIN": str(least), "SLURM_ARRAY_TASK_MAX": str(most)}
    check("Slurm from 0", part(**slurm(0, 7, 0, 6)) == (1, 7))
    check("Slurm from 1", part(**slurm(7, 7, 1, 7)) == (7, 7))
    for wrong in (slurm(3, 3, 3, 5), slurm(0, 2, 0, 5), slurm("x", 2, 0, 1)):
        check("Slurm, a part of the array", "array" in part(2, **wrong).lower())
    check("Kubernetes", part(JOB_COMPLETION_INDEX="4", JOB_COMPLETIONS="5") == (5, 5))
    check("Kubernetes without a count", "JOB_COMPLETIONS" in part(2, JOB_COMPLETION_INDEX="4"))
    check("torchrun", part(RANK="0", WORLD_SIZE="2") == (1, 2))
    check("beyond", "part 3 of 2" in part(2, RANK="2", WORLD_SIZE="2"))
    check("two that differ", "different" in part(2, RANK="0", WORLD_SIZE="2", JOB_COMPLETION_INDEX="1", JOB_COMPLETIONS="2"))
    check("none", "none of" in part(2))
    for wrong in ("0/2", "3/2", "1", "1/0", "a/b", "1/100000", "-1/2", "1/2/3"):
        run("convert", "m.gguf", "auto.gguf", "--part", wrong, code=2)
    run("convert", "m.gguf", "-", "--to", "gguf", "--part", "1/2", code=2)
    run("convert", "m.gguf", "x.wcodec", "--part", "1/2", code=5)
    run("convert", "m.gguf", "x.gguf", "--verify", "--part", "1/2", code=5)
    run("convert", "m.gguf", "x.gguf", "--shared", code=2)
    run("unpack", "m.gguf.wcodec", "x.gguf", "--salvage", "--part", "1/2", code=2)


def bytes_read():
    """By this process and those that it has waited for."""
    with open("/proc/self/io") as file:
        return int(file.readline().split()[1])


def try_reads():
    """All parts together read the input as often as one run does, but for its header; and once more what they have written."""
    if not os.path.exists("/proc/self/io"):
        return
    block = b"".join((i * 2654435761 >> 9 & 0x3F7F).to_bytes(2, "little") for i in range(1 << 18))
    tensors = []
    for i in range(10):
        data = (block[512 * i:] + block[:512 * i]) * 4
        tensors.append((f"t{i}", "F16", [256, len(data) // 512], data))
    write_safetensors("even.safetensors", tensors)
    size = os.path.getsize("even.safetensors")
    for verb, out, options in (("convert", "o.gguf", ("--type", "q8_0", "--keep-names")), ("pack", "o.wcodec", ()), ("manifest", "o.sha256", ())):
        words = lambda path, *more: (("verify", "even.safetensors", "--write-manifest", path) if verb == "manifest" else
                                     (verb, "even.safetensors", path, *options)) + ("-q", *more)
        before = bytes_read()
        run(*words("whole-" + out))
        whole = bytes_read() - before
        before = bytes_read()
        for i in range(1, 6):
            run(*words(out, "--part", f"{i}/5"))
        parts = bytes_read() - before
        written = sum(os.path.getsize(part_name(out, i, 5)) for i in range(1, 6))
        check(f"{verb}: one run reads {whole} bytes of {size}, parts {parts}, {written} of them their own",
              parts - written <= whole + 0.02 * size + 5 * 100000)


def try_large():
    """The shares of a model of 1.2 TB, in 100,000 tensors that are not there."""
    sizes = [(4096 + 8 * (i % 7), 1536) if i % 10 else (4096,) for i in range(100000)]
    at, header = 0, {}
    for i, shape in enumerate(sizes):
        n = 2 * shape[0] * (shape[1] if len(shape) > 1 else 1)
        header[f"model.layers.{i // 1000}.experts.{i % 1000}.weight"] = {"dtype": "BF16", "shape": shape, "data_offsets": [at, at + n]}
        at += n
    text = json.dumps(header).encode()
    with open("large.safetensors", "wb") as file:
        file.write(len(text).to_bytes(8, "little") + text)
        try:
            file.truncate(8 + len(text) + at)
        except OSError:  # the file system has no files of this size
            return
    for i in (1, 500, 1000):
        said = json.loads(run("convert", "large.safetensors", "large.gguf", "--keep-names", "--type", "q8_0", "--part", f"{i}/1000", "--dry-run", "--json"))
        share = said["work_bytes"] * 1000 / said["total_work_bytes"]
        check(f"part {i} of 1,000 has {share} of the mean", 0.98 <= share <= 1.02)


def try_many():
    """Looking at 40,000 parts takes time in proportion to them."""
    os.mkdir("many")
    for i in range(1, 40001):
        open(f"many/o.gguf.part-{i:05}-of-40000", "w").close()
    before = resource.getrusage(resource.RUSAGE_CHILDREN).ru_utime
    said = run("status", "many/o.gguf", code=1)
    seconds = resource.getrusage(resource.RUSAGE_CHILDREN).ru_utime - before
    check("0 of 40000", "0 of 40000 parts done" in said)
    check(f"status of 40,000 parts took {seconds:.1f} s of a processor", seconds < 1.5)
    shutil.rmtree("many")


with tempfile.TemporaryDirectory() as folder:
    os.chdir(folder)
    run("synth", "llama-tiny", "m.gguf", "-q")
    for step in (try_kinds, try_packed, try_verified, try_strange_parts, try_choice, try_wrong, try_adapter, try_records, try_outside, try_killed, try_auto, try_reads, try_large, try_many):
        try:
            step()
        except OSError as fault:  # what was to be made is not there
            failures.append(f"{step.__name__}: {fault}")
    os.chdir("/")
print("\n".join(failures) or "all parts fit")
sys.exit(bool(failures))
