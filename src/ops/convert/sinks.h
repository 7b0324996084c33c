/* SPDX-License-Identifier: MIT
 *
 * Destinations for the bytes of a conversion: the files of an output set, a descriptor, or a
 * comparison with what was written. */
#ifndef TARE_OPS_CONVERT_SINKS_H
#define TARE_OPS_CONVERT_SINKS_H

#include <tare/output.h>

#include "base/outfile.h"
#include "ops/convert/execute.h"

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
/* Reads a caller's struct. ERR_ARG: it has no function. */
tare_status tare_output_read(tare_output *out, const tare_output *theirs, tare_error *err);
tare_sink tare_sink_of_comparison(tare_compare_sink *s);
/* Writes zeros up to the end of the stream's file. */
tare_status tare_stream_sink_finish(tare_stream_sink *s, uint64_t size, tare_error *err);

#endif
