/* SPDX-License-Identifier: MIT
 *
 * What PEFT's files of a LoRA adapter say: tensor names, and settings that forbid to take the
 * factors for what they are. */
#ifndef TARE_MODEL_PEFT_H
#define TARE_MODEL_PEFT_H

#include <tare/experimental/pattern.h>

#include "base/json.h"
#include "model/catalog.h"

#define TARE_PEFT_CONFIG  "adapter_config.json"
#define TARE_PEFT_WEIGHTS "adapter_model.safetensors"
#define TARE_PEFT_PICKLE  "adapter_model.bin"
#define TARE_MLX_WEIGHTS  "adapters.safetensors" /* with a configuration of the same name */
/* Of a directory with a configuration. */
#define TARE_PEFT_NO_WEIGHTS "a PEFT adapter without " TARE_PEFT_WEIGHTS " or " TARE_PEFT_PICKLE

/* Why factors are left out. */
#define TARE_PEFT_NO_TARGET                                                                        \
    "by its configuration PEFT gives its module no factors: target_modules, exclude_modules, "     \
    "modules_to_save, layers_to_transform"
/* The end of the name of a bias of the base whose module has factors. */
#define TARE_PEFT_BASE_BIAS ".base_layer.bias"

/* What a tensor of an adapter is. */
typedef enum tare_peft_part {
    TARE_PEFT_RIGHT,     /* lora_A */
    TARE_PEFT_LEFT,      /* lora_B */
    TARE_PEFT_MAGNITUDE, /* DoRA's lengths of rows */
    TARE_PEFT_BIAS,      /* of lora_B */
    TARE_PEFT_BASE,      /* the base's own weight, saved beside the factors */
    TARE_PEFT_WHOLE,     /* a tensor that takes the place of the base's */
} tare_peft_part;

/* What a tensor's name encodes. */
typedef struct tare_peft_name {
    tare_str module; /* BASE, WHOLE: the tensor's name in the base */
    tare_peft_part part;
    bool is_embedding;
} tare_peft_name;

void tare_peft_name_parse(tare_peft_name *out, tare_str name);
static inline bool tare_peft_is_factor(const tare_peft_name *name) {
    return name->part == TARE_PEFT_RIGHT || name->part == TARE_PEFT_LEFT;
}
/* Whether a weight is a Conv1D's, which lies turned: PEFT goes by the base's module, whatever
 * fan_in_fan_out says, which is of the module that came last. `stated` counts where the model does not
 * say what it is. */
bool tare_peft_is_conv1d(const tare_model *base, tare_str weight, bool stated);
/* Whether a model's tensors have PEFT's names. */
bool tare_model_is_peft(const tare_model *m);

/* Numbers of the modules that expressions match. */
typedef struct tare_peft_pattern {
    tare_pattern *expression; /* NULL: the name */
    tare_str name;            /* nothing in it is special but '.', which is any character */
    double value;
} tare_peft_pattern;

typedef struct tare_peft_patterns {
    tare_peft_pattern *list;
    size_t n, capacity;
} tare_peft_patterns;

/* A parameter that has factors of its own, beside its module's: "mlp.experts.gate_up_proj". */
typedef struct tare_peft_parameter {
    tare_str name;
    const struct tare_peft_parameter *next;
} tare_peft_parameter;

/* Names of modules, or ends of them behind a dot; or an expression of all of a name. */
typedef struct tare_peft_names {
    bool is_stated;           /* also where it is empty */
    tare_pattern *expression; /* NULL: the list */
    tare_str *list;
    size_t n;
    tare_name_index index;
} tare_peft_names;

/* Which modules PEFT gives factors to. */
typedef struct tare_peft_targets {
    tare_peft_names named, excluded; /* target_modules, exclude_modules */
    bool is_tied; /* ensure_weight_tying: a head has the embeddings' factors, and is not named */
    bool is_all_linear;       /* "all-linear" in the place of target_modules */
    tare_peft_names whole;    /* modules_to_save: trained and saved whole */
    tare_peft_names lists;    /* layers_pattern: before the number of a layer */
    uint64_t *layers;         /* layers_to_transform, in order */
    size_t n_layers;          /* 0: all layers */
    size_t n_named, n_others; /* factors seen of modules that target_modules has, and has not */
    bool is_stale;            /* it has none of them: all are taken */
} tare_peft_targets;

/* Takes a member of adapter_config.json that is about this; *is_one false: it is not. Texts are taken
 * from the arena. */
bool tare_peft_targets_read(bool *is_one, tare_peft_targets *t, tare_json *j,
                            const tare_json_value *key, const tare_json_value *v, tare_arena *arena,
                            const tare_allocator *allocator);
/* Why PEFT does not take them together; NULL: it does. */
const char *tare_peft_targets_fault(const tare_peft_targets *t);
void tare_peft_targets_free(tare_peft_targets *t);
/* To be told each factor's module, then that these are all: target_modules that is of none of them was
 * not kept up, and all are taken. */
tare_status tare_peft_targets_see(tare_peft_targets *t, tare_str module, bool is_embedding,
                                  tare_error *err);
void tare_peft_targets_settle(tare_peft_targets *t, bool has_parameters);
/* Whether PEFT gives a module factors; those of others in a file it leaves out. */
tare_status tare_peft_is_target(bool *out, const tare_peft_targets *t, tare_str module,
                                bool is_embedding, tare_error *err);

/* What of an adapter PEFT would not load. */
typedef struct tare_peft_left {
    size_t n;       /* pairs that are left out */
    tare_str first; /* the module of the first */
    bool is_stale;  /* see tare_peft_targets */
} tare_peft_left;

tare_finding tare_peft_loss(const tare_peft_left *left); /* code NULL: there is nothing */
void tare_peft_tell(const tare_peft_left *left, size_t n_taken, const char *path,
                    tare_report *report);
/* An expression that is `before`, the text and ")$"; NULL: a failure is latched. */
tare_pattern *tare_peft_pattern_new(tare_json *j, const tare_json_value *text, const char *before,
                                    tare_arena *arena, const tare_allocator *allocator);

/* adapter_config.json. */
typedef struct tare_peft_config {
    const tare_allocator *allocator;
    uint64_t *work; /* of matching, for all modules */
    double rank, alpha;
    bool is_rslora, is_transposed; /* fan_in_fan_out */
    bool is_dora, has_biases;      /* lora_bias */
    bool has_base_biases; /* bias: those of the base are trained, and saved beside the factors */
    tare_peft_targets targets;
    tare_peft_patterns ranks, alphas;
    const tare_peft_parameter *parameters; /* target_parameters; NULL: none */
} tare_peft_config;

/* Reads adapter_config.json; its texts are taken from the arena. UNSUPPORTED: a setting that changes
 * the meaning of the tensors in a way that is not known here. *out is to be freed even then. */
tare_status tare_peft_config_read(tare_peft_config *out, tare_str text, tare_arena *arena,
                                  const tare_allocator *allocator, tare_error *err);
void tare_peft_config_free(tare_peft_config *config);
/* What the configuration says of a module: PEFT takes the first expression that matches. */
tare_status tare_peft_numbers(double *rank, double *alpha, const tare_peft_config *config,
                              tare_str module, tare_error *err);
/* What a product of factors of this rank and alpha is multiplied by. */
double tare_peft_scale(const tare_peft_config *config, double rank, double alpha);

#endif
