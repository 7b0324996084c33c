#!/usr/bin/env python3
# SPDX-License-Identifier: MIT
"""cuda_account.py LIBRARY TABLE [--update]: what the fast kernels of libtare_cuda cost, by their machine code.

For each kernel and architecture: instructions of the loop that decodes 256 positions, a step of 64
positions, those among them that read or write memory, and the registers; against the rows of TABLE.
Fails where a row is exceeded by more than 3 %, or where that loop keeps anything in local memory. Needs
cuobjdump and nvdisasm, in PATH or named by TARE_CUDA_BINUTILS (a folder; PyPI has them as
nvidia-cuda-cuobjdump and nvidia-cuda-nvdisasm): exit 77, which ctest shows as skipped, without them.
"""
import os
import re
import shutil
import subprocess
import sys
import tempfile

STEPS = 4  # of a turn of the loop, each with a ballot for both streams
INSTRUCTION = re.compile(r"^\s+/\*([0-9a-f]{4,})\*/\s+(?:@!?U?P\w+\s+)?([A-Z][\w.]*)")
LABEL = re.compile(r"^(\.L_x_\d+):")
KERNEL = re.compile(r"wg_decode_blockI\d*wg_form(\w+?)E?v7wg_call")
MEMORY = ("LD", "ST", "ATOM", "RED")


def tool(name):
    found = shutil.which(name, path=os.environ.get("TARE_CUDA_BINUTILS")) or shutil.which(name)
    if not found:
        print("SKIP: no %s" % name)
        sys.exit(77)
    return found


def functions(text):
    """Name and lines of each kernel of a disassembly."""
    parts = re.split(r"^\.text\.(\S+):$", text, flags=re.M)
    return zip(parts[1::2], (p.splitlines() for p in parts[2::2]))


def fast_loop(lines):
    """The instructions of the shortest loop that has the ballots of four steps."""
    seen, code, best = {}, [], None
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
            loop = code[seen[to.group(1)]:]
            n_ballots = sum(op.startswith("VOTE.ANY") for op in loop)
            if n_ballots == 2 * STEPS and (best is None or len(loop) < len(best)):
                best = loop
    return best


def name_of(symbol):
    """Q4, 8 k 2, 8 EDGE, 16 k 6: from the type's mangled name."""
    form = KERNEL.search(symbol)
    if not form:
        return None
    numbers = re.findall(r"L[ib](\d+)E", form.group(1) + "E")
    item = re.match(r"\d+", form.group(1)).group(0).rstrip("I")
    if item == "4":
        return "4"
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
                name, loop = name_of(symbol), fast_loop(lines)
                if name is None:
                    continue
                if loop is None:
                    sys.exit("%s %s: its loop was not found" % (arch, name))
                memory = sum(op.startswith(MEMORY) for op in loop)
                local = sum(op.startswith(("LDL", "STL")) for op in loop)
                rows[arch, name] = (len(loop) / STEPS, memory / STEPS, int(registers[symbol]), local)
    return rows


def main():
    library, table = sys.argv[1:3]
    rows = measure(library)
    if not rows:
        sys.exit("no kernels")
    if "--update" in sys.argv:
        with open(table, "w", encoding="utf-8") as f:
            f.write("# architecture, kernel, instructions and accesses to memory a step of 64, registers\n")
            for (arch, name), row in sorted(rows.items()):
                f.write("%s %s %.2f %.2f %d\n" % (arch, name, *row[:3]))
    wrong = 0
    with open(table, encoding="utf-8") as f:
        allowed = {tuple(r[:2]): [float(v) for v in r[2:]]
                   for r in (line.split() for line in f if not line.startswith("#"))}
    for key, (n, memory, registers, local) in sorted(rows.items()):
        most = allowed.get(key)
        bad = local or registers > 64 or (most and (n > most[0] * 1.03 or memory > most[1] * 1.03))
        wrong += bool(bad) or most is None
        print("%-7s %-7s %6.2f instructions, %5.2f of memory, %d registers%s%s" % (
            *key, n, memory, registers, ", %d local" % local if local else "",
            "  MORE THAN " + str(most) if bad else "  not in the table" if most is None else ""))
    sys.exit(wrong != 0)


if __name__ == "__main__":
    main()
