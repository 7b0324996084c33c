/* SPDX-License-Identifier: MIT
 *
 * What the parts of the .wcodec driver share. */
#ifndef TARE_FORMAT_WCODEC_WCODEC_READ_H
#define TARE_FORMAT_WCODEC_WCODEC_READ_H

#include "format/format.h"
#include "format/wcodec/wcodec_virtual.h"

/* Opens the files that a container holds as the model they are, by the driver of their format.
 * *is_ours false: the format is unknown, nothing was done. */
tare_status tare_wcodec_open_files(tare_model *m, tare_packed *store,
                                   const tare_open_options *options, tare_str inner, bool *is_ours,
                                   tare_error *err);

/* wcodec_plan.c: the target of a conversion. */
extern const tare_format_caps tare_wcodec_caps;
tare_status tare_wcodec_plan(tare_write_plan *out, const tare_catalog *catalog,
                             const tare_write_options *options, tare_error *err);
/* wcodec_pack.c: packs the data made by that plan, or the existing data. */
tare_status tare_wcodec_pack(tare_pack_outcome *out, const tare_pack_job *job, tare_error *err);

#endif
