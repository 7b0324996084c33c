/* SPDX-License-Identifier: MIT
 *
 * tare report: metadata, and a sample of the tokenizer. A model of Hugging Face has its tokenizer
 * in files: it is shown as llama.cpp's converter reads them. */
#include <string.h>

#include "report_document.h"
#include "tokenizer_facts.h"

#define SAMPLE         64 /* tokens of each list */
#define ARRAY_ELEMENTS 16
#define TEXT_MOST      4096          /* bytes of a value; the rest is cut */
#define TEMPLATE_MOST  (64u * 1024u) /* of a chat template */
#define TOKEN_MOST     128

/* ---- texts ----------------------------------------------------------------------------------- */

/* The longest beginning of at most `most` bytes that ends between characters. */
static tare_str cut(tare_str text, size_t most) {
    if (text.len <= most) return text;
    text.len = most;
    while (text.len && ((unsigned char)text.ptr[text.len] & 0xC0) == 0x80) text.len--;
    return text;
}

/* A text, and its length where it is cut. */
static void add_cut(tare_json_node *object, const char *key, tare_str text, size_t most) {
    const tare_value value = {.type = TARE_VALUE_STRING, .as.s = cut(text, most)};
    cli_json_add(object, key, cli_json_value(&value, 0));
    if (text.len > most) cli_json_u64(object, "length_bytes", text.len);
}

static tare_json_node *token_entry(uint64_t id, tare_str text) {
    tare_json_node *entry = cli_json_object();
    cli_json_u64(entry, "id", id);
    add_cut(entry, "text", text, TOKEN_MOST);
    return entry;
}

/* ---- tokenizer ------------------------------------------------------------------------------- */

/* The first tokens, the last ones, and those that are no text of the vocabulary's own. */
static void add_samples(tare_json_node *object, const cli_tokenizer *t) {
    tare_json_node *first = cli_json_array(), *last = cli_json_array(), *others = cli_json_array();
    tare_array_walk texts, types;
    tare_value text, type_value;
    uint64_t n_bytes = 0, n_others = 0;
    tare_array_begin(&texts, t->tokens);
    if (t->types) tare_array_begin(&types, t->types);
    for (uint64_t id = 0; tare_array_next(&text, &texts); id++) {
        uint64_t type = 0;
        if (t->types && tare_array_next(&type_value, &types)) tare_value_u64(&type, &type_value);
        n_bytes += text.as.s.len;
        if (id < SAMPLE) cli_json_append(first, token_entry(id, text.as.s));
        if (id >= SAMPLE && id + SAMPLE >= t->tokens->count)
            cli_json_append(last, token_entry(id, text.as.s));
        const bool is_other = type == CLI_TOKEN_UNKNOWN || type == CLI_TOKEN_CONTROL ||
                              type == CLI_TOKEN_USER_DEFINED;
        if (is_other && n_others++ < SAMPLE) cli_json_append(others, token_entry(id, text.as.s));
    }
    cli_json_u64(object, "token_bytes", n_bytes);
    cli_json_add(object, "first_tokens", first);
    cli_json_add(object, "last_tokens", last);
    cli_json_add(object, "non_text_tokens", others);
}

static tare_json_node *special_tokens(const cli_tokenizer *t) {
    tare_json_node *list = cli_json_array();
    for (size_t i = 0; i < t->n_special; i++) {
        tare_json_node *entry = cli_json_object();
        cli_json_text(entry, "role", t->special[i].name);
        cli_json_u64(entry, "id", t->special[i].id);
        if (t->special[i].has_text) add_cut(entry, "text", t->special[i].text, TOKEN_MOST);
        cli_json_append(list, entry);
    }
    return list;
}

static void add_tokenizer(tare_json_node *document, const tare_model *model, bool is_mapped) {
    cli_tokenizer t;
    if (!cli_tokenizer_read(&t, model)) return;
    tare_json_node *object = cli_json_object();
    const tare_value *chat = cli_value_of(model, "tokenizer.chat_template");
    add_cut(object, "model", t.model, TOKEN_MOST);
    if (t.pre.len) add_cut(object, "pre", t.pre, TOKEN_MOST);
    cli_json_bool(object, "is_mapped", is_mapped);
    if (t.types) cli_json_u64(object, "control_token_count", t.n_control);
    if (t.types) cli_json_u64(object, "user_defined_token_count", t.n_user_defined);
    cli_json_add(object, "special_tokens", special_tokens(&t));
    if (t.tokens && t.tokens->type == TARE_VALUE_STRING) {
        cli_json_u64(object, "token_count", t.tokens->count);
        add_samples(object, &t);
    }
    if (chat && chat->type == TARE_VALUE_STRING)
        add_cut(object, "chat_template", chat->as.s, TEMPLATE_MOST);
    cli_json_add(document, "tokenizer_sample", object);
}

void report_add_tokenizer(tare_json_node *document, const tare_model *model) {
    tare_llama_options options = tare_llama_options_default();
    tare_model *mapped;
    tare_error err;
    if (cli_value_of(model, "tokenizer.ggml.model") || !tare_llama_can_map(NULL, model)) {
        add_tokenizer(document, model, false);
        return;
    }
    options.vocab_only = true;
    /* A tokenizer that llama.cpp does not know is none that could be shown. */
    if (tare_llama_map(&mapped, model, &options, &err) != TARE_OK) return;
    add_tokenizer(document, mapped, true);
    tare_model_free(mapped);
}

/* ---- metadata -------------------------------------------------------------------------------- */

void report_add_metadata(tare_json_node *document, const tare_model *model) {
    tare_json_node *list = cli_json_array();
    const tare_metadata *entry;
    for (size_t i = 0; (entry = tare_model_metadata(model, i)) != NULL; i++) {
        tare_metadata shown = *entry;
        const bool is_text = entry->value.type == TARE_VALUE_STRING;
        if (is_text) shown.value.as.s = cut(entry->value.as.s, TEXT_MOST);
        tare_json_node *out = cli_json_metadata(&shown, ARRAY_ELEMENTS);
        if (is_text && entry->value.as.s.len > TEXT_MOST)
            cli_json_u64(out, "length_bytes", entry->value.as.s.len);
        cli_json_append(list, out);
    }
    cli_json_add(document, "metadata", list);
}
