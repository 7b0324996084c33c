/* SPDX-License-Identifier: MIT
 *
 * PEFT's tensor names: base_model.model.MODULE.lora_A.weight, with the adapter's name before
 * "weight" or without it; MODULE.lora_embedding_A for embeddings. What is no part of a module's
 * factors is the base's own, or takes the place of a tensor of the base. */
#include "model/peft.h"

#include "base/str.h"

/* The last occurrence of `what` in a name; name.len: none. */
static size_t find_last(tare_str name, tare_str what) {
    for (size_t i = name.len >= what.len ? name.len - what.len + 1 : 0; i-- > 0;)
        if (memcmp(name.ptr + i, what.ptr, what.len) == 0) return i;
    return name.len;
}

/* Whether `rest`, what follows a mark, is nothing, or ".weight" with or without an adapter's name. */
static bool ends_well(tare_str rest, tare_str with, bool may_be_empty) {
    if (rest.len == 0) return may_be_empty;
    return rest.ptr[0] == '.' && tare_str_ends(rest, with);
}

static bool parse_mark(tare_peft_name *out, tare_str name) {
    static const struct {
        tare_str text, with;
        tare_peft_part part;
        bool is_embedding, may_be_empty;
    } marks[] = {
        {{".lora_A", 7}, {".weight", 7}, TARE_PEFT_RIGHT, false, false},
        {{".lora_B", 7}, {".weight", 7}, TARE_PEFT_LEFT, false, false},
        {{".lora_B", 7}, {".bias", 5}, TARE_PEFT_BIAS, false, false},
        {{".lora_embedding_A", 17}, {"", 0}, TARE_PEFT_RIGHT, true, true},
        {{".lora_embedding_B", 17}, {"", 0}, TARE_PEFT_LEFT, true, true},
        {{".lora_magnitude_vector", 22}, {"", 0}, TARE_PEFT_MAGNITUDE, false, true},
    };
    for (size_t i = 0; i < sizeof marks / sizeof *marks; i++) {
        const size_t at = find_last(name, marks[i].text);
        if (at == name.len || at == 0) continue;
        const tare_str rest = tare_str_cut(name, at + marks[i].text.len);
        if (!ends_well(rest, marks[i].with, marks[i].may_be_empty)) continue;
        *out = (tare_peft_name){{name.ptr, at}, marks[i].part, marks[i].is_embedding};
        return true;
    }
    return false;
}

void tare_peft_name_parse(tare_peft_name *out, tare_str name) {
    const tare_str prefix = TARE_STR("base_model.model."), base = TARE_STR(".base_layer.");
    const tare_str rest = tare_str_starts(name, prefix) ? tare_str_cut(name, prefix.len) : name;
    if (parse_mark(out, rest)) return;
    *out = (tare_peft_name){rest, TARE_PEFT_WHOLE, false};
    if (find_last(rest, base) < rest.len) out->part = TARE_PEFT_BASE;
}

bool tare_model_is_peft(const tare_model *m) {
    tare_peft_name name;
    for (size_t i = 0; i < m->catalog.n_tensors; i++) {
        tare_peft_name_parse(&name, m->catalog.tensors[i].name);
        if (tare_peft_is_factor(&name)) return true;
    }
    return false;
}

bool tare_peft_is_conv1d(const tare_model *base, tare_str weight, bool stated) {
    static const char *const types[] = {"gpt2", "openai-gpt", "imagegpt", "decision_transformer",
                                        "clvp"};
    static const char *const modules[] = {"c_attn.weight", "c_proj.weight", "c_fc.weight",
                                          "q_attn.weight"};
    const tare_str type = tare_model_architecture(base);
    bool is_type = false, is_module = false;
    for (size_t i = 0; i < sizeof types / sizeof *types; i++)
        is_type |= tare_str_is(type, types[i]);
    for (size_t i = 0; i < sizeof modules / sizeof *modules; i++)
        is_module |= tare_str_ends(weight, tare_str_of(modules[i]));
    return type.len ? is_type && is_module : stated;
}
