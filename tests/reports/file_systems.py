# SPDX-License-Identifier: MIT
"""Output on file systems that lack what others have, and files whose names are those of their content.

    file_systems.py TARE FOLDER    FOLDER: for what it makes

A library in front of the C library plays a mount below FOLDER/.../mount that cannot rename or link, or
that takes files only from the first byte to the last. Guards against: an output that is lost when it is
complete, something left behind, a cache of downloads whose files are no longer what their names say."""
import functools
import hashlib
import http.server
import os
import shutil
import struct
import subprocess
import sys
import threading
import unittest

HERE = os.path.dirname(os.path.abspath(__file__))
sys.path.append(os.path.join(HERE, "..", "support"))
from safetensors_file import safetensors  # noqa: E402

COMMAND, FOLDER = os.path.abspath(sys.argv[1]), os.path.abspath(sys.argv[2])

SHIM = r'''
#define _GNU_SOURCE
#include <dlfcn.h>
#include <errno.h>
#include <fcntl.h>
#include <stdarg.h>
#include <stdint.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/stat.h>
#include <sys/syscall.h>
#include <unistd.h>
#define REAL(type, name, ...) \
    static type (*real)(__VA_ARGS__); \
    if (!real) *(void **)&real = dlsym(RTLD_NEXT, #name)

static int lacks(const char *what) {
    const char *list = getenv("LACKS");
    return list && strstr(list, what) != NULL;
}

/* Whether a descriptor is of something on the mount. */
static int is_there(int fd) {
    char link[64], path[4096];
    snprintf(link, sizeof link, "/proc/self/fd/%d", fd);
    ssize_t n = readlink(link, path, sizeof path - 1);
    if (n < 0) return 0;
    path[n] = 0;
    return strstr(path, "/mount") != NULL;
}

static int refused(int error) {
    errno = error;
    return -1;
}

int linkat(int a, const char *from, int b, const char *to, int flags) {
    REAL(int, linkat, int, const char *, int, const char *, int);
    if (lacks("long") && is_there(b) && strlen(to) > 30) return refused(ENAMETOOLONG);
    return lacks("link") && is_there(b) ? refused(EOPNOTSUPP) : real(a, from, b, to, flags);
}

int renameat(int a, const char *from, int b, const char *to) {
    REAL(int, renameat, int, const char *, int, const char *);
    if (lacks("replace") && is_there(b) && faccessat(b, to, F_OK, 0) == 0) return refused(EPERM);
    int is_here = is_there(b) || (b == AT_FDCWD && strstr(to, "mount/"));
    return lacks("rename") && is_here ? refused(ENOSYS) : real(a, from, b, to);
}

long syscall(long number, ...) {
    REAL(long, syscall, long, ...);
    long a[6];
    va_list args;
    va_start(args, number);
    for (int i = 0; i < 6; i++) a[i] = va_arg(args, long);
    va_end(args);
    if (number == SYS_renameat2 && lacks("rename") && is_there((int)a[0])) return refused(ENOSYS);
    if (number == SYS_renameat2 && lacks("exchange") && a[4] == 2 && is_there((int)a[0])) return refused(EINVAL);
    return real(number, a[0], a[1], a[2], a[3], a[4], a[5]);
}

int unlinkat(int dir, const char *name, int flags) {
    REAL(int, unlinkat, int, const char *, int);
    return lacks("removing") && is_there(dir) ? refused(EPERM) : real(dir, name, flags);
}

int fchmodat(int dir, const char *name, mode_t mode, int flags) {
    REAL(int, fchmodat, int, const char *, mode_t, int);
    return lacks("modes") && is_there(dir) ? refused(EPERM) : real(dir, name, mode, flags);
}

int fchmod(int fd, mode_t mode) {
    REAL(int, fchmod, int, mode_t);
    return lacks("modes") && is_there(fd) ? refused(EPERM) : real(fd, mode);
}

int flock(int fd, int how) {
    REAL(int, flock, int, int);
    return lacks("locks") && is_there(fd) ? refused(ENOLCK) : real(fd, how);
}

/* Where a file is stored when it is closed, and does not fit. */
int close(int fd) {
    REAL(int, close, int);
    int is_written = lacks("closing") && fd > 2 && (fcntl(fd, F_GETFL) & O_ACCMODE) != O_RDONLY && is_there(fd);
    int result = real(fd);
    return is_written ? refused(EDQUOT) : result;
}

static unsigned long number;

#define WITH_NUMBERS(fstat, fstatat, stat)                                                         \
int fstat(int fd, struct stat *st) {                                                               \
    REAL(int, fstat, int, struct stat *);                                                          \
    int result = real(fd, st);                                                                     \
    if (lacks("numbers") && is_there(fd)) st->st_ino = ++number;                                   \
    return result;                                                                                 \
}                                                                                                  \
int fstatat(int dir, const char *name, struct stat *st, int flags) {                               \
    REAL(int, fstatat, int, const char *, struct stat *, int);                                     \
    int result = real(dir, name, st, flags);                                                       \
    if (lacks("numbers") && is_there(dir)) st->st_ino = ++number;                                  \
    return result;                                                                                 \
}
WITH_NUMBERS(fstat, fstatat, stat)
WITH_NUMBERS(fstat64, fstatat64, stat64)

/* Each is called by two names, of which one has offsets of 64 bits whatever the program. */
#define WITH_OFFSETS(openat, ftruncate, pwrite)                                                    \
int openat(int dir, const char *name, int flags, ...) {                                            \
    REAL(int, openat, int, const char *, int, ...);                                                \
    va_list args;                                                                                  \
    va_start(args, flags);                                                                         \
    mode_t mode = (mode_t)va_arg(args, int);                                                       \
    va_end(args);                                                                                  \
    int is_here = dir >= 0 && is_there(dir), is_unnamed = (flags & O_TMPFILE) == O_TMPFILE;        \
    if (is_here && is_unnamed && (lacks("tmpfile") || lacks("random"))) return refused(EOPNOTSUPP); \
    if (is_here && lacks("long") && strlen(name) > 30) return refused(ENAMETOOLONG);                \
    if (is_here && lacks("opening") && !strstr(name, ".tare-")) return refused(EPERM);                \
    if (is_here && lacks("readwrite") && (flags & O_CREAT) && (flags & O_ACCMODE) == O_RDWR)       \
        return refused(EINVAL);                                                                    \
    return real(dir, name, flags, mode);                                                           \
}                                                                                                  \
int ftruncate(int fd, int64_t size) {                                                              \
    REAL(int, ftruncate, int, int64_t);                                                            \
    return lacks("truncate") && is_there(fd) ? refused(ENOSYS) : real(fd, size);                   \
}                                                                                                  \
ssize_t pwrite(int fd, const void *bytes, size_t n, int64_t at) {                                  \
    REAL(ssize_t, pwrite, int, const void *, size_t, int64_t);                                     \
    struct stat st;                                                                                \
    int is_end = fstat(fd, &st) == 0 && st.st_size == at;                                          \
    return (lacks("random") || lacks("later")) && !is_end && is_there(fd) ? refused(EINVAL) : real(fd, bytes, n, at); \
}
WITH_OFFSETS(openat, ftruncate, pwrite)
WITH_OFFSETS(openat64, ftruncate64, pwrite64)

ssize_t write(int fd, const void *bytes, size_t n) {
    REAL(ssize_t, write, int, const void *, size_t);
    return lacks("space") && n > 100 && is_there(fd) ? refused(ENOSPC) : real(fd, bytes, n);
}
'''
RENAMES, ORDER = "cannot rename files: the output was copied", "the output was made elsewhere and copied"
MOUNTS = {
    "no links": ("link", RENAMES),
    "no links, no renaming": ("link rename", RENAMES),
    "named, no renaming": ("tmpfile rename", RENAMES),
    "no places": ("random rename", ORDER),
    "objects": ("tmpfile random truncate readwrite rename link", ORDER),
    "no sizes": ("tmpfile truncate", ORDER),
    "unnamed, no places": ("later", ORDER),
    "unnamed, no sizes": ("truncate", ""),
    "unnamed, no reading back": ("readwrite", ""),
    "no numbers": ("tmpfile numbers", ""),
    "no permissions": ("tmpfile modes", ""),
}


class Quiet(http.server.SimpleHTTPRequestHandler):
    def log_message(self, *_):
        pass


class Case(unittest.TestCase):
    def setUp(self):
        self.folder = os.path.join(FOLDER, self.id().split(".")[-1])
        shutil.rmtree(self.folder, ignore_errors=True)
        self.mount = os.path.join(self.folder, "mount")
        os.makedirs(self.mount)
        body = struct.pack("<1024f", *[(i * 7919 % 1009) / 1009 for i in range(1024)])
        self.put("a.safetensors", safetensors([("w", "F32", [32, 32], body), ("v", "F32", [32, 32], body[2048:] + body[:2048])]))

    def put(self, path, content):
        with open(os.path.join(self.folder, path), "wb") as f:
            f.write(content)

    def get(self, path):
        with open(os.path.join(self.folder, path), "rb") as f:
            return f.read()

    def tare(self, *words, code=0, env=None):
        done = subprocess.run([COMMAND, *words], cwd=self.folder, stdin=subprocess.DEVNULL, timeout=100, capture_output=True,
                              env=dict(os.environ, **(env or {})))
        text = (done.stdout + done.stderr).decode("utf-8", "replace")
        self.assertEqual(done.returncode, code, text)
        return text


class Mounts(Case):
    @classmethod
    def setUpClass(cls):
        os.makedirs(FOLDER, exist_ok=True)
        source = os.path.join(FOLDER, "mount.c")
        cls.library = os.path.join(FOLDER, "mount.so")
        with open(source, "w") as f:
            f.write(SHIM)
        cc = shutil.which("cc") or shutil.which("gcc") or shutil.which("clang")
        with open(COMMAND, "rb") as f:
            is_dynamic = b"ld-linux" in f.read(1 << 16)
        if not cc or not sys.platform.startswith("linux") or not is_dynamic:
            raise unittest.SkipTest("needs a C compiler and a dynamic program")
        subprocess.run([cc, "-shared", "-fPIC", "-O1", "-w", "-o", cls.library, source, "-ldl"], check=True)

    def on(self, lacks):
        return {"LD_PRELOAD": self.library, "LACKS": lacks, "ASAN_OPTIONS": "verify_asan_link_order=0"}

    def mode(self, path):
        return oct(os.stat(os.path.join(self.folder, path)).st_mode)

    def left(self):
        return sorted(os.listdir(self.mount))

    def test_files_and_directories(self):
        self.tare("convert", "a.safetensors", "want.safetensors", "--type", "bf16")
        self.tare("convert", "a.safetensors", "want", "--to", "hf", "--shard-size", "5K")
        self.tare("pack", "a.safetensors", "want.wcodec")
        os.makedirs(os.path.join(self.folder, "d/x"))
        shutil.copy(os.path.join(self.folder, "a.safetensors"), os.path.join(self.folder, "d"))
        self.put("d/x/secret.json", b"{}")
        os.chmod(os.path.join(self.folder, "d/x/secret.json"), 0o600)
        self.tare("pack", "d", "d.wcodec")
        shutil.copy(os.path.join(self.folder, "a.safetensors"), os.path.join(self.folder, "secret.safetensors"))
        os.chmod(os.path.join(self.folder, "secret.safetensors"), 0o600)
        for name, (lacks, more) in MOUNTS.items():
            with self.subTest(name):
                env = self.on(lacks)
                for force in ((), ("--force",)):
                    text = self.tare("convert", "a.safetensors", "mount/o.safetensors", "--type", "bf16", *force, env=env)
                    self.assertEqual(self.get("mount/o.safetensors"), self.get("want.safetensors"))
                    if name != "no sizes":
                        self.assertIn("copied" if more else "", text)
                self.tare("convert", "a.safetensors", "mount/o", "--to", "hf", "--shard-size", "5K", env=env)
                for file in os.listdir(os.path.join(self.folder, "want")):
                    self.assertEqual(self.get("mount/o/" + file), self.get("want/" + file))
                self.tare("pack", "a.safetensors", "mount/o.wcodec", env=env)
                self.assertEqual(self.get("mount/o.wcodec"), self.get("want.wcodec"))
                self.tare("unpack", "mount/o.wcodec", "mount/u.safetensors", env=env)
                self.assertEqual(self.get("mount/u.safetensors"), self.get("a.safetensors"))
                text = self.tare("unpack", "d.wcodec", "mount/d", env=env)
                self.assertEqual("does not take permissions" in text, "modes" in lacks, text)
                for file in ("a.safetensors", "x/secret.json", "x") if "modes" not in lacks else ():
                    self.assertEqual(self.mode("mount/d/" + file), self.mode("d/" + file), file)
                self.assertEqual(self.mode("mount/o.safetensors"), self.mode("want.safetensors"))
                self.tare("convert", "secret.safetensors", "mount/s.safetensors", "--type", "bf16", env=env)
                self.tare("convert", "secret.safetensors", "mount/s", "--to", "hf", env=env)
                modes = (("s.safetensors", 0o100600), ("s", 0o040700), ("s/model.safetensors", 0o100600))
                for file, mode in modes if "modes" not in lacks else ():
                    self.assertEqual(self.mode("mount/" + file), oct(mode), file)
                self.assertEqual(self.left(), ["d", "o", "o.safetensors", "o.wcodec", "s", "s.safetensors", "u.safetensors"])
                self.tare("convert", "a.safetensors", "mount/o.safetensors", code=2, env=env)
                for file in self.left():
                    path = os.path.join(self.mount, file)
                    shutil.rmtree(path) if os.path.isdir(path) else os.remove(path)

    def test_a_download_is_copied_where_it_cannot_be_renamed(self):
        handler = functools.partial(Quiet, directory=self.folder)
        with http.server.ThreadingHTTPServer(("127.0.0.1", 0), handler) as server:
            threading.Thread(target=server.serve_forever, args=(0.05,), daemon=True).start()
            url = "http://127.0.0.1:%d/a.safetensors" % server.server_port
            self.tare("get", url, "-o", "mount", env=self.on("rename"))
            self.assertEqual(self.get("mount/a.safetensors"), self.get("a.safetensors"))
            self.assertEqual(self.left(), ["a.safetensors"])
            self.tare("convert", "a.safetensors", "want.safetensors", "--type", "bf16")
            self.put("a.safetensors", self.get("want.safetensors"))
            self.tare("get", url, "-o", "mount", code=2, env=self.on("rename"))
            self.tare("get", url, "-o", "mount", "--force", env=self.on("rename"))
            self.assertEqual(self.get("mount/a.safetensors"), self.get("want.safetensors"))
            self.assertEqual(self.left(), ["a.safetensors"])
            server.shutdown()

    def test_nothing_is_left_of_what_fails(self):
        for lacks in ("link rename space", "tmpfile random truncate readwrite rename link space"):
            self.tare("convert", "a.safetensors", "mount/o.safetensors", code=6, env=self.on(lacks))
            self.tare("convert", "a.safetensors", "mount/o", "--to", "hf", code=6, env=self.on(lacks))
            self.assertEqual(self.left(), [])

    def test_names_may_be_too_long_for_a_temporary(self):
        name = "mount/a-name-of-thirty.safetensors"
        for lacks in ("long", "long tmpfile"):
            text = self.tare("convert", "a.safetensors", name, "--type", "bf16", "--force", env=self.on(lacks))
            self.assertIn("names are too short", text)
            self.assertIn("good", self.tare("verify", name))
            self.assertEqual(self.left(), [os.path.basename(name)])

    def test_what_cannot_be_removed_is_named(self):
        text = self.tare("convert", "a.safetensors", "mount/o", "--to", "hf", env=self.on("removing rename link tmpfile"))
        self.assertRegex(text, r"\.o\.tare-......: warning: cannot be removed, and was left beside the output")
        self.assertNotIn("0", os.listdir(self.mount + "/o"))

    def test_a_failure_to_store_is_noticed(self):
        for lacks in ("closing", "closing tmpfile", "closing link rename", "closing tmpfile random"):
            for words in (("mount/o.safetensors",), ("mount/o", "--to", "hf"), ("mount/o.wcodec",)):
                verb = "pack" if words[0].endswith("wcodec") else "convert"
                self.tare(verb, "a.safetensors", *words, "--no-sync", code=6, env=self.on(lacks))
                self.assertEqual(self.left(), [], (lacks, words))
        self.tare("convert", "a.safetensors", "mount/o.safetensors", "--type", "bf16")
        text = self.tare("convert", "a.safetensors", "mount/o.safetensors", "--type", "bf16", "--force", code=6,
                         env=self.on("closing tmpfile random"))
        self.assertIn("the old one, which had to give way, is lost", text)

    def test_directories_that_cannot_be_exchanged(self):
        self.tare("convert", "a.safetensors", "mount/o", "--to", "hf")
        text = self.tare("convert", "a.safetensors", "mount/o", "--to", "hf", "--type", "bf16", "--force", code=5,
                         env=self.on("exchange"))
        self.assertIn("cannot exchange directories: remove the old output", text)
        self.assertEqual(self.left(), ["o"])
        self.tare("convert", "a.safetensors", "mount/o", "--to", "hf", "--type", "bf16", "--force", env=self.on("tmpfile"))
        self.assertEqual(self.left(), ["o"])

    def test_an_edit_in_place_begins_where_it_can_end(self):
        self.tare("edit", "a.safetensors", "--set", "k=vv", "-o", "mount/a.safetensors")
        before = self.get("mount/a.safetensors")
        for lacks, word in (("random", "cannot be read and written at any place"), ("locks", "cannot be locked")):
            text = self.tare("edit", "mount/a.safetensors", "--set", "k=v", "--in-place", code=4, env=self.on(lacks))
            self.assertIn(word, text)
            self.assertEqual(self.get("mount/a.safetensors"), before)
            self.assertEqual(self.left(), ["a.safetensors"])
        text = self.tare("edit", "mount/a.safetensors", "--set", "k=v", "--in-place", code=4, env=self.on("removing"))
        self.assertIn("this journal of an edit that is over cannot be removed", text)
        self.assertIn("good", self.tare("verify", "mount/a.safetensors"))
        self.tare("edit", "mount/a.safetensors", "--set", "k=w", "--in-place")
        self.assertEqual(self.left(), ["a.safetensors"])

    def test_an_edit_does_not_risk_the_model(self):
        shutil.copy(os.path.join(self.folder, "a.safetensors"), self.mount)
        before = self.get("a.safetensors")
        text = self.tare("edit", "mount/a.safetensors", "--set", "k=" + "v" * 99, code=5, env=self.on("link rename"))
        self.assertIn("cannot rename", text)
        self.assertEqual(self.get("mount/a.safetensors"), before)
        self.assertEqual(self.left(), ["a.safetensors"])


    def test_a_file_that_must_not_change_stays(self):
        """Another user's in a folder like /tmp, an object that cannot be overwritten."""
        shutil.copy(os.path.join(self.folder, "a.safetensors"), os.path.join(self.mount, "o.safetensors"))
        before = self.get("a.safetensors")
        for lacks in ("replace", "rename link opening"):
            text = self.tare("convert", "a.safetensors", "mount/o.safetensors", "--type", "bf16", "--force", code=4,
                             env=self.on(lacks))
            self.assertNotIn("cannot rename files", text)
            self.assertEqual(self.get("mount/o.safetensors"), before)
            self.assertEqual(self.left(), ["o.safetensors"])


class Blobs(Case):
    """Files of a cache that are named after their content."""

    def setUp(self):
        super().setUp()
        data = self.get("a.safetensors")
        self.root = os.path.join(self.folder, "models--org--name")
        self.snapshot = os.path.join(self.root, "snapshots", "0" * 40)
        os.makedirs(self.snapshot)
        os.makedirs(os.path.join(self.root, "blobs"))
        self.blob = os.path.join(self.root, "blobs", hashlib.sha256(data).hexdigest())
        self.config = os.path.join(self.root, "blobs", hashlib.sha1(b"blob 2\0{}").hexdigest())
        for path, content in ((self.blob, data), (self.config, b"{}")):
            with open(path, "wb") as f:
                f.write(content)
        os.symlink("../../blobs/" + os.path.basename(self.blob), os.path.join(self.snapshot, "model.safetensors"))
        os.symlink("../../blobs/" + os.path.basename(self.config), os.path.join(self.snapshot, "config.json"))

    def test_blobs_are_not_changed(self):
        link = os.path.join(self.snapshot, "model.safetensors")
        for path in (link, self.snapshot, self.blob):
            for more in ((), ("--in-place",), ("--rewrite",), ("--dry-run",)):
                self.assertIn("named after their content", self.tare("edit", path, "--set", "k=v", *more, code=2))
        self.assertIn("download cache", self.tare("convert", "a.safetensors", link, "--force", "--type", "bf16", code=2))
        for path in (self.blob, os.path.relpath(self.blob, self.folder)):
            for words in (("convert", "a.safetensors", path, "--to", "safetensors", "--type", "bf16"),
                          ("verify", "a.safetensors", "--write-manifest", path)):
                self.assertIn("is in a download cache", self.tare(*words, "--force", code=2))
        with open(self.blob, "rb") as f:
            self.assertEqual(hashlib.sha256(f.read()).hexdigest(), os.path.basename(self.blob))
        self.tare("edit", link, "--set", "k=v", "-o", "changed.safetensors")
        self.assertIn("k", self.tare("info", "-m", "changed.safetensors"))

    def test_a_blob_that_is_not_what_its_name_says(self):
        for path in (self.snapshot, os.path.join(self.snapshot, "model.safetensors"), self.blob):
            self.assertIn("good", self.tare("verify", "--deep", path))
        with open(self.blob, "r+b") as f:
            f.seek(-7, 2)
            f.write(b"\1")
        for path in (self.snapshot, os.path.join(self.snapshot, "model.safetensors"), self.blob):
            self.tare("verify", path)
            self.assertIn("its SHA-256 is not the one in its name", self.tare("verify", "--deep", path, code=1))
        os.makedirs(os.path.join(self.folder, "store"))
        name = "store/sha256-" + hashlib.sha256(self.get("a.safetensors")).hexdigest()
        self.put(name, self.get("a.safetensors"))
        self.assertIn("good", self.tare("verify", "--deep", name))


class Zeros(Case):
    def file(self, *bodies):
        tensors = [("t%02d" % i, "F32", [32, 32] if len(b) == 4096 else [len(b) // 4], b) for i, b in enumerate(bodies)]
        self.put("z.safetensors", safetensors(tensors))
        return self.tare("verify", "--deep", "z.safetensors")

    def test_zeros(self):
        some, none = b"\0\0\x80?" * 1024, bytes(4096)
        half = some[:2048] + none[:2048]
        self.assertNotIn("0", self.file(some, some).split("good")[0].replace("z.safetensors", ""))
        self.assertIn("all of it is 0 ", self.file(some, none, some))
        self.assertIn("and so are 2 other matrices", self.file(none, some, none, some, none))
        for bodies, size in (((some, none, none), 8192), ((some, half, none), 6144), ((some, half, none, bytes(64)), 6208)):
            text = self.file(*bodies)
            self.assertIn("the last %d of " % size, text)
            self.assertIn("1 warning", text)
        for bodies in ((some, none), (some, half), (some, none, some), (some, bytes(64)), (none, none), (some, none[:64], none[:64])):
            self.assertNotIn("warning", self.file(*bodies), [len(b) for b in bodies])
        self.tare("verify", "--deep", "--strict", "z.safetensors")


if __name__ == "__main__":
    unittest.main(argv=sys.argv[:1])
