#!/usr/bin/env python3
# SPDX-License-Identifier: MIT
"""transformers' logits judge both ways. For each class that transformers has and tare maps, a tiny model with random
numbers everywhere (norms, biases, routers) is made, converted and run in llama.cpp, and restored and run in transformers:
the numbers are equal, or a row of NOT_EQUAL says why not. `logits.py TARE FOLDER [NAME...]`; `--sample`: SAMPLE alone;
`--table FILE` writes the table of docs/architectures.md. Run by a Python that has the packages of
python/hosts-requirements.txt; exit 77: one is missing."""
import json
import os
import re
import shutil
import subprocess
import sys
import zlib

from checks import need
from logits_models import GONE, MODELS, SAMPLE, USUAL

NEAR = 2e-3   # of the spread of the numbers: llama.cpp's GELU is a table of F16
FURTHER = {"gemma3n-shared": 6e-3}  # of 22 layers, each with its rounding
EXACT = 2e-4  # the way back is transformers on both sides
MARKS = "<!-- logits: begin -->\n", "<!-- logits: end -->\n"

SILENT = " (and tare says nothing of it)"
ALONE = "transformers has no class for the text model alone"
PUBLISHED = "transformers reads the published names in the class with an encoder only"
# Of which tare says nothing: a model that is too small.
UNSAID = ("chameleon",)
# Why numbers are not equal: (there, back); None: they are.
NOT_EQUAL = {
    "bitnet": ("llama.cpp computes SiLU instead of the square of ReLU", "no way back"),
    "chameleon": ("llama.cpp asks for the whole vocabulary", "no way back"),
    "cohere-norms": ("llama.cpp applies QK norms only in models of 64 layers or more", None),
    "deepseek-v4-gelu": ("llama.cpp computes SiLU", "llama.cpp's file does not say it"),
    "deepseek-v4-whole": ("llama.cpp stops where no layer compresses by 4", None),
    "dots3-note-topk": ("llama.cpp turns halves of the index, transformers neighbours", None),
    "glm5-next-gelu": ("llama.cpp computes SiLU", ALONE),
    "glm5-next-tail": ("llama.cpp computes no numbers for the first tokens", ALONE),
    "hrm-text-gelu": ("llama.cpp computes SiLU", "no way back"),
    "hy_v4": ("llama.cpp turns pairs of a head's numbers where transformers turns halves", None),
    **dict.fromkeys(("minimax-m3", "minimax-m3-wide"), (None, PUBLISHED)),
    **dict.fromkeys(("hrm-text", "hrm-text-cycles", "hrm-text-linear", "paddleocr", "qwen4-exp-ngrams"), (None, "no way back")),
    "phimoe": ("llama.cpp computes its norms and the weights of its experts in another way", None),
    "afmoe-layers": ("llama.cpp leaves positions out in every fourth layer", None),
    "dots1-groups": ("llama.cpp requires as many KV heads as query heads", None),
    "ernie4_5-moe-every-second": ("llama.cpp loads experts for all layers", None),
    "exaone4-wide": ("llama.cpp has heads that together are as wide as the model", None),
    "exaone4-window": ("llama.cpp has windows in models of 64 layers only", None),
    "falcon-h1-attention-bias": ("llama.cpp adds no bias behind attention", None),
    "laguna-window-first": ("llama.cpp rotates as much in all layers where the first has a window", None),
    "llama4-chunks": ("llama.cpp has chunks of 8192 tokens", "llama.cpp's file does not say it"),
    "llama4-layers": ("llama.cpp has experts in every n-th layer", "llama.cpp's file does not say it"),
    "llama-yarn-whole": ("llama.cpp rounds the bounds of YaRN to whole frequencies", "llama.cpp's file does not say it"),
    "olmo3-bases": ("llama.cpp has one base of positions", None),
    **dict.fromkeys(("cohere2-wide", "glm-wide", "nomic-bert-wide"), ("llama.cpp has heads that together are as wide as the model", None)),
    **dict.fromkeys(("embeddinggemma-factor", "gemma3-factor", "gemma3n-factor", "mimo-v2-factor"), ("llama.cpp computes with attention_factor in another way", None)),
    "mimo-v2-parts": ("llama.cpp rotates as much in all layers", "llama.cpp's file does not say it"),
    "muse-glimmer-linear": ("llama.cpp does not scale positions of layers with windows", ALONE),
    "smollm3-windows": ("llama.cpp has no windows in this architecture", "llama.cpp's file does not say it"),
    "gemma3n-capped": ("llama.cpp caps logits at 30", None),
    "gemma3n-rank": ("llama.cpp has 64", "llama.cpp's file does not say it"),
    "gemma4-fewer": ("llama.cpp has as many embeddings of layers as tokens", None),
    "kimi-linear-heads": ("llama.cpp has as many heads of linear attention as of attention", "llama.cpp's file does not say it"),
    "kimi-linear-sums": ("llama.cpp normalizes the weights of experts", "llama.cpp's file does not say it"),
    "minicpm3-scores": ("llama.cpp does not scale the scores of attention", "llama.cpp's file does not say it"),
    "minimax-window": ("llama.cpp has no windows in this architecture", "llama.cpp's file does not say it"),
    "olmoe-groups": ("llama.cpp requires as many KV heads as query heads", None),
    "modern-bert-classifier-bias": ("llama.cpp has no bias there", None),
    "modern-bert-classifier-relu": ("llama.cpp computes GELU", "llama.cpp's file does not say it"),
    "deepseek-v32-narrow": ("llama.cpp asks for a multiple of 64", None),
    "t5-silu": ("llama.cpp computes GELU", "llama.cpp's file does not say it"),
    "qwen3_5-values": ("llama.cpp has heads of values as wide as those of keys", None),
    **dict.fromkeys(("deepseek-v3-epsilon", "falcon-mamba-epsilon", "minicpm3-epsilon", "qwen3_5-epsilon"), ("llama.cpp has one epsilon for all norms", None)),
    "modern-bert-factor": ("llama.cpp computes with attention_factor in another way", None),
    "mamba-wide": ("llama.cpp has twice the width of the model", None),
    "mellum-layers": ("llama.cpp has one base of positions", None),
    **dict.fromkeys(("gpt-oss-whole", "gemma4-whole"), ("llama.cpp stops where no layer has a window", None)),
    "qwen3_5-whole": ("llama.cpp stops where no layer is recurrent", None),
    "mimo-v2-bias": ("llama.cpp adds no bias to queries, keys and values", None),
    "embeddinggemma-windows": ("llama.cpp stops where all layers have a window", None),
    **dict.fromkeys(("jamba-whole", "minimax-whole", "qwen4-exp-whole"), ("llama.cpp stops where no layer is recurrent", None)),
    "minimax-linear": ("llama.cpp stops where all layers are recurrent", None),
    "kimi-linear-queries": ("llama.cpp does not read the width of latent queries", None),
    "qwen4-exp-sums": ("llama.cpp normalizes the weights of experts", "llama.cpp's file does not say it"),
    "qwen4-exp-ngrams-wide": ("llama.cpp has n-grams as wide as the model", "no way back"),
    "t5-deep": ("llama.cpp fails where a decoder has more blocks than its encoder", None),
    "qwen2-vl-epsilon": ("llama.cpp does not read it", ALONE),
    "bitnet-silu": ("weights are rounded to three values", "no way back"),
    **dict.fromkeys(("deepseek-v3-no-group", "glm4-moe-no-group"), ("llama.cpp chooses among all experts", None)),
    "dbrx-sums": ("llama.cpp normalizes the weights of experts", "llama.cpp's file does not say it"),
    "gemma4-shared-last": ("llama.cpp stops unless the last two layers with keys are one with a window and one without", None),
    "deepseek-v2-sums": ("llama.cpp normalizes the weights of experts, transformers does not", None),
    "deepseek-v32-no-tokens": ("llama.cpp computes no numbers", None),
    "gemma3-vision-capped": ("llama.cpp caps logits, transformers does not", "llama.cpp's file does not say it"),
    "gemma3n-active": ("llama.cpp takes the first of the inputs", None),
    "gemma3n-dense": ("llama.cpp keeps 5 % of the first ten layers", None),
    "gemma3n-wide": ("llama.cpp has one width of all layers", None),
    "gemma4-heads": (None, "config.json has no place for the heads by layer"),
    "minicpm3-null": ("llama.cpp computes with 1.4 and 256", "llama.cpp's file does not say it"),
    "minimax-part": ("llama.cpp turns a part of a head, transformers the whole", None),
    **dict.fromkeys(("minimax-m3-windows", "minimax-m3-dense"), ("llama.cpp looks at a part of the tokens in the layers with experts", PUBLISHED)),
    "minimax-m3-no-blocks": ("llama.cpp looks at other tokens", PUBLISHED),
    "modern-bert-no-window": ("llama.cpp has no windows of 0", None),
    "mpt-bias": ("llama.cpp computes with it, transformers with 8", None),
    "qwen3_5-sections": ("llama.cpp does not turn what interleaved sections leave out", None),
    "step3p7-whole": ("llama.cpp turns half of a head", ALONE),
    "t5-none": ("llama.cpp fails where a decoder has no blocks", None),
    "step3p7": (None, ALONE),
    "step3p7-scale": ("llama.cpp scales by the width of a head", ALONE),
    **dict.fromkeys(("glm4v", "glm4v-moe", "glm5-next", "glm5-next-topk", "glm5-next-limits", "glm5-next-groups", "glm5-next-bound", "glm-ocr", "mistral3", "muse-glimmer", "qwen2-vl", "qwen2_5-vl", "qwen3-vl", "qwen3-vl-moe"), (None, ALONE)),
}


class Refused(Exception):
    pass


# ---- models -----------------------------------------------------------------------------------------

def fill(model, name):
    """Random numbers for all parameters, which no two runs have differently."""
    import torch
    g = torch.Generator().manual_seed(zlib.crc32(name.encode()))
    for path, p in model.named_parameters():
        r, last, low = torch.randn(p.shape, generator=g), path.rsplit(".", 1)[-1], path.lower()
        if last in ("A_log", "dt_bias", "D"):  # steps of time are not so short that transformers clamps them
            p.copy_(p + 0.1 * r + (last == "dt_bias"))
        elif p.dim() <= 1:
            p.copy_(0.2 * r if "bias" in last else p + 0.2 * r)
        else:
            p.copy_(0.7 * r if re.search("embed|wte|shared", low) else r / p.shape[-1] ** 0.5)
    for path, b in model.named_buffers():
        if path.endswith(("e_score_correction_bias", "expert_bias")):
            b.copy_(0.1 * torch.randn(b.shape, generator=g))


def tokenizer(folder):
    """384 tokens: the bytes, pairs, the last ones special."""
    kept = [*range(33, 127), *range(161, 173), *range(174, 256)]
    bytes_ = [chr(b) for b in kept] + [chr(256 + i) for i in range(256 - len(kept))]
    pairs = [a + b for a in "etaoinsrhl" for b in "etaoinsrhl"]
    tokens = bytes_ + pairs + [f"<|{i}|>" for i in range(len(bytes_) + len(pairs), 384)]
    tokens[-4:] = tokens[377], tokens[-3], "<|end|>", "<|endoftext|>"
    tokens[375], tokens[377:379] = "</s>", ("<unk>", "<s>")  # llama.cpp looks for these
    specials = [dict(id=i, content=tokens[i], special=True) for i in range(len(bytes_) + len(pairs), 384)]
    made = dict(model=dict(type="BPE", vocab={t: i for i, t in enumerate(tokens)}, merges=[f"{p[0]} {p[1]}" for p in pairs]),
                added_tokens=specials, pre_tokenizer=dict(type="ByteLevel", add_prefix_space=False, use_regex=True),
                decoder=dict(type="ByteLevel"))
    with open(os.path.join(folder, "tokenizer.json"), "w") as f:
        json.dump(made, f)
    with open(os.path.join(folder, "tokenizer_config.json"), "w") as f:
        json.dump(dict(tokenizer_class="PreTrainedTokenizerFast", bos_token="<|376|>", eos_token="<|379|>"), f)


def make(folder, name):
    """The model's directory, and what is compared of it."""
    import torch
    import transformers
    torch.manual_seed(zlib.crc32(name.encode()))  # of what a class makes up before
    model_type, members, *rest = MODELS[name]
    members = {k: v for k, v in dict(USUAL, **members).items() if v is not GONE}
    config = transformers.AutoConfig.for_model(model_type, **members)
    config._attn_implementation = "eager"
    if rest:
        model = getattr(transformers, rest[0])(config)
    else:
        model = transformers.AutoModelForCausalLM.from_config(config, attn_implementation="eager")
    model = model.float().eval()
    fill(model, name)
    model.config.architectures = [type(model).__name__]
    model.save_pretrained(folder)
    tokenizer(folder)
    return rest[1] if len(rest) > 1 else "logits"


def numbers(folder, kind, ids):
    """What transformers computes of a directory."""
    import torch
    import transformers
    if not os.path.exists(os.path.join(folder, "config.json")):
        raise Refused("no way back")
    with open(os.path.join(folder, "config.json")) as f:
        config = json.load(f)
    cls = getattr(transformers, config["architectures"][0], None)
    if not cls:
        raise Refused("transformers has no such class")
    if cls.__name__.endswith("ForConditionalGeneration") and not (config.keys() & {"text_config", "is_encoder_decoder", "vq_config"}):
        raise Refused(ALONE)  # it would make up an encoder of the usual size
    model, about = cls.from_pretrained(folder, dtype=torch.float32, attn_implementation="eager", local_files_only=True, output_loading_info=True)
    own = {name for name, _ in model.named_parameters()}  # what a class computes by itself is a buffer
    lacks = [name for name in about["missing_keys"] if "pooler" not in name and name in own]
    if lacks:
        raise Refused(f"transformers misses {lacks[0]}")
    model.eval()
    ids = torch.tensor([ids])
    out = model(input_ids=ids, decoder_input_ids=ids) if kind == "decoder" else model(input_ids=ids)
    if kind == "hidden" and not hasattr(out, "last_hidden_state"):
        out = model.base_model(input_ids=ids)
    return (out.last_hidden_state if kind == "hidden" else out.logits)[0].numpy()


# ---- both ways --------------------------------------------------------------------------------------

def tare_does(tare, *args):
    run = subprocess.run([tare, "convert", *args, "--type", "f32", "--no-sync", "--force"], capture_output=True, text=True)
    if run.returncode:
        raise Refused("tare: " + run.stderr.strip().split("\n")[-1])
    return run.stderr


def in_llama(library, gguf, kind, ids, width):
    from llama_library import NONE, RANK, Model
    model = Model(library, gguf)
    if kind == "classes":
        return model.embeddings(ids, RANK, width)
    if kind == "hidden":
        return model.embeddings(ids, NONE)
    return model.logits(ids, ids if kind == "decoder" else None)


def distance(a, b):
    """Of the spread."""
    import numpy as np
    d = np.abs(a[..., :b.shape[-1]] - b).max() / max(1, b.max() - b.min())
    return float(d) if np.isfinite(d) else float("inf")


def aside(function):
    """What a function returns, or why it does not, in a process of its own: llama.cpp may abort."""
    r, w = os.pipe()
    child = os.fork()
    if child == 0:
        os.dup2(os.open(os.devnull, os.O_WRONLY), 2)
        try:
            said = repr(function())
        except Exception as fault:  # noqa: BLE001 whatever it is, it is the answer
            said = f"{type(fault).__name__}: {fault}" if not isinstance(fault, Refused) else str(fault)
        os.write(w, said.replace("\n", " ").encode()[:4000])
        os._exit(0)
    os.close(w)
    with os.fdopen(r) as f:
        said = f.read()
    os.waitpid(child, 0)
    return said or "llama.cpp aborts"


def architecture(gguf):
    """general.architecture, a file's first key."""
    with open(gguf, "rb") as f:
        head = f.read(256)
    at = 36 + int.from_bytes(head[24:32], "little")
    return head[at + 8:at + 8 + int.from_bytes(head[at:at + 8], "little")].decode()


def judge(tare, library, folder, name):
    """(there, back): None where the numbers are equal, else what is seen; and the architecture."""
    import numpy as np
    model, gguf, back = (os.path.join(folder, name + x) for x in ("", ".gguf", ".back"))
    kind = make(model, name)
    ids = [int(i) for i in np.random.default_rng(zlib.crc32(name.encode())).integers(3, 350, 40)]
    want = numbers(model, kind, ids)

    def there():
        return distance(in_llama(library, gguf, kind, ids, want.shape[-1]), want)

    def restored():
        tare_does(tare, gguf, back, "--to", "hf")
        return distance(numbers(back, kind, ids), want)
    try:
        warned = "warning" in tare_does(tare, model, gguf)
    except Refused as fault:
        return str(fault), str(fault), ""
    seen = [None if re.fullmatch(r"[\d.e-]+", said) and float(said) <= near else said
            for said, near in ((aside(there), FURTHER.get(name, NEAR)), (aside(restored), EXACT))]
    if seen[0] and not warned and name not in UNSAID:
        seen[0] += SILENT
    return *seen, architecture(gguf)


def row_of(name, arch, seen):
    why = NOT_EQUAL.get(name, (None, None))
    cells = ["equal" if not s else w or "differs" for s, w in zip(seen, why)]
    return f"| {name} | {arch} | {cells[0]} | {cells[1]} |\n"


def others(tare, rows):
    """The architectures that no model of transformers stands for."""
    said = subprocess.run([tare, "convert", "--list-architectures"], capture_output=True, text=True, check=True).stdout
    known = {line.split()[0] for line in said.split("\n")[1:] if line and not line.startswith("mmproj ")}
    left = sorted(known - {row.split(" | ")[1] for row in rows})
    return "\nNot judged so, most since transformers has no class for them: " + ", ".join(left) + ".\n"


def write_table(path, tare, rows):
    with open(path) as f:
        text = f.read()
    begin, end = text.index(MARKS[0]) + len(MARKS[0]), text.index(MARKS[1])
    head = "| model | general.architecture | in llama.cpp | restored, in transformers |\n|---|---|---|---|\n"
    with open(path, "w") as f:
        f.write(text[:begin] + head + "".join(sorted(rows)) + others(tare, rows) + text[end:])


def main(argv):
    import torch
    import transformers
    from llama_library import Library
    torch.set_num_threads(1)
    torch.set_grad_enabled(False)
    transformers.utils.logging.set_verbosity_error()
    transformers.utils.logging.disable_progress_bar()
    table = argv[argv.index("--table") + 1] if "--table" in argv else None
    tare, folder, *names = [a for a in argv if a not in ("--sample", "--table", table)]
    names = names or (SAMPLE if "--sample" in argv else MODELS)
    library, rows, faults = Library(), [], 0
    if not library.is_known():
        print("llama_library.py: the structs of this xllamacpp are others")
        return 1
    shutil.rmtree(folder, ignore_errors=True)
    os.makedirs(folder)
    for name in names:
        try:
            *seen, arch = judge(tare, library, folder, name)
        except Exception as fault:  # noqa: BLE001 the model could not be made
            seen, arch = (f"not made: {type(fault).__name__}: {fault}",) * 2, ""
        why = NOT_EQUAL.get(name, (None, None))
        for way, s, w in zip(("there", "back"), seen, why):
            if bool(s) != bool(w) or (s and s.endswith(SILENT)):
                print(f"{name}, {way}: " + (s if s else f"equal, though this was known: {w}")[:250], flush=True)
                faults += 1
        rows.append(row_of(name, arch, seen))
        for x in ("", ".gguf", ".back"):
            path = os.path.join(folder, name + x)
            shutil.rmtree(path, ignore_errors=True)
            if os.path.exists(path):
                os.remove(path)
    if table:
        write_table(table, tare, rows)
    print(f"{len(rows)} models both ways, {faults} not as they should be")
    return faults > 0


if __name__ == "__main__":
    os.environ.update(HF_HUB_OFFLINE="1", TOKENIZERS_PARALLELISM="false", GGML_NO_BACKTRACE="1")
    need("python/hosts-requirements.txt", "numpy", "torch", "transformers", "xllamacpp")
    sys.exit(main(sys.argv[1:]))
