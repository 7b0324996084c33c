/* SPDX-License-Identifier: MIT
 *
 * How the ranks share tensors: each has some of the rows, some of the columns, or a copy. */
#include "base/arith.h"
#include "base/glob.h"
#include "base/str.h"
#include "format/meta/meta.h"
#include "model/names.h"

enum { WINDOW = 65536 };

typedef enum sharing {
    ROWS = 0, /* of dimension 0 */
    COLUMNS = 1,
    COPIES = 2,
    EITHER = 3, /* columns in Llama 1 and 2, rows in Llama 3 */
} sharing;

/* What a dimension must be, as params.json says. */
typedef enum extent {
    ANY,
    WIDTH,
    QUERIES,
    KEYS,
    VOCABULARY,
} extent;

typedef struct tensor_rule {
    const char *names;
    sharing share;
    uint32_t n_dims; /* 0: any number */
    extent dims[2];
} tensor_rule;

static const tensor_rule rules[] = {
    {"tok_embeddings.weight", EITHER, 2, {VOCABULARY, WIDTH}},
    {"output.weight", ROWS, 2, {VOCABULARY, WIDTH}},
    {"norm.weight", COPIES, 1, {WIDTH, ANY}},
    {"rope.freqs", COPIES, 0, {ANY, ANY}},
    {"layers.*.attention.wq.weight", ROWS, 2, {QUERIES, WIDTH}},
    {"layers.*.attention.w[kv].weight", ROWS, 2, {KEYS, WIDTH}},
    {"layers.*.attention.wo.weight", COLUMNS, 2, {WIDTH, QUERIES}},
    {"layers.*.attention.inner_attention.rope.freqs", COPIES, 0, {ANY, ANY}},
    {"layers.*.feed_forward.w[13].weight", ROWS, 2, {ANY, WIDTH}},
    {"layers.*.feed_forward.w2.weight", COLUMNS, 2, {WIDTH, ANY}},
    {"layers.*.attention_norm.weight", COPIES, 1, {WIDTH, ANY}},
    {"layers.*.ffn_norm.weight", COPIES, 1, {WIDTH, ANY}},
};

static const tensor_rule *rule_of(tare_str name) {
    for (size_t i = 0; i < sizeof rules / sizeof *rules; i++)
        if (tare_glob_matches(tare_str_of(rules[i].names), name, false)) return &rules[i];
    return NULL;
}

static uint64_t extent_of(const tare_meta *r, extent e) {
    switch (e) {
    case WIDTH:
        return r->params.width;
    case QUERIES:
        return r->params.query_rows;
    case KEYS:
        return r->params.key_rows;
    case VOCABULARY:
        return r->params.vocabulary;
    case ANY:
        break;
    }
    return 0;
}

static tare_status fail_tensor(const tare_meta *r, size_t rank, const tare_tensor *t,
                               tare_status status, const char *what, tare_error *err) {
    tare_fail_at(err, status, t->offset, what);
    tare_error_item(err, TARE_ITEM_TENSOR, -1, t->name);
    tare_error_file(err, r->paths[rank]);
    return status;
}

/* ---- tensors --------------------------------------------------------------------------------- */

static sharing share_of(const tare_meta *r, const tensor_rule *rule, const tare_tensor *t) {
    if (rule->share != EITHER) return rule->share;
    return t->n_dims == 2 && t->dims[1] == r->params.width ? ROWS : COLUMNS;
}

/* A tensor of the first rank, as it is with the parts of all. */
static tare_status add_whole(tare_meta *r, const tare_tensor *t, const tensor_rule *rule,
                             tare_error *err) {
    tare_joined_tensor *of = &r->tensors[r->n_tensors++];
    const sharing share = share_of(r, rule, t);
    *of = (tare_joined_tensor){t->name, t->encoding, t->n_dims, {0}, t->offset};
    if (rule->n_dims && t->n_dims != rule->n_dims)
        return fail_tensor(r, 0, t, TARE_ERR_CORRUPT,
                           "another number of dimensions than Llama's has", err);
    for (uint32_t d = 0; d < t->n_dims; d++) {
        const uint64_t expected = d < 2 ? extent_of(r, rule->dims[d]) : 0;
        of->dims[d] = t->dims[d];
        if (share == (d ? COLUMNS : ROWS) && d < 2 &&
            !tare_mul_u64(t->dims[d], r->n_ranks, &of->dims[d]))
            return fail_tensor(r, 0, t, TARE_ERR_LIMIT, "number of elements", err);
        if (expected && of->dims[d] != expected)
            return fail_tensor(r, 0, t, TARE_ERR_CORRUPT,
                               share == COPIES
                                   ? "its shape is not the one that params.json states"
                                   : "the parts of all ranks are not the shape that params.json "
                                     "states: are all files of the ranks there?",
                               err);
    }
    return TARE_OK;
}

/* A tensor of a rank: the same part of the same tensor as the first rank's `like`. */
static tare_status add_part(tare_meta *r, size_t rank, size_t i, size_t like,
                            const tensor_rule *rule, tare_error *err) {
    tare_tensor *t = &r->m->catalog.tensors[i];
    const tare_tensor *other = &r->m->catalog.tensors[like];
    tare_joined_chunk *c = &r->chunks[i];
    const sharing share = share_of(r, rule, other);
    bool is_alike = t->n_dims == other->n_dims && t->encoding == other->encoding;
    for (uint32_t d = 0; is_alike && d < t->n_dims; d++) is_alike = t->dims[d] == other->dims[d];
    if (!is_alike)
        return fail_tensor(r, rank, t, TARE_ERR_CORRUPT,
                           "another shape or type than in consolidated.00.pth", err);
    *c = (tare_joined_chunk){.of = r->chunks[like].of};
    if (share == COPIES) {
        r->same[i] = like;
        if (rank) c->of = TARE_A_COPY;
    } else {
        c->at[share] = rank * t->dims[share];
    }
    return TARE_OK;
}

/* ---- ranks ----------------------------------------------------------------------------------- */

/* What a rank has, by the names of the first one's tensors. */
static tare_status add_rank(tare_meta *r, size_t rank, const tare_name_index *names,
                            tare_error *err) {
    const tare_tensor *tensors = r->m->catalog.tensors;
    bool *has = TARE_NEW_ARRAY(&r->scratch, bool, r->first[1] + 1);
    if (!has) return tare_fail(err, TARE_ERR_NOMEM, "tensors");
    for (size_t i = r->first[rank]; i < r->first[rank + 1]; i++) {
        const tensor_rule *rule = rule_of(tensors[i].name);
        const int64_t like = tare_name_index_find(names, tensors, sizeof *tensors, tensors[i].name);
        r->same[i] = i;
        r->chunks[i].of = TARE_NOT_A_CHUNK;
        if (!rule && r->n_ranks == 1) continue;
        if (!rule)
            return fail_tensor(r, rank, &tensors[i], TARE_ERR_UNSUPPORTED,
                               "no tensor of Llama's: how the ranks share it is not known; each "
                               "file opens by its name",
                               err);
        if (like < 0 || has[like])
            return fail_tensor(
                r, rank, &tensors[i], TARE_ERR_CORRUPT,
                like < 0 ? "consolidated.00.pth does not have it" : "a rank has it twice", err);
        has[like] = true;
        if (!rank) r->chunks[i].of = r->n_tensors;
        if (!rank) TARE_TRY(add_whole(r, &tensors[i], rule, err));
        TARE_TRY(add_part(r, rank, i, (size_t)like, rule, err));
    }
    for (size_t i = 0; i < r->first[1]; i++)
        if (!has[i] && r->chunks[i].of != TARE_NOT_A_CHUNK) {
            const tare_tensor missing = {.name = tensors[i].name, .offset = TARE_NO_OFFSET};
            return fail_tensor(r, rank, &missing, TARE_ERR_CORRUPT,
                               "the file does not have it, and consolidated.00.pth does", err);
        }
    return TARE_OK;
}

static bool is_whole(const tare_joined_tensor *of, const tare_tensor *t) {
    for (uint32_t d = 0; d < t->n_dims; d++)
        if (t->dims[d] != of->dims[d]) return false;
    return true;
}

/* "norm.weight@1" is the copy of the second rank. */
static tare_status name_parts(const tare_meta *r, tare_error *err) {
    for (size_t rank = 0; rank < r->n_ranks; rank++)
        for (size_t i = r->first[rank]; i < r->first[rank + 1]; i++) {
            tare_tensor *t = &r->m->catalog.tensors[i];
            const tare_joined_chunk *c = &r->chunks[i];
            const uint64_t number = rank;
            if (c->of == TARE_NOT_A_CHUNK) continue;
            if (c->of == TARE_A_COPY)
                t->name = tare_joined_name(&r->m->arena, t->name, &number, 1, false);
            else
                t->name = tare_joined_name(&r->m->arena, t->name, c->at, t->n_dims,
                                           is_whole(&r->tensors[c->of], t));
            if (!t->name.ptr) return tare_fail(err, TARE_ERR_NOMEM, "tensor names");
        }
    return TARE_OK;
}

tare_status tare_meta_join(tare_meta *r, tare_error *err) {
    const tare_catalog *c = &r->m->catalog;
    tare_name_index names;
    r->tensors = TARE_NEW_ARRAY(&r->m->arena, tare_joined_tensor, r->first[1] + 1);
    r->chunks = TARE_NEW_ARRAY(&r->scratch, tare_joined_chunk, c->n_tensors + 1);
    r->same = TARE_NEW_ARRAY(&r->scratch, size_t, c->n_tensors + 1);
    if (!r->tensors || !r->chunks || !r->same) return tare_fail(err, TARE_ERR_NOMEM, "tensors");
    TARE_TRY(tare_name_index_build(&names, &r->scratch, c->tensors, r->first[1], sizeof *c->tensors,
                                   "duplicate tensor name", err));
    for (size_t rank = 0; rank < r->n_ranks; rank++) TARE_TRY(add_rank(r, rank, &names, err));
    return name_parts(r, err);
}

/* ---- copies ---------------------------------------------------------------------------------- */

static tare_status is_same(bool *out, const tare_meta *r, size_t a, size_t b, uint8_t *room,
                           tare_error *err) {
    const uint64_t size = r->m->catalog.tensors[a].size_bytes;
    *out = true;
    for (uint64_t at = 0; at < size && *out; at += WINDOW) {
        const size_t n = (size_t)tare_min_u64(WINDOW, size - at);
        TARE_TRY(tare_tensor_read(room, r->m, a, 0, at, n, err));
        TARE_TRY(tare_tensor_read(room + WINDOW, r->m, b, 0, at, n, err));
        *out = memcmp(room, room + WINDOW, n) == 0;
    }
    return TARE_OK;
}

tare_status tare_meta_compare(tare_meta *r, tare_error *err) {
    uint8_t *room = tare_arena_take(&r->scratch, 2 * WINDOW);
    if (!room) return tare_fail(err, TARE_ERR_NOMEM, "copies of tensors");
    for (size_t rank = 1; rank < r->n_ranks; rank++)
        for (size_t i = r->first[rank]; i < r->first[rank + 1]; i++) {
            bool is_equal = true;
            if (r->same[i] != i) TARE_TRY(is_same(&is_equal, r, r->same[i], i, room, err));
            if (!is_equal)
                return fail_tensor(
                    r, rank, &r->m->catalog.tensors[i], TARE_ERR_CORRUPT,
                    "differs from that of consolidated.00.pth, which it should be a copy of", err);
        }
    return TARE_OK;
}
