/* SPDX-License-Identifier: MIT
 *
 * Requests to object stores, signed (AWS Signature Version 4). Made here and not by libcurl: versions
 * that are in use sign queries and bodies of S3 in ways that stores refuse. */
#ifndef TARE_REMOTE_S3_SIGN_H
#define TARE_REMOTE_S3_SIGN_H

#include <tare/experimental/remote.h>

#include "base/buffer.h"

typedef struct tare_s3_request {
    const char *method;
    const char *url;  /* with its query sorted and escaped, each name with a '=' */
    const char *body; /* SHA-256 of it, hexadecimal digits; NULL: there is none */
    int64_t now;      /* seconds since 1970 */
} tare_s3_request;

/* Appends lines of the header, a NUL behind each; none where the options have no keys. */
void tare_s3_sign(tare_buffer *out, const tare_remote_options *options,
                  const tare_s3_request *request);

#endif
