/* SPDX-License-Identifier: MIT
 *
 * What the parts of a fit share: the units that types are chosen for, the candidates, and what is
 * known of both. */
#ifndef TARE_OPS_FIT_FIT_PARTS_H
#define TARE_OPS_FIT_FIT_PARTS_H

#include <math.h>
#include <tare/experimental/fitting.h>
#include <tare/experimental/schemes.h>

#include "ops/convert/plan.h"
#include "ops/fit/fit_allocate.h"
#include "ops/mix/mix.h"

#define TARE_FIT_TYPES_MAX 64 /* bits of a set; the caller names at most half as many */

/* How much an error in a column counts: its importance, held to so many medians (0: as it is), and to
 * the power of 1.5 if it is steep. */
typedef struct tare_fit_weighing {
    double most_medians;
    bool is_steep;
} tare_fit_weighing;

static inline double tare_fit_weight(const tare_fit_weighing *how, double medians) {
    const bool is_beyond = how->most_medians > 0 && medians > how->most_medians;
    const double x = is_beyond ? how->most_medians : medians;
    return how->is_steep ? x * sqrt(x) : x;
}

/* Tensors that get the same type: one, or all experts of a layer that are tensors of their own. */
typedef struct tare_fit_unit {
    size_t *tensors; /* of the input */
    size_t n_tensors;
    tare_role_info role; /* of the first */
    double share;        /* of the experts of its layer and role; else 1 */
    const char *kind;    /* what reports call it */
    const tare_encoding
        *pinned; /* the only candidate, by a wish of the caller; NULL: there is none */
    uint64_t n_weights, n_rows, cols;
    uint64_t usable;       /* set of candidates that it can have */
    uint64_t grids;        /* of them, those that count only if the weights lie on their grid */
    uint64_t known;        /* set of candidates whose error is known */
    double alpha;          /* damage for a relative error of 1 */
    const uint64_t *bytes; /* in each scheme; NULL: they follow from types */
    double by_energy;      /* alpha is this times the mean of sum c w^2 over rows; 0: it is known */
    tare_fit_weighing weighing;
    const float *estimate; /* importance of an output matrix that has no entry; NULL: none */
    bool is_measured;
    double error[TARE_FIT_TYPES_MAX]; /* of each candidate */
    double
        mix_error[TARE_FIT_TYPES_MAX]; /* the same as a named mix encodes it: not by an estimate */
} tare_fit_unit;

typedef struct tare_fit_rules {
    tare_type_rule *rules;
    tare_scheme_rule *schemes; /* in place of them, where candidates are schemes */
    size_t n;
} tare_fit_rules;

/* A named mix, and the options that it stands for. */
typedef struct tare_fit_named {
    tare_fit_point point;
    size_t *choice;
} tare_fit_named;

struct tare_fit {
    const tare_model *in;
    tare_context context; /* of `convert` */
    tare_output_options output;
    tare_convert_options convert; /* the caller's */
    tare_mix_options mix;         /* the same, without a mix */
    const char *out_path;
    const tare_format *format;
    tare_arena arena;
    tare_mix_model model;
    const tare_encoding **fixed;  /* of each tensor that nothing is chosen for but that is open to a
                                    mix: what it becomes; else NULL */
    const tare_encoding **manual; /* for each tensor: what a rule of the caller says; NULL: none */
    int64_t *unit_of;             /* of each tensor; -1: none */
    const char *const *scheme_names; /* the candidates; NULL: they are types */
    tare_scheme_options schemes;     /* the caller's, of which `scheme` does not count */
    tare_model *formed; /* what `in` is where schemes want another form than it has; or NULL */
    tare_model *packed; /* by the choice that was planned last */
    const tare_encoding *types[TARE_FIT_TYPES_MAX]; /* the candidates */
    unsigned uses[TARE_FIT_TYPES_MAX];
    size_t n_types;
    tare_fit_unit *units;
    size_t n_units;
    /* What a choice costs: bytes of all files that do not depend on it, and padding. */
    double base_bytes;
    double name_bytes;          /* that a file has which is named after a mix, and others lack */
    uint64_t base_tensor_bytes; /* of tensors that nothing is chosen for */
    uint64_t alignment;
    /* The problem that is solved: the options of each unit are its known candidates. */
    tare_fit_unit_options *options;
    size_t **candidates; /* of each unit: which candidate an option is */
    size_t *choice;      /* of each unit: an option */
    tare_fit_summary summary;
    tare_fit_named *mixes; /* by size */
    tare_fit_point *curve;
    size_t n_mixes, n_curve;
    tare_fit_rules rules; /* the caller's, then those of the choice; NULL: nothing was chosen */
    tare_arena rules_arena;
    const tare_mix *named;
};

/* ---- fit_constants.c ------------------------------------------------------------------------- */

/* When a type is a candidate. */
enum {
    TARE_FIT_ALWAYS = 1 << 0,
    TARE_FIT_SHORT_BLOCKS = 1 << 1, /* for rows that 256 does not divide */
    TARE_FIT_ON_GRID = 1 << 2,      /* if the weights lie on its grid */
    TARE_FIT_AS_IT_IS = 1 << 3,     /* for tensors that have it already */
    TARE_FIT_PINNED = 1 << 4,       /* for those that the caller wants it for */
};

typedef struct tare_fit_candidate {
    tare_encoding_id type;
    unsigned use;
} tare_fit_candidate;

/* Candidate i where the caller names none; NULL beyond the end. */
const tare_fit_candidate *tare_fit_candidate_at(size_t i);
/* The relative error that a type of so many bits usually makes. */
double tare_fit_usual_error(double bits);

typedef struct tare_fit_constant {
    const char *kind;
    double alpha;         /* of errors that are not weighed by column */
    double weighed_alpha; /* of those weighed as this says */
    tare_fit_weighing weighing;
    double by_energy; /* in place of weighed_alpha: as in a unit */
} tare_fit_constant;

/* The constant of a tensor. `is_tied`: it is also the output matrix; `share`: of all weights that
 * types are chosen for, which counts where the roles of tensors do not follow from their names. */
tare_fit_constant tare_fit_constant_of(const tare_mix_model *model, const tare_role_info *role,
                                       bool is_tied, double share);

/* ---- fit_units.c ----------------------------------------------------------------------------- */

/* The candidates, the units, what each of them can have, and what becomes of the other tensors. */
tare_status tare_fit_find_units(tare_fit *f, const tare_fit_options *options, tare_error *err);
/* Bytes of a unit's tensors as candidate `type`, each padded as the output has it (`is_padded`). */
uint64_t tare_fit_bytes(const tare_fit *f, const tare_fit_unit *u, size_t type, bool is_padded);
/* What a model multiplies the scores of its predictions by, at most 1. */
double tare_fit_scale_of_scores(const tare_model *in);
/* The number of an encoding among the candidates; SIZE_MAX: it is none. */
size_t tare_fit_type_index(const tare_fit *f, const tare_encoding *type);

/* ---- fit_measure.c --------------------------------------------------------------------------- */

/* Fills the errors of all units. `plan`: any plan of the same conversion, for what is merged into
 * tensors. */
tare_status tare_fit_measure(tare_fit *f, const tare_plan *plan, tare_error *err);

/* What errors in n columns count, by their importance. False: all alike. `copy` has room for n. */
bool tare_fit_weigh_columns(double *out, const float *importance, size_t n,
                            const tare_fit_weighing *how, float *copy);

/* ---- fit_schemes.c --------------------------------------------------------------------------- */

/* The same of schemes: units, and what each costs and loses as a candidate. */
tare_status tare_fit_try_schemes(tare_fit *f, const tare_fit_options *options, tare_error *err);
/* The rules of a choice, and a plan of it. */
tare_status tare_fit_plan_schemes(tare_plan **out, tare_fit *f, tare_error *err);

/* ---- fit_sensitivity.c ----------------------------------------------------------------------- */

/* A text of sensitivities, while it is used. */
typedef struct tare_sensitivities {
    struct tare_sensitivity *lines;
    size_t n;
    tare_name_index index;
} tare_sensitivities;

/* ERR_ARG: a line is wrong. `text` must outlive the lines. */
tare_status tare_sensitivities_read(tare_sensitivities *out, tare_str text, tare_arena *arena,
                                    tare_error *err);
/* What they say of a tensor; false: nothing. `share`: of all experts, if it is one of them. */
bool tare_sensitivities_find(double *value, const tare_sensitivities *s, tare_str name,
                             double share);
/* Of n tensors: ERR_ARG if none had a line, a note if only some did. */
tare_status tare_sensitivities_check(size_t n_missing, size_t n, tare_report *report,
                                     tare_error *err);
/* Puts measured numbers in the place of constants. */
tare_status tare_fit_read_sensitivities(tare_fit *f, tare_str text, tare_error *err);

/* ---- fit_rules.c ----------------------------------------------------------------------------- */

/* Makes the rules of f->choice, and names its mix. */
tare_status tare_fit_make_rules(tare_fit *f, tare_error *err);

/* ---- fit_mixes.c ----------------------------------------------------------------------------- */

/* The named mixes whose types are all known, by size. */
tare_status tare_fit_find_mixes(tare_fit *f, tare_error *err);
/* The best choice of at most so many bytes of units. A named mix that fits is a place to start from,
 * too, so that no mix is better. *slope: damage that a further byte would save. */
tare_status tare_fit_choose_within(size_t *choice, double *slope, tare_fit *f, double bytes,
                                   tare_error *err);
/* The curve of best choices. */
tare_status tare_fit_draw_curve(tare_fit *f, tare_error *err);
/* Size and damage of a choice. */
tare_fit_point tare_fit_point_of(const tare_fit *f, const size_t *choice);

#endif
