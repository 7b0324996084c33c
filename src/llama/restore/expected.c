/* SPDX-License-Identifier: MIT
 *
 * Which tensors the Hugging Face model had, by the names of the file's: the table of names read
 * backwards, in the architecture's spelling, and those of its rules that say what shape a tensor
 * had. Whether these come to the file's tensors is found out by mapping them. */
#include <stdio.h>
#include <stdlib.h>

#include "base/arith.h"
#include "base/str.h"
#include "llama/restore/restore.h"
#include "model/tensor_name_table.h"

#define MOST_DIGITS 9 /* of a block's number; names are put together in buffers that count on it */

/* A tensor of the file, its name taken apart: "dec.blk.3.attn_q.weight". */
typedef struct parted {
    const tare_tensor *tensor;
    size_t index;
    const char *side;
    tare_str number; /* of the block; len 0: outside of all */
    tare_str stem;   /* "attn_q" */
    tare_str suffix; /* ".weight", ".bias" or nothing */
} parted;

typedef struct list {
    tare_llama_restoring *r;
    uint64_t first_nextn; /* block of the first layer that predicts more tokens */
} list;

static tare_status fail_tensor(const parted *p, tare_status status, const char *what,
                               tare_error *err) {
    return tare_fail_tensor(err, status, p->tensor, p->index, what);
}

/* ---- names ----------------------------------------------------------------------------------- */

static void take_block(parted *p) {
    const tare_tensor_prefix *prefix = tare_tensor_prefixes;
    for (; prefix->text; prefix++) {
        char block[24];
        bool is_side_only = prefix->side[0] == 'p' || prefix->side[0] == 'c';
        size_t n =
            (size_t)snprintf(block, sizeof block, "%s%s", prefix->side, is_side_only ? "" : "blk.");
        size_t at = n;
        if (!tare_str_starts(p->stem, (tare_str){block, n})) continue;
        while (at < p->stem.len && p->stem.ptr[at] >= '0' && p->stem.ptr[at] <= '9') at++;
        if (at == n || at - n > MOST_DIGITS || at == p->stem.len || p->stem.ptr[at] != '.')
            continue;
        p->number = (tare_str){p->stem.ptr + n, at - n};
        p->side = prefix->side;
        p->stem = tare_str_cut(p->stem, at + 1);
        return;
    }
}

static parted take_apart(const tare_model *gguf, size_t i) {
    static const char *const suffixes[] = {".weight", ".bias"};
    const tare_tensor *t = &gguf->catalog.tensors[i];
    parted p = {t, i, "", {"", 0}, t->name, {"", 0}};
    for (size_t k = 0; k < 2; k++) {
        tare_str suffix = tare_str_of(suffixes[k]);
        if (!tare_str_ends(p.stem, suffix)) continue;
        p.suffix = suffix;
        p.stem.len -= suffix.len;
        break;
    }
    take_block(&p);
    return p;
}

/* What stands before the number of a block on this side, as the architecture spells it. */
static const char *prefix_of(const list *l, const char *side) {
    for (const tare_tensor_prefix *p = tare_tensor_prefixes; p->text; p++)
        if (strcmp(p->side, side) == 0 &&
            tare_llama_is_one_of(tare_str_of(p->text), l->r->arch->back->names))
            return p->text;
    return NULL;
}

static tare_str text_of(const list *l, const char *buf, size_t n) {
    return tare_arena_str(&l->r->out->arena, (tare_str){buf, n});
}

/* "model.layers.3", or nothing outside of blocks. */
static tare_str head_of(const list *l, const parted *p) {
    char buf[96];
    if (p->number.len == 0) return TARE_STR("");
    const char *prefix = prefix_of(l, p->side);
    if (!prefix) return (tare_str){NULL, 0};
    int n = snprintf(buf, sizeof buf, "%s%.*s", prefix, (int)p->number.len, p->number.ptr);
    return text_of(l, buf, (size_t)n);
}

/* The row of the table is the tensor's; "ffn_norm" may be what an architecture calls otherwise. */
static bool is_row(const list *l, const tare_tensor_named *row, const parted *p) {
    const char *name = row->name;
    if (!tare_llama_is_one_of(tare_str_of(name), l->r->arch->tensors)) return false;
    if (strcmp(name, "ffn_pre_norm") == 0) name = "ffn_norm";
    if (strncmp(name, p->side, strlen(p->side)) != 0) return false;
    return tare_str_is(p->stem, p->number.len ? name + strlen(p->side) : name);
}

/* The other name of a tensor that the architecture spells, and which leads to this one; ptr NULL:
 * none, or memory is out. */
static tare_status find_spelled(tare_str *out, const list *l, const parted *p, tare_error *err) {
    const tare_tensor_named *row = p->number.len ? tare_tensors_in_blocks : tare_tensors_outside;
    tare_str head = head_of(l, p);
    *out = (tare_str){NULL, 0};
    for (; row->name && head.ptr; row++) {
        const char *names = l->r->arch->back->names;
        if (!is_row(l, row, p)) continue;
        while (*names) {
            char buf[192];
            tare_str target, other = {names, strcspn(names, " ")};
            names += other.len + (names[other.len] == ' ');
            if (!tare_llama_is_one_of(other, row->others)) continue;
            int n = snprintf(buf, sizeof buf, "%.*s%s%.*s%.*s", (int)head.len, head.ptr,
                             head.len ? "." : "", (int)other.len, other.ptr, (int)p->suffix.len,
                             p->suffix.ptr);
            TARE_TRY(tare_llama_names_find(&target, &l->r->names, (tare_str){buf, (size_t)n},
                                           &l->r->out->arena, err));
            if (!target.ptr || !tare_str_equal(target, p->tensor->name)) continue;
            *out = text_of(l, buf, (size_t)n);
            return out->ptr ? TARE_OK : tare_fail(err, TARE_ERR_NOMEM, "tensor name");
        }
    }
    return TARE_OK;
}

/* A tensor of the layers that predict more tokens under its own prefix again: "mtp.fc.weight". */
static tare_str nextn_original(const list *l, tare_str name) {
    const tare_str layers = TARE_STR("model.layers.");
    const tare_llama_arch *arch = l->r->arch;
    int64_t layer, last;
    char buf[192];
    tare_llama_numbers_of(name, &layer, &last);
    if (!arch->nextn || layer < (int64_t)l->first_nextn || !tare_str_starts(name, layers))
        return name;
    const char *dot = memchr(name.ptr + layers.len, '.', name.len - layers.len);
    tare_str rest = tare_str_cut(name, dot ? (size_t)(dot - name.ptr) + 1 : name.len);
    const tare_str shared = tare_llama_nextn_shared(rest);
    if (shared.ptr && tare_llama_is_one_of(TARE_STR("fc"), arch->back->names)) {
        const char *end = memchr(rest.ptr, '.', rest.len); /* of "eh_proj", "shared_head" */
        rest = tare_str_cut(rest, end ? (size_t)(end - rest.ptr) + 1 : rest.len);
        if (tare_str_starts(rest, TARE_STR("norm."))) rest = tare_str_cut(rest, 5);
        int n = snprintf(buf, sizeof buf, "%s%.*s%.*s", arch->nextn, (int)shared.len, shared.ptr,
                         (int)rest.len, rest.ptr);
        return text_of(l, buf, (size_t)n);
    }
    int n = snprintf(buf, sizeof buf, "%slayers.%lld.%.*s", arch->nextn,
                     (long long)layer - (long long)l->first_nextn, (int)rest.len, rest.ptr);
    return text_of(l, buf, (size_t)n);
}

/* What the converter reads a name as, undone: the cuts that go both ways, "from=to". */
static tare_str original_name(const list *l, tare_str name) {
    tare_arena *arena = &l->r->out->arena;
    name = tare_llama_replaced(name, "e_score_correction.bias", "e_score_correction_bias", arena);
    const char *lead = l->r->arch->back->lead;
    if (name.ptr) name = nextn_original(l, name);
    for (const char *cut = l->r->arch->cut; cut && *cut && name.ptr;) {
        char from[48], to[48];
        size_t n = strcspn(cut, " ");
        const char *equals = memchr(cut, '=', n);
        if (equals) {
            snprintf(from, sizeof from, "%.*s", (int)(equals - cut), cut);
            snprintf(to, sizeof to, "%.*s", (int)(cut + n - equals - 1), equals + 1);
            name = tare_llama_replaced(name, to, from, arena);
        }
        cut += n + (cut[n] == ' ');
    }
    if (!lead || !name.ptr || tare_str_starts(name, TARE_STR("lm_head"))) return name;
    char buf[256];
    int n = snprintf(buf, sizeof buf, "%s%.*s", lead, (int)name.len, name.ptr);
    return text_of(l, buf, (size_t)n);
}

/* ---- the list -------------------------------------------------------------------------------- */

tare_status tare_llama_expect(tare_llama_restoring *r, const tare_llama_expected *w,
                              tare_error *err) {
    if (r->n_expected >= r->out->limits.tensors)
        return tare_fail(err, TARE_ERR_LIMIT, "number of restored tensors");
    if (!tare_grow(r->out->allocator, (void **)&r->expected, &r->expected_capacity,
                   r->n_expected + 1, sizeof *r->expected))
        return tare_fail(err, TARE_ERR_NOMEM, "list of tensors");
    r->expected[r->n_expected++] = *w;
    return TARE_OK;
}

static tare_status add(list *l, const tare_llama_expected *w, tare_error *err) {
    tare_llama_expected named = *w;
    named.name = original_name(l, w->name);
    if (!named.name.ptr) return tare_fail(err, TARE_ERR_NOMEM, "tensor name");
    return tare_llama_expect(l->r, &named, err);
}

/* A tensor for each slice: `name` with the numbers put in behind `at` bytes. */
static tare_status add_slices(list *l, const parted *p, tare_str name, size_t at, size_t skip,
                              tare_llama_expected *w, tare_error *err) {
    const uint64_t n = p->tensor->dims[0];
    if (n > l->r->gguf->limits.tensors)
        return fail_tensor(p, TARE_ERR_LIMIT, "number of its slices", err);
    for (uint64_t i = 0; i < n; i++) {
        char buf[256];
        int size =
            snprintf(buf, sizeof buf, "%.*s%llu%.*s", (int)at, name.ptr, (unsigned long long)i,
                     (int)(name.len - at - skip), name.ptr + at + skip);
        w->name = text_of(l, buf, (size_t)size);
        if (!w->name.ptr) return tare_fail(err, TARE_ERR_NOMEM, "tensor name");
        TARE_TRY(add(l, w, err));
    }
    return TARE_OK;
}

/* ---- by rules -------------------------------------------------------------------------------- */

/* The tensor of the file that a rule makes of what stands in place of its '*'; ptr NULL: none. */
static tare_status rule_target(tare_str *out, const list *l, const parted *p,
                               const tare_llama_rule *rule, tare_str head, tare_error *err) {
    char buf[192];
    bool takes_suffix = rule->match[strlen(rule->match) - 1] == '@';
    tare_str suffix = takes_suffix ? p->suffix : TARE_STR("");
    size_t n = 0;
    if (rule->to[0] == '=') {
        for (const char *c = rule->to + 1; *c && n + 24 < sizeof buf; c++)
            if (*c == '#')
                n += (size_t)snprintf(buf + n, sizeof buf - n, "%.*s", (int)p->number.len,
                                      p->number.ptr);
            else
                buf[n++] = *c;
        n += (size_t)snprintf(buf + n, sizeof buf - n, "%.*s", (int)suffix.len, suffix.ptr);
        *out = text_of(l, buf, n);
        return out->ptr ? TARE_OK : tare_fail(err, TARE_ERR_NOMEM, "tensor name");
    }
    n = (size_t)snprintf(buf, sizeof buf, "%.*s%s%.*s", (int)head.len, head.ptr, rule->to,
                         (int)suffix.len, suffix.ptr);
    return tare_llama_names_find(out, &l->r->names, (tare_str){buf, n}, &l->r->out->arena, err);
}

/* Whether a rule's condition holds for the block of the tensor: "if(layer == 0) ..". What its other
 * operations ask of the shape, the rehearsal finds out. */
static bool holds(const list *l, const parted *p, const tare_llama_rule *rule) {
    tare_llama_draft draft = {.layer = -1, .number = -1};
    tare_llama_expected was;
    if (!rule->program || strncmp(rule->program, "if(", 3) != 0) return true;
    tare_llama_numbers_of(p->tensor->name, &draft.layer, &draft.number);
    if (tare_llama_shape_was(&was, l->r, p->index, tare_llama_shape_row_of(l->r, rule), NULL) !=
            TARE_OK ||
        !tare_llama_shape_init(&draft.shape, was.dims, was.n_dims))
        return true;
    return tare_llama_program_run(&draft, rule->program, &l->r->config, NULL) != TARE_OK ||
           !draft.is_skipped;
}

/* Whether a rule above makes another tensor of the file of the same one. */
static tare_status is_sibling(bool *out, const list *l, const parted *p,
                              const tare_llama_rule *rule, tare_str head, tare_error *err) {
    *out = false;
    for (const tare_llama_rule *r = l->r->arch->rules; r < rule && !*out; r++) {
        tare_str name;
        if (!r->to || strcmp(r->match, rule->match) != 0 || !holds(l, p, r)) continue;
        TARE_TRY(rule_target(&name, l, p, r, head, err));
        *out = name.ptr && tare_model_find_tensor(l->r->gguf, name) >= 0;
    }
    return TARE_OK;
}

/* The name that a rule's pattern matches, of the block that the tensor is of. */
static tare_status add_by_rule(list *l, const parted *p, const tare_llama_rule *rule, tare_str head,
                               tare_error *err) {
    char buf[192];
    size_t n = 0, slices = 0;
    tare_llama_expected w = {.name = {NULL, 0}};
    TARE_TRY(tare_llama_shape_was(&w, l->r, p->index, tare_llama_shape_row_of(l->r, rule), err));
    for (const char *c = rule->match; *c && n + 96 < sizeof buf; c++) {
        if (*c == '*')
            n += (size_t)snprintf(buf + n, sizeof buf - n, "%.*s", (int)head.len, head.ptr);
        else if (*c == '@')
            n += (size_t)snprintf(buf + n, sizeof buf - n, "%.*s", (int)p->suffix.len,
                                  p->suffix.ptr);
        else
            buf[n++] = *c;
        if (*c == '#') slices = n;
    }
    w.name = text_of(l, buf, n);
    if (!w.name.ptr) return tare_fail(err, TARE_ERR_NOMEM, "tensor name");
    return slices ? add_slices(l, p, w.name, slices - 1, 1, &w, err) : add(l, &w, err);
}

/* All rules that make the tensor of others, and say what these were; *n: how many. */
static tare_status apply_rules(list *l, const parted *p, size_t *n, tare_error *err) {
    const tare_llama_rule *rule = l->r->arch->rules;
    tare_str head = head_of(l, p);
    *n = 0;
    for (; rule && rule->match; rule++) {
        tare_str target;
        bool is_made_before;
        if (!rule->to || !tare_llama_shape_row_of(l->r, rule) || !head.ptr) continue;
        TARE_TRY(rule_target(&target, l, p, rule, head, err));
        if (!target.ptr || !tare_str_equal(target, p->tensor->name) || !holds(l, p, rule)) continue;
        ++*n;
        TARE_TRY(is_sibling(&is_made_before, l, p, rule, head, err));
        if (!is_made_before) TARE_TRY(add_by_rule(l, p, rule, head, err));
    }
    return TARE_OK;
}

/* ---- by names -------------------------------------------------------------------------------- */

/* The shape that a rule which keeps the name says the tensor had; NULL: the same. */
static const char *shape_by_rule(const list *l, const parted *p, tare_str name) {
    for (const tare_llama_rule *r = l->r->arch->rules; r && r->match; r++) {
        size_t tail;
        tare_str suffix;
        if (!r->to && tare_llama_shape_row_of(l->r, r) &&
            tare_llama_rule_matches(r, name, p->tensor->name, &tail, &suffix))
            return tare_llama_shape_row_of(l->r, r);
    }
    return NULL;
}

static tare_status add_by_name(list *l, const parted *p, tare_str name, tare_error *err) {
    static const tare_str word = {"experts.", 8};
    tare_llama_expected w = {.name = name};
    const char *was = shape_by_rule(l, p, name);
    const bool is_stack = tare_str_ends(p->stem, TARE_STR("exps"));
    for (size_t i = 1; !was && is_stack && i + word.len < name.len; i++) {
        bool is_expert = memcmp(name.ptr + i, word.ptr, word.len) == 0 && name.ptr[i - 1] == '.';
        if (!is_expert) continue;
        char buf[192];
        TARE_TRY(tare_llama_shape_kept(&w, l->r, p->index, 1, err));
        size_t at = i + word.len;
        int n = snprintf(buf, sizeof buf, "%.*s#.%.*s", (int)at, name.ptr, (int)(name.len - at),
                         name.ptr + at);
        return add_slices(l, p, (tare_str){buf, (size_t)n}, at, 1, &w, err);
    }
    if (was)
        TARE_TRY(tare_llama_shape_was(&w, l->r, p->index, was, err));
    else
        TARE_TRY(tare_llama_shape_kept(&w, l->r, p->index, 0, err));
    return add(l, &w, err);
}

/* Tensors that the converter computes of config.json. */
static bool is_generated(const list *l, const parted *p) {
    const char *own = l->r->arch->back->generated;
    return tare_llama_is_one_of(p->stem, "rope_freqs rope_factors_long rope_factors_short") ||
           (own && tare_llama_is_one_of(p->stem, own));
}

static tare_status find_nextn(list *l, tare_error *err) {
    uint64_t blocks = 0, nextn = 0;
    bool is_there;
    TARE_TRY(tare_llama_formula_u64(&blocks, &is_there, TARE_STR("block_count"), &l->r->by_keys,
                                    NULL, err));
    TARE_TRY(tare_llama_formula_u64(&nextn, &is_there, TARE_STR("nextn_predict_layers | 0"),
                                    &l->r->by_keys, NULL, err));
    l->first_nextn = blocks - tare_min_u64(nextn, blocks);
    return TARE_OK;
}

tare_status tare_llama_list_expected(tare_llama_restoring *r, tare_error *err) {
    list l = {.r = r};
    TARE_TRY(find_nextn(&l, err));
    for (size_t i = 0; i < r->gguf->catalog.n_tensors; i++) {
        const parted p = take_apart(r->gguf, i);
        tare_str name;
        size_t n;
        if (is_generated(&l, &p)) continue;
        TARE_TRY(apply_rules(&l, &p, &n, err));
        if (n) continue;
        TARE_TRY(find_spelled(&name, &l, &p, err));
        if (!name.ptr)
            return fail_tensor(&p, TARE_ERR_UNSUPPORTED,
                               "models of this architecture have no such tensor", err);
        TARE_TRY(add_by_name(&l, &p, name, err));
    }
    return TARE_OK;
}
