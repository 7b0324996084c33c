/* SPDX-License-Identifier: MIT
 *
 * Behind the public handle of adapters: pairs of factors over a model that holds the factors as
 * tensors, whatever their source. */
#ifndef TARE_MODEL_ADAPTER_SET_H
#define TARE_MODEL_ADAPTER_SET_H

#include <tare/experimental/adapter.h>

#include "model/catalog.h"
#include "model/peft.h"

struct tare_adapter_set {
    const tare_model *factors; /* whose tensors the pairs point to */
    tare_model *owned;         /* freed with the set, and holds its memory; NULL: another's */
    const char *path;          /* for messages */
    tare_adapter *adapters;
    size_t n;
    tare_peft_left left; /* what PEFT would not load */
    bool is_peft;        /* matrices are taken as the base's modules have them */
    bool has_stacks;     /* some pairs are experts' parts of factors of stacks */
    bool has_flat_names; /* some modules are COMPONENT.NAME, with '_' for dots in NAME */
};

/* The place of a factor among the tensors of set->factors. */
static inline size_t tare_adapter_factor(const tare_adapter_set *set, const tare_tensor *factor) {
    return (size_t)(factor - set->factors->catalog.tensors);
}

/* Fills rows, cols and rank from the factors' shapes; CORRUPT, without an item, if they do not
 * match. */
tare_status tare_adapter_measure(tare_adapter *adapter, tare_error *err);
/* Adds what an error about a pair lacks: its name and the set's path. Returns status. */
tare_status tare_adapter_fault(const tare_adapter_set *set, const tare_adapter *adapter,
                               tare_status status, tare_error *err);

#endif
