/* SPDX-License-Identifier: MIT
 *
 * What a model says of itself, whatever container it is in: its license, and whether it has a template
 * of chats. */
#include <stdio.h>
#include <string.h>

#include <tare/experimental/llama.h>

#include "base/buffer.h"
#include "base/str.h"
#include "llama/model_card.h"
#include "model/json_resource.h"

/* A text, or those of a list with commas between them. */
static void put_texts(tare_buffer *out, const tare_json_node *node) {
    if (node && node->type == TARE_JSON_STRING) tare_buffer_put_str(out, node->text);
    if (!node || node->type != TARE_JSON_ARRAY) return;
    for (const tare_json_node *c = node->child; c; c = c->next) {
        if (out->size) tare_buffer_put_text(out, ",");
        tare_buffer_put_str(out, tare_json_node_text(c));
    }
}

/* Of a key of the model, or of a safetensors file's metadata; empty: it has none. */
static tare_str text_of_key(const tare_model *model, const char *key) {
    const int64_t i = tare_model_find_key(model, tare_str_of(key));
    const tare_metadata *m = i < 0 ? NULL : tare_model_metadata(model, (size_t)i);
    return m && m->value.type == TARE_VALUE_STRING ? m->value.as.s : TARE_STR("");
}

static tare_status put_license(tare_buffer *out, const tare_model *model, tare_arena *arena,
                               tare_error *err) {
    static const char *const keys[] = {"general.license", "license"};
    const tare_json_node *card;
    tare_str readme;
    for (size_t i = 0; i < 2 && !out->size; i++)
        tare_buffer_put_str(out, text_of_key(model, keys[i]));
    if (out->size) return TARE_OK;
    TARE_TRY(tare_model_text(&readme, model, "README.md", arena, err));
    if (!readme.ptr) return TARE_OK;
    TARE_TRY(tare_llama_model_card_read(&card, readme, arena, err));
    put_texts(out, tare_json_member(card, TARE_STR("license")));
    return TARE_OK;
}

/* Whether a file of JSON has templates in it: a text, or a list of named ones. */
static tare_status look_in_json(bool *out, const tare_model *model, const char *name,
                                tare_arena *arena, tare_error *err) {
    const tare_json_node *root;
    TARE_TRY(tare_model_json(&root, model, name, arena, err));
    const tare_json_node *node = tare_json_member(root, TARE_STR("chat_template"));
    *out |= tare_json_node_text(node).len || (node && node->type == TARE_JSON_ARRAY && node->n);
    return TARE_OK;
}

static tare_status find_template(bool *out, const tare_model *model, tare_arena *arena,
                                 tare_error *err) {
    tare_str text;
    *out = text_of_key(model, "tokenizer.chat_template").len > 0;
    if (*out) return TARE_OK;
    TARE_TRY(tare_model_text(&text, model, "chat_template.jinja", arena, err));
    *out = text.len > 0;
    if (!*out) TARE_TRY(look_in_json(out, model, "tokenizer_config.json", arena, err));
    return *out ? TARE_OK : look_in_json(out, model, "chat_template.json", arena, err);
}

tare_status tare_llama_stated(bool *has_chat_template, char *license, size_t size,
                              const tare_model *model, const tare_context *context,
                              tare_error *err) {
    TARE_REQUIRE(license && size && has_chat_template && model, err);
    tare_context own = tare_context_default();
    tare_arena arena;
    tare_buffer text;
    TARE_TRY(tare_options_read(&own, sizeof own, context, err));
    tare_arena_init(&arena, own.allocator);
    tare_buffer_init(&text, own.allocator);
    tare_status status = put_license(&text, model, &arena, err);
    if (status == TARE_OK) status = tare_buffer_status(&text, err);
    /* what does not fit would pass for another license */
    if (status == TARE_OK &&
        (text.size >= size || (text.size && memchr(text.data, '\0', text.size))))
        status =
            tare_fail(err, TARE_ERR_LIMIT, "the license: longer than a name of one, or with a NUL");
    if (status == TARE_OK) snprintf(license, size, "%.*s", (int)text.size, (const char *)text.data);
    if (status == TARE_OK) status = find_template(has_chat_template, model, &arena, err);
    tare_buffer_free(&text);
    tare_arena_free(&arena);
    return status;
}
