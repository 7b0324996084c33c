/* SPDX-License-Identifier: MIT
 *
 * Packing from inside: of files that are to come back, or of a model that is computed. */
#ifndef TARE_OPS_PACKING_PACK_RUN_H
#define TARE_OPS_PACKING_PACK_RUN_H

#include <tare/experimental/packing.h>

#include "base/outfile.h"
#include "format/format.h"
#include "model/catalog.h"
#include "ops/packing/pack_files.h"
#include "ops/steps.h"

/* A part of what is packed. */
typedef struct tare_pack_part {
    tare_pack_share share; /* which: the caller's; then the whole row */
    /* Called when it is known what is packed, before a byte is written; *is_done: the part is there. */
    tare_status (*begin)(void *ctx, bool *is_done, const struct tare_pack_part *part,
                         const tare_pack_files *files, tare_error *err);
    void *ctx;
    uint16_t withheld; /* permissions that the input does not give */
} tare_pack_part;

typedef struct tare_pack_source {
    const tare_format *format; /* that packs */
    const tare_model *model;
    const tare_model *opened; /* the same as the output will be opened, which its digest is of: with
                                 stand-ins restored; NULL: no different */
    const tare_pack_codes *codes;            /* of each tensor; NULL: nothing is lost */
    const tare_pack_derivation *derivations; /* of each tensor; NULL: none is made of another */
    bool has_files;        /* they are packed; else the metadata and resources of the model are */
    tare_pack_lister list; /* of the files; NULL: those of the model, or of a directory */
    void *list_ctx;
    tare_status (*check)(void *ctx, tare_outset *set, tare_error *err); /* of the complete output,
                                                                           before it has its name;
                                                                           NULL: none */
    void *check_ctx;
    const tare_pack_outcome **outcome; /* set before the check; NULL: nobody asks */
    const tare_output *output;         /* complete; NULL: a path is given */
    tare_pack_part *part;              /* NULL: all is packed */
    tare_steps *steps; /* what packing is a part of: its progress; NULL: that of the options */
} tare_pack_source;

/* Bytes that packing a computed model of this content tells progress of. */
uint64_t tare_pack_work(const tare_catalog *catalog);

/* Of a model that was opened, with complete options. ERR_ARG: it is packed already. */
tare_status tare_pack_source_of(tare_pack_source *out, const tare_model *in,
                                const tare_pack_options *options, tare_error *err);
/* As tare_pack. `options` are complete. */
tare_status tare_pack_run(tare_pack_summary *out, const char *out_path,
                          const tare_pack_source *source, const tare_pack_options *options,
                          tare_error *err);

#endif
