/* SPDX-License-Identifier: MIT
 *
 * The types that a mix gives the tensors of a model: the table of mixes (mix_table.c), what its
 * rules ask about a model (mix_model.c), the rules (mix_rules.c), the choice (mix_choose.c). */
#ifndef TARE_OPS_MIX_MIX_H
#define TARE_OPS_MIX_MIX_H

#include <tare/convert.h>
#include <tare/encoding.h>
#include <tare/model.h>

#include "model/catalog.h"
#include "ops/mix/roles.h"

/* The number of a mix in the table. The order is that of mix_table.c. */
typedef enum tare_mix_id {
    TARE_MIX_F32 = 0,
    TARE_MIX_F16,
    TARE_MIX_Q4_0,
    TARE_MIX_Q4_1,
    TARE_MIX_Q8_0,
    TARE_MIX_Q5_0,
    TARE_MIX_Q5_1,
    TARE_MIX_Q2_K,
    TARE_MIX_Q3_K_S,
    TARE_MIX_Q3_K_M,
    TARE_MIX_Q3_K_L,
    TARE_MIX_Q4_K_S,
    TARE_MIX_Q4_K_M,
    TARE_MIX_Q5_K_S,
    TARE_MIX_Q5_K_M,
    TARE_MIX_Q6_K,
    TARE_MIX_IQ2_XXS,
    TARE_MIX_IQ2_XS,
    TARE_MIX_Q2_K_S,
    TARE_MIX_IQ3_XS,
    TARE_MIX_IQ3_XXS,
    TARE_MIX_IQ1_S,
    TARE_MIX_IQ4_NL,
    TARE_MIX_IQ3_S,
    TARE_MIX_IQ3_M,
    TARE_MIX_IQ2_S,
    TARE_MIX_IQ2_M,
    TARE_MIX_IQ4_XS,
    TARE_MIX_IQ1_M,
    TARE_MIX_BF16,
    TARE_MIX_TQ1_0,
    TARE_MIX_TQ2_0,
    TARE_MIX_MXFP4_MOE,
    TARE_MIX_NVFP4,
    TARE_MIX_Q1_0,
    TARE_MIX_Q2_0,
    TARE_MIX_COPY,
    TARE_MIX_COUNT
} tare_mix_id;

static inline tare_mix_id tare_mix_id_of(const tare_mix *mix) {
    return (tare_mix_id)(mix - tare_mix_at(0));
}

/* The mix of a general.file_type; NULL: there is none. */
const tare_mix *tare_mix_of_file_type(uint64_t file_type);
/* The mix that means "mostly this type", the one that deviates least from it if there are several;
 * NULL: none. */
const tare_mix *tare_mix_mostly(const tare_encoding *type);

/* ---- the model ------------------------------------------------------------------------------- */

/* What a rule looks at, in place of a role: the parts of a model whose types llama.cpp's mixes tell
 * apart. OTHER: any matrix. */
typedef enum tare_mix_part {
    TARE_PART_OTHER = 0,
    TARE_PART_EMBEDDING,
    TARE_PART_OUTPUT,
    TARE_PART_ATTN_Q,
    TARE_PART_ATTN_K,
    TARE_PART_ATTN_V, /* and matrices that hold it beside others */
    TARE_PART_ATTN_OUTPUT,
    TARE_PART_FFN_UP,
    TARE_PART_FFN_GATE,
    TARE_PART_FFN_DOWN,
    TARE_PART_COUNT
} tare_mix_part;

typedef struct tare_mix_tensor {
    tare_mix_part part;
    bool is_open;  /* may be quantized at all */
    bool is_stack; /* all experts of a layer, or one of many in a tensor of its own */
    bool is_tower; /* stays as it is, but for a rule of the user */
    int32_t layer; /* as its name says; -1: none */
} tare_mix_tensor;

typedef struct tare_mix_model {
    tare_mix_tensor *tensors;            /* one for each of the model */
    size_t *order;                       /* in which the rules count: by layer, then by name */
    bool has_roles;                      /* false: no name was known */
    bool is_falcon, is_70b;              /* llama.cpp's exceptions */
    bool has_output;                     /* else the token embeddings are the output matrix, too */
    uint64_t n_experts, n_gqa, n_layers; /* n_gqa: query heads for each key and value head */
    uint64_t n_attn_v;                   /* matrices that hold attention values */
} tare_mix_model;

/* Collects the facts that the rules depend on; allocated in the arena. `by_file`: count in the
 * order in which the tensors are in the files, as when shards are kept. */
tare_status tare_mix_look(tare_mix_model *out, const tare_model *in, bool by_file,
                          tare_arena *arena, tare_error *err);

/* Whether a tensor of token embeddings is the output matrix, too: in models without one, unless they
 * only encode. */
bool tare_mix_is_tied(const tare_mix_model *model, const tare_model *in, size_t tensor);

/* ---- the rules ------------------------------------------------------------------------------- */

/* Facts about a tensor and its model, as bits: a rule holds where all of its bits do. */
typedef enum tare_mix_fact {
    TARE_FACT_GQA4 = 1 << 0,     /* four or more query heads for a key and value head */
    TARE_FACT_EXPERTS4 = 1 << 1, /* four or more experts */
    TARE_FACT_EXPERTS8 = 1 << 2, /* eight of them */
    TARE_FACT_NOT_EXPERTS8 = 1 << 3,
    TARE_FACT_FALCON = 1 << 4,
    TARE_FACT_NOT_FALCON = 1 << 5,
    TARE_FACT_IMPORTANCE = 1 << 6,
    TARE_FACT_NO_IMPORTANCE = 1 << 7,
    TARE_FACT_STACK = 1 << 8,    /* experts */
    TARE_FACT_UNEVEN = 1 << 9,   /* rows are not a whole number of blocks of the mix's type */
    TARE_FACT_FIRST_2 = 1 << 10, /* of the parts of its kind */
    TARE_FACT_FIRST_4 = 1 << 11,
    TARE_FACT_FIRST_8TH = 1 << 12, /* of the layers */
    TARE_FACT_FIRST_16TH = 1 << 13,
    TARE_FACT_MIDDLE = 1 << 14,      /* neither in the first nor in the last eighth of the layers */
    TARE_FACT_MORE_BITS = 1 << 15,   /* the first and last eighth, and every third between */
    TARE_FACT_COUNTED_8TH = 1 << 16, /* FIRST_8TH by counting, whatever the layers' names say */
    TARE_FACT_70B = 1 << 17,         /* of 70 billion parameters, by its layers */
} tare_mix_fact;

/* The type that the rules give a part of a model with such facts. */
tare_encoding_id tare_mix_rule(tare_mix_id mix, tare_mix_part part, unsigned facts);

/* Whether llama.cpp refuses a type for such a part without an importance matrix. */
bool tare_mix_needs_importance(tare_mix_id mix, tare_mix_part part, const tare_encoding *type);

/* ---- the choice ------------------------------------------------------------------------------ */

typedef struct tare_mix_request {
    const tare_mix_options *options;
    const tare_encoding *const *manual; /* for each tensor: a type that a rule asks for, or NULL */
    const bool *stays; /* of each tensor: only such a rule changes it; NULL: none */
    bool has_importance;
    bool by_file;
} tare_mix_request;

typedef struct tare_mix_choice {
    const tare_encoding *type;   /* NULL: it stays as it is */
    const tare_encoding *wanted; /* what its rows are no whole blocks of; NULL: no fallback */
    bool is_open;                /* a mix may touch it: rules for types hold */
    bool needs_importance;       /* llama.cpp refuses such a type without an importance matrix */
} tare_mix_choice;

/* Chooses for every tensor of the model: out[n_tensors]. *has_roles false: none has a name that is
 * known, so all got the type of the mix. */
tare_status tare_mix_choose(tare_mix_choice *out, bool *has_roles, const tare_model *in,
                            const tare_mix_request *request, tare_arena *arena, tare_error *err);

#endif
