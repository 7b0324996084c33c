/* SPDX-License-Identifier: MIT
 *
 * What a store says of uploads that nobody completed: pages of ListMultipartUploads and of ListParts. */
#ifndef TARE_REMOTE_UPLOAD_LIST_H
#define TARE_REMOTE_UPLOAD_LIST_H

#include "base/alloc.h"
#include "base/str.h"

typedef struct tare_upload_entry {
    tare_str key, id, begun; /* `begun` may be empty */
} tare_upload_entry;

typedef struct tare_upload_page {
    tare_upload_entry *entries;
    size_t n, capacity;
    tare_str next_key, next_id; /* where the next page begins; no key: there is none */
} tare_upload_page;

typedef struct tare_upload_parts {
    uint64_t n, n_bytes;
    uint64_t next; /* marker of the next page; 0: there is none */
} tare_upload_parts;

/* Errors have a place in the answer. Texts are in the arena; what was read is to be dropped either way. */
tare_status tare_upload_page_parse(tare_upload_page *out, tare_str xml, tare_arena *arena,
                                   tare_error *err);
void tare_upload_page_drop(tare_upload_page *page, const tare_arena *arena);
/* Adds a page of parts to those before it, whose `next` it has. */
tare_status tare_upload_parts_parse(tare_upload_parts *sum, tare_str xml, tare_error *err);

#endif
