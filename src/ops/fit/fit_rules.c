/* SPDX-License-Identifier: MIT
 *
 * A choice as rules REGEX=TYPE, so that it is carried out, and can be repeated, by the same means as
 * a caller's own wishes. Tensors that differ in the number of their layer only and have the same
 * type share a rule: ^blk\.(0|1|29)\.ffn_down\.weight$ */
#include <math.h>
#include <stdlib.h>
#include <string.h>

#include "base/buffer.h"
#include "base/str.h"
#include "ops/convert/type_rules.h"
#include "ops/fit/fit_parts.h"

enum {
    MOST_DIGITS = 9, /* of a number; a longer one is text */
    /* Alternatives side by side; more are put together by what they begin with, for the memory that
     * a compiled expression takes grows with their square. */
    SIDE_BY_SIDE = 256,
};

/* A tensor's name: the number of its layer taken out, and what lies around. */
typedef struct name_parts {
    tare_str before, number, after; /* number.len 0: none */
} name_parts;

typedef struct group {
    name_parts first;
    const void *type;    /* an encoding, or the name of a scheme */
    bool is_expert;      /* a further number stands for any */
    tare_buffer numbers; /* with '|' between them */
    size_t n_numbers;
} group;

typedef struct writer {
    tare_fit *f;
    group *groups;
    size_t n_groups;
} writer;

static bool is_digit(char c) {
    return c >= '0' && c <= '9';
}

/* The first part between dots that is a number. */
static name_parts take_apart(tare_str name) {
    for (size_t from = 0; from < name.len;) {
        size_t to = from;
        while (to < name.len && name.ptr[to] != '.') to++;
        bool is_number = to > from && to - from <= MOST_DIGITS;
        for (size_t i = from; i < to; i++) is_number &= is_digit(name.ptr[i]);
        if (is_number)
            return (name_parts){
                {name.ptr, from}, {name.ptr + from, to - from}, tare_str_cut(name, to)};
        from = to + 1;
    }
    return (name_parts){name, {name.ptr, 0}, {name.ptr + name.len, 0}};
}

/* Whether two texts are the same but for numbers between dots. */
static bool is_same_but_numbers(tare_str a, tare_str b) {
    size_t i = 0, k = 0;
    while (i < a.len && k < b.len) {
        const bool begins = i > 0 && a.ptr[i - 1] == '.';
        if (begins && is_digit(a.ptr[i]) && is_digit(b.ptr[k])) {
            while (i < a.len && is_digit(a.ptr[i])) i++;
            while (k < b.len && is_digit(b.ptr[k])) k++;
            continue;
        }
        if (a.ptr[i++] != b.ptr[k++]) return false;
    }
    return i == a.len && k == b.len;
}

static bool is_in_group(const group *g, const name_parts *n, const void *type, bool is_expert) {
    return g->type == type && g->is_expert == is_expert &&
           (g->first.number.len > 0) == (n->number.len > 0) &&
           tare_str_equal(g->first.before, n->before) &&
           (is_expert ? is_same_but_numbers(g->first.after, n->after)
                      : tare_str_equal(g->first.after, n->after));
}

/* Experts of a layer come with the same number again and again: it is entered once. */
static bool has_number(const group *g, tare_str number) {
    const tare_str all = {(const char *)g->numbers.data, g->numbers.size};
    for (size_t from = 0; from < all.len;) {
        size_t to = from;
        while (to < all.len && all.ptr[to] != '|') to++;
        if (tare_str_equal((tare_str){all.ptr + from, to - from}, number)) return true;
        from = to + 1;
    }
    return false;
}

static void add_number(group *g, tare_str number) {
    if (number.len == 0 || (g->is_expert && has_number(g, number))) return;
    g->n_numbers++;
    if (g->numbers.size > 0) tare_buffer_put_text(&g->numbers, "|");
    tare_buffer_put_str(&g->numbers, number);
}

static void add_tensor(writer *w, size_t i, const void *type, bool is_expert) {
    const name_parts name = take_apart(w->f->in->catalog.tensors[i].name);
    size_t g = w->n_groups;
    while (g > 0 && !is_in_group(&w->groups[g - 1], &name, type, is_expert)) g--;
    if (g == 0) {
        g = ++w->n_groups;
        w->groups[g - 1] = (group){.first = name, .type = type, .is_expert = is_expert};
        tare_buffer_init(&w->groups[g - 1].numbers, w->f->convert.context->allocator);
    }
    add_number(&w->groups[g - 1], name.number);
}

/* ---- expressions ----------------------------------------------------------------------------- */

/* Text that stands for itself. A control character, which no line of a file can hold, is matched by
 * any; matching ends at a NUL. */
static void put_literal(tare_buffer *b, tare_str text, bool is_expert) {
    for (size_t i = 0; i < text.len && text.ptr[i] != '\0'; i++) {
        const char c = text.ptr[i];
        if (is_expert && is_digit(c) && i > 0 && text.ptr[i - 1] == '.') {
            tare_buffer_put_text(b, "[0-9]+");
            while (i + 1 < text.len && is_digit(text.ptr[i + 1])) i++;
            continue;
        }
        const bool is_control = (unsigned char)c < ' ' || c == 127;
        if (strchr(".[]()*+?{}|^$\\", c)) tare_buffer_put_text(b, "\\");
        tare_buffer_put_u8(b, is_control ? '.' : (uint8_t)c);
    }
}

static int by_text(const void *a, const void *b) {
    return tare_str_compare(*(const tare_str *)a, *(const tare_str *)b);
}

/* Sorted numbers that agree in the first `at` digits, without these: 1, 10, 12, 2 is (1(0|2)?|2). */
static void put_tree(tare_buffer *b, const tare_str *numbers, size_t n, size_t at) {
    const bool ends = numbers[0].len == at;
    if (n == 1) {
        tare_buffer_put_str(b, tare_str_cut(numbers[0], at));
        return;
    }
    tare_buffer_put_text(b, "(");
    for (size_t i = ends, end; i < n; i = end) {
        const char digit = numbers[i].ptr[at];
        for (end = i + 1; end < n && numbers[end].ptr[at] == digit;) end++;
        if (i > ends) tare_buffer_put_text(b, "|");
        tare_buffer_put_u8(b, (uint8_t)digit);
        put_tree(b, numbers + i, end - i, at + 1);
    }
    tare_buffer_put_text(b, ends ? ")?" : ")");
}

static tare_status put_numbers(tare_buffer *b, const group *g, tare_arena *arena, tare_error *err) {
    if (g->n_numbers <= SIDE_BY_SIDE) {
        if (g->n_numbers > 1) tare_buffer_put_text(b, "(");
        if (g->n_numbers) tare_buffer_put(b, g->numbers.data, g->numbers.size);
        if (g->n_numbers > 1) tare_buffer_put_text(b, ")");
        return TARE_OK;
    }
    tare_str *numbers = TARE_NEW_ARRAY(arena, tare_str, g->n_numbers);
    if (!numbers) return tare_fail(err, TARE_ERR_NOMEM, "rules");
    tare_str left = {(const char *)g->numbers.data, g->numbers.size};
    for (size_t i = 0; i < g->n_numbers; i++) {
        numbers[i] = (tare_str){left.ptr, 0};
        while (numbers[i].len < left.len && is_digit(left.ptr[numbers[i].len])) numbers[i].len++;
        left = tare_str_cut(left, numbers[i].len + 1);
    }
    qsort(numbers, g->n_numbers, sizeof *numbers, by_text);
    put_tree(b, numbers, g->n_numbers, 0);
    return TARE_OK;
}

static bool has_nul(const group *g) {
    return memchr(g->first.before.ptr, '\0',
                  g->first.before.len + g->first.number.len + g->first.after.len) != NULL;
}

static tare_status add_rule(tare_fit *f, const char *pattern, const group *g, tare_error *err) {
    if (!pattern) return tare_fail(err, TARE_ERR_NOMEM, "rules");
    if (f->scheme_names)
        f->rules.schemes[f->rules.n++] = (tare_scheme_rule){pattern, g->type};
    else
        f->rules.rules[f->rules.n++] = (tare_type_rule){.pattern = pattern, .encoding = g->type};
    return TARE_OK;
}

static tare_status put_rule(tare_fit *f, const group *g, tare_error *err) {
    tare_buffer b;
    tare_buffer_init(&b, f->convert.context->allocator);
    tare_buffer_put_text(&b, "^");
    put_literal(&b, g->first.before, false);
    tare_status status = put_numbers(&b, g, &f->rules_arena, err);
    put_literal(&b, g->first.after, g->is_expert);
    if (!has_nul(g)) tare_buffer_put_text(&b, "$");
    if (status == TARE_OK) status = tare_buffer_status(&b, err);
    const tare_str text = {(const char *)b.data, b.size};
    if (status == TARE_OK) status = add_rule(f, tare_arena_str(&f->rules_arena, text).ptr, g, err);
    tare_buffer_free(&b);
    return status;
}

/* ---- the mix --------------------------------------------------------------------------------- */

static const void *chosen_type(const tare_fit *f, size_t i) {
    const int64_t u = f->unit_of[i];
    if (f->scheme_names) return u >= 0 ? f->scheme_names[f->candidates[u][f->choice[u]]] : NULL;
    return u >= 0 ? f->types[f->candidates[u][f->choice[u]]] : f->fixed[i];
}

/* The named mix of a type; for types of other programs, the one whose bits are closest. */
static const tare_mix *mix_of(const tare_encoding *type) {
    const tare_mix *best = tare_mix_mostly(type), *m;
    double least = INFINITY;
    if (best) return best;
    for (size_t i = 0; (m = tare_mix_at(i)) != NULL; i++) {
        if (!m->type || m->type->kind != TARE_KIND_BLOCK) continue;
        const double d = fabs(tare_encoding_bits(m->type) - tare_encoding_bits(type));
        if (d >= least) continue;
        least = d;
        best = m;
    }
    return best;
}

tare_status tare_mix_of_rules(const tare_mix **out, const tare_model *in,
                              const tare_type_rule *rules, size_t n_rules, tare_error *err) {
    TARE_REQUIRE(out && in && (rules || n_rules == 0), err);
    const tare_catalog *c = &in->catalog;
    uint64_t weights[TARE_ENCODING_COUNT] = {0}, most = 0;
    tare_arena arena;
    *out = NULL;
    tare_arena_init(&arena, in->allocator);
    int64_t *rule = TARE_NEW_ARRAY(&arena, int64_t, c->n_tensors);
    tare_status status = rule ? tare_type_rules_match(rule, in, rules, n_rules, err)
                              : tare_fail(err, TARE_ERR_NOMEM, "rules");
    for (size_t i = 0; status == TARE_OK && i < c->n_tensors; i++) {
        if (rule[i] < 0) continue;
        const tare_encoding *type = rules[rule[i]].encoding;
        weights[type->id] += c->tensors[i].n_elements;
        if (weights[type->id] <= most) continue;
        most = weights[type->id];
        *out = mix_of(type);
    }
    tare_arena_free(&arena);
    return status;
}

/* ---- the whole ------------------------------------------------------------------------------- */

/* Room for rules, of which the caller's are the first. */
static tare_status begin_rules(tare_fit *f, tare_error *err) {
    const size_t n = f->in->catalog.n_tensors;
    const tare_scheme_options *o = &f->schemes;
    tare_arena_free(&f->rules_arena);
    tare_arena_init(&f->rules_arena, f->convert.context->allocator);
    f->rules = (tare_fit_rules){NULL, NULL, 0};
    if (f->scheme_names)
        f->rules.schemes = TARE_NEW_ARRAY(&f->rules_arena, tare_scheme_rule, n + o->n_rules);
    else
        f->rules.rules = TARE_NEW_ARRAY(&f->rules_arena, tare_type_rule, n + f->convert.n_rules);
    if (!f->rules.rules && !f->rules.schemes) return tare_fail(err, TARE_ERR_NOMEM, "rules");
    for (size_t i = 0; f->scheme_names && i < o->n_rules; i++)
        f->rules.schemes[f->rules.n++] = o->rules[i];
    for (size_t i = 0; !f->scheme_names && i < f->convert.n_rules; i++)
        f->rules.rules[f->rules.n++] = f->convert.rules[i];
    return TARE_OK;
}

/* Whether other numbers in a name stand for any: those of experts that are one unit. */
static bool is_of_experts(const tare_fit *f, size_t i) {
    const int64_t u = f->unit_of[i];
    return u >= 0 && f->units[u].n_tensors > 1 &&
           (!f->scheme_names || f->units[u].role.expert >= 0);
}

tare_status tare_fit_make_rules(tare_fit *f, tare_error *err) {
    const size_t n = f->in->catalog.n_tensors;
    TARE_TRY(begin_rules(f, err));
    writer w = {.f = f, .groups = TARE_NEW_ARRAY(&f->rules_arena, group, n)};
    if (!w.groups) return tare_fail(err, TARE_ERR_NOMEM, "rules");
    for (size_t i = 0; i < n; i++) {
        const void *type = chosen_type(f, i);
        if (type && !(f->manual && f->manual[i])) add_tensor(&w, i, type, is_of_experts(f, i));
    }
    tare_status status = TARE_OK;
    for (size_t g = 0; g < w.n_groups; g++) {
        if (status == TARE_OK) status = tare_buffer_status(&w.groups[g].numbers, err);
        if (status == TARE_OK) status = put_rule(f, &w.groups[g], err);
        tare_buffer_free(&w.groups[g].numbers);
    }
    if (status != TARE_OK || f->scheme_names) return status;
    return tare_mix_of_rules(&f->named, f->in, f->rules.rules, f->rules.n, err);
}
