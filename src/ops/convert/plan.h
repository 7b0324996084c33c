/* SPDX-License-Identifier: MIT
 *
 * The plan of a conversion: what becomes of each tensor, the catalog that the target format lays
 * out, and the layout. Made once (plan.c, plan_tensors.c, plan_metadata.c), run by convert.c. */
#ifndef TARE_OPS_CONVERT_PLAN_H
#define TARE_OPS_CONVERT_PLAN_H

#include <tare/convert.h>
#include <tare/encoding.h>
#include <tare/experimental/containers.h>
#include <tare/model.h>
#include <tare/output.h>

#include "encoding/outliers.h"
#include "format/format.h"
#include "model/write_plan.h"
#include "ops/convert/merge.h"
#include "ops/mix/mix.h"
#include "ops/strict.h"

/* The outliers of a tensor that is encoded, found before: how many each chunk has. */
typedef struct tare_planned_outliers {
    tare_outlier_rule rule;
    uint64_t *records; /* n_chunks + 1: before each chunk, and of all */
    uint64_t *equal;   /* n_chunks + 1: the same of magnitudes that are the rule's own */
} tare_planned_outliers;

/* What becomes of one tensor. The plan's catalog has it as it will be stored; `becomes` is what it
 * means, with a different name, shape or encoding if it is carried under a stand-in. */
typedef struct tare_planned {
    const tare_model *from; /* the input, or the model of an adapter's factors */
    size_t source;          /* index among its tensors */
    tare_tensor_action action;
    bool is_carried; /* stored under a stand-in: goes on record */
    uint32_t file;   /* of the output */
    const tare_tensor *becomes;
    const float *importance;               /* a row for each slice; NULL: none */
    bool floors_importance;                /* where it has none */
    const tare_planned_outliers *outliers; /* NULL: none */
} tare_planned;

/* Whether the bytes of a tensor are computed, rather than taken from the input. */
static inline bool tare_planned_is_made(const tare_planned *t) {
    return t->action != TARE_ACTION_COPY && t->action != TARE_ACTION_STAND_IN;
}

/* What takes the place of the input's metadata, names and resources where a model is edited: the
 * tensors keep their numbers and types. */
typedef struct tare_plan_changes {
    const tare_metadata *metadata; /* without the record of stand-ins */
    size_t n_metadata;
    const tare_str *names; /* of each tensor of the input; ptr NULL: it is left out */
    bool has_renamed, has_dropped;
    const tare_resource_entry *resources; /* those of the input, some with other bytes, then new
                                             ones */
    size_t n_resources;
    bool replaces_input; /* the output is the input */
    bool is_forced;      /* whatever becomes of it */
    bool keeps_place;    /* as in tare_write_options */
    uint64_t spare;
} tare_plan_changes;

struct tare_plan {
    const tare_model *in;
    tare_model *
        plain; /* what that is where the input is MLX's, and transformers reads the output; or NULL */
    const tare_plan_changes *changes; /* NULL: none */
    tare_context context;
    tare_output_options output;
    tare_convert_options options; /* they point to the caller's data, and are set to NULL except for
                                     what running needs */
    tare_mix_options mix;         /* mix.mix NULL: none */
    tare_convert_mcf_options mcf;
    tare_convert_infq_options infq;
    tare_convert_wcodec_options wcodec;
    tare_limits limits; /* from the options, else those that the input was opened with */
    tare_arena arena;
    const tare_format *format;
    const char *out_path; /* NULL: a descriptor */
    tare_catalog catalog;
    tare_write_extras extras;
    tare_planned *tensors; /* catalog.n_tensors of them */
    tare_write_plan files;
    bool is_identity;
    tare_merge *merge; /* adapters that are added to tensors; NULL: none. Used for planning only:
                          each run works with a copy */
    tare_plan_summary summary;
    tare_plan_tensor *public_tensors; /* catalog.n_tensors */
    tare_file_info *public_files;     /* files.n_files */
    tare_strict strict;               /* what the output lacks */
};

/* Planned tensors, factors of adapters included. */
static inline size_t tare_plan_n_stored(const tare_plan *p) {
    return p->catalog.n_tensors + 2 * p->extras.n_adapters;
}

/* tare_plan_new for a model that is edited; the changes must outlive the plan. */
tare_status tare_plan_changed(tare_plan **out, const char *out_path, const tare_model *in,
                              const tare_convert_options *options, const tare_plan_changes *changes,
                              tare_error *err);
/* Whether a tensor is packed as it is in the input. */
bool tare_plan_is_straight(const tare_plan *plan, size_t tensor);
/* The types that the model was mapped for, if its program is that of the output; NULL: it is not. */
const tare_model_types *tare_plan_types(const tare_plan *plan);
/* What the output's program wants tensor i of the input to be. */
tare_fixed_type tare_plan_fixed(const tare_plan *plan, size_t i);
/* Decides for every tensor: fills plan->tensors, plan->catalog.tensors, plan->is_identity. Adds
 * what is lost or left alone to the report; fails with UNSUPPORTED where that is an error. */
tare_status tare_plan_tensors(tare_plan *plan, tare_error *err);
/* Fills `importance` of the tensors to be encoded, from that of the options. ARG: the size differs,
 * or a type needs importance and there is none. */
tare_status tare_plan_importance(tare_plan *plan, tare_error *err);
/* Whether an encoder uses the importance it is given. */
bool tare_plan_is_weighted(const tare_encoding *to, tare_quality quality);
/* The choice of the plan's mix for every tensor of the input, except where `manual` has a type.
 * Peculiarities are reported; *loss_tensor: the first tensor that needed a fallback, -1: none did.
 * ERR_ARG: something that llama.cpp refuses as well. */
tare_status tare_plan_mix(tare_mix_choice **out, int64_t *loss_tensor, tare_plan *plan,
                          const tare_encoding *const *manual, tare_arena *arena, tare_error *err);
/* Adds the adapters that are stored beside the tensors: plan->extras.adapters and their factors,
 * which follow the tensors. */
tare_status tare_plan_adapters(tare_plan *plan, tare_error *err);
/* The metadata that goes with the tensors as planned: plan->catalog.metadata. */
tare_status tare_plan_metadata(tare_plan *plan, tare_error *err);
/* UNSUPPORTED (TARE_CODE_NOT_RUNNABLE): llama.cpp would not run the output, and would the input, or
 * the input is mapped to its names; not with `force`. After tensors and metadata. */
tare_status tare_plan_verdict(const tare_plan *plan, tare_error *err);
/* Chooses between packed weights and their parts: `in` is what is converted. UNSUPPORTED, CORRUPT: a
 * weight that is to be decoded cannot be (plan_packed.c). */
tare_status tare_plan_packed(tare_plan *p, tare_error *err);
/* config.json names the type that decoded weights get, and another than before where transformers
 * reads it. After tensors. */
tare_status tare_plan_typed_config(tare_plan *p, tare_error *err);
/* Fills catalog.bounds where the format or an encoding asks for them. */
tare_status tare_plan_bounds(tare_plan *plan, tare_error *err);
/* Finds the outliers of tensors that get a type with a list of them: `outliers`, and the sizes of
 * the lists. */
tare_status tare_plan_outliers(tare_plan *plan, tare_error *err);
/* Fills extras.same_as where the format can store tensors once. */
tare_status tare_plan_duplicates(tare_plan *plan, tare_error *err);
/* The range of a tensor's numbers, ignoring NaN and Inf; has_odd says whether there are any. */
typedef struct tare_value_range {
    float min, max; /* 0 lies between them */
    float largest;  /* magnitude */
    bool has_odd;
} tare_value_range;
tare_status tare_plan_range(tare_value_range *out, const tare_plan *plan, size_t tensor,
                            tare_error *err);
/* Whether all codes of a tensor exist in the encoding it can be repacked into. */
tare_status tare_plan_can_repack(bool *out, const tare_plan *plan, size_t tensor, tare_error *err);
/* Whether a value of the tensor is finite and beyond F16; reads and decodes all of it. */
tare_status tare_plan_overflows_f16(bool *out, const tare_plan *plan, size_t tensor,
                                    tare_error *err);
/* Whether a plain float type holds all numbers of a tensor exactly; reads it up to the first that it
 * does not hold. */
tare_status tare_plan_keeps_numbers(bool *out, const tare_plan *plan, size_t tensor,
                                    const tare_encoding *to, tare_error *err);

#endif
