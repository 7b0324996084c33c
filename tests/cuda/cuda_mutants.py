#!/usr/bin/env python3
# SPDX-License-Identifier: MIT
"""cuda_mutants.py [--check] FOLDER BUILD [WORD]: shows that the tests of libtare_cuda can fail. In copies of its
sources under FOLDER, one for each processor, one thing at a time is made wrong; the emulated tests,
linked with the static library of BUILD (a build with sanitizers), must then fail, or its
test_cuda_load, which loads them as a library, or the compiler refuse. With WORD only the mutants of files whose name has it. --check
only looks whether what is made wrong stands where the table says.

A row names a file, what stands there, and what takes its place.
"""
import argparse
import concurrent.futures
import os
import queue
import shutil
import subprocess
import sys

ROOT = os.path.dirname(os.path.dirname(os.path.dirname(os.path.abspath(__file__))))
MUTANTS = (
    # Entropy decoder.
    ("wg_step.h", "if (wg_ballot(s.x[i] < 0x10000u)) s.bad = WG_BAD_STATES;", ""),
    ("wg_step.h", "place < s.left[i], s.words", "place < s.left[i] + 1, s.words"),
    ("wg_step.h", "if (n > s.left[i]) s.bad |= WG_BAD_STATES;", ""),
    ("wg_step.h", "n = n < s.left[i] ? n : s.left[i];", ""),
    ("wg_step.h", "differs | s.left[0] | s.left[1]", "differs | s.left[0]"),
    ("wg_step.h", "wg_popc(s.below & all)", "wg_popc(s.below & ~all)"),
    # A branch on a value of the lanes must not compile.
    ("wg_step.h", "s.x[i] = wg_pick(is_short, s.x[i] << 16u | word, s.x[i]);",
     "if (is_short) s.x[i] = s.x[i] << 16u | word;"),
    # Fast kernels.
    ("wg_fast.h", "if (n > left) w.bad |= WG_BAD_STATES;", ""),
    ("wg_fast.h", "n = n < left ? n : left;", ""),
    ("wg_fast.h", "return !(differs | wg_left(w, 0) | wg_left(w, 1));", "return !differs;"),
    ("wg_fast.h", "sure = (a < b ? a : b) / 128", "sure = (a < b ? a : b) / 64"),
    ("wg_fast.h", "left > done ? left - done : 0", "left"),
    ("wg_fast.h", "whole = (whole < patched ? whole : patched)", "whole = whole"),
    ("wg_fast.h", "if (!wg_is_zero(stored, end, (end + 63) / 64 * 64)) bad |= WG_BAD_PADDING;", ""),
    ("wg_reread.h", "WG_BACK(16)", "WG_BACK(17)"),
    ("wg_reread.h", "% TURN) % TURN", "% TURN) / TURN"),
    ("wg_reread.h", "WG_BACK(18)", "WG_BACK(19)"),
    ("wg_reread.h", "r.high_shift = r.lane >> 3u & 2u;", "r.high_shift = r.lane & 0u;"),
    ("wg_reread.h", "(low & 0xf00f0u) * 3u", "(low & 0xf00f0u) * 2u"),
    ("wg_fast.h", "place < left, w.next[i], place", "place < left + 1, w.next[i], place"),
    ("wg_forms.h", "low & 0x80008000u", "low & 0x00008000u"),
    # Patches.
    ("wg_patches.h", "if (at + i < s.job.patches_bytes)", "if (true)"),
    ("wg_patches.h", "p.at <= end && position", "position"),
    ("wg_patches.h", "position < s.job.n_positions &&", "true &&"),
    ("wg_patches.h", "wg_has_value(s.value_bits, (uint32_t)position, s.job.n_bytes)", "true"),
    ("wg_patches.h", "(p.at + 8 > end && !wg_peek(p, s))", "p.at + 8 > end"),
    ("wg_patches.h", "(p.at + 8 > end && !wg_peek(p, s))", "!wg_peek(p, s)"),
    # Values.
    ("wg_values.h", "if (chosen >= job.n_classes) {", "if (false) {"),
    ("wg_values.h", "order = (order & ~(front << 4 | 15)) | (order & front) << 4 | chosen;", ""),
    ("wg_values.h", "is_odd = t & 1;", "is_odd = t >> 1 & 1;"),
    ("wg_values.h", "    wg_sync(to);\n", ""),
    ("wg_values.h", "t << 8 * i;", "t << 8 * (1 - i);"),
    ("wg_forms.h", "(s != -128)", "1"),
    ("wg_forms.h", "if (n_steps > 2)", "if (true)"),
    ("wg_forms.h", "0xccu", "0xcfu"),
    ("wg_forms.h", "(all >> 3u & 0x0a0au)", "(all >> 3u & 0x0808u)"),
    ("wg_reread.h", "(high & 0x2002u) * 31u", "(high & 0x2000u) * 31u"),
    # Places.
    ("wg_places.h", "for (uint32_t i = 4 * words + lane; i < n; i += WG_LANES)",
     "for (uint32_t i = 4 * words + lane; i <= n; i += WG_LANES)"),
    ("wg_places.h", "    wg_sync(values);\n", ""),
    ("wg_places.h", "rest * a_byte + j", "rest * a_byte + (j ^ 1)"),
    ("wg_sixes.h", "    wg_sync(values);\n", ""),
    ("wg_sixes.h", "left < 32 ? left : 32", "32"),
    # Bases.
    ("wg_reference.h", "(g.first_value + i) / g.stream->values_per_scale",
     "(g.first_value + i + 1) / g.stream->values_per_scale"),
    ("wg_reference.h", "g.first_value = (uint32_t)(first % s.values_per_scale);", "g.first_value = 0;"),
    ("wg_reference.h", "wg_join_lanes(remainder, parts->words) != g.job->remainder)", "false)"),
    ("wg_reference.h", "    wg_sync(bytes); /* all lanes have read the region */\n", ""),
    ("wg_reference.h", "uint32_t is_big = g.stream->is_big_endian;", "uint32_t is_big = 0;"),
    ("wg_places.h", "uint32_t left = s.width - p.rest;", "uint32_t left = s.width;"),
    ("wg_plan.c", "add_second(p, WG_PREDICT, TARE_CODED_REF_SCALED);", ""),
    ("wg_jobs.c", "if (job->kernel != WG_GENERAL && !job->predictor)", "if (job->kernel != WG_GENERAL)"),
    # Ends.
    ("wg_crc.h", "i < 4 && at + i < n", "i < 4"),
    ("wg_segment.h", "if (!wg_padding_is_zero(g)) bad |= WG_BAD_PADDING;", ""),
    ("wg_segment.h", "wg_join_lanes(g.remainder, g.parts->words) != g.job->remainder)", "false)"),
    ("wg_segment.h", "g.job->has_crc && !g.job->predictor", "g.job->has_crc"),
    ("wg_patches.h", "if (p.left == WG_DAMAGED) return false;", ""),
    # The host's part.
    ("wg_memory.c", "tare_status status = wg_device_wait_mark(s->device, b->mark, err);",
     "tare_status status = TARE_OK;"),
    ("wg_memory.c", "status = wg_device_set_mark(b->mark, s->device, stream, err);", "status = TARE_OK;"),
    ("wg_memory.c", "|| n > s->buffer_bytes", ""),
    ("wg_memory.c", "|| !s->is_filling", ""),
    ("wg_batch.c", "(uintptr_t)memory % ALIGNED", "false"),
    ("wg_batch.c", "if (status == TARE_OK) status = wg_device_prepare(cuda->device, err);", ""),
    ("wg_check.c", "field.scale_stream == stream + 1)", "field.scale_stream == stream + 2)"),
    ("wg_jobs.c", "field->join.high_bits ? FOURS_ROW : WORDS_ROW", "WORDS_ROW"),
    ("wg_jobs.c", "if (adjust + first > 65535) adjust -= 65536;", "adjust &= 0x7fff;"),
    ("wg_jobs.c", "memcmp(j->place, places[j->high_bits - 1], sizeof places[0]) == 0", "true"),
    ("wg_jobs.c", "(f->stride | f->offset | j->high_offset) % 2 == 0", "true"),
    ("wg_jobs.c", "if (missing) job->fill", "if (false) job->fill"),
    ("wg_jobs.c", "wg_power(8 * ((uint64_t)padding + n_more * row_bytes))", "wg_power(8 * (uint64_t)padding)"),
)
TESTS = ("test_cuda_vectors", "test_cuda_damage", "test_cuda_capture")
LOADED = "test_cuda_load"
SANITIZERS = ["-fsanitize=address,undefined", "-fno-sanitize-recover=undefined", "-g1", "-O1", "-fPIC"]
LIBRARIES = ["-lcmocka", "-ldeflate", "-lcrypto", "-lzstd", "-lm", "-lpthread", "-ldl"]


def compile_all(folder, sources, out):
    includes = ["-I" + folder, "-I" + os.path.join(folder, "cuda", "include")]
    includes += ["-I" + os.path.join(ROOT, d) for d in ("include", "src", "tests", "tests/cuda")]
    for source in sources:
        compiler = ["c++", "-std=c++17"] if source.endswith(".cc") else ["cc", "-std=c11"]
        name = os.path.join(out, os.path.basename(source) + ".o")
        if subprocess.run([*compiler, *SANITIZERS, "-D_GNU_SOURCE", "-ffp-contract=off", *includes,
                           '-DWCODEC_VECTORS="%s/tests/wcodec/vectors"' % ROOT, "-c", source, "-o",
                           name], stderr=subprocess.DEVNULL).returncode:
            return False
    return True


class Copy:
    def __init__(self, folder, build):
        self.folder, self.out = folder, os.path.join(folder, "out")
        self.is_stale = True  # the object of the device, made from a changed header or not at all
        self.library = os.path.join(build, "src", "libtare.a")
        self.loading = os.path.join(build, "tests", "cuda", LOADED)
        shutil.rmtree(folder, ignore_errors=True)
        shutil.copytree(os.path.join(ROOT, "cuda"), os.path.join(folder, "cuda"))
        os.makedirs(self.out)
        tests = [os.path.join(ROOT, "tests", "cuda", t + ".c") for t in ("cuda_runner", *TESTS)]
        if not compile_all(folder, tests + self.host_sources(), self.out):
            sys.exit("the tests do not compile")

    def host_sources(self):
        names = ("wg_batch", "wg_check", "wg_jobs", "wg_memory", "wg_plan", "wg_polynomial")
        return [os.path.join(self.folder, "cuda", n + ".c") for n in names]

    def verdict(self, changed):
        """Who objects: "compiler", the name of the test that fails, or None."""
        is_header = not changed or not changed.endswith(".c")
        sources = [] if is_header else [os.path.join(self.folder, "cuda", changed)]
        if is_header or self.is_stale:
            sources.append(os.path.join(self.folder, "cuda", "wg_device_emulated.cc"))
            self.is_stale = bool(changed) and is_header
        if not compile_all(self.folder, sources, self.out):
            return "compiler"
        objects = [os.path.join(self.out, f) for f in os.listdir(self.out)
                   if f.endswith(".o") and not f.startswith("test_")]
        for test in TESTS:
            program = os.path.join(self.out, test)
            subprocess.run(["c++", *SANITIZERS, program + ".c.o", *objects, self.library,
                            *LIBRARIES, "-o", program], check=True)
            if self.fails([program]):
                return test
        subprocess.run(["c++", *SANITIZERS, "-shared", "-o", os.path.join(self.out, "libtare_cuda.so.0"),
                        *(o for o in objects if os.path.basename(o).startswith("wg_"))], check=True)
        return LOADED if self.fails([self.loading]) else None

    def fails(self, command):
        try:
            return subprocess.run(command, stdout=subprocess.DEVNULL, stderr=subprocess.DEVNULL, timeout=600,
                                  env={**os.environ, "LD_LIBRARY_PATH": self.out}).returncode
        except subprocess.TimeoutExpired:
            return True

    def try_mutant(self, name, old, new):
        path = os.path.join(self.folder, "cuda", name)
        with open(path, encoding="utf-8") as f:
            text = f.read()
        if old not in text:
            return "NO SUCH TEXT"
        try:
            with open(path, "w", encoding="utf-8") as f:
                f.write(text.replace(old, new))
            return self.verdict(name) or "LIVES"
        finally:
            with open(path, "w", encoding="utf-8") as f:
                f.write(text)
            if name.endswith(".c"):
                compile_all(self.folder, [path], self.out)


def find_all():
    """Whether a text does not stand where the table says; says which."""
    n_lost = 0
    for name, old, _ in MUTANTS:
        with open(os.path.join(ROOT, "cuda", name), encoding="utf-8") as f:
            if old not in f.read():
                print("%s: no such text: %s" % (name, " ".join(old.split())))
                n_lost += 1
    return n_lost > 0


def main():
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("--check", action="store_true")
    parser.add_argument("folder", nargs="?")
    parser.add_argument("build", nargs="?")
    parser.add_argument("word", nargs="?", default="")
    asked = parser.parse_args()
    if asked.check:
        sys.exit(find_all())
    rows = [row for row in MUTANTS if asked.word in row[0]]
    n_workers = min(len(os.sched_getaffinity(0)), max(len(rows), 1))
    copies = queue.SimpleQueue()

    def prepare(i):
        copy = Copy(os.path.join(os.path.abspath(asked.folder), str(i)), asked.build)
        if copy.verdict(None):
            sys.exit("the tests fail before anything is changed")
        copies.put(copy)

    def find(row):
        copy = copies.get()
        try:
            return copy.try_mutant(*row)
        finally:
            copies.put(copy)

    n_caught = 0
    with concurrent.futures.ThreadPoolExecutor(n_workers) as pool:
        list(pool.map(prepare, range(n_workers)))
        for (name, old, _), found in zip(rows, pool.map(find, rows)):
            n_caught += found not in ("LIVES", "NO SUCH TEXT")
            print("%-18s %s: %s" % (found, name, " ".join(old.split())), flush=True)
    print("%d of %d mutants are caught" % (n_caught, len(rows)))
    sys.exit(not rows or n_caught != len(rows))


if __name__ == "__main__":
    main()
