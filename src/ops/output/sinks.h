/* SPDX-License-Identifier: MIT
 *
 * Destinations for the bytes of an output: the files of a set, a descriptor, or a comparison with
 * what was written. */
#ifndef TARE_OPS_OUTPUT_SINKS_H
#define TARE_OPS_OUTPUT_SINKS_H

#include <stdatomic.h>

#include <tare/output.h>

#include "base/outfile.h"
#include "base/thread_scratch.h"

/* Takes bytes. All functions are called from many threads, for disjoint ranges, unless
 * is_sequential: then one range after the other, in order of file and offset. */
typedef struct tare_sink {
    void *ctx;
    tare_status (*put)(void *ctx, uint32_t file, uint64_t offset, const void *bytes, size_t n,
                       tare_scratch *scratch, tare_error *err);
    /* Copies from an input file; NULL: the bytes are read and then passed to `put`. */
    tare_status (*copy)(void *ctx, uint32_t file, uint64_t offset, int in_fd, uint64_t in_offset,
                        uint64_t n, tare_scratch *scratch, tare_error *err);
    /* Reads back what was written; NULL: impossible, and formats that need digests of it cannot be
     * written this way. */
    tare_status (*read)(void *ctx, uint32_t file, uint64_t offset, void *buf, size_t n,
                        tare_error *err);
    /* Called when all of a file has been written. May be NULL. */
    tare_status (*file_done)(void *ctx, uint32_t file, tare_error *err);
    bool is_sequential;
} tare_sink;

/* Files of an output set; members are numbered like the plan's files. Write-back of written ranges
 * starts immediately. */
typedef struct tare_file_sink {
    tare_outset *set;
    _Atomic uint64_t *hinted; /* for each file: up to where */
} tare_file_sink;

/* Sequential output: to the caller's function or a descriptor. Gaps become zeros. */
typedef struct tare_stream_sink {
    const tare_output *output; /* NULL: fd */
    int fd;
    uint64_t position;
} tare_stream_sink;

/* Compares what is put with the contents of an output set. */
typedef struct tare_compare_sink {
    tare_outset *set;
} tare_compare_sink;

tare_sink tare_sink_of_files(tare_file_sink *s);
tare_sink tare_sink_of_stream(tare_stream_sink *s);
/* Output in any order. */
tare_sink tare_sink_of_output(const tare_output *output);
/* A dry run of what knows its sizes, or what is damaged, only when all is encoded or decoded. */
tare_sink tare_sink_of_nothing(void);
/* Reads a caller's struct. ERR_ARG: it has no function. */
tare_status tare_output_read(tare_output *out, const tare_output *theirs, tare_error *err);
tare_sink tare_sink_of_comparison(tare_compare_sink *s);
/* Writes zeros up to the end of the stream's file. */
tare_status tare_stream_sink_finish(tare_stream_sink *s, uint64_t size, tare_error *err);

#endif
