/* SPDX-License-Identifier: MIT
 *
 * The tokens with a role and the flags of a tokenizer, as they are found: each once, in the order
 * in which the sources came. */
#include "llama/tokenizer/specials.h"

bool tare_llama_has_id(const tare_llama_tokenizer *t, tare_llama_special special) {
    for (size_t i = 0; i < t->n_ids; i++)
        if (t->ids[i].special == special) return true;
    return false;
}

void tare_llama_set_id(tare_llama_tokenizer *t, tare_llama_special special, uint32_t id,
                       bool is_late) {
    for (size_t i = 0; i < t->n_ids; i++)
        if (t->ids[i].special == special) {
            t->ids[i].id = id;
            return;
        }
    t->ids[t->n_ids++] = (tare_llama_special_id){special, id, is_late};
}

void tare_llama_set_add(tare_llama_tokenizer *t, tare_llama_add add, bool is_added) {
    if (t->adds[add] == TARE_LLAMA_FLAG_UNSET) t->add_order[t->n_adds++] = add;
    t->adds[add] = is_added ? TARE_LLAMA_FLAG_YES : TARE_LLAMA_FLAG_NO;
}

void tare_llama_note_no_id(const tare_llama_tokenizer *t, const tare_llama_file *file,
                           const char *role, const tare_json_value *v) {
    const bool is_negative = v->type == TARE_JSON_NUMBER && v->raw.len && v->raw.ptr[0] == '-';
    if (v->type == TARE_JSON_END || v->type == TARE_JSON_NULL || is_negative) return;
    tare_llama_note(t, TARE_LEVEL_WARNING, "tokenizer.special-id", file->name,
                    "%s_token_id is left out: expected the number of a token", role);
}
