/* SPDX-License-Identifier: MIT
 *
 * What the parts of packing with loss share. */
#ifndef TARE_OPS_LOSSY_LOSSY_H
#define TARE_OPS_LOSSY_LOSSY_H

#include <tare/experimental/packing.h>
#include <tare/inspect.h>

#include "base/outfile.h"
#include "base/pool.h"
#include "format/packed.h"
#include "model/catalog.h"
#include "ops/fit/fit_parts.h"
#include "ops/steps.h"
#include "wcodec/wc_format.h"
#include "wcodec/wc_search.h"

/* What a bit is worth, in squared distances between the values of one quantizer: the slope of error
 * against rate there, found to be the best, or close to it, at all rates (0.07 to 0.13). */
#define TARE_LOSSY_LAMBDA 0.10f

enum {
    TARE_LOSSY_GROUPS = 64,        /* of runs, by their magnitude */
    TARE_LOSSY_SPACING = 4,        /* of the values of a trellis in one state */
    TARE_LOSSY_REACH = 127,        /* of values; numbers beyond are outliers */
    TARE_LOSSY_WIDE_REACH = 32767, /* of values of 16 bits; steps are so long that none is beyond */
};

/* As tare_pack, with options.lossy, which are complete. */
tare_status tare_pack_lossy(tare_pack_summary *out, const char *out_path, const tare_model *in,
                            const tare_pack_options *options, tare_error *err);

/* By what the values of a tensor are chosen. */
typedef struct tare_lossy_prices {
    float steps[TARE_WC_MAX_CLASSES][TARE_WC_SYMBOLS]; /* of a trellis */
    float codes[256];                                  /* of plain rounding */
    uint8_t group_class[TARE_LOSSY_GROUPS];
    unsigned n_classes;
    bool is_known; /* else they are all 0 */
} tare_lossy_prices;

/* As steps become shorter, a tensor jumps to a higher one of these, which takes more at once. */
typedef enum tare_lossy_level {
    TARE_LOSSY_COARSE = 0, /* values of a trellis, or rounded ones of few bits */
    TARE_LOSSY_FINE = 1,   /* rounded ones, since those of a trellis do not reach */
    TARE_LOSSY_KEPT = 2,   /* no loss */
} tare_lossy_level;

/* What becomes of a tensor at a common factor. */
typedef struct tare_lossy_choice {
    bool is_kept;
    bool is_wide;      /* its codes have 16 bits */
    bool is_stretched; /* its steps are longer than those of the common factor */
    bool is_finest;    /* shorter steps have no codes, or may not have them */
    uint8_t level;     /* tare_lossy_level */
    uint8_t states;    /* of the trellis; 0: plain rounding */
    float unit;        /* what values are multiplied by */
    float lambda;      /* what a bit is worth, in squared distances between values */
    double bytes;      /* estimated from a sample */
    double damage;     /* likewise; once it is encoded, what came out */
    double bits;       /* that its values take */
} tare_lossy_choice;

/* A tensor that may lose something. */
typedef struct tare_lossy_target {
    size_t tensor;
    tare_encoding_id type; /* as which it is opened again */
    uint64_t n, rows, cols;
    /* With an importance matrix, for each column: quarters of octaves of the factor by which its
     * steps are longer, the inverse factor, and what importance is multiplied by to weigh squared
     * errors in steps. */
    int8_t *columns;
    float *inverse, *unit;
    const float *importance; /* of all columns of each slice (an expert) */
    tare_fit_weighing weighing;
    float *medians;     /* of the slices; 0: the slice was never used */
    uint64_t slice;     /* elements of one */
    double mean_weight; /* what the weights of errors are divided by, beside medians */
    double energy;      /* weighted squares of all numbers, so divided */
    double share;       /* of the experts of its role and layer; else 1 */
    double alpha;       /* damage for a relative error of 1 */
    double base;        /* distance of values where the common factor is 1 */
    float most;         /* the largest magnitude, with or without the factors */
    double kept_bytes;  /* what it takes without loss, about */
    /* What was chosen for a common factor; and at the ends of the interval of factors that is left. */
    tare_lossy_choice choice, fitting, heavy;
    uint8_t lowest, highest;     /* the levels that are left to choose from */
    tare_lossy_prices prices[2]; /* of rounding, of a trellis */
    /* What was made. */
    uint64_t offset; /* of its codes */
    double error;    /* squared, weighted, in steps */
    uint8_t *outliers;
    size_t n_outliers;
} tare_lossy_target;

/* Bytes of one of its codes. */
static inline uint64_t tare_lossy_width(const tare_lossy_target *t) {
    return t->choice.is_wide ? 2 : 1;
}
/* How many scales it is stored with. */
static inline uint64_t tare_lossy_scales(const tare_lossy_target *t) {
    return t->choice.is_kept || t->choice.is_wide ? 0 : t->rows;
}
/* As what it is stored; `was`: in the input. */
static inline const tare_encoding *tare_lossy_encoding(const tare_lossy_target *t,
                                                       const tare_encoding *was) {
    if (t->choice.is_kept) return was;
    return tare_encoding_get(t->choice.is_wide ? TARE_ENCODING_I16 : TARE_ENCODING_INT8_ROWWISE);
}

/* Packing with loss, from beginning to end. */
typedef struct tare_lossy_run {
    const tare_model *in;
    const tare_pack_options *options;
    const tare_lossy_options *wish;
    tare_arena arena;
    tare_mix_model model;
    tare_lossy_target *targets;
    size_t n_targets;
    size_t n_unweighed;          /* targets that the importance matrix should have, and has not */
    size_t n_unseen;             /* targets for which it has zeros, or for slices of them */
    uint64_t n_weights;          /* of all tensors */
    uint64_t target_bytes;       /* of all, or of tensors; UINT64_MAX: a damage is asked for */
    double *kept;                /* bytes that each tensor takes without loss, about */
    double other_bytes;          /* of these, what is not of targets, as far as it is known */
    double damage;               /* asked for */
    double factor;               /* common to all steps */
    double bytes;                /* what counts towards the target, expected */
    bool is_closest;             /* no choice comes closer to what is asked for */
    uint64_t size, tensor_bytes; /* that came out */
    uint64_t from_bytes;         /* of all layers before; 0: not known in a dry run */
    unsigned log2_segment;
    tare_outset *made; /* codes */
    uint8_t *side;     /* scales and outliers */
    uint64_t side_bytes;
    tare_pack_codes *codes; /* of each tensor */
    tare_steps before;      /* the work before the first attempt, which does not count */
} tare_lossy_run;

/* ---- lossy_math.c: the same on every system ------------------------------------------------- */

double tare_lossy_log2(double x); /* x > 0, finite */
double tare_lossy_exp2(double x);

/* ---- lossy_damage.c ------------------------------------------------------------------------- */

/* Fills in alpha of each target. */
tare_status tare_lossy_weigh(tare_lossy_run *r, tare_error *err);

/* ---- lossy_targets.c ------------------------------------------------------------------------ */

/* The tensors that may lose something, and what is known of them before anything is chosen. */
tare_status tare_lossy_find_targets(tare_lossy_run *r, tare_error *err);

/* ---- lossy_importance.c ---------------------------------------------------------------------- */

/* ERR_ARG: the matrix is of another model, or has another size for the tensor. */
tare_status tare_lossy_check_importance(const tare_lossy_run *r, tare_error *err);
/* Sets the columns of a target that the matrix has an entry for. */
tare_status tare_lossy_weigh_columns(tare_lossy_run *r, tare_lossy_target *t, tare_error *err);
/* Numbers of a target with columns, its elements [first, first + n): the factors of their columns
 * are taken out, and `weights` become those of their squared errors. */
void tare_lossy_scale(float *numbers, float *weights, const tare_lossy_target *t, uint64_t first,
                      uint64_t n);

/* ---- lossy_kept.c --------------------------------------------------------------------------- */

/* Estimates what each tensor takes without loss. */
tare_status tare_lossy_estimate_kept(tare_lossy_run *r, tare_error *err);

/* ---- lossy_values.c ------------------------------------------------------------------------- */

/* A number that no value reaches, in steps. */
typedef struct tare_lossy_outlier {
    uint32_t at;
    float number;
} tare_lossy_outlier;

/* Memory of one thread, for so many numbers at most. */
typedef struct tare_lossy_room {
    const tare_allocator *allocator;
    uint8_t *memory;
    size_t size;
    float *numbers, *weights;
    uint32_t *choices;
    int8_t *symbols, *values;
    int16_t *wide; /* values of 16 bits */
    tare_lossy_outlier *outliers;
    uint32_t n_outliers;
    uint8_t *classes;
} tare_lossy_room;

tare_status tare_lossy_room_init(tare_lossy_room *room, uint32_t n, const tare_allocator *allocator,
                                 tare_error *err);
void tare_lossy_room_free(tare_lossy_room *room);

/* Elements [first, first + n) of a target become numbers [at, at + n) of the room: in steps, with
 * the factors of their columns taken out. */
tare_status tare_lossy_load(tare_lossy_room *room, uint32_t at, const tare_lossy_run *r,
                            const tare_lossy_target *t, uint64_t first, uint32_t n,
                            tare_error *err);
/* Takes the outliers out of the first n numbers: they become 0. */
void tare_lossy_take_outliers(tare_lossy_room *room, uint32_t n);
/* Finds the values of the first n numbers, by the prices of the target. */
void tare_lossy_choose(tare_lossy_room *room, const tare_lossy_target *t, uint32_t n);
/* The squared error of n values, weighted. */
double tare_lossy_error(const tare_lossy_room *room, const tare_lossy_target *t, uint32_t n);
/* The group of a run by its magnitude, as the codec tells it from values. */
unsigned tare_lossy_group(const float *numbers, uint32_t n);

/* ---- lossy_choice.c ------------------------------------------------------------------------- */

/* How often values were chosen. */
typedef struct tare_lossy_counts {
    uint64_t steps[TARE_LOSSY_GROUPS][TARE_WC_SYMBOLS];
    uint64_t codes[256];
    uint64_t wide[1 << 16];
} tare_lossy_counts;

/* Memory of one thread. */
typedef struct tare_lossy_bench {
    tare_lossy_room room;
    tare_lossy_counts *counts;
} tare_lossy_bench;

tare_status tare_lossy_bench_init(tare_lossy_bench *b, const tare_allocator *allocator,
                                  tare_error *err);
void tare_lossy_bench_free(tare_lossy_bench *b);
/* What costs least at the common factor of the run, among what the target may still become. */
tare_status tare_lossy_choose_for(tare_lossy_target *t, const tare_lossy_run *r,
                                  tare_lossy_bench *b, tare_error *err);
/* What its values cost in bits, by the rule that the codec would choose. */
tare_status tare_lossy_rule_cost(double *bits, const uint64_t *counts, const tare_allocator *a,
                                 tare_error *err);

/* ---- lossy_rate.c --------------------------------------------------------------------------- */

/* Finds the common factor at which the targets take what is asked for, and what follows for each
 * of them. ERR_ARG: no factor does. */
tare_status tare_lossy_find_factor(tare_lossy_run *r, tare_error *err);

/* ---- lossy_encode.c ------------------------------------------------------------------------- */

/* Makes codes (in a file without a name, in the folder of `path`), scales and outliers of all
 * targets that are not kept, and fills in their damage. */
tare_status tare_lossy_encode(tare_lossy_run *r, const char *path, tare_steps *steps,
                              tare_error *err);

/* ---- lossy_model.c -------------------------------------------------------------------------- */

/* The model that is packed, and as it will be opened. */
tare_status tare_lossy_models(tare_model **stored, tare_model **opened, const tare_lossy_run *r,
                              const tare_digest *source, tare_error *err);

#endif
