/* SPDX-License-Identifier: MIT
 *
 * Which tensor an adapter is for: by name, as for modules of Hugging Face models, or by role and
 * layer where the model uses other names. GGUF files of some architectures store the rows of query
 * and key matrices in another order; only for the architectures listed here is it known which order
 * they have. */
#include "base/str.h"
#include "ops/convert/merge.h"
#include "ops/mix/roles.h"

static int64_t find_exactly(const tare_model *in, tare_str name) {
    char text[512];
    int64_t at = tare_model_find_tensor(in, name);
    if (at >= 0 || name.len + sizeof ".weight" > sizeof text) return at;
    memcpy(text, name.ptr, name.len);
    memcpy(text + name.len, ".weight", sizeof ".weight");
    return tare_model_find_tensor(in, tare_str_of(text));
}

static bool is_same_place(const tare_role_info *a, const tare_role_info *b) {
    return a->role == b->role && a->layer == b->layer && a->expert == b->expert &&
           a->is_expert == b->is_expert && a->is_shared == b->is_shared && !b->is_bias &&
           a->is_tower == b->is_tower &&
           (!a->tensor || !b->tensor || strcmp(a->tensor, b->tensor) == 0);
}

/* Whether GGUF files of an architecture keep the rows of all matrices in Hugging Face's order. */
static bool keeps_rows(tare_str architecture) {
    static const char *const names[] = {"qwen2", "qwen2moe", "qwen3",  "qwen3moe",
                                        "gemma", "gemma2",   "gemma3", "phi3"};
    for (size_t i = 0; i < sizeof names / sizeof *names; i++)
        if (tare_str_is(architecture, names[i])) return true;
    return false;
}

static int64_t find_by_role(const tare_model *in, tare_str name, tare_error *err) {
    const tare_role_info wanted = tare_role_of_name(name);
    int64_t found = -1;
    tare_role_info role = {.role = TARE_ROLE_UNKNOWN};
    if (wanted.role == TARE_ROLE_UNKNOWN || wanted.is_bias) return -1;
    for (size_t i = 0; i < in->catalog.n_tensors; i++) {
        const tare_tensor *t = &in->catalog.tensors[i];
        const tare_role_info info = tare_role_of_name(t->name);
        if (t->n_dims != 2 || !is_same_place(&wanted, &info)) continue;
        if (found >= 0) return -1;
        found = (int64_t)i;
        role = info;
    }
    const bool is_turned = role.role == TARE_ROLE_ATTN_Q || role.role == TARE_ROLE_ATTN_K ||
                           role.role == TARE_ROLE_ATTN_QKV;
    if (found >= 0 && is_turned && role.is_gguf && !wanted.is_gguf &&
        !keeps_rows(tare_model_architecture(in))) {
        tare_fail(err, TARE_ERR_UNSUPPORTED,
                  "a GGUF may hold the rows of queries and keys in another order: merge into the "
                  "Hugging Face model and convert that");
        return -1;
    }
    return found;
}

/* Whether a tensor's name, without ".weight", is `flat` but for dots that are '_' there. */
static bool is_flat_of(tare_str flat, tare_str name) {
    const tare_str end = TARE_STR(".weight");
    if (tare_str_ends(name, end)) name.len -= end.len;
    if (name.len != flat.len) return false;
    for (size_t i = 0; i < name.len; i++)
        if (name.ptr[i] != flat.ptr[i] && (name.ptr[i] != '.' || flat.ptr[i] != '_')) return false;
    return true;
}

/* COMPONENT.FLAT_NAME */
static int64_t find_flat(const tare_model *in, tare_str name, tare_error *err) {
    int64_t found = -1;
    size_t dot = 0;
    while (dot < name.len && name.ptr[dot] != '.') dot++;
    const tare_str flat = tare_str_cut(name, dot + 1);
    for (size_t i = 0; flat.len && i < in->catalog.n_tensors; i++) {
        if (!is_flat_of(flat, in->catalog.tensors[i].name)) continue;
        if (found >= 0) {
            tare_fail(err, TARE_ERR_ARG, "matches several tensors of the model");
            return -1;
        }
        found = (int64_t)i;
    }
    if (found < 0)
        tare_fail(err, TARE_ERR_ARG,
                  "matches no tensor of the model; of an adapter for several components, "
                  "COMPONENT=PATH takes the pairs of one");
    return found;
}

/* By the name, or what follows one of its dots. */
static int64_t find_by_name(const tare_model *in, tare_str name) {
    for (tare_str rest = name; rest.len > 0;) {
        const int64_t at = find_exactly(in, rest);
        if (at >= 0) return at;
        size_t dot = 0;
        while (dot < rest.len && rest.ptr[dot] != '.') dot++;
        rest = tare_str_cut(rest, dot + 1);
    }
    return -1;
}

int64_t tare_merge_find_tensor(const tare_model *in, tare_str name, bool is_flat, tare_error *err) {
    if (is_flat) return find_flat(in, name, err);
    const int64_t at = find_by_name(in, name);
    if (at >= 0) return at;
    tare_fail(err, TARE_ERR_ARG, "matches no tensor of the model");
    return find_by_role(in, name, err);
}

/* ---- experts --------------------------------------------------------------------------------- */

/* The start of the last part of a name's first `end` bytes. */
static size_t last_part(tare_str name, size_t end) {
    while (end > 0 && name.ptr[end - 1] != '.') end--;
    return end;
}

static bool read_number(uint64_t *out, tare_str text) {
    *out = 0;
    for (size_t i = 0; i < text.len; i++) {
        if (text.ptr[i] < '0' || text.ptr[i] > '9' || i == 9) return false;
        *out = *out * 10 + (uint64_t)(text.ptr[i] - '0');
    }
    return text.len > 0;
}

/* Takes the number from "experts.3.down_proj" or "experts.3", into a text of `size` bytes. */
static bool name_stack(char *text, size_t size, uint64_t *expert, tare_str name) {
    size_t begin = last_part(name, name.len), end = name.len;
    if (!read_number(expert, tare_str_cut(name, begin))) {
        if (begin == 0) return false;
        end = begin - 1;
        begin = last_part(name, end);
        if (!read_number(expert, (tare_str){name.ptr + begin, end - begin})) return false;
    }
    if (begin == 0 || name.len >= size) return false;
    memcpy(text, name.ptr, begin - 1); /* "experts" */
    memcpy(text + begin - 1, name.ptr + end, name.len - end);
    text[begin - 1 + name.len - end] = '\0';
    return true;
}

/* A stack by transformers' name of it; Granite's files call the parts of its experts otherwise, and none
 * of them lies turned. */
static int64_t find_stack(const tare_model *in, tare_str name, bool *is_linear) {
    static const char *const granite[][2] = {{".experts.gate_up_proj", ".input_linear"},
                                             {".experts.down_proj", ".output_linear"}};
    char text[512];
    int64_t at = find_by_name(in, name);
    *is_linear = at < 0;
    for (size_t i = 0; at < 0 && i < 2; i++) {
        const tare_str end = tare_str_of(granite[i][0]);
        if (!tare_str_ends(name, end) || name.len >= sizeof text) continue;
        const size_t n = name.len - end.len; /* what stands there instead is shorter */
        memcpy(text, name.ptr, n);
        memcpy(text + n, granite[i][1], strlen(granite[i][1]) + 1);
        at = find_by_name(in, tare_str_of(text));
    }
    return at;
}

static bool find_place(tare_merge_place *out, const tare_model *in, tare_str name, bool is_flat,
                       bool is_pair, tare_error *err) {
    char text[512];
    uint64_t expert;
    int64_t at = tare_merge_find_tensor(in, name, is_flat, err);
    if (at >= 0) {
        const tare_tensor *t = &in->catalog.tensors[at];
        *out = (tare_merge_place){
            .tensor = (size_t)at, .n_elements = t->n_elements, .rows = t->n_rows, .cols = t->cols};
        return true;
    }
    if (is_flat || !is_pair || !name_stack(text, sizeof text, &expert, name)) return false;
    bool is_linear;
    at = find_stack(in, tare_str_of(text), &is_linear);
    if (at < 0) return false;
    const tare_tensor *t = &in->catalog.tensors[at];
    if (t->n_dims != 3 || expert >= t->dims[0]) return false;
    const uint64_t n = t->dims[1] * t->dims[2];
    *out = (tare_merge_place){.tensor = (size_t)at,
                              .first = expert * n,
                              .n_elements = n,
                              .rows = t->dims[1],
                              .cols = t->dims[2],
                              .is_in_stack = !is_linear};
    return true;
}

size_t tare_merge_find_places(tare_merge_place out[2], const tare_model *in, tare_str name,
                              bool is_flat, tare_adapter_kind kind, tare_error *err) {
    static const tare_str fused = {".gate_up_proj", 13};
    static const char *const halves[] = {".gate_proj", ".up_proj"};
    const bool is_pair = kind == TARE_ADAPTER_PAIR;
    char text[512];
    if (find_place(&out[0], in, name, is_flat, is_pair, err)) return 1;
    if (!is_pair || is_flat || !tare_str_ends(name, fused) || name.len >= sizeof text) return 0;
    for (size_t i = 0; i < 2; i++) {
        memcpy(text, name.ptr, name.len);
        memcpy(text + name.len - fused.len, halves[i], strlen(halves[i]) + 1);
        if (!find_place(&out[i], in, tare_str_of(text), false, true, NULL)) return 0;
        if (out[i].is_in_stack) return 0; /* which half would be which, turned? */
    }
    out[1].row = out[0].rows;
    out[0].of_rows = out[1].of_rows = out[0].rows + out[1].rows;
    return 2;
}
