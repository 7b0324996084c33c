/* SPDX-License-Identifier: MIT
 *
 * general.*: the model's name, where it comes from, how to sample from it; taken from the caller,
 * the model card, config.json, or the directory's name. */
#include <math.h>
#include <stdio.h>

#include "base/report.h"
#include "base/str.h"
#include "llama/mapping.h"
#include "llama/model_card.h"
#include "llama/model_id.h"
#include "llama/yaml_text.h"
#include "model/foreign.h"

typedef struct general {
    tare_llama_mapping *m;
    const tare_json_node *card, *overrides; /* NULL: none */
    tare_llama_model_id ids[2];             /* by config.json, by the directory */
    uint64_t n_weights;
} general;

/* ---- sampling -------------------------------------------------------------------------------- */

static const tare_llama_sampling samplings[] = {
    {"general.sampling.sequence", "sequence", TARE_VALUE_STRING},
    {"general.sampling.top_k", "top_k", TARE_VALUE_I32},
    {"general.sampling.top_p", "top_p", TARE_VALUE_F32},
    {"general.sampling.min_p", "min_p", TARE_VALUE_F32},
    {"general.sampling.xtc_probability", "xtc_probability", TARE_VALUE_F32},
    {"general.sampling.xtc_threshold", "xtc_threshold", TARE_VALUE_F32},
    {"general.sampling.temp", "temperature", TARE_VALUE_F32},
    {"general.sampling.penalty_last_n", "penalty_last_n", TARE_VALUE_I32},
    {"general.sampling.penalty_repeat", "penalty_repeat", TARE_VALUE_F32},
    {"general.sampling.mirostat", "mirostat", TARE_VALUE_I32},
    {"general.sampling.mirostat_tau", "mirostat_tau", TARE_VALUE_F32},
    {"general.sampling.mirostat_eta", "mirostat_eta", TARE_VALUE_F32},
};

const tare_llama_sampling *tare_llama_sampling_at(size_t i) {
    return i < sizeof samplings / sizeof *samplings ? &samplings[i] : NULL;
}

/* A member of the caller's object; its keys have dots in them, so no path. */
static const tare_json_node *override_of(const general *g, const char *key) {
    return tare_json_member(g->overrides, tare_str_of(key));
}

/* A warning about generation_config.json, of which nothing is needed. */
static void note_sampling(const general *g, uint64_t offset, const char *member, const char *what) {
    tare_finding f = TARE_FINDING(WARNING, TARE_ERR_CORRUPT, "llama.generation-config");
    f.item_kind = TARE_ITEM_RESOURCE;
    f.item = tare_model_find_resource(g->m->hf, TARE_STR("generation_config.json"));
    f.item_name = TARE_STR("generation_config.json");
    f.offset = offset;
    tare_report_addf(g->m->options->context->report, &f, "%s%s%s: no key is made from it", member,
                     *member ? ": " : "", what);
}

/* Why a value makes no key of this type; NULL: it does. */
static const char *fault_of(const tare_llama_value *v, tare_value_type type) {
    if (type == TARE_VALUE_STRING) return v->kind == TARE_LLAMA_TEXT ? NULL : "not a text";
    if (v->kind != TARE_LLAMA_NUMBER) return "not a number";
    if (!isfinite(v->number)) return "not a finite number";
    if (type == TARE_VALUE_I32 && floor(v->number) < v->number) return "not a whole number";
    return fabs(v->number) < 0x1p31 ? NULL : "a number out of range";
}

static tare_status set_sampling(general *g, tare_error *err) {
    const tare_json_node *config = NULL;
    tare_error fault = TARE_ERROR_NONE;
    tare_status status =
        tare_model_json(&config, g->m->hf, "generation_config.json", &g->m->out->arena, &fault);
    if (status == TARE_ERR_NOMEM || status == TARE_ERR_IO) {
        if (err) *err = fault;
        return status;
    }
    if (status != TARE_OK) note_sampling(g, fault.offset, "", fault.what);
    for (size_t i = 0; i < sizeof samplings / sizeof *samplings; i++) {
        const tare_llama_sampling *s = &samplings[i];
        const tare_json_node *node = override_of(g, s->key);
        if (!node) node = tare_json_member(config, tare_str_of(s->member));
        tare_llama_value v = tare_llama_value_of(node);
        const char *const why = v.kind == TARE_LLAMA_ABSENT ? NULL : fault_of(&v, s->type);
        if (why)
            note_sampling(g, node->offset, s->member, why);
        else if (v.kind == TARE_LLAMA_TEXT)
            TARE_TRY(tare_llama_set_text(g->m, s->key, v.text, err));
        else if (v.kind == TARE_LLAMA_NUMBER)
            TARE_TRY(tare_llama_set_number(g->m, s->key, s->type, v.number, err));
    }
    return TARE_OK;
}

/* ---- texts ----------------------------------------------------------------------------------- */

/* The texts of a list, with commas between them; ptr NULL: memory is out. */
static tare_str joined_list(const tare_json_node *list, tare_arena *arena) {
    size_t size = 0, at = 0;
    for (const tare_json_node *c = list->child; c; c = c->next) size += c->text.len + 1;
    char *out = tare_arena_take(arena, size);
    for (const tare_json_node *c = list->child; out && c; c = c->next) {
        if (at) out[at++] = ',';
        if (c->text.len) memcpy(out + at, c->text.ptr, c->text.len);
        at += c->text.len;
    }
    return (tare_str){out, at};
}

/* A member of the card under the first of these names; a list joined by commas. */
static tare_str card_text(const general *g, const char *names) {
    for (const char *at = names; at && *at;) {
        size_t n = strcspn(at, " ");
        const tare_json_node *node = tare_json_member(g->card, (tare_str){at, n});
        if (node && node->type == TARE_JSON_STRING) return node->text;
        if (node && node->n) return joined_list(node, &g->m->out->arena);
        at += n;
        while (*at == ' ') at++;
    }
    return TARE_STR("");
}

/* Of both ids the first that tells. */
static tare_str id_text(const general *g, size_t field_offset) {
    for (size_t i = 0; i < 2; i++) {
        tare_str text;
        memcpy(&text, (const char *)&g->ids[i] + field_offset, sizeof text);
        if (text.len) return text;
    }
    return TARE_STR("");
}

#define NO_FIELD SIZE_MAX
#define FIELD(x) offsetof(tare_llama_model_id, x)

static const tare_llama_card_key texts[] = {
    {"general.name", "name model_name", FIELD(name), true},
    {"general.author", "author model_author model_creator", NO_FIELD, false},
    {"general.version", "version model_version", FIELD(version), false},
    {"general.organization", "organization model_organization", FIELD(organization), true},
    {"general.finetune", "finetune model_finetune", FIELD(fine_tune), false},
    {"general.basename", "basename model_basename model_type", FIELD(base_name), false},
    {"general.description", "description model_description", NO_FIELD, false},
    {"general.quantized_by", "", NO_FIELD, false},
    {"general.size_label", "size_label model_size_label", FIELD(size_label), false},
    {"general.license", "license", NO_FIELD, false},
    {"general.license.name", "license_name", NO_FIELD, false},
    {"general.license.link", "license_link", NO_FIELD, false},
    {"general.url", "", NO_FIELD, false},
    {"general.doi", "", NO_FIELD, false},
    {"general.uuid", "", NO_FIELD, false},
    {"general.repo_url", "", NO_FIELD, false},
    {"general.source.url", "url model_url", NO_FIELD, false},
    {"general.source.doi", "doi model_doi", NO_FIELD, false},
    {"general.source.uuid", "uuid model_uuid", NO_FIELD, false},
    {"general.source.repo_url", "repo_url model_repo_url", NO_FIELD, false},
};

const tare_llama_card_key *tare_llama_card_key_at(size_t i) {
    return i < sizeof texts / sizeof *texts ? &texts[i] : NULL;
}

/* "1.5B", "13B", "143K": two digits at least. */
static void count_text(char *buf, size_t size, double n) {
    static const struct {
        double above, unit;
        char suffix;
    } units[] = {{1e12, 1e-12, 'T'}, {1e9, 1e-9, 'B'}, {1e6, 1e-6, 'M'}, {-1, 1e-3, 'K'}};
    size_t i = 0;
    while (!(n > units[i].above)) i++;
    double scaled = n * units[i].unit;
    int digits = nearbyint(scaled) >= 10 ? 0 : nearbyint(scaled) >= 1 ? 1 : 2;
    snprintf(buf, size, "%.*f%c", digits, scaled, units[i].suffix);
}

/* "8x7B": experts, and the weights of all else and of one expert; empty where adapters are counted
 * among them, of which a token has one at most. */
static tare_str size_label(const general *g) {
    uint64_t shared = 0, expert = 0, experts = 0, n_stacks = 0;
    char buf[64], count[32];
    for (size_t i = 0; i < g->m->n_targets; i++) {
        const tare_llama_target *t = g->m->targets[i];
        uint64_t n = 1;
        if (tare_str_ends(t->name, TARE_STR(".lora_a"))) return TARE_STR("");
        for (uint32_t d = 0; d < t->n_dims; d++) n *= t->dims[d];
        bool is_stack = t->n_dims >= 3 && t->name.len > 6 && strstr(t->name.ptr, "_exps.");
        if (is_stack) {
            uint64_t k = t->dims[t->n_dims - 3];
            expert += n / k;
            experts += k;
            n_stacks++;
        } else {
            shared += n;
        }
    }
    count_text(count, sizeof count, (double)(shared + expert));
    if (n_stacks)
        snprintf(buf, sizeof buf, "%llux%s", (unsigned long long)(experts / n_stacks), count);
    else
        snprintf(buf, sizeof buf, "%s", count);
    return tare_arena_str(&g->m->out->arena, tare_str_of(buf));
}

static tare_status set_text_key(general *g, const tare_llama_card_key *k, tare_error *err) {
    const tare_json_node *given = override_of(g, k->key);
    bool is_name = k == &texts[0];
    tare_str text = tare_json_node_text(given);
    if (is_name && g->m->options->name) text = tare_str_of(g->m->options->name);
    if (!text.len) text = card_text(g, k->card);
    if (!text.ptr) return tare_fail(err, TARE_ERR_NOMEM, "metadata");
    if (!text.len && k->field != NO_FIELD) {
        text = id_text(g, k->field);
        if (text.len && k->is_title) text = tare_llama_title(text, &g->m->out->arena);
        if (!text.ptr) return tare_fail(err, TARE_ERR_NOMEM, "metadata");
    }
    if (!text.len && k->field == FIELD(size_label) && g->n_weights) text = size_label(g);
    if (!text.len && is_name) text = TARE_STR("model");
    return tare_llama_set_text(g->m, k->key, text, err);
}

/* ---- lists ----------------------------------------------------------------------------------- */

static tare_status set_part(general *g, const char *list, size_t i, const char *part, tare_str text,
                            tare_error *err) {
    char key[96];
    snprintf(key, sizeof key, "general.%s.%zu.%s", list, i, part);
    return tare_llama_set_text(g->m, key, text, err);
}

static bool is_url(tare_str t) {
    return tare_str_starts(t, TARE_STR("http://")) || tare_str_starts(t, TARE_STR("https://")) ||
           tare_str_starts(t, TARE_STR("ssh://"));
}

/* "ORG/NAME" of an address at huggingface.co; empty: another. */
static tare_str id_of_url(tare_str url) {
    static const char *const starts[] = {"https://huggingface.co/", "http://huggingface.co/"};
    for (size_t i = 0; i < 2; i++) {
        tare_str rest = tare_str_cut(url, strlen(starts[i]));
        if (!tare_str_starts(url, tare_str_of(starts[i])) || rest.len == 0) continue;
        const char *slash = memchr(rest.ptr, '/', rest.len);
        size_t at = slash ? (size_t)(slash - rest.ptr) + 1 : rest.len;
        if (slash && slash != rest.ptr && at < rest.len &&
            !memchr(rest.ptr + at, '/', rest.len - at))
            return rest;
    }
    return TARE_STR("");
}

static tare_status set_relation(general *g, const char *list, size_t i, tare_str text,
                                tare_error *err) {
    tare_arena *arena = &g->m->out->arena;
    tare_str id = is_url(text) ? id_of_url(text) : text, cached;
    tare_llama_model_id parts;
    char url[512];
    if (tare_llama_cached_id(&cached, text, arena)) id = cached;
    if (!id.ptr) return tare_fail(err, TARE_ERR_NOMEM, "metadata");
    TARE_TRY(tare_llama_model_id_parse(&parts, id, g->n_weights, arena, err));
    tare_str name = tare_llama_title(parts.name, arena);
    tare_str organization = tare_llama_title(parts.organization, arena);
    if (!name.ptr || !organization.ptr) return tare_fail(err, TARE_ERR_NOMEM, "metadata");
    TARE_TRY(set_part(g, list, i, "name", name, err));
    TARE_TRY(set_part(g, list, i, "version", parts.version, err));
    TARE_TRY(set_part(g, list, i, "organization", organization, err));
    if (is_url(text)) return set_part(g, list, i, "repo_url", text, err);
    if (!parts.organization.len || id.len > 400) return TARE_OK;
    snprintf(url, sizeof url, "https://huggingface.co/%.*s", (int)id.len, id.ptr);
    return set_part(g, list, i, "repo_url", tare_str_of(url), err);
}

/* The first of these members that the card has. */
static const tare_json_node *card_node(const general *g, const char *const *names) {
    const tare_json_node *node = NULL;
    for (; *names && !node; names++) node = tare_json_member(g->card, tare_str_of(*names));
    return node;
}

static tare_status set_relations(general *g, const char *list, const char *const *names,
                                 tare_error *err) {
    const tare_json_node *node = card_node(g, names);
    char key[64];
    if (!node) return TARE_OK;
    bool is_list = node->type == TARE_JSON_ARRAY;
    snprintf(key, sizeof key, "general.%s.count", list);
    TARE_TRY(tare_llama_set_number(g->m, key, TARE_VALUE_U32, is_list ? (double)node->n : 1, err));
    if (!is_list) return set_relation(g, list, 0, node->text, err);
    size_t i = 0;
    for (const tare_json_node *c = node->child; c; c = c->next)
        TARE_TRY(set_relation(g, list, i++, c->text, err));
    return TARE_OK;
}

/* All texts of two members, which may be lists. */
static tare_status set_array(general *g, const char *key, const char *const *names,
                             tare_error *err) {
    const tare_json_node *given = override_of(g, key);
    size_t n = 0, most = given ? given->n : 0;
    for (size_t i = 0; !given && i < 2; i++) {
        const tare_json_node *node = tare_json_member(g->card, tare_str_of(names[i]));
        if (node) most += node->type == TARE_JSON_ARRAY ? node->n : 1;
    }
    tare_str *items = TARE_NEW_ARRAY(&g->m->out->arena, tare_str, most);
    if (!items) return tare_fail(err, TARE_ERR_NOMEM, "metadata");
    for (size_t i = 0; i < 2; i++) {
        const tare_json_node *node =
            given ? (i ? NULL : given) : tare_json_member(g->card, tare_str_of(names[i]));
        if (node && node->type == TARE_JSON_STRING && n < most) items[n++] = node->text;
        if (!node || node->type != TARE_JSON_ARRAY) continue;
        for (const tare_json_node *c = node->child; c; c = c->next)
            items[n++] = tare_json_node_text(c);
    }
    return tare_llama_set_texts(g->m, key, items, n, err);
}

/* ---- what the caller gives ------------------------------------------------------------------- */

static bool is_text_list(const tare_json_node *node) {
    if (node->type != TARE_JSON_ARRAY) return false;
    for (const tare_json_node *c = node->child; c; c = c->next)
        if (c->type != TARE_JSON_STRING) return false;
    return true;
}

/* What the value of such a key has to be; NULL: it is that. */
static const char *expected_of(const tare_json_node *given) {
    const tare_llama_value v = tare_llama_value_of(given);
    for (size_t i = 0; i < sizeof texts / sizeof *texts; i++)
        if (tare_str_is(given->key, texts[i].key))
            return v.kind == TARE_LLAMA_TEXT ? NULL : "a text was expected";
    for (size_t i = 0; i < sizeof samplings / sizeof *samplings; i++) {
        if (!tare_str_is(given->key, samplings[i].key)) continue;
        if (samplings[i].type == TARE_VALUE_STRING)
            return v.kind == TARE_LLAMA_TEXT ? NULL : "a text was expected";
        return v.kind == TARE_LLAMA_NUMBER && fabs(v.number) < 0x1p31 ? NULL
                                                                      : "a number was expected";
    }
    if (tare_str_is(given->key, "general.tags") || tare_str_is(given->key, "general.languages"))
        return is_text_list(given) ? NULL : "a list of texts was expected";
    return "no general.* key that can be given";
}

/* What is misspelt or of another kind would be lost without a word. */
static tare_status check_overrides(const general *g, tare_error *err) {
    if (g->overrides->type != TARE_JSON_OBJECT)
        return tare_fail(err, TARE_ERR_CORRUPT, "an object was expected");
    for (const tare_json_node *c = g->overrides->child; c; c = c->next) {
        const char *expected = expected_of(c);
        if (!expected) continue;
        tare_fail(err, TARE_ERR_CORRUPT, expected);
        tare_error_item(err, TARE_ITEM_KEY, -1, c->key);
        return TARE_ERR_CORRUPT;
    }
    return TARE_OK;
}

/* ---- the whole ------------------------------------------------------------------------------- */

/* What a path tells: as a repository in a cache of the hub that repository, as ORG/NAME itself, else
 * nothing, or as a place on this machine its last part. */
static tare_status parse_path(tare_llama_model_id *out, const general *g, tare_str path,
                              bool is_place, tare_error *err) {
    tare_arena *arena = &g->m->out->arena;
    tare_str id;
    if (!tare_llama_cached_id(&id, path, arena)) {
        size_t n_slashes = 0, last = 0;
        for (size_t i = 0; i < path.len; i++)
            if (path.ptr[i] == '/') n_slashes++, last = i + 1;
        if (!is_place && n_slashes > 1) return TARE_OK;
        id = tare_llama_valid_text(is_place ? tare_str_cut(path, last) : path, arena);
    }
    if (!id.ptr && path.len) return tare_fail(err, TARE_ERR_NOMEM, "name");
    return id.len ? tare_llama_model_id_parse(out, id, g->n_weights, arena, err) : TARE_OK;
}

static tare_status read_sources(general *g, tare_error *err) {
    tare_llama_mapping *m = g->m;
    tare_arena *arena = &m->out->arena;
    tare_str readme;
    for (size_t i = 0; i < m->n_targets; i++) {
        uint64_t n = 1;
        for (uint32_t d = 0; d < m->targets[i]->n_dims; d++) n *= m->targets[i]->dims[d];
        g->n_weights += n;
    }
    if (m->options->metadata.len) {
        tare_status s = tare_json_tree(&g->overrides, m->options->metadata, arena, err);
        if (s == TARE_OK) s = check_overrides(g, err);
        if (s != TARE_OK) {
            tare_error_file(err, "metadata");
            tare_error_code(err, TARE_CODE_BAD_METADATA);
        }
        TARE_TRY(s);
    }
    TARE_TRY(tare_model_text(&readme, m->hf, "README.md", arena, err));
    const char *foreign = readme.ptr ? tare_not_the_file(readme, readme.len) : NULL;
    if (readme.ptr && !foreign) foreign = tare_other_unicode(readme);
    if (foreign) {
        tare_finding f = TARE_FINDING(WARNING, TARE_ERR_UNSUPPORTED, "llama.card");
        f.item_kind = TARE_ITEM_RESOURCE;
        f.item_name = TARE_STR("README.md");
        tare_report_addf(m->options->context->report, &f,
                         "%s; nothing of the model card is written", foreign);
    }
    if (readme.ptr) {
        readme = tare_llama_valid_text(readme, arena);
        if (!readme.ptr) return tare_fail(err, TARE_ERR_NOMEM, "model card");
    }
    if (readme.ptr) TARE_TRY(tare_llama_model_card_read(&g->card, readme, arena, err));
    tare_str path =
        tare_json_node_text(tare_json_member(m->config.root, TARE_STR("_name_or_path")));
    TARE_TRY(parse_path(&g->ids[0], g, path, false, err));
    return parse_path(&g->ids[1], g, tare_str_of(m->options->directory), true, err);
}

static tare_status set_collected(tare_llama_mapping *m, const tare_llama_collected *c,
                                 tare_error *err) {
    const tare_value whole = {.type = TARE_VALUE_ARRAY,
                              .as.a = {.type = TARE_VALUE_U64,
                                       .count = c->n_whole,
                                       .bytes = c->whole,
                                       .size_bytes = 8 * c->n_whole}};
    if (c->whole) return tare_llama_set(m, c->key, &whole, err);
    if (c->is_single) return tare_llama_set_number(m, c->key, TARE_VALUE_F32, *c->numbers, err);
    if (c->n_there < m->n_layers) {
        tare_fail(err, TARE_ERR_CORRUPT, "tensors that it is made of are missing in some blocks");
        tare_error_item(err, TARE_ITEM_KEY, -1, tare_str_of(c->key));
        tare_error_detail(err, "%llu of %llu", (unsigned long long)c->n_there,
                          (unsigned long long)m->n_layers);
        return TARE_ERR_CORRUPT;
    }
    return tare_llama_set_numbers(m, c->key, TARE_VALUE_F32, c->numbers, (size_t)m->n_layers, err);
}

tare_status tare_llama_general_keys(tare_llama_mapping *m, tare_error *err) {
    static const char *const models[] = {"base_model", "base_models", "base_model_sources", NULL};
    static const char *const datasets[] = {"datasets", "dataset", "dataset_sources", NULL};
    static const char *const tags[] = {"tags", "pipeline_tag"};
    static const char *const languages[] = {"languages", "language"};
    general g = {.m = m};
    TARE_TRY(read_sources(&g, err));
    TARE_TRY(tare_llama_set_text(m, "general.architecture", tare_str_of(m->arch->name), err));
    TARE_TRY(tare_llama_set_rows(m, m->arch->early, err));
    for (size_t i = 0; i < m->n_collected; i++) TARE_TRY(set_collected(m, &m->collected[i], err));
    TARE_TRY(tare_llama_set_text(m, "general.type",
                                 m->arch->tower ? TARE_STR("mmproj") : TARE_STR("model"), err));
    TARE_TRY(set_sampling(&g, err));
    for (size_t i = 0; i < sizeof texts / sizeof *texts; i++)
        TARE_TRY(set_text_key(&g, &texts[i], err));
    TARE_TRY(set_relations(&g, "base_model", models, err));
    TARE_TRY(set_relations(&g, "dataset", datasets, err));
    TARE_TRY(set_array(&g, "general.tags", tags, err));
    return set_array(&g, "general.languages", languages, err);
}
