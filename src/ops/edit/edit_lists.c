/* SPDX-License-Identifier: MIT
 *
 * The keys, names and side files that the model will have: its own, changed step by step. The keys
 * of a set of shards are those of its first file, where programs look for them; tensors may be in
 * any file.
 */
#include <stdio.h>
#include <string.h>

#include "base/buffer.h"
#include "base/glob.h"
#include "base/str.h"
#include "model/names.h"
#include "ops/edit/edit_state.h"

#define TEMPLATE_KEY  "tokenizer.chat_template"
#define TEMPLATE_FILE "chat_template.jinja"
#define TOKENS_KEY    "tokenizer.ggml.tokens"

/* ---- patterns -------------------------------------------------------------------------------- */

/* The new name that a step gives to a name; ptr NULL: the step does not match it. */
static tare_status renamed(tare_str *out, tare_edit *e, const tare_edit_step *s, tare_str name,
                           tare_error *err) {
    return tare_glob_rename(out, s->name, s->text, name, &e->arena)
               ? TARE_OK
               : tare_fail(err, TARE_ERR_NOMEM, "names");
}

/* ---- keys ------------------------------------------------------------------------------------ */

/* Of two keys with the same name, the model's own takes precedence over a safetensors pair. */
static tare_metadata *find_key(const tare_edit_part *p, tare_str key) {
    tare_metadata *found = NULL;
    for (size_t i = 0; i < p->n_metadata; i++) {
        tare_metadata *m = &p->metadata[i];
        if (tare_str_equal(m->key, key) && (!found || m->space == TARE_KEYS_MODEL)) found = m;
    }
    return found;
}

static tare_status add_key(tare_edit *e, tare_edit_part *p, const tare_metadata *m,
                           tare_error *err) {
    if (p->n_metadata == p->metadata_capacity) {
        const size_t n = p->n_metadata, capacity = 2 * n + 16;
        tare_metadata *metadata = TARE_NEW_ARRAY(&e->arena, tare_metadata, capacity);
        size_t *origins = TARE_NEW_ARRAY(&e->arena, size_t, capacity);
        if (!metadata || !origins) return tare_fail(err, TARE_ERR_NOMEM, "metadata");
        if (n) memcpy(metadata, p->metadata, n * sizeof *metadata);
        if (n) memcpy(origins, p->key_origins, n * sizeof *origins);
        p->metadata = metadata;
        p->key_origins = origins;
        p->metadata_capacity = capacity;
    }
    p->key_origins[p->n_metadata] = SIZE_MAX;
    p->metadata[p->n_metadata++] = *m;
    return TARE_OK;
}

static tare_status key_fault(tare_error *err, tare_status status, tare_str key) {
    tare_error_item(err, TARE_ITEM_KEY, -1, key);
    return status;
}

static tare_status set_key(tare_edit *e, tare_edit_part *p, tare_str key, tare_str text,
                           const char *type, tare_error *err) {
    tare_metadata *old = find_key(p, key);
    const bool is_pair =
        old ? old->space == TARE_KEYS_SAFETENSORS : e->format->stored.keys == TARE_KEY_FORM_PAIRS;
    tare_metadata m = {.space = is_pair ? TARE_KEYS_SAFETENSORS : TARE_KEYS_MODEL,
                       .offset = TARE_NO_OFFSET};
    if (key.len == 0) return tare_fail(err, TARE_ERR_ARG, "a key has a name");
    if (is_pair && type && strcmp(type, "string") != 0 && strcmp(type, "str") != 0)
        return key_fault(err,
                         tare_fail(err, TARE_ERR_UNSUPPORTED,
                                   "the pairs of a safetensors __metadata__ are strings"),
                         key);
    tare_status status = tare_edit_value(&m.value, text, is_pair ? "string" : type,
                                         old ? &old->value : NULL, &e->arena, &e->limits, err);
    if (status != TARE_OK) return key_fault(err, status, key);
    m.key = tare_arena_str(&e->arena, key);
    if (!m.key.ptr) return tare_fail(err, TARE_ERR_NOMEM, "metadata");
    if (!old) return add_key(e, p, &m, err);
    old->value = m.value;
    return TARE_OK;
}

static tare_status type_key(tare_edit *e, tare_edit_part *p, const tare_edit_step *s, size_t *n,
                            tare_error *err) {
    tare_metadata *m = find_key(p, s->name);
    if (!m) return TARE_OK;
    ++*n;
    if (m->space == TARE_KEYS_SAFETENSORS)
        return key_fault(err,
                         tare_fail(err, TARE_ERR_UNSUPPORTED,
                                   "the pairs of a safetensors __metadata__ are strings"),
                         m->key);
    const tare_value old = m->value;
    tare_status status = tare_edit_retype(&m->value, &old, s->type, &e->arena, &e->limits, err);
    return status == TARE_OK ? TARE_OK : key_fault(err, status, s->name);
}

static tare_status remove_keys(tare_edit_part *p, const tare_edit_step *s, size_t *n) {
    size_t kept = 0;
    for (size_t i = 0; i < p->n_metadata; i++) {
        const bool goes = tare_glob_matches(s->name, p->metadata[i].key, false);
        *n += goes;
        if (goes) continue;
        p->metadata[kept] = p->metadata[i];
        p->key_origins[kept++] = p->key_origins[i];
    }
    p->n_metadata = kept;
    return TARE_OK;
}

static tare_status rename_keys(tare_edit *e, tare_edit_part *p, const tare_edit_step *s, size_t *n,
                               tare_error *err) {
    TARE_TRY(tare_edit_check_renaming(s, err));
    for (size_t i = 0; i < p->n_metadata; i++) {
        tare_str name;
        TARE_TRY(renamed(&name, e, s, p->metadata[i].key, err));
        if (!name.ptr) continue;
        p->metadata[i].key = name;
        ++*n;
    }
    return TARE_OK;
}

/* ---- the tokenizer --------------------------------------------------------------------------- */

static tare_status set_resource(tare_edit *e, tare_edit_part *p, const char *name, tare_str text,
                                tare_error *err) {
    const tare_str bytes = tare_arena_str(&e->arena, text);
    if (!bytes.ptr) return tare_fail(err, TARE_ERR_NOMEM, "resource");
    const tare_resource_entry r = {.info = {tare_str_of(name), bytes.len},
                                   .bytes = (const uint8_t *)bytes.ptr};
    for (size_t i = 0; i < p->n_resources; i++)
        if (tare_str_is(p->resources[i].info.name, name)) {
            p->resources[i] = r;
            return TARE_OK;
        }
    p->resources[p->n_resources++] = r; /* there is room for one */
    return TARE_OK;
}

/* A key if the model has such keys; else a file, which transformers reads first. */
static tare_status set_template(tare_edit *e, tare_edit_part *p, tare_str text, tare_error *err) {
    const tare_str key = TARE_STR(TEMPLATE_KEY);
    const bool has_keys = find_key(p, TARE_STR(TOKENS_KEY)) || find_key(p, key);
    if (!tare_str_is_utf8(text))
        return tare_fail(err, TARE_ERR_ARG, "the chat template is not UTF-8");
    if (e->format->stored.program == TARE_PROGRAM_LLAMA_CPP || has_keys)
        return set_key(e, p, key, text, "string", err);
    if (e->directory || e->format->stored.extras & TARE_EXTRA_FILES)
        return set_resource(e, p, TEMPLATE_FILE, text, err);
    return tare_fail(err, TARE_ERR_UNSUPPORTED,
                     "the chat template is a file beside this one: name the directory");
}

/* The part of a special token's key that tells it from others; the short names of Hugging Face, too. */
static const char *special_part(tare_str name) {
    static const char *const parts[][2] = {
        {"bos", "bos"},
        {"eos", "eos"},
        {"eot", "eot"},
        {"eom", "eom"},
        {"unk", "unknown"},
        {"unknown", "unknown"},
        {"sep", "seperator"},
        {"seperator", "seperator"}, /* llama.cpp's spelling */
        {"separator", "seperator"},
        {"pad", "padding"},
        {"padding", "padding"},
        {"cls", "cls"},
        {"mask", "mask"},
        {"prefix", "prefix"},
        {"suffix", "suffix"},
        {"middle", "middle"},
        {"fim_pre", "fim_pre"},
        {"fim_suf", "fim_suf"},
        {"fim_mid", "fim_mid"},
        {"fim_pad", "fim_pad"},
        {"fim_rep", "fim_rep"},
        {"fim_sep", "fim_sep"},
    };
    for (size_t i = 0; i < sizeof parts / sizeof *parts; i++)
        if (tare_str_is(name, parts[i][0])) return parts[i][1];
    return NULL;
}

bool tare_edit_is_special_token(tare_str key) {
    const tare_str begin = TARE_STR("tokenizer.ggml."), end = TARE_STR("_token_id");
    if (key.len < begin.len + end.len || !tare_str_starts(key, begin) || !tare_str_ends(key, end))
        return false;
    const tare_str name = {key.ptr + begin.len, key.len - begin.len - end.len};
    const char *part = special_part(name);
    return part && tare_str_is(name, part);
}

static tare_status set_special(tare_edit *e, tare_edit_part *p, const tare_edit_step *s,
                               tare_error *err) {
    const tare_metadata *tokens = find_key(p, TARE_STR(TOKENS_KEY));
    const tare_array *list = tokens ? &tokens->value.as.a : NULL;
    const char *part = special_part(s->name);
    if (!tokens || tokens->value.type != TARE_VALUE_ARRAY || list->type != TARE_VALUE_STRING)
        return tare_fail(err, TARE_ERR_UNSUPPORTED, "the model has no list of tokens");
    if (!part) {
        tare_fail(
            err, TARE_ERR_ARG,
            "not a special token: bos, eos, eot, eom, unk, sep, pad, cls, mask, prefix, suffix, "
            "middle or fim_pre, _suf, _mid, _pad, _rep, _sep");
        tare_error_detail(err, "%.*s", (int)s->name.len, s->name.ptr);
        return TARE_ERR_ARG;
    }
    tare_array_walk walk;
    tare_value token;
    tare_array_begin(&walk, list);
    for (uint64_t i = 0; tare_array_next(&token, &walk); i++) {
        if (!tare_str_equal(token.as.s, s->text)) continue;
        tare_buffer key, number;
        tare_buffer_init(&key, e->arena.allocator);
        tare_buffer_init(&number, e->arena.allocator);
        tare_buffer_printf(&key, "tokenizer.ggml.%s_token_id", part);
        tare_buffer_printf(&number, "%llu", (unsigned long long)i);
        tare_status status = tare_buffer_status(&key, err);
        if (status == TARE_OK) status = tare_buffer_status(&number, err);
        if (status == TARE_OK)
            status = set_key(e, p, (tare_str){(const char *)key.data, key.size},
                             (tare_str){(const char *)number.data, number.size}, "u32", err);
        tare_buffer_free(&key);
        tare_buffer_free(&number);
        return status;
    }
    tare_fail(err, TARE_ERR_ARG, "no token of the vocabulary has this text");
    tare_error_detail(err, "\"%.*s\"", (int)s->text.len, s->text.ptr);
    return TARE_ERR_ARG;
}

/* ---- tensors --------------------------------------------------------------------------------- */

static tare_status rename_tensors(tare_edit *e, tare_edit_part *p, const tare_edit_step *s,
                                  size_t *n, tare_error *err) {
    TARE_TRY(tare_edit_check_renaming(s, err));
    for (size_t i = 0; i < p->model->catalog.n_tensors; i++) {
        tare_str name;
        if (!p->names[i].ptr) continue;
        TARE_TRY(renamed(&name, e, s, p->names[i], err));
        if (!name.ptr) continue;
        p->names[i] = name;
        ++*n;
    }
    return TARE_OK;
}

/* Whether a step of this kind is for a tensor. */
static bool is_named(tare_edit *e, tare_edit_kind kind, tare_str name) {
    bool is_any = false;
    for (size_t k = 0; k < e->n_steps; k++) {
        if (e->steps[k].kind != kind) continue;
        const bool does = tare_glob_matches(e->steps[k].name, name, false);
        e->n_matches[k] += does;
        is_any |= does;
    }
    return is_any;
}

/* By the names that the tensors have in the file, before all else. */
static void drop_tensors(tare_edit *e, tare_edit_part *p) {
    bool keeps_some = false;
    for (size_t k = 0; k < e->n_steps; k++)
        keeps_some |= e->steps[k].kind == TARE_EDIT_KEEP_TENSORS;
    for (size_t i = 0; i < p->model->catalog.n_tensors; i++) {
        const bool goes = is_named(e, TARE_EDIT_DROP_TENSORS, p->names[i]);
        const bool stays = !keeps_some || is_named(e, TARE_EDIT_KEEP_TENSORS, p->names[i]);
        if (goes || !stays) p->names[i] = (tare_str){NULL, 0};
    }
}

/* ---- all ------------------------------------------------------------------------------------- */

static tare_status begin(tare_edit *e, tare_edit_part *p, tare_error *err) {
    const tare_catalog *c = &p->model->catalog;
    p->metadata_capacity = c->n_metadata + 16;
    p->metadata = TARE_NEW_ARRAY(&e->arena, tare_metadata, p->metadata_capacity);
    p->key_origins = TARE_NEW_ARRAY(&e->arena, size_t, p->metadata_capacity);
    p->names = TARE_NEW_ARRAY(&e->arena, tare_str, c->n_tensors);
    p->resources = TARE_NEW_ARRAY(&e->arena, tare_resource_entry, c->n_resources + 1);
    if (!p->metadata || !p->key_origins || !p->names || !p->resources)
        return tare_fail(err, TARE_ERR_NOMEM, "edit");
    for (size_t i = 0; i < c->n_metadata; i++) {
        if (tare_metadata_is_spare(&c->metadata[i])) continue; /* the writer fills up anew */
        p->key_origins[p->n_metadata] = i;
        p->metadata[p->n_metadata++] = c->metadata[i];
    }
    for (size_t i = 0; i < c->n_tensors; i++) p->names[i] = c->tensors[i].name;
    p->n_resources = c->n_resources;
    if (c->n_resources) memcpy(p->resources, c->resources, c->n_resources * sizeof *p->resources);
    return TARE_OK;
}

static tare_status do_step(tare_edit *e, size_t k, tare_error *err) {
    const tare_edit_step *s = &e->steps[k];
    tare_edit_part *first = &e->parts[0];
    size_t *n = &e->n_matches[k];
    switch (s->kind) {
    case TARE_EDIT_SET_KEY:
        ++*n;
        return set_key(e, first, s->name, s->text, s->type, err);
    case TARE_EDIT_REMOVE_KEYS:
        return remove_keys(first, s, n);
    case TARE_EDIT_RENAME_KEYS:
        return rename_keys(e, first, s, n, err);
    case TARE_EDIT_TYPE_KEY:
        return type_key(e, first, s, n, err);
    case TARE_EDIT_RENAME_TENSORS:
        for (size_t i = 0; i < e->n_parts; i++)
            TARE_TRY(rename_tensors(e, &e->parts[i], s, n, err));
        return TARE_OK;
    case TARE_EDIT_DROP_TENSORS:
    case TARE_EDIT_KEEP_TENSORS:
        return TARE_OK; /* done before */
    case TARE_EDIT_CHAT_TEMPLATE:
        ++*n;
        return set_template(e, first, s->text, err);
    case TARE_EDIT_SPECIAL_TOKEN:
        ++*n;
        return set_special(e, first, s, err);
    }
    return tare_fail(err, TARE_ERR_ARG, "step: no such kind");
}

/* A step that matches nothing is usually a mistyped name. */
static tare_status check_matches(const tare_edit *e, tare_error *err) {
    for (size_t k = 0; k < e->n_steps; k++) {
        const tare_edit_kind kind = e->steps[k].kind;
        const bool is_key = kind == TARE_EDIT_REMOVE_KEYS || kind == TARE_EDIT_RENAME_KEYS ||
                            kind == TARE_EDIT_TYPE_KEY;
        if (e->n_matches[k]) continue;
        tare_fail(err, TARE_ERR_ARG, "nothing in the model has this name");
        tare_error_item(err, is_key ? TARE_ITEM_KEY : TARE_ITEM_TENSOR, -1, e->steps[k].name);
        return TARE_ERR_ARG;
    }
    return TARE_OK;
}

/* A set of shards counts its tensors in each of them. Dropping all tensors has to be forced. */
static tare_status recount(tare_edit *e, tare_error *err) {
    uint64_t n = 0;
    bool has_dropped = false;
    char text[24];
    for (size_t i = 0; i < e->n_parts; i++)
        for (size_t t = 0; t < e->parts[i].model->catalog.n_tensors; t++) {
            n += e->parts[i].names[t].ptr != NULL;
            has_dropped |= e->parts[i].names[t].ptr == NULL;
        }
    if (has_dropped && n == 0 && !e->options.output->force) {
        tare_fail(err, TARE_ERR_ARG, "no tensor would be left");
        tare_error_code(err, TARE_CODE_EDIT_REFUSED);
        return TARE_ERR_ARG;
    }
    if (!has_dropped || e->n_parts == 1) return TARE_OK;
    snprintf(text, sizeof text, "%llu", (unsigned long long)n);
    for (size_t i = 0; i < e->n_parts; i++)
        if (find_key(&e->parts[i], TARE_STR("split.tensors.count")))
            TARE_TRY(set_key(e, &e->parts[i], TARE_STR("split.tensors.count"), tare_str_of(text),
                             NULL, err));
    return TARE_OK;
}

static tare_status wrong_name(tare_error *err, tare_item_kind kind, tare_str name,
                              const char *what) {
    tare_fail(err, TARE_ERR_ARG, what);
    tare_error_item(err, kind, -1, name);
    return TARE_ERR_ARG;
}

static tare_status check_tensor_names(tare_edit *e, tare_error *err) {
    tare_name_index index;
    size_t n = 0, most = 0;
    for (size_t i = 0; i < e->n_parts; i++) most += e->parts[i].model->catalog.n_tensors;
    tare_str *all = TARE_NEW_ARRAY(&e->arena, tare_str, most);
    if (!all) return tare_fail(err, TARE_ERR_NOMEM, "names");
    TARE_TRY(tare_name_index_init(&index, &e->arena, most, err));
    for (size_t i = 0; i < e->n_parts; i++)
        for (size_t t = 0; t < e->parts[i].model->catalog.n_tensors; t++) {
            const tare_str name = e->parts[i].names[t];
            const bool is_old = name.ptr == e->parts[i].model->catalog.tensors[t].name.ptr;
            if (!name.ptr) continue;
            all[n] = name;
            if (!is_old && !tare_format_caps_has_name(e->format->caps, name))
                return wrong_name(err, TARE_ITEM_TENSOR, name,
                                  "the format cannot hold a tensor of this name");
            if (tare_name_index_add(&index, all, sizeof *all, n++, NULL) >= 0)
                return wrong_name(err, TARE_ITEM_TENSOR, name, "two tensors would have this name");
        }
    return TARE_OK;
}

static tare_status check_keys(tare_edit *e, const tare_edit_part *p, tare_error *err) {
    tare_model m = *p->model;
    m.catalog.metadata = p->metadata;
    m.catalog.n_metadata = p->n_metadata;
    tare_error why;
    tare_status status = tare_model_index_keys(&m, &e->arena, &why);
    if (status == TARE_ERR_CORRUPT)
        return wrong_name(err, TARE_ITEM_KEY,
                          why.item >= 0 ? p->metadata[why.item].key : (tare_str){"", 0},
                          "two keys would have this name, or a key would have an empty one");
    return status == TARE_OK ? TARE_OK : tare_fail(err, status, why.what);
}

static void settle(tare_edit *e, tare_edit_part *p) {
    tare_plan_changes *c = &p->changes;
    *c = (tare_plan_changes){.metadata = p->metadata,
                             .n_metadata = p->n_metadata,
                             .names = p->names,
                             .resources = p->resources,
                             .n_resources = p->n_resources,
                             .replaces_input = !e->options.out_path,
                             .is_forced = e->options.output->force,
                             .keeps_place =
                                 !e->options.out_path && e->options.way != TARE_EDIT_REWRITE,
                             .spare = e->options.spare};
    for (size_t i = 0; i < p->model->catalog.n_tensors; i++) {
        c->has_dropped |= p->names[i].ptr == NULL;
        c->has_renamed |=
            p->names[i].ptr && !tare_str_equal(p->names[i], p->model->catalog.tensors[i].name);
    }
}

tare_status tare_edit_make_lists(tare_edit *e, tare_error *err) {
    for (size_t i = 0; i < e->n_parts; i++) {
        TARE_TRY(begin(e, &e->parts[i], err));
        drop_tensors(e, &e->parts[i]);
    }
    for (size_t k = 0; k < e->n_steps; k++) TARE_TRY(do_step(e, k, err));
    TARE_TRY(check_matches(e, err));
    TARE_TRY(recount(e, err));
    TARE_TRY(check_tensor_names(e, err));
    for (size_t i = 0; i < e->n_parts; i++) {
        TARE_TRY(check_keys(e, &e->parts[i], err));
        settle(e, &e->parts[i]);
    }
    return TARE_OK;
}
