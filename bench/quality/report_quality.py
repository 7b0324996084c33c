#!/usr/bin/env python3
# SPDX-License-Identifier: MIT
"""report_quality.py [WORK]: docs/QUALITY.md and its plots, from the results of run_quality.py.

Gathers WORK/results into results.json beside this file, or, without WORK, takes what is there. The
words are in quality_words.md; each line {{TABLE ...}} of it is replaced by a table, and stays out together
with its section where nothing was measured for it.
"""
import json
import math
import os
import re
import sys

import matplotlib

matplotlib.use("svg")
import matplotlib.pyplot as plt
import matplotlib.ticker

from experiments import LOSSY_BITS, MIXES, OTHERS

HERE = os.path.dirname(os.path.abspath(__file__))
DOCS = os.path.join(HERE, "../../docs")
RESULTS = os.path.join(HERE, "results.json")
FEWEST = 8      # passages: a result of fewer was a trial
SERIES = (("", "", "#9a3b26", "mixes"), ("", " best", "#d08a5b", "mixes, --quality best"),
          ("fit ", "", "#1f5f8b", "--target-size"),
          ("fit ", " best", "#6ba5c9", "--target-size, --quality best"))


def newer(kept, found):
    """A result of WORK in place of one that is kept, unless that is of the same file and more text."""
    if not kept or kept["digest"] != found["digest"]:
        return found
    ways = {way: max((r[way] for r in (kept, found) if way in r), key=lambda r: r.get("passages", 0))
            for way in ("as is", "decoded") if way in kept or way in found}
    return {**found, **ways}


def gather(work):
    """Adds the results of WORK to those that are kept; one result a line, so that changes can be read."""
    with open(RESULTS, encoding="utf-8") as f:
        found = json.load(f)
    folder = os.path.join(work, "results")
    for model in sorted(os.listdir(folder)):
        for file in sorted(os.listdir(os.path.join(folder, model))):
            files, name = found.setdefault(model, {}), file.removesuffix(".json")
            with open(os.path.join(folder, model, file), encoding="utf-8") as f:
                files[name] = newer(files.get(name), json.load(f))
    with open(RESULTS, "w", encoding="utf-8") as f:
        lines = [f'"{model}": {{\n' + ",\n".join(
            f"{json.dumps(name)}: {json.dumps(files[name])}" for name in sorted(files)) + "\n}"
            for model, files in sorted(found.items())]
        f.write("{" + ",\n".join(lines) + "}\n")


def significant(x, error):
    """A figure with as many digits as its error allows, and the error."""
    digits = min(6, max(0, 1 - math.floor(math.log10(error)))) if error > 0 else 4
    return f"{x:.{digits}f} ± {error:.{digits}f}"


def ratio(a, b, most=None):
    """Quotient of two mean divergences over the same passages, at most so many, and its standard error."""
    pairs = list(zip(a["kl_by_passage"], b["kl_by_passage"]))[:most]
    quotient = sum(x for x, _ in pairs) / sum(y for _, y in pairs)
    mean = sum(y for _, y in pairs) / len(pairs)
    variance = sum((x - quotient * y) ** 2 for x, y in pairs) / (len(pairs) - 1)
    return quotient, math.sqrt(variance / len(pairs)) / mean


def quotient(a, b, most=None):
    return significant(*ratio(a, b, most))


def table(head, rows):
    if not rows:
        return None
    return "\n".join("| " + " | ".join(row) + " |" for row in [head, ["---"] * len(head), *rows])


class Report:
    def __init__(self, results):
        self.results = results

    def get(self, model, name, way="as is"):
        found = self.results.get(model, {}).get(name, {}).get(way)
        return found if found and found.get("passages", FEWEST) >= FEWEST else None

    def row(self, model, name, label):
        r = self.get(model, name)
        if not r:
            return None
        decoded = self.get(model, name, "decoded")
        return [label, f"{self.results[model][name]['bytes']:,}", f"{r['tokens']:,}",
                significant(r["kl"], r["kl_error"]),
                significant(decoded["kl"], decoded["kl_error"]) if decoded else "",
                f"{r['kl_99']:.3f}", f"{r['perplexity_ratio']:.4f}", f"{100 * r['same_top']:.1f} %"]

    HEAD = ["file", "bytes", "tokens", "KL", "KL, weights alone", "KL, 99 %", "perplexity ratio", "same top token"]

    def fixed(self, model, suffix=""):
        """Fixed mixes."""
        rows = [self.row(model, mix + suffix, mix) for mix in (*MIXES, *OTHERS)]
        rows = sorted((r for r in rows if r), key=lambda r: int(r[1].replace(",", "")))
        return table(self.HEAD, rows)

    def fitted(self, model, suffix=""):
        """Files of --target-size at the sizes of the fixed mixes, beside these."""
        rows = []
        for mix in MIXES:
            row = self.row(model, f"fit {mix}{suffix}", mix)
            fixed, kind = self.get(model, mix + suffix.replace(" sensitivity", "")), f"fit {mix}{suffix}"
            if not row or not fixed:
                continue
            alone = [self.get(model, name, "decoded") for name in (kind, mix + suffix)]
            row.insert(4, quotient(self.get(model, kind), fixed))
            row.insert(6, quotient(*alone) if all(alone) else "")
            rows.append(row)
        head = ["the size of", *self.HEAD[1:]]
        head.insert(4, "of the mix's")
        head.insert(6, "of the mix's")
        return table(head, rows)

    LOSSY = [*(f"{bits} bits" for bits in LOSSY_BITS), *MIXES]

    def lossy(self, model):
        """Lossy .wcodec files beside the mixes of their sizes and the files fitted to these, all decoded."""
        rows = []
        for mix in self.LOSSY:
            r = self.get(model, f"lossy {mix}", "decoded")
            if not r:
                continue
            others = [self.get(model, name, "decoded") for name in (mix, f"fit {mix}")]
            rows.append([mix, f"{self.results[model][f'lossy {mix}']['bytes']:,}", f"{r['tokens']:,}",
                         significant(r["kl"], r["kl_error"]),
                         *(quotient(r, other) if other else "" for other in others),
                         f"{r['kl_99']:.3f}", f"{r['perplexity_ratio']:.4f}",
                         f"{100 * r['same_top']:.1f} %"])
        return table(["the size of", "bytes", "tokens", "KL, weights alone", "of the mix's",
                      "of --target-size's", *self.HEAD[-3:]], rows)

    def saved(self, model):
        """Bits that lossy files save: their size at the KL of a fitted GGUF, decoded both, by a line through
        the logarithms of the two lossy files around it."""
        curve = sorted((self.results[model][name]["bytes"], r) for mix in self.LOSSY
                       if (r := self.get(model, name := f"lossy {mix}", "decoded")))
        rows = []
        for mix in MIXES:
            fit = self.get(model, f"fit {mix}", "decoded")
            for (small, a), (large, b) in zip(curve, curve[1:]) if fit else ():
                n = min(r["passages"] for r in (fit, a, b))     # the same text for all
                loss, high, low = (math.log(sum(r["kl_by_passage"][:n])) for r in (fit, a, b))
                if low <= loss <= high:
                    size = small + (large - small) * (high - loss) / (high - low)
                    whole = self.results[model][f"fit {mix}"]["bytes"]
                    rows.append([mix, f"{whole:,}", f"{math.exp(loss) / n:.4f}", f"{size:,.0f}",
                                 f"{100 * (1 - size / whole):.1f} %"])
        return table(["GGUF fitted to the size of", "bytes", "KL, weights alone", "lossy, the same KL",
                      "saved"], rows)

    def methods(self, model):
        """Files by the rules of choose_types.py and --target-size, as fractions of the mixes: the first two over the
        same text, by curvature over as much as was measured."""
        rows = []
        for mix in MIXES:
            fixed, *some, curved = [self.get(model, prefix + mix)
                                    for prefix in ("", "by rows ", "fit ", "by curvature ")]
            if not fixed or not all(some):
                continue
            a_passage = fixed["tokens"] // fixed["passages"]
            n = min(r["passages"] for r in (fixed, *some))
            row = [mix, f"{n * a_passage:,}", *(quotient(r, fixed, n) for r in some), "", ""]
            if curved:
                n = min(fixed["passages"], curved["passages"])
                row[4:] = [quotient(curved, fixed, n), f"{n * a_passage:,}"]
            rows.append(row)
        return table(["the size of", "tokens", "by rows", "--target-size", "by curvature", "tokens of that"],
                     rows)

    def better(self, model):
        """--quality best beside the default encoders: KL as a fraction, in both ways to run a file."""
        rows = []
        for prefix in ("", "fit "):
            for mix in MIXES:
                pair = [self.get(model, prefix + mix + suffix) for suffix in (" best", "")]
                if not all(pair):
                    continue
                alone = [self.get(model, prefix + mix + s, "decoded") for s in (" best", "")]
                n = min(r["passages"] for r in pair)     # the same text for both
                best, plain = (f"{sum(r['kl_by_passage'][:n]) / n:.4f}" for r in pair)
                rows.append([("fitted to the size of " if prefix else "") + mix, plain, best,
                             quotient(*pair),
                             quotient(*alone) if all(alone) else ""])
        return table(["file", "KL, default", "KL, best", "ratio", "ratio, weights alone"], rows)

    def embeddings(self, model):
        """Cosines and order of embeddings, by size."""
        rows = []
        for name in self.results.get(model, {}):
            r = self.get(model, name)
            label = name.replace("fit ", "fitted to the size of ")
            rows.append([label, f"{self.results[model][name]['bytes']:,}", f"{r['cosine']:.5f}",
                         f"{r['cosine_worst']:.4f}", f"{r['rank_correlation']:.5f}"])
        rows.sort(key=lambda r: int(r[1].replace(",", "")))
        return table(["file", "bytes", "cosine, mean", "cosine, worst", "rank correlation"], rows)

    def facts(self, model):
        """What the figures of a model come from."""
        some = [r for name in self.results.get(model, {}) if (r := self.get(model, name))]
        if not some:
            return None
        least, most = (f"{pick(r['tokens'] for r in some):,}" for pick in (min, max))
        longest = max(some, key=lambda r: r["tokens"])
        return (f"{least if least == most else f'{least} to {most}'} tokens were predicted; the original's "
                f"perplexity is {longest['perplexity']:.1f}{'' if least == most else f' on the {most}'}.")

    def same(self, model):
        """What is left of a model's divergence where there should be none."""
        r = self.get(model, "unquantized")
        return f"{r['kl']:.0e}" if r else None

    def plot(self, model, file):
        """KL against size: fixed mixes, and files fitted to their sizes."""
        figure, axes = plt.subplots(figsize=(7.5, 4.6), layout="constrained")
        for prefix, suffix, colour, label in SERIES:
            found = sorted((self.results[model][name]["bytes"] / 1e6, r["kl"], mix)
                           for mix in (*MIXES, *OTHERS)
                           if (r := self.get(model, name := prefix + mix + suffix)))
            if not found:
                continue
            sizes, losses, mixes = zip(*found)
            axes.plot(sizes, losses, "s-" if suffix else "o-", color=colour, label=label,
                      markersize=4.5, linewidth=1.2)
            if not prefix + suffix:
                for x, y, mix, following in zip(sizes, losses, mixes, (*losses[1:], 0)):
                    axes.annotate(mix, (x, y), textcoords="offset points", fontsize=7.5, color=colour,
                                  **({"xytext": (-6, -3), "ha": "right"} if following > y else
                                     {"xytext": (5, 4)}))
        drawn = bool(axes.lines)
        if drawn:
            axes.set_yscale("log")
            axes.yaxis.set_major_locator(matplotlib.ticker.LogLocator(subs=(1, 2, 5)))
            axes.yaxis.set_major_formatter("{x:g}")
            axes.yaxis.set_minor_formatter(matplotlib.ticker.NullFormatter())
            axes.margins(x=0.13)
            axes.set_xlabel("size of the file in MB")
            axes.set_ylabel("mean KL divergence (nats)")
            axes.grid(True, which="both", linewidth=0.3, color="#cccccc")
            axes.legend(frameon=False, fontsize=8)
            figure.savefig(os.path.join(DOCS, file), metadata={"Date": None})
        plt.close(figure)
        return f"![KL divergence against size]({file})" if drawn else None


def fill(text, report):
    """The document: sections whose placeholders came out empty are left out."""
    sections = re.split(r"(?m)^(?=## )", text)
    out = []
    for section in sections:
        empty = filled = 0

        def put(match):
            nonlocal empty, filled
            words = match[1].split("|")
            got = getattr(report, words[0])(*words[1:])
            empty, filled = empty + (not got), filled + bool(got)
            return got or ""

        done = re.sub(r"\{\{(.+?)\}\}", put, section)
        if filled or not empty:
            out.append(re.sub(r"\n{3,}", "\n\n", done))
    return "".join(out)


def main():
    matplotlib.rcParams.update({"svg.hashsalt": "tare", "svg.fonttype": "none", "font.family": "sans-serif"})
    if len(sys.argv) > 1:
        gather(sys.argv[1])
    with open(RESULTS, encoding="utf-8") as f:
        report = Report(json.load(f))
    with open(os.path.join(HERE, "quality_words.md"), encoding="utf-8") as f:
        text = fill(f.read(), report)
    with open(os.path.join(DOCS, "QUALITY.md"), "w", encoding="utf-8") as f:
        f.write(text)


if __name__ == "__main__":
    main()
