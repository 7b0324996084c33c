/* SPDX-License-Identifier: MIT
 *
 * PyTorch files put together in memory: an archive of stored members, and pickles. */
#ifndef TARE_TESTS_TORCH_SAMPLE_H
#define TARE_TESTS_TORCH_SAMPLE_H

#include "base/buffer.h"
#include "base/str.h"

typedef struct zip_sample {
    tare_buffer file, directory;
    uint16_t n;
} zip_sample;

static inline void put_u16(tare_buffer *b, uint16_t v) {
    tare_buffer_put_u8(b, (uint8_t)v);
    tare_buffer_put_u8(b, (uint8_t)(v >> 8));
}

static inline void zip_begin(zip_sample *z) {
    tare_buffer_init(&z->file, NULL);
    tare_buffer_init(&z->directory, NULL);
    z->n = 0;
}

/* What a header and an entry have in common, from the version on. */
static inline void zip_facts(tare_buffer *b, const char *name, size_t size) {
    put_u16(b, 20);
    tare_buffer_put_zeros(b, 12);
    tare_buffer_put_u32(b, (uint32_t)size, false);
    tare_buffer_put_u32(b, (uint32_t)size, false);
    put_u16(b, (uint16_t)strlen(name));
    put_u16(b, 0);
}

static inline void zip_add(zip_sample *z, const char *name, const void *bytes, size_t size) {
    const uint32_t at = (uint32_t)z->file.size;
    tare_buffer_put_text(&z->file, "PK\3\4");
    zip_facts(&z->file, name, size);
    tare_buffer_put_text(&z->file, name);
    tare_buffer_put(&z->file, bytes, size);
    tare_buffer_put_text(&z->directory, "PK\1\2");
    put_u16(&z->directory, 20);
    zip_facts(&z->directory, name, size);
    tare_buffer_put_zeros(&z->directory, 10);
    tare_buffer_put_u32(&z->directory, at, false);
    tare_buffer_put_text(&z->directory, name);
    z->n++;
}

/* The archive is in z->file then. */
static inline void zip_end(zip_sample *z) {
    const uint32_t at = (uint32_t)z->file.size;
    tare_buffer_put(&z->file, z->directory.data, z->directory.size);
    tare_buffer_put_text(&z->file, "PK\5\6");
    tare_buffer_put_zeros(&z->file, 4);
    put_u16(&z->file, z->n);
    put_u16(&z->file, z->n);
    tare_buffer_put_u32(&z->file, (uint32_t)z->directory.size, false);
    tare_buffer_put_u32(&z->file, at, false);
    put_u16(&z->file, 0);
}

static inline void zip_free(zip_sample *z) {
    tare_buffer_free(&z->file);
    tare_buffer_free(&z->directory);
}

#endif
