/* SPDX-License-Identifier: MIT
 *
 * The schemes that can be written: how the parts of a weight are named and laid out. */
#ifndef TARE_OPS_SCHEMES_WRITERS_H
#define TARE_OPS_SCHEMES_WRITERS_H

#include <tare/experimental/schemes.h>

#include "encoding/group_encode.h"

/* What a tensor of a packed weight holds. */
typedef enum tare_written_kind {
    TARE_WRITTEN_CODES = 0,  /* dense in each row, the first in the lowest bits */
    TARE_WRITTEN_SCALES,     /* [rows, groups] */
    TARE_WRITTEN_OFFSETS,    /* the same */
    TARE_WRITTEN_ZEROS,      /* dense down the rows of each group: [rows * bits / 32, groups] */
    TARE_WRITTEN_SHAPE,      /* rows and columns */
    TARE_WRITTEN_FACTOR,     /* of all scales, which are stored multiplied by it */
    TARE_WRITTEN_MULTIPLIER, /* the same, and they are stored divided by it */
    TARE_WRITTEN_INPUT,   /* what scales the weight's input, which is kept; a scheme's last part */
    TARE_WRITTEN_NOTE,    /* the format, as ComfyUI's JSON */
    TARE_WRITTEN_NUMBERS, /* no codes: the weight itself */
} tare_written_kind;

enum { TARE_WRITTEN_PARTS = 4, TARE_NOTE_ROOM = 64 };
static inline bool tare_written_is_factor(tare_written_kind kind) {
    return kind == TARE_WRITTEN_FACTOR || kind == TARE_WRITTEN_MULTIPLIER;
}

typedef struct tare_written_part {
    const char *suffix; /* after the module's name; NULL: no more parts */
    tare_written_kind kind;
    tare_encoding_id type; /* UNKNOWN: that of the model's numbers */
} tare_written_part;

/* Whose settings config.json has. */
typedef enum tare_writer_family {
    TARE_WRITER_COMPRESSED, /* compressed-tensors */
    TARE_WRITER_BLOCK_FP8,  /* quant_method fp8, as DeepSeek has it */
    TARE_WRITER_MLX,
    TARE_WRITER_MODELOPT,
    TARE_WRITER_COMFY, /* in tensors beside the weights */
} tare_writer_family;

typedef struct tare_writer {
    const char *name, *description;
    tare_writer_family family;
    const char *format; /* what the family calls it */
    tare_group_kind kind;
    uint32_t
        bits; /* 0: each weight in the scheme of the family that has its codes, if there is one */
    uint32_t group;          /* columns that share a scale; 0: all of a row */
    const char *groups;      /* other sizes that can be asked for */
    uint32_t block_rows;     /* rows that share scales */
    tare_encoding_id scale;  /* UNKNOWN: the type of the model's numbers */
    const char *activations; /* compressed-tensors: input_activations */
    tare_written_part parts[TARE_WRITTEN_PARTS];
} tare_writer;

extern const tare_writer tare_writers[]; /* name NULL ends */

/* A scheme as it was asked for. */
typedef struct tare_scheme_choice {
    const tare_writer *writer; /* NULL: none */
    uint32_t group;
    bool is_plain;
} tare_scheme_choice;

/* ARG: no scheme of that name, or none with these sizes; err->field has the words. */
tare_status tare_scheme_read(tare_scheme_choice *out, const char *text, tare_error *err);

/* Whether a part is in the scheme's list; whether one is a factor of all scales. */
bool tare_writer_has(const tare_writer *w, tare_written_kind kind);
bool tare_writer_has_factor(const tare_writer *w);
/* Whether the factor is the scale of all codes. */
bool tare_writer_has_one_scale(const tare_writer *w);
/* Whether it is for servers, which run some weights as one. */
bool tare_writer_is_for_servers(const tare_writer *w);
/* The words of the note: their number. */
size_t tare_writer_note(char *out, size_t size, const tare_writer *w);

#endif
