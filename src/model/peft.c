/* SPDX-License-Identifier: MIT
 *
 * PEFT's LoRA: names of tensors (base_model.model.MODULE.lora_A.weight, with the adapter's name
 * before "weight" or without it; MODULE.lora_embedding_A for embeddings), and the members of
 * adapter_config.json that say of more than factors. */
#include "model/peft.h"

#include "base/str.h"

/* The last occurrence of `what` in a name; name.len: none. */
static size_t find_last(tare_str name, tare_str what) {
    for (size_t i = name.len >= what.len ? name.len - what.len + 1 : 0; i-- > 0;)
        if (memcmp(name.ptr + i, what.ptr, what.len) == 0) return i;
    return name.len;
}

bool tare_peft_name_parse(tare_peft_name *out, tare_str name) {
    static const struct {
        tare_str text;
        bool is_left, is_embedding;
    } marks[] = {{{".lora_A", 7}, false, false},
                 {{".lora_B", 7}, true, false},
                 {{".lora_embedding_A", 17}, false, true},
                 {{".lora_embedding_B", 17}, true, true}};
    const tare_str prefix = TARE_STR("base_model.model.");
    for (size_t i = 0; i < sizeof marks / sizeof *marks; i++) {
        const size_t at = find_last(name, marks[i].text);
        if (at == name.len) continue;
        const tare_str rest = tare_str_cut(name, at + marks[i].text.len);
        const bool is_parameter = marks[i].is_embedding && rest.len == 0;
        if (!is_parameter && !(rest.len > 0 && rest.ptr[0] == '.')) continue;
        if (!marks[i].is_embedding && !tare_str_ends(rest, TARE_STR(".weight"))) continue;
        *out = (tare_peft_name){{name.ptr, at}, marks[i].is_left, marks[i].is_embedding};
        if (tare_str_starts(out->module, prefix))
            out->module = tare_str_cut(out->module, prefix.len);
        return out->module.len > 0;
    }
    return false;
}

bool tare_model_is_peft(const tare_model *m) {
    tare_peft_name name;
    for (size_t i = 0; i < m->catalog.n_tensors; i++)
        if (tare_peft_name_parse(&name, m->catalog.tensors[i].name)) return true;
    return false;
}

/* Initialisations that leave the base unchanged: anything but the name of one that does not. */
static bool is_plain_start(tare_str text) {
    return text.len == 0 || tare_str_is(text, "gaussian") || tare_str_is(text, "eva") ||
           tare_str_is(text, "orthogonal");
}

const char *tare_peft_obstacle(tare_str member, bool is_set, tare_str text) {
    static const struct {
        const char *name, *what;
    } refused[] = {
        {"use_dora", "use_dora: DoRA's magnitudes are more than factors"},
        {"modules_to_save", "modules_to_save: whole modules are more than factors"},
        {"lora_bias", "lora_bias: biases are more than factors"},
        {"layer_replication", "layer_replication: the base has other layers then"},
        {"alora_invocation_tokens", "alora_invocation_tokens: works for some tokens only"},
        {"target_parameters", "target_parameters: adapters of single parameters are not known"},
        {"trainable_token_indices", "trainable_token_indices: single tokens are more than factors"},
    };
    for (size_t i = 0; i < sizeof refused / sizeof *refused; i++)
        if (is_set && tare_str_is(member, refused[i].name)) return refused[i].what;
    if (tare_str_is(member, "peft_type") && !tare_str_is(text, "LORA"))
        return "peft_type: expected \"LORA\"";
    if (tare_str_is(member, "bias") && !tare_str_is(text, "none"))
        return "bias: expected \"none\"; biases are more than factors";
    if (tare_str_is(member, "init_lora_weights") && !is_plain_start(text))
        return "init_lora_weights: changes the base, convert the adapter to a plain one first";
    return NULL;
}
