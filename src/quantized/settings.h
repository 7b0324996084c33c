/* SPDX-License-Identifier: MIT
 *
 * What the side files and metadata of a model say of its packed weights: only what shapes do not
 * tell. */
#ifndef TARE_QUANTIZED_SETTINGS_H
#define TARE_QUANTIZED_SETTINGS_H

#include "model/json_resource.h"

/* Why weights of a scheme cannot be decoded, and what to do then. */
#define TARE_FROM_ORIGINAL       "; convert the model that it was made from"
#define TARE_NOT_DECODED(scheme) scheme ": its codes are not decoded" TARE_FROM_ORIGINAL
#define TARE_IN_KERNEL_ORDER(scheme)                                                               \
    scheme ": its codes are in the order of a kernel" TARE_FROM_ORIGINAL
#define TARE_IS_ROTATED(scheme) scheme ": its weights are rotated (transform)" TARE_FROM_ORIGINAL
#define TARE_HAS_LOW_RANK(scheme)                                                                  \
    scheme ": a low-rank part is added to its weights" TARE_FROM_ORIGINAL
#define TARE_IS_SVDQUANT(scheme)                                                                   \
    scheme ": its weights are rotated, with a low-rank part (svdquant)" TARE_FROM_ORIGINAL
#define TARE_IS_MARLIN_24      "marlin-24: sparse codes in the order of a kernel are not decoded"
#define TARE_IS_SPARSE(scheme) scheme ": sparse weights are not decoded"

typedef struct tare_weight_settings {
    const tare_json_node *root;    /* config.json; NULL: none */
    const tare_json_node *config;  /* quantization_config, wherever it stands; NULL: none */
    const tare_json_node *modules; /* MLX's, by module; NULL: none */
    const tare_json_node *layers;  /* ComfyUI's, by module; NULL: none */
    tare_str method;               /* quant_method */
    const char *refusal;           /* why no weight of the model can be decoded; NULL: they can */
} tare_weight_settings;

/* A file that is no JSON says nothing: it is reported where it matters. */
tare_status tare_weight_settings_read(tare_weight_settings *out, const tare_model *m,
                                      tare_arena *arena, tare_error *err);
/* A number of the settings, by path; `otherwise` where there is none. */
uint64_t tare_weight_setting(const tare_weight_settings *s, const char *path, uint64_t otherwise);
/* The columns that share a scale, as the settings say; 0: they do not, UINT64_MAX: all of a row (-1). */
uint64_t tare_weight_stated_group(const tare_weight_settings *s);
/* Whether a text of the settings is this one. */
bool tare_weight_setting_is(const tare_weight_settings *s, const char *path, const char *text);
/* Whether it is true. */
bool tare_weight_setting_holds(const tare_weight_settings *s, const char *path);
/* The next group of compressed-tensors after `at`, NULL: the first one; its "weights". */
const tare_json_node *tare_weight_group(const tare_weight_settings *s, const tare_json_node **at);
/* What MLX's settings say of a module, else of all. */
uint64_t tare_weight_mlx_setting(const tare_weight_settings *s, tare_str module, const char *name);
/* What ComfyUI's metadata say of a module: an object or a text; NULL: nothing. */
const tare_json_node *tare_weight_comfy_layer(const tare_weight_settings *s, tare_str module);

#endif
