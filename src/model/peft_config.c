/* SPDX-License-Identifier: MIT
 *
 * PEFT's adapter_config.json: rank and alpha, those of single modules by expressions, and settings
 * that say of more than the tensors do. */
#include <math.h>

#include "base/arith.h"
#include "base/buffer.h"
#include "base/json.h"
#include "base/str.h"
#include "model/foreign.h"
#include "model/peft.h"

typedef struct reading {
    tare_json j;
    tare_arena *arena;
    tare_peft_config *config;
    bool has_rank, has_alpha, is_lora;
} reading;

/* ---- numbers of modules ---------------------------------------------------------------------- */

/* What trying a name and an expression costs, and what all modules may cost together: a configuration may
 * have as many entries as the file has modules. */
enum { NAME_WORK = 1, EXPRESSION_WORK = 128 };
#define MOST_WORK (UINT64_C(1) << 28)

static void patterns_free(const tare_peft_config *c, tare_peft_patterns *p) {
    for (size_t i = 0; i < p->n; i++) tare_pattern_free(p->list[i].expression);
    tare_free(c->allocator, p->list, p->capacity * sizeof *p->list);
    *p = (tare_peft_patterns){NULL, 0, 0};
}

void tare_peft_config_free(tare_peft_config *config) {
    patterns_free(config, &config->ranks);
    patterns_free(config, &config->alphas);
    tare_peft_targets_free(&config->targets);
}

static bool is_name(tare_str text) {
    for (size_t i = 0; i < text.len; i++) {
        const char c = text.ptr[i];
        if (!((c >= 'a' && c <= 'z') || (c >= 'A' && c <= 'Z') || (c >= '0' && c <= '9') ||
              c == '_' || c == '.'))
            return false;
    }
    return text.len > 0;
}

/* An entry has to match the end of a module's name at a dot. */
static bool add_pattern(reading *r, tare_peft_patterns *p, const tare_json_value *key,
                        double value) {
    const tare_allocator *allocator = r->config->allocator;
    if (!tare_grow(allocator, (void **)&p->list, &p->capacity, p->n + 1, sizeof *p->list))
        return tare_json_fail(&r->j, TARE_ERR_NOMEM, TARE_NO_OFFSET, "pattern of modules");
    tare_peft_pattern made = {.name = tare_json_text(key, r->arena), .value = value};
    if (!made.name.ptr || !is_name(made.name))
        made.expression = tare_peft_pattern_new(&r->j, key, "^(?:.*[.])?(?:", r->arena, allocator);
    if (r->j.err.status == TARE_OK) p->list[p->n++] = made;
    return r->j.err.status == TARE_OK;
}

static bool read_number(reading *r, const tare_json_value *v, double *out, const char *what) {
    if (v->type == TARE_JSON_NUMBER && tare_json_f64(v, out) && *out > 0) return true;
    return tare_json_fail(&r->j, TARE_ERR_CORRUPT, v->offset, what);
}

static bool read_patterns(reading *r, const tare_json_value *v, tare_peft_patterns *p,
                          const char *what) {
    tare_json_value key, value;
    double number;
    patterns_free(r->config, p); /* of two of a name Python takes the last */
    if (v->type == TARE_JSON_NULL) return true;
    if (v->type != TARE_JSON_OBJECT)
        return tare_json_fail(&r->j, TARE_ERR_CORRUPT, v->offset, what);
    while (tare_json_key(&r->j, &key) != TARE_JSON_END) {
        tare_json_next(&r->j, &value);
        if (!read_number(r, &value, &number, what) || !add_pattern(r, p, &key, number))
            return false;
    }
    return r->j.err.status == TARE_OK;
}

static bool is_end_of(tare_str name, tare_str module) {
    if (name.len > module.len) return false;
    const size_t before = module.len - name.len;
    if (before && module.ptr[before - 1] != '.') return false;
    for (size_t i = name.len; i-- > 0;)
        if (name.ptr[i] != module.ptr[before + i] && name.ptr[i] != '.') return false;
    return true;
}

static tare_status try_pattern(bool *is_match, const tare_peft_config *c,
                               const tare_peft_pattern *p, tare_str module, tare_error *err) {
    *c->work += p->expression ? EXPRESSION_WORK : NAME_WORK;
    if (*c->work > MOST_WORK)
        return tare_fail(err, TARE_ERR_LIMIT, "entries of rank_pattern and alpha_pattern");
    *is_match = !p->expression && is_end_of(p->name, module);
    return p->expression ? tare_pattern_matches(is_match, p->expression, module, err) : TARE_OK;
}

/* That of the first entry that matches a module; *out stays if none does. */
static tare_status find_number(double *out, const tare_peft_config *c, const tare_peft_patterns *p,
                               tare_str module, tare_error *err) {
    bool is_match = false;
    for (size_t i = 0; !is_match && i < p->n; i++) {
        TARE_TRY(try_pattern(&is_match, c, &p->list[i], module, err));
        if (is_match) *out = p->list[i].value;
    }
    return TARE_OK;
}

tare_status tare_peft_numbers(double *rank, double *alpha, const tare_peft_config *config,
                              tare_str module, tare_error *err) {
    *rank = config->rank;
    *alpha = config->alpha;
    TARE_TRY(find_number(rank, config, &config->ranks, module, err));
    return find_number(alpha, config, &config->alphas, module, err);
}

double tare_peft_scale(const tare_peft_config *config, double rank, double alpha) {
    return alpha / (config->is_rslora ? sqrt(rank) : rank);
}

/* ---- settings -------------------------------------------------------------------------------- */

/* Whether a value means "not set": null, false, an empty list, object or text. */
static bool is_nothing(const tare_json_value *v, tare_str raw) {
    if (v->type == TARE_JSON_NULL || v->type == TARE_JSON_FALSE) return true;
    for (size_t i = 1; i + 1 < raw.len; i++)
        if (raw.ptr[i] != ' ' && raw.ptr[i] != '\n') return false;
    return v->type == TARE_JSON_ARRAY || v->type == TARE_JSON_OBJECT || v->type == TARE_JSON_STRING;
}

/* Initialisations that leave the base unchanged: anything but the name of one that does not. */
static bool is_plain_start(tare_str text) {
    return text.len == 0 || tare_str_is(text, "gaussian") || tare_str_is(text, "eva") ||
           tare_str_is(text, "orthogonal");
}

/* Settings that may be on: those that are read, and those that say how an adapter was made or found. */
static bool is_known(tare_str member) {
    static const char *const known[] = {"use_rslora",     "fan_in_fan_out", "use_dora",
                                        "lora_bias",      "inference_mode", "init_lora_weights",
                                        "auto_mapping",   "runtime_config", "megatron_config",
                                        "loftq_config",   "eva_config",     "corda_config",
                                        "lora_ga_config", "velora_config",  "ensure_weight_tying"};
    for (size_t i = 0; i < sizeof known / sizeof *known; i++)
        if (tare_str_is(member, known[i])) return true;
    return false;
}

/* Why the tensors are not all of an adapter with this member, or mean something else. */
static const char *obstacle(tare_str member, tare_str text) {
    static const struct {
        const char *name, *what;
    } refused[] = {
        {"layer_replication", "layer_replication: the base has other layers then"},
        {"alora_invocation_tokens", "alora_invocation_tokens: works for some tokens only"},
        {"trainable_token_indices", "trainable_token_indices: single tokens are more than factors"},
        {"use_qalora", "use_qalora: its factors are of groups of columns"},
        {"use_bdlora", "use_bdlora: its factors are blocks of larger ones"},
        {"arrow_config", "arrow_config: which adapter works depends on the token"},
        {"kasa_config", "kasa_config: singular values are more than factors"},
        {"monteclora_config", "monteclora_config: its factors are drawn at random"},
    };
    for (size_t i = 0; i < sizeof refused / sizeof *refused; i++)
        if (tare_str_is(member, refused[i].name)) return refused[i].what;
    if (tare_str_is(member, "bias") && !tare_str_is(text, "none") && !tare_str_is(text, "all") &&
        !tare_str_is(text, "lora_only"))
        return "bias: expected \"none\", \"all\" or \"lora_only\"";
    if (tare_str_is(member, "init_lora_weights") && !is_plain_start(text))
        return "init_lora_weights: changes the base, convert the adapter to a plain one first";
    return NULL;
}

static bool check_refused(reading *r, const tare_json_value *key, const tare_json_value *v,
                          tare_str raw) {
    if (is_nothing(v, raw)) return true;
    const tare_str name = tare_json_text(key, r->arena);
    const tare_str text = v->type == TARE_JSON_STRING ? tare_json_text(v, r->arena) : TARE_STR("");
    if (!name.ptr || !text.ptr)
        return tare_json_fail(&r->j, TARE_ERR_NOMEM, TARE_NO_OFFSET, "adapter's configuration");
    const char *what = obstacle(name, text);
    if (what) return tare_json_fail(&r->j, TARE_ERR_UNSUPPORTED, v->offset, what);
    if (v->type == TARE_JSON_STRING || v->type == TARE_JSON_NUMBER || is_known(name)) return true;
    tare_json_fail(&r->j, TARE_ERR_UNSUPPORTED, v->offset,
                   "a setting that tare does not know is on, and may change what the factors mean");
    tare_error_detail(&r->j.err, "%.*s", (int)tare_min_u64(name.len, 60), name.ptr);
    return false;
}

/* Settings that are on or off: anything else would be off for one reader and on for another. */
static bool read_switch(reading *r, const tare_json_value *key, const tare_json_value *v) {
    tare_peft_config *c = r->config;
    const struct {
        const char *name;
        bool *out;
    } switches[] = {{"use_rslora", &c->is_rslora},
                    {"fan_in_fan_out", &c->is_transposed},
                    {"use_dora", &c->is_dora},
                    {"lora_bias", &c->has_biases},
                    {"ensure_weight_tying", &c->targets.is_tied}};
    for (size_t i = 0; i < sizeof switches / sizeof *switches; i++) {
        if (!tare_json_is(key, switches[i].name)) continue;
        *switches[i].out = v->type == TARE_JSON_TRUE;
        if (v->type == TARE_JSON_TRUE || v->type == TARE_JSON_FALSE || v->type == TARE_JSON_NULL)
            return true;
        tare_json_fail(&r->j, TARE_ERR_CORRUPT, v->offset, "expected true or false");
        tare_error_detail(&r->j.err, "%s", switches[i].name);
        return false;
    }
    return true;
}

/* ["mlp.experts.gate_up_proj", ...] */
static bool read_parameters(reading *r, const tare_json_value *v) {
    tare_peft_config *c = r->config;
    tare_json_value name;
    if (v->type == TARE_JSON_NULL) return true;
    if (v->type != TARE_JSON_ARRAY)
        return tare_json_fail(&r->j, TARE_ERR_CORRUPT, v->offset,
                              "target_parameters: expected an array of names");
    while (tare_json_next(&r->j, &name) != TARE_JSON_END) {
        if (name.type != TARE_JSON_STRING)
            return tare_json_fail(&r->j, TARE_ERR_CORRUPT, name.offset,
                                  "target_parameters: expected an array of names");
        tare_peft_parameter *p = TARE_NEW(r->arena, tare_peft_parameter);
        if (p) *p = (tare_peft_parameter){tare_json_text(&name, r->arena), c->parameters};
        if (!p || !p->name.ptr)
            return tare_json_fail(&r->j, TARE_ERR_NOMEM, TARE_NO_OFFSET, "adapter's configuration");
        c->parameters = p;
    }
    return r->j.err.status == TARE_OK;
}

static bool read_member(reading *r, const tare_json_value *key) {
    tare_peft_config *c = r->config;
    tare_json_value v;
    tare_str raw;
    bool is_one;
    tare_json_next(&r->j, &v);
    if (tare_json_is(key, "rank_pattern"))
        return read_patterns(r, &v, &c->ranks, "rank_pattern: expected an object of numbers");
    if (tare_json_is(key, "alpha_pattern"))
        return read_patterns(r, &v, &c->alphas, "alpha_pattern: expected an object of numbers");
    if (tare_json_is(key, "target_parameters")) return read_parameters(r, &v);
    if (!tare_peft_targets_read(&is_one, &c->targets, &r->j, key, &v, r->arena, c->allocator))
        return false;
    if (is_one) return true;
    if (tare_json_is(key, "r"))
        return r->has_rank = read_number(r, &v, &c->rank, "r: expected a number above 0");
    if (tare_json_is(key, "lora_alpha"))
        return r->has_alpha =
                   read_number(r, &v, &c->alpha, "lora_alpha: expected a number above 0");
    if (tare_json_is(key, "peft_type")) {
        r->is_lora = tare_json_is(&v, "LORA");
        if (!r->is_lora)
            return tare_json_fail(&r->j, TARE_ERR_UNSUPPORTED, v.offset,
                                  "peft_type: expected \"LORA\"");
    }
    if (!read_switch(r, key, &v)) return false;
    if (!tare_json_skip(&r->j, &v, &raw)) return false;
    if (tare_json_is(key, "bias"))
        c->has_base_biases = !is_nothing(&v, raw) && !tare_json_is(&v, "none");
    return check_refused(r, key, &v, raw);
}

static tare_status read_all(reading *r, tare_error *err) {
    tare_json_value whole, key;
    if (tare_json_begin(&r->j, &whole) != TARE_JSON_OBJECT)
        tare_json_fail(&r->j, TARE_ERR_CORRUPT, 0, "expected an object");
    while (r->j.err.status == TARE_OK && tare_json_key(&r->j, &key) != TARE_JSON_END)
        read_member(r, &key);
    if (r->j.err.status == TARE_OK) tare_json_finish(&r->j);
    if (r->j.err.status == TARE_OK && !(r->is_lora && r->has_rank && r->has_alpha))
        tare_json_fail(&r->j, TARE_ERR_CORRUPT, 0,
                       !r->is_lora    ? "peft_type: missing"
                       : !r->has_rank ? "r: missing"
                                      : "lora_alpha: missing");
    const char *fault = tare_peft_targets_fault(&r->config->targets);
    if (fault) tare_json_fail(&r->j, TARE_ERR_UNSUPPORTED, 0, fault);
    return tare_json_status(&r->j, err);
}

tare_status tare_peft_config_read(tare_peft_config *out, tare_str text, tare_arena *arena,
                                  const tare_allocator *allocator, tare_error *err) {
    *out = (tare_peft_config){.allocator = allocator, .work = TARE_NEW(arena, uint64_t)};
    if (!out->work) return tare_fail(err, TARE_ERR_NOMEM, "adapter's configuration");
    reading r = {.arena = arena, .config = out};
    tare_json_init_python(&r.j, text, 0, TARE_JSON_MAX_DEPTH);
    return tare_name_foreign(read_all(&r, err), text, text.len, true, err);
}
