# SPDX-License-Identifier: MIT
"""What is measured: models, and the files that are made of each."""

MIXES = ("Q2_K", "IQ3_S", "Q3_K_M", "IQ4_XS", "Q4_K_M", "Q5_K_M")
OTHERS = ("IQ3_XXS", "Q6_K", "Q8_0")        # for the curve of fixed mixes
LOSSY_BITS = (2.5, 3)                       # a weight: lossy files smaller than any mix
RULES = ("rows", "curvature")               # to compare with, of choose_types.py
MODELS = {
    "tied": "SmolLM2-135M-Instruct without its grid, embedding and output matrix in one tensor",
    "untied": "the same with an output matrix of its own",
    "experts": "the same with feed-forward networks in two experts, all used for every token",
    "routed": "the untied one with feed-forward networks in four experts, of which a router picks three",
    "neox": "a GPT-NeoX of 6 M weights, trained for this",
    "minilm": "all-MiniLM-L6-v2, which makes embeddings",
}
# Computes the same, so takes the reference from there.
TWIN = {"untied": "tied", "experts": "tied"}
# Also from the same inputs of its layers: so takes the importance matrix, too.
SAME_INPUTS = {"untied": "tied"}


def files(work, model):
    """(name, verb and options of tare) of what is measured of a model. Options that are functions are
    asked when a file is made; without a verb, it is the model as it was before it became the
    reference."""
    if model == "tied" or model in TWIN:
        yield "unquantized", None
    matrix = ["--imatrix", lambda: work.matrix(model)]
    best = ["--quality", "best"]
    for mix in MIXES:
        yield mix, ["quantize", mix, *matrix]
        yield f"{mix} best", ["quantize", mix, *matrix, *best]
        yield f"{mix} plain", ["quantize", mix]
    for mix in OTHERS:
        yield mix, ["quantize", mix, *matrix]
    for mix in MIXES:
        size = ["--target-size", lambda mix=mix: str(work.size(model, mix))]
        yield f"fit {mix}", ["quantize", *size, *matrix]
        yield f"fit {mix} best", ["quantize", *size, *matrix, *best]
        yield f"fit {mix} plain", ["quantize", *size]
        yield f"fit {mix} sensitivity", ["quantize", *size, *matrix, "--sensitivity",
                                         lambda: work.sensitivity(model)]
        for rule in RULES:
            yield f"by {rule} {mix}", ["quantize", *matrix, "--tensor-type-file",
                                       lambda mix=mix, rule=rule: work.recipe(model, mix, rule)]
        yield f"lossy {mix}", ["pack", "--lossy", *size, *matrix]
    for bits in LOSSY_BITS:
        yield f"lossy {bits} bits", ["pack", "--lossy", "--target-bpw", str(bits), *matrix]
