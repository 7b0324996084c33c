/* SPDX-License-Identifier: MIT
 *
 * Templates of chats: in chat_template.jinja with additional_chat_templates beside it, in
 * tokenizer_config.json (one, or a list of named ones), or in chat_template.json, the first of these
 * that is there, as Hugging Face's libraries take them. */
#include "base/str.h"
#include "llama/tokenizer/context.h"

#define ADDITIONAL "additional_chat_templates/"

static tare_status add(tare_llama_tokenizer *t, tare_str name, tare_str text, tare_error *err) {
    if (!name.ptr || !text.ptr) return tare_fail(err, TARE_ERR_NOMEM, "chat_template");
    if (tare_str_is(name, "default")) name.len = 0;
    t->templates[t->n_templates++] = (tare_llama_template){name, text};
    return TARE_OK;
}

/* A name as part of a key: all but ASCII letters and digits become underscores. */
static tare_str key_name(tare_str name, tare_arena *arena) {
    char *out = tare_arena_take(arena, name.len);
    for (size_t i = 0; out && i < name.len; i++) {
        char c = name.ptr[i];
        bool is_plain = (c >= '0' && c <= '9') || (c >= 'a' && c <= 'z') || (c >= 'A' && c <= 'Z');
        out[i] = is_plain ? c : '_';
    }
    /* A character counts once, whatever number of bytes it has. */
    size_t n = 0;
    for (size_t i = 0; out && i < name.len; i++)
        if (((unsigned char)name.ptr[i] & 0xc0) != 0x80) out[n++] = out[i];
    return (tare_str){out, n};
}

/* [{"name": ..., "template": ...}, ...] */
static tare_status add_list(tare_llama_tokenizer *t, const tare_json_value *list, tare_error *err) {
    static const char *const members[] = {"name", "template"};
    tare_json j;
    tare_json_value v, values[2];
    size_t n = 0;
    tare_json_span_array(&j, list);
    while (tare_json_span_next(&j, &v) != TARE_JSON_END) n++;
    t->templates = TARE_NEW_ARRAY(&t->scratch, tare_llama_template, n);
    if (!t->templates) return tare_fail(err, TARE_ERR_NOMEM, "chat_template");
    tare_json_span_array(&j, list);
    while (tare_json_span_next(&j, &v) != TARE_JSON_END) {
        tare_json_span_members(&v, members, values, 2);
        if (values[0].type != TARE_JSON_STRING || values[1].type != TARE_JSON_STRING) continue;
        tare_str name = key_name(tare_json_text(&values[0], &t->scratch), &t->scratch);
        if (name.ptr && name.len == 0) continue;
        TARE_TRY(add(t, name, tare_json_text(&values[1], &t->scratch), err));
    }
    return TARE_OK;
}

static tare_status add_value(tare_llama_tokenizer *t, const tare_json_value *v, tare_error *err) {
    if (v->type == TARE_JSON_ARRAY) return add_list(t, v, err);
    if (v->type != TARE_JSON_STRING) return TARE_OK;
    t->templates = TARE_NEW(&t->scratch, tare_llama_template);
    if (!t->templates) return tare_fail(err, TARE_ERR_NOMEM, "chat_template");
    return add(t, TARE_STR("default"), tare_json_text(v, &t->scratch), err);
}

/* additional_chat_templates/NAME.jinja; room for all of them. */
static tare_status add_folder(tare_llama_tokenizer *t, tare_error *err) {
    const tare_str folder = TARE_STR(ADDITIONAL), suffix = TARE_STR(".jinja");
    for (size_t i = 0; i < t->hf->catalog.n_resources; i++) {
        const tare_str path = t->hf->catalog.resources[i].info.name;
        tare_llama_file file;
        if (!tare_str_starts(path, folder) || !tare_str_ends(path, suffix)) continue;
        tare_str name = tare_str_cut(path, folder.len);
        if (name.len <= suffix.len) continue;
        name = key_name((tare_str){name.ptr, name.len - suffix.len}, &t->scratch);
        const char *file_name = tare_arena_str(&t->scratch, path).ptr;
        if (!file_name) return tare_fail(err, TARE_ERR_NOMEM, "chat_template");
        TARE_TRY(tare_llama_file_read_text(&file, t, file_name, err));
        if (file.text.ptr) TARE_TRY(add(t, name, file.text, err));
    }
    return TARE_OK;
}

static bool has_folder(const tare_llama_tokenizer *t) {
    for (size_t i = 0; i < t->hf->catalog.n_resources; i++)
        if (tare_str_starts(t->hf->catalog.resources[i].info.name, TARE_STR(ADDITIONAL)))
            return true;
    return false;
}

static bool has_expression(tare_str text) {
    for (size_t i = 0; i + 1 < text.len; i++)
        if (text.ptr[i] == '{' && (text.ptr[i + 1] == '{' || text.ptr[i + 1] == '%')) return true;
    return false;
}

static tare_status add_files(tare_llama_tokenizer *t, const char *name, tare_error *err) {
    tare_llama_file file;
    TARE_TRY(tare_llama_file_read_text(&file, t, name, err));
    if (!file.text.ptr && (t->options->like_reference || !has_folder(t))) return TARE_OK;
    t->templates = TARE_NEW_ARRAY(&t->scratch, tare_llama_template, t->hf->catalog.n_resources + 1);
    if (!t->templates) return tare_fail(err, TARE_ERR_NOMEM, "chat_template");
    if (file.text.ptr && !has_expression(file.text))
        tare_llama_note(
            t, TARE_LEVEL_WARNING, "tokenizer.plain-template", name,
            "the chat template has no expression: every conversation gives the same text");
    if (file.text.ptr) TARE_TRY(add(t, TARE_STR("default"), file.text, err));
    return add_folder(t, err);
}

static tare_status add_member(tare_llama_tokenizer *t, const tare_llama_file *file,
                              tare_error *err) {
    const tare_json_value v = tare_json_span_member(&file->root, "chat_template");
    const size_t before = t->n_templates;
    TARE_TRY(add_value(t, &v, err));
    if (t->n_templates == before && v.type != TARE_JSON_END && v.type != TARE_JSON_NULL)
        tare_llama_note(t, TARE_LEVEL_WARNING, "tokenizer.no-template", file->name,
                        "chat_template is left out: expected a text, or a list of objects with a "
                        "name and a template");
    return TARE_OK;
}

/* ---- two files --------------------------------------------------------------------------------- */

/* The default template without the white space behind it; empty: there is none. */
static tare_str default_of(const tare_llama_template *templates, size_t n) {
    for (size_t i = 0; i < n; i++) {
        tare_str text = templates[i].text;
        if (templates[i].name.len) continue;
        while (text.len && strchr(" \t\r\n", text.ptr[text.len - 1])) text.len--;
        return text;
    }
    return TARE_STR("");
}

/* A file that comes after the one taken: which template a server uses depends on its library where
 * they differ. */
static tare_status compare(tare_llama_tokenizer *t, const char *taken, const tare_llama_file *other,
                           tare_error *err) {
    tare_llama_template *own = t->templates;
    const size_t n = t->n_templates;
    t->templates = NULL;
    t->n_templates = 0;
    const tare_status status = add_member(t, other, err);
    const tare_str text = default_of(t->templates, t->n_templates);
    t->templates = own;
    t->n_templates = n;
    if (status == TARE_OK && text.len && !tare_str_equal(text, default_of(own, n)))
        tare_llama_note(t, TARE_LEVEL_WARNING, "tokenizer.two-templates", other->name,
                        "its chat template is not that of %s, which is taken", taken);
    return status;
}

tare_status tare_llama_find_templates(tare_llama_tokenizer *t, tare_error *err) {
    static const char jinja[] = "chat_template.jinja";
    const tare_llama_file *config = &t->tokenizer_config;
    tare_llama_file json;
    const char *taken = NULL;
    TARE_TRY(tare_llama_file_read_json(&json, t, "chat_template.json", err));
    /* the reference lets tokenizer_config.json come first */
    if (t->options->like_reference) TARE_TRY(add_member(t, config, err));
    if (!t->n_templates) {
        TARE_TRY(add_files(t, jinja, err));
        if (t->n_templates) taken = jinja;
    }
    if (taken && !t->options->like_reference) TARE_TRY(compare(t, taken, config, err));
    if (!t->n_templates) TARE_TRY(add_member(t, config, err));
    if (t->n_templates && !t->options->like_reference)
        return compare(t, taken ? taken : config->name, &json, err);
    if (!t->n_templates) TARE_TRY(add_member(t, &json, err));
    if (t->n_templates || !t->fall_back_template.len) return TARE_OK;
    t->templates = TARE_NEW(&t->scratch, tare_llama_template);
    if (!t->templates) return tare_fail(err, TARE_ERR_NOMEM, "chat_template");
    return add(t, TARE_STR("default"), t->fall_back_template, err);
}
