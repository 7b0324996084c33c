/* SPDX-License-Identifier: MIT
 *
 * What surrounds the kernel that decodes a DIRECT segment: its parts, its classes. */
#include "wcodec/wc_direct.h"

#include "wcodec/wc_head.h"
#include "wcodec/wc_patches.h"

static tare_status refuse(const tare_wc_piece *piece, uint64_t at, tare_error *err,
                          const char *what) {
    return tare_fail_at(err, TARE_ERR_CORRUPT, piece->offset + at, what);
}

static tare_status check_choices(const tare_wc_segment *s, const tare_wc_piece *piece,
                                 tare_error *err) {
    const tare_wc_head *head = piece->head;
    unsigned n_tables = head->shape.value_bits == 4 ? head->n_t16 : head->n_t64;
    if (s->rule >= head->n_rules)
        return refuse(piece, 2, err, "segment: its rule is not in the head");
    if (s->n_classes == 1 || s->n_classes > TARE_WC_MAX_CLASSES)
        return refuse(piece, 24, err, "segment: number of classes: expected 0 or 2 to 16");
    if (s->table + (s->n_classes ? s->n_classes : 1u) > n_tables)
        return refuse(piece, 3, err, "segment: its table is not in the head");
    if (s->n_classes ? s->option >= head->n_t16 : s->option != 0)
        return refuse(piece, 25, err, "segment: table of the classes: not in the head");
    if (s->rice > (s->count ? TARE_WC_MAX_RICE : 0))
        return refuse(piece, 26, err,
                      "segment: distances of patches: number of bits of a remainder out of range");
    return TARE_OK;
}

tare_status tare_wc_direct_parts(tare_wc_direct *d, const tare_wc_segment *s,
                                 const tare_wc_piece *piece, unsigned groups, tare_error *err) {
    uint8_t value_bits = piece->head->shape.value_bits;
    if (tare_wc_values_of(value_bits, piece->n_bytes) > TARE_WC_MAX_VALUES)
        return refuse(piece, 0, err, "segment: too many values for its mode");
    TARE_TRY(check_choices(s, piece, err));
    const tare_wc_rule *rule = &piece->head->rules[s->rule];
    d->n_positions = tare_wc_positions(value_bits, piece->n_bytes);
    d->n_class_symbols = 0;
    if (s->n_classes)
        d->n_class_symbols =
            tare_wc_align((d->n_positions + TARE_WC_CLASS_RUN - 1) / TARE_WC_CLASS_RUN);
    uint64_t at = TARE_WC_SEGMENT_HEADER + TARE_WC_STATES;
    at += 2 * ((uint64_t)s->size_a + s->size_b);
    uint64_t end = at + s->extent;
    if (end > piece->stored) return refuse(piece, 8, err, "segment: its parts exceed its size");
    d->patches = (uint32_t)at;
    d->end = (uint32_t)end;
    d->n_groups = tare_wc_group_widths(d->widths, rule->k);
    uint64_t group = tare_wc_align(d->end);
    for (unsigned g = 0; g < d->n_groups; g++) {
        d->groups[g] = (uint32_t)group;
        group += tare_wc_group_bytes(d->widths[g], d->n_positions);
    }
    if (group != piece->stored)
        return refuse(piece, 8, err, "segment: its parts do not add up to its size");
    d->n_read = d->n_groups;
    /* With one bit less, an edge could be next to 0. */
    if (s->predictor == TARE_CODED_NO_PREDICTOR && rule->form != TARE_CODED_EDGE &&
        groups < d->n_groups)
        d->n_read = groups || rule->form != TARE_CODED_SIGN ? groups : 1;
    return TARE_OK;
}

static tare_status read_classes(uint8_t *classes, tare_wc_lanes *lanes, const tare_wc_direct *d,
                                const tare_wc_segment *s, const tare_wc_piece *piece,
                                tare_error *err) {
    uint32_t n = (d->n_positions + TARE_WC_CLASS_RUN - 1) / TARE_WC_CLASS_RUN;
    uint8_t list[TARE_WC_MAX_CLASSES], ranks[TARE_WC_LANES];
    for (uint8_t i = 0; i < TARE_WC_MAX_CLASSES; i++) list[i] = i;
    for (uint32_t i = 0; i < n; i++) {
        if (i % TARE_WC_LANES == 0) tare_wc_step_c(ranks, lanes, &piece->head->t16[s->option]);
        uint8_t rank = ranks[i % TARE_WC_LANES];
        if (rank >= s->n_classes)
            return refuse(piece, TARE_WC_SEGMENT_HEADER, err, "segment: a class is out of range");
        classes[i] = tare_wc_front(list, rank);
    }
    return TARE_OK;
}

tare_status tare_wc_direct_begin(tare_wc_job *job, const tare_wc_direct *d,
                                 const tare_wc_segment *s, const tare_wc_piece *piece,
                                 uint8_t *classes, tare_error *err) {
    const tare_wc_head *head = piece->head;
    const tare_wc_rule *rule = &head->rules[s->rule];
    unsigned missing = rule->k;
    *job = (tare_wc_job){
        .rule = rule,
        .tables = (head->shape.value_bits == 4 ? head->t16 : head->t64) + s->table,
        .n_tables = s->n_classes ? s->n_classes : 1,
        .n_groups = (uint8_t)d->n_read,
        .value_bits = head->shape.value_bits,
        .n_positions = d->n_positions,
        .n_bytes = piece->n_bytes,
        .dst = piece->dst,
        .destination = piece->destination,
    };
    for (unsigned g = 0; g < d->n_read; g++) {
        job->groups[g] = piece->bytes + d->groups[g];
        job->widths[g] = d->widths[g];
        missing -= d->widths[g];
    }
    if (missing) job->fill = (uint16_t)(1u << (missing - 1));
    tare_wc_lanes_init(&job->lanes, piece->bytes + TARE_WC_SEGMENT_HEADER, s->size_a, s->size_b);
    if (!tare_wc_lanes_can_begin(&job->lanes))
        return refuse(piece, TARE_WC_SEGMENT_HEADER, err, "segment: a state is below 65536");
    if (!s->n_classes) return TARE_OK;
    job->classes = classes;
    return read_classes(classes, &job->lanes, d, s, piece, err);
}

tare_status tare_wc_direct_end(const tare_wc_job *job, const tare_wc_direct *d,
                               const tare_wc_piece *piece, tare_error *err) {
    if (!tare_wc_lanes_have_ended(&job->lanes))
        return refuse(piece, TARE_WC_SEGMENT_HEADER, err,
                      "segment: states and words do not end together");
    if (!tare_wc_is_zero(piece->bytes + d->end, tare_wc_align(d->end) - d->end))
        return refuse(piece, d->end, err, "segment: padding is not 0");
    return TARE_OK;
}
