/* SPDX-License-Identifier: MIT
 *
 * The searching encoders of MCF's types: the same format as the default's, a smaller error. Sums go
 * over 16 lanes and then a fixed tree.
 *
 * A block's scale is looked for around many starts below the default's (clipping the largest values
 * pays for finer steps everywhere else): codes for the start, the scale of least squares for these
 * codes, and its error. Where blocks share a super, every block's six bits are then chosen for each
 * of some supers that put the largest block high into their range; the super of least error in all
 * wins. Each choice is measured with the scale as it will be stored. */
#include "encoding/mcf_blocks.h"

enum { LANES = 16, STARTS = 20 };

/* What a search reads of one block. */
typedef struct block {
    float x[TARE_MCF_BLOCK];
    float w[TARE_MCF_BLOCK]; /* weights; 1 where there is no importance */
    float largest;           /* magnitude */
    int bits;
} block;

static float sum_lanes(float *lanes) {
    for (int n = LANES / 2; n > 0; n /= 2)
        for (int l = 0; l < n; l++) lanes[l] += lanes[l + n];
    return lanes[0];
}

/* The code of x / scale by multiplication, for searching: it may differ from the stored one where a
 * quotient lies half way between two codes, where both are as good. */
static float guess_code(float x, float inverse, float top) {
    float t = x * inverse;
    t = t < top ? t : top; /* NaN becomes top */
    t = t > -top ? t : -top;
    /* below a half, so that halves go away from zero and nothing else does */
    return (float)(int32_t)(t + (t < 0 ? -0x1.fffffep-2f : 0x1.fffffep-2f));
}

/* The scale of least squares for the codes that a start gives; 0: all codes are 0. */
static float refit(const block *b, float start) {
    float xq[LANES] = {0}, qq[LANES] = {0};
    float inverse = 1.0f / start, top = (float)tare_mcf_top(b->bits);
    for (int j = 0; j < TARE_MCF_BLOCK; j += LANES)
        for (int l = 0; l < LANES; l++) {
            float q = guess_code(b->x[j + l], inverse, top), wq = b->w[j + l] * q;
            xq[l] += wq * b->x[j + l];
            qq[l] += wq * q;
        }
    float squares = sum_lanes(qq);
    return squares > 0 ? sum_lanes(xq) / squares : 0;
}

/* The weighted square error of a scale. */
static float error_of(const block *b, float scale) {
    float sum[LANES] = {0};
    float inverse = scale > 0 ? 1.0f / scale : 0, top = (float)tare_mcf_top(b->bits);
    for (int j = 0; j < TARE_MCF_BLOCK; j += LANES)
        for (int l = 0; l < LANES; l++) {
            float d = b->x[j + l] - scale * guess_code(b->x[j + l], inverse, top);
            sum[l] += b->w[j + l] * (d * d);
        }
    return sum_lanes(sum);
}

/* Where the search for a scale begins, as a part of largest / top: the fewer codes there are, the
 * more is gained by clipping. */
static float first_start(int bits) {
    switch (bits) {
    case 2:
        return 0.36f;
    case 3:
        return 0.56f;
    case 4:
        return 0.72f;
    case 6:
        return 0.90f;
    default:
        return 0.97f;
    }
}

static float stored(float scale) {
    return tare_f32_of_f16(tare_f16_of_f32(scale));
}

/* The scale of least error; `is_f16`: measured as it is rounded to f16. A block that is all zeros,
 * or holds what is no finite number, has the default's. */
static float search_scale(const block *b, bool is_f16) {
    float plain = b->largest / (float)tare_mcf_top(b->bits);
    float best = is_f16 ? stored(plain) : plain;
    if (!(plain > 0) || !(plain < INFINITY) || !(best > 0) || !(best < INFINITY)) return best;
    float least = error_of(b, best), first = first_start(b->bits);
    float step = (1.04f - first) / (STARTS - 1);
    for (int i = 0; i < STARTS; i++) {
        float scale = refit(b, plain * (first + step * (float)i));
        if (is_f16) scale = stored(scale);
        if (!(scale > 0) || !(scale < INFINITY)) continue;
        float error = error_of(b, scale);
        if (error < least) {
            least = error;
            best = scale;
        }
    }
    return best;
}

static void take_block(block *b, const float *x, const float *importance, int bits) {
    b->bits = bits;
    b->largest = 0;
    for (int j = 0; j < TARE_MCF_BLOCK; j++) {
        b->x[j] = x[j];
        b->w[j] = importance ? importance[j] : 1;
        if (fabsf(x[j]) > b->largest) b->largest = fabsf(x[j]);
    }
}

static void put_codes(uint8_t *dst, const float *x, float scale, int bits) {
    int8_t q[TARE_MCF_BLOCK];
    int top = tare_mcf_top(bits);
    for (int j = 0; j < TARE_MCF_BLOCK; j++)
        q[j] = scale != 0 ? tare_mcf_code(x[j], scale, top) : 0;
    tare_mcf_pack(dst, q, bits);
}

/* ---- never worse than the default ------------------------------------------------------------ */

typedef struct super_bytes {
    uint8_t super[2], scales[TARE_MCF_BLOCKS * 2], codes[TARE_MCF_SUPER];
} super_bytes;

static tare_mcf_row row_of(super_bytes *b, bool has_supers) {
    return (tare_mcf_row){has_supers ? b->super : NULL, b->scales, b->codes};
}

/* The weighted square error of what was encoded, as it will be decoded. */
static double stored_error(const tare_mcf_row *at, const float *x, const float *importance,
                           int n_blocks, int bits) {
    float y[TARE_MCF_SUPER];
    tare_rows rows = {.planes = {at->scales, at->codes},
                      .n_rows = 1,
                      .cols = (uint64_t)n_blocks * TARE_MCF_BLOCK};
    if (at->supers)
        rows = (tare_rows){.planes = {at->supers, at->scales, at->codes},
                           .n_rows = 1,
                           .cols = (uint64_t)n_blocks * TARE_MCF_BLOCK};
    tare_mcf_decode_rows(y, &rows, bits, at->supers != NULL);
    double sum = 0;
    for (int j = 0; j < n_blocks * TARE_MCF_BLOCK; j++) {
        double d = (double)y[j] - (double)x[j];
        sum += (importance ? (double)importance[j] : 1) * (d * d);
    }
    return sum;
}

/* What is no finite number, or a weight that is none, is the default encoder's. */
static bool is_ordinary(const float *x, const float *importance, int n) {
    bool is_ordinary = true;
    for (int j = 0; j < n; j++) {
        is_ordinary &= fabsf(x[j]) < INFINITY;
        if (importance) is_ordinary &= importance[j] >= 0 && importance[j] < INFINITY;
    }
    return is_ordinary;
}

/* Encodes by `search` where that is better. */
static void better_of(const tare_mcf_row *at, const float *x, const float *importance, int n_blocks,
                      int bits, tare_mcf_encode_fn search) {
    super_bytes bytes;
    tare_mcf_row found = row_of(&bytes, at->supers != NULL);
    (at->supers ? tare_mcf_encode_super : tare_mcf_encode_block)(at, x, NULL, n_blocks, bits);
    if (!is_ordinary(x, importance, n_blocks * TARE_MCF_BLOCK)) return;
    search(&found, x, importance, n_blocks, bits);
    if (!(stored_error(&found, x, importance, n_blocks, bits) <
          stored_error(at, x, importance, n_blocks, bits)))
        return;
    if (at->supers) memcpy(at->supers, found.supers, 2);
    memcpy(at->scales, found.scales, at->supers ? (size_t)n_blocks : 2);
    memcpy(at->codes, found.codes, (size_t)(n_blocks * 4 * bits));
}

/* ---- blocks and supers ----------------------------------------------------------------------- */

static void search_block(const tare_mcf_row *at, const float *x, const float *importance,
                         int n_blocks, int bits) {
    (void)n_blocks;
    block b;
    take_block(&b, x, importance, bits);
    uint16_t scale = tare_f16_of_f32(search_scale(&b, true));
    tare_store_le16(at->scales, scale);
    put_codes(at->codes, x, tare_f32_of_f16(scale), bits);
}

/* The best six bits of a block for a super, and its error. */
static float best_sub(const block *b, float scale, float super, uint8_t *sub) {
    int guess = tare_mcf_sub(scale, super);
    float least = INFINITY;
    *sub = (uint8_t)guess;
    if (guess == 0) return error_of(b, 0);
    for (int s = guess > 1 ? guess - 1 : 1; s <= guess + 1 && s <= TARE_MCF_MAX_SUB; s++) {
        float error = error_of(b, tare_mcf_scale(super, (uint8_t)s));
        if (error < least) {
            least = error;
            *sub = (uint8_t)s;
        }
    }
    return least;
}

static void search_super(const tare_mcf_row *at, const float *x, const float *importance,
                         int n_blocks, int bits) {
    block b[TARE_MCF_BLOCKS];
    float scales[TARE_MCF_BLOCKS], largest = 0, least = INFINITY;
    uint8_t best_subs[TARE_MCF_BLOCKS] = {0};
    uint16_t best_super = 0;
    for (int i = 0; i < n_blocks; i++) {
        const float *weights = importance ? importance + i * TARE_MCF_BLOCK : NULL;
        take_block(&b[i], x + i * TARE_MCF_BLOCK, weights, bits);
        scales[i] = search_scale(&b[i], false);
        if (scales[i] > largest) largest = scales[i];
    }
    for (int high = TARE_MCF_MAX_SUB; high >= 32 && largest > 0; high -= 4) {
        uint16_t super = tare_f16_of_f32(largest * (32.0f / (float)high));
        uint8_t subs[TARE_MCF_BLOCKS];
        float error = 0;
        for (int i = 0; i < n_blocks; i++)
            error += best_sub(&b[i], scales[i], tare_f32_of_f16(super), &subs[i]);
        if (!(error < least) && high < TARE_MCF_MAX_SUB) continue;
        least = error;
        best_super = super;
        memcpy(best_subs, subs, (size_t)n_blocks);
    }
    tare_store_le16(at->supers, best_super);
    for (int i = 0; i < n_blocks; i++) {
        at->scales[i] = best_subs[i];
        put_codes(at->codes + i * 4 * bits, x + i * TARE_MCF_BLOCK,
                  tare_mcf_scale(tare_f32_of_f16(best_super), best_subs[i]), bits);
    }
}

static void best_block(const tare_mcf_row *at, const float *x, const float *importance,
                       int n_blocks, int bits) {
    better_of(at, x, importance, n_blocks, bits, search_block);
}
static void best_super(const tare_mcf_row *at, const float *x, const float *importance,
                       int n_blocks, int bits) {
    better_of(at, x, importance, n_blocks, bits, search_super);
}

#define DEFINE_BEST(name, ID, bits, has_supers)                                                    \
    static void best_##name(const tare_rows_mut *dst, const float *src,                            \
                            const tare_encode_params *params) {                                    \
        tare_mcf_encode_rows(dst, src, params, bits, has_supers,                                   \
                             has_supers ? best_super : best_block);                                \
    }
TARE_MCF_TYPES(DEFINE_BEST)

#define USE_BEST(name, ID, bits, has_supers) k->encode_best[TARE_ENCODING_##ID] = best_##name;
void tare_kernels_init_mcf_best(tare_kernels *k) {
    TARE_MCF_TYPES(USE_BEST)
}
