/* SPDX-License-Identifier: MIT
 *
 * The GGUF driver's row of the table: what it recognises and what a GGUF file can hold. */
#include <string.h>

#include "encoding/table.h"
#include "format/gguf/gguf.h"
#include "format/gguf/gguf_types.h"

static bool probe(const tare_probe *p) {
    if (p->is_directory) return tare_gguf_probe_directory(p);
    /* A file truncated within its magic still counts: the reader reports it. */
    size_t n = p->head_size < 4 ? p->head_size : 4;
    return n && (memcmp(p->head, "GGUF", n) == 0 || memcmp(p->head, "FUGG", n) == 0);
}

/* A type known only by its number in the file keeps that number. */
static bool has_encoding(const tare_encoding *encoding) {
    uint32_t type;
    return encoding->kind == TARE_KIND_UNKNOWN || tare_gguf_type_of(encoding, &type);
}

/* 63 bytes and 4 dimensions are what ggml reads, though the format's text allows 64. */
static const tare_format_caps caps = {
    .has_encoding = has_encoding,
    .max_dims = 4,
    .max_name = 63,
    .bytes_type = &tare_encoding_table[TARE_ENCODING_I8],
};

const tare_format tare_format_gguf = {
    .name = "gguf",
    .description = "GGUF, the format of llama.cpp",
    .suffix = ".gguf",
    .caps = &caps,
    .read = {.probe = probe, .open = tare_gguf_open, .is_part = tare_gguf_is_later_part},
    .write = {.version = 3, .plan = tare_gguf_plan},
    .stored = {.program = TARE_PROGRAM_LLAMA_CPP,
               .keys = TARE_KEY_FORM_TYPED,
               .shards = TARE_SHARDS_NUMBERED},
};
