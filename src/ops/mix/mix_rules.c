/* SPDX-License-Identifier: MIT
 *
 * The rules of the mixes, as llama.cpp's quantizer applies them (llama_tensor_get_type of
 * src/llama-quant.cpp at 007dbbf): for a mix, a part of the model and some facts the type. The
 * first row that fits counts; where none does the tensor gets the type of the mix. */
#include "ops/mix/mix.h"

#define M(mix)  (UINT64_C(1) << TARE_MIX_##mix)
#define ALL     ((UINT64_C(1) << TARE_MIX_COUNT) - 1)
#define F(fact) TARE_FACT_##fact
#define ANY     TARE_PART_COUNT

/* Mixes of about two bits and less have rules of their own. */
#define IQ1     (M(IQ1_S) | M(IQ1_M))
#define IQ2_S_M (M(IQ2_S) | M(IQ2_M))
#define LOW     (IQ1 | M(IQ2_XXS) | M(IQ2_XS) | IQ2_S_M)
#define HIGH    (ALL & ~LOW & ~M(MXFP4_MOE))
#define MORE    (M(Q4_K_M) | M(Q5_K_M))
#define IQ4     (M(IQ4_NL) | M(IQ4_XS))

typedef struct rule {
    uint64_t mixes;
    tare_mix_part part;
    unsigned facts; /* all of them hold */
    tare_encoding_id type;
} rule;

#define RULE(mixes, part, facts, type)                                                             \
    { mixes, part, facts, TARE_ENCODING_##type }

static const rule rules[] = {
    /* hidden state to vocabulary */
    RULE(M(MXFP4_MOE), TARE_PART_OUTPUT, 0, Q8_0),
    RULE(ALL, TARE_PART_OUTPUT, F(FALCON), Q8_0),
    RULE(ALL, TARE_PART_OUTPUT, F(UNEVEN), Q8_0),
    RULE(LOW | M(IQ3_XXS), TARE_PART_OUTPUT, 0, Q5_K),
    RULE(ALL & ~M(Q8_0), TARE_PART_OUTPUT, 0, Q6_K),
    RULE(M(Q8_0), TARE_PART_OUTPUT, 0, Q8_0),

    /* experts in FP4 */
    RULE(M(MXFP4_MOE), ANY, F(STACK), MXFP4),
    RULE(M(MXFP4_MOE), ANY, 0, Q8_0),

    /* vocabulary to hidden state */
    RULE(IQ1 | M(IQ2_XXS) | M(IQ2_XS), TARE_PART_EMBEDDING, 0, Q2_K),
    RULE(IQ2_S_M | M(IQ3_XXS), TARE_PART_EMBEDDING, 0, IQ3_S),
    RULE(M(TQ1_0) | M(TQ2_0) | M(Q2_0), TARE_PART_EMBEDDING, 0, Q4_K),

    /* attention values */
    RULE(LOW, TARE_PART_ATTN_V, F(GQA4), Q4_K),
    RULE(LOW, TARE_PART_ATTN_V, F(EXPERTS4), Q4_K),
    RULE(IQ2_S_M, TARE_PART_ATTN_V, 0, IQ3_S),
    RULE(LOW, TARE_PART_ATTN_V, 0, Q2_K),
    RULE(HIGH, TARE_PART_ATTN_V, F(EXPERTS8), Q8_0),
    RULE(M(Q2_K) | M(Q2_K_S), TARE_PART_ATTN_V, F(GQA4), Q4_K),
    RULE(M(Q2_K), TARE_PART_ATTN_V, 0, Q3_K),
    RULE(M(IQ3_XXS) | M(IQ3_XS) | M(IQ3_S), TARE_PART_ATTN_V, F(GQA4), Q4_K),
    RULE(M(IQ3_XXS), TARE_PART_ATTN_V, F(NO_IMPORTANCE), IQ3_S),
    RULE(M(IQ3_M), TARE_PART_ATTN_V, 0, Q4_K),
    RULE(M(Q3_K_M), TARE_PART_ATTN_V, F(FIRST_2), Q5_K),
    RULE(M(Q3_K_M), TARE_PART_ATTN_V, 0, Q4_K),
    RULE(M(Q3_K_L), TARE_PART_ATTN_V, 0, Q5_K),
    RULE(IQ4, TARE_PART_ATTN_V, F(GQA4), Q5_K),
    RULE(MORE, TARE_PART_ATTN_V, F(MORE_BITS), Q6_K),
    RULE(M(Q4_K_S), TARE_PART_ATTN_V, F(FIRST_4), Q5_K),

    /* attention keys and queries */
    RULE(LOW, TARE_PART_ATTN_K, F(EXPERTS8), Q4_K),
    RULE(HIGH, TARE_PART_ATTN_K, F(EXPERTS8), Q8_0),
    RULE(M(IQ3_XS), TARE_PART_ATTN_K, 0, IQ3_XXS),
    RULE(M(IQ3_XXS), TARE_PART_ATTN_K, 0, IQ2_S),
    RULE(M(IQ3_XS), TARE_PART_ATTN_Q, 0, IQ3_XXS),
    RULE(M(IQ3_XXS), TARE_PART_ATTN_Q, 0, IQ2_S),

    /* attention outputs */
    RULE(LOW, TARE_PART_ATTN_OUTPUT, F(EXPERTS8), Q5_K),
    RULE(IQ1, TARE_PART_ATTN_OUTPUT, 0, IQ2_XXS),
    RULE(IQ2_S_M, TARE_PART_ATTN_OUTPUT, 0, IQ3_S),
    RULE(M(Q3_K_L), TARE_PART_ATTN_OUTPUT, F(FALCON), Q4_K),
    RULE(M(Q2_K) | M(IQ3_XS) | M(IQ3_XXS) | M(Q3_K_S) | M(Q3_K_M) | IQ4 | M(Q4_K_S) | M(Q4_K_M) |
             M(IQ3_S) | M(IQ3_M),
         TARE_PART_ATTN_OUTPUT, F(NOT_FALCON) | F(EXPERTS8), Q5_K),
    RULE(M(Q2_K), TARE_PART_ATTN_OUTPUT, F(NOT_FALCON) | F(NOT_EXPERTS8), Q3_K),
    RULE(M(IQ3_XXS), TARE_PART_ATTN_OUTPUT, F(NOT_FALCON) | F(NOT_EXPERTS8), IQ3_S),
    RULE(M(Q3_K_M) | M(IQ3_M), TARE_PART_ATTN_OUTPUT, F(NOT_FALCON) | F(NOT_EXPERTS8), Q4_K),
    RULE(M(Q3_K_L), TARE_PART_ATTN_OUTPUT, F(NOT_FALCON) | F(NOT_EXPERTS8), Q5_K),

    /* down projections */
    RULE(IQ2_S_M, TARE_PART_FFN_DOWN, F(COUNTED_8TH), IQ3_S),
    RULE(LOW & ~IQ2_S_M, TARE_PART_FFN_DOWN, F(COUNTED_8TH), Q2_K),
    RULE(M(Q2_K), TARE_PART_FFN_DOWN, 0, Q3_K),
    RULE(M(Q2_K_S), TARE_PART_FFN_DOWN, F(FIRST_8TH), Q4_K),
    RULE(M(IQ3_XXS), TARE_PART_FFN_DOWN, F(NO_IMPORTANCE) | F(FIRST_8TH), Q4_K),
    RULE(M(IQ3_XXS), TARE_PART_FFN_DOWN, F(NO_IMPORTANCE), Q3_K),
    RULE(M(Q3_K_M), TARE_PART_FFN_DOWN, F(FIRST_16TH), Q5_K),
    RULE(M(Q3_K_M), TARE_PART_FFN_DOWN, F(NOT_FALCON), Q4_K),
    RULE(M(Q3_K_M), TARE_PART_FFN_DOWN, F(MORE_BITS), Q4_K),
    RULE(M(IQ3_M), TARE_PART_FFN_DOWN, F(FIRST_8TH), Q4_K),
    RULE(M(IQ3_M), TARE_PART_FFN_DOWN, F(EXPERTS8) | F(MORE_BITS), Q4_K),
    RULE(M(Q3_K_L), TARE_PART_FFN_DOWN, F(FALCON), Q4_K),
    RULE(M(Q3_K_L), TARE_PART_FFN_DOWN, 0, Q5_K),
    RULE(M(Q4_K_M), TARE_PART_FFN_DOWN, F(FALCON) | F(FIRST_16TH), Q6_K),
    RULE(M(Q4_K_M), TARE_PART_FFN_DOWN, F(FALCON) | F(MORE_BITS), Q5_K),
    RULE(M(Q4_K_M), TARE_PART_FFN_DOWN, F(NOT_FALCON) | F(MORE_BITS), Q6_K),
    RULE(IQ4, TARE_PART_FFN_DOWN, F(FIRST_8TH) | F(NO_IMPORTANCE), Q5_K),
    RULE(M(Q5_K_M), TARE_PART_FFN_DOWN, F(MORE_BITS), Q6_K),
    RULE(M(Q4_K_S), TARE_PART_FFN_DOWN, F(NOT_FALCON) | F(FIRST_8TH), Q5_K),
    RULE(M(Q4_0), TARE_PART_FFN_DOWN, F(FIRST_8TH) | F(IMPORTANCE), Q4_1),
    RULE(M(Q5_0), TARE_PART_FFN_DOWN, F(FIRST_8TH) | F(IMPORTANCE), Q5_1),

    /* the other feed-forward matrices */
    RULE(M(IQ3_XS), TARE_PART_FFN_GATE, F(MIDDLE), IQ3_XXS),
    RULE(M(IQ3_XS), TARE_PART_FFN_UP, F(MIDDLE), IQ3_XXS),
};

static tare_encoding_id first_that_fits(tare_mix_id mix, tare_mix_part part, unsigned facts) {
    for (size_t i = 0; i < sizeof rules / sizeof *rules; i++) {
        const rule *r = &rules[i];
        if ((r->mixes & UINT64_C(1) << mix) && (r->part == part || r->part == ANY) &&
            (r->facts & facts) == r->facts)
            return r->type;
    }
    return tare_mix_at(mix)->type->id;
}

/* Where eight heads share their values, as in a model of 70 billion parameters, these are small:
 * more bits for them cost next to nothing. It changes what a rule gave, so it is none itself. */
static tare_encoding_id raise(tare_mix_id mix, tare_mix_part part, unsigned facts,
                              tare_encoding_id type) {
    bool is_raised = part == TARE_PART_ATTN_V && (facts & F(70B)) && (HIGH & UINT64_C(1) << mix) &&
                     (type == TARE_ENCODING_Q3_K || type == TARE_ENCODING_Q4_K);
    return is_raised ? TARE_ENCODING_Q5_K : type;
}

tare_encoding_id tare_mix_rule(tare_mix_id mix, tare_mix_part part, unsigned facts) {
    return raise(mix, part, facts, first_that_fits(mix, part, facts));
}
