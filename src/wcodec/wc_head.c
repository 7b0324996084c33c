/* SPDX-License-Identifier: MIT
 *
 * Heads of streams and headers of segments. */
#include "wcodec/wc_head.h"

#include <string.h>

#include "base/bytes.h"
#include "wcodec/wc_edge.h"
#include "wcodec/wc_table.h"

bool tare_wc_is_zero(const uint8_t *bytes, size_t n) {
    unsigned any = 0;
    for (size_t i = 0; i < n; i++) any |= bytes[i];
    return !any;
}

tare_status tare_wc_shape_check(const tare_wc_shape *shape, tare_error *err) {
    uint8_t value_bits = shape->value_bits;
    if (value_bits != 4 && value_bits != 6 && value_bits != 8 && value_bits != 16)
        return tare_fail(err, TARE_ERR_CORRUPT, "stream: bits of a value must be 4, 6, 8 or 16");
    if (shape->log2_segment < TARE_WC_MIN_LOG2 || shape->log2_segment > TARE_WC_MAX_LOG2)
        return tare_fail(err, TARE_ERR_CORRUPT, "stream: size of segments must be 2^14 to 2^26");
    if (shape->is_big_endian && value_bits != 16)
        return tare_fail(err, TARE_ERR_CORRUPT, "stream: only 16-bit values have a byte order");
    if (shape->is_scales && value_bits != 6)
        return tare_fail(err, TARE_ERR_CORRUPT, "stream: packed scales have 6 bits");
    return TARE_OK;
}

/* ---- rules ----------------------------------------------------------------------------------- */

/* Whether the form, k, map and trellis go together. */
static bool is_valid_rule(const tare_wc_rule *rule, uint8_t value_bits) {
    if (rule->form > TARE_CODED_EDGE || rule->k >= value_bits) return false;
    if (value_bits < 8 && (rule->form || rule->k || rule->has_map)) return false;
    if (rule->form == TARE_CODED_SIGN && rule->k == 0) return false;
    if (rule->form == TARE_CODED_EDGE &&
        (value_bits != 8 || rule->k != TARE_WC_EDGE_K || rule->has_map))
        return false;
    if (rule->trellis == 0) return true;
    return (rule->trellis == 8 || rule->trellis == 32) && value_bits == 8 && rule->k == 0 &&
           rule->form == TARE_CODED_PLAIN && !rule->has_map;
}

void tare_wc_rule_complete(tare_wc_rule *rule, uint8_t value_bits) {
    if (rule->has_map) return;
    for (unsigned i = 0; i < 64; i++)
        rule->map[i] = (uint16_t)(i & ((1u << (value_bits - rule->k)) - 1));
}

/* Bytes of an entry of the map. */
static unsigned map_width(const tare_wc_rule *rule, uint8_t value_bits) {
    return value_bits - rule->k <= 8 ? 1 : 2;
}

static tare_status read_rule(tare_wc_rule *rule, uint8_t value_bits, tare_cursor *c,
                             tare_error *err) {
    uint64_t at = tare_cursor_offset(c);
    rule->form = tare_cursor_u8(c, "rule: the head ends inside it");
    rule->k = tare_cursor_u8(c, "rule: the head ends inside it");
    uint8_t has_map = tare_cursor_u8(c, "rule: the head ends inside it");
    rule->trellis = tare_cursor_u8(c, "rule: the head ends inside it");
    TARE_TRY(tare_cursor_status(c, err));
    rule->has_map = has_map == 1;
    if (has_map > 1 || !is_valid_rule(rule, value_bits))
        return tare_fail_at(err, TARE_ERR_CORRUPT, at,
                            "rule: its form, bits, map and trellis cannot be combined");
    for (unsigned i = 0; rule->has_map && i < 64; i++) {
        uint64_t entry_at = tare_cursor_offset(c);
        uint16_t top = map_width(rule, value_bits) == 1
                           ? tare_cursor_u8(c, "map of a rule: the head ends inside it")
                           : tare_cursor_u16(c, "map of a rule: the head ends inside it");
        TARE_TRY(tare_cursor_status(c, err));
        if (top >> (value_bits - rule->k))
            return tare_fail_at(err, TARE_ERR_CORRUPT, entry_at,
                                "map of a rule: an entry has more bits than the top of a value");
        rule->map[i] = top;
    }
    tare_wc_rule_complete(rule, value_bits);
    return TARE_OK;
}

static void write_rule(tare_buffer *out, const tare_wc_rule *rule, uint8_t value_bits) {
    tare_buffer_put_u8(out, rule->form);
    tare_buffer_put_u8(out, rule->k);
    tare_buffer_put_u8(out, rule->has_map);
    tare_buffer_put_u8(out, rule->trellis);
    for (unsigned i = 0; rule->has_map && i < 64; i++) {
        tare_buffer_put_u8(out, (uint8_t)rule->map[i]);
        if (map_width(rule, value_bits) == 2) tare_buffer_put_u8(out, (uint8_t)(rule->map[i] >> 8));
    }
}

/* ---- head ------------------------------------------------------------------------------------ */

enum { HEAD_COUNTS = 8, RULE_CHOICES = 4 /* bytes that they begin with */ };

static tare_status read_contexts(tare_wc_head *head, tare_cursor *c, tare_arena *arena,
                                 tare_error *err) {
    uint64_t at = tare_cursor_offset(c);
    unsigned n = head->n_contexts;
    const uint8_t *bytes = tare_cursor_take(c, n, "contexts: the head ends inside them");
    if (!bytes) return tare_cursor_status(c, err);
    for (unsigned i = 0; i < n; i++) {
        if (bytes[i] >= head->n_t16)
            return tare_fail_at(err, TARE_ERR_CORRUPT, at + i,
                                "contexts: a table that is not in the head");
    }
    uint8_t *copy = TARE_NEW_ARRAY(arena, uint8_t, n);
    if (!copy) return tare_fail(err, TARE_ERR_NOMEM, "contexts");
    if (n) memcpy(copy, bytes, n);
    head->contexts = copy;
    return TARE_OK;
}

static tare_status read_counts(tare_wc_head *head, tare_cursor *c, tare_error *err) {
    uint64_t at = tare_cursor_offset(c);
    head->n_rules = tare_cursor_u8(c, "head of a stream: it ends inside its 8 bytes");
    head->n_t64 = tare_cursor_u8(c, "head of a stream: it ends inside its 8 bytes");
    head->n_t16 = tare_cursor_u8(c, "head of a stream: it ends inside its 8 bytes");
    uint8_t zero = tare_cursor_u8(c, "head of a stream: it ends inside its 8 bytes");
    head->n_contexts = tare_cursor_u16(c, "head of a stream: it ends inside its 8 bytes");
    uint16_t zeros = tare_cursor_u16(c, "head of a stream: it ends inside its 8 bytes");
    TARE_TRY(tare_cursor_status(c, err));
    if (head->n_rules > TARE_WC_MAX_RULES || head->n_t64 > TARE_WC_MAX_TABLES ||
        head->n_t16 > TARE_WC_MAX_TABLES)
        return tare_fail_at(err, TARE_ERR_CORRUPT, at,
                            "head of a stream: too many rules or tables");
    if (zero || zeros)
        return tare_fail_at(err, TARE_ERR_CORRUPT, at,
                            "head of a stream: a reserved byte is not 0");
    if (head->n_contexts == 0) return TARE_OK;
    unsigned planes = (head->n_contexts - 2u) / 33;
    if (head->n_contexts < 35 || (head->n_contexts - 2u) % 33 || planes > TARE_WC_MAX_MAGNITUDE)
        return tare_fail_at(
            err, TARE_ERR_CORRUPT, at + 4,
            "head of a stream: number of contexts: expected 0 or 2 + 33 * B, B 1 to 12");
    head->max_magnitude = (uint8_t)planes;
    return TARE_OK;
}

tare_status tare_wc_head_read(tare_wc_head **out, const tare_wc_shape *shape, tare_cursor *c,
                              tare_arena *arena, tare_error *err) {
    *out = NULL;
    TARE_TRY(tare_wc_shape_check(shape, err));
    tare_wc_head *head = TARE_NEW(arena, tare_wc_head);
    if (!head) return tare_fail(err, TARE_ERR_NOMEM, "head of a stream");
    head->shape = *shape;
    if (tare_cursor_left(c) == 0) {
        *out = head;
        return TARE_OK;
    }
    TARE_TRY(read_counts(head, c, err));
    head->rules = TARE_NEW_ARRAY(arena, tare_wc_rule, head->n_rules);
    head->t64 = TARE_NEW_ARRAY(arena, tare_wc_table, head->n_t64);
    head->t16 = TARE_NEW_ARRAY(arena, tare_wc_table, head->n_t16);
    if (!head->rules || !head->t64 || !head->t16)
        return tare_fail(err, TARE_ERR_NOMEM, "head of a stream");
    for (unsigned i = 0; i < head->n_rules; i++)
        TARE_TRY(read_rule(&head->rules[i], shape->value_bits, c, err));
    for (unsigned i = 0; i < head->n_t64; i++)
        TARE_TRY(tare_wc_table_read(&head->t64[i], 64, c, err));
    for (unsigned i = 0; i < head->n_t16; i++)
        TARE_TRY(tare_wc_table_read(&head->t16[i], 16, c, err));
    TARE_TRY(read_contexts(head, c, arena, err));
    uint64_t at = tare_cursor_offset(c), left = tare_cursor_left(c);
    if (left >= TARE_CODED_UNIT ||
        !tare_wc_is_zero(tare_cursor_take(c, left, "padding"), (size_t)left))
        return tare_fail_at(err, TARE_ERR_CORRUPT, at,
                            "head of a stream: what follows it must be zeros to a multiple of 64");
    *out = head;
    return TARE_OK;
}

static bool is_empty(const tare_wc_head *head) {
    return !head->n_rules && !head->n_t64 && !head->n_t16;
}

uint32_t tare_wc_head_bytes(const tare_wc_head *head) {
    uint32_t n = HEAD_COUNTS + 128u * head->n_t64 + 32u * head->n_t16 + head->n_contexts;
    for (unsigned i = 0; i < head->n_rules; i++) {
        const tare_wc_rule *rule = &head->rules[i];
        n += RULE_CHOICES + (rule->has_map ? 64 * map_width(rule, head->shape.value_bits) : 0);
    }
    return is_empty(head) ? 0 : tare_wc_align(n);
}

void tare_wc_head_write(tare_buffer *out, const tare_wc_head *head) {
    size_t start = out->size;
    if (is_empty(head)) return;
    tare_buffer_put_u8(out, head->n_rules);
    tare_buffer_put_u8(out, head->n_t64);
    tare_buffer_put_u8(out, head->n_t16);
    tare_buffer_put_u8(out, 0);
    tare_buffer_put_u8(out, (uint8_t)head->n_contexts);
    tare_buffer_put_u8(out, (uint8_t)(head->n_contexts >> 8));
    tare_buffer_put_zeros(out, 2);
    for (unsigned i = 0; i < head->n_rules; i++)
        write_rule(out, &head->rules[i], head->shape.value_bits);
    for (unsigned i = 0; i < head->n_t64 + (unsigned)head->n_t16; i++) {
        const tare_wc_table *t = i < head->n_t64 ? &head->t64[i] : &head->t16[i - head->n_t64];
        uint8_t *bytes = tare_buffer_extend(out, 2u * t->alphabet);
        if (bytes) tare_wc_table_write(bytes, t);
    }
    tare_buffer_put(out, head->contexts, head->n_contexts);
    size_t rest = (out->size - start) % TARE_CODED_UNIT;
    if (rest) tare_buffer_put_zeros(out, TARE_CODED_UNIT - rest);
}

/* ---- segment --------------------------------------------------------------------------------- */

/* Which bytes of the header each mode uses; the others must be 0. */
static const struct {
    uint8_t first, end; /* a run of bytes */
    uint8_t modes;      /* a bit for each mode that uses it */
} segment_fields[] = {
    {1, 2, 1 << TARE_CODED_CONSTANT | 1 << TARE_CODED_ZSTD | 1 << TARE_CODED_DIRECT},
    {2, 4, 1 << TARE_CODED_DIRECT | 1 << TARE_CODED_STRUCTURED},
    {8, 12, 1 << TARE_CODED_ZSTD | 1 << TARE_CODED_DIRECT | 1 << TARE_CODED_STRUCTURED},
    {12, 24, 1 << TARE_CODED_DIRECT | 1 << TARE_CODED_STRUCTURED},
    {24, 25, 1 << TARE_CODED_DIRECT},
    {25, 26, 1 << TARE_CODED_DIRECT | 1 << TARE_CODED_STRUCTURED},
    {26, 27, 1 << TARE_CODED_DIRECT},
    {27, 28, 0},
    {28, 32, 1 << TARE_CODED_CONSTANT},
};

tare_status tare_wc_segment_read(tare_wc_segment *s, tare_cursor *c, tare_error *err) {
    uint64_t at = tare_cursor_offset(c);
    const uint8_t *bytes =
        tare_cursor_take(c, TARE_WC_SEGMENT_HEADER, "segment: it ends inside its 32 bytes");
    if (!bytes) return tare_cursor_status(c, err);
    if (bytes[0] >= TARE_CODED_STRUCTURED)
        return tare_fail_at(err, TARE_ERR_CORRUPT, at, "segment: unknown mode");
    const uint8_t mode = (uint8_t)(bytes[0] + 1);
    for (size_t i = 0; i < sizeof segment_fields / sizeof segment_fields[0]; i++) {
        unsigned first = segment_fields[i].first, end = segment_fields[i].end;
        if (segment_fields[i].modes >> mode & 1) continue;
        if (!tare_wc_is_zero(bytes + first, end - first))
            return tare_fail_at(err, TARE_ERR_CORRUPT, at + first,
                                "segment: a field that the mode does not use is not 0");
    }
    if (bytes[1] > TARE_CODED_REF_SCALED)
        return tare_fail_at(err, TARE_ERR_UNSUPPORTED, at + 1, "segment: unknown predictor");
    *s = (tare_wc_segment){
        .mode = mode,
        .predictor = bytes[1],
        .rule = bytes[2],
        .table = bytes[3],
        .crc = tare_load_le32(bytes + 4),
        .size_a = tare_load_le32(bytes + 8),
        .size_b = tare_load_le32(bytes + 12),
        .count = tare_load_le32(bytes + 16),
        .extent = tare_load_le32(bytes + 20),
        .n_classes = bytes[24],
        .option = bytes[25],
        .rice = bytes[26],
    };
    memcpy(s->pattern, bytes + 28, 4);
    return TARE_OK;
}

void tare_wc_segment_write(uint8_t bytes[TARE_WC_SEGMENT_HEADER], const tare_wc_segment *s) {
    memset(bytes, 0, TARE_WC_SEGMENT_HEADER);
    bytes[0] = (uint8_t)(s->mode - 1);
    bytes[1] = s->predictor;
    bytes[2] = s->rule;
    bytes[3] = s->table;
    tare_store_le32(bytes + 4, s->crc);
    tare_store_le32(bytes + 8, s->size_a);
    tare_store_le32(bytes + 12, s->size_b);
    tare_store_le32(bytes + 16, s->count);
    tare_store_le32(bytes + 20, s->extent);
    bytes[24] = s->n_classes;
    bytes[25] = s->option;
    bytes[26] = s->rice;
    memcpy(bytes + 28, s->pattern, 4);
}
