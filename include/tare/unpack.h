/* SPDX-License-Identifier: MIT
 *
 * tare/unpack.h: the files that a .wcodec was packed from, as they were.
 */
#ifndef TARE_UNPACK_H
#define TARE_UNPACK_H

#include <tare/base.h>
#include <tare/model.h>

#ifdef __cplusplus
extern "C" {
#endif

typedef struct tare_unpack_options {
    size_t size;
    unsigned threads; /* 0: what affinity and cgroup allow */
    bool force;       /* replace an existing output */
    bool strict;      /* tensors that cannot be coarse are an error where `is_coarse` */
    bool no_sync;
    bool salvage;                   /* segments that are damaged become zeros, each is reported */
    bool is_coarse;                 /* of numbers that stand for real ones only the first bits: */
    unsigned groups;                /* ... so many groups of those that are stored as they are */
    const tare_model *const *bases; /* models that this one may have been packed against */
    size_t n_bases;
    const tare_allocator *allocator;
    const tare_limits *limits;
    tare_report *report;
    tare_progress_fn progress;
    void *progress_ctx;
} tare_unpack_options;

#define TARE_UNPACK_OPTIONS_INIT                                                                   \
    { .size = sizeof(tare_unpack_options) }

typedef struct tare_unpack_result {
    bool is_directory;
    size_t n_files;
    uint64_t n_bytes;         /* of the files */
    uint64_t packed_bytes;    /* of the container */
    size_t n_lost;            /* segments that were damaged */
    size_t n_coarse, n_whole; /* with `is_coarse`: tensors of which bits are missing, and not */
} tare_unpack_result;

/* Writes the files of a container to `out_path`: the one file it was packed from, or a directory.
 * What is written appears only when it is complete. *out may be NULL. ERR_ARG: the container holds
 * no files (tare_convert makes one of it), the output exists, a base model is missing or another
 * one; ERR_UNSUPPORTED: `is_coarse` and no tensor can be. What is reported: "unpack.lost" (of a
 * tensor: offset of the segment), "unpack.whole", "wcodec.base". Memory: at most 64 MiB + 16 MiB a
 * thread, beside the directory. */
TARE_API tare_status tare_unpack(tare_unpack_result *out, const char *out_path,
                                 const tare_source *in, const tare_unpack_options *options,
                                 tare_error *err);
/* The same into a descriptor, for a container that holds one file; in order, by one thread. */
TARE_API tare_status tare_unpack_fd(tare_unpack_result *out, int fd, const tare_source *in,
                                    const tare_unpack_options *options, tare_error *err);

/* Gives a .wcodec that is open the models it was packed against, found by their digests, which is
 * why they are read. Before anything else is read from it; they must outlive it. Other models need
 * none. ERR_ARG: one is missing; the finding "wcodec.base" says which. */
TARE_API tare_status tare_model_use_bases(tare_model *model, const tare_model *const *bases,
                                          size_t n, unsigned threads, tare_report *report,
                                          tare_error *err);

#ifdef __cplusplus
}
#endif
#endif
