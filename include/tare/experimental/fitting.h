/* SPDX-License-Identifier: MIT
 *
 * tare/experimental/fitting.h: the best model of a given size. A number format is chosen for every tensor so that
 * the sum of their damages is as small as possible within a number of bytes, or the number of bytes
 * as small as possible within a damage.
 *
 * The damage of a tensor is its relative error in a number format, measured on some of its rows,
 * times what the model's output suffers for it: a constant of its role and layer, or a measured
 * number. The sum is about the mean KL divergence, in nats per token, that the model's predictions
 * will have from those of the original: good for comparing choices, no promise.
 *
 *     tare_fit *fit;
 *     tare_fit_new(&fit, "out.gguf", model, &convert, NULL, &err);
 *     tare_fit_target target = tare_fit_target_default();
 *     target.file_bytes = 7500000000;
 *     tare_fit_choose(fit, &target, &err);
 *     tare_fit_apply(&convert, &mix, fit, &err);
 *     tare_convert("out.gguf", model, &convert, &err);
 *     tare_fit_free(fit);
 *
 * Threads: a fit may be used by one thread at a time.
 */
#ifndef TARE_EXPERIMENTAL_FITTING_H
#define TARE_EXPERIMENTAL_FITTING_H

#include <tare/base.h>
#include <tare/convert.h>
#include <tare/encoding.h>
#include <tare/experimental/schemes.h>
#include <tare/model.h>

#ifdef __cplusplus
extern "C" {
#endif

/* What is chosen from, and how it is weighed. */
typedef struct tare_fit_options {
    size_t size;
    const tare_encoding *const *types; /* the candidates; NULL: those of the target's format that
                                          are worth it, and what a tensor has already */
    size_t n_types;                    /* at most 32 */
    /* Text: a line "TENSOR VALUE" for each tensor, the damage for a relative error of 1; empty lines
     * and those that begin with '#' do not count. Names of GGUF or of Hugging Face. len 0: none.
     * Tensors without a line have the constants of their role. */
    tare_str sensitivities;
    bool check_output; /* before measuring, tare_plan_check of the smallest choice */
    /* tare_fit_new_schemes: the candidates; NULL: w4a16, w8a16, fp8_dynamic, nvfp4a16, none */
    const char *const *schemes;
    size_t n_schemes; /* at most 32 */
} tare_fit_options;

TARE_DECLARE_INIT(tare_fit_options)

typedef struct tare_fit tare_fit;

/* A fault of tare_fit_new: the text of sensitivities; err->field has the line. */
#define TARE_CODE_BAD_SENSITIVITIES "fit.bad-sensitivities"

/* Measures the errors of the candidates for every tensor that a mix may change; where a rule of
 * `convert` or `output` or `embedding` of its mix options decides, of that type alone; not of what
 * they cannot become, nor of an output matrix that is left as it is (convert->mix->mix is not looked
 * at). Reads some rows of each tensor, and writes nothing. `out_path` as for tare_plan_new.
 * All that the arguments point to must outlive the fit, but for `options`.
 * ERR_ARG: as tare_quantize, and with `check_output` as tare_plan_check; a tensor can take no
 * candidate; a wrong line of sensitivities, or none is of this model. ERR_UNSUPPORTED: the target's
 * sizes are not known in advance (.wcodec). */
TARE_API tare_status tare_fit_new(tare_fit **out, const char *out_path, const tare_model *in,
                                  const tare_convert_options *convert,
                                  const tare_fit_options *options, tare_error *err);
/* The same of schemes of packed weights in place of types (tare/experimental/schemes.h); "none" among
 * them: a weight stays as it is. `schemes`: rules and importance; its scheme does not count. Weights
 * that servers fuse get one scheme, and so do all experts of a layer. Errors are those of weights, not
 * of activations. `convert`: of the packed model. All have to be of one family. */
TARE_API tare_status tare_fit_new_schemes(tare_fit **out, const char *out_path,
                                          const tare_model *in, const tare_scheme_options *schemes,
                                          const tare_convert_options *convert,
                                          const tare_fit_options *options, tare_error *err);
TARE_API void tare_fit_free(tare_fit *fit);

/* What is asked for. One of these is greater than 0. */
typedef struct tare_fit_target {
    size_t size;
    uint64_t file_bytes;    /* of all files written, headers included */
    double bits_per_weight; /* of the tensors' bytes, over all weights of the model */
    double damage;          /* predicted, as small a file as it allows */
} tare_fit_target;

TARE_DECLARE_INIT(tare_fit_target)

/* A fault of tare_fit_choose: no choice is as small as the target, or does as little damage.
 * tare_fit_summarize has the smallest there are. */
#define TARE_CODE_TARGET_TOO_SMALL "fit.target-too-small"

/* Chooses a type for every tensor; may be called again with other targets. Never above the target.
 * ERR_ARG: TARE_CODE_TARGET_TOO_SMALL. */
TARE_API tare_status tare_fit_choose(tare_fit *fit, const tare_fit_target *target, tare_error *err);

/* Enters a choice into the options of a conversion: rules for all tensors, after the caller's own,
 * weighs_output, which the errors were measured with, and as a mix of rules the one that most of the
 * weights are closest to, which the output is not named after. `mix` is what
 * options->mix will point to; both hold pointers into the fit. ERR_ARG: nothing was chosen. */
TARE_API tare_status tare_fit_apply(tare_convert_options *options, tare_mix_options *mix,
                                    const tare_fit *fit, tare_error *err);

/* The same of a choice among schemes: the one of most weights, and rules for all; they point into the
 * fit. options->scheme NULL: all weights stay as they are. ERR_ARG: nothing was chosen. */
TARE_API tare_status tare_fit_apply_schemes(tare_scheme_options *options, const tare_fit *fit,
                                            tare_error *err);

/* Rule i of a choice: those of the caller, then one for each type and kind of tensor, such that the
 * same model converted with these rules, weighs_output and tare_fit_mix has the same bytes. NULL
 * beyond the end. */
TARE_API const tare_type_rule *tare_fit_rule(const tare_fit *fit, size_t i);
/* The mix that goes with them: that of the rules (tare_mix_of_rules, is_of_rules). NULL before a
 * choice. */
TARE_API const tare_mix *tare_fit_mix(const tare_fit *fit);

/* The named mix of the type that rules give to most of a model's weights; for types of other
 * programs, the one whose bits are closest. NULL: the rules match no tensor. */
TARE_API tare_status tare_mix_of_rules(const tare_mix **out, const tare_model *in,
                                       const tare_type_rule *rules, size_t n_rules,
                                       tare_error *err);

typedef struct tare_fit_summary {
    uint64_t file_bytes;       /* of the choice; 0: nothing was chosen */
    uint64_t tensor_bytes;     /* of it, those of tensors */
    double bits_per_weight;    /* of tensor_bytes, over all weights */
    double damage;             /* predicted, of all tensors that tare_fit_tensor_at has */
    double lambda;             /* what the next byte would take off the damage; 0: nothing */
    double damage_at_one_more; /* with one more bit for every weight, or all that can be bought */
    uint64_t one_more_bytes;   /* that this takes beyond file_bytes, about */
    uint64_t smallest_bytes;   /* of any choice */
    double smallest_bits, smallest_damage;
    uint64_t n_weights;
    size_t n_tensors;     /* that are chosen for */
    bool predicts_tokens; /* the model does: damage is about a divergence of predictions. An encoder
                             of text has none, and damage only compares choices */
} tare_fit_summary;
TARE_API const tare_fit_summary *tare_fit_summarize(const tare_fit *fit);

/* One tensor that is chosen for, or that a wish of the caller decides. */
typedef struct tare_fit_tensor {
    tare_str name;
    const char *role;          /* "attn_q"; "other" */
    const tare_encoding *type; /* NULL: a scheme was chosen */
    const char *scheme;        /* NULL: a type was chosen */
    uint64_t n_weights, bytes; /* as encoded */
    double sensitivity;        /* damage for a relative error of 1 */
    double error;     /* relative, of the type: sum of c (w' - w)^2 over that of c w^2, c the
                                  importance of a column */
    double damage;    /* their product */
    bool is_measured; /* the sensitivity is from the caller's text */
    bool is_pinned;   /* the type is the caller's */
} tare_fit_tensor;
/* False beyond the end. `out` is written wholly. */
TARE_API bool tare_fit_tensor_at(tare_fit_tensor *out, const tare_fit *fit, size_t i);

/* The tensors of one role together. */
typedef struct tare_fit_role {
    const char *name;
    size_t n_tensors;
    uint64_t n_weights, bytes;
    double damage;
    double one_more; /* what one more bit for each of its weights would take off the damage */
} tare_fit_role;
TARE_API bool tare_fit_role_at(tare_fit_role *out, const tare_fit *fit, size_t i);

/* A size and the damage predicted for it. */
typedef struct tare_fit_point {
    const char *mix; /* the named mix of that size; NULL: a choice */
    uint64_t file_bytes;
    double bits_per_weight, damage;
} tare_fit_point;
/* Named mix i, smallest first, of those whose types are all among the candidates. Of several that
 * give all tensors the same types it is the first. The damage is that of a file of the mix, whose
 * output matrix is not weighed as that of a choice is (weighs_output). */
TARE_API bool tare_fit_mix_at(tare_fit_point *out, const tare_fit *fit, size_t i);
/* Point i of the curve of the best choices, smallest first and of ever less damage: every quarter of a
 * bit, and for the size of each named mix, what a target of that size gets. */
TARE_API bool tare_fit_curve_at(tare_fit_point *out, const tare_fit *fit, size_t i);

#ifdef __cplusplus
}
#endif
#endif
