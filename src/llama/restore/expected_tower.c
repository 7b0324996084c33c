/* SPDX-License-Identifier: MIT
 *
 * Which tensors of the Hugging Face model a tower was made of. Every tensor of a tower has a rule,
 * so these are read backwards: the first one in the spelling of the row that makes a tensor of this
 * name says what it was called. */
#include <stdio.h>

#include "base/str.h"
#include "llama/restore/restore.h"

/* A tensor of the file and the rule that makes it. */
typedef struct made {
    size_t tensor;
    const tare_llama_rule *rule;
    tare_str suffix; /* of the name, where the pattern ends with '@' */
    uint64_t number; /* of the block, in the file */
    bool has_number;
} made;

/* ---- rules ----------------------------------------------------------------------------------- */

/* What stands between the rows of a picture comes from the text model. */
static bool is_of_text(const tare_llama_rule *rule) {
    return rule->match[0] == '*';
}

static bool is_spelled(const tare_llama_rule *rule, const char *words) {
    for (tare_str word; (word = tare_llama_next_word(&words)).len;) {
        char part[64];
        snprintf(part, sizeof part, "%.*s", (int)word.len, word.ptr);
        if (tare_llama_contains(tare_str_of(rule->match), part)) return true;
    }
    return false;
}

/* Reads the number that stands in place of '#'. */
static bool matches(made *m, const char *pattern, tare_str name) {
    size_t i = 0;
    for (; *pattern; pattern++) {
        const size_t from = i;
        if (*pattern != '#') {
            if (i == name.len || name.ptr[i++] != *pattern) return false;
            continue;
        }
        m->number = 0;
        m->has_number = true;
        for (; i < name.len && i - from < 9 && name.ptr[i] >= '0' && name.ptr[i] <= '9'; i++)
            m->number = 10 * m->number + (uint64_t)(name.ptr[i] - '0');
        if (i == from) return false;
    }
    return i == name.len;
}

/* Whether the rule makes a tensor of this name. */
static bool makes(made *m, const tare_llama_rule *rule, tare_str name) {
    static const tare_str suffixes[] = {{".weight", 7}, {".bias", 5}};
    m->rule = rule;
    m->has_number = false;
    m->suffix = TARE_STR("");
    if (!rule->to || rule->to[0] != '=') return false;
    if (!tare_str_ends(tare_str_of(rule->match), TARE_STR("@")))
        return matches(m, rule->to + 1, name);
    for (size_t i = 0; i < 2; i++) {
        if (!tare_str_ends(name, suffixes[i])) continue;
        m->suffix = suffixes[i];
        name.len -= suffixes[i].len;
        return matches(m, rule->to + 1, name);
    }
    return false;
}

/* A pattern with the number of the block and the suffix put in; ptr NULL: memory is out. */
static tare_str write_name(const tare_llama_restoring *r, const char *lead, const char *pattern,
                           uint64_t number, tare_str suffix) {
    char buf[256];
    size_t n = (size_t)snprintf(buf, sizeof buf, "%s", lead);
    for (; *pattern && n + 32 < sizeof buf; pattern++)
        if (*pattern == '#')
            n += (size_t)snprintf(buf + n, sizeof buf - n, "%llu", (unsigned long long)number);
        else if (*pattern != '@')
            buf[n++] = *pattern;
    n += (size_t)snprintf(buf + n, sizeof buf - n, "%.*s", (int)suffix.len, suffix.ptr);
    return tare_arena_str(&r->out->arena, (tare_str){buf, n});
}

/* ---- one tensor ------------------------------------------------------------------------------ */

/* The block that a rule which moves blocks makes of a number; -1: of none. */
static int64_t moved_to(const tare_llama_restoring *r, const made *m, uint64_t number) {
    const tare_tensor *t = &r->gguf->catalog.tensors[m->tensor];
    tare_llama_draft draft = {.layer = (int64_t)number, .number = (int64_t)number};
    if (!tare_llama_shape_init(&draft.shape, t->dims, t->n_dims) ||
        tare_llama_program_run(&draft, m->rule->program, &r->config, NULL) != TARE_OK)
        return -1;
    return draft.layer;
}

/* The number in the name that it had, where the rule moves the block. Larger numbers become later
 * blocks, up to the end of the list that says which, so the number is searched by halves. */
static tare_status number_was(uint64_t *out, const tare_llama_restoring *r, const made *m,
                              tare_error *err) {
    uint64_t end = (uint64_t)r->facts[0].number; /* layers: no list is longer */
    *out = m->number;
    if (!m->has_number || !m->rule->program || !strstr(m->rule->program, "block(")) return TARE_OK;
    for (*out = 0; *out < end;) {
        const uint64_t middle = *out + (end - *out) / 2;
        const int64_t block = moved_to(r, m, middle);
        if (block >= 0 && (uint64_t)block < m->number)
            *out = middle + 1;
        else
            end = middle;
    }
    if (moved_to(r, m, *out) == (int64_t)m->number) return TARE_OK;
    return tare_fail_tensor(err, TARE_ERR_CORRUPT, &r->gguf->catalog.tensors[m->tensor], m->tensor,
                            "the keys have no place for a tensor of this number");
}

/* Whether a rule above makes another tensor of the file of the same one. */
static bool is_sibling(const tare_llama_restoring *r, const made *m) {
    for (const tare_llama_rule *rule = r->arch->rules; rule < m->rule; rule++) {
        if (strcmp(rule->match, m->rule->match) != 0 || !rule->to) continue;
        tare_str name = write_name(r, "", rule->to + 1, m->number, m->suffix);
        if (name.ptr && tare_model_find_tensor(r->gguf, name) >= 0) return true;
    }
    return false;
}

static tare_status add(tare_llama_restoring *r, const made *m, tare_error *err) {
    const char *lead = r->arch->back->lead, *was = tare_llama_shape_row_of(r, m->rule);
    tare_llama_expected w = {.n_dims = 0};
    uint64_t number;
    if (is_sibling(r, m)) return TARE_OK;
    TARE_TRY(number_was(&number, r, m, err));
    w.name = write_name(r, lead ? lead : "", m->rule->match, number, m->suffix);
    if (!w.name.ptr) return tare_fail(err, TARE_ERR_NOMEM, "tensor name");
    if (was)
        TARE_TRY(tare_llama_shape_was(&w, r, m->tensor, was, err));
    else
        TARE_TRY(tare_llama_shape_kept(&w, r, m->tensor, 0, err));
    if (tare_str_is(m->suffix, ".bias")) w.n_dims = 1; /* a shape is that of the weight */
    return tare_llama_expect(r, &w, err);
}

static bool find_rule(made *m, const tare_llama_restoring *r, tare_str name) {
    for (const tare_llama_rule *rule = r->arch->rules; rule->match; rule++)
        if ((is_of_text(rule) || is_spelled(rule, r->arch->back->names)) && makes(m, rule, name))
            return true;
    return false;
}

bool tare_llama_is_of_text(const tare_llama_restoring *r, tare_str name) {
    made m = {.tensor = 0};
    return r->arch->tower && find_rule(&m, r, name) && is_of_text(m.rule);
}

tare_status tare_llama_list_tower(tare_llama_restoring *r, tare_error *err) {
    for (size_t i = 0; i < r->gguf->catalog.n_tensors; i++) {
        const tare_tensor *t = &r->gguf->catalog.tensors[i];
        made m = {.tensor = i};
        if (!find_rule(&m, r, t->name))
            return tare_fail_tensor(err, TARE_ERR_UNSUPPORTED, t, i,
                                    "encoders of this kind have no such tensor");
        if (!is_of_text(m.rule))
            TARE_TRY(add(r, &m, err));
        else if (r->text_architecture.len == 0)
            return tare_fail_tensor(err, TARE_ERR_UNSUPPORTED, t, i,
                                    "it is one of the text model, without whose file the encoder "
                                    "does not become a Hugging Face model");
    }
    return TARE_OK;
}
