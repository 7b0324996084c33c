/* SPDX-License-Identifier: MIT
 *
 * README.md: what the general keys say of the model, as the front matter of a model card. */
#include <stdio.h>

#include "base/str.h"
#include "llama/restore/restore.h"

#define MOST_RELATIONS 256

static void put_list(tare_buffer *b, const char *name, const tare_value *v) {
    tare_array_walk walk;
    tare_value element;
    if (!v || v->type != TARE_VALUE_ARRAY || v->as.a.type != TARE_VALUE_STRING) return;
    tare_buffer_printf(b, "%s:\n", name);
    tare_array_begin(&walk, &v->as.a);
    while (tare_array_next(&element, &walk)) {
        tare_buffer_put_text(b, "- ");
        tare_buffer_put_json(b, element.as.s);
        tare_buffer_put_u8(b, '\n');
    }
}

/* What a model is made of, or was trained with: where it lies, else its name. */
static void put_relations(tare_buffer *b, const tare_llama_restoring *r, const char *list,
                          const char *name) {
    const tare_str hub = TARE_STR("https://huggingface.co/");
    bool is_first = true;
    for (unsigned i = 0; i < MOST_RELATIONS; i++) {
        static const char *const parts[] = {"repo_url", "name"};
        const tare_value *v = NULL;
        char key[80];
        for (size_t k = 0; k < 2 && !v; k++) {
            snprintf(key, sizeof key, "general.%s.%u.%s", list, i, parts[k]);
            v = tare_llama_key_of(r->gguf, key);
        }
        if (!v || v->type != TARE_VALUE_STRING) break;
        tare_str text = v->as.s;
        if (tare_str_starts(text, hub)) text = tare_str_cut(text, hub.len);
        if (is_first) tare_buffer_printf(b, "%s:\n", name);
        is_first = false;
        tare_buffer_put_text(b, "- ");
        tare_buffer_put_json(b, text);
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
        /* of a text model and its tower: each has as many weights as its tensors have */
        if (r->options->tower && strcmp(k->key, "general.size_label") == 0) continue;
        tare_buffer_printf(&b, "%.*s: ", n, k->card);
        tare_buffer_put_json(&b, v->as.s);
        tare_buffer_put_u8(&b, '\n');
    }
    put_relations(&b, r, "base_model", "base_model");
    put_relations(&b, r, "dataset", "datasets");
    put_list(&b, "tags", tare_llama_key_of(r->gguf, "general.tags"));
    put_list(&b, "language", tare_llama_key_of(r->gguf, "general.languages"));
    tare_buffer_put_text(&b, "---\n");
    return tare_llama_add_file(r, "README.md", &b, err);
}
