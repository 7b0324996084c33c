#!/usr/bin/env python3
# SPDX-License-Identifier: MIT
"""Importance of 0 says that nothing was seen, not that nothing matters: a warning where the bytes are llama.cpp's, and living weights
everywhere else. `unseen_importance.py TARE FOLDER`"""
import sys

from side_parts import Program, floats, np
from gguf import GGUFWriter

NAMES = ["blk.0.attn_q.weight", "blk.0.ffn_gate_exps.weight", "blk.0.ffn_down.weight"]


def write(path, tensors, kind=None):
    w = GGUFWriter(path, kind or "llama")
    if kind == "imatrix":
        w.add_string("general.type", "imatrix")
    w.add_uint32("llama.block_count", 1)
    for name, x in tensors.items():
        w.add_tensor(name, np.ascontiguousarray(x, np.float32))
    w.write_header_to_file()
    w.write_kv_data_to_file()
    w.write_tensors_to_file()
    w.close()


def main():
    p = Program()
    rng = np.random.default_rng(2)
    weights = {NAMES[0]: rng.standard_normal((64, 256)), NAMES[1]: rng.standard_normal((4, 32, 256)), NAMES[2]: rng.standard_normal((64, 256))}
    write(p.path("in.gguf"), weights)
    seen = {n: np.ones((x.shape[0] if x.ndim == 3 else 1, 256)) for n, x in weights.items()}

    def matrix(least=0, **zeros):
        values = {n: v.copy() for n, v in seen.items()}
        for name, (rows, cols) in zeros.items():
            values[{"q": NAMES[0], "gate": NAMES[1], "down": NAMES[2]}[name]][rows, cols] = least
        write(p.path("im.gguf"), {n + s: x for n, v in values.items() for s, x in ((".in_sum2", v * 7), (".counts", np.full((len(v), 1), 7)))}, "imatrix")
        return ["--imatrix", p.path("im.gguf")]

    def dead(name):
        return float(np.mean(np.abs(floats(p.path("out.gguf"))[name]).reshape(-1, 32).max(1) == 0))
    all_of = slice(None)
    for zeros, name, share in (({"q": (all_of, all_of)}, NAMES[0], "100 %"), ({"gate": (2, all_of)}, NAMES[1], "25 %"),
                               ({"down": (all_of, slice(64, 96))}, NAMES[2], "12.5 %")):
        for kind in ("Q4_0", "Q5_1", "Q4_K", "Q6_K", "Q3_K", "IQ4_XS"):
            args = ["quantize", p.path("in.gguf"), p.path("out.gguf"), kind if kind[-1] != "K" or kind == "Q6_K" else kind + "_M", "--force", *matrix(**zeros)]
            code, text = p.run(*args)
            told = [line for line in text.splitlines() if "warning" in line and name in line and share in line]
            p.expect(f"{kind}: {name}", code == 0 and len(told) == 1, text)
            p.refused(f"{kind}: {name}, strictly", [name], *args, "--strict", codes=(5,))
            code, text = p.run(*args, "--quality", "best")
            p.expect(f"{kind}: {name}, best", code == 0 and dead(name) == 0 and not any("warning" in x and name in x for x in text.splitlines()), text)
        code, text = p.run("quantize", p.path("in.gguf"), p.path("out.gguf"), "--target-bpw", "4.5", "--force", *matrix(**zeros))
        p.expect(f"a size: {name}", code == 0 and dead(name) == 0, text)
    # Next to nothing, whose squares are 0 in F32.
    for least in (1e-24, 1e-40):
        args = ["quantize", p.path("in.gguf"), p.path("out.gguf"), "IQ3_XXS", "--force", *matrix(least, q=(all_of, all_of))]
        said = [line for line in p.run(*args)[1].splitlines() if "warning" in line and NAMES[0] in line]
        p.expect(f"{least}: told of", len(said) == 1 and "100 %" in said[0], str(said))
        runs = [p.run(*args, "--quality", "best")[0]]
        best = floats(p.path("out.gguf"))[NAMES[0]]
        runs.append(p.run(*args[:-2], *matrix(), "--quality", "best")[0])
        p.expect(f"{least}: as if all counted alike", runs == [0, 0] and np.array_equal(best, floats(p.path("out.gguf"))[NAMES[0]]))
    code, text = p.run("quantize", p.path("in.gguf"), p.path("out.gguf"), "Q4_0", "--force", *matrix(q=(all_of, slice(0, 256, 2))))
    # An expert that no token went to, by its count: as without importance, and told of.
    write(p.path("im.gguf"), {n + x: v for n, s in seen.items() for x, v in
                              ((".in_sum2", s), (".counts", np.where(np.arange(len(s))[:, None] == 2, 0, 7)))}, "imatrix")
    code_1, text_1 = p.run("quantize", p.path("in.gguf"), p.path("out.gguf"), "Q4_0", "--force", "--imatrix", p.path("im.gguf"))
    p.expect("nothing measured", code_1 == 0 and NAMES[1] in text_1 and "for 1 of 4 matrices" in text_1 and NAMES[0] not in text_1.split("unmeasured")[0], text_1)
    p.expect("single columns are no news", code == 0 and "only zeros" not in text, text)
    # Packed with loss: what nobody looked at is no worse than without a matrix, and that is said.
    lossy = ["--lossy", "--target-bpw", "4.5", "--force"]

    def error(*more):
        code, text = p.run("pack", p.path("in.gguf"), p.path("out.wcodec"), *lossy, *more)
        p.expect(f"pack {more}", code == 0, text)
        p.run("convert", p.path("out.wcodec"), p.path("out.gguf"), "--type", "f32", "--force")
        x = weights[NAMES[0]]
        return float(np.sqrt(np.mean((floats(p.path("out.gguf"))[NAMES[0]] - x) ** 2))), "pack.importance-zero" in text
    without, seen_all, unseen = error(), error(*matrix()), error(*matrix(q=(all_of, all_of), gate=(all_of, all_of), down=(all_of, all_of)))
    p.expect(f"with loss: said of zeros only: {without}, {seen_all}, {unseen}", not without[1] and not seen_all[1] and unseen[1])
    p.expect(f"with loss: as without a matrix: {without}, {unseen}", unseen[0] < 1.05 * without[0])
    p.expect("with loss: one expert", error(*matrix(gate=(2, all_of)))[1])
    return p.end("importances")


if __name__ == "__main__":
    sys.exit(main())
