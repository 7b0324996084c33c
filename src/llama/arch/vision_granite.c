/* SPDX-License-Identifier: MIT
 *
 * The encoder of Granite 4 Vision: SigLIP with several projectors, each of which takes the output of
 * one of its layers and feeds one of the text model's. llama.cpp has them in the order of the layers
 * that they feed; the first one's vectors are the input of the text model. */
#include <stdio.h>
#include <stdlib.h>

#include "base/buffer.h"
#include "base/str.h"
#include "llama/arch/tower_rows.h"

enum { MOST_PROJECTORS = 256 };

typedef struct projector {
    int64_t taken, fed; /* layers */
    int64_t spatial;    /* its number among those of one kind; -1: of the other kind */
    int64_t number;     /* in the names of its tensors */
} projector;

typedef struct projectors {
    projector all[MOST_PROJECTORS];
    size_t n;
} projectors;

static int64_t number_of(const tare_json_node *node, int64_t otherwise) {
    const tare_llama_value v = tare_llama_value_of(node);
    return v.kind == TARE_LLAMA_NUMBER && v.is_whole && v.number > -1e9 && v.number < 1e9
               ? (int64_t)v.number
               : otherwise;
}

static int64_t from_end(int64_t layer, int64_t n) {
    return layer < 0 ? n + layer : layer;
}

static int by_pair(const void *a, const void *b) {
    const projector *x = a, *y = b;
    if (x->taken != y->taken) return x->taken < y->taken ? -1 : 1;
    return (x->fed > y->fed) - (x->fed < y->fed);
}

static tare_status fail_map(const char *what, tare_error *err) {
    tare_fail(err, TARE_ERR_CORRUPT, what);
    tare_error_item(err, TARE_ITEM_RESOURCE, -1, TARE_STR("config.json"));
    return TARE_ERR_CORRUPT;
}

/* deepstack_layer_map: pairs of a layer of the encoder and one of the text model, from the end where
 * they are below 0. Tensors are counted in the order of the pairs. */
static tare_status add_pairs(projectors *p, const tare_json_node *list, int64_t n_seen,
                             int64_t n_text, tare_error *err) {
    for (const tare_json_node *c = list ? list->child : NULL; c; c = c->next) {
        if (p->n == MOST_PROJECTORS || c->n != 2)
            return fail_map("deepstack_layer_map: expected pairs of layers", err);
        p->all[p->n++] = (projector){number_of(c->child, INT64_MAX),
                                     number_of(c->child->next, INT64_MAX), -1, 0};
    }
    qsort(p->all, p->n, sizeof *p->all, by_pair);
    for (size_t i = 0; i < p->n; i++) {
        projector *one = &p->all[i];
        one->number = (int64_t)i;
        one->taken = from_end(one->taken, n_seen);
        one->fed = from_end(one->fed, n_text);
    }
    return TARE_OK;
}

/* spatial_target_layers: layers of the text model, all fed from one of the encoder. */
static tare_status add_spatial(projectors *p, const tare_json_node *list, int64_t taken,
                               tare_error *err) {
    int64_t i = 0;
    for (const tare_json_node *c = list ? list->child : NULL; c; c = c->next, i++) {
        if (p->n == MOST_PROJECTORS)
            return fail_map("spatial_target_layers: expected fewer layers", err);
        p->all[p->n++] = (projector){taken, number_of(c, INT64_MAX), i, i};
    }
    return TARE_OK;
}

/* By the layers that they feed; those of one layer stay as they are. */
static void sort_by_fed(projectors *p) {
    for (size_t i = 1; i < p->n; i++) {
        const projector one = p->all[i];
        size_t k = i;
        for (; k > 0 && p->all[k - 1].fed > one.fed; k--) p->all[k] = p->all[k - 1];
        p->all[k] = one;
    }
}

/* How many layers a model has; 0: config.json does not say it. */
static tare_status count_layers(int64_t *out, const tare_llama_mapping *m, const char *formula,
                                tare_error *err) {
    double n;
    TARE_TRY(tare_llama_number(&n, m, formula, 0, err));
    *out = n >= 0 && n < 1e6 ? (int64_t)n : 0;
    return TARE_OK;
}

/* Layers of the text model are counted as they are for m->n_layers: what is fed is one of these. */
static tare_status read_projectors(projectors *p, const tare_llama_mapping *m, tare_error *err) {
    int64_t n_seen, n_text;
    const tare_llama_config *c = &m->config;
    *p = (projectors){.n = 0};
    TARE_TRY(count_layers(&n_seen, m, "vision_config.num_hidden_layers", err));
    TARE_TRY(count_layers(&n_text, m, TARE_LLAMA_LAYERS, err));
    TARE_TRY(add_pairs(p, tare_llama_config_find(c, TARE_STR("deepstack_layer_map")), n_seen,
                       n_text, err));
    const int64_t taken =
        number_of(tare_llama_config_find(c, TARE_STR("spatial_vision_layer")), -1);
    TARE_TRY(add_spatial(p, tare_llama_config_find(c, TARE_STR("spatial_target_layers")),
                         from_end(taken, n_seen), err));
    for (size_t i = 0; i < p->n; i++)
        if (p->all[i].taken < 0 || p->all[i].taken >= n_seen || p->all[i].fed < 0 ||
            p->all[i].fed >= n_text)
            return fail_map("deepstack_layer_map, spatial_target_layers: no such layer", err);
    sort_by_fed(p);
    return TARE_OK;
}

/* Of each layer of the text model, the number of the projector that feeds it; the first one's is not
 * told. */
tare_status tare_llama_granite_deepstack(tare_llama_mapping *m, tare_error *err) {
    projectors p;
    TARE_TRY(read_projectors(&p, m, err));
    if (p.n == 0) return TARE_OK;
    double *layers = TARE_NEW_ARRAY(&m->out->arena, double, (size_t)m->n_layers);
    if (!layers) return tare_fail(err, TARE_ERR_NOMEM, "metadata");
    for (uint64_t i = 0; i < m->n_layers; i++) layers[i] = -1;
    for (size_t i = 1; i < p.n; i++) layers[p.all[i].fed] = (double)i;
    return tare_llama_set_numbers(m, "deepstack_mapping", TARE_VALUE_I32, layers,
                                  (size_t)m->n_layers, err);
}

/* ---- what rules and keys ask of them ----------------------------------------------------------- */

/* The place of each projector of a kind, in the order of its tensors. */
static void put_places(tare_buffer *b, const projectors *p, const char *name, bool is_spatial) {
    const char *separator = "";
    tare_buffer_printf(b, "\"%s\": [", name);
    for (int64_t number = 0; number < (int64_t)p->n; number++)
        for (size_t i = 0; i < p->n; i++) {
            if (p->all[i].number != number || (p->all[i].spatial >= 0) != is_spatial) continue;
            tare_buffer_printf(b, "%s%zu", separator, i);
            separator = ", ";
        }
    tare_buffer_put_text(b, "], ");
}

/* Width and height of each size that pictures are cut from. */
static void put_sizes(tare_buffer *b, const tare_json_node *list) {
    const char *separator = "";
    tare_buffer_put_text(b, "\"sizes\": [");
    for (const tare_json_node *c = list ? list->child : NULL; c; c = c->next) {
        if (c->n != 2) continue;
        tare_buffer_printf(b, "%s%lld, %lld", separator, (long long)number_of(c->child->next, 0),
                           (long long)number_of(c->child, 0));
        separator = ", ";
    }
    tare_buffer_put_u8(b, ']');
}

/* "stacked_projectors": an object beside the members of config.json. */
static tare_status describe(tare_llama_mapping *m, tare_error *err) {
    projectors p;
    tare_buffer b;
    const tare_llama_config *c = &m->config;
    TARE_TRY(read_projectors(&p, m, err));
    tare_buffer_init(&b, m->out->allocator);
    tare_buffer_put_text(&b, "{\"stacked_projectors\": {");
    put_places(&b, &p, "layerwise", false);
    put_places(&b, &p, "spatial", true);
    for (int k = 0; k < 2; k++) {
        tare_buffer_put_text(&b, k ? "\"offsets\": [" : "\"taken\": [");
        for (size_t i = 0; i < p.n; i++)
            tare_buffer_printf(&b, "%s%lld", i ? ", " : "",
                               (long long)(k ? p.all[i].spatial : p.all[i].taken));
        tare_buffer_put_text(&b, "], ");
    }
    const tare_str rate =
        tare_json_node_text(tare_llama_config_find(c, TARE_STR("downsample_rate")));
    const char *slash = rate.len ? memchr(rate.ptr, '/', rate.len) : NULL;
    tare_buffer_put_text(&b, "\"window\": ");
    tare_buffer_put_json(&b, slash ? tare_str_cut(rate, (size_t)(slash - rate.ptr) + 1) : rate);
    tare_buffer_put_text(&b, ", ");
    put_sizes(&b, tare_llama_config_find(c, TARE_STR("image_grid_pinpoints")));
    tare_buffer_put_text(&b, "}}");
    tare_str text;
    const tare_status status = tare_buffer_text(&text, &b, &m->out->arena, err);
    tare_buffer_free(&b);
    TARE_TRY(status);
    const tare_json_node *added;
    TARE_TRY(tare_json_tree(&added, text, &m->out->arena, err));
    tare_json_node *root = tare_json_copy(&m->out->arena, m->config.root);
    tare_json_node *member = tare_json_copy(&m->out->arena, added->child);
    if (!root || !member) return tare_fail(err, TARE_ERR_NOMEM, "config.json");
    tare_json_add_first(root, added->child->key, member);
    m->config.root = root;
    return TARE_OK;
}

/* ---- rows -------------------------------------------------------------------------------------- */

static const char *const granite_defaults[] = {"vision_config.layer_norm_eps = 0.000001", NULL};
static const tare_llama_key granite_keys[] = {
    VISION_KEYS,
    KEY_PROJECTOR("granite4_vision"),
    KEY_VISION_EPS("vision_config.layer_norm_eps"),
    KEY_GELU,
    {"vision.preproc_image_size", U32, "vision_config.image_size"},
    {"vision.projector.query_side", U32, "number(downsample_rate)"},
    {"vision.projector.window_side", U32, "number(stacked_projectors.window)"},
    {"vision.feature_layer", I32, "stacked_projectors.taken"},
    {"vision.projector.spatial_offsets", I32, "stacked_projectors.offsets"},
    {"vision.image_grid_pinpoints", I32, "stacked_projectors.sizes"},
    END_OF_KEYS};
/* Of one kind; of each Q-Former only the first layer has a place. */
#define PLACED(kind, from, to)                                                                     \
    {                                                                                              \
        kind "_projectors.#." from, "=v.proj_blk.#." to,                                           \
            "block(at(stacked_projectors." kind ", layer))"                                        \
    }
#define QFORMER(kind, from, to) PLACED(kind, "qformer.encoder.layer.0." from "@", to)
#define ATTENTION(kind, from, to)                                                                  \
    QFORMER(kind, from ".attention.query", to "_q"),                                               \
        QFORMER(kind, from ".attention.key", to "_k"),                                             \
        QFORMER(kind, from ".attention.value", to "_v"),                                           \
        QFORMER(kind, from ".output.dense", to "_out"),                                            \
        QFORMER(kind, from ".output.LayerNorm", to "_norm")
#define PROJECTORS(kind)                                                                           \
    PLACED(kind, "image_positions", "img_pos"), PLACED(kind, "query", "query"),                    \
        PLACED(kind, "out_linear@", "linear"), PLACED(kind, "norm@", "norm"),                      \
        PLACED(kind, "qformer.layernorm@", "post_norm"),                                           \
        ATTENTION(kind, "attention", "self_attn"),                                                 \
        ATTENTION(kind, "crossattention", "cross_attn"),                                           \
        QFORMER(kind, "intermediate_query.dense", "ffn_up"),                                       \
        QFORMER(kind, "output_query.dense", "ffn_down"),                                           \
        QFORMER(kind, "output_query.LayerNorm", "ffn_norm")
static const tare_llama_rule granite_rules[] = {RULE_DROP("vision_tower.vision_model.head.*"),
                                                SIGLIP("vision_tower.vision_model."),
                                                {"image_newline", "=v.image_newline", NULL},
                                                PROJECTORS("layerwise"),
                                                PROJECTORS("spatial"),
                                                END_OF_RULES};
static const tare_llama_tower granite_tower = {
    .projector = "granite4_vision",
    .takes = "vision_tower. layerwise_projectors. spatial_projectors. image_newline",
    .layers = VISION_LAYERS,
    .positions = VISION_GRID,
    .generate = describe};

const tare_llama_arch tare_llama_towers_granite[] = {
    {.name = CLIP,
     .classes = "Granite4VisionForConditionalGeneration",
     .tensors = "",
     .defaults = granite_defaults,
     .own = granite_keys,
     .rules = granite_rules,
     .tower = &granite_tower},
    {.name = NULL},
};
