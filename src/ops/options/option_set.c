/* SPDX-License-Identifier: MIT
 *
 * The handle behind options by name. */
#include "base/str.h"
#include "ops/options/option_table.h"

TARE_DEFINE_INIT(tare_option_info)

tare_status tare_options_new(tare_options **out, tare_verb verb, const tare_allocator *allocator,
                             tare_error *err) {
    TARE_REQUIRE(out, err);
    *out = NULL;
    TARE_REQUIRE(tare_option_row_at(verb, 0), err);
    tare_options *o = tare_alloc(allocator, sizeof *o);
    if (!o) return tare_fail(err, TARE_ERR_NOMEM, "options");
    *o = (tare_options){.allocator = allocator,
                        .verb = verb,
                        .context = tare_context_default(),
                        .output = tare_output_options_default(),
                        .convert = tare_convert_options_default(),
                        .mix = tare_mix_options_default(),
                        .mcf = tare_convert_mcf_options_default(),
                        .infq = tare_convert_infq_options_default(),
                        .wcodec = tare_convert_wcodec_options_default(),
                        .pack = tare_pack_options_default(),
                        .lossy = tare_lossy_options_default(),
                        .unpack = tare_unpack_options_default(),
                        .fit = tare_fit_options_default(),
                        .target = tare_fit_target_default()};
    tare_arena_init(&o->arena, allocator);
    o->convert.mcf = &o->mcf;
    o->convert.infq = &o->infq;
    o->convert.wcodec = &o->wcodec;
    if (verb == TARE_VERB_QUANTIZE) o->convert.mix = &o->mix;
    o->context.allocator = allocator;
    o->convert.context = o->pack.context = o->unpack.context = &o->context;
    o->convert.output = o->pack.output = o->unpack.output = &o->output;
    *out = o;
    return TARE_OK;
}

void tare_options_free(tare_options *o) {
    if (!o) return;
    tare_free(o->allocator, o->rules, o->rules_capacity * sizeof *o->rules);
    tare_free(o->allocator, o->exclude, o->exclude_capacity * sizeof *o->exclude);
    tare_arena_free(&o->arena);
    tare_free(o->allocator, o, sizeof *o);
}

static bool is_name(const char *name, const char *given) {
    for (; *name && (*name == *given || (*name == '_' && *given == '-')); name++) given++;
    return *name == *given;
}

tare_status tare_option_set(tare_options *o, const char *name, const char *value, tare_error *err) {
    const tare_option_row *row;
    size_t i = 0;
    TARE_REQUIRE(o && name && value, err);
    while ((row = tare_option_row_at(o->verb, i)) != NULL && !is_name(row->info.name, name)) i++;
    tare_status status = !row       ? tare_fail(err, TARE_ERR_ARG, "unknown option")
                         : row->set ? row->set(o, value, err)
                                    : tare_option_set_by_kind(o, row, value, err);
    const tare_lossy_options *l = &o->lossy;
    o->pack.lossy = l->target_bytes || l->target_bpw != 0 || l->target_damage != 0 ? l : NULL;
    if (status != TARE_OK && err)
        tare_str_escape(err->field, sizeof err->field, tare_str_of(name), false);
    return status;
}

tare_convert_options *tare_options_convert(tare_options *o) {
    return o && (o->verb == TARE_VERB_CONVERT || o->verb == TARE_VERB_QUANTIZE) ? &o->convert
                                                                                : NULL;
}

tare_pack_options *tare_options_pack(tare_options *o) {
    return o && o->verb == TARE_VERB_PACK ? &o->pack : NULL;
}

tare_unpack_options *tare_options_unpack(tare_options *o) {
    return o && o->verb == TARE_VERB_UNPACK ? &o->unpack : NULL;
}

tare_context *tare_options_context(tare_options *o) {
    return o ? &o->context : NULL;
}

tare_fit_options *tare_options_fit(tare_options *o) {
    return o && o->verb == TARE_VERB_QUANTIZE ? &o->fit : NULL;
}

const tare_fit_target *tare_options_target(const tare_options *o) {
    if (!o || o->verb != TARE_VERB_QUANTIZE) return NULL;
    const tare_fit_target *t = &o->target;
    return t->file_bytes || t->bits_per_weight != 0 || t->damage != 0 ? t : NULL;
}
