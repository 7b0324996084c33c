# SPDX-License-Identifier: MIT
"""How far the sentence embeddings of a quantized model are from its reference's.

The cosine between both embeddings of a text, and Spearman's rank correlation between the
similarities of all pairs of texts: the order in which a search would list them.
"""
import json
import os

import numpy as np

from divergence import digest
from llama_runtime import Model

TEXTS = 300
CHARACTERS = 400    # of a passage: a paragraph, about a hundred tokens


def ranks(x):
    order = np.empty(len(x))
    order[np.argsort(x, kind="stable")] = np.arange(len(x))
    return order


class Judge:
    """Compares files with one reference."""

    def __init__(self, work, reference, passages="test.json"):
        with open(os.path.join(work, passages), encoding="utf-8") as f:
            self.texts = [passage[:CHARACTERS] for passage in json.load(f)[:TEXTS]]
        self.kept = os.path.join(work, "measured")
        os.makedirs(self.kept, exist_ok=True)
        self.reference = self.embed(digest(reference), lambda: reference)

    def embed(self, key, path):
        kept = os.path.join(self.kept, f"embeddings-{key}.npy")
        if not os.path.exists(kept):
            model = Model(path(), 256, embeddings=True)
            np.save(kept, np.array([model.embedding(text) for text in self.texts]))
            model.close()
        return np.load(kept)

    def result(self, key, path, passages):
        vectors = self.embed(key, path)
        cosines = (self.reference * vectors).sum(1)
        pairs = np.triu_indices(len(vectors), 1)
        orders = [ranks((v @ v.T)[pairs]) for v in (self.reference, vectors)]
        return {"texts": len(vectors), "cosine": float(cosines.mean()),
                "cosine_error": float(cosines.std(ddof=1) / np.sqrt(len(cosines))),
                "cosine_worst": float(cosines.min()),
                "rank_correlation": float(np.corrcoef(*orders)[0, 1])}

    def line(self, result):
        return f"cosine {result['cosine']:.5f}, rank correlation {result['rank_correlation']:.5f}"
