#!/usr/bin/env python3
# SPDX-License-Identifier: MIT
"""tare mount: mount.py TARE [PART...]

Faults guarded against: a file of a mount that differs in a byte from what unpack or convert writes; readers that
hinder each other; damage that takes more with it than its segment, or is silent; a source that is replaced or deleted
under a mount; a mount that cannot be ended, or made again after its process was killed; anything that can be changed.
SKIP (77) where nothing can be mounted."""
import contextlib
import errno
import hashlib
import http.server
import json
import mmap
import os
import random
import shutil
import signal
import stat
import subprocess
import sys
import tempfile
import threading
import time

sys.path.insert(0, os.path.join(os.path.dirname(os.path.abspath(__file__)), "..", "support"))
import json_schema  # noqa: E402

TARE = os.path.abspath(sys.argv[1])
PAGE = 4096


def run(*words, code=0):
    p = subprocess.run([TARE, *words], capture_output=True, text=True)
    assert p.returncode == code, f"tare {' '.join(words)}: {p.returncode}: {p.stdout}{p.stderr}"
    return p.stdout + p.stderr


def read(path):
    with open(path, "rb") as f:
        return f.read()


def digest(path):
    return hashlib.sha256(read(path)).hexdigest()


def tree(folder):
    """Every file below a folder, with its digest."""
    return {os.path.relpath(os.path.join(d, n), folder): digest(os.path.join(d, n))
            for d, _, names in os.walk(folder) for n in names}


@contextlib.contextmanager
def mounted(*words, folder="m"):
    os.makedirs(folder, exist_ok=True)
    run("mount", *words[:1], folder, *words[1:])
    try:
        yield folder
    finally:
        run("mount", "-u", folder)
    assert not os.path.ismount(folder)


def models():
    run("synth", "llama-chat:bf16", "hf", "--to", "hf", "--no-sync")
    run("synth", "llama-44m:bf16", "a.gguf", "--no-sync")
    run("pack", "a.gguf", "a.gguf.wcodec", "--no-sync", "-q")
    run("pack", "hf", "hf.wcodec", "--no-sync", "-q")


def packed():
    with mounted("a.gguf.wcodec") as m:
        assert os.listdir(m) == ["a.gguf"]
        assert read("m/a.gguf") == read("a.gguf")
    with mounted("hf.wcodec") as m:
        assert tree(m) == tree("hf")
        name = "config.json"
        before, after = os.stat(f"hf/{name}"), os.stat(f"m/{name}")
        assert before.st_mtime_ns == after.st_mtime_ns and before.st_size == after.st_size
        assert os.path.exists("m/none") is False


def told():
    """What --json prints, when it is mounted and when that ends, keeps to its schema."""
    os.makedirs("m", exist_ok=True)
    on = json.loads(run("mount", "hf.wcodec", "m", "--json"))
    off = json.loads(run("mount", "-u", "m", "--json"))
    assert on["is_mounted"] and on["input"] == "hf.wcodec" and on["output"] == off["output"] == "m" and not off["is_mounted"]
    assert {f["name"]: f["size_bytes"] for f in on["files"]} == {n: os.path.getsize(f"hf/{n}") for n in os.listdir("hf")}
    wrong = json.loads(subprocess.run([TARE, "mount", "-u", "m", "--json"], capture_output=True, text=True).stdout)
    assert wrong["schema"] == "tare.error/2" and wrong["exit_code"] == 2
    faults = [fault for document in (on, off, wrong) for fault in json_schema.check(document)]
    assert not faults, faults


def folder():
    os.makedirs("archive/deep")
    shutil.copy("a.gguf.wcodec", "archive/one.wcodec")
    shutil.copy("hf.wcodec", "archive/deep/hf.wcodec")
    shutil.copytree("hf", "archive/plain")
    with open("archive/broken.wcodec", "wb") as f:
        f.write(b"WCODEC\0\0")
    with mounted("archive") as m:
        assert sorted(os.listdir(m)) == ["broken.wcodec", "one.gguf"]
    with mounted("archive", "-r") as m:
        assert tree("m/deep/hf") == tree("m/plain") == tree("hf")
        assert read("m/one.gguf") == read("a.gguf") and read("m/broken.wcodec") == b"WCODEC\0\0"


def computed():
    for to, more in (("gguf", []), ("gguf", ["--mix", "Q4_K_M"]), ("gguf", ["--type", "q8_0"]), ("safetensors", []),
                     ("hf", [])):
        source = "a.gguf" if to == "hf" else "hf"
        with mounted(source, "--as", to, *more) as m:
            names = os.listdir(m)
            out = "out" if to == "hf" else names[0]
            assert to == "hf" or (len(names) == 1 and out.endswith("." + to)), names
            if "--mix" in more:
                run("quantize", source, out, more[1], "--no-sync", "-f")
            else:
                run("convert", source, out, "--to", to, *more, "--no-sync", "-f")
            assert tree(m) == (tree(out) if to == "hf" else {out: digest(out)})


def readers():
    """100 at once, of all files; then at random."""
    with mounted("hf.wcodec") as m, mounted("a.gguf.wcodec", "--cache", "16Mi", folder="n") as n:
        paths = [os.path.join(m, name) for name in tree("hf")] + [os.path.join(n, "a.gguf")]
        want = {os.path.join("m", k): v for k, v in tree("hf").items()} | {"n/a.gguf": digest("a.gguf")}
        programs = [subprocess.Popen(["sha256sum", paths[i % len(paths)]], stdout=subprocess.PIPE, text=True)
                    for i in range(100)]
        for p in programs:
            hex_, path = p.communicate()[0].split()
            assert p.returncode == 0 and want[path] == hex_, path
    whole = read("a.gguf")
    with mounted("a.gguf.wcodec", "--cache", "16Mi") as m:
        def anywhere(seed):
            rng = random.Random(seed)
            with open("m/a.gguf", "rb", buffering=0) as f:
                for _ in range(300):
                    at, size = rng.randrange(len(whole)), rng.choice((1, 512, PAGE, 70000))
                    f.seek(at)
                    if f.read(size) != whole[at:at + size]:
                        wrong.append(at)
        wrong = []
        threads = [threading.Thread(target=anywhere, args=(i,)) for i in range(8)]
        for t in threads:
            t.start()
        for t in threads:
            t.join()
        assert not wrong


def pages():
    """Each page of a file that is mapped, in an order without one: pieces that are given to the kernel end within pages."""
    whole = read("a.gguf")
    for cache in ("16Mi", "256Mi"):
        with mounted("a.gguf.wcodec", "--cache", cache), open("m/a.gguf", "rb") as f, \
             mmap.mmap(f.fileno(), 0, prot=mmap.PROT_READ) as m:
            order = list(range(0, len(whole), PAGE))
            random.Random(3).shuffle(order)
            wrong = [at for at in order if m[at:at + PAGE] != whole[at:at + PAGE]]
            assert not wrong, wrong


def damaged():
    data = bytearray(read("a.gguf.wcodec"))
    data[len(data) // 2] ^= 1
    with open("bad.wcodec", "wb") as f:
        f.write(data)
    whole, bad = read("a.gguf"), 0
    with mounted("bad.wcodec", "--log", "log.txt") as m:
        with open("m/a.gguf", "rb", buffering=0) as f:
            for at in range(0, len(whole), PAGE):
                try:
                    f.seek(at)
                    assert f.read(PAGE) == whole[at:at + PAGE]
                except OSError as e:
                    assert e.errno == errno.EIO
                    bad += 1
    assert 0 < bad * PAGE < len(whole) // 4, bad
    lines = read("log.txt").decode().splitlines()
    assert lines and all(line.startswith("tare mount: a.gguf: ") and "bad.wcodec" in line for line in lines), lines
    assert len(lines) < 20, lines


def replaced():
    shutil.copy("a.gguf.wcodec", "gone.wcodec")
    with mounted("gone.wcodec") as m:
        assert read("m/a.gguf")[:4] == b"GGUF"
        os.remove("gone.wcodec")
        assert digest("m/a.gguf") == digest("a.gguf")
    shutil.copy("a.gguf.wcodec", "cut.wcodec")
    with mounted("cut.wcodec", "--log", "cut.txt") as m:
        os.truncate("cut.wcodec", 4096)
        try:
            read("m/a.gguf")
            raise AssertionError("a file that is cut was read")
        except OSError as e:
            assert e.errno == errno.EIO
    assert read("cut.txt")


def process_of(folder):
    """The process that serves a mount: the one whose words end in it."""
    for pid in filter(str.isdigit, os.listdir("/proc")):
        try:
            words = read(f"/proc/{pid}/cmdline").split(b"\0")
        except OSError:
            continue
        if words[:1] == [TARE.encode()] and os.fsencode(os.path.abspath(folder)) in words:
            return int(pid)
    raise AssertionError("no process serves the mount")


def killed():
    m = os.path.abspath("k")
    os.makedirs(m)
    for _ in range(2):
        run("mount", "a.gguf.wcodec", m)
        assert read("k/a.gguf")[:4] == b"GGUF"
        os.kill(process_of(m), signal.SIGKILL)
        for _ in range(200):
            try:
                os.listdir(m)
            except OSError as e:
                assert e.errno in (errno.ENOTCONN, errno.ECONNABORTED)
                break
            time.sleep(0.01)
    run("mount", "a.gguf.wcodec", m)
    assert digest("k/a.gguf") == digest("a.gguf")
    run("mount", "-u", m)
    assert not os.path.ismount(m) and os.listdir(m) == []


def foreground():
    for how in (signal.SIGINT, signal.SIGTERM, None):
        p = subprocess.Popen([TARE, "mount", "a.gguf.wcodec", "m", "-f"], stderr=subprocess.PIPE)
        for _ in range(500):
            if os.path.ismount("m"):
                break
            time.sleep(0.01)
        assert read("m/a.gguf")[:4] == b"GGUF"
        if how:
            p.send_signal(how)
        else:
            run("mount", "-u", "m")
        assert p.wait(10) == 0 and p.stderr.read() == b""
        assert not os.path.ismount("m")


def ended_while_read():
    """A signal ends a mount whose files are being read; readers get an error, and that is all."""
    for k in range(8):
        p = subprocess.Popen([TARE, "mount", "a.gguf.wcodec", "m", "-f"], stderr=subprocess.PIPE)
        while not os.path.ismount("m"):
            time.sleep(0.01)
        is_over = threading.Event()

        def anywhere(seed):
            at = random.Random(seed)
            while not is_over.is_set():
                try:
                    with open("m/a.gguf", "rb", buffering=0) as f:
                        f.seek(at.randrange(os.path.getsize("a.gguf")))
                        f.read(4096 * at.randrange(1, 40))
                except OSError:
                    time.sleep(0.001)
        threads = [threading.Thread(target=anywhere, args=(i,)) for i in range(6)]
        for t in threads:
            t.start()
        time.sleep(0.05 + 0.01 * k)
        p.send_signal(signal.SIGINT if k % 2 else signal.SIGTERM)
        code, said = p.wait(10), p.stderr.read()
        is_over.set()
        for t in threads:
            t.join()
        assert (code, said) == (0, b""), (code, said)
        assert not os.path.ismount("m")


def nothing_changes():
    with mounted("a.gguf.wcodec") as m:
        for what in (lambda: open("m/a.gguf", "r+b"), lambda: open("m/new", "wb"), lambda: os.chmod("m/a.gguf", 0o777),
                     lambda: os.remove("m/a.gguf"), lambda: os.mkdir("m/d"), lambda: os.rename("m/a.gguf", "m/b"),
                     lambda: os.truncate("m/a.gguf", 0), lambda: os.utime("m/a.gguf"),
                     lambda: os.symlink("x", "m/l"), lambda: os.link("m/a.gguf", "m/h"),
                     lambda: os.setxattr("m/a.gguf", "user.x", b"y")):
            try:
                what()
                raise AssertionError("something was changed")
            except OSError as e:
                assert e.errno in (errno.EROFS, errno.EACCES, errno.EPERM, errno.ENOTSUP), e
        assert stat.S_IMODE(os.stat("m/a.gguf").st_mode) & 0o222 == 0
        assert digest("m/a.gguf") == digest("a.gguf")


def wrong_use():
    assert "not a folder" in run("mount", "a.gguf.wcodec", "nowhere", code=2)
    assert "nothing is mounted" in run("mount", "-u", "m", code=2)
    assert "need --as" in run("mount", "hf", "m", "--type", "q8_0", code=2)
    assert "no mix" in run("mount", "hf", "m", "--as", "gguf", "--mix", "Q9", code=2)
    assert "not a .wcodec" in run("mount", "a.gguf", "m", code=3)
    run("convert", "hf", "model.wcodec", "--no-sync")
    assert "no files" in run("mount", "model.wcodec", "m", code=2)
    assert not os.path.ismount("m")


def remote():
    class Handler(http.server.BaseHTTPRequestHandler):
        protocol_version = "HTTP/1.1"

        def do_GET(self):
            data = read("." + self.path)
            span = self.headers.get("Range")
            first, last = 0, len(data) - 1
            if span:
                a, b = span.removeprefix("bytes=").split("-")
                first, last = int(a), min(int(b or last), last)
            self.send_response(206 if span else 200)
            if span:
                self.send_header("Content-Range", f"bytes {first}-{last}/{len(data)}")
            self.send_header("ETag", '"x"')
            self.send_header("Content-Length", str(last - first + 1))
            self.end_headers()
            self.wfile.write(data[first:last + 1])

        def log_message(self, *_):
            pass

    server = http.server.ThreadingHTTPServer(("127.0.0.1", 0), Handler)
    threading.Thread(target=server.serve_forever, daemon=True).start()
    with mounted(f"http://127.0.0.1:{server.server_port}/a.gguf.wcodec") as m:
        assert digest("m/a.gguf") == digest("a.gguf")
    server.shutdown()


def can_mount():
    """None, or why not."""
    if not os.path.exists("/dev/fuse"):
        return "there is no /dev/fuse"
    os.makedirs("m", exist_ok=True)
    p = subprocess.run([TARE, "mount", "a.gguf.wcodec", "m"], capture_output=True, text=True)
    if p.returncode:
        return (p.stderr.strip().splitlines() or ["it cannot be mounted"])[-1]
    run("mount", "-u", "m")
    return None


def main():
    parts = [packed, told, folder, computed, readers, pages, damaged, replaced, killed, foreground, ended_while_read, nothing_changes, wrong_use, remote]
    with tempfile.TemporaryDirectory() as scratch:
        os.chdir(scratch)
        models()
        why = can_mount()
        if why:
            print(f"SKIP: {why}")
            return 77
        for part in parts:
            if len(sys.argv) > 2 and part.__name__ not in sys.argv[2:]:
                continue
            start = time.time()
            part()
            print(f"{part.__name__}: {time.time() - start:.1f} s", flush=True)
        os.chdir("/")
    return 0


if __name__ == "__main__":
    sys.exit(main())
