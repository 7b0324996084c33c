# SPDX-License-Identifier: MIT
"""An installed wheel, tried in an environment that has nothing else: the module, the command as a
script and by `python -m tare`, the manual. Run by scripts/wheel."""
import os
import subprocess
import sys
import tempfile
from importlib import metadata

import tare

for other in ("numpy", "torch"):
    assert other not in sys.modules, f"importing tare imports {other}"
bin_dir = os.path.dirname(sys.executable)
command = os.path.join(bin_dir, "tare")
assert tare.__file__.startswith(sys.prefix), tare.__file__


def run(*args: str) -> str:
    return subprocess.run(args, check=True, capture_output=True, text=True).stdout


said = [run(command, "--version"), run(sys.executable, "-m", "tare", "--version")]
assert said[0] == said[1] and said[0].split()[1] == tare.version, said
assert os.path.isfile(os.path.join(sys.prefix, "share/man/man1/tare.1"))
package = os.path.dirname(tare.__file__)
assert [name.startswith("libtare-") for name in os.listdir(package) if ".so" in name].count(True) == 1
assert os.path.getsize(command) < 1 << 20, "the command contains the library"
licences = metadata.files("libtare") or []
for library in ("libdeflate", "zstd", "openssl", "pcre2"):
    assert any(file.name == library + ".txt" for file in licences), library
with tempfile.TemporaryDirectory() as folder:
    os.chdir(folder)
    run(command, "synth", "llama-tiny", "m.gguf", "--type", "q8_0", "--quiet")
    run(command, "pack", "m.gguf", "m.wcodec", "--quiet")
    with tare.open("m.gguf") as plain, tare.open("m.wcodec") as packed:
        assert list(plain) == list(packed) and len(plain) == 21
        name = "model.layers.0.self_attn.q_proj.weight"
        assert bytes(plain[name].raw[0]) == bytes(packed[name].raw[0])
    failed = subprocess.run([command, "info", "nothing"], capture_output=True)
    assert failed.returncode == 4, failed
