/* SPDX-License-Identifier: MIT
 *
 * Several outputs of one model: quantize --sizes. Errors are measured once, for all choices of types, and
 * the input is passed over once. */
#include <ctype.h>
#include <errno.h>
#include <stdlib.h>
#include <string.h>

#include "system.h"
#include "write_several.h"

/* ---- what is asked for ----------------------------------------------------------------------- */

/* The suffix of a format's files, "" for a directory; NULL: there is no such format to write. */
static const char *suffix_of(const char *format) {
    tare_format_info f = tare_format_info_default();
    for (size_t i = 0; tare_format_at(&f, i); i++)
        if (f.can_write && strcmp(f.name, format) == 0) return f.suffix;
    return NULL;
}

/* "FOLDER/NAME-LABEL.gguf", NAME being the input's without its suffix. */
static char *name_variant(const cli_several *s, const char *folder, const char *label) {
    size_t n;
    const char *name = cli_last_part(s->in_path, &n);
    const char *revision = strncmp(s->in_path, "hf://", 5) == 0 ? memchr(name, '@', n) : NULL;
    char *whole = cli_copy(name, revision ? (size_t)(revision - name) : n);
    char *point = tare_format_of_path(whole) ? strrchr(whole, '.') : NULL;
    if (point) *point = '\0';
    const size_t size =
        strlen(folder) + strlen(whole) + strlen(label) + strlen(s->suffix) + sizeof "/-";
    char *path = cli_alloc(size, 1);
    const bool has_slash = !*folder || folder[strlen(folder) - 1] == '/';
    snprintf(path, size, "%s%s%s-%s%s", folder, has_slash ? "" : "/", whole, label, s->suffix);
    free(whole);
    return path;
}

/* The name of a mix, as the mix spells it, or a size, "fit:4G" also. */
static int read_label(cli_several *s, const char *word, size_t n) {
    cli_variant *v = &s->all[s->n];
    if (n > 4 && memcmp(word, "fit:", 4) == 0 && isdigit((unsigned char)word[4])) {
        word += 4;
        n -= 4;
    }
    if (s->n == SEVERAL_MOST)
        return cli_usage(s->command, "--sizes: more than %d outputs", SEVERAL_MOST);
    *v = (cli_variant){.label = cli_copy(word, n), .damage = -1};
    s->n++;
    if (tare_size_parse(&v->size, v->label) && v->size >= 1000)
        return s->write->mix->is_pure
                   ? cli_usage(s->command,
                               "--sizes: %s: --pure needs a type; for a size, types are "
                               "chosen",
                               v->label)
                   : CLI_YES;
    v->size = 0;
    v->mix = tare_mix_find((tare_str){word, n});
    if (!v->mix) {
        char *safe = cli_escape_path(v->label);
        cli_usage(s->command, "--sizes: \"%s\" is neither a size, such as 4G, nor a type of --help",
                  safe);
        free(safe);
        return CLI_USAGE;
    }
    free(v->label);
    v->label = cli_copy(v->mix->name, strlen(v->mix->name));
    return CLI_YES;
}

static int name_outputs(cli_several *s, const char *folder) {
    for (size_t i = 0; i < s->n; i++) {
        s->all[i].path = name_variant(s, folder, s->all[i].label);
        for (size_t k = 0; k < i; k++)
            if (strcmp(s->all[k].path, s->all[i].path) == 0)
                return cli_usage(s->command, "--sizes: %s is given twice", s->all[i].label);
        if (cli_is_there(s->all[i].path) && !cli.force) {
            const tare_error err = {.status = TARE_ERR_ARG,
                                    .item = -1,
                                    .offset = TARE_NO_OFFSET,
                                    .code = TARE_CODE_OUTPUT_EXISTS,
                                    .what = "the output exists; --force replaces it"};
            return cli_fail(&err, s->all[i].path);
        }
    }
    return CLI_YES;
}

static int read_list(cli_several *s, const char *list, const char *folder, const char *to) {
    const char *suffix = suffix_of(to);
    if (!suffix) return cli_usage(s->command, "--to: no format \"%s\"", to);
    s->suffix = cli_copy(suffix, strlen(suffix));
    for (const char *word = list;; word++) {
        const size_t n = strcspn(word, ",");
        const int code = read_label(s, word, n);
        if (code != CLI_YES) return code;
        word += n;
        if (!*word) break;
    }
    return name_outputs(s, folder);
}

/* ---- the folder ------------------------------------------------------------------------------ */

/* The folders of a path that are not there, from the outermost on; `n_made` counts those that are
 * made. */
static int make_folders(size_t *n_made, const cli_several *s, char *path) {
    if (tare_is_url(path) || !*path || cli_is_there(path)) return CLI_YES;
    char *slash = strrchr(path, '/');
    int code = CLI_YES;
    if (slash && slash > path) {
        *slash = '\0';
        code = make_folders(n_made, s, path);
        *slash = '/';
    }
    if (code != CLI_YES || (slash && !slash[1])) return code;
    if (cli_make_folder(path)) {
        ++*n_made;
        return CLI_YES;
    }
    const int failed = errno;
    if (cli_is_there(path)) return CLI_YES; /* another run made it, or it is new/.. */
    char *safe = cli_escape_path(path);
    code = cli_fail_text(CLI_IO, "%s: the folder cannot be made: %s", safe, strerror(failed));
    free(safe);
    return code;
}

/* Those that were made, from the innermost on, as far as nothing is in them. */
static void remove_folders(size_t n_made, char *path) {
    while (n_made) {
        char *slash;
        while ((slash = strrchr(path, '/')) && !slash[1]) *slash = '\0';
        if (cli_is_there(path)) {
            cli_remove_folder(path);
            n_made--;
        }
        if (!slash) break;
        *slash = '\0';
    }
}

static int check_folder(const cli_several *s, const char *folder) {
    const bool is_new = *folder && !tare_is_url(folder) && !cli_is_there(folder);
    if (!is_new || (strcmp(folder, "-") != 0 && !tare_format_of_path(folder))) return CLI_YES;
    char *safe = cli_escape_path(folder);
    cli_usage(s->command, "--sizes makes several files: OUT is their folder, not %s", safe);
    free(safe);
    return CLI_USAGE;
}

/* ---- choosing -------------------------------------------------------------------------------- */

static int fail(const cli_several *s, tare_error *err) {
    return cli_write_failed(s->command, err, s->in_path, s->report);
}

static int too_small(const cli_variant *v, const tare_fit *fit, const cli_several *s,
                     tare_error *err) {
    char words[160];
    if (!cli_has_code(err, TARE_CODE_TARGET_TOO_SMALL)) return fail(s, err);
    const tare_fit_summary *sum = tare_fit_summarize(fit);
    snprintf(words, sizeof words,
             "--sizes: %s is too small: with these types the smallest file has %s bytes (%.2f "
             "bits/weight)",
             v->label, cli_exact_text(sum->smallest_bytes).text, sum->smallest_bits);
    err->what = words;
    return fail(s, err);
}

/* What a named mix is predicted to lose. */
static double damage_of_mix(const tare_fit *fit, const tare_mix *mix) {
    tare_fit_point p;
    for (size_t i = 0; tare_fit_mix_at(&p, fit, i); i++)
        if (strcmp(p.mix, mix->name) == 0) return p.damage;
    return -1;
}

/* The options of one output; its rules are the fit's until the next choice. */
static int choose(cli_variant *v, tare_convert_options *options, tare_fit *fit,
                  const cli_several *s) {
    tare_fit_target target = tare_fit_target_default();
    tare_error err;
    v->mix_options = *options->mix;
    v->mix_options.mix = v->mix;
    options->mix = &v->mix_options;
    if (v->mix) {
        v->damage = damage_of_mix(fit, v->mix);
        return CLI_YES;
    }
    target.file_bytes = v->size;
    if (tare_fit_choose(fit, &target, &err) != TARE_OK) return too_small(v, fit, s, &err);
    if (tare_fit_apply(options, &v->mix_options, fit, &err) != TARE_OK) return fail(s, &err);
    v->damage = tare_fit_summarize(fit)->damage;
    return CLI_YES;
}

static int plan_all(cli_several *s, const tare_model *in, const tare_convert_options *given,
                    tare_fit *fit) {
    int code = CLI_YES;
    for (size_t i = 0; i < s->n && code == CLI_YES; i++) {
        tare_convert_options options = *given;
        tare_error err;
        cli_variant *v = &s->all[i];
        code = choose(v, &options, fit, s);
        if (code == CLI_YES && tare_plan_new(&v->plan, v->path, in, &options, &err) != TARE_OK)
            code = fail(s, &err);
        if (code == CLI_YES && tare_plan_check(v->plan, &err) != TARE_OK) code = fail(s, &err);
        if (code == CLI_YES) v->bits = cli_bits_a_weight(v->plan, in);
        v->types = v->mix ? v->mix->name : "chosen for the size";
    }
    return code;
}

/* ---- telling --------------------------------------------------------------------------------- */

static void print_table(const cli_several *s) {
    cli_table *table = cli_table_new("~FILE|>SIZE|>BITS/WEIGHT|>DAMAGE|TYPES");
    for (size_t i = 0; i < s->n; i++) {
        const cli_variant *v = &s->all[i];
        char text[40], *name = cli_escape_path(v->path);
        cli_table_add(table, name);
        cli_table_add(table, cli_size_text(tare_plan_summarize(v->plan)->write_bytes).text);
        snprintf(text, sizeof text, "%.2f", v->bits);
        cli_table_add(table, text);
        snprintf(text, sizeof text, "%#.3g", v->damage);
        cli_table_add(table, v->damage < 0 ? "" : text);
        cli_table_add(table, v->types);
        free(name);
    }
    if (cli.dry_run) fputs("would write\n", stdout);
    cli_table_print(table, stdout, 0);
    cli_table_free(table);
}

static void print_json(const cli_several *s, const tare_model *in) {
    cli_outcome all[SEVERAL_MOST];
    for (size_t i = 0; i < s->n; i++) {
        const cli_variant *v = &s->all[i];
        all[i] = (cli_outcome){.plan = v->plan,
                               .in = in,
                               .write = s->write,
                               .in_path = s->in_path,
                               .out_path = v->path,
                               .report = s->report,
                               .mix = v->mix_options.mix,
                               .mix_is_named = v->mix,
                               .target_bytes = v->size,
                               .damage = v->damage};
    }
    cli_print_outputs(s->command, all, s->n);
}

/* ---- the whole ------------------------------------------------------------------------------- */

static int check(const cli_several *s) {
    const cli_write *w = s->write;
    const cli_fit *f = w->fit;
    size_t n;
    const tare_convert_options *named = cli_named_convert(s->command);
    const char *single = named->shard_size   ? "shard-size"
                         : named->keep_split ? "keep-split"
                         : w->report         ? "report"
                                             : NULL;
    if (single)
        return cli_usage(s->command, "--%s is for a single output, not for --sizes", single);
    if (f->recipe || f->plot)
        return cli_usage(s->command, "--%s belongs to a single choice of types: give --target-size",
                         f->recipe ? "recipe" : "plot");
    if (!cli_last_part(s->in_path, &n))
        return cli_usage(s->command, "the input has no name that outputs could be called after");
    return CLI_YES;
}

static int run_all(const cli_several *s) {
    const tare_plan *plans[SEVERAL_MOST];
    tare_error err;
    for (size_t i = 0; i < s->n; i++) plans[i] = s->all[i].plan;
    cli_progress_start("writing");
    const tare_status status = tare_plans_run(NULL, plans, s->n, &err);
    cli_progress_end();
    if (status == TARE_OK) return CLI_YES;
    if (!cli.json) cli_print_findings(stderr, s->report, s->in_path, TARE_LEVEL_INFO);
    return fail(s, &err);
}

static int print_outputs(const cli_several *s, const tare_model *in) {
    if (cli.json) {
        print_json(s, in);
    } else {
        cli_print_remarks(s->report, s->in_path, cli.quiet ? TARE_LEVEL_ERROR : TARE_LEVEL_INFO);
        if (!cli.quiet) print_table(s);
    }
    return s->write->card ? cli_card_write(s, in) : CLI_YES;
}

static int measure(tare_fit **fit, cli_several *s, const tare_model *in,
                   const tare_convert_options *options) {
    tare_convert_options own = *options;
    tare_mix_options mix = *options->mix;
    mix.mix = NULL;
    own.mix = &mix;
    return cli_fit_measure(fit, s->command, in, s->in_path, s->all[0].path, &own, s->write->fit);
}

static void free_several(cli_several *s) {
    for (size_t i = 0; i < s->n; i++) {
        tare_plan_free(s->all[i].plan);
        free(s->all[i].label);
        free(s->all[i].path);
    }
    free(s->suffix);
}

static int write_all(cli_several *s, const tare_model *in) {
    tare_convert_options options = *cli_named_convert(s->command);
    cli_parts parts;
    tare_fit *fit = NULL;
    int code = CLI_YES;
    if (s->write->card) code = cli_card_check(s, in);
    if (code != CLI_YES) return code;
    code = cli_parts_open(&parts, &options, s->command, in, s->all[0].path, s->write, s->report);
    if (code == CLI_YES) code = measure(&fit, s, in, &options);
    if (code == CLI_YES) code = plan_all(s, in, &options, fit);
    if (code == CLI_YES) code = run_all(s);
    if (code == CLI_YES) code = print_outputs(s, in);
    cli_parts_close(&parts);
    tare_fit_free(fit);
    return code;
}

/* The folder is made before anything is checked there, for a dry run, too, which then takes it away. */
int cli_write_several(const cli_command *command, const tare_model *in, const char *in_path,
                      const char *folder, const cli_write *write, tare_report *report) {
    cli_several s = {.command = command, .in_path = in_path, .write = write, .report = report};
    char *path = cli_copy(folder, strlen(folder));
    size_t n_made = 0;
    int code = check(&s);
    if (code == CLI_YES) code = check_folder(&s, folder);
    if (code == CLI_YES) code = read_list(&s, write->several, folder, write->to);
    if (code == CLI_YES) code = make_folders(&n_made, &s, path);
    if (code == CLI_YES) code = write_all(&s, in);
    if (code != CLI_YES || cli.dry_run) remove_folders(n_made, path);
    free_several(&s);
    free(path);
    return code;
}
