/* SPDX-License-Identifier: MIT
 *
 * Plans: rules, tables and contexts from a tally. */
#include "wcodec/wc_scheme.h"

#include "wcodec/wc_head.h"

enum { RANK_TABLES = 2 };

/* The size of a stream's head and a segment's frame, in bits: a rule and table that save less are
 * not worthwhile. */
#define FRAME_BITS (UINT64_C(8) * 700)

/* Values that occur, with their counts. */
static bool list_counts(tare_wc_counts *out, const uint64_t *counts, uint32_t n,
                        tare_arena *arena) {
    *out = (tare_wc_counts){0};
    for (uint32_t v = 0; v < n; v++) out->n += counts[v] != 0;
    out->values = TARE_NEW_ARRAY(arena, uint16_t, out->n);
    out->counts = TARE_NEW_ARRAY(arena, uint64_t, out->n);
    if (!out->values || !out->counts) return false;
    for (uint32_t v = 0, i = 0; v < n; v++) {
        if (!counts[v]) continue;
        out->values[i] = (uint16_t)v;
        out->counts[i++] = counts[v];
    }
    return true;
}

/* One value everywhere: all segments will be CONSTANT, unless that is not allowed. */
static bool is_constant(const tare_wc_tally *t, unsigned prediction) {
    unsigned n = 0;
    for (uint32_t v = 0; v < t->n_kinds; v++) n += t->counts[prediction][v] != 0;
    return n <= 1 && t->options.mode == TARE_CODED_SMALLEST;
}

/* A table of values' symbols. Trellis steps must be present, as each patch comes with one. */
static void add_table(tare_wc_head *head, const tare_wc_rule *rule, uint64_t *counts) {
    uint8_t value_bits = head->shape.value_bits, alphabet = tare_wc_alphabet(value_bits);
    if (rule->trellis)
        counts[0] += !counts[0]; /* the step beside a patch */
    else
        tare_wc_leave_rare(counts, alphabet, value_bits - rule->k);
    tare_wc_table_build(value_bits == 4 ? &head->t16[head->n_t16++] : &head->t64[head->n_t64++],
                        alphabet, counts);
}

/* ---- classes --------------------------------------------------------------------------------- */

/* The symbols of each group, from its values. */
static tare_status group_symbols(uint64_t *symbols, const tare_wc_tally *t,
                                 const tare_wc_coder *coder, unsigned alphabet, tare_arena *arena) {
    for (unsigned g = 0; g < TARE_WC_GROUPS; g++) {
        tare_wc_counts values;
        uint64_t row[64];
        if (!list_counts(&values, t->groups + (size_t)g * t->n_kinds, t->n_kinds, arena))
            return TARE_ERR_NOMEM;
        tare_wc_symbol_counts(row, coder, t->shape.value_bits, &values);
        memcpy(symbols + (size_t)g * alphabet, row, alphabet * sizeof *row);
    }
    return TARE_OK;
}

/* Ranks that are mostly 0, and ranks of any size. */
static void add_rank_tables(tare_wc_scheme *scheme) {
    tare_wc_direct_scheme *d = &scheme->direct[0];
    d->rank_table = scheme->head.n_t16;
    for (unsigned i = 0; i < RANK_TABLES; i++) {
        uint64_t counts[16] = {0};
        for (unsigned r = 0; r < d->n_classes; r++) counts[r] = i ? 1 : r ? 4 : 512;
        tare_wc_table_build(&scheme->head.t16[scheme->head.n_t16++], 16, counts);
    }
}

static tare_status add_classes(tare_wc_scheme *scheme, const tare_wc_tally *t,
                               const uint64_t whole[64]) {
    tare_wc_direct_scheme *d = &scheme->direct[0];
    unsigned alphabet = tare_wc_alphabet(t->shape.value_bits);
    uint64_t sums[TARE_WC_MAX_CLASSES][64] = {{0}}, *symbols = NULL;
    bool is_second = scheme->has_direct[1] && scheme->direct[1].coder.cost <= d->coder.cost;
    d->n_classes = 1;
    if (t->groups && !is_second) { /* classes of what is mostly predicted would not pay */
        symbols = TARE_NEW_ARRAY(&scheme->arena, uint64_t, TARE_WC_GROUPS * (size_t)alphabet);
        if (!symbols) return TARE_ERR_NOMEM;
        TARE_TRY(group_symbols(symbols, t, &d->coder, alphabet, &scheme->arena));
        d->n_classes = (uint8_t)tare_wc_choose_classes(d->group_class, symbols, TARE_WC_GROUPS,
                                                       (uint8_t)alphabet);
    }
    for (unsigned i = 0; d->n_classes > 1 && i < TARE_WC_GROUPS * alphabet; i++)
        sums[d->group_class[i / alphabet]][i % alphabet] += symbols[i];
    if (d->n_classes == 1) memcpy(sums[0], whole, sizeof sums[0]);
    for (unsigned c = 0; c < d->n_classes; c++) add_table(&scheme->head, &d->coder.rule, sums[c]);
    if (d->n_classes > 1) add_rank_tables(scheme);
    return TARE_OK;
}

/* ---- rules ----------------------------------------------------------------------------------- */

/* A trellis has one rule and needs no choice. */
static bool trellis_rule(tare_wc_coder *coder, const tare_wc_tally *t, tare_arena *arena) {
    *coder = (tare_wc_coder){.rule = {.trellis = t->options.trellis}};
    tare_wc_rule_complete(&coder->rule, t->shape.value_bits);
    coder->symbol_of = TARE_NEW_ARRAY(arena, uint8_t, 256);
    for (unsigned i = 0; coder->symbol_of && i < 256; i++) coder->symbol_of[i] = (uint8_t)(i & 63);
    return coder->symbol_of != NULL;
}

static tare_status add_rule(tare_wc_scheme *scheme, const tare_wc_tally *t, unsigned prediction) {
    tare_wc_direct_scheme *d = &scheme->direct[prediction];
    tare_wc_counts values;
    uint64_t whole[64];
    if (!list_counts(&values, t->counts[prediction], t->n_kinds, &scheme->arena))
        return TARE_ERR_NOMEM;
    if (values.n == 0 || is_constant(t, prediction)) return TARE_OK;
    uint64_t plain = t->n_values * t->shape.value_bits;
    bool is_forced = t->options.mode == TARE_CODED_DIRECT || t->options.trellis;
    if (!is_forced && plain < FRAME_BITS) return TARE_OK;
    bool is_made = t->options.trellis ? trellis_rule(&d->coder, t, &scheme->arena)
                                      : tare_wc_choose_rule(&d->coder, t->shape.value_bits, &values,
                                                            &scheme->arena);
    if (!is_made) return TARE_ERR_NOMEM;
    if (!is_forced && (d->coder.cost >> 16) + FRAME_BITS > plain) return TARE_OK;
    if (t->options.trellis) {
        memcpy(whole, t->counts[0], sizeof whole);
    } else {
        tare_wc_symbol_counts(whole, &d->coder, t->shape.value_bits, &values);
    }
    /* A sample may lack values of the rest; if it is large, those are left to patches. */
    unsigned n_symbols = t->options.used_bits && !prediction ? 1u << t->options.used_bits : 64;
    for (unsigned i = 0; t->shape.value_bits < 8 && !t->options.is_full && i < n_symbols; i++)
        whole[i] += !whole[i];
    scheme->has_direct[prediction] = true;
    d->rule = scheme->head.n_rules;
    scheme->head.rules[scheme->head.n_rules++] = d->coder.rule;
    d->first_table = t->shape.value_bits == 4 ? scheme->head.n_t16 : scheme->head.n_t64;
    if (prediction == 0) return add_classes(scheme, t, whole);
    d->n_classes = 1;
    add_table(&scheme->head, &d->coder.rule, whole);
    return TARE_OK;
}

/* ---- contexts -------------------------------------------------------------------------------- */

static tare_status add_contexts(tare_wc_scheme *scheme, const tare_wc_tally *t) {
    tare_wc_head *head = &scheme->head;
    uint64_t sums[TARE_WC_MAX_TABLES][16];
    unsigned bits = t->magnitude_bits ? t->magnitude_bits : 1;
    unsigned n = TARE_WC_SIDE_CONTEXTS + bits * TARE_WC_PLANE_CONTEXTS;
    unsigned room = TARE_WC_MAX_TABLES - head->n_t16;
    uint8_t *table_of = TARE_NEW_ARRAY(&scheme->arena, uint8_t, n);
    if (!table_of) return TARE_ERR_NOMEM;
    unsigned n_tables = tare_wc_choose_contexts(table_of, sums, (const uint64_t(*)[16])t->contexts,
                                                n, room, t->allocator);
    if (!n_tables) return TARE_ERR_NOMEM;
    for (unsigned i = 0; i < n; i++) table_of[i] = (uint8_t)(table_of[i] + head->n_t16);
    for (unsigned i = 0; i < n_tables; i++)
        tare_wc_table_build(&head->t16[head->n_t16++], 16, sums[i]);
    head->contexts = table_of;
    head->n_contexts = (uint16_t)n;
    head->max_magnitude = (uint8_t)bits;
    scheme->has_tiles = true;
    return TARE_OK;
}

/* ---- scheme ---------------------------------------------------------------------------------- */

static tare_status add_inverses(tare_wc_scheme *scheme) {
    const tare_wc_head *head = &scheme->head;
    scheme->inverses64 = TARE_NEW_ARRAY(&scheme->arena, tare_wc_inverse, head->n_t64);
    scheme->inverses16 = TARE_NEW_ARRAY(&scheme->arena, tare_wc_inverse, head->n_t16);
    if (!scheme->inverses64 || !scheme->inverses16) return TARE_ERR_NOMEM;
    for (unsigned i = 0; i < head->n_t64; i++)
        tare_wc_inverse_build(&scheme->inverses64[i], &head->t64[i]);
    for (unsigned i = 0; i < head->n_t16; i++)
        tare_wc_inverse_build(&scheme->inverses16[i], &head->t16[i]);
    bool is_small = head->shape.value_bits == 4;
    for (unsigned i = 0; i < TARE_WC_PREDICTIONS; i++) {
        tare_wc_direct_scheme *d = &scheme->direct[i];
        d->tables = (is_small ? head->t16 : head->t64) + d->first_table;
        d->inverses = (is_small ? scheme->inverses16 : scheme->inverses64) + d->first_table;
        d->rank_inverses = scheme->inverses16 + d->rank_table;
    }
    return TARE_OK;
}

static tare_status fill(tare_wc_scheme *scheme, const tare_wc_tally *t) {
    tare_wc_head *head = &scheme->head;
    head->rules = TARE_NEW_ARRAY(&scheme->arena, tare_wc_rule, TARE_WC_PREDICTIONS);
    head->t64 = TARE_NEW_ARRAY(&scheme->arena, tare_wc_table, TARE_WC_MAX_CLASSES + 1);
    /* Contexts take as many tables as there are; else these are of nibbles, or of ranks. */
    size_t n_t16 = t->n_sketches ? TARE_WC_MAX_TABLES : TARE_WC_MAX_CLASSES + 1 + RANK_TABLES;
    head->t16 = TARE_NEW_ARRAY(&scheme->arena, tare_wc_table, n_t16);
    if (!head->rules || !head->t64 || !head->t16) return TARE_ERR_NOMEM;
    if (t->has_base) TARE_TRY(add_rule(scheme, t, 1));
    TARE_TRY(add_rule(scheme, t, 0));
    scheme->n_direct_t16 = head->n_t16;
    scheme->is_surprised = !t->has_base && is_constant(t, 0);
    if (t->n_sketches && !is_constant(t, 0)) TARE_TRY(add_contexts(scheme, t));
    return add_inverses(scheme);
}

bool tare_wc_is_tiny(const tare_wc_options *options, uint64_t n_bytes) {
    return options->mode == TARE_CODED_SMALLEST && !options->trellis && n_bytes < FRAME_BITS / 8;
}

tare_status tare_wc_scheme_tiny(tare_wc_scheme **out, const tare_wc_shape *shape,
                                const tare_wc_options *options, const tare_allocator *allocator,
                                tare_error *err) {
    tare_wc_scheme *scheme = tare_alloc(allocator, sizeof *scheme);
    *out = scheme;
    if (!scheme) return tare_fail(err, TARE_ERR_NOMEM, "stream");
    *scheme = (tare_wc_scheme){.head = {.shape = *shape}, .options = *options};
    tare_arena_init(&scheme->arena, allocator);
    return TARE_OK;
}

tare_status tare_wc_scheme_new(tare_wc_scheme **out, const tare_wc_tally *tally, tare_error *err) {
    *out = NULL;
    tare_wc_scheme *scheme;
    TARE_TRY(tare_wc_scheme_tiny(&scheme, &tally->shape, &tally->options, tally->allocator, err));
    tare_status status = fill(scheme, tally);
    if (status != TARE_OK) {
        tare_wc_scheme_free(scheme);
        return tare_fail(err, status, "stream");
    }
    *out = scheme;
    return TARE_OK;
}

void tare_wc_scheme_free(tare_wc_scheme *scheme) {
    if (!scheme) return;
    const tare_allocator *allocator = scheme->arena.allocator;
    tare_arena_free(&scheme->arena);
    tare_free(allocator, scheme, sizeof *scheme);
}

const tare_wc_head *tare_wc_scheme_head(const tare_wc_scheme *scheme) {
    return &scheme->head;
}
