/* SPDX-License-Identifier: MIT
 *
 * tare/experimental/containers.h: options of conversions into one container each.
 */
#ifndef TARE_EXPERIMENTAL_CONTAINERS_H
#define TARE_EXPERIMENTAL_CONTAINERS_H

#include <tare/base.h>
#include <tare/convert.h>
#include <tare/encoding.h>
#include <tare/experimental/adapter.h>
#include <tare/experimental/packing.h>
#include <tare/model.h>

#ifdef __cplusplus
extern "C" {
#endif

/* Which tensors with equal bytes are stored once, if the format supports it. */
typedef enum tare_dedup {
    TARE_DEDUP_TIED = 0, /* embedding and output matrix, and what the input stores once */
    TARE_DEDUP_ALL = 1,
    TARE_DEDUP_NONE = 2,
} tare_dedup;

/* Options of MCF only; other formats refuse anything but the defaults. */
typedef struct tare_convert_mcf_options {
    size_t size;
    tare_compat compat; /* encode as another program does, and write what it rewrites of resources
                           in its container; of the types that `type` and the rules ask for one at
                           least must be one of its */
    tare_dedup dedup;
    bool has_clip; /* bounds that values are held to before they are encoded; `type` or a rule must
                      ask for one of MCF's types */
    float clip_min, clip_max;
} tare_convert_mcf_options;

TARE_DECLARE_INIT(tare_convert_mcf_options)

/* Options of INFQ only; other formats refuse anything but the defaults. */
typedef struct tare_convert_infq_options {
    size_t size;
    const tare_adapter_use *adapters; /* stored beside the tensors, under `name` */
    size_t n_adapters;
    /* Elements stored separately from the codes of a tensor: those with a magnitude above a
     * threshold (0: 6, like the public converter; infinite: none), or a share of the largest
     * (0.001: one in a thousand; 0: by the threshold). Not both. */
    float outlier_threshold;
    double outlier_share;
} tare_convert_infq_options;

TARE_DECLARE_INIT(tare_convert_infq_options)

/* Options of .wcodec only, as in tare_pack_options; other formats refuse anything but the
 * defaults. */
typedef struct tare_convert_wcodec_options {
    size_t size;
    tare_effort effort;
    const tare_model *const *bases; /* the output is stored as differences from these, and needs
                                       them to be read */
    const char *const *base_hints;
    size_t n_bases;
} tare_convert_wcodec_options;

TARE_DECLARE_INIT(tare_convert_wcodec_options)

#ifdef __cplusplus
}
#endif
#endif
