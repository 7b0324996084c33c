/* SPDX-License-Identifier: MIT
 *
 * The settings of rotary positions in config.json, held against what transformers asks of them: each
 * type has numbers that it cannot do without (modeling_rope_utils.py), and of two objects with
 * settings, one counts. */
#include <math.h>

#include "base/report.h"
#include "base/str.h"
#include "llama/loader.h"
#include "llama/mapping.h"

tare_status tare_llama_fail_rope(const char *member, const char *what, tare_error *err) {
    tare_fail(err, TARE_ERR_CORRUPT, what);
    tare_error_item(err, TARE_ITEM_RESOURCE, -1, TARE_STR("config.json"));
    tare_error_detail(err, "%s", member);
    return TARE_ERR_CORRUPT;
}

/* The settings are an object, whatever they are called. */
static tare_status check_objects(const tare_llama_mapping *m, tare_error *err) {
    const char *const members[] = {"rope_scaling", "rope_parameters"};
    for (size_t i = 0; i < 2; i++) {
        const tare_json_node *n = tare_llama_config_find(&m->config, tare_str_of(members[i]));
        if (n && n->type != TARE_JSON_OBJECT && n->type != TARE_JSON_FALSE)
            return tare_llama_fail_rope(members[i],
                                        "settings of rotary positions: expected an object", err);
    }
    return TARE_OK;
}

/* YaRN's factor may be null, and is then how much longer the context has become. */
static tare_status take_null_factor(tare_llama_mapping *m, tare_error *err) {
    static const char *const places[] = {"rope_parameters.full_attention",
                                         "rope_scaling.full_attention", "rope_parameters",
                                         "rope_scaling"};
    double factor;
    bool is_named = false;
    for (size_t i = 0; i < sizeof places / sizeof *places; i++)
        is_named |= tare_json_names(tare_llama_config_find(&m->config, tare_str_of(places[i])),
                                    TARE_STR("factor"));
    TARE_TRY(tare_llama_number(&factor, m,
                               "if(rope.type == 'yarn', if(has(rope.factor) == false, "
                               "max_position_embeddings / rope.original_context))",
                               0, err));
    if (is_named && factor > 0) tare_llama_add_fact(m, "rope.factor", factor);
    return TARE_OK;
}

/* What a type cannot do without. A formula that stretches the base by `alpha` (HunYuan) asks for no
 * factor. */
static tare_status check_needed(const tare_llama_mapping *m, tare_error *err) {
    static const struct {
        const char *types, *formula, *member;
    } needed[] = {
        {"linear yarn llama3", "rope.factor", "factor"},
        {"dynamic", "rope.factor | rope.alpha", "factor"},
        {"llama3", "rope.low_freq_factor", "low_freq_factor"},
        {"llama3", "rope.high_freq_factor", "high_freq_factor"},
        {"longrope", "rope.long_factor", "long_factor"},
        {"longrope", "rope.short_factor", "short_factor"},
    };
    tare_llama_value type, v;
    TARE_TRY(tare_llama_formula(&type, TARE_STR("rope.type"), &m->config, NULL, err));
    for (size_t i = 0; i < sizeof needed / sizeof *needed; i++) {
        if (type.kind != TARE_LLAMA_TEXT || !tare_llama_is_one_of(type.text, needed[i].types))
            continue;
        TARE_TRY(tare_llama_formula(&v, tare_str_of(needed[i].formula), &m->config, NULL, err));
        if (v.kind == TARE_LLAMA_ABSENT)
            return tare_llama_fail_rope(needed[i].member,
                                        "this type of rotary positions needs the setting", err);
    }
    return TARE_OK;
}

/* What is divided by, or is the base of a power, is above 0. */
static tare_status check_positive(const tare_llama_mapping *m, tare_error *err) {
    static const struct {
        const char *formula, *member;
    } numbers[] = {{"rope.factor", "factor"},
                   {"rope.theta", "rope_theta"},
                   {"rope.theta_swa", "rope_theta of layers with a window"},
                   {"rope.original_context", "original_max_position_embeddings"}};
    double number;
    for (size_t i = 0; i < sizeof numbers / sizeof *numbers; i++) {
        TARE_TRY(tare_llama_number(&number, m, numbers[i].formula, 1, err));
        if (!(number > 0))
            return tare_llama_fail_rope(numbers[i].member,
                                        "this setting of rotary positions is out of range", err);
    }
    return TARE_OK;
}

/* ---- rope_parameters beside rope_scaling ------------------------------------------------------- */

/* The value that a member of the one object has in the other, where the type has another name. */
static const tare_json_node *counterpart(const tare_json_node *member, const tare_json_node *in) {
    const tare_str names[] = {TARE_STR("rope_type"), TARE_STR("type")};
    const tare_json_node *found = tare_json_member(in, member->key);
    for (size_t i = 0; i < 2 && !found; i++)
        if (tare_str_equal(member->key, names[i])) found = tare_json_member(in, names[1 - i]);
    return found;
}

/* Whether all members of one object are in another, as objects of numbers and texts. */
static bool is_part_of(const tare_json_node *part, const tare_json_node *whole,
                       const tare_json_node *beside) {
    for (const tare_json_node *c = part->child; c; c = c->next) {
        const tare_json_node *other = counterpart(c, whole);
        if (!other) other = tare_json_member(beside, c->key);
        const tare_llama_value a = tare_llama_value_of(c), b = tare_llama_value_of(other);
        if (a.kind != b.kind || !tare_str_equal(a.text, b.text) ||
            (a.number < b.number || a.number > b.number))
            return false;
        if (a.kind == TARE_LLAMA_TREE && (c->type != other->type || c->n != other->n)) return false;
        if (c->type == TARE_JSON_OBJECT && !is_part_of(c, other, NULL)) return false;
    }
    return true;
}

static void note_two(tare_llama_mapping *m, const tare_json_node *place) {
    const tare_json_node *older = tare_json_member(place, TARE_STR("rope_scaling")),
                         *newer = tare_json_member(place, TARE_STR("rope_parameters"));
    const tare_json_node *whole = tare_json_member(newer, TARE_STR("full_attention"));
    if (whole && !tare_json_member(older, TARE_STR("full_attention"))) newer = whole;
    if (!tare_llama_config_is_replaced(place) || !newer || newer->type != TARE_JSON_OBJECT ||
        (is_part_of(newer, older, place) && is_part_of(older, newer, place)))
        return;
    tare_finding f = TARE_FINDING(WARNING, TARE_ERR_CORRUPT, "llama.not-applied");
    f.item_kind = TARE_ITEM_RESOURCE;
    f.item_name = TARE_STR("config.json");
    f.offset = newer->offset;
    f.text = TARE_STR("rope_parameters says something else than rope_scaling, which transformers "
                      "takes instead of it: so does the conversion");
    tare_report_add(m->options->context->report, &f);
    if (m->out->loss.status == TARE_OK) m->out->loss = f;
}

/* A base that is null is none, neither the class's nor llama.cpp's. */
static tare_status check_base(const tare_llama_mapping *m, tare_error *err) {
    double has_base;
    if (m->arch->tower || tare_llama_is_one_of(tare_str_of(m->arch->name), TARE_LLAMA_UNTURNED
                                               " granitehybrid kimi-k3 kimi-linear"))
        return TARE_OK;
    TARE_TRY(tare_llama_number(&has_base, m,
                               "if(is_null('rope_theta'), if(has(rope.theta), 1, 0), 1)", 1, err));
    return has_base > 0 ? TARE_OK
                        : tare_llama_fail_rope("rope_theta",
                                               "it is null: rotary positions need a base", err);
}

tare_status tare_llama_check_rope(tare_llama_mapping *m, tare_error *err) {
    TARE_TRY(check_objects(m, err));
    note_two(m, m->config.text);
    note_two(m, m->config.root);
    TARE_TRY(take_null_factor(m, err));
    TARE_TRY(check_needed(m, err));
    TARE_TRY(check_base(m, err));
    return check_positive(m, err);
}
