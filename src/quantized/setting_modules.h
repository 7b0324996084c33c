/* SPDX-License-Identifier: MIT
 *
 * What settings say of some modules of a model, digested once: weights are many, and so may be the
 * modules that are named. */
#ifndef TARE_QUANTIZED_SETTING_MODULES_H
#define TARE_QUANTIZED_SETTING_MODULES_H

#include <tare/experimental/pattern.h>

#include "quantized/settings.h"

#define TARE_SETTING_GROUPS 64 /* that differ; published models have a handful */

/* A group of compressed-tensors' settings, as far as it tells how codes are read. */
typedef struct tare_weight_group {
    uint64_t bits; /* of a code, if has_bits */
    uint64_t block[2];
    uint64_t group; /* columns that share a scale; 0: it does not say */
    bool has_bits, has_block, has_zeros, is_ordered;
} tare_weight_group;

/* What a group is for. */
typedef struct tare_weight_target {
    tare_str module;       /* or a class of modules */
    tare_pattern *pattern; /* NULL: that module or class */
    const void *of;        /* the group, or the settings; NULL: several, which differ */
} tare_weight_target;

typedef struct tare_weight_targets {
    tare_weight_target *list;
    size_t n;
} tare_weight_targets;

typedef struct tare_weight_modules {
    tare_weight_group groups[TARE_SETTING_GROUPS]; /* each once */
    size_t n_groups;
    tare_weight_targets names;    /* of groups, by name, each once */
    tare_weight_targets patterns; /* of groups */
    tare_weight_target classes; /* of all groups whose targets are classes; module empty: of none */
    tare_weight_targets gemma;  /* of the objects of module_quant_configs, in their order */
    /* columns that share a scale (AutoRound's extra_config, GPTQModel's dynamic), each number once */
    uint64_t sizes[TARE_SETTING_GROUPS];
    size_t n_sizes;
    bool is_mx_int, is_mixed; /* codes are whole numbers of quarters; those of some modules are */
} tare_weight_modules;

/* Faults are noted in the settings. */
tare_status tare_weight_modules_read(tare_weight_modules *out, const tare_weight_settings *s,
                                     tare_model *m, tare_arena *arena, tare_error *err);
void tare_weight_modules_free(tare_weight_modules *modules);
/* The group whose targets name the module of a weight; NULL: none does, or several that differ. `stem` is
 * what the names of the weight's parts begin with: the module's name, or that of its weight. */
tare_status tare_weight_group_of(const tare_weight_group **out, const tare_weight_modules *modules,
                                 tare_str stem, tare_error *err);
/* The first of Gemma's objects whose pattern matches a module; NULL: none does. */
tare_status tare_weight_gemma_of(const tare_json_node **out, const tare_weight_modules *modules,
                                 tare_str module, tare_error *err);

#endif
