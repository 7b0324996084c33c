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
