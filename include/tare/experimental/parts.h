/* SPDX-License-Identifier: MIT
 *
 * tare/experimental/parts.h: an output that several machines write, each a part of it, and that is
 * joined afterwards. Whoever has the same input and asks for the same output makes the same cut, so
 * that parts need to know nothing of each other; each leaves a record beside its bytes, by which the
 * join sees that they belong together.
 *
 * Part I of N is the file OUT.part-0000I-of-0000N, a range of the output's bytes (of its files, one
 * after the other, in the order of the plan), and OUT.part-0000I-of-0000N.json, its record, which
 * appears when the bytes are complete. Shared, all parts write into OUT.parts, of the output's size,
 * and have records only.
 *
 * Threads: a tare_parts does not change; any number of threads may read it.
 */
#ifndef TARE_EXPERIMENTAL_PARTS_H
#define TARE_EXPERIMENTAL_PARTS_H

#include <tare/base.h>
#include <tare/convert.h>
#include <tare/experimental/packing.h>
#include <tare/experimental/views.h>
#include <tare/output.h>

#ifdef __cplusplus
extern "C" {
#endif

#define TARE_PARTS_MOST 99999u

typedef struct tare_part_options {
    size_t size;
    const tare_context *context; /* NULL: the defaults; of a plan its own counts */
    /* NULL: the defaults. `force`: a part that is there, of this plan or of another one, is written
     * again */
    const tare_output_options *output;
    uint32_t index, count; /* which of how many; index from 1 */
    bool is_shared;        /* into OUT.parts */
    /* Files that the output depends on, beside those of a plan's input: their sizes and times of
     * modification are part of what the records compare. */
    const char *const *inputs;
    size_t n_inputs;
    tare_str key; /* the same for what else it depends on; any bytes */
} tare_part_options;

TARE_DECLARE_INIT(tare_part_options)

typedef struct tare_part_result {
    size_t size;
    uint64_t begin, end; /* bytes of the output, files one after the other; packed, of the input */
    uint64_t total_bytes;
    uint64_t work, total_work; /* bytes read and written for it, and for the whole */
    bool was_done;             /* the part was there, of the same plan: nothing was written */
} tare_part_result;

TARE_DECLARE_INIT(tare_part_result)

/* Writes a part of what a plan would write, of its path. Reports what tare_plan_run would report of
 * these bytes. UNSUPPORTED: a format whose sizes or digests are known only when all is made
 * (.wcodec, MCF, INFQ), or a plan with `verify`. */
TARE_API tare_status tare_part_of_plan(tare_part_result *out, const tare_plan *plan,
                                       const tare_part_options *options, tare_error *err);
/* Writes a part of what tare_pack would write: whole tensors and other contents of files, which the join
 * puts where they belong. Only then is it seen which tensors have the same bytes. options->context and
 * output count, not those of pack_options. UNSUPPORTED: bases, or packing with loss. */
TARE_API tare_status tare_part_of_pack(tare_part_result *out, const char *out_path,
                                       const tare_model *in, const tare_pack_options *pack_options,
                                       const tare_part_options *options, tare_error *err);
/* Writes a part of what tare_manifest_write would write: lines of tensors, which are read for it and
 * compared with the digests that the model states of them. */
TARE_API tare_status tare_part_of_manifest(tare_part_result *out, const char *out_path,
                                           const tare_model *model,
                                           const tare_part_options *options, tare_error *err);
/* Writes a part of the files of a view to out_path. The view has one file under the last part of
 * out_path's name, or files in a folder of that name. options->inputs must name what it shows. */
TARE_API tare_status tare_part_of_view(tare_part_result *out, const char *out_path, tare_view *view,
                                       const tare_part_options *options, tare_error *err);

/* Share `index`, from 1, of `count` of what tare_verify_data checks: all shares together find what it finds, but
 * for the digest that a .wcodec states of all of its tensors, and for what only several shares see together
 * (zeros at a file's end). Nothing is written. */
TARE_API tare_status tare_part_of_verify(const tare_model *model, uint32_t index, uint32_t count,
                                         const tare_context *context, tare_error *err);

/* ---- all parts of an output ------------------------------------------------------------------ */

typedef enum tare_part_state {
    TARE_PART_MISSING = 0,
    TARE_PART_DONE = 1,
    TARE_PART_UNFINISHED = 2, /* bytes without a record */
    TARE_PART_STALE = 3,      /* of another plan than part `against` */
    TARE_PART_FOREIGN = 4,    /* its record is of another output, part or version of the format */
    TARE_PART_DOUBLED = 5,    /* overlaps part `against`, or is there under another count */
    TARE_PART_DAMAGED = 6,    /* its bytes are not as many as its record says, or it has none */
} tare_part_state;

/* The error of an output of which no part is there. */
#define TARE_CODE_NO_PARTS "parts.none"

typedef struct tare_part_info {
    size_t size;
    uint32_t index, count; /* by its name */
    tare_part_state state;
    uint32_t against; /* index of the part that it contradicts; 0: none */
    tare_str name;    /* of its file, beside OUT */
    uint64_t begin, end;
} tare_part_info;

TARE_DECLARE_INIT(tare_part_info)

typedef struct tare_parts tare_parts;

/* What is there of the parts of an output. The model's plan is that of the most parts that agree. OK
 * also where parts are missing or wrong. ERR_ARG: there is no part at all (TARE_CODE_NO_PARTS). */
TARE_API tare_status tare_parts_open(tare_parts **out, const char *out_path,
                                     const tare_context *context, tare_error *err);
TARE_API void tare_parts_free(tare_parts *parts);
/* How many there should be. */
TARE_API uint32_t tare_parts_count(const tare_parts *parts);
/* How many of them are done. */
TARE_API uint32_t tare_parts_done(const tare_parts *parts);
/* Entry i: first each part from 1 to the count, then what is there besides and must not be. False
 * beyond the end, or where out->size is not set. */
TARE_API bool tare_parts_at(tare_part_info *out, const tare_parts *parts, size_t i);

typedef struct tare_join_result {
    size_t size;
    uint64_t total_bytes;
    size_t n_files;
    bool is_directory;
} tare_join_result;

TARE_DECLARE_INIT(tare_join_result)

/* Makes the output of its parts, which share their data with it where the file system can, and
 * removes them unless `keep`. `to`: another path, or s3://BUCKET/KEY, that it gets instead of the parts'
 * own; NULL: none (UNSUPPORTED of parts that share one output). ERR_ARG: a part is not done; err names
 * it. As every output it appears whole or not at all. */
TARE_API tare_status tare_parts_join(tare_join_result *out, const tare_parts *parts, const char *to,
                                     bool keep, const tare_output_options *output, tare_error *err);

#ifdef __cplusplus
}
#endif
#endif
