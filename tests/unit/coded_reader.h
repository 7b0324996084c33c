/* SPDX-License-Identifier: MIT
 *
 * A second decoder of .wcodec segments, written from docs/wcodec.md (7 and 8) on nothing but
 * tare/experimental/wcodec.h: RAW, CONSTANT and DIRECT without classes and trellis, differences from a base,
 * joined streams; as slow as it is plain. */
#ifndef TESTS_UNIT_CODED_READER_H
#define TESTS_UNIT_CODED_READER_H

#include <stdlib.h>
#include <string.h>

#include <tare/experimental/wcodec.h>

static inline uint32_t coded_le(const uint8_t *p, unsigned n) {
    uint32_t v = 0;
    for (unsigned i = 0; i < n; i++) v |= (uint32_t)p[i] << 8 * i;
    return v;
}

static inline uint32_t coded_crc32(const uint8_t *bytes, size_t n) {
    uint32_t crc = UINT32_MAX;
    for (size_t i = 0; i < n; i++) {
        crc ^= bytes[i];
        for (unsigned bit = 0; bit < 8; bit++) crc = crc >> 1 ^ (crc & 1 ? 0xEDB88320 : 0);
    }
    return ~crc;
}

/* The 64 lanes, one symbol at a time. */
typedef struct coded_lanes {
    uint32_t x[64];
    const uint8_t *words[2];
    uint32_t left[2];
} coded_lanes;

static inline unsigned coded_symbol(coded_lanes *l, unsigned lane, const tare_coded_table *t) {
    uint32_t slot = l->x[lane] & 0xffff, b = slot % t->n_symbols, rank = slot / t->n_symbols;
    unsigned symbol = b;
    if (slot >> 8 >= t->threshold[b] && t->alias[b] != b) {
        symbol = t->alias[b];
        rank = (rank + t->adjust[b]) & 0xffff;
    }
    uint32_t x = t->frequency[symbol] * (l->x[lane] >> 16) + rank;
    if (x < 0x10000) {
        if (!l->left[lane & 1]) return 255; /* a stream ended early; no state ends right */
        x = x << 16 | coded_le(l->words[lane & 1], 2);
        l->words[lane & 1] += 2;
        l->left[lane & 1]--;
    }
    l->x[lane] = x;
    return symbol;
}

static inline bool coded_lanes_ended(const coded_lanes *l) {
    bool is_end = !l->left[0] && !l->left[1];
    for (unsigned i = 0; i < 64; i++) is_end &= l->x[i] == 0x10000;
    return is_end;
}

static inline uint32_t coded_bypass(const tare_coded_segment *s, const uint8_t *stored,
                                    uint32_t position) {
    uint32_t low = 0;
    for (unsigned g = 0; g < s->n_groups; g++) {
        unsigned n = s->group_bits[g], a_block = 512 / n, j = position % a_block / 64;
        uint32_t at = position / a_block * 64 + position % 64;
        low = low << n | (stored[s->groups[g] + at] >> n * j & ((1u << n) - 1));
    }
    return low;
}

static inline uint32_t coded_value(const tare_coded_rule *r, uint8_t value_bits, uint32_t top,
                                   uint32_t low) {
    unsigned k = r->bypass_bits;
    uint32_t w = top << k | low;
    if (r->form == TARE_CODED_SIGN)
        return (low >> (k - 1) & 1) << (value_bits - 1) | top << (k - 1) |
               (low & ((1u << (k - 1)) - 1));
    if (r->form != TARE_CODED_EDGE) return w;
    int s = w >= 128 ? (int)w - 256 : (int)w;
    int v = s == -4 ? -127 : s == 3 ? 127 : s;
    if (s > 3) v = s - 1;
    if (s < -4 && s > -128) v = s + 1;
    return (uint32_t)v & 255;
}

static inline void coded_put(uint8_t *dst, const tare_coded_field *f, uint32_t n_bytes,
                             uint32_t position, uint32_t v) {
    uint32_t at = position;
    if (f->value_bits == 16) {
        at = 2 * position;
        if (at >= n_bytes) return;
        dst[at + f->is_big_endian] = (uint8_t)v;
        dst[at + !f->is_big_endian] = (uint8_t)(v >> 8);
        return;
    }
    if (f->value_bits == 4) at = position / 128 * 64 + position % 64;
    if (f->value_bits == 6) at = position / 4 * 3;
    if (at >= n_bytes) return;
    unsigned shift = f->value_bits == 4   ? position % 128 / 64 * 4
                     : f->value_bits == 6 ? position % 4 * 6
                                          : 0;
    for (v <<= shift; v; v >>= 8) dst[at++] |= (uint8_t)v;
}

static inline unsigned coded_bit(const uint8_t *bytes, uint64_t at) {
    return bytes[at / 8] >> at % 8 & 1;
}

/* The tops that patches say, in place of those of symbols. False: they leave the string. */
static inline bool coded_patches(uint16_t *tops, const tare_coded_segment *s, const uint8_t *stored,
                                 unsigned top_bits) {
    const uint8_t *bytes = stored + s->patches;
    uint64_t at = 0, end = (uint64_t)s->patches_bytes * 8, position = UINT64_MAX;
    for (uint32_t i = 0; i < s->n_patches; i++) {
        uint64_t distance = 0, top = 0;
        for (; at < end && !coded_bit(bytes, at); at++) distance++;
        if (++at + s->patch_rice + top_bits > end) return false;
        distance <<= s->patch_rice;
        for (unsigned j = 0; j < s->patch_rice; j++) distance += coded_bit(bytes, at++) << j;
        for (unsigned j = 0; j < top_bits; j++) top |= coded_bit(bytes, at++) << j;
        position += distance + 1;
        if (position >= s->n_positions) return false;
        tops[position] = (uint16_t)top;
    }
    return true;
}

static inline bool coded_direct(uint8_t *dst, const tare_coded_segment *s, const uint8_t *stored,
                                const tare_coded_head *head, const tare_coded_field *f) {
    const tare_coded_rule *rule = &head->rules[s->rule];
    const tare_coded_table *table = f->value_bits == 4 ? head->tables16 : head->tables64;
    coded_lanes lanes = {.words = {stored + s->words[0], stored + s->words[1]},
                         .left = {s->n_words[0], s->n_words[1]}};
    uint16_t *tops = malloc(s->n_positions * sizeof *tops);
    if (!tops) abort();
    table += s->first_table;
    for (unsigned i = 0; i < 64; i++) lanes.x[i] = coded_le(stored + s->states + 4 * i, 4);
    for (uint32_t i = 0; i < s->n_positions; i++)
        tops[i] = rule->map[coded_symbol(&lanes, i % 64, table) % 64];
    bool is_good = coded_patches(tops, s, stored, f->value_bits - rule->bypass_bits);
    memset(dst, 0, s->n_bytes);
    for (uint32_t i = 0; is_good && i < s->n_positions; i++)
        coded_put(dst, f, s->n_bytes, i,
                  coded_value(rule, f->value_bits, tops[i], coded_bypass(s, stored, i)));
    free(tops);
    return is_good && coded_lanes_ended(&lanes);
}

/* Adds the base's values to differences, each modulo 2^value_bits. */
static inline void coded_add(uint8_t *dst, const uint8_t *base, uint32_t n,
                             const tare_coded_field *f) {
    unsigned bytes = f->value_bits == 16 ? 2 : f->value_bits == 6 ? 3 : 1;
    for (uint32_t i = 0; i + bytes <= n; i += bytes) {
        uint32_t d = 0, b = 0, sum = 0;
        for (unsigned j = 0; j < bytes; j++) {
            unsigned at = f->is_big_endian ? bytes - 1 - j : j;
            d |= (uint32_t)dst[i + at] << 8 * j;
            b |= (uint32_t)base[i + at] << 8 * j;
        }
        for (unsigned shift = 0; shift < 8 * bytes; shift += f->value_bits)
            sum |= (((d >> shift) + (b >> shift)) & ((1u << f->value_bits) - 1)) << shift;
        for (unsigned j = 0; j < bytes; j++)
            dst[i + (f->is_big_endian ? bytes - 1 - j : j)] = (uint8_t)(sum >> 8 * j);
    }
}

/* ---- streams and their regions --------------------------------------------------------------- */

/* Bit 0 of the high bits of value v of a unit. */
static inline uint32_t coded_high_bit(const tare_coded_join *j, uint32_t v) {
    uint32_t w = 0;
    for (unsigned i = 0; i < j->log2_values; i++) w |= (v >> i & 1) << j->place[i];
    return w * j->high_bits;
}

static inline void coded_set_bits(uint8_t *bytes, uint32_t at, uint32_t n, uint32_t v) {
    for (uint32_t i = 0; i < n; i++, at++)
        bytes[at / 8] = (uint8_t)((bytes[at / 8] & ~(1u << at % 8)) | (v >> i & 1) << at % 8);
}

static inline uint32_t coded_get_bits(const uint8_t *bytes, uint32_t at, uint32_t n) {
    uint32_t v = 0;
    for (uint32_t i = 0; i < n; i++) v |= coded_bit(bytes, at + i) << i;
    return v;
}

/* Bytes of a joined stream from the whole units of a region, or to them. */
static inline void coded_move_joined(uint8_t *region, const tare_coded_field *f, uint64_t at,
                                     uint8_t *bytes, uint32_t n, bool is_to_region) {
    const tare_coded_join *j = &f->join;
    const uint32_t n_values = 1u << j->log2_values, unit_bytes = n_values / 4 * 3;
    for (uint32_t u = 0; u < n / unit_bytes; u++) {
        uint8_t *unit = region + (at / unit_bytes + u) * f->stride;
        uint8_t *values = bytes + (size_t)u * unit_bytes;
        for (uint32_t v = 0; v < n_values; v++) {
            const uint32_t high = coded_high_bit(j, v);
            if (is_to_region) {
                const uint32_t six = coded_get_bits(values, 6 * v, 6);
                coded_set_bits(unit + f->offset, 4 * v, 4, six);
                coded_set_bits(unit + j->high_offset, high, j->high_bits, six >> 4);
            } else {
                const uint32_t six = coded_get_bits(unit + f->offset, 4 * v, 4) |
                                     coded_get_bits(unit + j->high_offset, high, j->high_bits) << 4;
                coded_set_bits(values, 6 * v, 6, six);
            }
        }
    }
}

/* n bytes of a stream, from byte `at` on, to their units of the region. */
static inline void coded_scatter(uint8_t *region, const tare_coded_field *f, uint64_t at,
                                 uint8_t *bytes, uint32_t n) {
    if (f->join.high_bits) {
        coded_move_joined(region, f, at, bytes, n, true);
        return;
    }
    for (uint32_t i = 0; i < n; i++, at++)
        region[at / f->width * f->stride + f->offset + at % f->width] = bytes[i];
}

/* The reverse. */
static inline void coded_gather(uint8_t *bytes, uint8_t *region, const tare_coded_field *f,
                                uint64_t at, uint32_t n) {
    if (f->join.high_bits) {
        coded_move_joined(region, f, at, bytes, n, false);
        return;
    }
    for (uint32_t i = 0; i < n; i++, at++)
        bytes[i] = region[at / f->width * f->stride + f->offset + at % f->width];
}

/* ---- segments -------------------------------------------------------------------------------- */

/* Decodes a segment; `base`: the bytes of the base's stream at the same place, NULL: none. False:
 * damaged, or by means that this decoder lacks. */
static inline bool coded_decode(uint8_t *dst, const tare_coded_segment *s, const uint8_t *stored,
                                const tare_coded_head *head, const tare_coded_field *f,
                                const uint8_t *base) {
    unsigned width = f->value_bits == 16 ? 2 : f->value_bits == 6 ? 3 : 1;
    if (s->predictor && (s->predictor != TARE_CODED_REF || !base || f->is_packed_scales))
        return false;
    if (s->mode == TARE_CODED_RAW) {
        memcpy(dst, stored + s->body, s->body_bytes);
    } else if (s->mode == TARE_CODED_CONSTANT) {
        for (uint32_t i = 0; i < s->n_bytes; i++) dst[i] = s->pattern[i % width];
    } else if (s->mode != TARE_CODED_DIRECT || s->n_classes || head->rules[s->rule].trellis ||
               f->is_packed_scales || !coded_direct(dst, s, stored, head, f)) {
        return false;
    }
    if (s->predictor) coded_add(dst, base, s->n_bytes, f);
    return coded_crc32(dst, s->n_bytes) == s->crc;
}

#endif
