/* SPDX-License-Identifier: MIT
 *
 * Reading an expression into a program. What is repeated is copied, so a program has a largest
 * size, and nesting a largest depth. */
#include "base/pattern_steps.h"

#include <string.h>

enum { MOST_STEPS = 5000, MOST_DEPTH = 100, MOST_REPEATED = 32767, NO_MOST = -1 };

typedef struct parser {
    tare_pattern *p;
    const char *text;
    size_t n, at;
    unsigned depth;
    tare_error *err;
} parser;

static tare_status refuse(const parser *r, size_t at, const char *what) {
    return tare_fail_at(r->err, TARE_ERR_ARG, at, what);
}

static bool has(const parser *r, char c) {
    return r->at < r->n && r->text[r->at] == c;
}

static bool skip(parser *r, char c) {
    bool is_there = has(r, c);
    r->at += is_there;
    return is_there;
}

/* ---- steps ----------------------------------------------------------------------------------- */

/* Room for n more steps, not filled in, before step `at`. */
static tare_status insert(parser *r, size_t at, size_t n) {
    tare_pattern *p = r->p;
    if (n > MOST_STEPS - p->n_steps)
        return tare_fail_at(r->err, TARE_ERR_LIMIT, r->at, "it is too large");
    if (!tare_grow(p->allocator, (void **)&p->steps, &p->steps_capacity, p->n_steps + n,
                   sizeof *p->steps))
        return tare_fail(r->err, TARE_ERR_NOMEM, "expression");
    memmove(p->steps + at + n, p->steps + at, (p->n_steps - at) * sizeof *p->steps);
    p->n_steps += n;
    return TARE_OK;
}

static tare_status put(parser *r, tare_pattern_op op, uint8_t byte, int32_t target) {
    TARE_TRY(insert(r, r->p->n_steps, 1));
    r->p->steps[r->p->n_steps - 1] = (tare_pattern_step){(uint8_t)op, byte, target};
    return TARE_OK;
}

static tare_status put_before(parser *r, size_t at, tare_pattern_op op, size_t target) {
    TARE_TRY(insert(r, at, 1));
    r->p->steps[at] = (tare_pattern_step){(uint8_t)op, 0, (int32_t)target};
    return TARE_OK;
}

/* ---- sets ------------------------------------------------------------------------------------ */

static void add_range(tare_pattern_set *s, unsigned first, unsigned last) {
    for (unsigned c = first; c <= last; c++) s->bits[c / 64] |= UINT64_C(1) << c % 64;
}

/* A class by its letter, as in \d; a capital is the rest. */
static bool add_class(tare_pattern_set *to, char letter) {
    tare_pattern_set s = {{0}};
    switch (letter | 0x20) {
    case 'w':
        add_range(&s, 'A', 'Z');
        add_range(&s, 'a', 'z');
        add_range(&s, '_', '_'); /* fall through */
    case 'd':
        add_range(&s, '0', '9');
        break;
    case 's':
        add_range(&s, '\t', '\r');
        add_range(&s, ' ', ' ');
        break;
    default:
        return false;
    }
    for (unsigned i = 0; i < 4; i++) to->bits[i] |= letter & 0x20 ? s.bits[i] : ~s.bits[i];
    return true;
}

/* [:name:] within brackets. */
static bool add_named(tare_pattern_set *to, const char *name, size_t n) {
    static const struct {
        const char *name, *ranges; /* first and last of each */
    } classes[] = {
        {"alpha", "AZaz"},   {"digit", "09"},     {"alnum", "09AZaz"},
        {"upper", "AZ"},     {"lower", "az"},     {"xdigit", "09AFaf"},
        {"space", "\t\r  "}, {"blank", "\t\t  "}, {"punct", "!/:@[`{~"},
        {"print", " ~"},     {"graph", "!~"},     {"cntrl", "\1\37\177\177"},
    };
    for (size_t i = 0; i < sizeof classes / sizeof *classes; i++) {
        const char *r = classes[i].ranges;
        if (strlen(classes[i].name) != n || memcmp(classes[i].name, name, n) != 0) continue;
        for (; *r; r += 2) add_range(to, (uint8_t)r[0], (uint8_t)r[1]);
        return true;
    }
    return false;
}

/* A letter after a backslash that stands for another byte; others but letters and digits stand for
 * themselves. */
static tare_status escaped(parser *r, uint8_t *out) {
    static const char letters[] = "tnvfr", bytes[] = "\t\n\v\f\r";
    if (r->at == r->n) return refuse(r, r->at, "it ends with a backslash");
    const char c = r->text[r->at++], *letter = strchr(letters, c);
    *out = (uint8_t)c;
    if (c && letter) *out = (uint8_t)bytes[letter - letters];
    bool is_other = (c >= '0' && c <= '9') || ((c | 0x20) >= 'a' && (c | 0x20) <= 'z');
    if (is_other && !(c && letter))
        return refuse(r, r->at - 1, "a letter or digit that no backslash may precede");
    return TARE_OK;
}

/* An end of a range within brackets; *is_class: it was a class instead, which is added. */
static tare_status read_item(parser *r, tare_pattern_set *s, uint8_t *out, bool *is_class) {
    *is_class = false;
    if (has(r, '[') && r->at + 1 < r->n && strchr(":.=", r->text[r->at + 1])) {
        const size_t start = r->at + 2;
        size_t end = start;
        while (end < r->n && r->text[end] != ':' && r->text[end] != ']') end++;
        if (r->text[r->at + 1] != ':' || end + 1 >= r->n || r->text[end + 1] != ']' ||
            !add_named(s, r->text + start, end - start))
            return refuse(r, r->at, "expected the name of a class, as in [:digit:]");
        r->at = end + 2;
        *is_class = true;
        return TARE_OK;
    }
    if (!skip(r, '\\')) {
        *out = (uint8_t)r->text[r->at++];
        return TARE_OK;
    }
    *is_class = r->at < r->n && add_class(s, r->text[r->at]);
    r->at += *is_class;
    return *is_class ? TARE_OK : escaped(r, out);
}

static tare_status read_brackets(parser *r, tare_pattern_set *s) {
    const size_t start = r->at;
    const bool is_inverted = skip(r, '^');
    uint8_t first, last;
    bool is_class;
    for (bool is_first = true;; is_first = false) {
        if (r->at == r->n) return refuse(r, start, "no ] closes what [ opens");
        if (!is_first && skip(r, ']')) break;
        TARE_TRY(read_item(r, s, &first, &is_class));
        if (is_class) continue;
        last = first;
        if (has(r, '-') && r->at + 1 < r->n && r->text[r->at + 1] != ']') {
            r->at++;
            TARE_TRY(read_item(r, s, &last, &is_class));
            if (is_class || last < first) return refuse(r, start, "a range in [ ]");
        }
        add_range(s, first, last);
    }
    for (unsigned i = 0; is_inverted && i < 4; i++) s->bits[i] = ~s->bits[i];
    return TARE_OK;
}

static tare_status put_set(parser *r, const tare_pattern_set *s) {
    tare_pattern *p = r->p;
    if (!tare_grow(p->allocator, (void **)&p->sets, &p->sets_capacity, p->n_sets + 1,
                   sizeof *p->sets))
        return tare_fail(r->err, TARE_ERR_NOMEM, "expression");
    p->sets[p->n_sets] = *s;
    return put(r, TARE_PATTERN_SET, 0, (int32_t)p->n_sets++);
}

/* ---- the grammar ----------------------------------------------------------------------------- */

static tare_status read_alternatives(parser *r);

static tare_status read_group(parser *r) {
    const size_t start = r->at - 1;
    if (++r->depth > MOST_DEPTH)
        return tare_fail_at(r->err, TARE_ERR_LIMIT, start, "too many groups in groups");
    if (skip(r, '?') && !skip(r, ':'))
        return refuse(r, start, "of groups that begin with (? only (?: is known");
    TARE_TRY(read_alternatives(r));
    r->depth--;
    return skip(r, ')') ? TARE_OK : refuse(r, start, "no ) closes what ( opens");
}

static tare_status read_escape(parser *r) {
    tare_pattern_set s = {{0}};
    uint8_t byte;
    if (skip(r, 'b')) return put(r, TARE_PATTERN_EDGE, 0, 0);
    if (skip(r, 'B')) return put(r, TARE_PATTERN_NO_EDGE, 0, 0);
    if (r->at < r->n && add_class(&s, r->text[r->at])) {
        r->at++;
        return put_set(r, &s);
    }
    TARE_TRY(escaped(r, &byte));
    return put(r, TARE_PATTERN_BYTE, byte, 0);
}

static tare_status read_atom(parser *r) {
    tare_pattern_set s = {{0}};
    const char c = r->text[r->at++];
    switch (c) {
    case '(':
        return read_group(r);
    case '[':
        TARE_TRY(read_brackets(r, &s));
        return put_set(r, &s);
    case '\\':
        return read_escape(r);
    case '.':
        return put(r, TARE_PATTERN_ANY, 0, 0);
    case '^':
        return put(r, TARE_PATTERN_BEGIN, 0, 0);
    case '$':
        return put(r, TARE_PATTERN_END, 0, 0);
    case '*':
    case '+':
    case '?':
        return refuse(r, r->at - 1, "nothing to repeat before * + ?");
    default:
        return put(r, TARE_PATTERN_BYTE, (uint8_t)c, 0);
    }
}

static bool read_number(parser *r, int *out) {
    const size_t start = r->at;
    for (*out = 0; r->at < r->n && r->text[r->at] >= '0' && r->text[r->at] <= '9'; r->at++)
        if (*out <= MOST_REPEATED) *out = *out * 10 + (r->text[r->at] - '0');
    return r->at > start;
}

/* How often the atom before is repeated; false: nothing says so. */
static tare_status read_repeat(parser *r, bool *is_there, int *least, int *most) {
    const size_t start = r->at;
    *is_there = true;
    *least = has(r, '+');
    *most = has(r, '?') ? 1 : NO_MOST;
    if (skip(r, '*') || skip(r, '+') || skip(r, '?')) return TARE_OK;
    *is_there = skip(r, '{');
    if (!*is_there) return TARE_OK;
    const bool has_least = read_number(r, least);
    *most = *least;
    const bool has_comma = skip(r, ',');
    const bool has_most = has_comma && read_number(r, most);
    if (has_comma && !has_most) *most = NO_MOST;
    if ((!has_least && !has_most) || !skip(r, '}') || *least > MOST_REPEATED ||
        *most > MOST_REPEATED || (*most >= 0 && *most < *least))
        return refuse(r, start, "expected {m}, {m,} or {m,n}, at most 32767");
    return TARE_OK;
}

/* The steps from `start` on, n of them, once more at the end. */
static tare_status copy(parser *r, size_t start, size_t n) {
    TARE_TRY(insert(r, r->p->n_steps, n));
    memcpy(r->p->steps + r->p->n_steps - n, r->p->steps + start, n * sizeof *r->p->steps);
    return TARE_OK;
}

/* What begins at `start` once or not at all: a split in front of it. As often as one likes: and a
 * jump back behind it. */
static tare_status make_optional(parser *r, size_t start, bool is_repeated) {
    const size_t n = r->p->n_steps - start;
    TARE_TRY(put_before(r, start, TARE_PATTERN_SPLIT, n + 1 + is_repeated));
    if (!is_repeated) return TARE_OK;
    return put(r, TARE_PATTERN_JUMP, 0, -(int32_t)(n + 1));
}

static tare_status repeat(parser *r, size_t start, int least, int most) {
    const size_t n = r->p->n_steps - start;
    if (!n) return TARE_OK; /* nothing, however often */
    if (most == 0) {
        r->p->n_steps = start;
        return TARE_OK;
    }
    for (int i = 1; i < least; i++) TARE_TRY(copy(r, start, n));
    if (least && most < 0) return put(r, TARE_PATTERN_SPLIT, 0, -(int32_t)n);
    if (!least) TARE_TRY(make_optional(r, start, most < 0));
    if (most < 0) return TARE_OK;
    const size_t behind = least ? start : start + 1; /* the atom without its split */
    for (int i = least ? least : 1; i < most; i++) {
        const size_t at = r->p->n_steps;
        TARE_TRY(copy(r, behind, n));
        TARE_TRY(make_optional(r, at, false));
    }
    return TARE_OK;
}

static tare_status read_branch(parser *r) {
    while (r->at < r->n && !has(r, '|') && !(has(r, ')') && r->depth)) {
        const size_t start = r->p->n_steps;
        bool is_repeated = true;
        int least, most;
        TARE_TRY(read_atom(r));
        for (bool is_first = true;; is_first = false) {
            if (!is_first && skip(r, '?')) continue; /* lazy: the same names */
            TARE_TRY(read_repeat(r, &is_repeated, &least, &most));
            if (!is_repeated) break;
            TARE_TRY(repeat(r, start, least, most));
        }
    }
    return TARE_OK;
}

static tare_status read_alternatives(parser *r) {
    size_t start = r->p->n_steps;
    size_t jumps[2] = {0, 0}; /* the last one, and how many there are */
    TARE_TRY(read_branch(r));
    while (skip(r, '|')) {
        const size_t n = r->p->n_steps - start;
        TARE_TRY(put_before(r, start, TARE_PATTERN_SPLIT, n + 2));
        /* Until the end is known, a jump has the distance to the one before. */
        const size_t at = r->p->n_steps;
        TARE_TRY(put(r, TARE_PATTERN_JUMP, 0, jumps[1] ? (int32_t)(at - jumps[0]) : 0));
        jumps[0] = at;
        jumps[1]++;
        start = r->p->n_steps;
        TARE_TRY(read_branch(r));
    }
    for (size_t at = jumps[0]; jumps[1]; jumps[1]--) {
        const size_t before = at - (size_t)r->p->steps[at].target;
        r->p->steps[at].target = (int32_t)(r->p->n_steps - at);
        at = before;
    }
    return TARE_OK;
}

/* ---- the whole ------------------------------------------------------------------------------- */

/* A split backwards goes on behind, too, as one forwards does. */
static tare_status make_room(tare_pattern *p, tare_error *err) {
    const size_t n = p->n_steps;
    p->room_size = 5 * n * sizeof *p->room;
    p->room = tare_alloc(p->allocator, p->room_size);
    if (!p->room) return tare_fail(err, TARE_ERR_NOMEM, "expression");
    memset(p->room, 0, p->room_size);
    p->now = (tare_pattern_states){p->room, p->room + n, 0};
    p->next = (tare_pattern_states){p->room + 2 * n, p->room + 3 * n, 0};
    p->stack = p->room + 4 * n;
    return TARE_OK;
}

tare_status tare_pattern_new(tare_pattern **out, const char *text, size_t n,
                             const tare_allocator *allocator, tare_error *err) {
    TARE_REQUIRE(out && (text || !n), err);
    *out = NULL;
    tare_pattern *p = tare_alloc(allocator, sizeof *p);
    if (!p) return tare_fail(err, TARE_ERR_NOMEM, "expression");
    *p = (tare_pattern){.allocator = allocator};
    parser r = {.p = p, .text = text, .n = n, .err = err};
    tare_status status = read_alternatives(&r);
    if (status == TARE_OK) status = put(&r, TARE_PATTERN_MATCH, 0, 0);
    if (status == TARE_OK) status = make_room(p, err);
    if (status == TARE_OK)
        *out = p;
    else
        tare_pattern_free(p);
    return status;
}

void tare_pattern_free(tare_pattern *p) {
    if (!p) return;
    tare_free(p->allocator, p->steps, p->steps_capacity * sizeof *p->steps);
    tare_free(p->allocator, p->sets, p->sets_capacity * sizeof *p->sets);
    tare_free(p->allocator, p->room, p->room_size);
    tare_free(p->allocator, p, sizeof *p);
}
