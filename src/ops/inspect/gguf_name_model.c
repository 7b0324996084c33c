/* SPDX-License-Identifier: MIT
 *
 * The GGUF file name that a model's own metadata and tensors ask for: the general.* keys of the
 * GGUF specification, else what can be computed. */
#include <stdio.h>
#include <string.h>

#include <tare/convert.h>
#include <tare/encoding.h>
#include <tare/experimental/gguf_name.h>
#include <tare/model.h>

#include "base/str.h"
#include "model/catalog.h"
#include "ops/mix/mix.h"

static tare_str text_of(const tare_model *model, const char *key) {
    return tare_catalog_get_str(&model->catalog, key);
}

/* A small writer into the caller's buffer, for the parts that are computed. */
typedef struct scratch {
    char *buf;
    size_t left;
} scratch;

static tare_str keep(scratch *s, const char *text, size_t len) {
    if (len > s->left) len = s->left;
    memcpy(s->buf, text, len);
    tare_str kept = {s->buf, len};
    s->buf += len;
    s->left -= len;
    return kept;
}

/* ---- the size label -------------------------------------------------------------------------- */

static bool is_expert(tare_str name) {
    static const char mark[] = "_exps.";
    for (size_t i = 0; i + sizeof mark - 1 <= name.len; i++)
        if (memcmp(name.ptr + i, mark, sizeof mark - 1) == 0) return true;
    return false;
}

static uint64_t expert_count(const tare_model *model) {
    char key[128];
    tare_str architecture = tare_model_architecture(model);
    uint64_t n = 0;
    if (architecture.len == 0 || architecture.len > 64) return 0;
    int length =
        snprintf(key, sizeof key, "%.*s.expert_count", (int)architecture.len, architecture.ptr);
    int64_t at = tare_model_find_key(model, (tare_str){key, (size_t)length});
    const tare_metadata *entry = at < 0 ? NULL : tare_model_metadata(model, (size_t)at);
    return entry && tare_value_u64(&n, &entry->value) ? n : 0;
}

/* "7B", "1.1B", "8x7B": parameters, those of one expert where there are several, to two digits. */
static tare_str size_label(const tare_model *model, scratch *s) {
    static const struct {
        double unit;
        char letter;
    } scales[] = {{1e15, 'Q'}, {1e12, 'T'}, {1e9, 'B'}, {1e6, 'M'}, {1e3, 'K'}};
    char text[48];
    double shared = 0, in_experts = 0;
    uint64_t experts = expert_count(model);
    for (size_t i = 0; i < model->catalog.n_tensors; i++) {
        const tare_tensor *t = &model->catalog.tensors[i];
        *(experts && is_expert(t->name) ? &in_experts : &shared) += (double)t->n_elements;
    }
    double count = shared + (experts ? in_experts / (double)experts : 0);
    size_t i = 0;
    if (count <= 0) return (tare_str){"", 0};
    while (i + 1 < sizeof scales / sizeof *scales && count < scales[i].unit * 0.9995)
        i++; /* what rounds to 1000 of a unit is 1 of the next */
    uint64_t tenths = (uint64_t)(count / scales[i].unit * 10 + 0.5);
    int length = tenths < 100 && tenths % 10
                     ? snprintf(text, sizeof text, "%u.%u%c", (unsigned)(tenths / 10),
                                (unsigned)(tenths % 10), scales[i].letter)
                     : snprintf(text, sizeof text, "%llu%c",
                                (unsigned long long)((tenths + 5) / 10), scales[i].letter);
    if (experts && in_experts > 0) {
        char whole[sizeof text + 24];
        length = snprintf(whole, sizeof whole, "%llux%s", (unsigned long long)experts, text);
        return keep(s, whole, (size_t)length);
    }
    return keep(s, text, (size_t)length);
}

/* ---- encoding, version, kind ----------------------------------------------------------------- */

/* The encoding most elements have, in capitals as these names have it. */
static tare_str main_encoding(const tare_model *model, scratch *s) {
    uint64_t elements[TARE_ENCODING_COUNT] = {0};
    size_t best = 0;
    char name[32];
    for (size_t i = 0; i < model->catalog.n_tensors; i++)
        elements[model->catalog.tensors[i].encoding->id] += model->catalog.tensors[i].n_elements;
    for (size_t i = 1; i < TARE_ENCODING_COUNT; i++)
        if (elements[i] > elements[best] || best == TARE_ENCODING_UNKNOWN) best = i;
    if (elements[best] == 0) return (tare_str){"", 0};
    const char *canonical = tare_encoding_get((tare_encoding_id)best)->name;
    size_t length = 0;
    for (; canonical[length] && length < sizeof name; length++) {
        char c = canonical[length];
        name[length] = (char)(c >= 'a' && c <= 'z' ? c - 'a' + 'A' : c);
    }
    return keep(s, name, length);
}

/* Whether most numbers are in quantized types, of which there are several: no mix gave them. */
static bool is_mixed(const tare_model *model) {
    const tare_encoding *first = NULL;
    bool has_several = false;
    uint64_t n = 0;
    for (size_t i = 0; i < model->catalog.n_tensors; i++) {
        const tare_tensor *t = &model->catalog.tensors[i];
        if (t->encoding->kind != TARE_KIND_BLOCK) continue;
        has_several |= first && t->encoding != first;
        first = t->encoding;
        n += t->n_elements;
    }
    return has_several && n > tare_model_summarize(model)->n_parameters / 2;
}

/* "4_7BPW": bits per weight, for types that were chosen one by one. */
static tare_str bits_of(const tare_model *model, scratch *s) {
    const tare_model_summary *sum = tare_model_summarize(model);
    const double bits = (double)sum->tensor_bytes * 8 / (double)sum->n_parameters;
    char text[32];
    const uint64_t tenths = (uint64_t)(bits * 10 + 0.5);
    const int n = snprintf(text, sizeof text, "%u_%uBPW", (unsigned)(tenths / 10 % 1000),
                           (unsigned)(tenths % 10));
    return keep(s, text, (size_t)n);
}

static tare_str encoding_of(const tare_model *model, scratch *s) {
    uint64_t number;
    int64_t at = tare_model_find_key(model, TARE_STR("general.file_type"));
    const tare_metadata *entry = at < 0 ? NULL : tare_model_metadata(model, (size_t)at);
    bool has_number = entry && tare_value_u64(&number, &entry->value);
    const tare_mix *mix = has_number ? tare_mix_of_file_type(number) : NULL;
    if (mix) return tare_str_of(mix->name);
    return is_mixed(model) ? bits_of(model, s) : main_encoding(model, s);
}

static void set_version(tare_gguf_name *out, const tare_model *model, scratch *s) {
    tare_str version = text_of(model, "general.version");
    out->is_version_assumed = version.len == 0;
    if (version.len == 0) {
        out->version = TARE_STR("v1.0");
    } else if (version.ptr[0] >= '0' && version.ptr[0] <= '9' && version.len < 16) {
        char text[16];
        text[0] = 'v';
        memcpy(text + 1, version.ptr, version.len);
        out->version = keep(s, text, version.len + 1);
    } else {
        out->version = version;
    }
}

static void set_kind(tare_gguf_name *out, const tare_model *model) {
    tare_str type = text_of(model, "general.type");
    bool has_tokens = tare_model_find_key(model, TARE_STR("tokenizer.ggml.tokens")) >= 0;
    if (tare_str_is(type, "adapter")) out->type = TARE_STR("LoRA");
    if (model->catalog.n_tensors == 0 && has_tokens) out->type = TARE_STR("vocab");
    if (tare_str_is(type, "mmproj") || tare_str_is(tare_model_architecture(model), "clip"))
        out->sidecar = TARE_STR("mmproj");
}

void tare_gguf_name_of_model(tare_gguf_name *theirs, char *buf, size_t size,
                             const tare_model *model) {
    tare_gguf_name parts = tare_gguf_name_default(), *out = &parts;
    scratch s = {buf, size};
    out->base_name = text_of(model, "general.basename");
    if (out->base_name.len == 0) out->base_name = text_of(model, "general.name");
    if (out->base_name.len == 0) out->base_name = tare_model_architecture(model);
    if (out->base_name.len == 0) out->base_name = TARE_STR("model");
    out->size_label = text_of(model, "general.size_label");
    if (out->size_label.len == 0) out->size_label = size_label(model, &s);
    out->fine_tune = text_of(model, "general.finetune");
    set_version(out, model, &s);
    out->encoding = encoding_of(model, &s);
    set_kind(out, model);
    if (tare_str_is(out->type, "vocab")) out->encoding = (tare_str){"", 0};
    tare_result_write(theirs, &parts, sizeof parts);
}
