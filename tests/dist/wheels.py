#!/usr/bin/env python3
# SPDX-License-Identifier: MIT
"""wheels.py WHEEL...: what can be known of wheels for systems that are not here: their tags, records and
licence texts; that their programs are for the processor and the system of the tag, load what is there
and nothing else, ask for no newer system, export what they should, and tell nothing of the machine they
were made on. Run with the packages of scripts/venv wheel."""
import base64
import csv
import hashlib
import io
import os
import re
import sys
import sysconfig
import tempfile
import zipfile

import macho
import pefile
from elftools.elf.dynamic import DynamicSection
from elftools.elf.elffile import ELFFile
from elftools.elf.gnuversions import GNUVerNeedSection

MOST_BYTES = 3 << 20
TOP = os.path.realpath(os.path.join(os.path.dirname(__file__), "../.."))
LICENCES = {"tare", "libdeflate", "zstd", "pcre2", "zig"}
# The C library on each system, by its tag, and its processor as its programs say it.
GLIBC = re.compile(r"lib(c|m|dl|rt|pthread)\.so\.\d|ld-linux-.*")
MUSL = re.compile(r"libc\.so")
UCRT = re.compile(r"(api-ms-win-crt-.*|kernel32|bcrypt|crypt32|shlwapi|winhttp|shell32|advapi32|msvcrt|ntdll|ucrtbase|"
                  r"python3)\.dll", re.IGNORECASE)
ELF = {"x86_64": "EM_X86_64", "aarch64": "EM_AARCH64"}
PE = {"win_amd64": 0x8664, "win_arm64": 0xAA64}
MACHO = {"x86_64": 0x01000007, "arm64": macho.ARM64}


def check_record(archive, info):
    """Every file is in the record with its digest, and the record has no other."""
    rows = list(csv.reader(io.StringIO(archive.read(info + "RECORD").decode())))
    names = [entry.filename for entry in archive.infolist() if not entry.is_dir()]
    assert sorted(row[0] for row in rows) == sorted(names), "RECORD lists other files"
    for name, digest, size in rows:
        if name == info + "RECORD":
            continue
        data = archive.read(name)
        found = base64.urlsafe_b64encode(hashlib.sha256(data).digest()).rstrip(b"=").decode()
        assert digest == "sha256=" + found and int(size) == len(data), f"RECORD is wrong about {name}"


def check_texts(archive, info, platform):
    """The tag, and a licence text for all that is inside."""
    fields = [line.split(": ", 1) for line in archive.read(info + "METADATA").decode().split("\n\n")[0].split("\n")
              if ": " in line]
    stated = {value for name, value in fields if name == "License-File"}
    there = {name[len(info + "licenses/"):] for name in archive.namelist()
             if name.startswith(info + "licenses/") and not name.endswith("/")}
    assert stated == there, f"licences {stated ^ there}"
    texts = {os.path.splitext(os.path.basename(name))[0] for name in there}
    wanted = LICENCES - {"tare"} | {"LICENSE"}
    if platform.startswith("win"):
        wanted.add("mingw-w64")
    assert wanted <= texts, f"no licence of {wanted - texts}"
    assert {"openssl", "7zip-sha256"} & texts, "no licence of who computes SHA-256"
    wheel = archive.read(info + "WHEEL").decode()
    assert f"Tag: cp311-abi3-{platform}" in wheel and "Root-Is-Purelib: false" in wheel, wheel
    if platform.startswith("win"):
        assert "tare = tare.__main__:main" in archive.read(info + "entry_points.txt").decode(), "no script"


def elf(path, data, platform):
    """What an ELF file loads, and exports."""
    file = ELFFile(io.BytesIO(data))
    processor = "aarch64" if platform.endswith("aarch64") else "x86_64"
    assert file["e_machine"] == ELF[processor], file["e_machine"]
    loads = [tag.needed for section in file.iter_sections() if isinstance(section, DynamicSection)
             for tag in section.iter_tags("DT_NEEDED")]
    for section in file.iter_sections():
        if isinstance(section, GNUVerNeedSection):
            versions = [tuple(map(int, aux.name[6:].split("."))) for _, auxs in section.iter_versions() for aux in auxs
                        if re.fullmatch(r"GLIBC_[0-9.]+", aux.name)]
            assert max(versions, default=(0,)) <= (2, 28), f"asks for glibc {max(versions)}"
    system = MUSL if platform.startswith("musl") else GLIBC
    others = [name for name in loads if not system.fullmatch(name) and not name.startswith("libtare-")]
    assert not others, f"loads {others}"
    table = file.get_section_by_name(".dynsym")
    return {symbol.name for symbol in table.iter_symbols()
            if symbol["st_shndx"] != "SHN_UNDEF" and symbol["st_info"]["bind"] != "STB_LOCAL"}


def mach(path, data, platform):
    """The same of Mach-O, whose signature is checked, too."""
    with tempfile.NamedTemporaryFile() as copy:
        copy.write(data)
        copy.flush()
        macho.check(copy.name, ours=re.compile(r"@rpath/libtare-[0-9.]+\.dylib"), named=path)
    cpu, = {cpu for _, _, cpu in macho.commands(data)}
    assert cpu == MACHO["arm64" if platform.endswith("arm64") else "x86_64"], hex(cpu)
    return {name[1:] for name in macho.exports(data)} - {"_mh_dylib_header", "__dso_handle"}  # zig's own


def pe(path, data, platform):
    """The same of a program or a library for Windows."""
    file = pefile.PE(data=data)
    assert file.FILE_HEADER.Machine == PE[platform], hex(file.FILE_HEADER.Machine)
    loads = [entry.dll.decode() for entry in file.DIRECTORY_ENTRY_IMPORT]
    others = [name for name in loads if not UCRT.fullmatch(name) and not re.fullmatch(r"libtare-[0-9.]+\.dll", name)]
    assert not others, f"loads {others}"
    if path.endswith(".pyd"):
        assert "python3.dll" in [name.lower() for name in loads], f"loads {loads}: no Python"
    exported = getattr(file, "DIRECTORY_ENTRY_EXPORT", None)
    return {symbol.name.decode() for symbol in exported.symbols if symbol.name} if exported else set()


def check_programs(archive, platform):
    """Each is one of its system; the extension has Python's name and the library ours, and neither any other."""
    kinds = {b"\x7fELF": elf, b"\xcf\xfa\xed\xfe": mach, b"MZ\x90\x00": pe, b"MZx\x00": pe}
    wanted = {"win": pe, "mac": mach}.get(platform[:3], elf)
    found = []
    for name in archive.namelist():
        data = archive.read(name)
        kind = kinds.get(data[:4])
        if not kind:
            continue
        assert kind is wanted, f"{name} is of another system"
        names = kind(name, data, platform)
        if "/_core." in name:
            assert names == {"PyInit__core"}, f"{name} exports {sorted(names)[:5]}"
        elif "/libtare-" in name:
            assert "tare_version" in names, f"{name} does not export tare_version"
            assert not [n for n in names if not n.startswith("tare_")], f"{name} exports {sorted(names)[:5]}"
        found.append(os.path.basename(name))
        for place in (TOP, os.path.expanduser("~/"), sysconfig.get_path("stdlib")):
            assert len(place) < 4 or place.encode() not in data, f"{name} knows {place}"
    assert len(found) == 3, f"programs: {found}"
    return found


def check(path):
    stem, python, abi, platform = os.path.basename(path).removesuffix(".whl").rsplit("-", 3)
    assert (python, abi) == ("cp311", "abi3"), "is for one Python"
    info = stem + ".dist-info/"
    size = os.path.getsize(path)
    assert size <= MOST_BYTES, f"{size} bytes"
    with zipfile.ZipFile(path) as archive:
        assert archive.testzip() is None
        check_record(archive, info)
        check_texts(archive, info, platform)
        found = check_programs(archive, platform)
    print(f"{os.path.basename(path)}: {size} bytes, {', '.join(found)}")


if __name__ == "__main__":
    if len(sys.argv) < 2:
        sys.exit("wheels.py: which wheels?")
    failed = 0
    for name in sys.argv[1:]:
        try:
            check(name)
        except AssertionError as e:
            failed += 1
            print(f"{os.path.basename(name)}: {e}")
    sys.exit(failed > 0)
