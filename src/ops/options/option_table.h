/* SPDX-License-Identifier: MIT
 *
 * The rows of the table of options, and the structs that they fill. */
#ifndef TARE_OPS_OPTIONS_OPTION_TABLE_H
#define TARE_OPS_OPTIONS_OPTION_TABLE_H

#include <tare/experimental/containers.h>
#include <tare/experimental/options.h>

#include "base/alloc.h"

enum { TARE_OPTIONS_MOST_TYPES = 32 }; /* that a fit chooses from */

struct tare_options {
    const tare_allocator *allocator;
    tare_arena arena; /* of texts */
    tare_verb verb;
    tare_context context; /* of all verbs */
    tare_output_options output;
    tare_convert_options convert;
    tare_mix_options mix;
    tare_convert_mcf_options mcf;
    tare_convert_infq_options infq;
    tare_convert_wcodec_options wcodec;
    tare_pack_options pack;
    tare_lossy_options lossy;
    tare_unpack_options unpack;
    tare_fit_options fit;
    tare_fit_target target;
    const tare_encoding *fit_types[TARE_OPTIONS_MOST_TYPES];
    /* What was given so far; callers may put lists of their own into the structs. */
    tare_type_rule *rules;
    const char **exclude;
    size_t n_rules, n_exclude, rules_capacity, exclude_capacity;
};

typedef struct tare_option_row {
    tare_option_info info;
    unsigned verbs;       /* bits */
    size_t at;            /* of the member in tare_options: its type follows from the kind */
    const char *expected; /* of a value, for errors; NULL: as the kind says */
    /* Where the kind does not say all. */
    tare_status (*set)(tare_options *options, const char *value, tare_error *err);
} tare_option_row;

/* Row i of a verb; NULL beyond the last. */
const tare_option_row *tare_option_row_at(tare_verb verb, size_t i);

/* Sets the member that a row without a function refers to. */
tare_status tare_option_set_by_kind(tare_options *options, const tare_option_row *row,
                                    const char *value, tare_error *err);
/* What rows refer to. */
tare_status tare_option_add_rule(tare_options *options, const char *value, tare_error *err);
tare_status tare_option_add_exclude(tare_options *options, const char *value, tare_error *err);
tare_status tare_option_set_mix(tare_options *options, const char *value, tare_error *err);
tare_status tare_option_set_outlier_threshold(tare_options *options, const char *value,
                                              tare_error *err);
tare_status tare_option_set_outliers(tare_options *options, const char *value, tare_error *err);
tare_status tare_option_set_clip(tare_options *options, const char *value, tare_error *err);
tare_status tare_option_set_segment(tare_options *options, const char *value, tare_error *err);
tare_status tare_option_set_planes(tare_options *options, const char *value, tare_error *err);
tare_status tare_option_set_fit_types(tare_options *options, const char *value, tare_error *err);
tare_status tare_option_set_sensitivities(tare_options *options, const char *value,
                                          tare_error *err);

#endif
