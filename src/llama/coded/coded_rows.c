/* SPDX-License-Identifier: MIT
 *
 * Codes of each scheme to numbers, row by row of the weight. Sources of the formulas: GPTQModel's and
 * AutoAWQ's dequantize_gemm, compressed-tensors' pack_quantized, bitsandbytes' dequantize_4bit and
 * int8_vectorwise_dequant, transformers' unpack_weights of BitNet, the OCP microscaling format. */
#include "base/arith.h"
#include "base/bytes.h"
#include "llama/coded/coded_weight.h"

static const tare_tensor *part(const tare_llama_coded *p, const tare_model *in, int which) {
    return &in->catalog.tensors[p->parts[which]];
}

static tare_status fail_part(const tare_llama_coded *p, const tare_model *in, int which,
                             const char *what, tare_error *err) {
    const size_t i = (size_t)p->parts[which];
    return tare_fail_tensor(err, TARE_ERR_CORRUPT, &in->catalog.tensors[i], i, what);
}

static tare_status no_memory(tare_error *err) {
    return tare_fail(err, TARE_ERR_NOMEM, "packed weight");
}

/* Bytes [from, from + n) of a part. */
static tare_status bytes_of(void *out, const tare_llama_coded *p, const tare_model *in, int which,
                            uint64_t from, uint64_t n, tare_error *err) {
    return tare_tensor_read(in, (size_t)p->parts[which], 0, from, out, (size_t)n, err);
}

/* Numbers [from, from + n) of a part. */
static tare_status floats_of(float *out, const tare_llama_coded *p, const tare_model *in, int which,
                             uint64_t from, uint64_t n, tare_error *err) {
    return tare_tensor_values_f32(out, in, (size_t)p->parts[which], from, n, err);
}

/* The group of each column: told by a list, or runs of one length. */
static tare_status groups_of(uint32_t *out, const tare_llama_coded *p, const tare_model *in,
                             tare_error *err) {
    if (p->parts[TARE_CODED_INDEX] < 0) {
        const uint64_t length = tare_ceil_div_u64(p->cols, p->n_groups);
        for (uint64_t i = 0; i < p->cols; i++) out[i] = (uint32_t)(i / length);
        return TARE_OK;
    }
    TARE_TRY(bytes_of(out, p, in, TARE_CODED_INDEX, 0, p->cols * 4, err));
    for (uint64_t i = 0; i < p->cols; i++) {
        out[i] = tare_load_le32((const uint8_t *)&out[i]);
        if (out[i] >= p->n_groups)
            return fail_part(p, in, TARE_CODED_INDEX, "number of a group out of range", err);
    }
    return TARE_OK;
}

static uint32_t code_at(const uint8_t *words, uint64_t i, uint32_t bits) {
    const uint64_t per_word = 32 / bits;
    uint32_t word = tare_load_le32(words + i / per_word * 4);
    return word >> (i % per_word * bits) & ((1u << bits) - 1);
}

/* ---- GPTQ and AWQ: the weight lies transposed ------------------------------------------------- */

/* What rows [first, first + n) of a transposed weight need: groups of the columns, scales and zero
 * points by group and row. */
typedef struct columns {
    uint32_t *group;
    float *scale, *zero;
    uint8_t *words; /* of one line of codes */
    void *memory;
    size_t size;
} columns;

static tare_status columns_begin(columns *c, const tare_llama_coded *p, const tare_model *in,
                                 uint64_t n, tare_error *err) {
    uint64_t cells, bytes;
    if (!tare_mul_u64(p->n_groups, n, &cells) || !tare_mul_u64(cells, 8, &bytes) ||
        !tare_add_u64(bytes, 4 * p->cols + 4 * n + 16, &bytes) ||
        !tare_size_of_u64(bytes, &c->size))
        return tare_fail(err, TARE_ERR_LIMIT, "packed weight");
    c->memory = tare_alloc(in->allocator, c->size);
    if (!c->memory) return no_memory(err);
    c->scale = c->memory;
    c->zero = c->scale + cells;
    c->group = (uint32_t *)(c->zero + cells);
    c->words = (uint8_t *)(c->group + p->cols);
    return groups_of(c->group, p, in, err);
}

/* Scales and zero points of all groups; `zero_at` says which code of a word a row has. */
static tare_status columns_read(columns *c, const tare_llama_coded *p, const tare_model *in,
                                uint64_t first, uint64_t n, const uint8_t *order, tare_error *err) {
    const uint64_t per_word = 32 / p->bits, line = p->n_rows / per_word;
    const uint64_t word = first / per_word, n_words = tare_ceil_div_u64(first + n, per_word) - word;
    for (uint64_t g = 0; g < p->n_groups; g++) {
        TARE_TRY(
            floats_of(c->scale + g * n, p, in, TARE_CODED_SCALES, g * p->n_rows + first, n, err));
        TARE_TRY(
            bytes_of(c->words, p, in, TARE_CODED_ZEROS, (g * line + word) * 4, n_words * 4, err));
        for (uint64_t r = 0; r < n; r++) {
            uint64_t at = first + r - word * per_word;
            if (order) at = at / per_word * per_word + order[at % per_word];
            c->zero[g * n + r] = (float)(code_at(c->words, at, p->bits) + p->adds_one);
        }
    }
    return TARE_OK;
}

static tare_status gptq(float *out, columns *c, const tare_llama_coded *p, const tare_model *in,
                        uint64_t first, uint64_t n, tare_error *err) {
    const uint64_t per_word = 32 / p->bits, mask = (1u << p->bits) - 1;
    TARE_TRY(columns_read(c, p, in, first, n, NULL, err));
    for (uint64_t i = 0; i < p->cols; i += per_word) {
        TARE_TRY(bytes_of(c->words, p, in, TARE_CODED_CODES, (i / per_word * p->n_rows + first) * 4,
                          n * 4, err));
        for (uint64_t r = 0; r < n; r++) {
            uint32_t word = tare_load_le32(c->words + 4 * r);
            for (uint64_t k = 0; k < per_word && i + k < p->cols; k++) {
                const uint64_t cell = c->group[i + k] * n + r;
                float code = (float)(word >> (k * p->bits) & mask);
                out[r * p->cols + i + k] = c->scale[cell] * (code - c->zero[cell]);
            }
        }
    }
    return TARE_OK;
}

tare_status tare_llama_read_gptq(void *out, const tare_llama_coded *p, const tare_model *in,
                                 uint64_t first, uint64_t n, tare_error *err) {
    columns c = {0};
    tare_status status = columns_begin(&c, p, in, n, err);
    if (status == TARE_OK) status = gptq(out, &c, p, in, first, n, err);
    tare_free(in->allocator, c.memory, c.size);
    return status;
}

/* Where AWQ puts each of eight columns in a word. */
static const uint8_t awq_order[8] = {0, 4, 1, 5, 2, 6, 3, 7};

static tare_status awq(float *out, columns *c, const tare_llama_coded *p, const tare_model *in,
                       uint64_t first, uint64_t n, tare_error *err) {
    const uint64_t line = p->n_rows / 8, word = first / 8;
    const uint64_t n_words = tare_ceil_div_u64(first + n, 8) - word;
    TARE_TRY(columns_read(c, p, in, first, n, awq_order, err));
    for (uint64_t i = 0; i < p->cols; i++) {
        TARE_TRY(
            bytes_of(c->words, p, in, TARE_CODED_CODES, (i * line + word) * 4, n_words * 4, err));
        for (uint64_t r = 0; r < n; r++) {
            const uint64_t at = first + r - word * 8, cell = c->group[i] * n + r;
            float code = (float)code_at(c->words, at / 8 * 8 + awq_order[at % 8], 4);
            out[r * p->cols + i] = (code - c->zero[cell]) * c->scale[cell];
        }
    }
    return TARE_OK;
}

tare_status tare_llama_read_awq(void *out, const tare_llama_coded *p, const tare_model *in,
                                uint64_t first, uint64_t n, tare_error *err) {
    columns c = {0};
    tare_status status = columns_begin(&c, p, in, n + 8, err);
    if (status == TARE_OK) status = awq(out, &c, p, in, first, n, err);
    tare_free(in->allocator, c.memory, c.size);
    return status;
}

/* ---- compressed-tensors ------------------------------------------------------------------------ */

typedef struct row_memory {
    uint32_t *group;
    float *scale;
    uint8_t *bytes, *zeros;
    void *memory;
    size_t size;
} row_memory;

/* Memory for one row: groups of its columns, its scales, so many bytes of codes and zero points. */
static tare_status row_begin(row_memory *m, const tare_llama_coded *p, const tare_model *in,
                             uint64_t n_bytes, tare_error *err) {
    uint64_t bytes = 4 * (p->cols + p->n_groups) + n_bytes + 4 * p->n_groups;
    if (!tare_size_of_u64(bytes, &m->size)) return tare_fail(err, TARE_ERR_LIMIT, "packed weight");
    m->memory = tare_alloc(in->allocator, m->size);
    if (!m->memory) return no_memory(err);
    m->group = m->memory;
    m->scale = (float *)(m->group + p->cols);
    m->zeros = (uint8_t *)(m->scale + p->n_groups);
    m->bytes = m->zeros + 4 * p->n_groups;
    return groups_of(m->group, p, in, err);
}

static tare_status packed_row(float *out, row_memory *m, const tare_llama_coded *p,
                              const tare_model *in, uint64_t row, tare_error *err) {
    const uint64_t per_word = 32 / p->bits, line = tare_ceil_div_u64(p->cols, per_word) * 4;
    const float half = (float)(1u << (p->bits - 1));
    TARE_TRY(bytes_of(m->bytes, p, in, TARE_CODED_CODES, row * line, line, err));
    TARE_TRY(floats_of(m->scale, p, in, TARE_CODED_SCALES, row * p->n_groups, p->n_groups, err));
    if (p->parts[TARE_CODED_ZEROS] >= 0) /* packed along the rows */
        TARE_TRY(bytes_of(m->zeros, p, in, TARE_CODED_ZEROS, row / per_word * p->n_groups * 4,
                          p->n_groups * 4, err));
    for (uint64_t i = 0; i < p->cols; i++) {
        const uint32_t g = m->group[i];
        float zero = half;
        if (p->parts[TARE_CODED_ZEROS] >= 0)
            zero = (float)(tare_load_le32(m->zeros + 4 * g) >> (row % per_word * p->bits) &
                           ((1u << p->bits) - 1));
        out[i] = ((float)code_at(m->bytes, i, p->bits) - zero) * m->scale[g];
    }
    return TARE_OK;
}

tare_status tare_llama_read_packed(void *out, const tare_llama_coded *p, const tare_model *in,
                                   uint64_t first, uint64_t n, tare_error *err) {
    row_memory m = {0};
    tare_status status = row_begin(&m, p, in, tare_ceil_div_u64(p->cols, 32 / p->bits) * 4, err);
    for (uint64_t r = 0; r < n && status == TARE_OK; r++)
        status = packed_row((float *)out + r * p->cols, &m, p, in, first + r, err);
    tare_free(in->allocator, m.memory, m.size);
    return status;
}

/* Whole numbers of 8 bits, and a factor for each row or for all; bitsandbytes' is 127 times that. */
tare_status tare_llama_read_scaled(void *out, const tare_llama_coded *p, const tare_model *in,
                                   uint64_t first, uint64_t n, tare_error *err) {
    const bool is_one = part(p, in, TARE_CODED_SCALES)->n_elements == 1;
    float *to = out, scale;
    int8_t codes[1024];
    for (uint64_t r = 0; r < n; r++) {
        TARE_TRY(floats_of(&scale, p, in, TARE_CODED_SCALES, is_one ? 0 : first + r, 1, err));
        for (uint64_t i = 0; i < p->cols;) {
            uint64_t take = tare_min_u64(p->cols - i, sizeof codes);
            TARE_TRY(
                bytes_of(codes, p, in, TARE_CODED_CODES, (first + r) * p->cols + i, take, err));
            for (uint64_t k = 0; k < take; k++) {
                float x = (float)codes[k] * scale;
                *to++ = p->divides ? x * 7.874015718698502e-3f : x;
            }
            i += take;
        }
    }
    return TARE_OK;
}

/* ---- bitsandbytes, 4 bits: one flat run, the high half first ----------------------------------- */

/* Memory for what a row of a flat run touches. */
typedef struct flat_memory {
    float table[16], nested_table[256];
    float *scales, *outer;
    uint8_t *codes, *scale_codes;
    void *memory;
    size_t size;
} flat_memory;

static tare_status flat_begin(flat_memory *m, const tare_llama_coded *p, const tare_model *in,
                              tare_error *err) {
    const uint64_t blocks = p->cols / p->block + 2;
    const uint64_t outer = p->nested_block ? blocks / p->nested_block + 2 : 0;
    if (!tare_size_of_u64(4 * (blocks + outer) + blocks + p->cols / 2 + 2, &m->size))
        return tare_fail(err, TARE_ERR_LIMIT, "packed weight");
    m->memory = tare_alloc(in->allocator, m->size);
    if (!m->memory) return no_memory(err);
    m->scales = m->memory;
    m->outer = m->scales + blocks;
    m->scale_codes = (uint8_t *)(m->outer + outer);
    m->codes = m->scale_codes + blocks;
    TARE_TRY(floats_of(m->table, p, in, TARE_CODED_TABLE, 0, 16, err));
    if (outer) TARE_TRY(floats_of(m->nested_table, p, in, TARE_CODED_NESTED_TABLE, 0, 256, err));
    return TARE_OK;
}

/* Scales of blocks [first, first + n): numbers, or codes of such. */
static tare_status flat_scales(flat_memory *m, const tare_llama_coded *p, const tare_model *in,
                               uint64_t first, uint64_t n, tare_error *err) {
    if (p->nested_block == 0) return floats_of(m->scales, p, in, TARE_CODED_SCALES, first, n, err);
    const uint64_t from = first / p->nested_block, to = (first + n - 1) / p->nested_block;
    TARE_TRY(bytes_of(m->scale_codes, p, in, TARE_CODED_SCALES, first, n, err));
    TARE_TRY(floats_of(m->outer, p, in, TARE_CODED_NESTED_SCALES, from, to - from + 1, err));
    for (uint64_t b = 0; b < n; b++)
        m->scales[b] =
            m->nested_table[m->scale_codes[b]] * m->outer[(first + b) / p->nested_block - from] +
            p->nested_offset;
    return TARE_OK;
}

static tare_status flat_row(float *out, flat_memory *m, const tare_llama_coded *p,
                            const tare_model *in, uint64_t row, tare_error *err) {
    const uint64_t at = row * p->cols, end = at + p->cols, first = at / p->block;
    TARE_TRY(flat_scales(m, p, in, first, (end - 1) / p->block - first + 1, err));
    TARE_TRY(bytes_of(m->codes, p, in, TARE_CODED_CODES, at / 2, (end + 1) / 2 - at / 2, err));
    for (uint64_t i = at; i < end; i++) {
        uint8_t byte = m->codes[i / 2 - at / 2];
        *out++ = m->table[i % 2 ? byte & 15 : byte >> 4] * m->scales[i / p->block - first];
    }
    return TARE_OK;
}

tare_status tare_llama_read_flat4(void *out, const tare_llama_coded *p, const tare_model *in,
                                  uint64_t first, uint64_t n, tare_error *err) {
    flat_memory m = {.memory = NULL};
    tare_status status = flat_begin(&m, p, in, err);
    for (uint64_t r = 0; r < n && status == TARE_OK; r++)
        status = flat_row((float *)out + r * p->cols, &m, p, in, first + r, err);
    tare_free(in->allocator, m.memory, m.size);
    return status;
}

/* ---- BitNet: four rows a quarter of the weight apart in each byte ------------------------------- */

static float scaled(float value, float scale, bool divides) {
    return divides ? value / scale : value * scale;
}

tare_status tare_llama_read_ternary(void *out, const tare_llama_coded *p, const tare_model *in,
                                    uint64_t first, uint64_t n, tare_error *err) {
    const uint64_t quarter = p->n_rows / 4;
    float *to = out, scale;
    uint8_t codes[1024];
    TARE_TRY(floats_of(&scale, p, in, TARE_CODED_SCALES, 0, 1, err));
    for (uint64_t r = first; r < first + n; r++)
        for (uint64_t i = 0; i < p->cols;) {
            uint64_t take = tare_min_u64(p->cols - i, sizeof codes);
            TARE_TRY(
                bytes_of(codes, p, in, TARE_CODED_CODES, r % quarter * p->cols + i, take, err));
            for (uint64_t k = 0; k < take; k++)
                *to++ =
                    scaled((float)((codes[k] >> (2 * (r / quarter)) & 3) - 1), scale, p->divides);
            i += take;
        }
    return TARE_OK;
}

/* ---- 4-bit floats -------------------------------------------------------------------------------- */

static const float e2m1[16] = {0,     0.5f,  1,  1.5f,  2,  3,  4,  6,
                               -0.0f, -0.5f, -1, -1.5f, -2, -3, -4, -6};

/* Bytes of codes and of scales of one row. */
static tare_status read_row(uint8_t *codes, uint8_t *scales, const tare_llama_coded *p,
                            const tare_model *in, uint64_t row, uint64_t blocks, uint64_t width,
                            tare_error *err) {
    TARE_TRY(bytes_of(codes, p, in, TARE_CODED_CODES, row * blocks * width, blocks * width, err));
    return bytes_of(scales, p, in, TARE_CODED_SCALES, row * blocks, blocks, err);
}

static tare_status nvfp4(float *to, uint8_t *codes, const tare_llama_coded *p, const tare_model *in,
                         uint64_t first, uint64_t n, tare_error *err) {
    const uint64_t blocks = p->cols / 16;
    const tare_encoding *e = part(p, in, TARE_CODED_SCALES)->encoding;
    uint8_t *bytes = codes + blocks * 8;
    float factor, scale;
    TARE_TRY(floats_of(&factor, p, in, TARE_CODED_FACTOR, 0, 1, err));
    for (uint64_t r = first; r < first + n; r++) {
        TARE_TRY(read_row(codes, bytes, p, in, r, blocks, 8, err));
        for (uint64_t b = 0; b < blocks; b++) {
            const tare_rows one = {.planes = {bytes + b}, .n_rows = 1, .cols = 1};
            TARE_TRY(tare_decode_rows(&scale, e, &one, err));
            scale = p->divides ? scale / factor : scale * factor;
            for (uint64_t k = 0; k < 16; k++) {
                uint8_t byte = codes[b * 8 + k / 2];
                *to++ = e2m1[k % 2 ? byte >> 4 : byte & 15] * scale;
            }
        }
    }
    return TARE_OK;
}

/* Blocks of ggml: the scale, then codes j and j + 16 in each byte, where the model has 2j and 2j + 1.
 * No number changes. */
static tare_status mxfp4(uint8_t *to, uint8_t *codes, const tare_llama_coded *p,
                         const tare_model *in, uint64_t first, uint64_t n, tare_error *err) {
    const uint64_t blocks = p->cols / 32, per_turn = p->turn / p->step;
    uint8_t *scales = codes + blocks * 16;
    for (uint64_t r = first; r < first + n; r++) {
        const uint64_t row = r / per_turn * p->turn + p->first + r % per_turn * p->step;
        TARE_TRY(read_row(codes, scales, p, in, row, blocks, 16, err));
        for (uint64_t b = 0; b < blocks; b++) {
            const uint8_t *c = codes + b * 16;
            *to++ = scales[b];
            for (int j = 0; j < 16; j++) {
                uint8_t low = j % 2 ? c[j / 2] >> 4 : c[j / 2] & 15;
                uint8_t high = j % 2 ? c[8 + j / 2] >> 4 : c[8 + j / 2] & 15;
                *to++ = (uint8_t)(low | high << 4);
            }
        }
    }
    return TARE_OK;
}

/* Memory for codes and scales of one row: at most a byte for each element. */
static tare_status with_row(void *out, const tare_llama_coded *p, const tare_model *in,
                            uint64_t first, uint64_t n, bool is_mxfp4, tare_error *err) {
    size_t size;
    if (!tare_size_of_u64(p->cols, &size)) return tare_fail(err, TARE_ERR_LIMIT, "packed weight");
    uint8_t *codes = tare_alloc(in->allocator, size);
    if (!codes) return no_memory(err);
    tare_status status = is_mxfp4 ? mxfp4(out, codes, p, in, first, n, err)
                                  : nvfp4(out, codes, p, in, first, n, err);
    tare_free(in->allocator, codes, size);
    return status;
}

tare_status tare_llama_read_nvfp4(void *out, const tare_llama_coded *p, const tare_model *in,
                                  uint64_t first, uint64_t n, tare_error *err) {
    return with_row(out, p, in, first, n, false, err);
}

tare_status tare_llama_read_mxfp4(void *out, const tare_llama_coded *p, const tare_model *in,
                                  uint64_t first, uint64_t n, tare_error *err) {
    return with_row(out, p, in, first, n, true, err);
}
