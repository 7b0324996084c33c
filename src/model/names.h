/* SPDX-License-Identifier: MIT
 *
 * The individual steps of tare_name_index_build, for lists in which a name may occur twice. */
#ifndef TARE_MODEL_NAMES_H
#define TARE_MODEL_NAMES_H

#include "model/catalog.h"

/* An empty index for up to n names. */
tare_status tare_name_index_init(tare_name_index *index, tare_arena *arena, size_t n,
                                 tare_error *err);
/* Enters item i. Returns the position of an existing item of the same name (then nothing is
 * entered), -1 if there is none. Where `same` is given, items of one name are the same only if it
 * says so; a lookup then finds the one that was entered first. */
int64_t tare_name_index_add(tare_name_index *index, const void *names, size_t stride, size_t i,
                            bool (*same)(const void *a, const void *b));

#endif
