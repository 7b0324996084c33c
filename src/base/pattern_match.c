/* SPDX-License-Identifier: MIT
 *
 * Matching: for each byte of a name, every step that the bytes before it led to is looked at
 * once. */
#include <string.h>

#include "base/pattern_steps.h"

static bool is_word(uint8_t c) {
    return (c >= '0' && c <= '9') || (c >= 'A' && c <= 'Z') || (c >= 'a' && c <= 'z') || c == '_';
}

static bool is_edge(tare_str name, size_t at) {
    bool before = at > 0 && is_word((uint8_t)name.ptr[at - 1]);
    bool after = at < name.len && is_word((uint8_t)name.ptr[at]);
    return before != after;
}

/* Where a step that takes no byte leads; false: nowhere. */
static bool passes(const tare_pattern_step *s, tare_str name, size_t at) {
    switch (s->op) {
    case TARE_PATTERN_BEGIN:
        return at == 0;
    case TARE_PATTERN_END:
        return at == name.len;
    case TARE_PATTERN_EDGE:
        return is_edge(name, at);
    case TARE_PATTERN_NO_EDGE:
        return !is_edge(name, at);
    default:
        return true;
    }
}

static bool takes_a_byte(const tare_pattern_step *s) {
    return s->op <= TARE_PATTERN_ANY;
}

static bool is_in(const tare_pattern_states *l, uint32_t step) {
    return l->place[step] < l->n && l->list[l->place[step]] == step;
}

static void put(tare_pattern_states *l, uint32_t step) {
    l->place[step] = l->n;
    l->list[l->n++] = step;
}

/* Adds a step and all that it leads to without a byte; true: the end of the expression. */
static bool add(tare_pattern *p, tare_pattern_states *to, uint32_t first, tare_str name,
                size_t at) {
    uint32_t n = 0;
    if (is_in(to, first)) return false;
    put(to, first);
    p->stack[n++] = first;
    while (n) {
        const uint32_t i = p->stack[--n];
        const tare_pattern_step *s = &p->steps[i];
        p->n_done++;
        if (s->op == TARE_PATTERN_MATCH) return true;
        if (takes_a_byte(s) || !passes(s, name, at)) continue;
        uint32_t leads[2], n_leads = 0;
        if (s->op != TARE_PATTERN_JUMP) leads[n_leads++] = i + 1;
        if (s->op == TARE_PATTERN_JUMP || s->op == TARE_PATTERN_SPLIT)
            leads[n_leads++] = (uint32_t)((int64_t)i + s->target);
        for (uint32_t j = 0; j < n_leads; j++) {
            if (is_in(to, leads[j])) continue;
            put(to, leads[j]);
            p->stack[n++] = leads[j];
        }
    }
    return false;
}

static bool takes(const tare_pattern *p, const tare_pattern_step *s, uint8_t byte) {
    if (s->op == TARE_PATTERN_BYTE) return s->byte == byte;
    if (s->op == TARE_PATTERN_SET) return tare_pattern_has(&p->sets[s->target], byte);
    return s->op == TARE_PATTERN_ANY;
}

bool tare_pattern_matches(tare_pattern *p, tare_str name) {
    p->now.n = 0;
    for (size_t at = 0;; at++) {
        if (add(p, &p->now, 0, name, at)) return true; /* a match may begin anywhere */
        if (at == name.len) return false;
        p->next.n = 0;
        for (uint32_t i = 0; i < p->now.n; i++) {
            const tare_pattern_step *s = &p->steps[p->now.list[i]];
            p->n_done++;
            if (takes(p, s, (uint8_t)name.ptr[at]) &&
                add(p, &p->next, p->now.list[i] + 1, name, at + 1))
                return true;
        }
        const tare_pattern_states done = p->now;
        p->now = p->next;
        p->next = done;
    }
}
