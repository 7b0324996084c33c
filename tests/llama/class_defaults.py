#!/usr/bin/env python3
# SPDX-License-Identifier: MIT
"""The rows of src/llama/class_default_rows.c, and the types of whole models in class_defaults.c, from the config
classes of transformers 5.24: what each assumes for a member that config.json lacks or has as null. `class_defaults.py`
says which of them are other ones, and ends with 1 if there are; `class_defaults.py --write` puts them in. By a Python that has transformers; exit 77: it is
missing."""
import glob
import logging
import os
import re
import sys
import warnings

from checks import need

HERE = os.path.dirname(os.path.abspath(__file__))
SOURCES = os.path.join(HERE, "../../src/llama")
TABLES = (("class_default_rows.c", "tare_llama_class_rows[] = {\n", "};\n"),
          ("class_defaults.c", "wholes[] =\n", ";\n"))
PARTS = ("text_config", "llm_config", "language_config", "thinker_config")
# Sizes of which members may be derived: class defaults of these are numbers of one model, not of the class.
SIZES = ("hidden_size", "num_attention_heads", "intermediate_size", "num_hidden_layers", "n_embd", "n_head", "n_layer",
         "d_model", "num_heads", "num_layers", "n_heads", "n_layers", "dim")
# Formulas name these, but no key or shape of the text model depends on them.
UNUSED = ("is_encoder_decoder", "attention_bias", "mlp_bias", "use_bias", "bias", "hidden_act", "feed_forward_proj", "dense_act_fn", "is_gated_act",
          "use_qkv_bias", "attention_out_bias", "scale_factor", "swin_norm", "type", "text", "model_type",
          "patch_size", "image_size", "_name_or_path")
# The shapes of tensors tell these, whatever a class assumes.
OF_TENSORS = ("vocab_size",)
# The only row that asks for it has the same default.
BY_ROW = ("initializer_range",)
# llama.cpp's converter reads config.json itself for Mamba; the others are of members that transformers has renamed.
WITHOUT = ("mamba", "mamba2", "falcon_mamba", "mimo_v2_flash", "nemotron_h", "nomic_bert", "step3p5", "step3p7",
           "wavtokenizer")
# Wrong for models of that type (falcon: multi_query has one head), or computed of others than SIZES.
WRONG = {"falcon": ("num_kv_heads", "ffn_hidden_size"), "kimi_linear": ("head_dim",), "t5": ("scale_decoder_outputs",),
         "umt5": ("scale_decoder_outputs",)}
# Rows of its architecture take these the other way round.
NO_ALIASES = ("distilbert",)
PADDED = ("roberta", "xlm-roberta", "camembert")


def named_members():
    """What formulas may ask for."""
    names = set()
    for path in glob.glob(os.path.join(SOURCES, "arch/*.[ch]")) + glob.glob(os.path.join(SOURCES, "*.[ch]")):
        if re.search(r"class_default|vision|siglip|clip|audio", path):
            continue
        with open(path) as f:
            for text in re.findall(r'"((?:[^"\\]|\\.)*)"', f.read()):
                names |= set(re.findall(r"[A-Za-z_][A-Za-z0-9_]*", text))
    return names - set(UNUSED) - set(OF_TENSORS) - set(BY_ROW)


def is_plain(v):
    return isinstance(v, (int, float, bool, str))


def literal(v):
    if isinstance(v, bool):
        return "true" if v else "false"
    if isinstance(v, str):
        return f"'{v}'"
    return str(int(v)) if v == int(v) and abs(v) < 1e15 else repr(v)


def members_of(config_class, **given):
    """A config's members, those of its rotary positions under the names that config.json had for them; None: the
    class refuses what is given."""
    try:
        members = config_class(**given).to_dict()
    except Exception:
        return None
    rope = members.get("rope_parameters")
    rope = rope if isinstance(rope, dict) else {}
    full = rope.get("full_attention", rope)
    for name, value in (("rope_theta", full.get("rope_theta")),
                        ("partial_rotary_factor", full.get("partial_rotary_factor")),
                        ("rope_local_base_freq", (rope.get("sliding_attention") or {}).get("rope_theta"))):
        if value is not None:
            members[name] = value
    return members


def rope_words(config_class):
    """What a class assumes for rotary positions if config.json says nothing of them at all."""
    rope = config_class().to_dict().get("rope_parameters")
    rope = rope.get("full_attention", rope) if isinstance(rope, dict) else {}
    if rope.get("rope_type", "default") == "default":
        return []
    apart = {"type", "max_position_embeddings"}
    if (members_of(config_class, rope_theta=333.5) or {}).get("rope_theta") == 333.5:
        apart.add("rope_theta")  # what stands beside them counts
    return [f"rope_default.{k}={literal(v)}" for k, v in sorted(rope.items()) if is_plain(v) and k not in apart]


def theta_of(config_class, value):
    """Beside other settings of rotary positions it may be another one."""
    other = members_of(config_class, rope_parameters={"rope_type": "default"}) or {}
    other = other.get("rope_theta", value)
    if other == value:
        return literal(value)
    return f"if(has(rope_parameters),{literal(other)},if(has(rope_scaling),{literal(other)},{literal(value)}))"


def formula_of(name, members, changed):
    """What a member is derived of; None: it is none of the usual."""
    if name == "head_dim":
        return "floor(hidden_size/num_attention_heads)"
    if name == "num_key_value_heads":
        return "num_attention_heads"
    return next((size for size, other in changed.items()
                 if members[name] == members[size] and other.get(name) == other[size]), None)


def row_of(model_type, config_class, names):
    members = members_of(config_class)
    sizes = [s for s in SIZES if is_plain(members.get(s)) and not isinstance(members[s], str)]
    doubled = {s: members_of(config_class, **{s: members[s] * 2}) for s in sizes}
    doubled = {s: m for s, m in doubled.items() if m}
    aliases = {}
    if model_type not in NO_ALIASES:
        for alias, name in (getattr(config_class, "attribute_map", None) or {}).items():
            aliases.setdefault(name, []).append(alias)
    words = []
    for name in sorted(names & set(members)):
        value = members[name]
        is_id = name.endswith(("_token_id", "_token_index"))
        if not is_plain(value) or name in WRONG.get(model_type, ()) or \
                (is_id and (name != "pad_token_id" or model_type not in PADDED)):
            continue
        if (name, value) in (("tie_word_embeddings", False), ("partial_rotary_factor", 1.0)):
            continue
        before = "".join(a + "|" for a in aliases.get(name, ()) if a in names)
        changed = {s: m for s, m in doubled.items() if s != name and m.get(name) != value}
        if changed:
            formula = formula_of(name, members, changed)
            words += [f"{name}?={before}{formula}"] if formula else []
            continue
        words.append(f"{name}={before}{theta_of(config_class, value) if name == 'rope_theta' else literal(value)}")
        nulled = members_of(config_class, **{name: None}) or {}
        if not is_plain(nulled.get(name)):
            continue
        again = {s: members_of(config_class, **{name: None, s: members[s] * 2}) or {} for s in sizes}
        if nulled[name] == value and all(m.get(name) == value for s, m in again.items() if m and s != name):
            words.append(f"{name}?={literal(value)}")
        elif formula_of(name, nulled, {}):
            words.append(f"{name}?={formula_of(name, nulled, {})}")
    return words + rope_words(config_class)


def part_of(config):
    for name in PARTS:
        part = getattr(config, name, None)
        if part is not None and not isinstance(part, dict):
            return getattr(part, "text_config", None) or part
    return None


def all_rows(classes):
    """{model type: words, or the model type of its text_config}"""
    from transformers import CONFIG_MAPPING
    from transformers.models.auto import modeling_auto
    import tiny_models
    types = {c.get("model_type") for f, _ in tiny_models.MODELS.values() for c in
             (f()[0], f()[0].get("text_config", {}))}
    for name in dir(modeling_auto):
        if name.endswith("_MAPPING_NAMES"):
            for model_type, known in getattr(modeling_auto, name).items():
                if classes & set(known if isinstance(known, (tuple, list)) else [known]):
                    types.add(model_type)
    names, rows, parts = named_members(), {}, {}
    for model_type in sorted(CONFIG_MAPPING):
        try:
            config = CONFIG_MAPPING[model_type]()
        except Exception:
            continue
        part = part_of(config)
        if part is not None:
            parts[model_type] = part.model_type
        if model_type in types and model_type not in WITHOUT:
            config = part if part is not None else config
            if config.model_type not in WITHOUT:
                rows.setdefault(config.model_type, row_of(config.model_type, type(config), names))
    wholes = {t: p for t, p in parts.items() if p in rows and t not in rows and t not in WITHOUT}
    return {**{t: words for t, words in rows.items() if words}, **wholes}


def wrapped(words, margin):
    lines = [""]
    for word in words:
        if lines[-1] and len(lines[-1]) + len(word) > 90:
            lines.append("")
        lines[-1] += word + " "
    lines[-1] = lines[-1][:-1]
    return "\n".join(f'{margin}"{line}"' for line in lines)


def tables(rows):
    """What stands in each of TABLES."""
    own = "".join(f'    {{"{t}",\n{wrapped(row, "     ")}}},\n' for t, row in sorted(rows.items()) if isinstance(row, list))
    return own, wrapped([f"{t}={row}" for t, row in sorted(rows.items()) if isinstance(row, str)], "    ")


def rows_of(text):
    """The rows of a table, however it is laid out."""
    joined = re.sub(r'"\s+"', "", text)
    return [" ".join(row.split()) for row in re.split(r"\},\s*\{?", joined)]


def put(table, text, is_written):
    """Whether a table is this text, which is written otherwise if asked for."""
    name, begins, ends = table
    path = os.path.join(SOURCES, name)
    with open(path) as f:
        whole = f.read()
    begin = whole.index(begins) + len(begins)
    end = whole.index(ends, begin)
    here, there = (set(rows_of(x)) for x in (whole[begin:end], text))
    for row in sorted(here ^ there) if not is_written else ():
        print(f"{name}:" if row in here else "transformers:", row)
    if is_written and here != there:
        with open(path, "w") as f:
            f.write(whole[:begin] + text + whole[end:])
    return here == there or is_written


def main():
    warnings.filterwarnings("ignore")
    logging.disable(logging.CRITICAL)
    classes = set()
    for path in glob.glob(os.path.join(SOURCES, "arch/*.c")):
        with open(path) as f:
            classes |= set(re.findall(r"\b[A-Z][A-Za-z0-9_]*[a-z][A-Za-z0-9_]*\b", f.read()))
    rows = all_rows(classes)
    agree = [put(table, text, "--write" in sys.argv) for table, text in zip(TABLES, tables(rows))]
    print(f"{len(rows)} model types, {agree.count(False)} tables differ")
    return not all(agree)


if __name__ == "__main__":
    need("tests/llama/reference_requirements.txt", "transformers")
    sys.exit(main())
