/* SPDX-License-Identifier: MIT
 *
 * Fuzz target: any bytes, encoded with any options, come back, and are encoded to the same bytes
 * when that is done again.
 *
 * Input: four bytes of choices, then the plane's bytes (half of them the base where there is one).
 */
#include <stdlib.h>
#include <string.h>

#include "fuzz_check.h"
#include "wcodec/wc_encode.h"
#include "wcodec/wc_head.h"

/* What is tried with full effort takes time: a few hundred inputs a second are worth more. */
enum { CHOICES = 4, MOST = 1 << 12, MOST_FULL = 1 << 10 };

static const uint8_t items[4] = {4, 6, 8, 16};

typedef struct plane {
    tare_wc_shape shape;
    tare_wc_options options;
    const uint8_t *bytes;
    uint32_t n_bytes;
    const tare_wc_reference *reference;
} plane;

/* The head, and after it one segment. */
static void encode(tare_buffer *out, size_t *n_head, const plane *p, tare_wc_scratch *scratch) {
    tare_error err;
    tare_wc_scheme *scheme;
    tare_wc_tally *tally = tare_wc_tally_new(&p->shape, &p->options, p->reference != NULL, NULL);
    FUZZ_CHECK(tally);
    FUZZ_CHECK(tare_wc_tally_add(tally, p->bytes, p->n_bytes, p->reference, scratch, &err) ==
               TARE_OK);
    FUZZ_CHECK(tare_wc_scheme_new(&scheme, tally, &err) == TARE_OK);
    tare_buffer_init(out, NULL);
    tare_wc_head_write(out, tare_wc_scheme_head(scheme));
    *n_head = out->size;
    FUZZ_CHECK(tare_wc_encode_segment(out, scheme, p->bytes, p->n_bytes, p->reference, scratch,
                                      &err) == TARE_OK);
    FUZZ_CHECK(out->size - *n_head <= tare_wc_max_stored(p->n_bytes));
    tare_buffer_put_zeros(out, TARE_WC_READ_AHEAD);
    tare_wc_scheme_free(scheme);
    tare_wc_tally_free(tally);
}

static void check_back(const tare_buffer *stored, size_t n_head, const plane *p,
                       tare_wc_scratch *scratch) {
    tare_arena arena;
    tare_cursor c;
    tare_error err;
    tare_wc_head *head;
    unsigned failed;
    uint8_t *dst = malloc(p->n_bytes);
    FUZZ_CHECK(dst);
    tare_arena_init(&arena, NULL);
    tare_cursor_init(&c, stored->data, n_head, 0);
    FUZZ_CHECK(tare_wc_head_read(&head, &p->shape, &c, &arena, &err) == TARE_OK);
    uint32_t size = (uint32_t)(stored->size - n_head - TARE_WC_READ_AHEAD);
    tare_wc_piece piece = {.head = head,
                           .bytes = stored->data + n_head,
                           .stored = size,
                           .present = size,
                           .dst = dst,
                           .n_bytes = p->n_bytes,
                           .reference = p->reference};
    FUZZ_CHECK(tare_wc_decode(&piece, 1, TARE_WC_ALL_GROUPS, scratch, &failed, &err) == TARE_OK);
    FUZZ_CHECK(memcmp(dst, p->bytes, p->n_bytes) == 0);
    tare_arena_free(&arena);
    free(dst);
}

int LLVMFuzzerTestOneInput(const uint8_t *data, size_t size) {
    if (size < CHOICES) return 0;
    uint8_t value_bits = items[data[0] & 3];
    bool is_scales = value_bits == 6 && data[0] & 4;
    uint32_t unit = value_bits == 16 ? 2 : is_scales ? 12 : value_bits == 6 ? 3 : 1;
    bool has_base = data[0] & 8;
    size_t n = (size - CHOICES) / (has_base ? 2 : 1) / unit * unit;
    if (n > MOST) return 0;
    if (data[0] & 16 && n > MOST_FULL) n = MOST_FULL / unit * unit;
    if (n == 0) return 0;
    const tare_wc_reference reference = {.bytes = data + CHOICES + n};
    plane p = {
        .shape = {value_bits, 20, value_bits == 16 && data[0] & 4, is_scales},
        .options = {.is_full = data[0] & 16,
                    .is_repetitive = data[0] & 32,
                    .is_signed = data[0] & 64,
                    .width = data[2],
                    .mode = (tare_coded_mode)(data[1] % (TARE_CODED_STRUCTURED + 1))},
        .bytes = data + CHOICES,
        .n_bytes = (uint32_t)n,
        .reference = has_base ? &reference : NULL,
    };
    if (value_bits == 8 && !has_base && data[3] % 4 == 0) p.options.trellis = data[3] % 8 ? 8 : 32;
    tare_wc_scratch scratch;
    tare_buffer first, again;
    size_t n_head, n_again;
    tare_wc_scratch_init(&scratch, NULL);
    encode(&first, &n_head, &p, &scratch);
    check_back(&first, n_head, &p, &scratch);
    if (data[3] & 16) { /* not always: it doubles the time */
        encode(&again, &n_again, &p, &scratch);
        FUZZ_CHECK(n_head == n_again && first.size == again.size);
        FUZZ_CHECK(memcmp(first.data, again.data, first.size) == 0);
        tare_buffer_free(&again);
    }
    tare_buffer_free(&first);
    tare_wc_scratch_free(&scratch);
    return 0;
}
