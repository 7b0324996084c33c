/* SPDX-License-Identifier: MIT
 *
 * The head of a model, which may be its embeddings. Which of the two a file has depends on who saved it:
 * a tied head may be there alone. */
#include "base/report.h"
#include "base/str.h"
#include "llama/mapping.h"
#include "llama/needed.h"

/* What the embeddings are called; the first that the architecture knows. */
static const char *const embeddings[] = {"model.embed_tokens.weight", "transformer.wte.weight"};

tare_str tare_llama_source_name(const tare_llama_mapping *m, size_t tensor) {
    return m->tied_name && m->tied_head == tensor ? tare_str_of(m->tied_name)
                                                  : m->hf->catalog.tensors[tensor].name;
}

static tare_status target_of(tare_str *out, const tare_llama_mapping *m, tare_str name,
                             tare_error *err) {
    *out = (tare_str){NULL, 0};
    if (tare_llama_is_left_out(name)) return TARE_OK;
    name = tare_llama_normal_name(m, name);
    if (!name.ptr) return tare_fail(err, TARE_ERR_NOMEM, "tensor name");
    return tare_llama_names_find(out, &m->names, name, &m->out->arena, err);
}

/* What config.json says, or transformers assumes; false where neither does. */
static tare_status is_tied(bool *out, const tare_llama_mapping *m, tare_error *err) {
    double number;
    TARE_TRY(tare_llama_number(&number, m, "tie_word_embeddings", 0, err));
    *out = number > 0;
    return TARE_OK;
}

/* Whether the file's record of names that were one tensor has the embeddings as another name of the
 * head: safetensors keeps it in __metadata__. */
static tare_status is_on_record(bool *out, const tare_llama_mapping *m, size_t head,
                                tare_error *err) {
    const tare_catalog *c = &m->hf->catalog;
    *out = false;
    for (size_t i = 0; i < c->n_metadata && !*out; i++) {
        const tare_metadata *k = &c->metadata[i];
        tare_str target;
        if (k->space != TARE_KEYS_SAFETENSORS || k->value.type != TARE_VALUE_STRING ||
            !tare_str_equal(k->value.as.s, c->tensors[head].name))
            continue;
        TARE_TRY(target_of(&target, m, k->key, err));
        *out = target.ptr && tare_str_is(target, "token_embd.weight");
    }
    return TARE_OK;
}

static tare_status find_name(tare_llama_mapping *m, tare_error *err) {
    for (size_t i = 0; i < sizeof embeddings / sizeof *embeddings && !m->tied_name; i++) {
        tare_str target;
        TARE_TRY(target_of(&target, m, tare_str_of(embeddings[i]), err));
        if (target.ptr && tare_str_is(target, "token_embd.weight")) m->tied_name = embeddings[i];
    }
    return TARE_OK;
}

bool tare_llama_is_body(const tare_llama_mapping *m) {
    return tare_str_ends(m->hf_class, TARE_STR("Model")) &&
           !tare_str_ends(m->hf_class, TARE_STR("LMHeadModel")) &&
           !tare_str_is(m->hf_class, "ChatGLMModel");
}

static bool is_head(tare_str name) {
    return tare_str_ends(name, TARE_STR("lm_head.weight"));
}

tare_status tare_llama_find_tied(tare_llama_mapping *m, tare_error *err) {
    const tare_catalog *c = &m->hf->catalog;
    int64_t head = -1; /* none */
    bool has_embeddings = false, tied, on_record;
    for (size_t i = 0; i < c->n_tensors; i++) {
        tare_str target;
        TARE_TRY(target_of(&target, m, c->tensors[i].name, err));
        /* also where llama.cpp has no head in this architecture */
        if (target.ptr ? tare_str_is(target, "output.weight") : is_head(c->tensors[i].name))
            head = (int64_t)i;
        has_embeddings |= target.ptr && tare_str_is(target, "token_embd.weight");
    }
    TARE_TRY(is_tied(&tied, m, err));
    on_record = false;
    if (head >= 0 && !has_embeddings) TARE_TRY(is_on_record(&on_record, m, (size_t)head, err));
    if (head >= 0 && !has_embeddings && (tied || on_record)) {
        m->tied_head = (size_t)head;
        TARE_TRY(find_name(m, err));
    }
    /* a body has no head, and is not asked for what one says */
    m->copies_head = (head < 0 || m->tied_name) && (tied || on_record || tare_llama_is_body(m)) &&
                     !m->options->like_reference &&
                     tare_llama_needs_head(tare_str_of(m->arch->name));
    return TARE_OK;
}

static void warn(const tare_llama_mapping *m, const char *text) {
    tare_finding f = TARE_FINDING(WARNING, TARE_OK, "llama.head");
    f.item_kind = TARE_ITEM_RESOURCE;
    f.item_name = TARE_STR("config.json");
    f.text = tare_str_of(text);
    tare_report_add(m->options->context->report, &f);
}

/* Where llama.cpp takes the embeddings whatever there is, a head of its own is lost. */
static tare_status note_dropped(const tare_llama_mapping *m, tare_error *err) {
    const tare_catalog *c = &m->hf->catalog;
    int64_t head = -1, embedding = -1; /* none */
    bool is_equal = false;
    for (size_t i = 0; i < c->n_tensors; i++) {
        tare_str target;
        if (is_head(c->tensors[i].name)) head = (int64_t)i;
        TARE_TRY(target_of(&target, m, c->tensors[i].name, err));
        if (target.ptr && tare_str_is(target, "token_embd.weight")) embedding = (int64_t)i;
    }
    if (head < 0 || embedding < 0) return TARE_OK;
    TARE_TRY(tare_llama_is_equal(&is_equal, m->hf, (size_t)head, (size_t)embedding, err));
    if (!is_equal)
        warn(m, "there is a head unlike the embeddings: llama.cpp takes the embeddings in this "
                "architecture, so results differ");
    return TARE_OK;
}

/* Whether the head that is written is the embeddings, scaled or as they are. */
static bool is_of_embeddings(const tare_llama_mapping *m) {
    const tare_llama_target *head = tare_llama_target_named(m, TARE_STR("output.weight"));
    const tare_llama_target *embedding = tare_llama_target_named(m, TARE_STR("token_embd.weight"));
    return head->n_pieces && embedding->n_pieces &&
           head->pieces[0].source == embedding->pieces[0].source;
}

/* What a model with an encoder says beside its text model, which transformers takes. */
static bool is_tied_outside(const tare_llama_mapping *m) {
    const tare_json_node *said = tare_json_member(m->config.root, TARE_STR("tie_word_embeddings"));
    return said && said->type == TARE_JSON_TRUE;
}

tare_status tare_llama_note_head(const tare_llama_mapping *m, tare_error *err) {
    tare_llama_value said =
        tare_llama_value_of(tare_llama_config_find(&m->config, TARE_STR("tie_word_embeddings")));
    said.member = TARE_STR("tie_word_embeddings");
    const bool has_head = tare_llama_has_target(m, TARE_STR("output.weight"));
    if (!tare_llama_is_one_of(TARE_STR("output"), m->arch->tensors))
        return m->arch->is_bert ? TARE_OK : note_dropped(m, err);
    if (said.kind == TARE_LLAMA_ABSENT || !tare_llama_has_target(m, TARE_STR("token_embd.weight")))
        return TARE_OK;
    if (said.kind == TARE_LLAMA_TEXT || said.kind == TARE_LLAMA_TREE)
        return tare_llama_wrong_kind("config.json: expected true or false", &said, err);
    if (!(said.number > 0) && !has_head && !tare_llama_is_body(m) && !is_tied_outside(m))
        warn(m,
             "tie_word_embeddings is false, and there is no head: llama.cpp takes the embeddings");
    if (said.number > 0 && has_head && !is_of_embeddings(m))
        warn(m, "tie_word_embeddings is true, and there is a head beside the embeddings: it is "
                "written, and llama.cpp takes it");
    return TARE_OK;
}
