/* SPDX-License-Identifier: MIT
 *
 * tare info: what matters for running a model: its mix of types by name, its tokenizer, the memory
 * that it needs, and whether its file is named as others expect. */
#include <inttypes.h>
#include <stdlib.h>
#include <string.h>

#include "info.h"
#include "tokenizer_facts.h"

/* ---- mix ------------------------------------------------------------------------------------- */

/* What general.file_type says; NULL: nothing, or a number that no mix has. */
static const tare_mix *mix_of(const tare_model *model) {
    uint64_t type;
    const tare_value *v = cli_value_of(model, "general.file_type");
    if (!v || !tare_value_u64(&type, v)) return NULL;
    for (size_t i = 0; tare_mix_at(i); i++)
        if (tare_mix_at(i)->file_type >= 0 && (uint64_t)tare_mix_at(i)->file_type == type)
            return tare_mix_at(i);
    return NULL;
}

/* ---- tokenizer ------------------------------------------------------------------------------- */

static void print_special(const cli_tokenizer *t) {
    size_t column = 0;
    for (size_t i = 0; i < t->n_special; i++) {
        const cli_special_token *special = &t->special[i];
        char entry[160], *text = NULL;
        if (special->has_text) text = cli_escape(special->text, true, 24);
        snprintf(entry, sizeof entry, "%s %" PRIu64 "%s%s", special->name, special->id,
                 text ? " " : "", text ? text : "");
        info_put_entry(&column, "", entry);
        free(text);
    }
    if (column) fputc('\n', stdout);
}

static void print_tokenizer(const tare_model *model) {
    cli_tokenizer t;
    if (!cli_tokenizer_read(&t, model)) return;
    char *kind = cli_escape(t.model, false, 24), *pre = cli_escape(t.pre, false, 24);
    info_label("tokenizer");
    fputs(kind, stdout);
    if (t.pre.len) printf(", pre %s", pre);
    if (t.tokens) printf(", %s tokens", cli_exact_text(t.tokens->count).text);
    if (t.types) printf(" (%s control", cli_exact_text(t.n_control).text);
    if (t.types && t.n_user_defined) printf(", %s added", cli_exact_text(t.n_user_defined).text);
    puts(t.types ? ")" : "");
    print_special(&t);
    free(kind);
    free(pre);
}

/* ---- memory ---------------------------------------------------------------------------------- */

/* A GGUF file that names no architecture is run by nothing, whatever its config.json says. */
static bool find_memory(tare_memory_needs *needs, const tare_model *model, uint64_t context) {
    const bool is_gguf = strcmp(tare_model_summarize(model)->format, "gguf") == 0;
    return (!is_gguf || cli_value_of(model, "general.architecture")) &&
           tare_model_memory(needs, model, context);
}

static void print_memory(const tare_model *model, uint64_t context) {
    tare_memory_needs needs = tare_memory_needs_default();
    if (!find_memory(&needs, model, context) || needs.weights == 0) return;
    info_label("to run it");
    printf("%s for the weights", cli_size_text(needs.weights).text);
    if (needs.cache)
        printf(" + %s of %scache for %s tokens", cli_size_text(needs.cache).text,
               needs.is_latent_cache ? "latent " : "", cli_exact_text(needs.context).text);
    if (needs.state) printf(" + %s of state", cli_size_text(needs.state).text);
    fputc('\n', stdout);
}

/* ---- the name of the file -------------------------------------------------------------------- */

/* Why a GGUF file's name does not follow the convention; NULL: it does, or needs not. */
static const char *name_fault(char *buf, size_t size, const tare_model *model, const char *path) {
    tare_gguf_name parts = tare_gguf_name_default();
    char computed[64], wanted[256];
    const tare_model_summary *sum = tare_model_summarize(model);
    const tare_file_info *file = cli_names_file(path) ? tare_model_file(model, 0) : NULL;
    if (file && !cli_names_type(path)) return NULL; /* a blob */
    if (file) path = file->name;
    const char *slash = strrchr(path, '/'), *name = slash ? slash + 1 : path;
    if (strcmp(sum->format, "gguf") != 0 || strcmp(path, "-") == 0) return NULL;
    const size_t n = strlen(name);
    if (n < 5 || strcmp(name + n - 5, ".gguf") != 0) return "the suffix is not .gguf";
    if (tare_gguf_name_parse(&parts, (tare_str){name, n})) return NULL;
    tare_gguf_name_of_model(&parts, computed, sizeof computed, model);
    tare_gguf_name_format(wanted, sizeof wanted, &parts);
    char *safe = cli_escape_path(wanted);
    snprintf(buf, size, "not NAME-SIZE-VERSION-TYPE.gguf; the metadata give %s", safe);
    free(safe);
    return buf;
}

static void print_name(const tare_model *model, const char *path) {
    char fault[400];
    const char *why = name_fault(fault, sizeof fault, model, path);
    if (!why) return;
    info_label("file name");
    puts(why);
}

/* ---- all ------------------------------------------------------------------------------------- */

void info_print_mix(const tare_model *model) {
    const tare_mix *mix = mix_of(model);
    if (!mix) return;
    info_label("mix");
    printf("%s\n", mix->name);
}

void info_print_use(const tare_model *model, const char *path, uint64_t context) {
    print_tokenizer(model);
    print_memory(model, context);
    print_name(model, path);
}

static tare_json_node *json_tokenizer(const cli_tokenizer *t) {
    tare_json_node *object = cli_json_object(), *ids = cli_json_object();
    cli_json_str(object, "model", t->model);
    if (t->pre.len) cli_json_str(object, "pre", t->pre);
    if (t->tokens) cli_json_u64(object, "token_count", t->tokens->count);
    if (t->types) cli_json_u64(object, "control_token_count", t->n_control);
    if (t->types) cli_json_u64(object, "user_defined_token_count", t->n_user_defined);
    for (size_t i = 0; i < t->n_special; i++)
        cli_json_u64(ids, t->special[i].name, t->special[i].id);
    cli_json_add(object, "special_tokens", ids);
    return object;
}

void info_json_use(tare_json_node *document, const tare_model *model, const char *path,
                   uint64_t context) {
    const tare_mix *mix = mix_of(model);
    cli_tokenizer t;
    tare_memory_needs needs = tare_memory_needs_default();
    char fault[400];
    if (mix) cli_json_text(document, "mix", mix->name);
    if (cli_tokenizer_read(&t, model)) cli_json_add(document, "tokenizer", json_tokenizer(&t));
    if (find_memory(&needs, model, context)) {
        tare_json_node *memory = cli_json_object();
        cli_json_u64(memory, "weights_bytes", needs.weights);
        cli_json_u64(memory, "context_token_count", needs.context);
        cli_json_u64(memory, "cache_bytes", needs.cache);
        cli_json_u64(memory, "state_bytes", needs.state);
        cli_json_add(document, "memory", memory);
    }
    const char *why = name_fault(fault, sizeof fault, model, path);
    if (why) cli_json_text(document, "file_name_fault", why);
}
