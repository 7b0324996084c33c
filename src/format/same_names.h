/* SPDX-License-Identifier: MIT
 *
 * Lists of a container in which names may occur twice, which a catalog does not have: those that come
 * later get a number, NAME#2. */
#ifndef TARE_FORMAT_SAME_NAMES_H
#define TARE_FORMAT_SAME_NAMES_H

#include "model/catalog.h"

typedef struct tare_same_names {
    tare_model *m;       /* new names are in its arena */
    tare_arena *scratch; /* for the call */
    tare_report *report; /* gets a warning for each, */
    const char *code;    /* static, */
    const char *why;     /* that says how this comes */
} tare_same_names;

/* Items begin with a name, and are `stride` bytes apart. */
tare_status tare_same_names_number(const tare_same_names *names, void *items, size_t n,
                                   size_t stride, tare_item_kind kind, tare_error *err);

#endif
