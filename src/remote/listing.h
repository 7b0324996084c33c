/* SPDX-License-Identifier: MIT
 *
 * The files of a directory on a server, as a list of them says: the hub's of a model, a store's of what
 * its keys begin with. */
#ifndef TARE_REMOTE_LISTING_H
#define TARE_REMOTE_LISTING_H

#include "base/alloc.h"
#include "base/str.h"
#include "remote/git_blob.h"

#define TARE_LISTED_NO_SIZE UINT64_MAX

typedef struct tare_listed {
    tare_str path;
    uint64_t size; /* TARE_LISTED_NO_SIZE: it is not said */
    tare_str tag;  /* of a store: the file's ETag; empty: it is not said */
    bool has_sha256, has_blob;
    uint8_t sha256[32];                /* of its bytes, in LFS */
    uint8_t blob[TARE_GIT_BLOB_BYTES]; /* its name in Git, where it is not in LFS */
} tare_listed;

typedef struct tare_listing {
    tare_str commit;    /* 40 hexadecimal digits; empty: not stated, or no model of the hub */
    tare_listed *files; /* sorted by path, once it is sealed */
    size_t n;
    size_t capacity; /* allocated without the arena while it grows; 0: it is sealed, or empty */
} tare_listing;

/* Whether a path of a list may be that of a file in its directory: UTF-8 without control characters
 * that does not lead out of it. */
bool tare_listing_is_path(tare_str path);
/* False: memory is out. */
bool tare_listing_add(tare_listing *list, const tare_listed *file);
/* Sorts it and moves it into the arena. CORRUPT: a file is listed twice. */
tare_status tare_listing_seal(tare_listing *list, tare_arena *arena, tare_error *err);
/* Empties one that was not sealed. */
void tare_listing_drop(tare_listing *list);
/* The file of a path in a sealed list; NULL: there is none. */
const tare_listed *tare_listing_find(const tare_listing *list, tare_str path);

#endif
