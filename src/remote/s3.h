/* SPDX-License-Identifier: MIT
 *
 * Object stores that speak S3: names s3://BUCKET/KEY, the addresses they stand for, the lists of objects
 * (ListObjectsV2), and what its errors mean. */
#ifndef TARE_REMOTE_S3_H
#define TARE_REMOTE_S3_H

#include <tare/experimental/remote.h>

#include "base/buffer.h"
#include "remote/listing.h"
#include "remote/response.h"

/* The parts of s3://BUCKET/KEY, within its text. */
typedef struct tare_s3_name {
    tare_str root;   /* "s3://BUCKET" */
    tare_str bucket; /* letters, digits, '-', '_' and '.' */
    tare_str key; /* as the store has it: nothing is escaped; of a folder without the last slash */
    bool is_folder; /* it ends in a slash, or there is no key */
} tare_s3_name;

/* ARG: not such a name, or a key that is no path (an empty part, "." or ".."). */
tare_status tare_s3_name_parse(tare_s3_name *out, const char *text, tare_error *err);

/* Checks the settings of s3:// URLs, which matter to no other URL. ARG: an endpoint that is no URL, a region or a key with characters
 * that no header may hold, half of a pair of keys. */
tare_status tare_s3_check_options(const tare_remote_options *options, tare_error *err);
/* The region, "us-east-1" where none is set. */
const char *tare_s3_region(const tare_remote_options *options);
/* Writes the address of an object, or of a bucket (an empty key): below the endpoint that is set, else
 * at AWS with the bucket as a host, which bucket names with points cannot be. */
void tare_s3_put_address(tare_buffer *out, const tare_remote_options *options, tare_str bucket,
                         tare_str key);
/* Writes the address of a page of the objects whose keys begin with `prefix`, after the one that ended
 * with `token` (empty: the first). */
void tare_s3_put_list(tare_buffer *out, const tare_remote_options *options, tare_str bucket,
                      tare_str prefix, tare_str token);

/* Adds a page of a list, from an untrusted source; paths are what follows the prefix, and what stands
 * for a folder is left out. *token: of the next page, empty after the last. Texts are in the arena.
 * CORRUPT, LIMIT: with the byte. UNSUPPORTED: a key that is no path, with the key. */
tare_status tare_s3_list_parse(tare_listing *list, tare_str *token, tare_str xml, tare_str prefix,
                               tare_arena *arena, const tare_limits *limits, tare_error *err);

/* Bytes of an answer with an error that tell what it is. */
#define TARE_S3_ERROR_MOST 1024
/* Whether a later try may succeed, by the status or the code in the answer's XML. */
bool tare_s3_is_busy(const tare_response *response, tare_str xml);
/* What an answer without the object means, in words. */
const char *tare_s3_fault(const tare_response *response, tare_str xml, bool is_signed);
/* The code of the error, of letters and digits; empty: it has none. */
tare_str tare_s3_code(tare_str xml);
/* Writes what an answer was, "HTTP 301 PermanentRedirect eu-west-1", for messages; xml may be empty.
 * Returns its length, 0 where it does not fit. */
size_t tare_s3_tell(char *out, size_t size, const tare_response *response, tare_str xml);

#endif
