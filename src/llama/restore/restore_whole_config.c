/* SPDX-License-Identifier: MIT
 *
 * config.json of a text model and its tower: what the tower says of the whole, the text model's as a
 * member of it, and the tokens that stand for pictures and sounds. */
#include <stdio.h>

#include "base/str.h"
#include "llama/restore/restore_whole.h"

/* The document that is put together; text_config is part of it. */
typedef struct whole {
    tare_arena *arena;
    tare_json_node *root;
    bool is_out_of_memory;
} whole;

static void take(whole *w, tare_json_node *to, const tare_json_node *member) {
    tare_json_node *copy = tare_json_copy(w->arena, member);
    w->is_out_of_memory |= !copy;
    if (copy) tare_json_add(to, member->key, copy);
}

static tare_json_node *make(whole *w, tare_str key, tare_json_type type, tare_str text) {
    tare_json_node *node = text.ptr ? tare_json_new(w->arena, type, text) : NULL;
    w->is_out_of_memory |= !node;
    if (node) tare_json_add(w->root, key, node);
    return node;
}

/* The text model's members, those that the tower states before them; one that tells of a tower
 * itself has its place in the whole. */
static void add_text_config(whole *w, const tare_json_node *text, const tare_json_node *stated) {
    tare_json_node *to = make(w, TARE_STR("text_config"), TARE_JSON_OBJECT, TARE_STR(""));
    if (!to) return;
    for (const tare_json_node *c = stated ? stated->child : NULL; c; c = c->next) take(w, to, c);
    for (const tare_json_node *c = text->child; c; c = c->next)
        if (!tare_json_member(stated, c->key) && !tare_str_is(c->key, "vision_config"))
            take(w, to, c);
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
static void add_tokens(whole *w, const tare_llama_whole *of) {
    const char *words = of->arch->back->tokens ? of->arch->back->tokens : "";
    for (tare_str word; (word = tare_llama_next_word(&words)).len;) {
        const char *equals = memchr(word.ptr, '=', word.len);
        const size_t n = (size_t)(equals - word.ptr);
        char text[24];
        uint64_t id;
        if (!find_token(&id, of->text_gguf, tare_str_cut(word, n + 1))) continue;
        snprintf(text, sizeof text, "%llu", (unsigned long long)id);
        make(w, (tare_str){word.ptr, n}, TARE_JSON_NUMBER,
             tare_arena_str(w->arena, tare_str_of(text)));
    }
}

static void add_all(whole *w, const tare_llama_whole *of, const tare_json_node *text,
                    const tare_json_node *tower) {
    static const char of_both[] = "tie_word_embeddings bos_token_id eos_token_id pad_token_id";
    for (const tare_json_node *c = tower->child; c; c = c->next)
        if (!tare_str_is(c->key, "text_config") && !tare_str_is(c->key, "torch_dtype"))
            take(w, w->root, c);
    add_tokens(w, of);
    add_text_config(w, text, tare_json_member(tower, TARE_STR("text_config")));
    for (const tare_json_node *c = text->child; c; c = c->next)
        if (tare_llama_is_one_of(c->key, of_both) || tare_str_is(c->key, "torch_dtype"))
            take(w, w->root, c);
}

tare_status tare_llama_whole_config(tare_str *out, const tare_llama_whole *of, tare_error *err) {
    static const tare_json_style style = {.indent = 2};
    const tare_json_node *text, *tower;
    tare_arena *arena = &of->out->arena;
    whole w = {.arena = arena, .root = tare_json_new(arena, TARE_JSON_OBJECT, TARE_STR(""))};
    tare_buffer b;
    TARE_TRY(tare_model_json(&text, of->text, "config.json", arena, err));
    TARE_TRY(tare_model_json(&tower, of->tower, "config.json", arena, err));
    if (w.root) add_all(&w, of, text, tower);
    if (!w.root || w.is_out_of_memory) return tare_fail(err, TARE_ERR_NOMEM, "config.json");
    tare_buffer_init(&b, of->out->allocator);
    tare_json_put_tree(&b, w.root, &style);
    tare_buffer_put_u8(&b, '\n');
    const tare_status status = tare_buffer_text(out, &b, arena, err);
    tare_buffer_free(&b);
    return status;
}
