/* SPDX-License-Identifier: MIT
 *
 * PyTorch's number formats, by the names under which pickles have them. */
#include "encoding/table.h"
#include "format/torch/torch.h"

static const tare_torch_dtype dtypes[] = {
    {"float64", "DoubleStorage", TARE_ENCODING_F64, 8},
    {"float32", "FloatStorage", TARE_ENCODING_F32, 4},
    {"float16", "HalfStorage", TARE_ENCODING_F16, 2},
    {"bfloat16", "BFloat16Storage", TARE_ENCODING_BF16, 2},
    {"int64", "LongStorage", TARE_ENCODING_I64, 8},
    {"int32", "IntStorage", TARE_ENCODING_I32, 4},
    {"int16", "ShortStorage", TARE_ENCODING_I16, 2},
    {"int8", "CharStorage", TARE_ENCODING_I8, 1},
    {"uint8", "ByteStorage", TARE_ENCODING_U8, 1},
    {"bool", "BoolStorage", TARE_ENCODING_BOOL, 1},
    {"complex64", "ComplexFloatStorage", TARE_ENCODING_C64, 8},
    {"complex128", "ComplexDoubleStorage", TARE_ENCODING_UNKNOWN, 16},
    {"complex32", NULL, TARE_ENCODING_UNKNOWN, 4},
    {"uint16", NULL, TARE_ENCODING_U16, 2},
    {"uint32", NULL, TARE_ENCODING_U32, 4},
    {"uint64", NULL, TARE_ENCODING_U64, 8},
    {"float8_e4m3fn", NULL, TARE_ENCODING_F8_E4M3, 1},
    {"float8_e5m2", NULL, TARE_ENCODING_F8_E5M2, 1},
    {"float8_e4m3fnuz", NULL, TARE_ENCODING_F8_E4M3FNUZ, 1},
    {"float8_e5m2fnuz", NULL, TARE_ENCODING_F8_E5M2FNUZ, 1},
    {"float8_e8m0fnu", NULL, TARE_ENCODING_F8_E8M0, 1},
    {"float4_e2m1fn_x2", NULL, TARE_ENCODING_UNKNOWN, 1},
    /* the codes of quantized tensors, whose scales are elsewhere */
    {"qint8", "QInt8Storage", TARE_ENCODING_I8, 1},
    {"quint8", "QUInt8Storage", TARE_ENCODING_U8, 1},
    {"qint32", "QInt32Storage", TARE_ENCODING_I32, 4},
    {"quint4x2", "QUInt4x2Storage", TARE_ENCODING_U8, 1},
    {"quint2x4", "QUInt2x4Storage", TARE_ENCODING_U8, 1},
    {NULL, "UntypedStorage", TARE_ENCODING_U8, 1},
};

enum { N_DTYPES = sizeof dtypes / sizeof *dtypes };

/* "torch", "torch.storage", "torch.cuda". */
static bool is_of_torch(tare_str module) {
    return tare_str_is(module, "torch") || tare_str_is(module, "torch.storage") ||
           tare_str_is(module, "torch.cuda");
}

const tare_torch_dtype *tare_torch_dtype_of(const tare_pickle_value *v) {
    if (!v || v->kind != TARE_PICKLE_GLOBAL || !is_of_torch(tare_pickle_module(v->as.object)))
        return NULL;
    const tare_str name = tare_pickle_name(v->as.object);
    for (size_t i = 0; i < N_DTYPES; i++)
        if ((dtypes[i].name && tare_str_is(name, dtypes[i].name)) ||
            (dtypes[i].storage && tare_str_is(name, dtypes[i].storage)))
            return &dtypes[i];
    return NULL;
}

static bool has_encoding(const tare_encoding *e) {
    for (size_t i = 0; i < N_DTYPES; i++)
        if (dtypes[i].encoding == e->id && e->id != TARE_ENCODING_UNKNOWN) return true;
    return false;
}

const tare_format_caps tare_torch_caps = {
    .has_encoding = has_encoding,
    .max_dims = TARE_MAX_DIMS,
    .max_name = 65535,
    .takes_empty_name = true,
    .bytes_type = &tare_encoding_table[TARE_ENCODING_U8],
};
