/* SPDX-License-Identifier: MIT
 *
 * What reader and writer of INFQ packages share: a directory with manifest.json and payload files
 * (INFQ specification version 1). The entry "tare" of the manifest is ours: tensors that are not
 * quantized, metadata, names of side files. */
#ifndef TARE_FORMAT_INFQ_INFQ_H
#define TARE_FORMAT_INFQ_INFQ_H

#include "base/json.h"
#include "format/format.h"

#define TARE_INFQ_MANIFEST         "manifest.json"
#define TARE_INFQ_WEIGHTS          "weights.bin"
#define TARE_INFQ_OTHERS           "tensors.bin" /* what is not quantized */
#define TARE_INFQ_OUTLIERS_FILE    "weights_outliers.bin"
#define TARE_INFQ_BLOCK            64
#define TARE_INFQ_ALIGN            64 /* of each tensor's outliers in their file */
#define TARE_INFQ_RECORD           "row:u32,col:u16,val:fp16"
#define TARE_INFQ_ADAPTER_WEIGHTS  "adapters.bin"
#define TARE_INFQ_ADAPTER_OUTLIERS "adapters_outliers.bin"
#define TARE_INFQ_MOST             (UINT64_C(1) << 53) /* numbers that every JSON reader keeps */

/* Entries of a tensor that the library knows. Others are kept. */
typedef enum tare_infq_field {
    TARE_INFQ_NAME,
    TARE_INFQ_DTYPE,
    TARE_INFQ_ROWS,
    TARE_INFQ_COLS,
    TARE_INFQ_BLOCK_SIZE,
    TARE_INFQ_SCALE_DTYPE,
    TARE_INFQ_LAYOUT,
    TARE_INFQ_DATA_FILE,
    TARE_INFQ_OFFSET_DATA,
    TARE_INFQ_OFFSET_SCALES,
    TARE_INFQ_SCALES_FILE,
    TARE_INFQ_SHAPE,
    TARE_INFQ_OUTLIERS,
    TARE_INFQ_SHA256,
    TARE_INFQ_INDEX, /* among all tensors; ours, of those that are not quantized */
    TARE_INFQ_FIELDS
} tare_infq_field;

/* TARE_INFQ_FIELDS: none of them. */
tare_infq_field tare_infq_find_field(const tare_json_value *key);

/* Entries of a tensor's outliers. */
typedef enum tare_infq_outlier_field {
    TARE_INFQ_OUTLIER_DTYPE,
    TARE_INFQ_OUTLIER_FILE,
    TARE_INFQ_OUTLIER_OFFSET,
    TARE_INFQ_OUTLIER_COUNT,
    TARE_INFQ_OUTLIER_BYTES,
    TARE_INFQ_OUTLIER_LAYOUT,
    TARE_INFQ_OUTLIER_ALIGN,
    TARE_INFQ_OUTLIER_FIELDS
} tare_infq_outlier_field;

/* TARE_INFQ_OUTLIER_FIELDS: none of them. */
tare_infq_outlier_field tare_infq_find_outlier_field(const tare_json_value *key);

/* Entries of the manifest itself. */
typedef enum tare_infq_part {
    TARE_INFQ_VERSION,
    TARE_INFQ_ENDIANNESS,
    TARE_INFQ_TENSORS,
    TARE_INFQ_ADAPTERS,
    TARE_INFQ_OURS,
    TARE_INFQ_PARTS
} tare_infq_part;

tare_infq_part tare_infq_find_part(const tare_json_value *key);

/* tare_layout.detail */
typedef struct tare_infq_layout {
    tare_str manifest;
    const tare_str *entries; /* for each tensor, the text of its entry */
    tare_str *adapters;      /* the same for each adapter, and for its factors, two an adapter */
    tare_str *factors;
} tare_infq_layout;

extern const tare_format_caps tare_infq_caps;

tare_status tare_infq_plan(tare_write_plan *out, const tare_catalog *catalog,
                           const tare_write_options *options, tare_error *err);

#endif
