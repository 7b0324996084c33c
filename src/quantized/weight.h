/* SPDX-License-Identifier: MIT
 *
 * A packed weight: the tensors that it is stored in, and what their bits mean. Its rows are floats:
 * codes are looked up in a table or are whole numbers; scales, and what is subtracted or added, are
 * found by row and column; each product and sum is rounded once, in the order that the library
 * which defines the scheme has. */
#ifndef TARE_QUANTIZED_WEIGHT_H
#define TARE_QUANTIZED_WEIGHT_H

#include "model/catalog.h"

/* What a part of a weight is for. */
typedef enum tare_part_kind {
    TARE_PART_CODES = 0,
    TARE_PART_SCALES,
    TARE_PART_ZEROS,        /* zero points, shifts, biases: one where there is a scale */
    TARE_PART_INDEX,        /* the group of each column */
    TARE_PART_TABLE,        /* numbers that the codes stand for */
    TARE_PART_OUTER_SCALES, /* of scales that are codes themselves */
    TARE_PART_OUTER_TABLE,
    TARE_PART_FACTOR,  /* one for the whole weight, or for each of its matrices */
    TARE_PART_COLUMNS, /* a factor for each column */
    TARE_PART_STATE,   /* what says of the codes how they are to be read */
    TARE_PART_INPUT,   /* the scale of what the weight is multiplied with */
    TARE_PART_UNUSED,  /* of no use without the codes; of this kind there may be several */
    TARE_PART_KINDS
} tare_part_kind;

/* What a code stands for, before its scale. */
typedef enum tare_code_value {
    TARE_VALUE_OF_PART = 0, /* the number that the tensor's own type gives */
    TARE_VALUE_WHOLE,       /* 0, 1, 2, ..; less `middle` */
    TARE_VALUE_SIGNED,      /* two's complement */
    TARE_VALUE_E4M3,
    TARE_VALUE_E2M1,
    TARE_VALUE_E2M3,
    TARE_VALUE_QUARTERS, /* a sign, and 0 to 7 quarters */
    TARE_VALUE_TABLE,    /* of a part */
} tare_code_value;

/* Where codes lie. "Dense": the first in the lowest bits, across the borders of words. */
typedef enum tare_code_order {
    TARE_ORDER_ROWS = 0,   /* dense in each row, a row in a whole number of bytes */
    TARE_ORDER_RUN,        /* one run through all rows, the first of a byte in its high half */
    TARE_ORDER_LAYERS,     /* the weight is cut in equal runs, and these lie above each other */
    TARE_ORDER_TWO_ROWS,   /* two rows a byte */
    TARE_ORDER_DOWN,       /* of the transposed weight, dense along the columns that it has */
    TARE_ORDER_ACROSS,     /* of the transposed weight, eight outputs a word */
    TARE_ORDER_TILES,      /* AWQ's fast kernels: four rows in turns of 64 columns */
    TARE_ORDER_TRANSPOSED, /* rows are the columns of matrices stored as ROWS */
} tare_code_order;

/* Where the scale of an element is. */
typedef enum tare_scale_order {
    TARE_SCALES_BY_ROW = 0, /* [rows / block_rows, groups] of each matrix */
    TARE_SCALES_BY_GROUP,   /* [groups, rows] */
    TARE_SCALES_BY_RUN,     /* one for each `group` elements of the whole weight */
    TARE_SCALES_BY_TURN,    /* of the elements modulo their number */
    TARE_SCALES_TILED,      /* as BY_ROW, in the tiles of cuBLAS */
} tare_scale_order;

/* How a scale's bits are read, if it has no type that says so. */
typedef enum tare_scale_value {
    TARE_SCALE_OF_PART = 0,
    TARE_SCALE_E8M0,
    TARE_SCALE_E4M3,
    TARE_SCALE_NESTED, /* table[code] * outer scale + offset */
} tare_scale_value;

typedef enum tare_weight_formula {
    TARE_FORMULA_SCALED = 0, /* code * scale */
    TARE_FORMULA_CENTRED,    /* (code - zero) * scale */
    TARE_FORMULA_RAISED,     /* code * scale + zero */
    TARE_FORMULA_LOWERED,    /* code * scale - zero */
    TARE_FORMULA_DIVIDED,    /* code / scale */
} tare_weight_formula;

/* How zero points are stored. */
typedef enum tare_zero_order {
    TARE_ZEROS_LIKE_SCALES = 0, /* numbers, where the scales are */
    TARE_ZEROS_DOWN,            /* dense down the rows of each group: [rows * bits / 32, groups] */
    TARE_ZEROS_ALONG,  /* dense along the rows, of each group: [groups, rows * bits / 32] */
    TARE_ZEROS_ACROSS, /* the same in AWQ's order */
    TARE_ZEROS_IN_ROW, /* dense along the groups of each row */
} tare_zero_order;

struct tare_scheme;

typedef struct tare_weight {
    const struct tare_scheme *scheme;
    tare_str name;
    tare_str stem;                  /* of the names of its parts */
    int64_t parts[TARE_PART_KINDS]; /* tensors of the stored model; -1: none */
    uint32_t n_dims;
    uint64_t dims[TARE_MAX_DIMS];
    uint64_t n_rows, cols;
    const tare_encoding *encoding; /* of its rows: F32, or a block type with the same numbers */
    uint64_t offset, size;         /* in the virtual file */

    tare_code_order order;
    tare_code_value value;
    uint32_t bits;       /* of a code */
    uint32_t word_bytes; /* DOWN, LAYERS: of the words that codes lie in */
    bool is_planar;      /* DOWN: of 32 codes first the low bits, then the planes above */
    bool high_first; /* ROWS: the first of a byte in its high half; LAYERS: the first run on top */
    bool awq_order;  /* ACROSS: AWQ's order of eight columns */
    uint64_t line;   /* ROWS: bytes of a row */
    uint32_t per_word;    /* ROWS: codes of 32 bits, which may leave some free; 0: dense */
    uint64_t n_layers;    /* LAYERS */
    float middle;         /* what is subtracted from a WHOLE code without zero points */
    uint64_t first, step; /* rows of the codes that the weight has: every step-th of a matrix */

    tare_scale_order scale_order;
    tare_scale_value scale_value;
    uint64_t n_groups;     /* of a row */
    uint64_t group;        /* columns, or elements of a run, that share a scale */
    uint64_t block_rows;   /* rows that share scales */
    uint64_t matrix_rows;  /* rows of one matrix, whose scales begin anew */
    uint64_t scale_line;   /* scales of a row as they are stored */
    uint64_t nested_group; /* scales that share an outer one */
    float nested_offset;

    tare_zero_order zero_order;
    bool adds_one; /* zero points are stored less 1 */
    bool
        is_assumed; /* without settings: what only these tell is as most files of the scheme have it */
    bool is_turned;      /* groups are of columns in another order, as the settings say */
    bool is_symmetric;   /* as the settings say: zero points are the middle of the codes */
    bool factor_divides; /* the scale is divided by the factor of the whole */
    float factor_unit;   /* the factor is in such units: divided by it first; 0: not */
    float constant;      /* a last factor; 0: none */
    tare_weight_formula formula;
} tare_weight;

/* Rows [first, first + n) of a weight: floats, or blocks of its encoding. The parts fit each other. */
tare_status tare_weight_rows(void *out, const tare_weight *w, const tare_model *stored,
                             uint64_t first, uint64_t n, tare_error *err);

/* MXFP4 as blocks of ggml, the same codes in another order; and matrices of it whose columns the
 * weight's rows are (microscale_rows.c). */
tare_status tare_weight_mxfp4_blocks(uint8_t *out, const tare_weight *w, const tare_model *stored,
                                     uint64_t first, uint64_t n, tare_error *err);
tare_status tare_weight_mxfp4_columns(float *out, const tare_weight *w, const tare_model *stored,
                                      uint64_t first, uint64_t n, tare_error *err);

/* The blocks of ggml that hold the numbers of a weight of whole numbers as they are, which become its
 * encoding, if there are any: whether it is worth asking, from its form alone; the answer, for which
 * all scales and zero points are read; its rows (whole_blocks.c). */
bool tare_weight_may_be_whole_blocks(const tare_weight *w, const tare_model *stored);
tare_status tare_weight_choose_blocks(tare_weight *w, const tare_model *stored, tare_error *err);
tare_status tare_weight_whole_blocks(uint8_t *out, const tare_weight *w, const tare_model *stored,
                                     uint64_t first, uint64_t n, tare_error *err);

/* ---- parts of it: codes.c, scales.c ------------------------------------------------------------ */

/* The values of codes, not yet scaled. */
tare_status tare_weight_codes(float *out, const tare_weight *w, const tare_model *stored,
                              uint64_t first, uint64_t n, tare_error *err);
/* Dense codes of up to 8 bits as whole numbers, from code `at` of a stream of bytes on. */
void tare_weight_unpack(uint8_t *out, const uint8_t *bytes, uint64_t at, uint64_t n, uint32_t bits);
/* Code `at` of planes, of 32 codes each (is_planar). */
uint8_t tare_weight_planar_code(const uint8_t *bytes, uint64_t at, uint32_t bits);
/* The row of the codes that a row of the weight is. */
uint64_t tare_weight_stored_row(const tare_weight *w, uint64_t row);
/* What a code of four bits stands for. */
float tare_weight_e2m1(uint32_t code);
/* What a byte of E4M3 stands for. */
float tare_weight_e4m3(uint32_t code);
/* Where AWQ puts each of eight neighbours in a word. */
extern const uint8_t tare_weight_awq_order[8];

/* What some rows need: the scale of each element, and its zero. */
typedef struct tare_weight_scales {
    float *scale, *zero; /* zero NULL: none */
    uint32_t *group;     /* of each column; NULL: its number / w->group */
    float *column;       /* factors of columns; NULL: none */
    uint64_t n;          /* scales */
    void *memory;
    size_t size;
    const tare_allocator *allocator;
} tare_weight_scales;

tare_status tare_weight_scales_read(tare_weight_scales *out, const tare_weight *w,
                                    const tare_model *stored, uint64_t first, uint64_t n,
                                    tare_error *err);
void tare_weight_scales_free(tare_weight_scales *s);

/* Bytes [from, from + n) of a part. */
tare_status tare_weight_bytes(void *out, const tare_weight *w, const tare_model *stored,
                              tare_part_kind part, uint64_t from, uint64_t n, tare_error *err);

#endif
