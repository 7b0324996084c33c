/* SPDX-License-Identifier: MIT
 *
 * generation_config.json out of the keys: the ids of tokens with a role, and how to sample. */
#include <math.h>
#include <stdio.h>

#include "llama/restore/restore.h"

/* The ids of BOS, EOS and padding; all tokens that end a text: of a turn, of a message. */
static void put_ids(tare_buffer *b, const tare_llama_restoring *r) {
    static const char *const ends[] = {"eos", "eot", "eom"};
    static const char *const others[][2] = {{"bos", "bos"}, {"padding", "pad"}};
    char key[64];
    uint64_t id, seen[3];
    size_t n = 0;
    for (size_t i = 0; i < 2; i++) {
        snprintf(key, sizeof key, "tokenizer.ggml.%s_token_id", others[i][0]);
        const tare_value *v = tare_llama_key_of(r->gguf, key);
        if (v && tare_value_u64(&id, v))
            tare_buffer_printf(b, ",\n  \"%s_token_id\": %llu", others[i][1],
                               (unsigned long long)id);
    }
    for (size_t i = 0; i < 3; i++) {
        snprintf(key, sizeof key, "tokenizer.ggml.%s_token_id", ends[i]);
        const tare_value *v = tare_llama_key_of(r->gguf, key);
        bool is_new = v && tare_value_u64(&id, v);
        for (size_t k = 0; is_new && k < n; k++) is_new = seen[k] != id;
        if (is_new) seen[n++] = id;
    }
    if (n == 0) return;
    tare_buffer_printf(b, ",\n  \"eos_token_id\": %s%llu", n > 1 ? "[" : "",
                       (unsigned long long)seen[0]);
    for (size_t i = 1; i < n; i++) tare_buffer_printf(b, ", %llu", (unsigned long long)seen[i]);
    if (n > 1) tare_buffer_put_u8(b, ']');
}

tare_status tare_llama_restore_generation(tare_llama_restoring *r, tare_error *err) {
    tare_buffer b;
    char text[48];
    const tare_llama_sampling *s;
    tare_buffer_init(&b, r->out->allocator);
    tare_buffer_put_text(&b, "{\n  \"_from_model_config\": false");
    put_ids(&b, r);
    for (size_t i = 0; (s = tare_llama_sampling_at(i)); i++) {
        const tare_value *v = tare_llama_key_of(r->gguf, s->key);
        double number;
        if (!v) continue;
        tare_buffer_printf(&b, ",\n  \"%s\": ", s->member);
        if (v->type == TARE_VALUE_STRING)
            tare_buffer_put_json(&b, v->as.s);
        else if (s->type == TARE_VALUE_I32 && tare_value_f64(&number, v) && isfinite(number))
            tare_buffer_printf(&b, "%.0f", number);
        else if (tare_value_f64(&number, v))
            tare_buffer_put_str(&b,
                                (tare_str){text, tare_llama_f32_text(text, sizeof text, number)});
        else
            tare_buffer_put_text(&b, "null");
    }
    tare_buffer_put_text(&b, "\n}\n");
    return tare_llama_add_file(r, "generation_config.json", &b, err);
}
