/* SPDX-License-Identifier: MIT
 *
 * The requests that make an object of an S3 store: whether it is there, multipart uploads from their
 * beginning to their end, and the list of those that have none yet. */
#ifndef TARE_REMOTE_MULTIPART_H
#define TARE_REMOTE_MULTIPART_H

#include "remote/call.h"
#include "remote/s3.h"

#define TARE_PARTS_OF_UPLOAD 10000 /* the most that a store takes */

/* An object that is to be. */
typedef struct tare_multipart {
    tare_remote *remote;
    tare_arena *arena;
    const char *name;    /* s3://BUCKET/KEY, for messages */
    const char *address; /* its URL */
    tare_str bucket, key;
    const char *id;    /* of its upload; NULL: none was begun */
    const char **tags; /* of each part, as the store said them when it took it */
    size_t n_parts;
} tare_multipart;

typedef struct tare_object_facts {
    bool exists;
    bool is_hidden; /* the keys may write it and not read it: the store does not say */
    uint64_t size;
    char etag[TARE_VALIDATOR_MAX];
} tare_object_facts;

/* The object of a name; `name` and what is made of it are in the arena. ARG: it names none. */
tare_status tare_multipart_init(tare_multipart *out, tare_remote *remote, tare_arena *arena,
                                const char *name, tare_error *err);
/* Asks for the object as it is now. */
tare_status tare_object_look(tare_object_facts *out, const tare_multipart *m, tare_error *err);
/* ARG, TARE_CODE_OUTPUT_EXISTS: it is there, and was not to be. */
tare_status tare_object_fail_exists(const tare_multipart *m, tare_error *err);
/* How many objects' keys begin so, at least. */
tare_status tare_objects_count(size_t *out, const tare_multipart *m, tare_str prefix,
                               tare_error *err);
/* Sends a whole object. `before`: what has its name; that an answer may get lost is considered. `is_new`:
 * only if there is none. */
tare_status tare_object_put(tare_object_facts *out, const tare_multipart *m,
                            const tare_object_facts *before, const void *bytes, size_t n,
                            bool is_new, tare_error *err);

tare_status tare_multipart_begin(tare_multipart *m, tare_error *err);
/* Writes the URL of part `number`, from 1. */
void tare_multipart_put_part(tare_buffer *out, const tare_multipart *m, size_t number);
/* Makes the object of all parts; as tare_object_put. */
tare_status tare_multipart_complete(tare_object_facts *out, const tare_multipart *m,
                                    const tare_object_facts *before, uint64_t size, bool is_new,
                                    tare_error *err);
/* Removes the upload and its parts. */
tare_status tare_multipart_abort(const tare_multipart *m, const char *id, tare_error *err);

#endif
