/* SPDX-License-Identifier: MIT
 *
 * How an encoder makes one result of the states of all tokens, and what the classes of a classifier
 * are called. */
#include <stdio.h>
#include <stdlib.h>

#include "base/arith.h"
#include "base/report.h"
#include "base/str.h"
#include "llama/mapping.h"

#define MOST_LABELS 100000 /* the largest sets of classes have some 20,000 */

/* ---- pooling --------------------------------------------------------------------------------- */

/* The folder of the first module of sentence-transformers that pools; empty: there is none. */
static tare_str pooling_folder(const tare_json_node *modules) {
    const tare_json_node *module =
        modules && modules->type == TARE_JSON_ARRAY ? modules->child : NULL;
    for (; module; module = module->next) {
        tare_str type = tare_json_node_text(tare_json_member(module, TARE_STR("type")));
        if (tare_str_ends(type, TARE_STR("Pooling")))
            return tare_json_node_text(tare_json_member(module, TARE_STR("path")));
    }
    return TARE_STR("");
}

/* The modes that are on: as a text, which may be several, or a flag for each. */
static size_t modes_of(tare_str *mode, const tare_json_node *pooling) {
    const tare_str prefix = TARE_STR("pooling_mode_");
    const tare_json_node *named = tare_json_member(pooling, TARE_STR("pooling_mode"));
    size_t n = 0;
    for (const tare_json_node *c = pooling ? pooling->child : NULL; c; c = c->next)
        if (c->type == TARE_JSON_TRUE && tare_str_starts(c->key, prefix) && n++ == 0)
            *mode = tare_str_cut(c->key, prefix.len);
    if (n || !named) return n;
    *mode = tare_json_node_text(named);
    for (const tare_json_node *c = named->type == TARE_JSON_ARRAY ? named->child : NULL; c;
         c = c->next)
        if (n++ == 0) *mode = tare_json_node_text(c);
    return n ? n : mode->len > 0;
}

/* llama.cpp's number for how the states of all tokens become one; 0: not said, or it has none. */
static double pooling_type(const tare_llama_mapping *m, const tare_json_node *pooling,
                           const char *file) {
    static const struct {
        const char *mode, *word;
        double type;
    } ways[] = {{"mean_tokens", "mean", 1}, {"cls_token", "cls", 2}, {"lasttoken", "lasttoken", 3}};
    tare_str mode = TARE_STR("");
    const size_t n = modes_of(&mode, pooling);
    for (size_t i = 0; n == 1 && i < sizeof ways / sizeof *ways; i++)
        if (tare_str_is(mode, ways[i].mode) || tare_str_is(mode, ways[i].word)) return ways[i].type;
    if (n == 0) return 0;
    tare_finding f = TARE_FINDING(WARNING, TARE_ERR_UNSUPPORTED, "llama.not-applied");
    f.item_kind = TARE_ITEM_RESOURCE;
    f.item_name = tare_str_of(file);
    tare_report_addf(m->options->context->report, &f,
                     "pooling mode %.*s%s: llama.cpp has one of mean, cls and lasttoken: the model "
                     "is written without a pooling mode",
                     (int)tare_min_u64(mode.len, 60), mode.ptr, n > 1 ? " and others" : "");
    if (m->out->loss.status == TARE_OK) {
        f.text = TARE_STR("the pooling mode: llama.cpp does not have it");
        m->out->loss = f;
    }
    return 0;
}

tare_status tare_llama_pooling_keys(tare_llama_mapping *m, tare_error *err) {
    const tare_json_node *modules, *pooling;
    tare_arena *arena = &m->out->arena;
    char path[128];
    TARE_TRY(tare_model_json(&modules, m->hf, "modules.json", arena, err));
    tare_str folder = pooling_folder(modules);
    if (folder.len == 0 || folder.len > 100) return TARE_OK;
    snprintf(path, sizeof path, "%.*s/config.json", (int)folder.len, folder.ptr);
    TARE_TRY(tare_model_json(&pooling, m->hf, path, arena, err));
    if (!pooling) {
        tare_finding f = TARE_FINDING(WARNING, TARE_ERR_CORRUPT, "llama.not-applied");
        f.item_kind = TARE_ITEM_RESOURCE;
        f.item_name = TARE_STR("modules.json");
        f.text = TARE_STR("the config.json of its pooling is missing: the model is written without "
                          "a pooling mode");
        tare_report_add(m->options->context->report, &f);
        if (m->out->loss.status == TARE_OK) m->out->loss = f;
        return TARE_OK;
    }
    double type = pooling_type(m, pooling, path);
    return type > 0 ? tare_llama_set_number(m, "pooling_type", TARE_VALUE_U32, type, err) : TARE_OK;
}

/* ---- labels ---------------------------------------------------------------------------------- */

typedef struct label {
    int64_t id;
    tare_str text;
} label;

static int by_id(const void *a, const void *b) {
    const int64_t x = ((const label *)a)->id, y = ((const label *)b)->id;
    return (x > y) - (x < y);
}

static tare_status fail_labels(const char *what, tare_status status, tare_error *err) {
    tare_fail(err, status, what);
    tare_error_item(err, TARE_ITEM_RESOURCE, -1, TARE_STR("config.json"));
    return status;
}

/* id2label, in the order of the classes. */
static tare_status read_labels(label *labels, const tare_llama_mapping *m, tare_error *err) {
    const tare_json_node *names = tare_llama_config_find(&m->config, TARE_STR("id2label"));
    size_t n = 0;
    for (const tare_json_node *c = names->child; c; c = c->next) {
        const tare_json_value id = {.type = TARE_JSON_NUMBER, .raw = c->key};
        label *l = &labels[n++];
        if (!c->key.len || c->type != TARE_JSON_STRING || !tare_json_i64(&id, &l->id))
            return fail_labels("id2label: expected a text for each number", TARE_ERR_CORRUPT, err);
        l->text = c->text;
    }
    qsort(labels, n, sizeof *labels, by_id);
    return TARE_OK;
}

/* What transformers calls classes that have no names. */
static tare_status number_labels(label *labels, size_t n, tare_arena *arena, tare_error *err) {
    for (size_t i = 0; i < n; i++) {
        char text[32];
        snprintf(text, sizeof text, "LABEL_%zu", i);
        labels[i].text = tare_arena_str(arena, tare_str_of(text));
        if (!labels[i].text.ptr) return tare_fail(err, TARE_ERR_NOMEM, "labels");
    }
    return TARE_OK;
}

/* None for the two that transformers assumes where a config.json has none. */
static tare_status set_labels(tare_llama_mapping *m, tare_error *err) {
    tare_llama_value are_named;
    double count;
    TARE_TRY(tare_llama_number(&count, m, "labels.count", 0, err));
    TARE_TRY(tare_llama_formula(&are_named, TARE_STR("labels.are_named"), &m->config, NULL, err));
    if (!(count >= 1)) return TARE_OK;
    if (!(count <= MOST_LABELS))
        return fail_labels("num_labels: expected 100,000 at most", TARE_ERR_LIMIT, err);
    const size_t n = (size_t)count;
    label *labels = TARE_NEW_ARRAY(&m->out->arena, label, n);
    tare_str *texts = TARE_NEW_ARRAY(&m->out->arena, tare_str, n);
    if (!labels || !texts) return tare_fail(err, TARE_ERR_NOMEM, "labels");
    TARE_TRY(are_named.kind == TARE_LLAMA_BOOL && are_named.number > 0
                 ? read_labels(labels, m, err)
                 : number_labels(labels, n, &m->out->arena, err));
    for (size_t i = 0; i < n; i++) texts[i] = labels[i].text;
    return tare_llama_set_texts(m, "classifier.output_labels", texts, n, err);
}

tare_status tare_llama_bert_keys(tare_llama_mapping *m, tare_error *err) {
    TARE_TRY(tare_llama_set_number(m, "attention.causal", TARE_VALUE_BOOL, 0, err));
    TARE_TRY(tare_llama_pooling_keys(m, err));
    return set_labels(m, err);
}
