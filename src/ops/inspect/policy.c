/* SPDX-License-Identifier: MIT
 *
 * tare_policy_check: the members of a policy are rows, each with a check of its own; what has no row
 * is an error, so that a policy never demands less than it says. docs/tasks/policy.md. */
#include <inttypes.h>
#include <string.h>

#include <tare/experimental/llama.h>
#include <tare/experimental/options.h>
#include <tare/experimental/pattern.h>
#include <tare/experimental/policy.h>
#include <tare/inspect.h>

#include "base/json_node.h"
#include "base/report.h"
#include "base/str.h"
#include "model/catalog.h"

typedef struct check {
    const tare_model *model;
    const tare_context *context;
    tare_arena *arena;
} check;

typedef tare_status rule_fn(const check *c, const tare_json_node *value, tare_error *err);

/* ---- the document ---------------------------------------------------------------------------- */

static tare_status wrong(tare_error *err, const tare_json_node *at, const char *what) {
    tare_fail_at(err, TARE_ERR_ARG, at->offset, what);
    if (at->key.len) tare_error_item(err, TARE_ITEM_KEY, -1, at->key);
    return TARE_ERR_ARG;
}

/* true asks for something, false does not. */
static tare_status read_wish(bool *out, const tare_json_node *value, tare_error *err) {
    *out = value->type == TARE_JSON_TRUE;
    if (*out || value->type == TARE_JSON_FALSE) return TARE_OK;
    return wrong(err, value, "policy: true or false expected");
}

/* A list with a text at least, all of them texts. */
static tare_status check_texts(const tare_json_node *value, tare_error *err) {
    if (value->type != TARE_JSON_ARRAY || !value->n)
        return wrong(err, value, "policy: a list of texts expected");
    for (const tare_json_node *c = value->child; c; c = c->next)
        if (c->type != TARE_JSON_STRING || !c->text.len)
            return wrong(err, c, "policy: a text expected");
    return TARE_OK;
}

/* ---- findings -------------------------------------------------------------------------------- */

static tare_finding breach(const char *code) {
    return TARE_FINDING(ERROR, TARE_ERR_UNSUPPORTED, code);
}

static tare_finding breach_of_tensor(const check *c, const char *code, size_t tensor) {
    tare_finding f = breach(code);
    f.item_kind = TARE_ITEM_TENSOR;
    f.item = (int64_t)tensor;
    f.item_name = tare_model_tensor(c->model, tensor)->name;
    return f;
}

/* ---- rules ----------------------------------------------------------------------------------- */

static tare_status check_types(const check *c, const tare_json_node *value, tare_error *err) {
    bool *is_allowed = TARE_NEW_ARRAY(c->arena, bool, TARE_ENCODING_COUNT);
    if (!is_allowed) return tare_fail(err, TARE_ERR_NOMEM, "policy");
    memset(is_allowed, 0, TARE_ENCODING_COUNT * sizeof *is_allowed);
    TARE_TRY(check_texts(value, err));
    for (const tare_json_node *t = value->child; t; t = t->next) {
        const tare_encoding *e = tare_encoding_find(t->text);
        if (!e || e->id == TARE_ENCODING_UNKNOWN) return wrong(err, t, "policy: no such type");
        is_allowed[e->id] = true;
    }
    const tare_tensor *t;
    for (size_t i = 0; (t = tare_model_tensor(c->model, i)) != NULL; i++) {
        if (is_allowed[t->encoding->id]) continue;
        const tare_finding f = breach_of_tensor(c, "policy.types", i);
        tare_report_addf(c->context->report, &f, "the policy does not allow %s", t->encoding->name);
    }
    return TARE_OK;
}

static void judge_values(void *ctx, size_t tensor, const tare_tensor_stats *stats) {
    const check *c = ctx;
    const tare_finding f = breach_of_tensor(c, "policy.no-nan", tensor);
    if (!stats->is_decoded)
        tare_report_addf(c->context->report, &f,
                         "its values cannot be read, so whether all are finite is not known");
    else if (stats->n_nan + stats->n_inf)
        tare_report_addf(c->context->report, &f, "%" PRIu64 " NaN and %" PRIu64 " Inf",
                         stats->n_nan, stats->n_inf);
}

static tare_status check_no_nan(const check *c, const tare_json_node *value, tare_error *err) {
    bool is_asked;
    TARE_TRY(read_wish(&is_asked, value, err));
    if (!is_asked) return TARE_OK;
    return tare_model_stats(c->model, NULL, 0, judge_values, (void *)(uintptr_t)c, c->context, err);
}

/* Whether a license, or each of several with commas between them, is in a list. */
static bool is_listed(const tare_json_node *list, tare_str licenses) {
    while (licenses.len) {
        const char *comma = memchr(licenses.ptr, ',', licenses.len);
        const size_t n = comma ? (size_t)(comma - licenses.ptr) : licenses.len;
        const tare_json_node *allowed = list->child;
        while (allowed &&
               !(allowed->text.len == n && tare_same_letters(allowed->text.ptr, licenses.ptr, n)))
            allowed = allowed->next;
        if (!allowed) return false;
        licenses = tare_str_cut(licenses, comma ? n + 1 : n);
    }
    return true;
}

/* true: any license; a list: one of these. */
static tare_status check_license(const check *c, const tare_json_node *value, tare_error *err) {
    char license[256];
    bool is_asked = true, has_template;
    if (value->type == TARE_JSON_ARRAY)
        TARE_TRY(check_texts(value, err));
    else
        TARE_TRY(read_wish(&is_asked, value, err));
    if (!is_asked) return TARE_OK;
    TARE_TRY(tare_llama_stated(&has_template, license, sizeof license, c->model, c->context, err));
    const tare_finding f = breach("policy.license");
    if (!*license)
        tare_report_addf(c->context->report, &f, "the model states no license");
    else if (value->type == TARE_JSON_ARRAY && !is_listed(value, tare_str_of(license)))
        tare_report_addf(c->context->report, &f, "the policy does not allow the license \"%s\"",
                         license);
    return TARE_OK;
}

static tare_status check_template(const check *c, const tare_json_node *value, tare_error *err) {
    char license[256];
    bool is_asked, has_template;
    TARE_TRY(read_wish(&is_asked, value, err));
    if (!is_asked) return TARE_OK;
    TARE_TRY(tare_llama_stated(&has_template, license, sizeof license, c->model, c->context, err));
    const tare_finding f = breach("policy.chat-template");
    if (!has_template) tare_report_addf(c->context->report, &f, "there is no chat template");
    return TARE_OK;
}

static tare_status read_pattern(tare_pattern **out, const check *c, const tare_json_node *value,
                                tare_error *err) {
    if (value->type != TARE_JSON_STRING || !value->text.len)
        return wrong(err, value, "policy: a text expected");
    tare_status status =
        tare_pattern_new(out, value->text.ptr, value->text.len, c->context->allocator, err);
    if (status == TARE_ERR_ARG) tare_error_item(err, TARE_ITEM_KEY, -1, value->key);
    return status;
}

static tare_status match_tensors(const check *c, tare_pattern *pattern, tare_error *err) {
    const tare_tensor *t;
    for (size_t i = 0; (t = tare_model_tensor(c->model, i)) != NULL; i++) {
        bool matches;
        TARE_TRY(tare_pattern_matches(&matches, pattern, t->name, err));
        const tare_finding f = breach_of_tensor(c, "policy.tensor-names", i);
        if (!matches)
            tare_report_addf(c->context->report, &f, "the policy does not allow the name");
    }
    return TARE_OK;
}

static tare_status match_files(const check *c, tare_pattern *pattern, tare_error *err) {
    const tare_file_info *file;
    for (size_t i = 0; (file = tare_model_file(c->model, i)) != NULL; i++) {
        const char *slash = strrchr(file->name, '/');
        const tare_str name = tare_str_of(slash ? slash + 1 : file->name);
        bool matches;
        TARE_TRY(tare_pattern_matches(&matches, pattern, name, err));
        tare_finding f = breach("policy.file-names");
        f.file = tare_str_of(file->name);
        if (!matches)
            tare_report_addf(c->context->report, &f, "the policy does not allow the file's name");
    }
    return TARE_OK;
}

static tare_status check_tensor_names(const check *c, const tare_json_node *value,
                                      tare_error *err) {
    tare_pattern *pattern;
    TARE_TRY(read_pattern(&pattern, c, value, err));
    const tare_status status = match_tensors(c, pattern, err);
    tare_pattern_free(pattern);
    return status;
}

static tare_status check_file_names(const check *c, const tare_json_node *value, tare_error *err) {
    tare_pattern *pattern;
    TARE_TRY(read_pattern(&pattern, c, value, err));
    const tare_status status = match_files(c, pattern, err);
    tare_pattern_free(pattern);
    return status;
}

static tare_status check_size(const check *c, const tare_json_node *value, tare_error *err) {
    uint64_t most;
    const char *text = value->type == TARE_JSON_STRING
                           ? tare_arena_str(c->arena, value->text).ptr /* ends with a NUL */
                           : NULL;
    if (!tare_json_node_u64(value, &most) && !(text && tare_size_parse(&most, text)))
        return wrong(err, value, "policy: a number of bytes, or a size such as \"8G\", expected");
    const uint64_t size = tare_model_summarize(c->model)->file_bytes;
    const tare_finding f = breach("policy.max-size");
    if (size > most)
        tare_report_addf(c->context->report, &f,
                         "%" PRIu64 " bytes, of which the policy allows %" PRIu64, size, most);
    return TARE_OK;
}

static const struct rule {
    const char *name;
    rule_fn *check;
} rules[] = {
    {"types", check_types},
    {"license", check_license},
    {"chat_template", check_template},
    {"tensor_names", check_tensor_names},
    {"file_names", check_file_names},
    {"max_size", check_size},
    {"no_nan", check_no_nan},
};

static const struct rule *find_rule(tare_str name) {
    for (size_t i = 0; i < sizeof rules / sizeof *rules; i++)
        if (tare_str_is(name, rules[i].name)) return &rules[i];
    return NULL;
}

/* ---- the whole ------------------------------------------------------------------------------- */

/* All members are known before the first is checked. */
static tare_status check_members(const tare_json_node *root, tare_error *err) {
    if (root->type != TARE_JSON_OBJECT) return wrong(err, root, "policy: an object expected");
    for (const tare_json_node *m = root->child; m; m = m->next) {
        if (!find_rule(m->key)) return wrong(err, m, "policy: no such rule");
        for (const tare_json_node *other = root->child; other != m; other = other->next)
            if (tare_str_equal(other->key, m->key)) return wrong(err, m, "policy: given twice");
    }
    return TARE_OK;
}

static tare_status run(const check *c, tare_str policy, tare_error *err) {
    const tare_json_node *root;
    TARE_TRY(tare_json_tree(&root, policy, c->arena, err));
    TARE_TRY(check_members(root, err));
    for (const tare_json_node *m = root->child; m; m = m->next)
        TARE_TRY(find_rule(m->key)->check(c, m, err));
    return TARE_OK;
}

tare_status tare_policy_check(const tare_model *model, tare_str policy, const tare_context *context,
                              tare_error *err) {
    TARE_REQUIRE(model && (policy.ptr || !policy.len), err);
    tare_context own = tare_context_default();
    tare_arena arena;
    TARE_TRY(tare_options_read(&own, sizeof own, context, err));
    tare_arena_init(&arena, own.allocator);
    const check c = {.model = model, .context = &own, .arena = &arena};
    const tare_status status = run(&c, policy, err);
    tare_arena_free(&arena);
    return status;
}
