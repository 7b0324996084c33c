/* SPDX-License-Identifier: MIT
 *
 * Tensors that were packed with loss: a .wcodec stores them as int8_rowwise, or as I16 with one step
 * for all, and a record says of which type they were, and what their columns are multiplied by
 * (docs/wcodec.md, 14). The record is the metadata key "tare.lossy" (MODEL space), a JSON text;
 * while opening it is taken out of the visible metadata, and the tensors become those of their type,
 * decoded when they are read. */
#ifndef TARE_MODEL_LOSSY_RECORD_H
#define TARE_MODEL_LOSSY_RECORD_H

#include "model/catalog.h"

#define TARE_LOSSY_KEY "tare.lossy"

enum { TARE_LOSSY_MOST_COLUMN = 31 };

/* What the record says of the whole. */
typedef struct tare_lossy {
    tare_str container; /* the format of the source */
    tare_str method;
    /* What was asked for, the others 0: bits for each weight, bytes of the file, a damage. */
    double target_bpw, target_bytes, target_damage;
    double lambda;            /* of the choice of values, in squared distances between them */
    double damage;            /* as predicted */
    bool is_weighted;         /* by an importance matrix */
    uint8_t source[32];       /* model digest of the source */
    size_t n_tensors;         /* that have lost something */
    const tare_model *stored; /* the tensors as they are stored; NULL: none was lossy */
} tare_lossy;

/* A tensor of it. */
typedef struct tare_lossy_tensor {
    size_t tensor;
    tare_encoding_id type; /* F32, F16, BF16 */
    float step;            /* of I16; 0: it is stored as int8_rowwise */
    const int8_t *columns; /* quarters of octaves, -32 .. 31, of the factor of each; NULL: all 0 */
} tare_lossy_tensor;

/* 2^(quarters / 4). */
float tare_lossy_factor(int quarters);
/* The key; its tensors in ascending order. `cols`: of each, where it has columns. */
tare_status tare_lossy_record(tare_metadata *out, const tare_lossy *lossy,
                              const tare_lossy_tensor *tensors, const uint64_t *cols, size_t n,
                              tare_arena *arena, tare_error *err);
bool tare_lossy_is_record(const tare_metadata *entry);
/* Reads the record of a model that is being opened, if it has one, and replaces the tensors.
 * CORRUPT: it does not fit them. To be called before tare_model_finish. */
tare_status tare_lossy_restore(tare_model *m, tare_error *err);

#endif
