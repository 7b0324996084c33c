# SPDX-License-Identifier: MIT
"""How far a quantized language model is from its reference: KL divergence, token by token.

Each passage of the test text is one context of 512 tokens; the 384 predictions of its end are
scored. The reference's log-probabilities are kept as 16-bit floats, normalized again when read,
which adds less than 1e-5 to a divergence. Results are kept by the digest of the weights, so that
nothing is measured twice, and grow with the number of passages asked for.
"""
import hashlib
import json
import os
import struct

import numpy as np

from llama_runtime import Model

TOKENS, FIRST = 512, 127
SCORED = TOKENS - FIRST - 1
SIZES = {0: 1, 1: 1, 2: 2, 3: 2, 4: 4, 5: 4, 6: 4, 7: 1, 10: 8, 11: 8, 12: 8}   # of GGUF's numbers
STRING, ARRAY, ALIGNMENT = 8, 9, 32
FIELDS = ("kl", "top", "own", "reference")  # divergence, same top token, log-probabilities of the text


def number(f, form):
    return struct.unpack(form, f.read(struct.calcsize(form)))[0]


def skip_value(f, kind):
    """Of a key of GGUF."""
    if kind == STRING:
        f.seek(number(f, "<Q"), os.SEEK_CUR)
    elif kind == ARRAY:
        kind, n = number(f, "<I"), number(f, "<Q")
        if kind in SIZES:
            f.seek(n * SIZES[kind], os.SEEK_CUR)
        else:
            for _ in range(n):
                skip_value(f, kind)
    else:
        f.seek(SIZES[kind], os.SEEK_CUR)


def digest(path):
    """Of the tensors of a GGUF file, whatever its keys say: results stay those of a file whose weights
    are the same."""
    with open(path, "rb") as f:
        if f.read(4) != b"GGUF":
            raise SystemExit(f"{path}: not a GGUF file")
        f.seek(4, os.SEEK_CUR)
        n_tensors, n_keys = number(f, "<Q"), number(f, "<Q")
        for _ in range(n_keys):
            skip_value(f, STRING)
            skip_value(f, number(f, "<I"))
        begin = f.tell()
        for _ in range(n_tensors):
            skip_value(f, STRING)
            f.seek(8 * number(f, "<I") + 12, os.SEEK_CUR)
        end = f.tell()
        f.seek(begin)
        sums = hashlib.sha256(f.read(end - begin))
        f.seek(-end % ALIGNMENT, os.SEEK_CUR)
        while part := f.read(1 << 22):
            sums.update(part)
    return sums.hexdigest()[:32]


def log_softmax(row):
    row = row.astype(np.float32)
    row -= row.max()
    return row - np.log(np.exp(row).sum(dtype=np.float64)).astype(np.float32)


def compare(log_p, logits, token):
    """FIELDS of one prediction."""
    log_p, log_q = log_softmax(log_p), log_softmax(logits)
    return (np.dot(np.exp(log_p), log_p - log_q), log_p.argmax() == log_q.argmax(), log_q[token],
            log_p[token])


class Judge:
    """Compares files with one reference."""

    def __init__(self, work, reference, passages="test.json"):
        with open(os.path.join(work, passages), encoding="utf-8") as f:
            self.texts = json.load(f)
        self.path, self.model = reference, None
        self.kept = os.path.join(work, "reference", digest(reference))
        self.results = os.path.join(work, "measured")
        os.makedirs(self.kept, exist_ok=True)
        os.makedirs(self.results, exist_ok=True)

    def reference(self, i):
        """Tokens and log-probabilities of passage i."""
        path = os.path.join(self.kept, f"{i}.npz")
        if not os.path.exists(path):
            self.model = self.model or Model(self.path, TOKENS)
            tokens = self.model.tokens(self.texts[i])[:TOKENS]
            if len(tokens) < TOKENS:
                raise SystemExit(f"passage {i} has {len(tokens)} tokens only")
            log_p = np.stack([log_softmax(row).astype(np.float16)
                              for row in self.model.logits(tokens, FIRST)[:-1]])
            part = f"{path}.{os.getpid()}.npz"
            np.savez(part, tokens=np.array(tokens), log_p=log_p)
            os.replace(part, path)
        kept = np.load(path)
        return kept["tokens"].tolist(), kept["log_p"]

    def measure(self, key, path, passages):
        """Arrays of FIELDS, (passages, SCORED), of the file that path() returns; it is asked only
        if what is kept under the key does not reach."""
        kept = os.path.join(self.results, f"{os.path.basename(self.kept)[:8]}-{key}.npz")
        rows = {field: [] for field in FIELDS}
        if os.path.exists(kept):
            rows = {field: list(values) for field, values in np.load(kept).items()}
        model = None
        for i in range(len(rows["kl"]), passages):
            tokens, log_p = self.reference(i)
            model = model or Model(path(), TOKENS)
            got = zip(*map(compare, log_p, model.logits(tokens, FIRST), tokens[FIRST + 1:]))
            for field, values in zip(FIELDS, got):
                rows[field].append(values)
            part = f"{kept}.{os.getpid()}.npz"
            np.savez(part, **{field: np.array(values) for field, values in rows.items()})
            os.replace(part, kept)
        if model:
            model.close()
        return {field: np.array(values[:passages]) for field, values in rows.items()}

    def result(self, key, path, passages):
        return summary(self.measure(key, path, passages))

    def line(self, result):
        return f"KL {result['kl']:.4f} +- {result['kl_error']:.4f}, {result['passages']} passages"


def error(per_passage):
    """Standard error of a mean over passages, which are independent of each other, as tokens are not."""
    return float(np.std(per_passage, ddof=1) / np.sqrt(len(per_passage)))


def summary(rows):
    """Figures with standard errors, and the means of passages, from which pairs can be compared."""
    kl, ratio = rows["kl"].mean(1), (rows["reference"] - rows["own"]).mean(1)
    tails = [np.quantile(np.delete(rows["kl"], i, 0), 0.99) for i in range(len(kl))]  # jackknife
    return {"passages": len(kl), "tokens": int(rows["kl"].size),
            "kl": float(kl.mean()), "kl_error": error(kl),
            "kl_99": float(np.quantile(rows["kl"], 0.99)),
            "kl_99_error": float(np.std(tails) * np.sqrt(len(tails) - 1)),
            "perplexity_ratio": float(np.exp(ratio.mean())),
            "perplexity_ratio_error": float(np.exp(ratio.mean()) * error(ratio)),
            "same_top": float(rows["top"].mean()), "same_top_error": error(rows["top"].mean(1)),
            "perplexity": float(np.exp(-rows["reference"].mean())),
            "kl_by_passage": [float(f"{x:.5g}") for x in kl]}
