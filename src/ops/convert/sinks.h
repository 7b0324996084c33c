/* SPDX-License-Identifier: MIT
 *
 * Where the bytes of a conversion go: into the files of an output set, through a descriptor, or
 * into a comparison with what was written. */
#ifndef TARE_OPS_CONVERT_SINKS_H
#define TARE_OPS_CONVERT_SINKS_H

#include "base/outfile.h"
#include "ops/convert/execute.h"

/* Files of an output set; members have the numbers of the plan's files. Written ranges are sent on
 * their way to the disk as they come. */
typedef struct tare_file_sink {
    tare_outset *set;
    _Atomic uint64_t *hinted; /* for each file: up to where */
} tare_file_sink;

/* A descriptor that takes bytes in order: gaps become zeros. */
typedef struct tare_stream_sink {
    int fd;
    uint64_t position;
} tare_stream_sink;

/* What an output set holds must be what is put. */
typedef struct tare_compare_sink {
    tare_outset *set;
} tare_compare_sink;

tare_sink tare_sink_of_files(tare_file_sink *s);
tare_sink tare_sink_of_stream(tare_stream_sink *s);
tare_sink tare_sink_of_comparison(tare_compare_sink *s);
/* Zeros up to the end of the stream's file. */
tare_status tare_stream_sink_finish(tare_stream_sink *s, uint64_t size, tare_error *err);

#endif
