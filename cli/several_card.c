/* SPDX-License-Identifier: MIT
 *
 * The model card of several outputs, as the hub shows it: quantize --card. */
#include <stdlib.h>
#include <string.h>

#include "system.h"
#include "write_several.h"

typedef struct page {
    char *text;
    size_t n;
} page;

static void put(page *p, const char *text) {
    const size_t n = strlen(text);
    p->text = cli_grow(p->text, p->n + n + 1, 1);
    memcpy(p->text + p->n, text, n + 1);
    p->n += n;
}

/* "key: value" of YAML; a quoted value is text whatever it looks like, and needs what JSON needs. */
static void put_pair(page *p, const char *key, const char *value) {
    put(p, key);
    put(p, ": \"");
    for (const char *c = value; *c; c++) {
        char one[8] = {*c, '\0'};
        if (*c == '"' || *c == '\\') snprintf(one, sizeof one, "\\%c", *c);
        if ((unsigned char)*c < 0x20 || *c == 0x7f)
            snprintf(one, sizeof one, "\\x%02x", (unsigned)*c);
        put(p, one);
    }
    put(p, "\"\n");
}

/* A name as text of Markdown, also in a cell of a table. */
static void put_name(page *p, const char *name, size_t n) {
    char *safe = cli_escape((tare_str){name, n}, false, 0);
    for (const char *c = safe; *c; c++) {
        const char one[3] = {'\\', *c, '\0'};
        put(p, strchr("|<`*[]\\", *c) ? one : one + 1);
    }
    free(safe);
}

/* The front matter, as the hub reads it. */
static void put_front(page *p, const cli_several *s, const tare_model *in) {
    size_t n;
    const char *title = cli_last_part(s->in_path, &n);
    char license[256];
    bool has_template;
    put(p, "---\n");
    if (strncmp(s->in_path, "hf://", 5) == 0) {
        const char *id = s->in_path + 5, *end = strpbrk(id, "@:");
        char *base = cli_copy(id, end ? (size_t)(end - id) : strlen(id));
        put_pair(p, "base_model", base);
        free(base);
    }
    if (tare_llama_stated(&has_template, license, sizeof license, in, NULL, NULL) == TARE_OK &&
        *license && !strchr(license, ','))
        put_pair(p, "license", license);
    put(p, "tags: [quantized]\n---\n# ");
    put_name(p, title, n);
    put(p, ", quantized\n\n");
}

static void put_rows(page *p, const cli_several *s) {
    put(p,
        "| file | size | bits per weight | predicted damage | types |\n|---|---:|---:|---:|---|\n");
    for (size_t i = 0; i < s->n; i++) {
        const cli_variant *v = &s->all[i];
        size_t n;
        const char *last = cli_last_part(v->path, &n);
        char row[200], damage[24];
        snprintf(damage, sizeof damage, "%#.3g", v->damage);
        put(p, "| ");
        put_name(p, last, n);
        snprintf(row, sizeof row, " | %s | %.2f | %s | %s |\n",
                 cli_size_text(tare_plan_summarize(v->plan)->write_bytes).text, v->bits,
                 v->damage < 0 ? "" : damage, v->types);
        put(p, row);
    }
    put(p,
        "\nThe damage is about the mean KL divergence from the original in nats per token, as tare "
        "predicts it before anything is written: good for comparing the files.\n");
}

/* A line that begins and ends code, longer than any such in it. */
static char *fence_of(void) {
    size_t most = 2;
    for (const char *const *word = cli.words; *word; word++)
        for (const char *c = *word; *c; c++) {
            const size_t n = strspn(c, "`");
            if (n > most) most = n;
        }
    char *fence = cli_alloc(most + 2, 1);
    memset(fence, '`', most + 1);
    fence[most + 1] = '\0';
    return fence;
}

/* The words of the command line, so that each is one word of a shell. */
static void put_command(page *p) {
    char *fence = fence_of();
    put(p, "\n## How they were made\n");
    put(p, fence);
    put(p, "\ntare");
    for (const char *const *word = cli.words; *word; word++) {
        const char *shown = cli_hide_secrets(*word);
        const bool is_plain =
            *shown && !shown[strspn(shown, "abcdefghijklmnopqrstuvwxyzABCDEFGHIJKLMNOPQRSTUVWXYZ"
                                           "0123456789-_=+,./:@%")];
        put(p, is_plain ? " " : " '");
        for (const char *c = shown; *c; c++) {
            const char one[2] = {*c, '\0'};
            put(p, *c == '\'' ? "'\\''" : one);
        }
        if (!is_plain) put(p, "'");
    }
    put(p, "\n");
    put(p, fence);
    put(p, "\nby tare ");
    put(p, tare_version());
    put(p, ".\n");
    free(fence);
}

/* Whether a path leads to the input, or to a file in it. */
static bool is_of_input(const char *path, const char *in_path) {
    char *file = cli_true_path(path), *in = cli_true_path(in_path);
    const size_t n = in ? strlen(in) : 0;
    const bool is = file && in && strncmp(file, in, n) == 0 && (!file[n] || file[n] == '/');
    free(file);
    free(in);
    return is;
}

int cli_card_check(const cli_several *s, const tare_model *in) {
    const char *path = s->write->card;
    tare_output_options output = cli_output();
    tare_error err;
    if (strcmp(path, "-") == 0)
        return cli_usage(s->command, "--card: the name of a file was expected, not -");
    if (cli_check_local(s->command, path) != CLI_YES) return CLI_USAGE;
    for (size_t i = 0; i < s->n; i++)
        if (cli_is_same_output(path, s->all[i].path))
            return cli_usage(s->command, "--card is the same file as the output %s",
                             s->all[i].label);
    const char *const read[] = {s->in_path, s->write->imatrix, s->write->fit->sensitivity};
    for (size_t i = 0; i < sizeof read / sizeof *read; i++)
        if (read[i] && is_of_input(path, read[i]))
            return cli_usage(s->command, "--card would replace a file of the input");
    output.dry_run = true;
    return tare_file_write(path, "", 0, in, &output, NULL, &err) == TARE_OK ? CLI_YES
                                                                            : cli_fail(&err, path);
}

/* The card is the last step: the models are there. */
static int fail_card(const cli_several *s, const tare_error *err) {
    const int code = cli_fail(err, s->write->card);
    for (size_t i = 0; i < s->n; i++) {
        char *name = cli_escape_path(s->all[i].path);
        fprintf(stderr, "tare: %s is complete\n", name);
        free(name);
    }
    return code;
}

int cli_card_write(const cli_several *s, const tare_model *in) {
    const tare_output_options output = cli_output();
    page p = {.n = 0};
    tare_error err;
    put_front(&p, s, in);
    put_rows(&p, s);
    put_command(&p);
    const tare_status status =
        tare_file_write(s->write->card, p.text, p.n, in, &output, NULL, &err);
    free(p.text);
    return status == TARE_OK ? CLI_YES : fail_card(s, &err);
}
