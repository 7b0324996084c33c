/* SPDX-License-Identifier: MIT
 *
 * Choices from counts. Costs are whole numbers, so that every machine chooses the same. */
#include "wcodec/wc_choose.h"

#include <string.h>

#include "wcodec/wc_head.h"

#define BIT (UINT64_C(1) << 16) /* the unit of costs */

/* ---- rules ----------------------------------------------------------------------------------- */

/* The cost of patches: their tops, and distances whose Rice code comes within 0.05 bits of their
 * information content, log2 of their mean plus 1.44. */
static uint64_t patches_cost(uint64_t total, uint64_t n_patches, unsigned top_bits) {
    if (!n_patches) return 0;
    return n_patches *
           (tare_wc_log2(total) - tare_wc_log2(n_patches) + BIT * 3 / 2 + top_bits * BIT);
}

/* Which of two tops is dropped for the other: the rarer one, or the upper one if they are equal. */
static bool is_lesser(const uint64_t *tops, uint32_t a, uint32_t b) {
    return tops[a] < tops[b] || (tops[a] == tops[b] && a > b);
}

/* Sifts entry `at` of a heap of n down until no entry below it is smaller. */
static void sink(uint32_t *heap, unsigned n, unsigned at, const uint64_t *tops) {
    uint32_t top = heap[at];
    for (unsigned below; (below = 2 * at + 1) < n; at = below) {
        if (below + 1 < n && is_lesser(tops, heap[below + 1], heap[below])) below++;
        if (is_lesser(tops, top, heap[below])) break;
        heap[at] = heap[below];
    }
    heap[at] = top;
}

/* Marks the 64 most frequent tops. */
static void mark_tops(uint8_t *symbol_of, const uint64_t *tops, uint32_t n) {
    uint32_t best[64];
    unsigned n_best = 0;
    for (uint32_t top = 0; top < n; top++) {
        symbol_of[top] = TARE_WC_NO_SYMBOL;
        if (!tops[top] || (n_best == 64 && is_lesser(tops, top, best[0]))) continue;
        if (n_best < 64) {
            best[n_best++] = top;
            for (unsigned i = 32; n_best == 64 && i-- > 0;) sink(best, 64, i, tops);
        } else {
            best[0] = top;
            sink(best, 64, 0, tops);
        }
    }
    for (unsigned i = 0; i < n_best; i++) symbol_of[best[i]] = 0;
}

/* Marks 64 tops in a row instead if they cover nearly as much (what they miss are patches, 1e-3 bit
 * a value at most): kernels find symbols by subtraction then. */
static void prefer_row(uint8_t *symbol_of, const uint64_t *tops, uint32_t n, uint64_t total) {
    uint64_t marked = 0, row = 0, most = 0;
    uint32_t end = 0;
    for (uint32_t top = 0; top < n; top++) {
        if (symbol_of[top] != TARE_WC_NO_SYMBOL) marked += tops[top];
        row += tops[top] - (top < 64 ? 0 : tops[top - 64]);
        if (row <= most) continue;
        most = row;
        end = top + 1;
    }
    if (marked - most > total >> 16) return;
    for (uint32_t top = 0; top < n; top++)
        symbol_of[top] = top < end && top + 64 >= end ? 0 : TARE_WC_NO_SYMBOL;
}

/* Numbers the marked tops in ascending order. */
static void number_tops(tare_wc_rule *rule, uint8_t *symbol_of, uint32_t n) {
    uint8_t next = 0;
    for (uint32_t top = 0; top < n; top++) {
        if (symbol_of[top] == TARE_WC_NO_SYMBOL) continue;
        rule->map[next] = (uint16_t)top;
        symbol_of[top] = next++;
    }
    for (; next < 64; next++) rule->map[next] = 0;
}

void tare_wc_symbol_counts(uint64_t counts[64], const tare_wc_coder *coder, uint8_t value_bits,
                           const tare_wc_counts *values) {
    uint64_t n_patches = 0;
    unsigned most = 0;
    memset(counts, 0, 64 * sizeof *counts);
    for (uint32_t i = 0; i < values->n; i++) {
        uint32_t low, top = tare_wc_split(&coder->rule, value_bits, values->values[i], &low);
        if (coder->symbol_of[top] == TARE_WC_NO_SYMBOL)
            n_patches += values->counts[i];
        else
            counts[coder->symbol_of[top]] += values->counts[i];
    }
    for (unsigned i = 1; i < 64; i++)
        if (counts[i] > counts[most]) most = i;
    counts[most] += n_patches;
}

void tare_wc_leave_rare(uint64_t *counts, unsigned alphabet, unsigned top_bits) {
    const uint64_t units = UINT64_C(256) * alphabet, of_e = 94548; /* log2(e) in units of costs */
    uint64_t total = 0, n_patches = 0;
    unsigned most = 0, n = 0;
    for (unsigned i = 0; i < alphabet; i++) {
        total += counts[i];
        n += counts[i] != 0;
        if (counts[i] > counts[most]) most = i;
    }
    for (; n > 2; n--) { /* one alone would give a unit to another in any case */
        unsigned least = most;
        for (unsigned i = 0; i < alphabet; i++)
            if (counts[i] && counts[i] < counts[least]) least = i;
        uint64_t count = counts[least];
        if (least == most || count * units >= total) return;
        /* A unit less for all others. */
        uint64_t kept = count * tare_wc_log2(units) + total * of_e / units;
        uint64_t patched = patches_cost(total, n_patches + count, top_bits) -
                           patches_cost(total, n_patches, top_bits) +
                           count * (tare_wc_log2(total) - tare_wc_log2(counts[most]));
        if (patched >= kept) return;
        n_patches += count;
        counts[most] += count;
        counts[least] = 0;
    }
}

/* How often each top occurs with the fewest bypass bits of a form; returns how many tops there are.
 */
static uint32_t count_tops(uint64_t *tops, const tare_wc_rule *rule, uint8_t value_bits,
                           const tare_wc_counts *values) {
    uint32_t n = 1u << (value_bits - rule->k);
    memset(tops, 0, n * sizeof *tops);
    for (uint32_t i = 0; i < values->n; i++) {
        uint32_t low, top = tare_wc_split(rule, value_bits, values->values[i], &low);
        tops[top] += values->counts[i];
    }
    return n;
}

/* Patching also takes time; 64 tops as frequent as the most frequent one may be too few. */
static bool may_hold(const uint64_t *tops, uint32_t n, uint64_t total) {
    uint64_t most = 0;
    for (uint32_t top = 0; top < n && n > 64; top++) most = tops[top] > most ? tops[top] : most;
    return n <= 64 || most >= (total - total / 256) / 64;
}

/* The fewest bypass bits of a form, first..last, with which 64 tops may hold the values; the last
 * suffice. More bits join tops, so that what holds with some holds with more. */
static uint8_t find_first_k(uint8_t first, uint8_t last, uint8_t form, uint8_t value_bits,
                            const tare_wc_counts *values, uint64_t total, uint64_t *tops) {
    while (first < last) {
        const tare_wc_rule rule = {.form = form, .k = (uint8_t)((first + last) / 2)};
        if (may_hold(tops, count_tops(tops, &rule, value_bits, values), total))
            last = rule.k;
        else
            first = (uint8_t)(rule.k + 1);
    }
    return last;
}

/* Fills in what a form and a number of bypass bits come to, from the counts of its tops. */
static void weigh(tare_wc_coder *coder, uint8_t value_bits, const uint64_t *tops, uint64_t total) {
    uint32_t n = 1u << (value_bits - coder->rule.k);
    uint64_t symbols[64] = {0}, patched = 0;
    coder->cost = UINT64_MAX;
    coder->rule.has_map = n > 64;
    if (!may_hold(tops, n, total)) return;
    if (coder->rule.has_map) {
        mark_tops(coder->symbol_of, tops, n);
        prefer_row(coder->symbol_of, tops, n, total);
        number_tops(&coder->rule, coder->symbol_of, n);
    } else {
        for (uint32_t top = 0; top < n; top++) coder->symbol_of[top] = (uint8_t)top;
    }
    for (uint32_t top = 0; top < n; top++) {
        if (coder->symbol_of[top] == TARE_WC_NO_SYMBOL)
            patched += tops[top];
        else
            symbols[coder->symbol_of[top]] += tops[top];
    }
    if (patched > total / 256) return;
    unsigned first = 0;
    for (unsigned i = 1; i < 64; i++)
        if (symbols[i] > symbols[first]) first = i;
    symbols[first] += patched;
    coder->n_patches = patched;
    coder->cost = tare_wc_entropy(symbols, 64) + total * coder->rule.k * BIT;
    coder->cost += patches_cost(total, patched, value_bits - coder->rule.k);
    if (coder->rule.has_map) coder->cost += (value_bits - coder->rule.k > 8 ? 1024 : 512) * BIT;
    tare_wc_rule_complete(&coder->rule, value_bits);
}

/* Forms that may be tried, and for each the fewest and the most bypass bits. */
typedef struct forms {
    uint8_t n, first_k[3], last_k[3];
} forms;

static forms list_forms(uint8_t value_bits, const tare_wc_counts *values, uint64_t total,
                        uint64_t *tops) {
    /* With value_bits - k <= 6 there are no patches, so some rule is always possible. */
    const uint8_t last = value_bits < 8 ? 0 : value_bits == 8 ? 3 : 11;
    forms f = {.n = value_bits < 8    ? 1
                    : value_bits == 8 ? 3
                                      : 2,
               .first_k = {0, 1, TARE_WC_EDGE_K},
               .last_k = {last, last, TARE_WC_EDGE_K}};
    for (uint8_t i = 0; i < f.n; i++)
        f.first_k[i] = find_first_k(f.first_k[i], f.last_k[i], i, value_bits, values, total, tops);
    return f;
}

static uint8_t least_k(const forms *f) {
    uint8_t least = f->first_k[0];
    for (uint8_t i = 1; i < f->n; i++) least = f->first_k[i] < least ? f->first_k[i] : least;
    return least;
}

/* `tops` has room for those of any rule. */
static bool choose(tare_wc_coder *out, uint8_t value_bits, const tare_wc_counts *values,
                   uint64_t *tops, tare_arena *arena) {
    uint64_t total = 0;
    for (uint32_t i = 0; i < values->n; i++) total += values->counts[i];
    const forms f = list_forms(value_bits, values, total, tops);
    size_t n = ((size_t)1 << (value_bits - least_k(&f))) + TARE_WC_MAP_PAD;
    uint8_t *trial = TARE_NEW_ARRAY(arena, uint8_t, n);
    out->symbol_of = TARE_NEW_ARRAY(arena, uint8_t, n);
    out->cost = UINT64_MAX;
    if (!trial || !out->symbol_of) return false;
    for (uint8_t form = TARE_CODED_PLAIN; form < f.n; form++) {
        uint32_t n_tops = 0;
        for (uint8_t k = f.first_k[form]; k <= f.last_k[form]; k++) {
            tare_wc_coder coder = {.rule = {.form = form, .k = k}, .symbol_of = trial};
            if (!n_tops)
                n_tops = 2 * count_tops(tops, &coder.rule, value_bits, values);
            else /* one bypass bit more: pairs of tops become one */
                for (uint32_t i = 0; i < n_tops / 2; i++) tops[i] = tops[2 * i] + tops[2 * i + 1];
            n_tops /= 2;
            weigh(&coder, value_bits, tops, total);
            /* An edge must exist: without one, neighbouring values stay neighbours. */
            uint64_t least = form == TARE_CODED_EDGE ? out->cost / 1024 : 0;
            if (coder.cost >= out->cost - least) continue;
            trial = out->symbol_of;
            *out = coder;
        }
    }
    return true;
}

/* Of the largest table, which rules without bypass bits have, mostly a small part is used. */
bool tare_wc_choose_rule(tare_wc_coder *out, uint8_t value_bits, const tare_wc_counts *values,
                         tare_arena *arena) {
    const size_t size = sizeof(uint64_t) << value_bits;
    uint64_t *tops = tare_alloc(arena->allocator, size);
    const bool is_made = tops && choose(out, value_bits, values, tops, arena);
    tare_free(arena->allocator, tops, size);
    return is_made;
}

/* ---- classes --------------------------------------------------------------------------------- */

/* What a row of counts costs with its own table. */
static uint64_t row_cost(const uint64_t *counts, uint8_t alphabet) {
    return tare_wc_entropy(counts, alphabet) + 16 * BIT * alphabet;
}

unsigned tare_wc_choose_classes(uint8_t *group_class, const uint64_t *counts, unsigned n_groups,
                                uint8_t alphabet) {
    enum { MAX_GROUPS = 64 };
    uint64_t sums[MAX_GROUPS][64], costs[MAX_GROUPS], whole[64] = {0}, sizes[MAX_GROUPS] = {0};
    unsigned first[MAX_GROUPS], n = 0; /* the class's first group */
    for (unsigned g = 0; g < n_groups; g++) {
        const uint64_t *row = counts + (size_t)g * alphabet;
        uint64_t size = 0;
        for (unsigned i = 0; i < alphabet; i++) size += row[i];
        if (!size && n) continue;
        memset(sums[n], 0, sizeof sums[n]);
        memcpy(sums[n], row, alphabet * sizeof *row);
        for (unsigned i = 0; i < alphabet; i++) whole[i] += row[i];
        sizes[n] = size;
        costs[n] = row_cost(sums[n], alphabet);
        first[n++] = g;
    }
    while (n > 1) {
        unsigned best = 0;
        int64_t least = INT64_MAX;
        for (unsigned c = 0; c + 1 < n; c++) {
            uint64_t joint[64];
            for (unsigned i = 0; i < alphabet; i++) joint[i] = sums[c][i] + sums[c + 1][i];
            int64_t more = (int64_t)(row_cost(joint, alphabet) - costs[c] - costs[c + 1]);
            if (more >= least) continue;
            least = more;
            best = c;
        }
        if (least > 0 && n <= TARE_WC_MAX_CLASSES) break;
        for (unsigned i = 0; i < alphabet; i++) sums[best][i] += sums[best + 1][i];
        sizes[best] += sizes[best + 1];
        costs[best] = row_cost(sums[best], alphabet);
        for (unsigned c = best + 1; c + 1 < n; c++) {
            memcpy(sums[c], sums[c + 1], sizeof sums[c]);
            costs[c] = costs[c + 1];
            sizes[c] = sizes[c + 1];
            first[c] = first[c + 1];
        }
        n--;
    }
    uint64_t cost = tare_wc_entropy(sizes, n) / TARE_WC_CLASS_RUN, one = row_cost(whole, alphabet);
    for (unsigned c = 0; c < n; c++) cost += costs[c];
    if (cost + one / 500 > one) n = 1; /* 0.2 %: switching tables takes time */
    for (unsigned g = 0, c = 0; g < n_groups; g++) {
        while (c + 1 < n && first[c + 1] <= g) c++;
        group_class[g] = (uint8_t)c;
    }
    return n;
}

/* ---- contexts -------------------------------------------------------------------------------- */

static uint64_t joint_cost(const uint64_t a[16], const uint64_t b[16]) {
    uint64_t joint[16];
    for (unsigned i = 0; i < 16; i++) joint[i] = a[i] + b[i];
    return tare_wc_entropy(joint, 16);
}

typedef struct cluster {
    uint64_t counts[16], cost;
    int64_t more; /* what joining it with `partner`, a later cluster, costs */
    unsigned partner;
    bool is_gone;
} cluster;

static void find_partner(cluster *clusters, unsigned n, unsigned i) {
    cluster *c = &clusters[i];
    c->more = INT64_MAX;
    for (unsigned j = i + 1; j < n; j++) {
        if (clusters[j].is_gone) continue;
        int64_t more =
            (int64_t)(joint_cost(c->counts, clusters[j].counts) - c->cost - clusters[j].cost);
        if (more >= c->more) continue;
        c->more = more;
        c->partner = j;
    }
}

/* Cluster a has grown by b, which is gone. */
static void update_partners(cluster *clusters, unsigned n, unsigned a, unsigned b) {
    for (unsigned i = 0; i < n; i++) {
        cluster *c = &clusters[i];
        if (c->is_gone) continue;
        if (i == a || c->partner == a || c->partner == b) {
            find_partner(clusters, n, i);
        } else if (i < a) {
            const cluster *grown = &clusters[a];
            int64_t more = (int64_t)(joint_cost(c->counts, grown->counts) - c->cost - grown->cost);
            if (more >= c->more) continue;
            c->more = more;
            c->partner = a;
        }
    }
}

static unsigned nearest(const cluster *clusters, unsigned n) {
    unsigned best = n;
    for (unsigned i = 0; i < n; i++) {
        if (clusters[i].is_gone || clusters[i].more == INT64_MAX) continue;
        if (best == n || clusters[i].more < clusters[best].more) best = i;
    }
    return best;
}

unsigned tare_wc_choose_contexts(uint8_t *table_of, uint64_t sums[TARE_WC_MAX_TABLES][16],
                                 const uint64_t (*counts)[16], unsigned n, unsigned max_tables,
                                 const tare_allocator *allocator) {
    const int64_t table_cost = (int64_t)(8 * 32 * BIT);
    cluster *clusters = tare_alloc(allocator, n * sizeof *clusters);
    uint16_t *parent = tare_alloc(allocator, n * sizeof *parent);
    unsigned n_left = 0, n_tables = 0;
    for (unsigned i = 0; clusters && parent && i < n; i++) {
        uint64_t any = 0;
        clusters[i] = (cluster){.cost = tare_wc_entropy(counts[i], 16)};
        memcpy(clusters[i].counts, counts[i], sizeof clusters[i].counts);
        for (unsigned j = 0; j < 16; j++) any |= counts[i][j];
        clusters[i].is_gone = !any;
        parent[i] = (uint16_t)i;
        n_left += any != 0;
    }
    for (unsigned i = 0; clusters && parent && i < n; i++)
        if (!clusters[i].is_gone) find_partner(clusters, n, i);
    while (clusters && parent && n_left > 1) {
        unsigned a = nearest(clusters, n), b = clusters[a].partner;
        if (n_left <= max_tables && clusters[a].more > table_cost) break;
        for (unsigned j = 0; j < 16; j++) clusters[a].counts[j] += clusters[b].counts[j];
        clusters[a].cost = tare_wc_entropy(clusters[a].counts, 16);
        clusters[b].is_gone = true;
        parent[b] = (uint16_t)a;
        n_left--;
        update_partners(clusters, n, a, b);
    }
    for (unsigned i = 0; clusters && parent && i < n; i++) {
        unsigned root = i;
        while (parent[root] != root) root = parent[root];
        bool is_used = !clusters[root].is_gone; /* contexts without counts take table 0 */
        table_of[i] = 0;
        if (is_used && root == i) {
            memcpy(sums[n_tables], clusters[i].counts, sizeof sums[0]);
            table_of[i] = (uint8_t)n_tables++;
        } else if (is_used) {
            table_of[i] = table_of[root];
        }
    }
    tare_free(allocator, clusters, n * sizeof *clusters);
    tare_free(allocator, parent, n * sizeof *parent);
    return n_tables;
}
