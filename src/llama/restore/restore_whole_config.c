/* SPDX-License-Identifier: MIT
 *
 * config.json of a text model and its tower: what the tower says of the whole, the text model's as a
 * member of it, and the tokens that stand for pictures and sounds. */
#include "base/str.h"
#include "llama/restore/restore_whole.h"

static void put_node(tare_buffer *b, const tare_json_node *node, unsigned indent);

/* A member in a line of its own. */
static void put_member(tare_buffer *b, const tare_json_node *node, unsigned indent,
                       bool *is_first) {
    tare_buffer_printf(b, "%s\n%*s", *is_first ? "" : ",", (int)indent, "");
    *is_first = false;
    if (node->key.ptr) {
        tare_buffer_put_json(b, node->key);
        tare_buffer_put_text(b, ": ");
    }
    put_node(b, node, indent);
}

static void put_node(tare_buffer *b, const tare_json_node *node, unsigned indent) {
    const bool is_object = node->type == TARE_JSON_OBJECT;
    bool is_first = true;
    if (node->type == TARE_JSON_STRING) {
        tare_buffer_put_json(b, node->text);
    } else if (!is_object && node->type != TARE_JSON_ARRAY) {
        tare_buffer_put_str(b, node->text);
    } else {
        tare_buffer_put_u8(b, is_object ? '{' : '[');
        for (const tare_json_node *c = node->child; c; c = c->next)
            put_member(b, c, indent + 2, &is_first);
        tare_buffer_printf(b, "\n%*s%c", (int)indent, "", is_object ? '}' : ']');
    }
}

/* The text model's members, those that the tower states before them; one that tells of a tower
 * itself has its place in the whole. */
static void put_text_config(tare_buffer *b, const tare_json_node *text,
                            const tare_json_node *stated, bool *is_first) {
    bool is_first_inside = true;
    tare_buffer_printf(b, "%s\n  \"text_config\": {", *is_first ? "" : ",");
    *is_first = false;
    for (const tare_json_node *c = stated ? stated->child : NULL; c; c = c->next)
        put_member(b, c, 4, &is_first_inside);
    for (const tare_json_node *c = text->child; c; c = c->next)
        if (!tare_json_member(stated, c->key) && !tare_str_is(c->key, "vision_config"))
            put_member(b, c, 4, &is_first_inside);
    tare_buffer_put_text(b, "\n  }");
}

/* The number of a token's text in the file; false: it has none such. */
static bool find_token(uint64_t *id, const tare_model *gguf, tare_str text) {
    const tare_value *list = tare_llama_key_of(gguf, "tokenizer.ggml.tokens");
    tare_array_walk walk;
    tare_value v;
    if (!list || list->type != TARE_VALUE_ARRAY || list->as.a.type != TARE_VALUE_STRING)
        return false;
    tare_array_begin(&walk, &list->as.a);
    for (*id = 0; tare_array_next(&v, &walk); ++*id)
        if (tare_str_equal(v.as.s, text)) return true;
    return false;
}

/* "member=token": ids of the tokens that stand for pictures and sounds. */
static void put_tokens(tare_buffer *b, const tare_llama_whole *w) {
    const char *words = w->arch->back->tokens ? w->arch->back->tokens : "";
    for (tare_str word; (word = tare_llama_next_word(&words)).len;) {
        const char *equals = memchr(word.ptr, '=', word.len);
        const size_t n = (size_t)(equals - word.ptr);
        uint64_t id;
        if (find_token(&id, w->text_gguf, tare_str_cut(word, n + 1)))
            tare_buffer_printf(b, ",\n  \"%.*s\": %llu", (int)n, word.ptr, (unsigned long long)id);
    }
}

tare_status tare_llama_whole_config(tare_str *out, const tare_llama_whole *w, tare_error *err) {
    static const char of_both[] = "tie_word_embeddings bos_token_id eos_token_id pad_token_id";
    const tare_json_node *text, *tower;
    tare_arena *arena = &w->out->arena;
    bool is_first = true;
    tare_buffer b;
    TARE_TRY(tare_model_json(&text, w->text, "config.json", arena, err));
    TARE_TRY(tare_model_json(&tower, w->tower, "config.json", arena, err));
    tare_buffer_init(&b, w->out->allocator);
    tare_buffer_put_u8(&b, '{');
    for (const tare_json_node *c = tower->child; c; c = c->next)
        if (!tare_str_is(c->key, "text_config") && !tare_str_is(c->key, "torch_dtype"))
            put_member(&b, c, 2, &is_first);
    put_tokens(&b, w);
    put_text_config(&b, text, tare_json_member(tower, TARE_STR("text_config")), &is_first);
    for (const tare_json_node *c = text->child; c; c = c->next)
        if (tare_llama_is_one_of(c->key, of_both) || tare_str_is(c->key, "torch_dtype"))
            put_member(&b, c, 2, &is_first);
    tare_buffer_put_text(&b, "\n}\n");
    const tare_status status = tare_buffer_text(out, &b, arena, err);
    tare_buffer_free(&b);
    return status;
}
