/* SPDX-License-Identifier: MIT
 *
 * Towers: which one a model has, what it needs beside config.json, and what its keys must have. */
#include "llama/tower.h"

#include <math.h>
#include <stdio.h>

#include "base/report.h"
#include "base/str.h"
#include "llama/mapping.h"

/* ---- names ----------------------------------------------------------------------------------- */

tare_str tare_llama_tower_name(tare_str name) {
    static const tare_str leads[] = {{"thinker.", 8}, {"model.", 6}};
    for (size_t i = 0; i < sizeof leads / sizeof *leads; i++)
        if (tare_str_starts(name, leads[i])) name = tare_str_cut(name, leads[i].len);
    return name;
}

bool tare_llama_tower_takes(const tare_llama_tower *tower, tare_str name) {
    for (const char *word = tower->takes; *word;) {
        const tare_str prefix = {word, strcspn(word, " ")};
        if (tare_str_starts(name, prefix)) return true;
        word += prefix.len + (word[prefix.len] == ' ');
    }
    return false;
}

/* ---- what it is ------------------------------------------------------------------------------ */

/* The members of both files of the processor, newer and inner ones first. */
static tare_status read_processor(tare_llama_mapping *m, tare_error *err) {
    static const struct {
        const char *file, *inner;
    } places[] = {{"processor_config.json", "image_processor"},
                  {"preprocessor_config.json", "media_proc_cfg"}};
    const tare_json_node **nodes = m->config.processor;
    for (size_t i = 0; i < sizeof places / sizeof *places; i++) {
        const tare_json_node *root;
        TARE_TRY(tare_model_json(&root, m->hf, places[i].file, &m->out->arena, err));
        nodes[2 * i] = tare_json_member(root, tare_str_of(places[i].inner));
        nodes[2 * i + 1] = root;
    }
    return TARE_OK;
}

static tare_status fail_config(tare_status status, const char *file, const char *what,
                               tare_error *err) {
    tare_fail(err, status, what);
    tare_error_item(err, TARE_ITEM_RESOURCE, -1, tare_str_of(file));
    return status;
}

/* architectures[0] of an object of config.json. */
static tare_str class_in(const tare_json_node *object) {
    const tare_json_node *list = tare_json_member(object, TARE_STR("architectures"));
    return list && list->type == TARE_JSON_ARRAY ? tare_json_node_text(list->child) : TARE_STR("");
}

/* The tower's own class counts before that of the whole model. */
static tare_status find_row(tare_llama_mapping *m, tare_error *err) {
    const tare_json_node *vision = tare_json_path(m->config.root, TARE_STR("vision_config"));
    m->hf_class = class_in(vision);
    m->arch = tare_llama_tower_find(m->hf_class, &m->config);
    if (m->arch) return TARE_OK;
    m->hf_class = class_in(m->config.root);
    m->arch = tare_llama_tower_find(m->hf_class, &m->config);
    if (m->arch) return TARE_OK;
    fail_config(TARE_ERR_UNSUPPORTED, "config.json",
                "tare knows no vision or audio encoder of this architecture", err);
    tare_error_detail(err, "%.*s", (int)m->hf_class.len, m->hf_class.ptr);
    return TARE_ERR_UNSUPPORTED;
}

void tare_llama_tower_note(tare_llama_mapping *m) {
    tare_llama_mapping tower = {.config = m->config};
    tare_error ignored;
    if (m->n_of_tower == 0 || m->is_rehearsal || find_row(&tower, &ignored) != TARE_OK) return;
    const tare_finding f = TARE_FINDING(INFO, TARE_OK, "llama.tower");
    tare_report_addf(
        m->options->context->report, &f,
        "%zu tensors of the vision or audio encoder are left out: `mmproj` writes them to a file "
        "of their own",
        m->n_of_tower);
    m->told = tower.arch->tower;
}

/* The token that one vector of the text model's embeddings goes into the tower for. */
static tare_status read_token(tare_llama_mapping *m, double *out, tare_error *err) {
    const char *token = m->arch->tower->token;
    uint64_t id;
    bool is_there;
    *out = 0;
    if (!token || m->is_rehearsal) return TARE_OK; /* what it is for is no part of the tower */
    TARE_TRY(tare_llama_token_id(&id, &is_there, m->hf, token, err));
    *out = (double)id;
    if (is_there) return TARE_OK;
    fail_config(TARE_ERR_CORRUPT, "tokenizer_config.json",
                "neither it nor tokenizer.json has a token that llama.cpp needs", err);
    tare_error_detail(err, "%s", token);
    return TARE_ERR_CORRUPT;
}

static tare_status check_musts(const tare_llama_mapping *m, tare_error *err) {
    const tare_llama_must *must = m->arch->tower->musts;
    for (; must && must->formula; must++) {
        bool is_so;
        TARE_TRY(tare_llama_holds(&is_so, m, must->formula, true, err));
        if (!is_so) return fail_config(TARE_ERR_UNSUPPORTED, "config.json", must->what, err);
    }
    return TARE_OK;
}

tare_status tare_llama_tower_begin(tare_llama_mapping *m, tare_error *err) {
    double layers, token;
    TARE_TRY(tare_llama_config_read(&m->config, m->hf, &m->out->arena, err));
    TARE_TRY(read_processor(m, err));
    TARE_TRY(find_row(m, err));
    TARE_TRY(tare_llama_number(&layers, m, m->arch->tower->layers, -1, err));
    if (!(layers >= 0 && layers < 1e6))
        return fail_config(TARE_ERR_CORRUPT, "config.json",
                           "it does not say how many layers the encoder has", err);
    if (layers != trunc(layers))
        return fail_config(TARE_ERR_CORRUPT, "config.json",
                           "the number of layers of the encoder is not a whole number", err);
    TARE_TRY(read_token(m, &token, err));
    m->n_layers = (uint64_t)layers;
    m->facts[0] = (tare_llama_binding){"layers", layers};
    m->facts[1] = (tare_llama_binding){"token", token};
    m->facts[2] = (tare_llama_binding){"file_type", 0};
    m->config.facts = m->facts;
    TARE_TRY(check_musts(m, err));
    return tare_llama_names_init(&m->names, m->arch->name, m->arch->tensors, &m->out->arena, err);
}

/* ---- what its keys must say ------------------------------------------------------------------ */

static const tare_value *find_key(const tare_llama_mapping *m, const char *name) {
    char whole[96];
    snprintf(whole, sizeof whole, "%s.%s", m->arch->name, name);
    for (size_t i = 0; i < m->n_keys; i++)
        if (tare_str_is(m->keys[i].key, whole)) return &m->keys[i].value;
    return NULL;
}

static tare_status fail_key(const char *file, const char *what, const char *key, tare_error *err) {
    fail_config(TARE_ERR_CORRUPT, file, what, err);
    tare_error_detail(err, "%s", key);
    return TARE_ERR_CORRUPT;
}

/* Three numbers, one for each color. */
static tare_status check_colors(const tare_llama_mapping *m, const char *key, const char *member,
                                tare_error *err) {
    const tare_value *v = find_key(m, key);
    if (!v)
        return fail_key("preprocessor_config.json",
                        "neither it nor processor_config.json has a member that llama.cpp needs",
                        member, err);
    if (v->type != TARE_VALUE_ARRAY || v->as.a.count != 3 ||
        (v->as.a.type != TARE_VALUE_F32 && v->as.a.type != TARE_VALUE_I32))
        return fail_key("preprocessor_config.json", "three numbers were expected", member, err);
    return TARE_OK;
}

/* llama.cpp takes as many rows as a picture has patches, and one for its class where there is one. */
static tare_status check_positions(const tare_llama_mapping *m, tare_error *err) {
    double wanted;
    if (!m->arch->tower->positions) return TARE_OK;
    TARE_TRY(tare_llama_number(&wanted, m, m->arch->tower->positions, -1, err));
    for (size_t i = 0; i < m->n_targets; i++) {
        const tare_llama_target *t = m->targets[i];
        if (!tare_str_is(t->name, "v.position_embd.weight") || t->n_dims < 2) continue;
        const uint64_t rows = t->dims[t->n_dims - 2];
        if ((double)rows == wanted) return TARE_OK;
        const uint32_t source = t->pieces[0].source;
        tare_fail(err, TARE_ERR_CORRUPT, "config.json contradicts the tensors");
        tare_error_item(err, TARE_ITEM_TENSOR, source, m->hf->catalog.tensors[source].name);
        tare_error_detail(err, "an image has %.0f positions, the shape has %llu", wanted,
                          (unsigned long long)rows);
        return TARE_ERR_CORRUPT;
    }
    return TARE_OK;
}

/* A key of two says which activation llama.cpp computes; with neither it is CLIP's quick GELU. */
static bool is_flag(const tare_llama_mapping *m, const char *name) {
    const tare_value *v = find_key(m, name);
    return v && v->type == TARE_VALUE_BOOL && v->as.u;
}

static tare_status check_activation(const tare_llama_mapping *m, tare_error *err) {
#define ACT "word(vision_config.hidden_act, '" TARE_LLAMA_ACTIVATIONS "')"
    static const char *const formulas[] = {"if(has(" ACT "), one_of(" ACT ", '" TARE_LLAMA_GELUS
                                           "'), true)",
                                           "if(has(" ACT "), " ACT " == 'silu', true)"};
    const bool is_silu = is_flag(m, "use_silu");
    double holds;
    if (!is_silu && !is_flag(m, "use_gelu")) return TARE_OK;
    TARE_TRY(tare_llama_number(&holds, m, formulas[is_silu], 0, err));
    if (holds > 0) return TARE_OK;
    return fail_config(TARE_ERR_UNSUPPORTED, "config.json",
                       is_silu ? "vision_config.hidden_act is not silu, which llama.cpp computes"
                               : "vision_config.hidden_act is not gelu, which llama.cpp computes",
                       err);
}

tare_status tare_llama_tower_check(const tare_llama_mapping *m, tare_error *err) {
    static const char *const vision[] = {"vision.projection_dim",       "vision.image_size",
                                         "vision.patch_size",           "vision.embedding_length",
                                         "vision.feed_forward_length",  "vision.block_count",
                                         "vision.attention.head_count", NULL};
    static const char *const audio[] = {"audio.projection_dim",
                                        "audio.embedding_length",
                                        "audio.feed_forward_length",
                                        "audio.block_count",
                                        "audio.attention.head_count",
                                        "audio.num_mel_bins",
                                        NULL};
    const bool sees = find_key(m, "has_vision_encoder"), hears = find_key(m, "has_audio_encoder");
    for (const char *const *key = vision; sees && *key; key++)
        if (!find_key(m, *key))
            return fail_key("config.json", "a size of the encoder is missing", *key, err);
    for (const char *const *key = audio; hears && *key; key++)
        if (!find_key(m, *key))
            return fail_key("config.json", "a size of the encoder is missing", *key, err);
    if (!sees) return TARE_OK;
    TARE_TRY(check_positions(m, err));
    TARE_TRY(check_activation(m, err));
    TARE_TRY(check_colors(m, "vision.image_mean", "image_mean", err));
    return check_colors(m, "vision.image_std", "image_std", err);
}
