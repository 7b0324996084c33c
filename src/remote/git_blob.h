/* SPDX-License-Identifier: MIT
 *
 * The name that Git gives the content of a file: SHA-1 over "blob SIZE", a NUL and the bytes. The hub
 * states it of files that are not in LFS, which are small. */
#ifndef TARE_REMOTE_GIT_BLOB_H
#define TARE_REMOTE_GIT_BLOB_H

#include <stddef.h>
#include <stdint.h>

#define TARE_GIT_BLOB_BYTES 20

typedef struct tare_git_blob {
    uint32_t state[5];
    uint64_t n; /* bytes so far */
    uint8_t block[64];
} tare_git_blob;

void tare_git_blob_init(tare_git_blob *b, uint64_t size);
void tare_git_blob_update(tare_git_blob *b, const void *bytes, size_t n);
void tare_git_blob_final(tare_git_blob *b, uint8_t name[TARE_GIT_BLOB_BYTES]);

#endif
