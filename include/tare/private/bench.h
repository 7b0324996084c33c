/* SPDX-License-Identifier: MIT
 *
 * tare/private/bench.h: how small tensors get in a .wcodec, and how fast they are.
 */
#ifndef TARE_PRIVATE_BENCH_H
#define TARE_PRIVATE_BENCH_H

#include <tare/base.h>
#include <tare/model.h>

#ifdef __cplusplus
extern "C" {
#endif

typedef struct tare_bench_options {
    size_t size;
    /* NULL: the defaults. Threads are for the codec, 0: one; zstd and memcpy run on one */
    const tare_context *context;
    bool is_full;                   /* the codec's full effort instead of the fast one */
    bool is_whole;                  /* measure all bytes, not a sample of each tensor */
    bool best_zstd;                 /* also measure zstd -19, on the same bytes; samples are smaller
                                       then */
    const tare_model *const *bases; /* similar models: tensors are stored as differences from the
                                       one that has the most similar */
    size_t n_bases;
    struct tare_device
        *device; /* tare/experimental/device.h: decodes each layer, too; may be NULL */
} tare_bench_options;

TARE_DECLARE_INIT(tare_bench_options)

/* Size and speed of one or several tensors in a .wcodec. Sizes of a sampled tensor are extrapolated
 * to the whole; with n_tensors 0 this is an empty sum. */
typedef struct tare_bench {
    size_t size;
    uint64_t n_tensors;
    uint64_t bytes;         /* of the tensors, all planes */
    uint64_t sample_bytes;  /* those that were measured; speeds refer to them */
    double coded_bytes;     /* heads and segments of the codec */
    double entropy_bytes;   /* order-0 entropy of the values of the coded planes, or of their
                               differences from a base if that is less: a lower bound for any
                               coder of single values */
    double zstd_bytes;      /* zstd -3 of the bytes as stored in the file */
    double best_zstd_bytes; /* zstd -19; 0: not requested */
    double coded_error, zstd_error, best_zstd_error; /* standard errors of these sizes, in bytes; 0:
                                                        all bytes were measured */
    double encode_seconds, decode_seconds, copy_seconds, zstd_seconds; /* copy: memcpy */
    uint64_t n_alike;      /* tensors that a base also has */
    double device_seconds; /* decoding by the device, from its memory to its memory; 0: not
                              requested */
} tare_bench;

TARE_DECLARE_INIT(tare_bench)

/* The results, one row per tensor. Immutable: any number of threads may read it. */
typedef struct tare_bench_rows tare_bench_rows;

/* Measures the tensors one after another: encodes each in memory as in a .wcodec, decodes it and
 * compares. A model of more than 512 MiB (with best_zstd: 32 MiB) is sampled: the same share of
 * each tensor, but at least 4 MiB (1 MiB), in 64 runs, one at a random place in each of 64 equal
 * parts. All sizes refer to the same bytes. Memory: a few times 64 MiB. CORRUPT: the decoded bytes
 * differ. */
TARE_API tare_status tare_bench_run(tare_bench_rows **out, const tare_model *model,
                                    const tare_bench_options *options, tare_error *err);
TARE_API void tare_bench_free(tare_bench_rows *rows);
/* The row of a tensor; NULL beyond the last. Valid as long as the rows. */
TARE_API const tare_bench *tare_bench_row(const tare_bench_rows *rows, size_t tensor);
/* Adds a row to a sum; members beyond sum->size are left out. */
TARE_API void tare_bench_add(tare_bench *sum, const tare_bench *row);

#ifdef __cplusplus
}
#endif
#endif
