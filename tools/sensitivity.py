#!/usr/bin/env python3
# SPDX-License-Identifier: MIT
"""Measure how sensitive a language model is to errors in each of its matrices.

    sensitivity.py MODEL -o FILE [--text FILE] [--tokens N] [--sequences N] [--dtype D] [--device D] [--seed N]

MODEL is a directory of Hugging Face (or a name that transformers can load), FILE gets a line
"TENSOR VALUE" for each matrix, for `tare quantize --sensitivity FILE`. VALUE is what a relative error
of 1 in the matrix would do: KL divergence in nats per token, for small errors proportional to the square
of the error. Needs torch 2.1 or later and transformers.

Labels are drawn from the model's own predictions, so that the mean square of the gradient of their
log-likelihood is the curvature of the KL divergence (the Fisher information). With e the errors of a
4-bit rounding of the matrix, that holds the errors of important columns small as the encoders of
llama.cpp do, and G the gradient over a sequence, the divergence is about

    1/2 sum G^2 e^2 / tokens,

and VALUE is that over the relative error sum c e^2 / sum c w^2, where c is the mean square of what a
column is multiplied by, as tare weighs errors with an importance matrix (src/ops/fit/fit_constants.c):
held to 100 medians, to 10 in the last matrix of attention and of a feed-forward part; for queries,
keys and values to 200, and to the power of 1.5; for the output matrix as it is, where tare can tell it from
an importance matrix (norms without offsets); 1 for embeddings that are no output matrix.

One sequence of 512 tokens is enough: the values are then within about 20 percent of those of eight. A
text like what the model will be used for is best; without --text the model writes one itself. Memory:
the activations of one layer after the other (they are computed again on the way back), the scores of a
sequence, and the gradient of one matrix. The model is mapped from its safetensors files in the type it
has there, so that the system may drop what it has read; with --device or another --dtype it is in memory.
"""
import argparse
import glob
import os
import re
import sys


def arguments():
    parser = argparse.ArgumentParser(description=__doc__.split("\n")[0])
    parser.add_argument("model")
    parser.add_argument("-o", "--output", required=True)
    parser.add_argument("--text", help="a file of UTF-8 text (default: the model writes one)")
    parser.add_argument("--tokens", type=int, default=512, help="of a sequence")
    parser.add_argument("--sequences", type=int, default=1)
    parser.add_argument("--dtype", default="auto", choices=["auto", "float32", "bfloat16", "float16"],
                        help="to compute in (default: as the model is stored)")
    parser.add_argument("--device", default="cpu")
    parser.add_argument("--seed", type=int, default=1)
    args = parser.parse_args()
    if args.tokens < 2 or args.sequences < 1:
        parser.error("at least one sequence of two tokens")
    return args


args = arguments()
try:
    import torch
    from safetensors import safe_open
    from transformers import AutoConfig, AutoModelForCausalLM, AutoTokenizer
except ImportError as missing:
    sys.exit(f"sensitivity.py: {missing}: it needs torch and transformers")

READS_FOR_ATTENTION = re.compile(r"(?i)(^|[._])(w?qkv|[qkv]|q_[ab]|kv_[ab]|query|key|value|query_key_value|c_attn)"
                                 r"(_|\.|proj|$)")
ENDS_A_PART = re.compile(r"(?i)(^|[._])(o|out|down|dense|dense_4h_to_h|w2|c|fc2)(_proj)?(\.weight)?$")
BLOCK, CODES = 32, 15   # of the rounding: numbers with a scale of their own, steps
GROUP = 8               # blocks whose scales have a unit
SCALES = 9              # that are tried for a block
AT_ONCE = 1 << 20       # numbers
LONGEST = 64            # characters of a token, on the average


# ---- the model and its text ----------------------------------------------------------------------

def mapped():
    """The tensors of a directory's safetensors files, mapped: the system reads what is used, and may drop
    it again. Empty: there are none."""
    tensors = {}
    for path in sorted(glob.glob(os.path.join(glob.escape(args.model), "*.safetensors"))):
        with safe_open(path, framework="pt") as file:
            tensors.update((name, file.get_tensor(name)) for name in file.keys())
    return tensors


def loaded():
    """The model. transformers copies what it reads itself; tensors that it is given stay where they are,
    if their type does."""
    tensors = mapped() if args.device == "cpu" else {}
    dtype = "auto" if args.dtype == "auto" else getattr(torch, args.dtype)
    if not tensors:
        return AutoModelForCausalLM.from_pretrained(args.model, torch_dtype=dtype, low_cpu_mem_usage=True)
    if dtype == "auto":
        dtype = max(tensors.values(), key=torch.numel).dtype
    config = AutoConfig.from_pretrained(args.model)
    with torch.device("meta"):
        kind = type(AutoModelForCausalLM.from_config(config))
    return kind.from_pretrained(None, config=config, state_dict=tensors, torch_dtype=dtype)


def load():
    model = loaded()
    model.to(args.device).eval()
    model.config.use_cache = False
    for parameter in model.parameters():
        parameter.requires_grad_(parameter.ndim >= 2)
    if model.supports_gradient_checkpointing:
        # In eval mode layers do not recompute: dropout is off by its probabilities instead.
        for module in model.modules():
            if isinstance(module, torch.nn.Dropout):
                module.p = 0.0
            if hasattr(module, "attention_dropout"):
                module.attention_dropout = 0.0
        model.gradient_checkpointing_enable(gradient_checkpointing_kwargs={"use_reentrant": False})
        model.train()
    return model


def own_text(model, n):
    """A text that the model writes, token after token, from its first token on."""
    config = AutoConfig.from_pretrained(args.model)
    first = config.bos_token_id if config.bos_token_id is not None else config.eos_token_id
    first = first[0] if isinstance(first, list) else first or 0
    tokens, past = torch.tensor([[first]], device=args.device), None
    model.eval()
    with torch.no_grad():
        while tokens.shape[1] < n:
            out = model(input_ids=tokens if past is None else tokens[:, -1:], past_key_values=past,
                        use_cache=True)
            past = out.past_key_values
            chance = torch.softmax(out.logits[:, -1].float(), -1)
            tokens = torch.cat([tokens, torch.multinomial(chance, 1)], 1)
    model.train(model.is_gradient_checkpointing)
    return tokens


def sequences(model):
    limit = getattr(model.config, "max_position_embeddings", None) or args.tokens
    n = min(args.tokens, limit)
    if not args.text:
        return [own_text(model, n) for _ in range(args.sequences)]
    with open(args.text, encoding="utf-8") as file:
        text = file.read(LONGEST * n * args.sequences)
    ids = AutoTokenizer.from_pretrained(args.model)(text).input_ids
    if len(ids) < 2:
        sys.exit(f"sensitivity.py: {args.text}: fewer than two tokens")
    parts = [ids[i:i + n] for i in range(0, len(ids), n)]
    parts = [part for part in parts if len(part) == n] or parts[:1]
    return [torch.tensor([part], device=args.device) for part in parts[:args.sequences]]


# ---- measuring -----------------------------------------------------------------------------------

def coarse(values):
    """Scales or offsets of blocks as multiples of a 63rd of the largest of their group."""
    groups = values.reshape(-1, GROUP)
    unit = groups.abs().amax(1, keepdim=True).clamp_min(1e-30) / 63
    return (groups / unit).round_().mul_(unit).reshape(values.shape)


def fit_blocks(x, weight, has_offset):
    """Rows of x as codes times a scale, plus an offset where it has one: of several scales the one, and
    for its codes the scale and offset, that leave the least weighted error."""
    low, high = x.amin(1, keepdim=True), x.amax(1, keepdim=True)
    span = torch.where(has_offset, high - low, 2 * x.abs().amax(1, keepdim=True)).clamp_min(1e-30)
    low, first = low * has_offset, -8.0 * ~has_offset
    total, mean = weight.sum(1, keepdim=True), (weight * x).sum(1, keepdim=True)
    best, offset, least = torch.zeros_like(low), torch.zeros_like(low), torch.full_like(low, float("inf"))
    codes = lambda scale, offset: ((x - offset) / scale).round_().clamp_(first, first + CODES)
    for i in range(SCALES):
        code = codes(span / (CODES - 1 + 2 * i / (SCALES - 1)), low)
        a, b = (weight * code).sum(1, keepdim=True), (weight * code * code).sum(1, keepdim=True)
        c = (weight * code * x).sum(1, keepdim=True)
        scale = torch.where(has_offset, (total * c - a * mean) / (total * b - a * a).clamp_min(1e-30),
                            c / b.clamp_min(1e-30))
        start = (mean - scale * a) / total * has_offset
        lost = (weight * (code * scale + start - x).square()).sum(1, keepdim=True)
        best, offset = torch.where(lost < least, scale, best), torch.where(lost < least, start, offset)
        least = torch.minimum(lost, least)
    if len(x) % GROUP == 0:
        best, offset = coarse(best), coarse(offset)
    best = torch.where(best == 0, 1e-30, best)
    return codes(best, offset) * best + offset


def rounding_errors(rows, importance):
    """What 4-bit codes lose, number by number: with an offset for each block and without in turn, as formats
    differ in how well they hold a few important numbers. `importance`: of the columns, as the encoders use
    it; or 1."""
    error = torch.zeros_like(rows)
    n = rows.shape[1] // BLOCK * BLOCK
    if n == 0:
        return error
    columns = torch.ones(n, device=rows.device) * (importance[:n] if torch.is_tensor(importance) else 1)
    x = rows[:, :n].reshape(-1, BLOCK)
    h = columns.expand(len(rows), n).reshape(-1, BLOCK)
    weight = h * (x.square() + x.square().mean(1, keepdim=True)).sqrt() + 1e-30
    has_offset = (torch.arange(len(rows), device=rows.device) % 2 == 0).repeat_interleave(n // BLOCK)
    error[:, :n] = (fit_blocks(x, weight, has_offset[:, None]) - x).reshape(-1, n)
    return error


def rows_of(*matrices):
    """A few rows of several matrices at a time, or of stacks of them, as floats."""
    if matrices[0].ndim > 2 and not all(m.is_contiguous() for m in matrices):
        for together in zip(*matrices):
            yield from rows_of(*together)
        return
    rows = [m.reshape(-1, m.shape[-1]) for m in matrices]
    step = max(2, AT_ONCE // rows[0].shape[1] // 2 * 2)
    for at in range(0, len(rows[0]), step):
        yield [r[at:at + step].float() for r in rows]


class Inputs:
    """The mean square of each column of what Linear modules are applied to; of the output matrix only
    where norms have no offsets, as tare has no importance of it elsewhere."""

    def __init__(self, model):
        self.sums, self.counts = {}, {}
        output = model.get_output_embeddings()
        self.output = getattr(output, "weight", None)
        has_offsets = any(re.search(r"(?i)(norm|ln_)[^.]*\.bias$", name) for name, _ in model.named_parameters())
        self.hooks = [module.register_forward_pre_hook(self.note) for module in model.modules()
                      if isinstance(module, torch.nn.Linear) and not (module is output and has_offsets)]

    def note(self, module, inputs):
        x = inputs[0].detach().reshape(-1, inputs[0].shape[-1]).float()
        key = id(module.weight)
        self.sums[key] = self.sums.get(key, 0) + x.square().sum(0)
        self.counts[key] = self.counts.get(key, 0) + x.shape[0]

    def collect(self, model, texts):
        with torch.no_grad():
            for tokens in texts:
                model(input_ids=tokens, use_cache=False)
        for hook in self.hooks:
            hook.remove()

    def importance(self, parameter):
        """As an importance matrix has it; 1 where that has no entry."""
        if id(parameter) not in self.sums:
            return 1.0
        return self.sums[id(parameter)] / self.counts[id(parameter)]

    def weights(self, parameter, name):
        mean = self.importance(parameter)
        if not torch.is_tensor(mean) or not mean.median() > 0:
            return 1.0
        if parameter is self.output:
            return mean
        is_steep = READS_FOR_ATTENTION.search(name)
        most = 200 if is_steep else 10 if ENDS_A_PART.search(name) else 100
        mean = (mean / mean.median()).clamp_max(most)
        return mean ** 1.5 if is_steep else mean

    def counted(self, parameter, name):
        """0 for the few huge columns of the last matrix of a part, 1 for others: encoders hold them nearly
        exactly, better than this rounding, and would seem to need far more bits than they do."""
        mean = self.importance(parameter)
        if not torch.is_tensor(mean) or parameter is self.output or not ENDS_A_PART.search(name):
            return 1.0
        return (mean <= 10 * mean.median()).float()


class Sensitivities:
    def __init__(self, model, texts):
        self.inputs = Inputs(model)
        self.inputs.collect(model, texts)
        self.damage, self.relative = {}, {}
        self.names = {}
        self.width = getattr(model.config, "hidden_size", None)
        for name, parameter in model.named_parameters():
            if parameter.requires_grad:
                self.names[parameter] = name
                parameter.register_post_accumulate_grad_hook(self.note)

    def note(self, parameter):
        """Takes a gradient as soon as it is complete, and lets go of it."""
        name, importance = self.names[parameter], self.inputs.importance(parameter)
        gradient, parameter.grad = parameter.grad, None
        c, counted = self.inputs.weights(parameter, name), self.inputs.counted(parameter, name)
        for part, rows in parts_of(name, parameter, self.width):
            lost = whole = value = 0.0
            for w, g in rows_of(parameter.detach()[rows], gradient[rows]):
                error = rounding_errors(w, importance) * counted
                lost += (error.square() * c).sum(dtype=torch.float64).item()
                whole += (w.square() * c).sum(dtype=torch.float64).item()
                value += (g * error).square().sum(dtype=torch.float64).item()
            self.relative[part] = lost / whole if whole > 0 else 0.0
            self.damage[part] = self.damage.get(part, 0.0) + value / 2 / self.n_tokens

    def add(self, model, tokens):
        self.n_tokens = tokens.shape[1]
        logits = model(input_ids=tokens, use_cache=False).logits[0].float()
        labels = torch.multinomial(torch.softmax(logits.detach(), -1), 1)[:, 0]
        torch.nn.functional.cross_entropy(logits, labels, reduction="sum").backward()

    def values(self, n_sequences):
        for parameter, name in self.names.items():
            for part, _ in parts_of(name, parameter, self.width):
                if self.relative.get(part, 0.0) > 0:
                    yield part, self.damage[part] / n_sequences / self.relative[part]


def parts_of(name, parameter, width):
    """The matrices of a parameter: (name, slice of it). A stack of experts may hold gate and up, one
    below the other, that a GGUF file has apart."""
    if parameter.ndim == 3 and name.endswith("gate_up_proj") and parameter.shape[2] == width:
        half, stem = parameter.shape[1] // 2, name[:-len("gate_up_proj")]
        return [(stem + "gate_proj.weight", (slice(None), slice(None, half))),
                (stem + "up_proj.weight", (slice(None), slice(half, None)))]
    return [(name, slice(None))]


def main():
    torch.manual_seed(args.seed)
    model = load()
    texts = sequences(model)
    sensitivities = Sensitivities(model, texts)
    for tokens in texts:
        sensitivities.add(model, tokens)
    lines = [f"{name} {value:.6g}\n" for name, value in sensitivities.values(len(texts))]
    n_tokens = sum(t.shape[1] for t in texts)
    with open(args.output, "w", encoding="utf-8") as file:
        file.write(f"# KL divergence for a relative error of 1, over {n_tokens} tokens\n")
        file.writelines(lines)
    print(f"{args.output}: {len(lines)} matrices, {n_tokens} tokens")


if __name__ == "__main__":
    main()
