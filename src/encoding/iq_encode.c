/* SPDX-License-Identifier: MIT
 *
 * Encoders of the IQ2 and IQ3 formats: super-blocks of 256 whose elements are signs and points of a
 * codebook (of 8 or 4 elements), in sub-blocks of 16 or 32 with 4-bit scales under one f16. Byte
 * for byte what ggml's encoders write, so all f32 operations are in ggml's order. */
#include <string.h>

#include "encoding/float16.h"
#include "encoding/iq_pack.h"
#include "encoding/iq_search.h"
#include "encoding/scalar.h"

static const tare_iq_form form_iq2_xxs = {.lattice = TARE_LATTICE_IQ2_XXS,
                                          .sub = 32,
                                          .n_steps = 6,
                                          .step = 0.1f,
                                          .zero_below = TARE_SEARCH_ZERO,
                                          .sigma_factor = 1,
                                          .stored_factor = 1,
                                          .has_even_signs = true,
                                          .starts_by_search = true,
                                          .refines_all = true};
static const tare_iq_form form_iq2_xs = {.lattice = TARE_LATTICE_IQ2_XS,
                                         .sub = 16,
                                         .n_steps = 9,
                                         .step = 0.1f,
                                         .zero_below = TARE_SEARCH_ZERO,
                                         .sigma_factor = 1,
                                         .stored_factor = 1,
                                         .has_even_signs = true};
static const tare_iq_form form_iq2_s = {.lattice = TARE_LATTICE_IQ2_S,
                                        .sub = 16,
                                        .n_steps = 9,
                                        .step = 0.1f,
                                        .zero_below = 1e-8f,
                                        .sigma_factor = 2,
                                        .flat_weight = 0.25f,
                                        .stored_factor = 0.9875f};
static const tare_iq_form form_iq3_xxs = {.lattice = TARE_LATTICE_IQ3_XXS,
                                          .sub = 32,
                                          .n_steps = 15,
                                          .step = 0.2f,
                                          .zero_below = 1e-8f,
                                          .sigma_factor = 2,
                                          .stored_factor = 1.0125f,
                                          .has_even_signs = true};
static const tare_iq_form form_iq3_s = {.lattice = TARE_LATTICE_IQ3_S,
                                        .sub = 32,
                                        .n_steps = 9,
                                        .step = 0.2f,
                                        .zero_below = 0,
                                        .sigma_factor = 2,
                                        .stored_factor = 1.033f,
                                        .refines_all = true,
                                        .skips_empty = true};

/* The scale of one sub-block, and its points; false where it counts as empty. `start` is the scale
 * of a search over plain integers, for the formats that begin with one. */
static bool search_sub(float *found, tare_iq_sub *b, const tare_iq_form *form,
                       const tare_iq_searches *by, float start) {
    const tare_lattice *l = tare_lattice_get(form->lattice);
    const float *v = b->magnitudes;
    float max = v[0];
    for (int i = 1; i < form->sub; i++) max = max > v[i] ? max : v[i];
    if (max < form->zero_below || max == 0) return false;
    float range = max, scale = max / (float)(2 * l->levels - 1);
    if (form->starts_by_search) {
        scale = start;
        range = scale * l->levels;
        if (range <= 0) return false;
    }
    *found = by->search(b, form, range, scale);
    return true;
}

/* ggml's iq3_s writes the low bytes of points, and the signs, of the sub-blocks that are not empty
 * one after the other, but the ninth bits of points and the scales at their places: whatever
 * follows a sub-block of zeros decodes to wrong numbers. The default quality reproduces this too,
 * byte for byte. */
static void skip_empty(tare_iq_codes *codes, const bool *is_empty) {
    uint8_t low[64] = {0}, signs[32] = {0};
    int to = 0;
    for (int j = 0; j < 8; j++) {
        if (is_empty[j]) continue;
        for (int k = 0; k < 8; k++) low[8 * to + k] = (uint8_t)codes->points[8 * j + k];
        memcpy(signs + 4 * to, codes->signs + 4 * j, 4);
        to++;
    }
    for (int k = 0; k < 64; k++) codes->points[k] = (uint16_t)(low[k] | (codes->points[k] & ~255));
    memcpy(codes->signs, signs, sizeof signs);
}

/* The codes of super-block `at` of a chunk that is split; starts: as above, of its sub-blocks. */
static void encode_super(tare_iq_codes *codes, tare_iq_chunk *c, size_t at, const float *starts,
                         const tare_iq_form *form, const tare_iq_searches *by) {
    const tare_lattice *l = tare_lattice_get(form->lattice);
    int n_subs = 256 / form->sub, n_groups = form->sub / l->lanes;
    float scales[16], max = 0;
    bool is_empty[16];
    memset(codes, 0, sizeof *codes);
    memcpy(codes->signs, c->signs + at / 8, sizeof codes->signs);
    for (int j = 0; j < n_subs; j++) {
        size_t from = at + (size_t)(j * form->sub);
        tare_iq_sub b = {c->magnitudes + from, c->weights + from, c->roots + from, {0}};
        uint8_t *signs = codes->signs + j * form->sub / 8;
        scales[j] = 0;
        is_empty[j] = !search_sub(&scales[j], &b, form, by, starts[j]);
        if (is_empty[j]) memset(signs, 0, (size_t)form->sub / 8);
        if (scales[j] < 0) {
            scales[j] = -scales[j];
            for (int k = 0; k < form->sub / 8; k++)
                signs[k] = (uint8_t)(~signs[k] & (form->has_even_signs ? 127 : 255));
        }
        max = max > scales[j] ? max : scales[j];
        memcpy(codes->points + j * n_groups, b.points, sizeof b.points[0] * (size_t)n_groups);
    }
    if (form->skips_empty) skip_empty(codes, is_empty);
    codes->is_empty = max == 0;
    if (codes->is_empty) return;
    float d = max / 31;
    float inverse = 1 / d;
    for (int j = 0; j < n_subs; j++)
        codes->scales[j] =
            (uint8_t)tare_clamp_i32(tare_round_even(0.5f * (inverse * scales[j] - 1)), 0, 15);
    codes->d = tare_f16_of_f32(d * form->stored_factor);
}

/* ---- rows ------------------------------------------------------------------------------------ */

/* A batch of super-blocks: a vector of them for the sums of squares, two per chunk for the rest. */
enum { BATCH = TARE_SEARCH_ROOM, IN_CHUNK = TARE_IQ_CHUNK / 256 };
typedef struct batch {
    float x[BATCH * 256];
    float sigma2[BATCH];
    tare_iq_chunk chunk;
} batch;

static bool is_finite_all(const float *v, size_t n) {
    bool is_finite = true;
    for (size_t i = 0; i < n; i++)
        is_finite &= (tare_f32_bits(v[i]) & ~TARE_F32_SIGN) < TARE_F32_INF;
    return is_finite;
}

/* Scales of plain integers for each sub-block of a chunk. */
static void search_starts(float *starts, const tare_iq_chunk *c, const tare_iq_form *form,
                          const tare_iq_searches *by) {
    uint8_t levels[TARE_IQ_CHUNK];
    const tare_lattice *l = tare_lattice_get(form->lattice);
    by->blocks->without_sign(&(tare_blocks){.n = (size_t)(TARE_IQ_CHUNK / form->sub),
                                            .size = form->sub,
                                            .weighing = TARE_WEIGH_GIVEN,
                                            .x = c->magnitudes,
                                            .importance = c->weights,
                                            .codes = levels,
                                            .scales = starts},
                             l->levels + 1);
}

/* The parameters of a row encoder. */
typedef struct row_job {
    const tare_iq_form *form;
    const tare_iq_searches *by;
    size_t block_bytes;
    void (*pack)(uint8_t *y, const tare_iq_codes *codes);
    const float *importance;
    size_t row; /* super-blocks in it */
} row_job;

/* n super-blocks from number `at` of the rows on, `from` of the batch. */
static void encode_chunk(uint8_t *y, batch *b, size_t from, size_t n, size_t at,
                         const row_job *job) {
    const tare_iq_searches *by = job->by;
    tare_iq_chunk *c = &b->chunk;
    float starts[TARE_IQ_CHUNK / 16] = {0};
    size_t bytes = n * 256 * sizeof *c->x;
    memcpy(c->x, b->x + 256 * from, bytes);
    for (size_t k = 0; job->importance && k < n; k++)
        memcpy(c->importance + 256 * k,
               (const uint8_t *)job->importance + (at + k) % job->row * 256 * sizeof(float),
               256 * sizeof(float));
    if (!is_finite_all(c->x, 256 * n) ||
        (job->importance && !is_finite_all(c->importance, 256 * n)))
        by = by->for_odd;
    for (size_t k = 0; k < n; k++)
        by->split(c, 256 * k, 256, job->importance != NULL, job->form, b->sigma2[from + k]);
    if (job->form->starts_by_search) search_starts(starts, c, job->form, by);
    for (size_t k = 0; k < n; k++) {
        tare_iq_codes codes;
        encode_super(&codes, c, 256 * k, starts + k * (size_t)(256 / job->form->sub), job->form,
                     by);
        job->pack(y + k * job->block_bytes, &codes);
    }
}

static void encode_rows(const tare_rows_mut *dst, const float *src, const row_job *job) {
    size_t n = tare_rows_mut_count(dst) / 256;
    batch b;
    memset(&b.chunk, 0, sizeof b.chunk); /* a chunk that is not full is searched as a whole */
    for (size_t at = 0; at < n; at += BATCH) {
        size_t some = n - at < BATCH ? n - at : BATCH;
        memcpy(b.x, (const uint8_t *)src + at * 256 * sizeof *src, some * 256 * sizeof *src);
        job->by->blocks->squares(b.sigma2, b.x, some, 256);
        for (size_t k = 0; k < some; k++) b.sigma2[k] = job->form->sigma_factor * b.sigma2[k] / 256;
        for (size_t k = 0; k < some; k += IN_CHUNK)
            encode_chunk(dst->planes[0] + (at + k) * job->block_bytes, &b, k,
                         some - k < IN_CHUNK ? some - k : IN_CHUNK, at + k, job);
    }
}

#define DEFINE_ENCODE(name, NAME)                                                                  \
    void tare_encode_##name(const tare_rows_mut *dst, const float *src,                            \
                            const tare_encode_params *params, const tare_iq_searches *by) {        \
        row_job job = {&form_##name,                                                               \
                       by,                                                                         \
                       NAME##_BYTES,                                                               \
                       tare_pack_##name,                                                           \
                       params ? params->importance : NULL,                                         \
                       (size_t)(dst->cols / 256)};                                                 \
        encode_rows(dst, src, &job);                                                               \
    }
DEFINE_ENCODE(iq2_xxs, IQ2_XXS)
DEFINE_ENCODE(iq2_xs, IQ2_XS)
DEFINE_ENCODE(iq2_s, IQ2_S)
DEFINE_ENCODE(iq3_xxs, IQ3_XXS)
DEFINE_ENCODE(iq3_s, IQ3_S)

TARE_DEFINE_IQ_ENCODERS(&tare_iq_searches_c)

void tare_kernels_init_iq_encode(tare_kernels *k) {
    use_iq_encoders(k);
}
