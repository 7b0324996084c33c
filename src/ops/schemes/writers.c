/* SPDX-License-Identifier: MIT
 *
 * The schemes that can be written. Names, shapes and settings are those that the libraries which
 * define them write and that vLLM, SGLang, transformers and mlx-lm read. */
#include "ops/schemes/writers.h"

#include <stdio.h>
#include <string.h>

#include "base/status.h"
#include "base/str.h"

#define COMPRESSED(name, description, format, kind, bits, group, groups)                           \
    name, description, TARE_WRITER_COMPRESSED, format, TARE_GROUP_##kind, bits, group, groups
#define MLX(name, description, format, kind, bits, group, groups)                                  \
    name, description, TARE_WRITER_MLX, format, TARE_GROUP_##kind, bits, group, groups
#define PART(suffix, kind, type)                                                                   \
    { suffix, TARE_WRITTEN_##kind, TARE_ENCODING_##type }
#define PACKED_PARTS                                                                               \
    PART(".weight_packed", CODES, I32), PART(".weight_scale", SCALES, UNKNOWN),                    \
        PART(".weight_shape", SHAPE, I64)
#define MLX_PARTS                                                                                  \
    {                                                                                              \
        PART(".weight", CODES, U32), PART(".scales", SCALES, UNKNOWN),                             \
            PART(".biases", OFFSETS, UNKNOWN)                                                      \
    }
#define MLX_FLOAT_PARTS                                                                            \
    { PART(".weight", CODES, U32), PART(".scales", SCALES, U8) }

#define TOKENS_8(type)                                                                             \
    "{\"num_bits\": 8, \"type\": \"" type "\", \"symmetric\": true, "                              \
    "\"strategy\": \"token\", \"dynamic\": true}"
#define GROUPS_8(group, scale)                                                                     \
    "{\"num_bits\": 8, \"type\": \"float\", \"symmetric\": true, "                                 \
    "\"strategy\": \"group\", \"group_size\": " group ", "                                         \
    "\"dynamic\": true" scale "}"

const tare_writer tare_writers[] = {
    {COMPRESSED("w4a16", "4 bits, compressed-tensors, for vLLM and SGLang", "pack-quantized",
                SIGNED, 4, 128, "32 64 128 channel"),
     0,
     TARE_ENCODING_UNKNOWN,
     NULL,
     {PACKED_PARTS}},
    {COMPRESSED("w8a16", "8 bits, compressed-tensors, for vLLM and SGLang", "pack-quantized",
                SIGNED, 8, 128, "32 64 128 channel"),
     0,
     TARE_ENCODING_UNKNOWN,
     NULL,
     {PACKED_PARTS}},
    {COMPRESSED("w4a16_asym", "4 bits with zero points, compressed-tensors", "pack-quantized",
                CENTRED, 4, 128, "32 64 128 channel"),
     0,
     TARE_ENCODING_UNKNOWN,
     NULL,
     {PACKED_PARTS, PART(".weight_zero_point", ZEROS, I32)}},
    {COMPRESSED("w8a8", "8 bits, activations in 8 bits, too", "int-quantized", SIGNED, 8, 0,
                "channel"),
     0,
     TARE_ENCODING_UNKNOWN,
     TOKENS_8("int"),
     {PART(".weight", CODES, I8), PART(".weight_scale", SCALES, UNKNOWN)}},
    {COMPRESSED("fp8_dynamic", "FP8, a scale a row", "float-quantized", E4M3, 8, 0, "channel"),
     0,
     TARE_ENCODING_UNKNOWN,
     TOKENS_8("float"),
     {PART(".weight", CODES, F8_E4M3), PART(".weight_scale", SCALES, UNKNOWN)}},
    {COMPRESSED("fp8_block", "FP8, a scale for 128 x 128", "float-quantized", E4M3, 8, 128, "128"),
     128,
     TARE_ENCODING_UNKNOWN,
     GROUPS_8("128", ""),
     {PART(".weight", CODES, F8_E4M3), PART(".weight_scale", SCALES, UNKNOWN)}},
    {"fp8_deepseek",
     "FP8 blocks, named as DeepSeek's",
     TARE_WRITER_BLOCK_FP8,
     "e4m3",
     TARE_GROUP_E4M3,
     8,
     128,
     "128",
     128,
     TARE_ENCODING_F32,
     NULL,
     {PART(".weight", CODES, F8_E4M3), PART(".weight_scale_inv", SCALES, F32)}},
    {COMPRESSED("nvfp4a16", "FP4 with an FP8 scale for 16", "nvfp4-pack-quantized", E2M1, 4, 16,
                "16"),
     0,
     TARE_ENCODING_F8_E4M3,
     NULL,
     {PART(".weight_packed", CODES, U8), PART(".weight_scale", SCALES, F8_E4M3),
      PART(".weight_global_scale", FACTOR, F32)}},
    {"nvfp4_modelopt",
     "the same, named as ModelOpt's",
     TARE_WRITER_MODELOPT,
     "W4A16_NVFP4",
     TARE_GROUP_E2M1,
     4,
     16,
     "16",
     0,
     TARE_ENCODING_F8_E4M3,
     NULL,
     {PART(".weight", CODES, U8), PART(".weight_scale", SCALES, F8_E4M3),
      PART(".weight_scale_2", MULTIPLIER, F32), PART(".input_scale", INPUT, F32)}},
    {COMPRESSED("mxfp4", "FP4 with an exponent for 32", "mxfp4-pack-quantized", E2M1, 4, 32, "32"),
     0,
     TARE_ENCODING_F8_E8M0,
     NULL,
     {PART(".weight_packed", CODES, U8), PART(".weight_scale", SCALES, U8)}},
    {COMPRESSED("mxfp8", "FP8 with an exponent for 32", "mxfp8-quantized", E4M3, 8, 32, "32"),
     0,
     TARE_ENCODING_F8_E8M0,
     GROUPS_8("32", ", \"scale_dtype\": \"torch.uint8\""),
     {PART(".weight", CODES, F8_E4M3), PART(".weight_scale", SCALES, U8)}},
    {MLX("mlx", "for MLX, the codes that weights have: no number changes", "affine", AFFINE, 0, 64,
         ""),
     0, TARE_ENCODING_UNKNOWN, NULL, MLX_PARTS},
    {MLX("mlx2", "2 bits, for MLX", "affine", AFFINE, 2, 64, "32 64 128"), 0, TARE_ENCODING_UNKNOWN,
     NULL, MLX_PARTS},
    {MLX("mlx3", "3 bits, for MLX", "affine", AFFINE, 3, 64, "32 64 128"), 0, TARE_ENCODING_UNKNOWN,
     NULL, MLX_PARTS},
    {MLX("mlx4", "4 bits, for MLX", "affine", AFFINE, 4, 64, "32 64 128"), 0, TARE_ENCODING_UNKNOWN,
     NULL, MLX_PARTS},
    {MLX("mlx5", "5 bits, for MLX", "affine", AFFINE, 5, 64, "32 64 128"), 0, TARE_ENCODING_UNKNOWN,
     NULL, MLX_PARTS},
    {MLX("mlx6", "6 bits, for MLX", "affine", AFFINE, 6, 64, "32 64 128"), 0, TARE_ENCODING_UNKNOWN,
     NULL, MLX_PARTS},
    {MLX("mlx8", "8 bits, for MLX", "affine", AFFINE, 8, 64, "32 64 128"), 0, TARE_ENCODING_UNKNOWN,
     NULL, MLX_PARTS},
    {MLX("mlx_mxfp4", "FP4 with an exponent for 32, for MLX", "mxfp4", E2M1, 4, 32, "32"), 0,
     TARE_ENCODING_F8_E8M0, NULL, MLX_FLOAT_PARTS},
    {MLX("mlx_mxfp8", "FP8 with an exponent for 32, for MLX", "mxfp8", E4M3, 8, 32, "32"), 0,
     TARE_ENCODING_F8_E8M0, NULL, MLX_FLOAT_PARTS},
    {MLX("mlx_nvfp4", "FP4 with an FP8 scale for 16, for MLX", "nvfp4", E2M1, 4, 16, "16"), 0,
     TARE_ENCODING_F8_E4M3, NULL, MLX_FLOAT_PARTS},
    {"comfy_fp8",
     "FP8, a scale for all, for ComfyUI",
     TARE_WRITER_COMFY,
     "float8_e4m3fn",
     TARE_GROUP_E4M3,
     8,
     0,
     "",
     0,
     TARE_ENCODING_F32,
     NULL,
     {PART(".weight", CODES, F8_E4M3), PART(".weight_scale", MULTIPLIER, F32),
      PART(".comfy_quant", NOTE, U8)}},
    {0},
};

bool tare_writer_has(const tare_writer *w, tare_written_kind kind) {
    for (size_t i = 0; i < TARE_WRITTEN_PARTS && w->parts[i].suffix; i++)
        if (w->parts[i].kind == kind) return true;
    return false;
}

bool tare_writer_has_factor(const tare_writer *w) {
    return tare_writer_has(w, TARE_WRITTEN_FACTOR) || tare_writer_has(w, TARE_WRITTEN_MULTIPLIER);
}

bool tare_writer_has_one_scale(const tare_writer *w) {
    return !tare_writer_has(w, TARE_WRITTEN_SCALES);
}

bool tare_writer_is_for_servers(const tare_writer *w) {
    return w->family != TARE_WRITER_MLX && w->family != TARE_WRITER_COMFY;
}

size_t tare_writer_note(char *out, size_t size, const tare_writer *w) {
    return (size_t)snprintf(out, size, "{\"format\": \"%s\"}", w->format);
}

/* ---- names ------------------------------------------------------------------------------------- */

/* The text up to the next colon, if there is one; what is left begins after it. */
static tare_str next_word(tare_str *rest, bool *has_colon) {
    size_t n = 0;
    while (n < rest->len && rest->ptr[n] != ':') n++;
    const tare_str word = {rest->ptr, n};
    rest->ptr += n;
    rest->len -= n;
    *has_colon = rest->len > 0;
    if (*has_colon) rest->ptr++, rest->len--;
    return word;
}

static bool has_word(const char *list, tare_str word) {
    for (const char *at = list; *at; at += strspn(at, " ")) {
        const size_t n = strcspn(at, " ");
        if (tare_str_equal((tare_str){at, n}, word)) return true;
        at += n;
    }
    return false;
}

static bool read_group(uint32_t *out, const tare_writer *w, tare_str word) {
    if (!has_word(w->groups, word)) return false;
    *out = 0;
    for (size_t i = 0; !tare_str_is(word, "channel") && i < word.len; i++)
        *out = *out * 10 + (uint32_t)(word.ptr[i] - '0');
    return true;
}

static const tare_writer *find(tare_str name) {
    for (const tare_writer *w = tare_writers; w->name; w++)
        if (name.len == strlen(w->name) && tare_same_letters(name.ptr, w->name, name.len)) return w;
    return NULL;
}

tare_status tare_scheme_read(tare_scheme_choice *out, const char *text, tare_error *err) {
    tare_str rest = tare_str_of(text);
    bool has_colon;
    const tare_writer *w = find(next_word(&rest, &has_colon));
    *out = (tare_scheme_choice){.writer = w};
    if (!w) return tare_fail(err, TARE_ERR_ARG, "scheme: there is none of that name");
    out->group = w->group;
    bool has_group = false;
    for (bool is_last = !has_colon; !is_last;) {
        const tare_str word = next_word(&rest, &has_colon);
        const bool is_group = word.len > 1 && word.ptr[0] == 'g';
        const tare_str size = {word.ptr + is_group, word.len - is_group};
        is_last = !has_colon;
        if (tare_str_is(word, "rtn") && !out->is_plain && w->bits)
            out->is_plain = true;
        else if (!has_group && is_group != tare_str_is(word, "channel") &&
                 read_group(&out->group, w, size))
            has_group = true;
        else
            return tare_fail(err, TARE_ERR_ARG,
                             "scheme: its name may be followed by :rtn and by a group size that it "
                             "has (:g32, :g64, :g128 or :channel), each once");
    }
    return TARE_OK;
}

bool tare_scheme_is_named(const char *text) {
    tare_str rest = tare_str_of(text);
    bool has_colon;
    return find(next_word(&rest, &has_colon)) != NULL;
}

const char *tare_scheme_format(const char *text) {
    tare_str rest = tare_str_of(text);
    bool has_colon;
    const tare_writer *w = find(next_word(&rest, &has_colon));
    return !w ? NULL : w->family == TARE_WRITER_COMFY ? "safetensors" : "hf";
}

bool tare_scheme_at(tare_scheme_info *out, size_t i) {
    if (i >= sizeof tare_writers / sizeof *tare_writers - 1) return false;
    if (tare_result_check(out, NULL) != TARE_OK) return false;
    const tare_scheme_info info = {.name = tare_writers[i].name,
                                   .description = tare_writers[i].description};
    tare_result_write(out, &info, sizeof info);
    return true;
}
