/* SPDX-License-Identifier: MIT
 *
 * Which weights of a model a scheme is for: matrices of attention and feed-forward layers. Servers put
 * some of them into one matrix (queries, keys and values; gate and up), which has one scheme: what one
 * of them cannot have, none of them gets. Whatever stays as it is although it is such a matrix is
 * reported. */
#include <inttypes.h>
#include <string.h>

#include "model/json_resource.h"
#include "ops/convert/type_rules.h"
#include "ops/mix/importance_matrix.h"
#include "ops/mix/roles.h"
#include "ops/schemes/scheme_model.h"
#include "quantized/quantized.h"

/* ---- what servers fuse ------------------------------------------------------------------------- */

enum { MOST_FUSED = 3 };

static const char *const fused[][MOST_FUSED] = {
    {"q_proj", "k_proj", "v_proj"},
    {"gate_proj", "up_proj"},
    {"q_a_proj", "kv_a_proj_with_mqa"},
    {"wq", "wk", "wv"},
    {"query", "key", "value"},
    {"in_proj_qkv", "in_proj_z"},
    {"c_fc_0", "c_fc_1"},
    {"w1", "w3"},
};

static tare_str module_of(tare_str name) {
    name.len -= strlen(".weight");
    return name;
}

/* The last part of a module's name. */
static tare_str last_part(tare_str module) {
    size_t from = module.len;
    while (from > 0 && module.ptr[from - 1] != '.') from--;
    return (tare_str){module.ptr + from, module.len - from};
}

/* The row that a weight is in; NULL: it stands alone. */
static const char *const *fused_row(tare_str name) {
    const tare_str part = last_part(module_of(name));
    for (size_t i = 0; i < sizeof fused / sizeof *fused; i++)
        for (size_t k = 0; k < MOST_FUSED && fused[i][k]; k++)
            if (tare_str_is(part, fused[i][k])) return fused[i];
    return NULL;
}

/* The tensor of another part of the same; -1: the model has none. */
static int64_t fused_with(const tare_model *in, tare_str name, const char *part) {
    char text[512];
    const tare_str module = module_of(name);
    const size_t n_before = module.len - last_part(module).len, n = strlen(part);
    if (n_before + n + strlen(".weight") >= sizeof text) return -1;
    memcpy(text, name.ptr, n_before);
    memcpy(text + n_before, part, n);
    memcpy(text + n_before + n, ".weight", strlen(".weight"));
    return tare_model_find_tensor(in, (tare_str){text, n_before + n + strlen(".weight")});
}

size_t tare_scheme_fused_with(const tare_model *in, size_t tensor) {
    const tare_str name = in->catalog.tensors[tensor].name;
    const char *const *row = tare_str_ends(name, TARE_STR(".weight")) ? fused_row(name) : NULL;
    size_t first = tensor;
    for (size_t k = 0; row && k < MOST_FUSED && row[k]; k++) {
        const int64_t other = fused_with(in, name, row[k]);
        if (other >= 0 && (size_t)other < first) first = (size_t)other;
    }
    return first;
}

/* ---- one weight -------------------------------------------------------------------------------- */

static const char stacked[] = "its experts lie in one tensor";

static bool is_mlx(const tare_scheme_choice *c) {
    return c->writer->family == TARE_WRITER_MLX;
}

static bool is_for_servers(const tare_scheme_choice *c) {
    return tare_writer_is_for_servers(c->writer);
}

/* Whether a part of a name is a number: that of a block. */
static bool has_number(tare_str name) {
    bool is_number = false;
    for (size_t i = 0; i < name.len; i++) {
        const bool begins = i == 0 || name.ptr[i - 1] == '.';
        const bool is_digit = name.ptr[i] >= '0' && name.ptr[i] <= '9';
        if (name.ptr[i] == '.' && is_number) return true;
        is_number = is_digit && (begins || is_number);
    }
    return false;
}

/* Whether a tensor is a matrix of an attention or feed-forward layer. */
static bool is_of_layers(const tare_role_info *info) {
    return info->role >= TARE_ROLE_ATTN_Q && info->role <= TARE_ROLE_FFN_GATE_UP;
}

/* Whether servers fuse it with such a matrix. */
static bool is_beside_one(const tare_model *in, tare_str name) {
    const char *const *row = fused_row(name);
    for (size_t k = 0; row && k < MOST_FUSED && row[k]; k++) {
        const int64_t other = fused_with(in, name, row[k]);
        if (other < 0) continue;
        const tare_role_info info = tare_role_of_name(in->catalog.tensors[other].name);
        if (is_of_layers(&info)) return true;
    }
    return false;
}

/* Whether a scheme is for such a tensor at all. */
static bool is_meant(const tare_model *in, const tare_tensor *t, const tare_scheme_choice *c) {
    const tare_role_info info = tare_role_of_name(t->name);
    if (!tare_str_ends(t->name, TARE_STR(".weight")) || t->n_dims < 2 || t->n_elements == 0 ||
        !tare_tensor_is_real(t))
        return false;
    if (c->writer->family == TARE_WRITER_COMFY)
        return t->n_dims == 2 && has_number(t->name) && !info.is_kept && !info.is_bias &&
               !info.is_gguf && info.role != TARE_ROLE_TOKEN_EMBEDDING;
    if (info.is_kept || info.is_tower || info.is_bias || info.is_gguf) return false;
    if (info.role == TARE_ROLE_TOKEN_EMBEDDING || info.role == TARE_ROLE_OUTPUT)
        return is_mlx(c) && t->n_dims == 2;
    return is_of_layers(&info) || is_beside_one(in, t->name);
}

/* Matrices of all experts in one tensor, as transformers has them since version 5. */
static bool is_bare_stack(const tare_tensor *t) {
    const tare_role_info info = tare_role_of_name(t->name);
    return t->n_dims == 3 && info.is_expert && !info.is_bias && tare_tensor_is_real(t) &&
           !tare_str_ends(t->name, TARE_STR(".weight"));
}

/* ---- all --------------------------------------------------------------------------------------- */

typedef struct choosing {
    tare_scheme_search *s;
    const tare_model *in;
    tare_scheme_choice *choices; /* of each tensor; writer NULL: none */
    const char **obstacles;      /* NULL: none */
    tare_error *err;
} choosing;

/* Why a scheme cannot hold a weight that it is for; NULL: it can. */
static const char *obstacle_of(const choosing *k, size_t i, const tare_scheme_choice *c) {
    const tare_writer *w = c->writer;
    const tare_tensor *t = &k->in->catalog.tensors[i];
    const size_t n_slices = is_for_servers(c) ? tare_scheme_slices(k->s, i) : 0;
    const uint64_t n_rows = n_slices ? t->n_rows / n_slices : t->n_rows;
    if (t->n_dims != 2 && !is_mlx(c) && !n_slices) return stacked;
    if (c->group && !w->block_rows && t->cols % c->group)
        return "its columns are not a multiple of the group";
    if (t->cols * w->bits % 32) return "its rows do not fill whole words of codes";
    if (tare_writer_has(w, TARE_WRITTEN_ZEROS) && n_rows * w->bits % 32)
        return "the zero points of its rows do not fill whole words";
    if (w->family == TARE_WRITER_BLOCK_FP8 && (n_rows % w->block_rows || t->cols % c->group))
        return "it is not a whole number of blocks";
    const bool is_fused = n_slices ? n_slices > t->dims[0] : fused_row(t->name) != NULL;
    if (w->block_rows && is_fused && n_rows % w->block_rows)
        return "servers fuse it with others, and its rows are no multiple of 128";
    return NULL;
}

/* The type of a tensor's numbers, and of scales; UNKNOWN: it keeps its own. */
static tare_encoding_id own_type(const tare_scheme_search *s, size_t i) {
    const tare_model *in = s->in;
    const tare_encoding_id id = in->catalog.tensors[i].encoding->id;
    const bool is_decoded = tare_tensor_origin(in, i).encoding != in->catalog.tensors[i].encoding;
    const bool is_float =
        id == TARE_ENCODING_F32 || id == TARE_ENCODING_F16 || id == TARE_ENCODING_BF16;
    if (in->types && in->types->program == TARE_PROGRAM_TRANSFORMERS) {
        const tare_fixed_type fixed = in->types->fixed[i];
        return fixed == TARE_FIXED_F32   ? TARE_ENCODING_F32
               : fixed == TARE_FIXED_F16 ? TARE_ENCODING_F16
                                         : s->type;
    }
    return is_float && !is_decoded ? id : s->type;
}

static tare_packed_weight weight_of(const tare_scheme_search *s, size_t i,
                                    const tare_scheme_choice *choice) {
    const tare_tensor *t = &s->in->catalog.tensors[i];
    tare_packed_weight w = {.tensor = i,
                            .scheme = *choice,
                            .type = own_type(s, i),
                            .n_rows = t->n_rows,
                            .cols = t->cols,
                            .next_in_set = SIZE_MAX,
                            .next_slice = SIZE_MAX};
    if (!choice->writer) return w;
    w.module = module_of(t->name);
    w.group = choice->group ? choice->group : t->cols;
    w.n_groups = (t->cols + w.group - 1) / w.group;
    return w;
}

/* ---- the codes that are there ------------------------------------------------------------------ */

/* Whether a weight's codes are some of a scheme, which is chosen then. */
static tare_status try_codes(bool *found, choosing *c, size_t i, const tare_scheme_choice *choice) {
    tare_packed_weight w = weight_of(c->s, i, choice);
    TARE_TRY(tare_scheme_find_codes(c->s, &w, c->err));
    *found = w.held.kind != TARE_CODES_NONE;
    if (*found) c->choices[i] = *choice;
    return TARE_OK;
}

/* The scheme of a family that has the codes of a weight, in the fewest bits and largest groups. */
static tare_status choose_by_codes(choosing *c, size_t i, const tare_writer *any) {
    static const uint32_t groups[] = {128, 64, 32};
    const tare_tensor *t = &c->in->catalog.tensors[i];
    bool found = false;
    c->choices[i] = (tare_scheme_choice){.writer = NULL};
    for (const tare_writer *w = tare_writers; w->name && !found; w++)
        for (size_t g = 0; w->family == any->family && w->bits && g < 3 && !found; g++) {
            const bool is_affine = w->kind == TARE_GROUP_AFFINE;
            const uint32_t group = is_affine ? groups[g] : w->group;
            const tare_scheme_choice choice = {.writer = w, .group = group};
            if (t->cols % group == 0 && (is_affine || g == 0))
                TARE_TRY(try_codes(&found, c, i, &choice));
        }
    const bool is_coded = tare_tensor_origin(c->in, i).encoding->kind == TARE_KIND_BLOCK ||
                          tare_quantized_is_weight(c->in, i);
    if (!found && is_coded) c->obstacles[i] = "MLX has no codes that give its numbers";
    return TARE_OK;
}

static tare_status choose_by_rules(choosing *c, const int64_t *rule) {
    const tare_scheme_search *s = c->s;
    bool *is_used = TARE_NEW_ARRAY(s->arena, bool, s->options->n_rules);
    if (!is_used) return tare_fail(c->err, TARE_ERR_NOMEM, "rules");
    for (size_t i = 0; i < c->in->catalog.n_tensors; i++) {
        const tare_tensor *t = &c->in->catalog.tensors[i];
        const tare_scheme_choice choice = rule[i] >= 0 ? s->of_rules[rule[i]] : s->scheme;
        const tare_scheme_choice *meant = choice.writer ? &choice : &s->scheme;
        const bool is_split = is_for_servers(meant) && tare_scheme_slices(s, i) > 0;
        if (rule[i] >= 0 && (is_split || is_meant(c->in, t, meant))) is_used[rule[i]] = true;
        if (choice.writer && is_bare_stack(t) && !is_split) c->obstacles[i] = stacked;
        if (!choice.writer || !(is_split || is_meant(c->in, t, &choice))) continue;
        if (choice.writer->bits == 0) {
            TARE_TRY(choose_by_codes(c, i, choice.writer));
            continue;
        }
        c->choices[i] = choice;
        c->obstacles[i] = obstacle_of(c, i, &choice);
    }
    for (size_t i = 0; i < s->options->n_rules; i++)
        if (!is_used[i])
            return tare_fail(
                c->err, TARE_ERR_ARG,
                "a `tensor_type` rule matches none of the weights that the scheme is for");
    return TARE_OK;
}

static bool is_same_choice(const tare_scheme_choice *a, const tare_scheme_choice *b) {
    return a->writer == b->writer && a->group == b->group && a->is_plain == b->is_plain;
}

/* Parts that servers fuse have one scheme. */
static tare_status agree(choosing *c, size_t i) {
    const tare_tensor *t = &c->in->catalog.tensors[i];
    const bool is_matrix = c->choices[i].writer && tare_str_ends(t->name, TARE_STR(".weight"));
    const char *const *row = is_matrix ? fused_row(t->name) : NULL;
    if (!row || !is_for_servers(&c->choices[i])) return TARE_OK;
    for (size_t k = 0; k < MOST_FUSED && row[k]; k++) {
        const int64_t other = fused_with(c->in, t->name, row[k]);
        if (other < 0) continue;
        const tare_scheme_choice *a = &c->choices[i], *b = &c->choices[other];
        if (!is_same_choice(a, b))
            return tare_fail_tensor(c->err, TARE_ERR_ARG, t, i,
                                    "servers fuse it with others, which get another scheme");
        if (c->obstacles[other] && !c->obstacles[i])
            c->obstacles[i] = "servers fuse it with a weight that the scheme cannot hold";
    }
    return TARE_OK;
}

/* ---- experts ------------------------------------------------------------------------------------ */

/* What is known of the experts of a layer. */
typedef struct layer_of_experts {
    const tare_scheme_choice *choice; /* of the first of them; NULL: none yet */
    bool has_obstacle;
} layer_of_experts;

/* The layer that a matrix is an expert of, but for the shared one; -1: of none. */
static int32_t layer_of_expert(const choosing *c, size_t i) {
    const tare_tensor *t = &c->in->catalog.tensors[i];
    const tare_role_info info = tare_role_of_name(t->name);
    const bool is_one = info.is_expert && !info.is_shared && !info.is_bias && t->n_dims >= 2 &&
                        tare_tensor_is_real(t);
    return is_one && is_of_layers(&info) ? info.layer : -1;
}

static tare_status look_at_expert(choosing *c, layer_of_experts *layer, size_t i) {
    const tare_scheme_choice *choice = &c->choices[i];
    if (!layer->choice) layer->choice = choice;
    layer->has_obstacle = layer->has_obstacle || c->obstacles[i];
    if (is_same_choice(layer->choice, choice) || c->obstacles[i]) return TARE_OK;
    return tare_fail_tensor(c->err, TARE_ERR_ARG, &c->in->catalog.tensors[i], i,
                            "servers have one scheme for all experts of a layer, gate, up and "
                            "down, and others of it get another one");
}

/* Servers run the experts of a layer at once: all have one scheme, or stay. */
static tare_status agree_on_experts(choosing *c) {
    const size_t n = c->in->catalog.n_tensors;
    int32_t *layer = TARE_NEW_ARRAY(c->s->arena, int32_t, n);
    size_t n_layers = 0;
    if (!layer) return tare_fail(c->err, TARE_ERR_NOMEM, "tensors");
    for (size_t i = 0; i < n; i++) {
        layer[i] = layer_of_expert(c, i);
        if (layer[i] >= 0 && (size_t)layer[i] >= n_layers) n_layers = (size_t)layer[i] + 1;
    }
    layer_of_experts *layers = TARE_NEW_ARRAY(c->s->arena, layer_of_experts, n_layers);
    if (!layers) return tare_fail(c->err, TARE_ERR_NOMEM, "tensors");
    for (size_t i = 0; i < n; i++)
        if (layer[i] >= 0) TARE_TRY(look_at_expert(c, &layers[layer[i]], i));
    for (size_t i = 0; i < n; i++)
        if (layer[i] >= 0 && layers[layer[i]].has_obstacle && c->choices[i].writer &&
            !c->obstacles[i])
            c->obstacles[i] = "servers have one scheme for all experts of a layer, and it cannot "
                              "hold others of it";
    return TARE_OK;
}

static void report_left(choosing *c, size_t i) {
    tare_finding f = TARE_FINDING(WARNING, TARE_ERR_UNSUPPORTED, "scheme.left");
    f.item_kind = TARE_ITEM_TENSOR;
    f.item = (int64_t)i;
    f.item_name = c->in->catalog.tensors[i].name;
    tare_strict_note(&c->s->strict, &f, "a weight stays as it is: the scheme cannot hold it",
                     "it stays as it is: %s", c->obstacles[i]);
}

static tare_status weigh(const tare_scheme_search *s, tare_packed_weight *w, tare_error *err) {
    const tare_tensor *t = &s->in->catalog.tensors[w->tensor];
    tare_finding f = TARE_FINDING(INFO, TARE_OK, "convert.importance-missing");
    if (!s->options->importance) return TARE_OK;
    const tare_importance_fit fit =
        tare_importance_of_tensor(&w->importance, s->options->importance, t);
    if (fit == TARE_IMPORTANCE_FITS && tare_importance_slices(t) == 1) return TARE_OK;
    w->importance = NULL;
    if (fit == TARE_IMPORTANCE_WRONG)
        return tare_fail_tensor(err, TARE_ERR_ARG, t, w->tensor,
                                "its importance matrix has another size: is it of this model?");
    f.item_kind = TARE_ITEM_TENSOR;
    f.item = (int64_t)w->tensor;
    f.item_name = t->name;
    tare_report_addf(s->options->context->report, &f,
                     "encoded without importance: the matrix has no entry for it");
    return TARE_OK;
}

/* Weights that share a factor stand in a chain that begins with the first of them. */
static void chain(tare_scheme_search *s, size_t number) {
    tare_packed_weight *w = &s->weights[number];
    const tare_str name = s->in->catalog.tensors[w->tensor].name;
    const char *const *row = fused_row(name);
    for (size_t k = 0; row && k < MOST_FUSED && row[k]; k++) {
        const int64_t other = fused_with(s->in, name, row[k]);
        const int64_t first = other >= 0 ? s->weight_of[other] : -1;
        if (first < 0 || (size_t)first >= number) continue;
        w->set = s->weights[first].set;
        w->next_in_set = s->weights[w->set].next_in_set;
        s->weights[w->set].next_in_set = number;
        return;
    }
}

static tare_status add_weight(choosing *c, size_t i, const tare_scheme_choice *choice) {
    tare_scheme_search *s = c->s;
    const size_t number = s->n_weights++;
    tare_packed_weight *w = &s->weights[number];
    *w = weight_of(s, i, choice);
    w->set = number;
    s->weight_of[i] = (int64_t)number;
    if (!choice->writer) return TARE_OK;
    s->n_packed++;
    if (tare_writer_has_factor(choice->writer) && is_for_servers(choice)) chain(s, number);
    TARE_TRY(tare_scheme_find_codes(s, w, c->err));
    return w->held.kind ? TARE_OK : weigh(s, w, c->err);
}

/* Matrices of all experts; gate and up share a factor. */
static tare_status add_slices(choosing *c, size_t i, const tare_scheme_choice *choice, size_t n) {
    tare_scheme_search *s = c->s;
    const tare_tensor *t = &s->in->catalog.tensors[i];
    const bool is_paired = n > t->dims[0] && tare_writer_has_factor(choice->writer);
    const float *importance = NULL;
    if (s->options->importance && tare_importance_slices(t) == t->dims[0])
        if (tare_importance_of_tensor(&importance, s->options->importance, t) !=
            TARE_IMPORTANCE_FITS)
            importance = NULL;
    s->weight_of[i] = (int64_t)s->n_weights;
    for (size_t slice = 0; slice < n; slice++) {
        const size_t number = s->n_weights++;
        tare_packed_weight *w = &s->weights[number];
        *w = weight_of(s, i, choice);
        TARE_TRY(tare_scheme_cut(w, s, slice, c->err));
        w->scale = choice->writer->scale ? choice->writer->scale : w->type;
        w->next_slice = slice + 1 < n ? number + 1 : SIZE_MAX;
        w->set = is_paired ? number - slice % 2 : number;
        if (is_paired && slice % 2 == 0) w->next_in_set = number + 1;
        if (importance) w->importance = importance + slice * t->dims[0] / n * t->cols;
        s->n_packed++;
    }
    return TARE_OK;
}

/* How many of the weights that share a factor have codes of the scheme. */
static size_t count_held(size_t *n, const tare_scheme_search *s, size_t set) {
    size_t n_held = 0;
    *n = 0;
    for (size_t i = set; i != SIZE_MAX; i = s->weights[i].next_in_set, ++*n)
        n_held += s->weights[i].held.kind != TARE_CODES_NONE;
    return n_held;
}

/* What was packed in the scheme already gets other codes. */
static tare_status encode_anew(tare_scheme_search *s, tare_packed_weight *w, bool is_all,
                               tare_error *err) {
    tare_finding f = TARE_FINDING(WARNING, TARE_ERR_UNSUPPORTED, "scheme.encoded-anew");
    f.item_kind = TARE_ITEM_TENSOR;
    f.item = (int64_t)w->tensor;
    f.item_name = s->in->catalog.tensors[w->tensor].name;
    tare_strict_note(&s->strict, &f, "a weight that has codes of the scheme is encoded anew",
                     "its codes of the scheme are not kept, it is encoded anew: servers fuse it "
                     "with others, %s",
                     is_all ? "whose factor is another one" : "which have no such codes");
    w->held.kind = TARE_CODES_NONE;
    return weigh(s, w, err);
}

/* Codes are kept of all of them, or of none. */
static tare_status agree_on_factors(tare_scheme_search *s, tare_error *err) {
    for (size_t first = 0; first < s->n_weights; first++) {
        const tare_packed_weight *w = &s->weights[first];
        if (!w->scheme.writer || !tare_writer_has_factor(w->scheme.writer) || w->set != first)
            continue;
        size_t n;
        const size_t n_held = count_held(&n, s, first);
        bool is_exact = false;
        if (n_held == n) TARE_TRY(tare_scheme_share_factor(&is_exact, s, first, err));
        for (size_t i = first; i != SIZE_MAX && !is_exact; i = s->weights[i].next_in_set)
            if (s->weights[i].held.kind) TARE_TRY(encode_anew(s, &s->weights[i], n_held == n, err));
    }
    return TARE_OK;
}

/* The scales of inputs, if all weights have kept their codes and have such a scale. */
static tare_status keep_inputs(tare_scheme_search *s, tare_error *err) {
    bool has_all = true;
    for (size_t i = 0; i < s->n_weights; i++) {
        tare_packed_weight *w = &s->weights[i];
        if (!w->scheme.writer || !tare_writer_has(w->scheme.writer, TARE_WRITTEN_INPUT)) continue;
        if (w->held.kind) TARE_TRY(tare_quantized_input_scale(&w->input, s->in, w->tensor, err));
        has_all = has_all && w->input > 0;
    }
    for (size_t i = 0; i < s->n_weights && !has_all; i++) s->weights[i].input = 0;
    return TARE_OK;
}

static void report_repacked(const tare_scheme_search *s) {
    const tare_finding f = TARE_FINDING(INFO, TARE_OK, "scheme.repacked");
    size_t n = 0, n_rounded = 0;
    for (size_t i = 0; i < s->n_weights; i++) {
        n += s->weights[i].held.kind != TARE_CODES_NONE;
        n_rounded += s->weights[i].held.kind != TARE_CODES_NONE && s->weights[i].is_rounded;
    }
    if (!n) return;
    if (n_rounded)
        tare_report_addf(
            s->options->context->report, &f,
            "%zu of %zu weights keep their codes and scales; the factor of the whole "
            "becomes its reciprocal, which moves numbers by a unit in F32's last place",
            n, s->n_packed);
    else
        tare_report_addf(s->options->context->report, &f,
                         "%zu of %zu weights keep their codes and scales: no number changes", n,
                         s->n_packed);
}

static tare_status add_all(choosing *c) {
    static const tare_scheme_choice none = {.writer = NULL};
    for (size_t i = 0; i < c->in->catalog.n_tensors; i++) {
        const tare_tensor *t = &c->in->catalog.tensors[i];
        const bool is_packed = c->choices[i].writer && !c->obstacles[i];
        if (c->obstacles[i]) report_left(c, i);
        const size_t n_slices =
            is_packed && is_for_servers(&c->choices[i]) ? tare_scheme_slices(c->s, i) : 0;
        if (n_slices)
            TARE_TRY(add_slices(c, i, &c->choices[i], n_slices));
        else if (is_packed)
            TARE_TRY(add_weight(c, i, &c->choices[i]));
        else if (tare_tensor_is_real(t) && own_type(c->s, i) != t->encoding->id)
            TARE_TRY(add_weight(c, i, &none));
    }
    TARE_TRY(agree_on_factors(c->s, c->err));
    TARE_TRY(keep_inputs(c->s, c->err));
    TARE_TRY(tare_scheme_find_stacks(c->s, c->err));
    report_repacked(c->s);
    return TARE_OK;
}

/* ---- the type of the model's numbers ----------------------------------------------------------- */

static tare_encoding_id named_type(const tare_json_node *config) {
    static const char *const keys[] = {"dtype", "torch_dtype", "text_config.dtype",
                                       "text_config.torch_dtype"};
    for (size_t i = 0; config && i < sizeof keys / sizeof *keys; i++) {
        const tare_str name = tare_json_node_text(tare_json_path(config, tare_str_of(keys[i])));
        if (tare_str_is(name, "float16")) return TARE_ENCODING_F16;
        if (tare_str_is(name, "float32")) return TARE_ENCODING_F32;
        if (tare_str_is(name, "bfloat16")) return TARE_ENCODING_BF16;
    }
    return TARE_ENCODING_BF16;
}

static tare_status find_type(tare_scheme_search *s, tare_error *err) {
    const tare_json_node *config;
    const tare_model_types *types = s->in->types;
    TARE_TRY(tare_model_json(&config, s->in, "config.json", s->arena, err));
    s->type = named_type(config);
    if (types && types->program == TARE_PROGRAM_TRANSFORMERS &&
        types->usual->kind == TARE_KIND_FLOAT)
        s->type = types->usual->id;
    return TARE_OK;
}

tare_status tare_scheme_choose(tare_scheme_search *s, tare_error *err) {
    const size_t n = s->in->catalog.n_tensors, n_rules = s->options->n_rules;
    choosing c = {.s = s, .in = s->in, .err = err};
    tare_type_rule *rules = TARE_NEW_ARRAY(s->arena, tare_type_rule, n_rules);
    int64_t *rule = TARE_NEW_ARRAY(s->arena, int64_t, n);
    c.choices = TARE_NEW_ARRAY(s->arena, tare_scheme_choice, n);
    c.obstacles = TARE_NEW_ARRAY(s->arena, const char *, n);
    TARE_TRY(tare_scheme_find_hidden(s, err));
    size_t most = n;
    for (size_t i = 0; i < n; i++) most += tare_scheme_slices(s, i);
    s->weights = TARE_NEW_ARRAY(s->arena, tare_packed_weight, most);
    s->weight_of = TARE_NEW_ARRAY(s->arena, int64_t, n);
    if (!rules || !rule || !c.choices || !c.obstacles || !s->weights || !s->weight_of)
        return tare_fail(err, TARE_ERR_NOMEM, "tensors");
    for (size_t i = 0; i < n; i++) s->weight_of[i] = -1;
    for (size_t i = 0; i < n_rules; i++) rules[i].pattern = s->options->rules[i].pattern;
    TARE_TRY(find_type(s, err));
    TARE_TRY(tare_type_rules_match(rule, s->in, rules, n_rules, err));
    TARE_TRY(choose_by_rules(&c, rule));
    for (size_t round = 0; round < 2; round++) /* what one cannot have reaches those before it */
        for (size_t i = 0; i < n; i++) TARE_TRY(agree(&c, i));
    if (is_for_servers(&s->scheme)) TARE_TRY(agree_on_experts(&c));
    TARE_TRY(add_all(&c));
    if (s->n_packed == 0 && s->scheme.writer->bits)
        return tare_fail(err, TARE_ERR_UNSUPPORTED,
                         "the model has no weight that the scheme could hold");
    for (size_t i = 0; i < s->n_weights && !s->scheme.writer->bits; i++)
        if (s->weights[i].scheme.writer) s->scheme = s->weights[i].scheme;
    return tare_strict_check(&s->strict, err);
}
