/* SPDX-License-Identifier: MIT
 *
 * The entries themselves, in the order in which llama.cpp's converter writes them. */
#include <stdlib.h>

#include "base/str.h"
#include "llama/tokenizer/context.h"

#define KEY(name)  "tokenizer.ggml." name
#define FIXED_KEYS 40 /* more than there are without templates */

typedef struct key_list {
    tare_metadata *items;
    size_t n;
} key_list;

static void put(key_list *l, tare_str key, const tare_value *value) {
    for (size_t i = 0; i < l->n; i++)
        if (l->items[i].space == TARE_KEYS_MODEL && tare_str_equal(l->items[i].key, key)) {
            l->items[i].value = *value;
            return;
        }
    l->items[l->n++] = (tare_metadata){key, *value, TARE_KEYS_MODEL, TARE_NO_OFFSET};
}

static void put_u32(key_list *l, const char *key, uint64_t n) {
    put(l, tare_str_of(key), &(tare_value){.type = TARE_VALUE_U32, .as.u = n});
}

static void put_flag(key_list *l, const char *key, tare_llama_flag flag) {
    if (flag == TARE_LLAMA_FLAG_UNSET) return;
    put(l, tare_str_of(key),
        &(tare_value){.type = TARE_VALUE_BOOL, .as.u = flag == TARE_LLAMA_FLAG_YES});
}

/* A copy of a text; an empty text makes no key. */
static tare_status put_text(key_list *l, tare_str key, tare_str text, tare_arena *arena,
                            tare_error *err) {
    tare_value value = {.type = TARE_VALUE_STRING, .as.s = tare_arena_str(arena, text)};
    if (!value.as.s.ptr) return tare_fail(err, TARE_ERR_NOMEM, "keys");
    if (text.len) put(l, key, &value);
    return TARE_OK;
}

/* ---- parts ----------------------------------------------------------------------------------- */

static tare_status put_vocabulary(key_list *l, tare_llama_tokenizer *t, tare_arena *arena,
                                  tare_error *err) {
    tare_value value;
    const tare_llama_vocab *v = &t->vocab;
    TARE_TRY(put_text(l, TARE_STR(KEY("model")), tare_str_of(t->model), arena, err));
    if (t->pre.ptr) TARE_TRY(put_text(l, TARE_STR(KEY("pre")), t->pre, arena, err));
    if (v->n_tokens == 0) return TARE_OK;
    TARE_TRY(
        tare_llama_pack_strings(&value, v->tokens, v->n_tokens, sizeof *v->tokens, arena, err));
    put(l, TARE_STR(KEY("tokens")), &value);
    if (t->has_scores) {
        TARE_TRY(tare_llama_pack_scores(&value, v, arena, err));
        put(l, TARE_STR(KEY("scores")), &value);
    }
    TARE_TRY(tare_llama_pack_types(&value, v, arena, err));
    put(l, TARE_STR(KEY("token_type")), &value);
    return TARE_OK;
}

static tare_status put_merges(key_list *l, tare_llama_tokenizer *t, tare_arena *arena,
                              tare_error *err) {
    tare_value value;
    const tare_llama_vocab *v = &t->vocab;
    if (v->n_merges == 0) return TARE_OK;
    TARE_TRY(
        tare_llama_pack_strings(&value, v->merges, v->n_merges, sizeof *v->merges, arena, err));
    put(l, TARE_STR(KEY("merges")), &value);
    return TARE_OK;
}

static void put_ids(key_list *l, const tare_llama_tokenizer *t, bool late) {
    static const char *const keys[] = {
        KEY("bos_token_id"),     KEY("eos_token_id"),
        KEY("unknown_token_id"), KEY("seperator_token_id"), /* llama.cpp's spelling */
        KEY("padding_token_id"), NULL,
        KEY("mask_token_id"),    KEY("eot_token_id"),
        KEY("eom_token_id"),     KEY("prefix_token_id"),
        KEY("suffix_token_id"),  KEY("middle_token_id")};
    _Static_assert(sizeof keys / sizeof *keys == TARE_LLAMA_SPECIAL_COUNT, "one key for each");
    for (size_t i = 0; i < t->n_ids; i++)
        if (t->ids[i].is_late == late && keys[t->ids[i].special])
            put_u32(l, keys[t->ids[i].special], t->ids[i].id);
}

static void put_adds(key_list *l, const tare_llama_tokenizer *t) {
    static const char *const keys[] = {KEY("add_bos_token"), KEY("add_eos_token"),
                                       KEY("add_sep_token")};
    for (size_t i = 0; i < t->n_adds; i++)
        put_flag(l, keys[t->add_order[i]], t->adds[t->add_order[i]]);
}

static int by_name(const void *a, const void *b) {
    return tare_str_compare(((const tare_llama_template *)a)->name,
                            ((const tare_llama_template *)b)->name);
}

static tare_status put_named_template(key_list *l, const tare_llama_template *named,
                                      tare_arena *arena, tare_error *err) {
    static const char prefix[] = "tokenizer.chat_template.";
    char *key = tare_arena_take(arena, sizeof prefix - 1 + named->name.len);
    if (!key) return tare_fail(err, TARE_ERR_NOMEM, "keys");
    memcpy(key, prefix, sizeof prefix - 1);
    memcpy(key + sizeof prefix - 1, named->name.ptr, named->name.len);
    return put_text(l, (tare_str){key, sizeof prefix - 1 + named->name.len}, named->text, arena,
                    err);
}

/* Named templates, their names, the default one. */
static tare_status put_templates(key_list *l, tare_llama_tokenizer *t, tare_arena *arena,
                                 tare_error *err) {
    tare_llama_template *all = t->templates;
    tare_value value;
    size_t n = 0;
    tare_str text = {NULL, 0};
    for (size_t i = 0; i < t->n_templates; i++) {
        if (all[i].name.len)
            TARE_TRY(put_named_template(l, &all[i], arena, err));
        else
            text = all[i].text;
    }
    if (t->n_templates) qsort(all, t->n_templates, sizeof *all, by_name);
    for (size_t i = 0; i < t->n_templates; i++)
        if (all[i].name.len && (n == 0 || !tare_str_equal(all[i].name, all[n - 1].name)))
            all[n++] = all[i];
    if (n) {
        TARE_TRY(tare_llama_pack_strings(&value, all, n, sizeof *all, arena, err));
        put(l, TARE_STR("tokenizer.chat_templates"), &value);
    }
    return text.len ? put_text(l, TARE_STR("tokenizer.chat_template"), text, arena, err) : TARE_OK;
}

/* ---- all of it ------------------------------------------------------------------------------- */

static bool is_model(const tare_llama_tokenizer *t, const char *model) {
    return strcmp(t->model, model) == 0;
}

/* What only some kinds of vocabulary have, after the tokens. */
static tare_status put_own(key_list *l, tare_llama_tokenizer *t, tare_arena *arena,
                           tare_error *err) {
    tare_value value;
    put_flag(l, KEY("add_space_prefix"), t->add_space_prefix);
    if (is_model(t, "t5") && t->options->token_types)
        put_u32(l, KEY("token_type_count"), t->options->token_types);
    put_flag(l, KEY("remove_extra_whitespaces"), t->remove_extra_whitespaces);
    if (t->charsmap.len) {
        TARE_TRY(tare_llama_pack_bytes(&value, t->charsmap, arena, err));
        put(l, TARE_STR(KEY("precompiled_charsmap")), &value);
    }
    return TARE_OK;
}

static tare_status put_all(key_list *l, tare_llama_tokenizer *t, tare_arena *arena,
                           tare_error *err) {
    const tare_llama_tokenizer_options *o = t->options;
    tare_json_value prefix = tare_json_span_member(&t->tokenizer_config.root, "add_prefix_space");
    put_flag(l, KEY("add_bos_token"), o->usual_bos);
    put_flag(l, KEY("add_eos_token"), o->usual_eos);
    put_flag(l, KEY("add_sep_token"), o->usual_sep);
    const bool has_none = t->json.file.text.ptr && t->add_space_prefix == TARE_LLAMA_FLAG_NO;
    if (o->reads_prefix_space && !has_none &&
        (prefix.type == TARE_JSON_TRUE || prefix.type == TARE_JSON_FALSE)) {
        put_flag(l, KEY("add_space_prefix"),
                 prefix.type == TARE_JSON_TRUE ? TARE_LLAMA_FLAG_YES : TARE_LLAMA_FLAG_NO);
        t->add_space_prefix = TARE_LLAMA_FLAG_UNSET; /* whatever tokenizer.model says */
    }
    if (is_model(t, "bert") && o->token_types) put_u32(l, KEY("token_type_count"), o->token_types);
    TARE_TRY(put_vocabulary(l, t, arena, err));
    TARE_TRY(put_own(l, t, arena, err));
    TARE_TRY(put_merges(l, t, arena, err));
    put_ids(l, t, false);
    put_adds(l, t);
    TARE_TRY(put_templates(l, t, arena, err));
    put_flag(l, KEY("normalizer.lowercase"), t->lowercase);
    put_flag(l, KEY("normalizer.strip_accents"), t->strip_accents);
    put_ids(l, t, true);
    if (!is_model(t, "bert") && !is_model(t, "t5") && o->token_types)
        put_u32(l, KEY("token_type_count"), o->token_types);
    put_flag(l, KEY("add_space_prefix"), o->add_space_prefix);
    put_flag(l, KEY("add_bos_token"), o->add_bos);
    put_flag(l, KEY("add_eos_token"), o->add_eos);
    return TARE_OK;
}

tare_status tare_llama_write_keys(tare_metadata **entries, size_t *n, tare_llama_tokenizer *t,
                                  tare_arena *arena, tare_error *err) {
    key_list l = {TARE_NEW_ARRAY(arena, tare_metadata, *n + t->n_templates + FIXED_KEYS), *n};
    if (!l.items) return tare_fail(err, TARE_ERR_NOMEM, "keys");
    if (*n) memcpy(l.items, *entries, *n * sizeof *l.items);
    TARE_TRY(put_all(&l, t, arena, err));
    *entries = l.items;
    *n = l.n;
    return TARE_OK;
}
