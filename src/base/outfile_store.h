/* SPDX-License-Identifier: MIT
 *
 * Stores of objects: places that are no file systems, where an output can be put all the same. An object
 * takes its bytes in any order, but each only once, shows none before it is complete, and gives none back. */
#ifndef TARE_BASE_OUTFILE_STORE_H
#define TARE_BASE_OUTFILE_STORE_H

#include "base/outfile.h"

typedef struct tare_store_object tare_store_object; /* that is being made; the store's own */

/* What a store offers. `ctx` is its own; functions on an object may be called by many threads. */
typedef struct tare_store {
    void *ctx;
    /* Whether a path names something in a store, and not a file. */
    bool (*has)(const char *path);
    /* Whether an output may be put there: EXISTS without `force`. Nothing is changed. */
    tare_status (*check)(void *ctx, const char *path, const tare_out_options *options,
                         tare_error *err);
    /* Begins an object. `name`: within the folder `path`, NULL: the path is the object's. Size 0: it is
     * not known, and the first bytes may be written again at the end. */
    tare_status (*begin)(void *ctx, tare_store_object **out, const char *path, const char *name,
                         uint64_t size, const tare_out_options *options, tare_error *err);
    tare_status (*write)(tare_store_object *o, uint64_t offset, const void *bytes, size_t n,
                         tare_error *err);
    /* Says that nothing will be written there: zeros. */
    tare_status (*skip)(tare_store_object *o, uint64_t offset, uint64_t n, tare_error *err);
    /* Waits until all bytes are there. */
    tare_status (*settle)(tare_store_object *o, tare_error *err);
    /* Behind that: makes the object appear, and checks that it did. */
    tare_status (*commit)(tare_store_object *o, tare_error *err);
    /* Without a commit, what was sent is removed. NULL is fine. */
    void (*free)(tare_store_object *o);
} tare_store;

/* UNSUPPORTED: bytes of the output `name` were sent, and are to be changed or read. */
tare_status tare_store_fail_rewritten(const char *name, tare_error *err);

#endif
