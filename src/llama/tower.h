/* SPDX-License-Identifier: MIT
 *
 * Towers: the vision and audio encoders of multimodal models, with the projector to the text model.
 * llama.cpp reads them from a file of their own ("mmproj"). A tower is an architecture (arch.h) whose rules
 * name every tensor; this is what it has beyond that. */
#ifndef TARE_LLAMA_TOWER_H
#define TARE_LLAMA_TOWER_H

#include "llama/arch.h"

/* What config.json must say for llama.cpp to run the tower. */
typedef struct tare_llama_must {
    const char *formula; /* NULL ends a list */
    const char *what;    /* what is wrong where it does not hold */
} tare_llama_must;

typedef struct tare_llama_tower {
    const char *projector; /* clip.projector_type; of the last one, if a tower has several */
    const char *takes;     /* what names of its tensors begin with, "model." and "thinker." cut off;
                              one blank between them */
    const char *layers;    /* formula: the number of its blocks */
    const char *positions; /* formula: rows of v.position_embd; NULL: any number */
    const char *f32, *f16; /* tensors of llama.cpp that have this type, whatever type is asked for,
                              without "blk.N.", one blank between them; NULL: none */
    const char *f16_or_f32; /* those that are F16 if that is asked for, else F32; NULL: none */
    /* Tensors that some of the models do without: ends of rules, without .weight and .bias, or behind '*' how they
     * end, one blank between them; and those of which each block has one, '|' between them. NULL: none. */
    const char *optional, *by_block;
    const char *token;            /* a special token, whose id formulas call `token`; NULL: none */
    const tare_llama_must *musts; /* NULL: none */
    tare_llama_hook generate;     /* tensors that are computed, before all others; NULL: none */
} tare_llama_tower;

struct tare_llama_mapping;

/* Finds the tower of the model and reads what it needs: config.json, the files of the processor, the
 * token. UNSUPPORTED: the model has none, or one that is not known. */
tare_status tare_llama_tower_begin(struct tare_llama_mapping *m, tare_error *err);
/* The name that rules are held against: without "model." or "thinker." before it. */
tare_str tare_llama_tower_name(tare_str name);
/* Whether a tensor of this name (of tare_llama_tower_name) is one of the tower. */
bool tare_llama_tower_takes(const tare_llama_tower *tower, tare_str name);
/* Whether a tensor of llama.cpp, or the end of a rule, is in such a list. */
bool tare_llama_is_spared(const char *words, tare_str name);
/* Reports that a text model is mapped without its tower, if it has one that is known. */
void tare_llama_tower_note(struct tare_llama_mapping *m);
/* CORRUPT where the keys lack one that llama.cpp requires. */
tare_status tare_llama_tower_check(const struct tare_llama_mapping *m, tare_error *err);

#endif
