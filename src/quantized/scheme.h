/* SPDX-License-Identifier: MIT
 *
 * The schemes: how the parts of a packed weight are named, and a function that takes them as one if
 * they fit each other. */
#ifndef TARE_QUANTIZED_SCHEME_H
#define TARE_QUANTIZED_SCHEME_H

#include "quantized/setting_modules.h"
#include "quantized/weight.h"

#define TARE_SCHEME_PARTS 24

/* A tensor of a scheme, by what its name ends in after the stem that all share. */
typedef struct tare_scheme_part {
    const char *suffix;
    const char *label; /* what the tensor is called where parts are shown */
    tare_part_kind kind;
    bool is_required;
} tare_scheme_part;

/* Codes by the words of their names (scale_names.c). */
typedef struct tare_codes_key {
    uint64_t key;
    int64_t tensor;
} tare_codes_key;

/* Weights while they are looked for. */
typedef struct tare_weight_search {
    tare_model *m; /* as it is stored */
    tare_weight_settings settings;
    tare_weight_modules modules;
    tare_arena *arena;
    tare_weight *weights;
    size_t n_weights, capacity;
    int64_t *weight_of; /* of each tensor, the weight that it is a part of; -1: of none */
    bool *is_dropped;   /* tensors that say nothing once all weights are decoded */
    bool has_marker;    /* one of ComfyUI's: some scales are dummies */
    int64_t *new_number;
    tare_codes_key *keys; /* NULL: not yet asked for */
    size_t n_keys;
    tare_hash_key hash;
    bool is_for_llama; /* MXFP4 stays blocks, and experts lie as llama.cpp has them */
    bool keeps_wholes; /* blocks for whole numbers, too, where they hold the same ones */
} tare_weight_search;

/* Makes a weight of tensors whose names fit: sets its shape and how it is read. OK with n_dims 0: it
 * is of another scheme. CORRUPT: the parts do not fit each other; UNSUPPORTED: it is known that they
 * cannot be decoded; *err says why and names the tensor. */
typedef tare_status (*tare_scheme_fits)(tare_weight *w, tare_weight_search *s, tare_error *err);

typedef struct tare_scheme {
    const char *name;
    const char *weight;                        /* what the weight's name ends in, after the stem */
    tare_scheme_part parts[TARE_SCHEME_PARTS]; /* codes, scales, then the others */
    tare_scheme_fits fits;
} tare_scheme;

extern const tare_scheme tare_schemes[]; /* the first that fits counts; name NULL ends */

/* Schemes that are known by their names only. */
typedef struct tare_named_scheme {
    const char *suffix, *beside; /* two tensors of one stem; the second may be NULL */
    const char *why;
    bool
        is_common; /* the name of other things, too, in models without settings of packing; said of the
                       whole model */
} tare_named_scheme;

extern const tare_named_scheme tare_named_schemes[]; /* suffix NULL ends */

/* ---- for functions that fit -------------------------------------------------------------------- */

const tare_tensor *tare_weight_part(const tare_weight *w, const tare_weight_search *s,
                                    tare_part_kind kind); /* NULL: none */
bool tare_weight_part_is(const tare_weight *w, const tare_weight_search *s, tare_part_kind kind,
                         tare_encoding_id id);
/* The tensor named stem + suffix, -1 if there is none. */
int64_t tare_weight_find(const tare_weight_search *s, tare_str stem, const char *suffix);
/* CORRUPT, with the name of a part. */
tare_status tare_weight_misfit(const tare_weight *w, const tare_weight_search *s,
                               tare_part_kind kind, tare_error *err);
/* UNSUPPORTED, with the name of the codes. */
tare_status tare_weight_refuse(const tare_weight *w, const tare_weight_search *s, const char *why,
                               tare_error *err);
/* UNSUPPORTED, where the settings say that its codes have zero points, and there are none. */
tare_status tare_weight_check_zeros(const tare_weight *w, const tare_weight_search *s,
                                    tare_error *err);
/* What ComfyUI says of a weight: the value of "format", and whether its numbers are rotated. False:
 * nothing. */
typedef struct tare_comfy_note {
    tare_str format;
    bool is_rotated;
} tare_comfy_note;

tare_status tare_weight_comfy(tare_comfy_note *out, const tare_weight_search *s, tare_str module,
                              tare_error *err);
/* Why weights of a format of ComfyUI are not decoded; NULL: they are. */
const char *tare_comfy_obstacle(const tare_comfy_note *note);

/* What torchao says of a weight: the class of the tensor, and whether scales lie in tiles. Empty:
 * nothing. Why weights of a class are not decoded; NULL: they are. */
typedef struct tare_torchao_note {
    tare_str type;
    bool is_tiled;
} tare_torchao_note;

tare_status tare_weight_torchao(tare_torchao_note *out, const tare_weight_search *s, tare_str stem,
                                tare_error *err);
tare_status tare_torchao_obstacle(const char **out, const tare_torchao_note *note,
                                  const tare_weight_search *s, tare_error *err);

/* A weight's name, where it is not the one that the table says. */
tare_status tare_weight_rename(tare_weight *w, const tare_weight_search *s, tare_str stem,
                               const char *suffix, tare_error *err);
/* Keeps a weight that was found. */
tare_status tare_weight_add(tare_weight_search *s, const tare_weight *w, tare_error *err);
/* Another weight of the same parts. */
tare_status tare_weight_add_second(tare_weight_search *s, tare_weight *w, tare_error *err);
/* Bits of a code of Gemma's, as the settings say; 0: they do not. */
tare_status tare_weight_gemma_bits(uint64_t *out, const tare_weight_search *s, const tare_weight *w,
                                   tare_error *err);

#define TARE_SCHEME_FITS(name)                                                                     \
    tare_status tare_fits_##name(tare_weight *w, tare_weight_search *s, tare_error *err)

TARE_SCHEME_FITS(gptq);
TARE_SCHEME_FITS(awq);
TARE_SCHEME_FITS(packed);
TARE_SCHEME_FITS(quark);
TARE_SCHEME_FITS(scaled_bytes);
TARE_SCHEME_FITS(lite);
TARE_SCHEME_FITS(two_rows);
TARE_SCHEME_FITS(ternary);
TARE_SCHEME_FITS(gemma);
TARE_SCHEME_FITS(flat4);
TARE_SCHEME_FITS(flat8);
TARE_SCHEME_FITS(torchao4);
TARE_SCHEME_FITS(comfy4);
TARE_SCHEME_FITS(hqq);
TARE_SCHEME_FITS(quanto4);
TARE_SCHEME_FITS(mlx);
TARE_SCHEME_FITS(mlx_float);
TARE_SCHEME_FITS(fp8);
TARE_SCHEME_FITS(nvfp4);
TARE_SCHEME_FITS(nvfp4_blocks);
TARE_SCHEME_FITS(nvfp4_experts);
TARE_SCHEME_FITS(microscale);
TARE_SCHEME_FITS(gpt_oss);

#endif
