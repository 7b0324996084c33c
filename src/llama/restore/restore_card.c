/* SPDX-License-Identifier: MIT
 *
 * README.md: what the general keys say of the model, as the front matter of a model card. */
#include <stdio.h>

#include "base/str.h"
#include "llama/restore/restore.h"

static void put_list(tare_buffer *b, const char *name, const tare_value *v) {
    tare_array_walk walk;
    tare_value element;
    if (!v || v->type != TARE_VALUE_ARRAY || v->as.a.type != TARE_VALUE_STRING) return;
    tare_buffer_printf(b, "%s:\n", name);
    tare_array_begin(&walk, &v->as.a);
    while (tare_array_next(&walk, &element)) {
        tare_buffer_put_text(b, "- ");
        tare_buffer_put_json(b, element.as.s);
        tare_buffer_put_u8(b, '\n');
    }
}

tare_status tare_llama_restore_card(tare_llama_restoring *r, tare_error *err) {
    tare_buffer b;
    const tare_llama_card_key *k;
    tare_buffer_init(&b, r->out->allocator);
    tare_buffer_put_text(&b, "---\n");
    for (size_t i = 0; (k = tare_llama_card_key_at(i)); i++) {
        const tare_value *v = tare_llama_key_of(r->gguf, k->key);
        int n = (int)strcspn(k->card, " ");
        if (!v || v->type != TARE_VALUE_STRING || n == 0) continue;
        tare_buffer_printf(&b, "%.*s: ", n, k->card);
        tare_buffer_put_json(&b, v->as.s);
        tare_buffer_put_u8(&b, '\n');
    }
    put_list(&b, "tags", tare_llama_key_of(r->gguf, "general.tags"));
    put_list(&b, "language", tare_llama_key_of(r->gguf, "general.languages"));
    tare_buffer_put_text(&b, "---\n");
    return tare_llama_add_file(r, "README.md", &b, err);
}
