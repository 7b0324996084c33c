/* SPDX-License-Identifier: MIT
 *
 * Encoders: the bytes are the reference's, for any floats; with and without importance, with values
 * held to bounds, and in the ways of other programs. */
#include <stdlib.h>
#include <string.h>

#include "kernel/check.h"

typedef struct encode_call {
    tare_encode_fn encode;
    tare_rows_mut rows;
    const float *src;
    const float *importance;
    bool is_clipped;
} encode_call;

/* Bounds cut a few ordinary numbers off; in odd rows 0 is none of what they leave. */
static void call_encode(void *arg) {
    encode_call *c = arg;
    tare_encode_params params = {.size = sizeof(tare_encode_params),
                                 .importance = c->importance,
                                 .has_clip = c->is_clipped,
                                 .clip_min = c->rows.cols % 2 ? 0x1p-5f : -0x1p-2f,
                                 .clip_max = 0.3f};
    c->encode(&c->rows, c->src, c->importance || c->is_clipped ? &params : NULL);
}

/* What the reference made of all samples, one after the other: those of the next level are the
 * same, as every function begins with the same seed. */
typedef struct answers {
    uint8_t *bytes;
    size_t size, room, at; /* at: of the next sample */
} answers;

/* What is swept: one encoder and what it is called with. */
typedef struct subject {
    const tare_encoding *e;
    tare_encode_fn reference, kernel;
    bool is_weighted, is_clipped;
    answers *known;
} subject;

/* One input and the bytes that the reference makes of it. The reference searches slowly, so that
 * one sample serves all places from which a kernel is called, and all levels. */
typedef struct sample {
    const subject *of;
    size_t n_rows, cols, size; /* size in bytes, encoded */
    int fill;
    float *src, *importance; /* where they lie now; importance: NULL if it is not weighted */
    const uint8_t *expected;
} sample;

static void keep_answer(answers *a, const uint8_t *bytes, size_t size) {
    if (!size) return;
    if (a->room - a->size < size) {
        a->room = 2 * a->room + size;
        a->bytes = realloc(a->bytes, a->room);
        if (!a->bytes) abort();
    }
    memcpy(a->bytes + a->size, bytes, size);
    a->size += size;
}

/* Into rows of `size` bytes at `expected`, from the reference or from what it said before. */
static void ask_reference(uint8_t *expected, size_t size, const subject *of,
                          encode_call *reference) {
    answers *a = of->known;
    if (a->at < a->size) {
        memcpy(expected, a->bytes + a->at, size);
    } else {
        call_encode(reference);
        keep_answer(a, expected, size);
    }
    a->at += size;
}

static sample take_rows(check *s, const subject *of, size_t n_rows, size_t cols, int fill) {
    tare_rows_mut rows = {.n_rows = n_rows, .cols = cols};
    size_t size = check_planes(&rows, of->e, NULL);
    uint8_t *expected = check_place_output(&s->expected, size, 0, 0xaa);
    sample m = {.of = of, .n_rows = n_rows, .cols = cols, .size = size, .fill = fill};
    m.expected = expected;
    m.src = (void *)check_place(&s->in, n_rows * cols * sizeof(float), 0);
    check_fill_floats(s, m.src, n_rows * cols, fill);
    if (of->is_weighted) {
        m.importance = (void *)check_place(&s->importance, cols * sizeof(float), 0);
        check_fill_floats(s, m.importance, cols, fill % 3 ? CHECK_POSITIVE : CHECK_ORDINARY);
    }
    check_planes(&rows, of->e, expected);
    encode_call reference = {of->reference, rows, m.src, m.importance, of->is_clipped};
    ask_reference(expected, size, of, &reference);
    return m;
}

/* n blocks in one row; with importance, every other time in rows of a block, which then share it.
 */
static sample take_blocks(check *s, const subject *of, size_t n, int fill) {
    size_t block = of->e->block;
    bool is_narrow = of->is_weighted && n > 0 && (n + (size_t)fill) % 2;
    return take_rows(s, of, is_narrow ? n : 1, is_narrow ? block : n * block, fill);
}

static void move_floats(const check_region *r, float **floats, size_t n, int offset) {
    uint8_t *to = check_place(r, n * sizeof(float), offset);
    memmove(to, *floats, n * sizeof(float));
    *floats = (void *)to;
}

/* Calls the kernel with all it reads and writes at an offset. */
static void compare(check *s, sample *m, int offset) {
    tare_rows_mut rows = {.n_rows = m->n_rows, .cols = m->cols};
    size_t n = m->n_rows * m->cols;
    const char *fill = check_float_fill_name(m->fill);
    uint8_t *dst = check_place_output(&s->out, m->size, offset, 0x55);
    move_floats(&s->in, &m->src, n, offset);
    if (m->importance) move_floats(&s->importance, &m->importance, m->cols, offset);
    check_planes(&rows, m->of->e, dst);
    encode_call kernel = {m->of->kernel, rows, m->src, m->importance, m->of->is_clipped};
    if (!check_call(s, call_encode, &kernel)) {
        check_fail(s, "n=%zu fill=%s offset=%d", n, fill, offset);
        return;
    }
    if (!check_canaries(s, dst, m->size, offset)) return;
    for (size_t i = 0; i < m->size; i++) {
        if (dst[i] == m->expected[i]) continue;
        check_fail(s, "n=%zu fill=%s offset=%d byte %zu is %02x, expected %02x", n, fill, offset, i,
                   dst[i], m->expected[i]);
        return;
    }
}

/* Ways to go on differ by numbers and by lengths, which are tried together; where the memory lies
 * makes no difference to either, so that all places are tried with one kind of numbers. Blocks are
 * searched slowly: each fill has a third of their lengths, each length four fills or more.
 * Super-blocks, which are taken in batches of 16, are slowest: every other length is at the end of
 * the memory, every other fill with it. --short tries a third of the lengths of blocks. */
static void sweep(check *s, const subject *of) {
    size_t block = of->e->block, most = block == 1 ? 300 : block < 256 ? 40 : 18;
    size_t step = block == 1 ? 1 : s->is_short ? 9 : 3;
    bool is_super = block >= 256;
    for (int fill = 0; check_float_fill_name(fill); fill++) {
        for (size_t n = (size_t)fill % step; n <= most; n += step) {
            sample m = take_blocks(s, of, n, fill);
            bool is_at_end = (n + (size_t)fill) % 2;
            if (!is_super || is_at_end) compare(s, &m, CHECK_AT_PAGE_END);
            if (!is_super || !is_at_end) compare(s, &m, (int)(n * 5 + (size_t)fill * 11) % 64);
        }
        if (is_super && !of->e->is_edge_padded) continue;
        sample m = take_blocks(s, of, 17, fill);
        for (int offset = 0; offset < (fill == CHECK_ORDINARY ? 64 : 1); offset++)
            compare(s, &m, offset);
        if (!check_takes_odd_rows(of->e)) continue;
        for (size_t cols = 1; cols < check_odd_cols(of->e); cols += cols < 70 ? 1 : 29) {
            m = take_rows(s, of, 3, cols, fill);
            compare(s, &m, cols % 2 ? CHECK_AT_PAGE_END : (int)(cols % 64));
        }
    }
}

static void bench(check *s, const subject *of) {
    float *src = (void *)check_place(&s->in, CHECK_BENCH_COUNT * sizeof(float), 0);
    float *importance = (void *)check_place(&s->importance, CHECK_BENCH_COUNT * sizeof(float), 0);
    check_fill_floats(s, src, CHECK_BENCH_COUNT, CHECK_ORDINARY);
    check_fill_floats(s, importance, CHECK_BENCH_COUNT, CHECK_POSITIVE);
    const float *weights = of->is_weighted ? importance : NULL;
    tare_rows_mut rows = {.n_rows = 1, .cols = CHECK_BENCH_COUNT};
    check_planes(&rows, of->e, check_place(&s->out, 0, 0));
    encode_call reference = {of->reference, rows, src, weights, of->is_clipped};
    encode_call kernel = {of->kernel, rows, src, weights, of->is_clipped};
    check_bench(s, call_encode, &reference, &kernel);
}

static void check_one(check *s, const char *op, const subject *of, bool is_new) {
    if (!check_begin(s, op, of->e->name, is_new)) return;
    of->known->at = 0;
    sweep(s, of);
    if (s->is_bench) bench(s, of);
    check_end(s);
}

/* Every encoder of a type, from the reference's table, the level's and the one below. */
typedef struct way {
    const char *op;
    bool is_weighted, is_clipped;
    tare_encode_fn (*of)(const tare_kernels *k, int id);
} way;

#define DEFINE_WAY(table)                                                                          \
    static tare_encode_fn of_##table(const tare_kernels *k, int id) {                              \
        return k->table[id];                                                                       \
    }
DEFINE_WAY(encode)
DEFINE_WAY(encode_weighted)
DEFINE_WAY(encode_clipped)
DEFINE_WAY(encode_mantle)
DEFINE_WAY(encode_older)
DEFINE_WAY(encode_best)

static const way ways[] = {
    {"encode", false, false, of_encode},
    {"encode_weighted", true, false, of_encode_weighted},
    {"encode_clipped", false, true, of_encode_clipped},
    {"encode_mantle", false, false, of_encode_mantle},
    {"encode_mantle_clipped", false, true, of_encode_mantle},
    {"encode_older", false, false, of_encode_older},
    {"encode_older_weighted", true, false, of_encode_older},
    {"encode_best", false, false, of_encode_best},
    {"encode_best_weighted", true, false, of_encode_best},
};
enum { N_WAYS = sizeof ways / sizeof ways[0] };

void check_encode(check *s) {
    static answers known[TARE_ENCODING_COUNT][N_WAYS];
    for (int id = 0; id < TARE_ENCODING_COUNT; id++)
        for (size_t i = 0; i < N_WAYS; i++) {
            const way *w = &ways[i];
            subject of = {.e = tare_encoding_get((tare_encoding_id)id),
                          .reference = w->of(&s->c, id),
                          .kernel = w->of(&s->level, id),
                          .is_weighted = w->is_weighted,
                          .is_clipped = w->is_clipped,
                          .known = &known[id][i]};
            check_one(s, w->op, &of, of.kernel != w->of(&s->below, id));
        }
}
