/* SPDX-License-Identifier: MIT
 *
 * Weights that a Hugging Face model has as packed codes with scales beside them (GPTQ, AWQ,
 * bitsandbytes, compressed-tensors, MXFP4, NVFP4, BitNet): a model with the weights themselves, each
 * under its own name, decoded or repacked row by row while it is read. */
#ifndef TARE_LLAMA_CODED_WEIGHT_H
#define TARE_LLAMA_CODED_WEIGHT_H

#include "llama/config.h"

struct tare_llama_coded;

/* Rows [first, first + n) of a weight: floats, or bytes of its encoding. */
typedef tare_status (*tare_llama_coded_read)(void *out, const struct tare_llama_coded *p,
                                             const tare_model *in, uint64_t first, uint64_t n,
                                             tare_error *err);

enum {
    TARE_CODED_CODES,
    TARE_CODED_SCALES,
    TARE_CODED_ZEROS,
    TARE_CODED_INDEX,         /* the group of each column */
    TARE_CODED_TABLE,         /* numbers that the codes stand for */
    TARE_CODED_NESTED_SCALES, /* of scales that are codes themselves */
    TARE_CODED_NESTED_TABLE,
    TARE_CODED_FACTOR, /* one for the whole weight */
    TARE_CODED_PARTS
};

/* A weight: the tensors it is made of, its shape, and what config.json says of its codes. */
typedef struct tare_llama_coded {
    tare_str name;
    int64_t parts[TARE_CODED_PARTS]; /* tensors of the input; -1: none */
    tare_llama_coded_read rows;
    const tare_encoding *encoding; /* of the rows */
    uint32_t n_dims;
    uint64_t dims[4];
    uint64_t n_rows, cols;
    uint32_t bits;
    uint64_t n_groups;          /* of the columns of a row */
    uint64_t block;             /* elements of a flat run that share a scale (bitsandbytes) */
    uint64_t nested_block;      /* scales that share one */
    float nested_offset;        /* added to such a scale */
    uint64_t first, step, turn; /* rows of the codes: first, first + step, .. of each `turn` */
    bool adds_one;              /* zero points are stored less 1 */
    bool divides;               /* by the factor, or the scale of BitNet */
    uint64_t offset, size;      /* in the virtual file */
} tare_llama_coded;

/* *out NULL: the model has no such weights. Its tensors are those of `in`, the packed ones replaced
 * by their weights; `in` must outlive it. UNSUPPORTED: a way of packing that is not known; CORRUPT:
 * parts that do not fit each other. */
tare_status tare_llama_decode_coded(tare_model **out, const tare_model *in,
                                    const tare_context *open, tare_report *report, tare_error *err);

/* The ways of decoding (coded_rows.c). Each has checked that its parts fit. */
tare_status tare_llama_read_gptq(void *out, const tare_llama_coded *p, const tare_model *in,
                                 uint64_t first, uint64_t n, tare_error *err);
tare_status tare_llama_read_awq(void *out, const tare_llama_coded *p, const tare_model *in,
                                uint64_t first, uint64_t n, tare_error *err);
tare_status tare_llama_read_packed(void *out, const tare_llama_coded *p, const tare_model *in,
                                   uint64_t first, uint64_t n, tare_error *err);
tare_status tare_llama_read_scaled(void *out, const tare_llama_coded *p, const tare_model *in,
                                   uint64_t first, uint64_t n, tare_error *err);
tare_status tare_llama_read_flat4(void *out, const tare_llama_coded *p, const tare_model *in,
                                  uint64_t first, uint64_t n, tare_error *err);
tare_status tare_llama_read_ternary(void *out, const tare_llama_coded *p, const tare_model *in,
                                    uint64_t first, uint64_t n, tare_error *err);
tare_status tare_llama_read_nvfp4(void *out, const tare_llama_coded *p, const tare_model *in,
                                  uint64_t first, uint64_t n, tare_error *err);
tare_status tare_llama_read_mxfp4(void *out, const tare_llama_coded *p, const tare_model *in,
                                  uint64_t first, uint64_t n, tare_error *err);

#endif
