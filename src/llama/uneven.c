/* SPDX-License-Identifier: MIT
 *
 * Blocks that have lost a norm or a bias. llama.cpp runs without many of them, and computes something
 * else then; but blocks with the same matrices have the same vectors, so that one that lacks what
 * another has shows. */
#include <stdlib.h>

#include "base/alloc.h"
#include "base/report.h"
#include "base/str.h"
#include "llama/mapping.h"
#include "llama/size_rules.h"
#include "llama/tower.h"

/* Vectors that some blocks alone have. */
static const struct {
    const char *stem, *archs;
} by_layer[] = {{"blk.#.attn_norm.weight", "modern-bert"}, {"blk.#.attn_sinks.weight", "mimo2"}};

typedef struct entry {
    uint64_t block, hash; /* of the name without the block's number */
    const tare_llama_target *target;
    bool is_matrix;
} entry;

typedef struct block {
    uint64_t number, matrices, vectors; /* sums of hashes */
    size_t from, n, n_vectors;          /* of the entries */
} block;

typedef struct search {
    entry *entries;
    block *blocks;
    size_t n_entries, n_blocks, size;
} search;

static bool is_by_layer(const tare_llama_mapping *m, const char *stem) {
    for (size_t i = 0; i < sizeof by_layer / sizeof *by_layer; i++)
        if (strcmp(stem, by_layer[i].stem) == 0 &&
            tare_llama_is_one_of(tare_str_of(m->arch->name), by_layer[i].archs))
            return true;
    return false;
}

static int by_block(const void *a, const void *b) {
    const entry *x = a, *y = b;
    return (x->block > y->block) - (x->block < y->block);
}

/* Those of the same matrices beside each other, first the one with the most vectors. */
static int by_matrices(const void *a, const void *b) {
    const block *x = a, *y = b;
    if (x->matrices != y->matrices) return x->matrices < y->matrices ? -1 : 1;
    if (x->n_vectors != y->n_vectors) return x->n_vectors > y->n_vectors ? -1 : 1;
    return (x->number > y->number) - (x->number < y->number);
}

/* Stages of a MobileNet, which are no two alike. */
static bool is_stage(const char *stem) {
    const char *end = strchr(stem, '#');
    return end && end[1] == '.' && end[2] >= '0' && end[2] <= '9';
}

/* Blocks of an encoder have all the same tensors; a model may have several encoders. */
static void note_family(entry *e, const char *stem, const tare_hash_key *key) {
    const char *end = strchr(stem, '#');
    const tare_str family = {stem, (size_t)(end - stem)};
    e->block |= (tare_str_hash(family, key) & 0xffff) << 32;
    e->is_matrix = false;
}

/* Attention is compared for itself: the rest of a block may be of experts or not. */
static void collect(search *s, const tare_llama_mapping *m, bool of_attention) {
    const tare_hash_key key = tare_hash_key_new();
    s->n_entries = s->n_blocks = 0;
    for (size_t i = 0; i < m->n_targets; i++) {
        const tare_llama_target *t = m->targets[i];
        char stem[160];
        uint64_t number;
        bool is_in_block;
        tare_llama_stem(stem, sizeof stem, &number, &is_in_block, t->name);
        const bool is_usual = tare_str_ends(t->name, TARE_STR(".weight")) ||
                              tare_str_ends(t->name, TARE_STR(".bias"));
        const bool is_matrix = t->n_dims > 1 && tare_str_ends(t->name, TARE_STR(".weight"));
        const bool is_attention = tare_str_starts(tare_str_of(stem), TARE_STR("blk.#.attn_"));
        const bool is_of_tower = m->arch->tower != NULL;
        if (!is_in_block || (!is_usual && !is_of_tower) || is_by_layer(m, stem) || is_stage(stem) ||
            (is_of_tower && tare_llama_is_spared(m->arch->tower->by_block, tare_str_of(stem))) ||
            (!is_of_tower && is_attention != of_attention && !(is_matrix && is_attention)))
            continue;
        entry *e = &s->entries[s->n_entries++];
        *e = (entry){number, tare_str_hash(tare_str_of(stem), &key), t, is_matrix};
        if (is_of_tower) note_family(e, stem, &key);
    }
    qsort(s->entries, s->n_entries, sizeof *s->entries, by_block);
    for (size_t i = 0; i < s->n_entries; i++) {
        const entry *e = &s->entries[i];
        block *b = s->n_blocks ? &s->blocks[s->n_blocks - 1] : NULL;
        if (!b || b->number != e->block) {
            b = &s->blocks[s->n_blocks++];
            *b = (block){.number = e->block, .matrices = e->block >> 32, .from = i};
        }
        *(e->is_matrix ? &b->matrices : &b->vectors) += e->hash;
        b->n_vectors += !e->is_matrix;
        b->n++;
    }
    qsort(s->blocks, s->n_blocks, sizeof *s->blocks, by_matrices);
}

static bool has(const search *s, const block *b, const entry *e) {
    for (size_t i = b->from; i < b->from + b->n; i++)
        if (s->entries[i].hash == e->hash) return true;
    return false;
}

/* What one has and the other lacks. */
static void report(const search *s, const block *full, const block *other, tare_llama_mapping *m) {
    for (size_t i = full->from; i < full->from + full->n; i++) {
        const entry *e = &s->entries[i];
        if (e->is_matrix || has(s, other, e)) continue;
        tare_finding f = TARE_FINDING(WARNING, TARE_ERR_CORRUPT, "llama.uneven");
        f.item_kind = TARE_ITEM_TENSOR;
        f.item_name = e->target->name;
        f.text = TARE_STR("another block of the same matrices lacks it");
        const unsigned long long number = other->number & 0xffffffff;
        tare_report_addf(m->options->context->report, &f,
                         m->arch->tower
                             ? "block %llu of the encoder lacks what this one has: llama.cpp does "
                               "not run it, or without, so results differ"
                             : "block %llu lacks what this one of the same matrices has: llama.cpp "
                               "runs without it, so results differ",
                         number);
        if (m->out->loss.status == TARE_OK) m->out->loss = f;
    }
}

tare_status tare_llama_note_uneven(tare_llama_mapping *m, tare_error *err) {
    const tare_allocator *allocator = m->out->allocator;
    search s = {.size = m->n_targets};
    s.entries = tare_alloc(allocator, s.size * sizeof *s.entries);
    s.blocks = tare_alloc(allocator, s.size * sizeof *s.blocks);
    const bool is_done = s.entries && s.blocks;
    const int n_passes = m->arch->tower ? 1 : 2;
    for (int of_attention = 0; of_attention < n_passes && is_done; of_attention++) {
        collect(&s, m, of_attention);
        const block *full = s.blocks;
        for (size_t i = 1; i < s.n_blocks; i++) {
            if (s.blocks[i].matrices != full->matrices) full = &s.blocks[i];
            if (s.blocks[i].vectors != full->vectors) report(&s, full, &s.blocks[i], m);
        }
    }
    tare_free(allocator, s.entries, s.size * sizeof *s.entries);
    tare_free(allocator, s.blocks, s.size * sizeof *s.blocks);
    return is_done ? TARE_OK : tare_fail(err, TARE_ERR_NOMEM, "blocks");
}
