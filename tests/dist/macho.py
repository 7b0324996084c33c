#!/usr/bin/env python3
# SPDX-License-Identifier: MIT
"""macho.py FILE...: what can be known of a program for macOS without a Mac: it loads libSystem and nothing
else, asks for macOS 11 at least, and its signature, where there is one, covers every page; a program
for arm64 is not run without one."""
import hashlib
import struct
import sys

MAGIC, ARM64 = 0xFEEDFACF, 0x0100000C
LOAD_DYLIB, WEAK_DYLIB, CODE_SIGNATURE, BUILD_VERSION, VERSION_MIN = 0xC, 0x80000018, 0x1D, 0x32, 0x24
SYMTAB, EXTERNAL, KIND, UNDEFINED = 0x2, 0x1, 0xE, 0x0
SYSTEM = "/usr/lib/libSystem.B.dylib"
SUPERBLOB, DIRECTORY, AD_HOC = 0xFADE0CC0, 0xFADE0C02, 0x2


def commands(data):
    """The number of a load command, and its bytes."""
    magic, cpu, _, _, n, _ = struct.unpack_from("<6I", data)
    assert magic == MAGIC, "not a Mach-O file of 64 bits"
    at = 32
    for _ in range(n):
        number, size = struct.unpack_from("<2I", data, at)
        assert size >= 8 and at + size <= len(data), "a load command beyond the file"
        yield number, data[at:at + size], cpu
        at += size


def check_signature(data, start, size):
    """Every page has the digest that the code directory states; returns how many there are."""
    blob = data[start:start + size]
    magic, _, count = struct.unpack_from(">3I", blob)
    assert magic == SUPERBLOB, "no signature where one is announced"
    for i in range(count):
        at = struct.unpack_from(">2I", blob, 12 + 8 * i)[1]
        if struct.unpack_from(">I", blob, at)[0] == DIRECTORY:
            break
    else:
        raise AssertionError("a signature without a code directory")
    flags, hashes, _, _, pages, limit = struct.unpack_from(">6I", blob, at + 12)
    digest_size, kind, _, shift = struct.unpack_from(">4B", blob, at + 36)
    assert flags & AD_HOC and kind == 2 and digest_size == 32, "not signed ad hoc with SHA-256"
    page = 1 << shift
    assert limit == start and pages == -(-limit // page), "pages that are not all of the program"
    for i in range(pages):
        found = hashlib.sha256(data[i * page:min((i + 1) * page, limit)]).digest()
        stated = blob[at + hashes + 32 * i:at + hashes + 32 * (i + 1)]
        assert found == stated, "page %d is not what was signed" % i
    return pages


def exports(data):
    """The names that others can see, each with the "_" that C puts before it."""
    for number, command, _ in commands(data):
        if number == SYMTAB:
            start, n, texts, _ = struct.unpack_from("<4I", command, 8)
            for i in range(n):
                name, kind = struct.unpack_from("<IB", data, start + 16 * i)
                if kind & EXTERNAL and kind & KIND != UNDEFINED:
                    yield data[texts + name:data.index(b"\0", texts + name)].decode()


def check(path, ours=None, named=None):
    """`ours`: what else it may load, or be as a library; `named`: what it is called."""
    with open(path, "rb") as f:
        data = f.read()
    libraries, minimum, pages, cpu = [], None, None, None
    for number, command, cpu in commands(data):
        if number in (LOAD_DYLIB, WEAK_DYLIB):
            name = command[struct.unpack_from("<I", command, 8)[0]:]
            libraries.append(name.split(b"\0")[0].decode())
        elif number in (BUILD_VERSION, VERSION_MIN):
            version = struct.unpack_from("<I", command, 12 if number == BUILD_VERSION else 8)[0]
            minimum = (version >> 16, version >> 8 & 255)
        elif number == CODE_SIGNATURE:
            pages = check_signature(data, *struct.unpack_from("<2I", command, 8))
    libraries = [name for name in libraries if not ours or not ours.fullmatch(name)]
    assert libraries == [SYSTEM], "loads %s" % libraries
    assert minimum and minimum <= (11, 0), "asks for macOS %s" % (minimum,)
    assert pages or cpu != ARM64, "is not signed, which arm64 asks for"
    print("%s: macOS %d.%d, %s" % (named or path, *minimum, "%d pages signed" % pages if pages else "not signed"))


if __name__ == "__main__":
    if len(sys.argv) < 2:
        sys.exit("macho.py: which files?")
    for name in sys.argv[1:]:
        try:
            check(name)
        except (AssertionError, struct.error) as e:
            sys.exit("%s: %s" % (name, e))
