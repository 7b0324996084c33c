#!/usr/bin/env python3
# SPDX-License-Identifier: MIT
"""cuda_account.py LIBRARY TABLE [--update | --estimate]: what the fast kernels of libtare_cuda cost, by
their machine code.

For each kernel and architecture: instructions of the loop that decodes 256 positions, a step of 64
positions, those among them that read or write memory, and the registers; for the loops that check the
CRC the same, for 64 bytes; for the general kernels only the registers. All are compared with the rows
of TABLE and with GOALS. Fails where one is exceeded (a row by more than 3 %), where a kernel accesses
local memory, or where one reads a table that its warps share before all have made it. With --estimate
what follows for some GPUs. Needs cuobjdump and nvdisasm, in PATH, in build/venv-cuda (scripts/venv
cuda makes it), or in the folder TARE_CUDA_BINUTILS: exit 77, which ctest shows as skipped, without
them.
"""
import os
import re
import shutil
import subprocess
import sys
import tempfile
from glob import glob

VENV = os.path.join(os.path.dirname(__file__), "../../build/venv-cuda/lib/python3*/site-packages/nvidia/*/bin")
STEPS = 4  # of a turn of the loop, each with a ballot for both streams
INSTRUCTION = re.compile(r"^\s+/\*([0-9a-f]{4,})\*/\s+(?:@!?U?P\w+\s+)?([A-Z][\w.]*)")
LABEL = re.compile(r"^(\.L_x_\d+):")
KERNEL = re.compile(r"wg_decode_blockI\d*wg_form(\w+?)E?v7wg_call")
MEMORY = ("LD", "ST", "ATOM", "RED")
# Of the check: name, loads of a turn of 32 rows, which of the loops that have as many by their length,
# and steps of a turn, whose rows have 128 bytes, or 96.
WHOLE = {"wg_decode_pages": "general", "wg_predict_all": "predict"}  # kernels that are not counted by their loops
CHECKS = (("crc-words", 32, 0, 64), ("crc-halves", 64, 0, 64), ("crc-joined-5", 48, 0, 48),
          ("crc-joined-6", 64, 1, 48))
GOALS = {("sm_90", "8-k2"): 52, ("sm_90", "16-k6"): 63, ("sm_90", "16-k8"): 63, ("sm_90", "6"): 54}
MOST_REGISTERS = 64


def tool(name):
    found = (shutil.which(name, path=os.environ.get("TARE_CUDA_BINUTILS")) or shutil.which(name)
             or shutil.which(name, path=os.pathsep.join(glob(VENV)) or os.curdir))
    if not found:
        print("SKIP: no %s" % name)
        sys.exit(77)
    return found


def functions(text):
    """Name and lines of each kernel of a disassembly."""
    parts = re.split(r"^\.text\.(\S+):$", text, flags=re.M)
    return zip(parts[1::2], (p.splitlines() for p in parts[2::2]))


def instructions(lines):
    return [found.group(2) for found in map(INSTRUCTION.match, lines) if found]


def loops(lines):
    """The instructions of each loop."""
    seen, code = {}, []
    for line in lines:
        label = LABEL.match(line)
        if label:
            seen[label.group(1)] = len(code)
        found = INSTRUCTION.match(line)
        if not found:
            continue
        code.append(found.group(2))
        to = re.search(r"\((\.L_x_\d+)\)", line)
        if found.group(2).startswith("BRA") and to and to.group(1) in seen:
            yield code[seen[to.group(1)]:]


def count(loop, *starts):
    return sum(op.startswith(starts) for op in loop)


def by_length(found, counted, n, which=0):
    """Of the loops with n of what is counted, one by its length; None: there are fewer."""
    same = sorted((loop for loop in found if counted(loop) == n), key=len)
    return same[which] if which < len(same) else None


def shares_early(symbol, lines):
    """Whether a kernel whose warps share a table, which assembly without a clobber reads, stores to it
    behind the barrier, or reads it before that."""
    code = instructions(lines)
    if "wg_decode_block" not in symbol:
        return False
    barrier = next(i for i, op in enumerate(code) if op.startswith("BAR"))
    return any(op.startswith("STS" if i > barrier else "LDS") for i, op in enumerate(code))


def parts(symbol, lines):
    """Name, loop and number of steps of what a kernel has to offer."""
    found = list(loops(lines))
    if "wg_check_all" in symbol:
        for name, n, which, steps in CHECKS:
            yield name, by_length(found, lambda loop: count(loop, "LDG", "LD."), n, which), steps
    for kernel, name in WHOLE.items():
        if kernel in symbol:
            yield name, [], 1
    if name_of(symbol):
        yield name_of(symbol), by_length(found, lambda loop: count(loop, "VOTE.ANY"), 2 * STEPS), STEPS


def name_of(symbol):
    """Q4, 8 k 2, 8 EDGE, 16 k 6: from the type's mangled name."""
    form = KERNEL.search(symbol)
    if not form:
        return None
    numbers = re.findall(r"L[ib](\d+)E", form.group(1) + "E")
    item = re.match(r"\d+", form.group(1)).group(0).rstrip("I")
    if not numbers:
        return item
    edge = len(numbers) > 1 and numbers[1] == "1"
    return "%s-edge" % item if edge else "%s-k%s" % (item, numbers[0])


def measure(library):
    rows = {}
    with tempfile.TemporaryDirectory() as folder:
        subprocess.run([tool("cuobjdump"), "--extract-elf", "all", os.path.abspath(library)],
                       cwd=folder, check=True, stdout=subprocess.DEVNULL)
        for cubin in sorted(os.listdir(folder)):
            path = os.path.join(folder, cubin)
            arch = re.search(r"sm_\d+", cubin).group(0)
            usage = subprocess.run([tool("cuobjdump"), "--dump-resource-usage", path], check=True,
                                   capture_output=True, text=True).stdout
            registers = dict(re.findall(r"Function (\S+):\s*\n\s*REG:(\d+)", usage))
            text = subprocess.run([tool("nvdisasm"), "-c", path], check=True, capture_output=True,
                                  text=True).stdout
            for symbol, lines in functions(text):
                n_local = sum(op.startswith(("LDL", "STL")) for op in instructions(lines))
                if shares_early(symbol, lines):
                    sys.exit("%s %s: shared memory is used on the wrong side of the barrier" % (arch, symbol))
                for name, loop, steps in parts(symbol, lines):
                    if loop is None:
                        sys.exit("%s %s: its loop was not found" % (arch, name))
                    rows[arch, name] = (len(loop) / steps, count(loop, *MEMORY) / steps,
                                        int(registers[symbol]), n_local)
    return rows


# ---- estimates

GPUS = (  # name, architecture, SMs, GHz, TB/s of memory
    ("H100 SXM", "sm_90", 132, 1.7, 3.35),
    ("A100 80 GB", "sm_80", 108, 1.41, 2.04),
    ("RTX 4090", "sm_80", 128, 2.52, 1.01),  # executes the code of sm_80
    ("RTX 5090", "sm_120", 170, 2.41, 1.79),
)
FORMS = (  # what it stands for, kernel, check, bytes of a step, stored for each of them
    ("INT8", "8-k2", "crc-words", 64, 0.885),
    ("BF16", "16-k8", "crc-words", 128, 0.655),
    ("Q6_K", "6", "crc-joined-6", 48, 0.97),
    ("Q5_K", "5", "crc-joined-5", 40, 0.97),
    ("nibbles", "4", "crc-halves", 32, 0.92),
)
REACHED = 0.6, 0.7  # of the bound by issue, by decoders of this kind that were published
ISSUED = 4          # instructions a cycle and SM


def estimate(rows):
    """GB/s of decoded bytes: of the bounds by issue and by memory the lesser one, times REACHED if
    it is issue."""
    for gpu, arch, n_sm, clock, bandwidth in GPUS:
        for form, kernel, check, n_bytes, stored in FORMS:
            for crc in (False, True):
                n = rows[arch, kernel][0] + (rows[arch, check][0] * n_bytes / 64 if crc else 0)
                issue = n_bytes / (n / ISSUED) * n_sm * clock
                memory = bandwidth * 1000 / (stored + 1 + crc)
                text = "%4.0f (memory)" % memory
                if issue * REACHED[0] < memory:
                    text = "%4.0f to %4.0f" % tuple(min(issue * r, memory) for r in REACHED)
                print("%-11s %-8s %-8s %5.1f instructions, by issue %5.0f, by memory %5.0f GB/s: %s" % (
                    gpu, form, "with CRC" if crc else "", n, issue, memory, text))


def main():
    library, table = sys.argv[1:3]
    rows = measure(library)
    if not rows:
        sys.exit("no kernels")
    if "--estimate" in sys.argv:
        estimate(rows)
        return
    if "--update" in sys.argv:
        with open(table, "w", encoding="utf-8") as f:
            f.write("# architecture, kernel, instructions and accesses to memory a step of 64, registers\n")
            for (arch, name), row in sorted(rows.items()):
                f.write("%s %s %.2f %.2f %d\n" % (arch, name, *row[:3]))
    wrong = 0
    with open(table, encoding="utf-8") as f:
        allowed = {tuple(r[:2]): [float(v) for v in r[2:]]
                   for r in (line.split() for line in f if not line.startswith("#"))}
    for key, (n, memory, registers, n_local) in sorted(rows.items()):
        most = allowed.get(key)
        bad = (n_local or registers > MOST_REGISTERS or n > GOALS.get(key, n)
               or (most and (n > most[0] * 1.03 or memory > most[1] * 1.03)))
        wrong += bool(bad) or most is None
        print("%-7s %-10s %6.2f instructions, %5.2f of memory, %d registers%s%s" % (
            *key, n, memory, registers, ", %d to local memory" % n_local if n_local else "",
            "  MORE THAN " + str(most) if bad else "  not in the table" if most is None else ""))
    sys.exit(wrong != 0)


if __name__ == "__main__":
    main()
