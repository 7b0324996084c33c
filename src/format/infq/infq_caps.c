/* SPDX-License-Identifier: MIT
 *
 * What an INFQ package can hold. */
#include "base/str.h"
#include "encoding/table.h"
#include "format/infq/infq.h"

static bool has_encoding(const tare_encoding *e) {
    return e->id == TARE_ENCODING_INT8_ROWWISE || e->id == TARE_ENCODING_INT4_ROWWISE ||
           e->kind == TARE_KIND_FLOAT || e->kind == TARE_KIND_INTEGER ||
           e->kind == TARE_KIND_COMPLEX;
}

const tare_format_caps tare_infq_caps = {
    .has_encoding = has_encoding,
    .lacks_odd = true,
    .max_dims = TARE_MAX_DIMS,
    .max_name = 65535,
    .has_name = tare_str_is_utf8,
    .bytes_type = &tare_encoding_table[TARE_ENCODING_U8],
};
