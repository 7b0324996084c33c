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

#define TARE_SETTING_FAULT 240 /* bytes of its text */

typedef struct tare_weight_settings {
    const tare_json_node *root;          /* config.json; NULL: none */
    const tare_json_node *config;        /* quantization_config, wherever it stands; NULL: none */
    const tare_json_node *modules;       /* MLX's, by module; NULL: none */
    const tare_json_node *layers;        /* ComfyUI's, by module; NULL: none */
    struct tare_layer_name *layer_names; /* their names, and what these end in, in order */
    size_t n_layer_names;
    const tare_json_node
        *beside;       /* of GPTQ: quantize_config.json, which may say more; NULL: none */
    tare_str method;   /* quant_method */
    const char *place; /* of config: file and member */
    char *
        fault; /* of those that were asked for, the first that is not what it must be; empty: none */
    const char *refusal; /* why no weight of the model can be decoded; NULL: they can */
} tare_weight_settings;

/* A file that is no JSON, and settings of the wrong kind, are a fault. */
tare_status tare_weight_settings_read(tare_weight_settings *out, tare_model *m, tare_arena *arena,
                                      tare_error *err);
/* The text of the fault, which the model keeps. */
tare_status tare_weight_settings_fault(const char **out, const tare_weight_settings *s,
                                       tare_model *m, tare_error *err);
/* Notes a fault. */
void tare_weight_setting_wrong(const tare_weight_settings *s, const char *path,
                               const char *expected);

typedef enum tare_setting_kind {
    TARE_SETTING_TEXT,
    TARE_SETTING_WHOLE,
    TARE_SETTING_TRUTH,
    TARE_SETTING_OBJECT,
    TARE_SETTING_LIST
} tare_setting_kind;

/* A setting by path, or a member of one; NULL: there is none, or, which is a fault, it is of another
 * kind. */
const tare_json_node *tare_weight_setting_at(const tare_weight_settings *s, const char *path,
                                             tare_setting_kind kind);
const tare_json_node *tare_weight_setting_of(const tare_weight_settings *s,
                                             const tare_json_node *object, const char *name,
                                             tare_setting_kind kind);
/* A number of the settings, by path; `otherwise` where there is none. */
uint64_t tare_weight_setting(const tare_weight_settings *s, const char *path, uint64_t otherwise);
/* The columns that share a scale, as the settings say; 0: they do not, UINT64_MAX: all of a row (-1). */
uint64_t tare_weight_stated_group(const tare_weight_settings *s);
/* Whether a text of the settings is this one. */
bool tare_weight_setting_is(const tare_weight_settings *s, const char *path, const char *text);
/* Which of the words a text is; their number: there is none. Any other word is a fault. */
size_t tare_weight_word(const tare_weight_settings *s, const char *path, tare_str text,
                        const char *const *words);
size_t tare_weight_setting_word(const tare_weight_settings *s, const char *path,
                                const char *const *words);
/* Whether quant_method is one of these, or none that tare knows: then the form of tensors counts. */
bool tare_weight_is_of(const tare_weight_settings *s, const char *const *own);
/* Looks at the words that decide what codes stand for: any that tare does not know is a fault. Because
 * of one no weight is decoded. */
tare_status tare_weight_settings_check(tare_weight_settings *s, tare_model *m, tare_error *err);
/* Whether the groups of a weight with these settings of compressed-tensors are of columns in another order. */
bool tare_weight_is_ordered(const tare_weight_settings *s, const tare_json_node *weights);
/* Two numbers, a member of an object, as a list or, as compressed-tensors takes them, too, a text:
 * "128x128". */
bool tare_weight_setting_pair(uint64_t out[2], const tare_weight_settings *s,
                              const tare_json_node *parent, const char *name);
/* Whether it is true. */
bool tare_weight_setting_holds(const tare_weight_settings *s, const char *path);
/* The next group of compressed-tensors after `at`, NULL: the first one; its "weights". */
const tare_json_node *tare_weight_group_next(const tare_weight_settings *s,
                                             const tare_json_node **at);
/* What MLX's settings say of a module, else of all. */
uint64_t tare_weight_mlx_setting(const tare_weight_settings *s, tare_str module, const char *name);
/* Whether they say that it is packed in this way, or nothing; else it is a fault. */
bool tare_weight_is_mlx_mode(const tare_weight_settings *s, tare_str module, const char *mode);
/* What ComfyUI's metadata say of a module: an object or a text; NULL: nothing. */
tare_status tare_weight_layers_index(tare_weight_settings *s, tare_arena *arena, tare_error *err);
const tare_json_node *tare_weight_comfy_layer(const tare_weight_settings *s, tare_str module);

#endif
