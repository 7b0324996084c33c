/* SPDX-License-Identifier: MIT
 *
 * Tables, streams and segments as kernels read them. */
#include <string.h>

#include "wg_plan.h"
#include "wg_polynomial.h"

void wg_make_table(wg_table *out, const tare_coded_table *t) {
    uint32_t log2 = t->n_symbols == 16 ? 4 : 6, whole = 65536u >> log2;
    memset(out, 0, sizeof *out);
    for (uint32_t b = 0; b < 1u << log2; b++) {
        uint32_t first = (uint32_t)t->threshold[b] << (8 - log2); /* rank of the alias */
        bool has_alias = t->alias[b] != b, has_own = !has_alias || t->threshold[b];
        /* Ranks of the alias lie in one piece, so one sum says whether they wrap. */
        uint32_t adjust = t->adjust[b];
        if (adjust + first > 65535) adjust -= 65536;
        out->cut[b] = (uint16_t)(has_alias && has_own ? 65536 - 256u * t->threshold[b] : 0);
        for (uint32_t i = 0; i < 2; i++) {
            bool is_alias = has_alias && (i == 1 || !has_own);
            uint8_t symbol = is_alias ? t->alias[b] & 63 : (uint8_t)b;
            out->half[2 * b + i][0] = (uint32_t)t->frequency[symbol] - whole;
            out->half[2 * b + i][1] = is_alias ? adjust : 0;
            out->symbol[2 * b + i] = symbol;
        }
    }
}

void wg_make_stream(wg_stream *out, uint32_t layer, const tare_coded_field *f) {
    memset(out, 0, sizeof *out);
    *out = (wg_stream){.layer = layer,
                       .stride = f->stride,
                       .offset = f->offset,
                       .width = f->width,
                       .high_offset = f->join.high_offset,
                       .scales = WG_NO_SCALES,
                       .values_per_scale = f->values_per_scale,
                       .value_bits = f->value_bits,
                       .region = f->region,
                       .high_bits = f->join.high_bits,
                       .log2_values = f->join.log2_values,
                       .scale_form = f->scale_form,
                       .is_big_endian = f->is_big_endian,
                       .is_scales = f->is_packed_scales};
    for (unsigned i = 0; f->join.high_bits && i < f->join.log2_values; i++)
        out->places |= (uint64_t)f->join.place[i] << 4 * i;
}

/* What wg_crc.h has to come to: the CRC without its initial value and final complement, for the
 * bytes and the zeros that fill their last row, and n_more rows. */
static uint32_t remainder_of(uint32_t crc, uint32_t n_bytes, uint32_t row_bytes, uint32_t n_more) {
    uint32_t padding = (row_bytes - n_bytes % row_bytes) % row_bytes;
    uint32_t alone = ~crc ^ wg_multiply(UINT32_MAX, wg_power(8 * (uint64_t)n_bytes));
    return wg_multiply(alone, wg_power(8 * ((uint64_t)padding + n_more * row_bytes)));
}

enum { WORDS_ROW = WG_WORD_BITS * WG_LANES / 8, FOURS_ROW = WG_FOUR_BITS * WG_LANES / 8 };

/* Which groups of bypass bits are read, and what stands for the others. */
static void choose_groups(wg_job *job, const tare_coded_segment *s, const tare_coded_rule *rule,
                          const tare_cuda_plan_options *options) {
    unsigned missing = rule->bypass_bits, n = s->n_groups;
    /* With a bit less an edge could be next to 0. */
    if (options->is_coarse && !s->predictor && rule->form != TARE_CODED_EDGE &&
        options->n_groups < n)
        n = options->n_groups || rule->form != TARE_CODED_SIGN ? options->n_groups : 1;
    job->n_groups = (uint8_t)n;
    job->has_crc = n == s->n_groups;
    memcpy(job->groups, s->groups, sizeof job->groups);
    memcpy(job->group_bits, s->group_bits, sizeof job->group_bits);
    for (unsigned g = 0; g < n; g++) missing -= s->group_bits[g];
    if (missing) job->fill = (uint16_t)(1u << (missing - 1));
}

/* Whether high bits are where those of Q5_K or Q6_K are: in four steps, or two, a lane makes a whole
 * byte of them. */
static bool is_joined_in_bytes(const tare_coded_field *f) {
    static const uint8_t places[2][8] = {{0, 3, 4, 5, 6, 7, 1, 2}, {1, 2, 3, 4, 5, 6, 0, 7}};
    const tare_coded_join *j = &f->join;
    return j->high_bits && j->log2_values == sizeof places[0] &&
           memcmp(j->place, places[j->high_bits - 1], sizeof places[0]) == 0 &&
           (f->stride | f->offset | j->high_offset) % 2 == 0;
}

/* Whether places of a lane's bytes advance by constants from step to step and from row to row, and
 * are even. */
static bool is_fast_place(const tare_coded_field *f) {
    if (f->value_bits == 6) return is_joined_in_bytes(f);
    if (f->is_big_endian || f->join.high_bits || f->is_packed_scales) return false;
    if (f->width == f->stride) return true;
    if (f->value_bits == 16 || f->stride % 2 || f->offset % 2 || f->width < 4) return false;
    return f->width <= 64 ? 64 % f->width == 0 : f->value_bits == 4 && f->width == 128;
}

static uint8_t kernel_of(const tare_coded_field *f, const wg_job *job,
                         const tare_coded_rule *rule) {
    uint8_t k = rule->bypass_bits;
    if (job->n_classes || rule->trellis || !is_fast_place(f)) return WG_GENERAL;
    if (f->value_bits == 4) return WG_FAST_4;
    if (f->value_bits == 6) return f->join.high_bits == 1 ? WG_FAST_5 : WG_FAST_6;
    if (f->value_bits == 8 && rule->form == TARE_CODED_PLAIN && k <= 2)
        return (uint8_t)(WG_FAST_8_0 + k);
    if (f->value_bits == 8 && rule->form == TARE_CODED_EDGE) return WG_FAST_EDGE;
    bool is_sign = f->value_bits == 16 && rule->form == TARE_CODED_SIGN;
    return is_sign && k >= 6 && k <= 10 ? (uint8_t)(WG_FAST_16_6 + k - 6) : WG_GENERAL;
}

void wg_make_job(wg_job *job, const tare_coded_segment *s, const tare_cuda_layer *l,
                 unsigned stream, uint64_t segment, const tare_cuda_plan_options *options) {
    memset(job, 0, sizeof *job);
    job->at = s->position;
    job->first = segment * l->layer->streams[stream].segment_bytes;
    job->stored_bytes = s->stored_bytes;
    job->n_bytes = s->n_bytes;
    job->mode = s->mode;
    if (wg_is_for_host(s)) {
        job->mode = WG_HOST;
        return;
    }
    job->predictor = s->predictor;
    job->has_crc = true;
    job->remainder = remainder_of(s->crc, s->n_bytes, WORDS_ROW, 0);
    memcpy(job->pattern, s->pattern, sizeof job->pattern);
    if (s->mode != TARE_CODED_DIRECT) return;
    job->n_positions = s->n_positions;
    memcpy(job->n_words, s->n_words, sizeof job->n_words);
    job->patches = s->patches;
    job->patches_bytes = s->patches_bytes;
    job->n_patches = s->n_patches;
    job->rice = s->patch_rice;
    job->rule = s->rule;
    job->first_table = s->first_table;
    job->n_classes = s->n_classes;
    job->class_table = s->class_table;
    const tare_coded_rule *rule = &l->heads[stream]->rules[s->rule];
    choose_groups(job, s, rule, options);
    if (options->is_general || !job->has_crc) return;
    const tare_coded_field *field = &l->layer->streams[stream].field;
    job->kernel = kernel_of(field, job, rule);
    const uint32_t row_bytes = field->join.high_bits ? FOURS_ROW : WORDS_ROW;
    if (job->kernel != WG_GENERAL && !job->predictor)
        job->remainder = remainder_of(s->crc, s->n_bytes, row_bytes, WG_LANES);
}
