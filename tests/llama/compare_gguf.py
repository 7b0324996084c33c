#!/usr/bin/env python3
# SPDX-License-Identifier: MIT
"""What differs between two GGUF files: keys with types, values and order; tensors with types, shapes,
order and bytes."""
import sys

from gguf import GGUFReader


def contents(path):
    r = GGUFReader(path)
    keys = [(f.name, [t.name for t in f.types], f.contents())
            for f in r.fields.values() if not f.name.startswith("GGUF.")]
    tensors = [(t.name, t.tensor_type.name, [int(n) for n in t.shape], t.data.tobytes())
               for t in r.tensors]
    return keys, tensors


def differences(a_path, b_path, ignored=()):
    found = []
    a_keys, a_tensors = contents(a_path)
    b_keys, b_tensors = contents(b_path)
    a_keys = [k for k in a_keys if k[0] not in ignored]
    b_keys = [k for k in b_keys if k[0] not in ignored]
    for what, a_list, b_list in (("key", a_keys, b_keys), ("tensor", a_tensors, b_tensors)):
        a, b = {x[0]: x for x in a_list}, {x[0]: x for x in b_list}
        for name in a:
            if name not in b:
                found.append(f"{what} {name}: only in the first: {str(a[name][1:3])[:100]}")
        for name in b:
            if name not in a:
                found.append(f"{what} {name}: only in the second: {str(b[name][1:3])[:100]}")
        for name in a:
            if name in b and a[name][1:3] != b[name][1:3]:
                found.append(f"{what} {name}: {str(a[name][1:3])[:100]} and {str(b[name][1:3])[:100]}")
            elif name in b and a[name] != b[name]:
                found.append(f"{what} {name}: other bytes")
        if [x[0] for x in a_list] != [x[0] for x in b_list] and not found:
            found.append(f"{what}s in another order:\n  {[x[0] for x in a_list]}\n  {[x[0] for x in b_list]}")
    return found


if __name__ == "__main__":
    lines = differences(sys.argv[1], sys.argv[2])
    print("\n".join(lines))
    sys.exit(bool(lines))
