/* SPDX-License-Identifier: MIT
 *
 * Rules are expressions (tare/experimental/pattern.h), matched anywhere in a name. */
#include "ops/convert/type_rules.h"

#include <tare/experimental/pattern.h>

#include <string.h>

#include "base/alloc.h"
#include "encoding/kernels.h"
#include "encoding/slab.h"

static tare_status compile(tare_pattern **patterns, const tare_type_rule *rules, size_t n,
                           const tare_allocator *allocator, tare_error *err) {
    for (size_t i = 0; i < n; i++) {
        const char *text = rules[i].pattern;
        tare_status status = tare_pattern_new(&patterns[i], text, strlen(text), allocator, err);
        if (status != TARE_OK && err) err->offset = TARE_NO_OFFSET; /* of no file */
        if (status != TARE_OK) return status;
    }
    return TARE_OK;
}

/* The first that matches; *out stays if none does. */
static tare_status find(int64_t *out, tare_pattern *const *patterns, size_t n, tare_str name,
                        tare_error *err) {
    bool is_match = false;
    for (size_t i = 0; !is_match && i < n; i++) {
        TARE_TRY(tare_pattern_matches(&is_match, patterns[i], name, err));
        if (is_match) *out = (int64_t)i;
    }
    return TARE_OK;
}

tare_status tare_type_rules_match(int64_t *out, const tare_model *in, const tare_type_rule *rules,
                                  size_t n_rules, tare_error *err) {
    const tare_catalog *c = &in->catalog;
    for (size_t i = 0; i < c->n_tensors; i++) out[i] = -1;
    if (n_rules == 0) return TARE_OK;
    tare_pattern **patterns = n_rules <= SIZE_MAX / sizeof *patterns
                                  ? tare_alloc(in->allocator, n_rules * sizeof *patterns)
                                  : NULL;
    if (!patterns) return tare_fail(err, TARE_ERR_NOMEM, "tensor type rules");
    for (size_t i = 0; i < n_rules; i++) patterns[i] = NULL;
    tare_status status = compile(patterns, rules, n_rules, in->allocator, err);
    for (size_t i = 0; status == TARE_OK && i < c->n_tensors; i++) {
        status = find(&out[i], patterns, n_rules, c->tensors[i].name, err);
        if (status != TARE_OK)
            tare_error_item(err, TARE_ITEM_TENSOR, (int64_t)i, c->tensors[i].name);
    }
    for (size_t i = 0; i < n_rules; i++) tare_pattern_free(patterns[i]);
    tare_free(in->allocator, patterns, n_rules * sizeof *patterns);
    return status;
}

/* ---- what can be had ------------------------------------------------------------------------- */

tare_status tare_type_check(const tare_encoding *type, tare_quality quality,
                            const tare_convert_mcf_options *mcf, tare_error *err) {
    const tare_kernels *k = tare_kernels_get();
    if (!tare_encoding_can_encode(type))
        return tare_fail_code(err, TARE_ERR_UNSUPPORTED, TARE_CODE_CANNOT_ENCODE,
                              "the requested type cannot be encoded");
    if (type->kind != TARE_KIND_BLOCK) return TARE_OK;
    if (quality == TARE_QUALITY_BEST && !k->encode_best[type->id])
        return tare_fail(err, TARE_ERR_UNSUPPORTED, "the requested type has no best quality");
    if (mcf->compat == TARE_COMPAT_MANTLE && !k->encode_mantle[type->id])
        return tare_fail(err, TARE_ERR_UNSUPPORTED,
                         "the other program does not encode the requested type");
    if (mcf->has_clip && !k->encode_clipped[type->id])
        return tare_fail(err, TARE_ERR_UNSUPPORTED,
                         "the requested type takes no bounds for its values");
    return TARE_OK;
}

bool tare_tensor_is_real(const tare_tensor *t) {
    return t->encoding->kind == TARE_KIND_FLOAT || t->encoding->kind == TARE_KIND_BLOCK;
}

const char *tare_type_obstacle(const tare_model *in, const tare_format_caps *caps, size_t tensor,
                               const tare_encoding *to) {
    const tare_tensor *t = &in->catalog.tensors[tensor];
    if (tare_tensor_is_part(in, tensor)) return "it is part of a packed scheme";
    if (!tare_tensor_is_real(t)) return "its numbers are not floats";
    if (!tare_tensor_can_decode(in, tensor)) return "its type cannot be decoded";
    if (!to->is_edge_padded && !to->is_bit_packed && t->cols % to->block != 0)
        return "its rows are not a whole number of blocks";
    if (!tare_encoding_fills_bytes(to, t->n_elements)) return "its numbers fill no whole bytes";
    if (caps->has_encoding(to) && t->n_dims <= caps->max_dims &&
        !tare_format_caps_has_rank(caps, to, t->n_dims))
        return "its shape is not a matrix";
    return NULL;
}
