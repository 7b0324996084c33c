/* SPDX-License-Identifier: MIT
 *
 * Command lines, parsed according to the tables of options: a command's own options, then the
 * common ones it takes. Long options with "--name value" or "--name=value", short ones with "-o
 * value", "-ovalue" or bundled flags; options and arguments mix; "--" ends the options; "-" is an
 * argument. */
#include <math.h>
#include <stdarg.h>
#include <stdlib.h>
#include <string.h>

#include "cli.h"

typedef struct common_row {
    unsigned takes; /* 0: every command */
    cli_option option;
} common_row;

static bool is_json;

static const common_row common_rows[] = {
    {CLI_TAKES_NAMED,
     {.name = "output",
      .letter = 'o',
      .arg = "OUT",
      .complete = CLI_COMPLETE_FILE,
      .help = "OUT, where it is not among the arguments",
      .text = &cli.output}},
    {CLI_TAKES_JSON,
     {.name = "json", .help = "print one JSON document instead of text", .flag = &is_json}},
    {CLI_TAKES_FORCE,
     {.name = "force", .letter = 'f', .help = "replace an existing output", .flag = &cli.force}},
    {CLI_TAKES_RUNNABLE,
     {.name = "force",
      .letter = 'f',
      .help = "replace an existing output; write even what llama.cpp would not run",
      .flag = &cli.force}},
    {CLI_TAKES_WRITING,
     {.name = "dry-run",
      .letter = 'n',
      .help = "print what would be written, with sizes, and stop",
      .flag = &cli.dry_run}},
    {CLI_TAKES_STRICT,
     {.name = "strict", .help = "treat any loss as an error", .flag = &cli.strict}},
    {CLI_TAKES_CHECKING,
     {.name = "strict", .help = "treat warnings as errors", .flag = &cli.strict}},
    {CLI_TAKES_WRITING,
     {.name = "no-sync",
      .help = "do not wait for the output to reach the disk",
      .flag = &cli.no_sync}},
    {CLI_TAKES_PART,
     {.name = "part",
      .arg = "I/N",
      .help = "do part I of N, from 1 on: write OUT.part-I-of-N, for tare join; auto: as a Slurm "
              "array, an indexed Kubernetes Job (with JOB_COMPLETIONS) or RANK and "
              "WORLD_SIZE number it",
      .text = &cli.part}},
    {CLI_TAKES_SHARED,
     {.name = "shared",
      .help = "with --part: write into OUT.parts, which all parts share, on a file system where "
              "different machines may write to one file",
      .flag = &cli.shared}},
    {CLI_TAKES_SHARDS,
     {.name = "one-shard", .help = "open a member of a shard set alone", .flag = &cli.one_shard}},
    {CLI_TAKES_URL,
     {.name = "timeout",
      .arg = "SECONDS",
      .help = "for URLs: give up on a transfer that stalls for this long (default: 30)",
      .number = &cli.timeout}},
    {CLI_TAKES_URL,
     {.name = "retries",
      .arg = "N",
      .help = "for URLs: retries in a row without progress (default: 5)",
      .number = &cli.retries}},
    {CLI_TAKES_BASE,
     {.name = "base",
      .arg = "BASE",
      .complete = CLI_COMPLETE_FILE,
      .help = "a model that the .wcodec was packed against; may be given several times",
      .list = &cli.base}},
    {CLI_TAKES_SIMILAR,
     {.name = "base",
      .arg = "BASE",
      .complete = CLI_COMPLETE_FILE,
      .help = "store differences from this similar model (tensors must have the same name, type "
              "and shape in both; unpacking needs it again), or the base that an input .wcodec was "
              "packed against; may be given several times",
      .list = &cli.base}},
    {CLI_TAKES_EFFORT,
     {.name = "effort",
      .arg = "LEVEL",
      .choices = "fast full",
      .help = "full: try every mode, for a smaller .wcodec (default: fast)",
      .text = &cli.effort}},
    {CLI_TAKES_THREADS,
     {.name = "threads",
      .letter = 'j',
      .arg = "N",
      .help = "threads (default or 0: what this process may use)",
      .number = &cli.threads}},
    {CLI_TAKES_CPU,
     {.name = "cpu",
      .arg = "LEVEL",
      .choices = CLI_CPU_LEVELS,
      .help = "limit the kernels to a lower CPU level",
      .text = &cli.cpu}},
    {CLI_TAKES_DEVICE,
     {.name = "device",
      .arg = "DEVICE",
      .help = "cuda or cuda:N: decode the tensors of a .wcodec on a GPU, with libtare_cuda; the "
              "CPU decodes what the GPU cannot",
      .text = &cli.device}},
    {CLI_TAKES_QUIET,
     {.name = "quiet",
      .letter = 'q',
      .help = "print errors only, no progress",
      .flag = &cli.quiet}},
    {CLI_TAKES_QUIET,
     {.name = "verbose",
      .letter = 'v',
      .help = "print every note, warning and error, not one of each kind",
      .flag = &cli.verbose}},
    {0, {.name = "no-color", .help = "no colours (also: NO_COLOR)", .flag = &cli.no_color}},
    {0,
     {.name = "help",
      .letter = 'h',
      .help = "show all options; -h: those that matter most, on one screen",
      .flag = &cli.help}},
};

tare_effort cli_effort(void) {
    return cli.effort && strcmp(cli.effort, "full") == 0 ? TARE_EFFORT_FULL : TARE_EFFORT_FAST;
}

const cli_option *cli_common_option(const cli_command *command, size_t i) {
    for (size_t k = 0; k < sizeof common_rows / sizeof *common_rows; k++) {
        unsigned takes = common_rows[k].takes;
        if (takes != 0 && !(command->takes & takes)) continue;
        if (i-- == 0) return &common_rows[k].option;
    }
    return NULL;
}

const cli_option *cli_own_option(const cli_command *command, size_t i) {
    enum { MOST = 64 };
    static cli_option rows[MOST]; /* of one command: they are asked for one after another */
    static const cli_command *of;
    if (of != command) {
        size_t n = 0;
        for (const cli_option *o = command->options; o && o->name && n < MOST - 1; o++) {
            rows[n] = *o;
            if (o->is_named) cli_named_row(&rows[n], command);
            n++;
        }
        rows[n] = (cli_option){.name = NULL};
        of = command;
    }
    for (size_t k = 0; k <= i; k++)
        if (!rows[k].name) return NULL;
    return &rows[i];
}

const cli_option *cli_option_at(const cli_command *command, size_t i) {
    size_t n_own = 0;
    for (const cli_option *o = command->options; o && o->name; o++) n_own++;
    return i < n_own ? cli_own_option(command, i) : cli_common_option(command, i - n_own);
}

static const char *option_name_at(void *ctx, size_t i) {
    const cli_option *option = cli_option_at(ctx, i);
    return option ? option->name : NULL;
}

bool cli_has_word(const char *words, const char *word) {
    size_t n = strlen(word);
    for (const char *at = words; n > 0 && (at = strstr(at, word)) != NULL; at++) {
        if ((at == words || at[-1] == ' ') && (at[n] == ' ' || at[n] == '\0')) return true;
    }
    return false;
}

/* "--name: 'value' is not WHAT": every value is refused this way. */
static bool refuse(const cli_command *command, const cli_option *option, const char *value,
                   const char *wanted) {
    char *safe = cli_escape_path(value);
    cli_usage(command, "--%s: \"%s\" is not %s", option->name, safe, wanted);
    free(safe);
    return false;
}

static bool store_encoding(const cli_command *command, const cli_option *option,
                           const char *value) {
    const tare_encoding *encoding = cli_type_parse(value);
    char wanted[160];
    if (!encoding) return refuse(command, option, value, cli_a_type(wanted, sizeof wanted, value));
    *option->encoding = encoding;
    return true;
}

static bool store_real(double *out, const char *value) {
    char *end;
    *out = strtod(value, &end);
    return end != value && *end == '\0' && *out >= 0;
}

static bool is_above_0(double x) {
    return x > 0 && isfinite(x);
}

/* Whether `value` is not a format that can be written; `wanted` then lists them. */
static bool is_no_format(char *wanted, size_t size, const char *value, cli_complete kind) {
    const char *name;
    size_t n = (size_t)snprintf(wanted, size, "one of:");
    for (size_t i = 0; (name = cli_complete_word(kind, i)) != NULL; i++) {
        if (strcmp(name, value) == 0) return false;
        if (n < size) n += (size_t)snprintf(wanted + n, size - n, " %s", name);
    }
    return true;
}

/* The library reads the value, and says what it expected. */
static bool store_named(const cli_command *command, const cli_option *option, const char *value) {
    tare_error err;
    if (tare_option_set(cli_named(command), option->name, value, &err) == TARE_OK) return true;
    return refuse(command, option, value, err.what);
}

static bool store(const cli_command *command, const cli_option *option, const char *value) {
    char wanted[160];
    const bool is_format = option->complete == CLI_COMPLETE_FORMAT ||
                           option->complete == CLI_COMPLETE_CONTAINER ||
                           option->complete == CLI_COMPLETE_TARGET;
    if (is_format && is_no_format(wanted, sizeof wanted, value, option->complete))
        return refuse(command, option, value, wanted);
    if (option->choices && !cli_has_word(option->choices, value)) {
        snprintf(wanted, sizeof wanted, "one of: %s", option->choices);
        return refuse(command, option, value, wanted);
    }
    if (option->is_named) {
        return store_named(command, option, value);
    } else if (option->text) {
        *option->text = value;
    } else if (option->number) {
        if (!cli_number_parse(option->number, value)) {
            return refuse(command, option, value, "a whole number");
        }
    } else if (option->size) {
        if (!tare_size_parse(option->size, value) || *option->size == 0) {
            return refuse(command, option, value, "a size above 0 (2G, 500M, 64Ki, ...)");
        }
    } else if (option->real) {
        if (!store_real(option->real, value) ||
            (option->is_above_0 && !is_above_0(*option->real))) {
            return refuse(command, option, value,
                          option->is_above_0 ? "a number above 0" : "a number, 0 or more");
        }
    } else if (option->encoding) {
        return store_encoding(command, option, value);
    } else {
        cli_list *list = option->list;
        list->items = cli_grow(list->items, list->n + 1, sizeof *list->items);
        list->items[list->n++] = value;
    }
    return true;
}

/* Options of other programs, and those of tare that do the same. */
static const struct {
    const char *other, *own;
} other_names[] = {
    {"compress", "effort"},  {"dry", "dry-run"},
    {"level", "effort"},     {"outtype", "type"},
    {"overwrite", "force"},  {"split-max-size", "shard-size"},
    {"best", "effort"},      {"list", "tensors"},
    {"nthreads", "threads"}, {"max-shard-size", "shard-size"},
    {"dtype", "type"},       {"filename", "output"},
    {"outfile", "output"},   {"model-name", "name"},
    {"ultra", "effort"},
};

static const char *option_meant(const cli_command *command, const char *name) {
    const cli_option *option;
    for (size_t k = 0; k < sizeof other_names / sizeof *other_names; k++)
        for (size_t i = 0; strcmp(other_names[k].other, name) == 0 &&
                           (option = cli_option_at(command, i)) != NULL;
             i++)
            if (strcmp(option->name, other_names[k].own) == 0) return option->name;
    return cli_nearest(name, option_name_at, (void *)(uintptr_t)command);
}

static bool unknown_option(const cli_command *command, const char *name) {
    if (command->last == CLI_COMPLETE_MIX && strcmp(name, "type") == 0) {
        cli_usage(command, "no option --type: TYPE is the last argument, tare %s IN [OUT] TYPE",
                  command->name);
        return false;
    }
    const char *nearest = option_meant(command, name);
    const bool is_command = !*command->name && !nearest;
    char *safe = cli_escape_path(name);
    if (nearest) {
        cli_usage(command, "no option --%s; did you mean --%s?", safe, nearest);
    } else {
        cli_usage(command, "no option --%s%s", safe,
                  is_command ? cli_command_guess(name).text : "");
    }
    free(safe);
    return false;
}

static bool raise_flag(const cli_command *command, const cli_option *option) {
    if (option->is_named) return store_named(command, option, "true");
    return *option->flag = true;
}

/* "--name" or "--name=value"; may take the next word. */
static bool parse_long(const cli_command *command, char ***next) {
    char *word = *(*next)++ + 2;
    char *equals = strchr(word, '=');
    if (equals) *equals = '\0';
    const cli_option *option;
    for (size_t i = 0; (option = cli_option_at(command, i)) != NULL; i++) {
        if (strcmp(option->name, word) == 0) break;
        if (option->old_name && strcmp(option->old_name, word) == 0) break;
    }
    if (!option) return unknown_option(command, word);
    if (!option->arg) {
        if (equals) cli_usage(command, "--%s takes no value", word);
        return !equals && raise_flag(command, option);
    }
    const char *value = equals ? equals + 1 : *(*next)++;
    if (!value) {
        cli_usage(command, "--%s needs a value: %s", word, option->arg);
        return false;
    }
    return store(command, option, value);
}

/* "-19": levels of compression are numbers elsewhere. */
static void unknown_letter(const cli_command *command, const char *at) {
    const size_t n_digits = strspn(at, "0123456789");
    const char letter[2] = {*at, '\0'};
    const char *packs = command->takes & CLI_TAKES_EFFORT ? "" : "tare pack ";
    char *safe = cli_escape_path(letter);
    if (n_digits)
        cli_usage(command, "no option -%.*s: the levels are %s--effort fast, the default, and full",
                  (int)n_digits, at, packs);
    else
        cli_usage(command, "no option -%s", safe);
    free(safe);
}

/* "-force" is not -f, -o "rce". */
static bool is_long_name(const cli_command *command, const char *word) {
    const char *name;
    for (size_t i = 0; word[1] && (name = option_name_at((void *)(uintptr_t)command, i)); i++)
        if (strcmp(name, word) == 0) return true;
    return false;
}

/* "-tm", "-o value", "-ovalue". */
static bool parse_short(const cli_command *command, char ***next) {
    const char *word = *(*next)++ + 1;
    if (is_long_name(command, word)) {
        cli_usage(command, "no option -%s; did you mean --%s?", word, word);
        return false;
    }
    for (const char *c = word; *c; c++) {
        const cli_option *option;
        for (size_t i = 0; (option = cli_option_at(command, i)) != NULL; i++) {
            if (option->letter == *c) break;
        }
        if (!option) {
            unknown_letter(command, c);
            return false;
        }
        if (!option->arg) {
            raise_flag(command, option);
            if (option->flag == &cli.help) cli.is_brief = true;
            continue;
        }
        const char *value = c[1] ? c + 1 : *(*next)++;
        if (value) return store(command, option, value);
        cli_usage(command, "-%c needs a value: %s", *c, option->arg);
        return false;
    }
    return true;
}

bool cli_seems_json(int argc, char **argv) {
    for (int i = 0; i < argc; i++) {
        if (strcmp(argv[i], "--") == 0) break;
        if (strcmp(argv[i], "--json") == 0) return true;
    }
    return false;
}

int cli_parse(const cli_command *command, int argc, char **argv, const char **args) {
    int n_args = 0;
    bool is_options = true;
    cli.json = (command->takes & CLI_TAKES_JSON) && cli_seems_json(argc, argv);
    for (char **next = argv; next < argv + argc;) {
        const char *word = *next;
        if (!is_options || word[0] != '-' || word[1] == '\0') {
            if (n_args < argc) args[n_args++] = word;
            next++;
        } else if (strcmp(word, "--") == 0) {
            is_options = false;
            next++;
        } else if (word[1] == '-' ? !parse_long(command, &next) : !parse_short(command, &next)) {
            return -1;
        }
    }
    for (int i = 0; i < n_args; i++)
        if (!args[i][0]) {
            cli_usage(command, "an argument is empty: a variable without a value?");
            return -1;
        }
    if (cli.threads > 65536) {
        cli_usage(command, "--threads: at most 65536");
        return -1;
    }
    cli.json = is_json;
    return n_args;
}

bool cli_apply_cpu(const cli_command *command) {
    if (!cli.cpu || tare_cpu_limit(cli.cpu, NULL) == TARE_OK) return true;
    cli_fail_text(CLI_UNSUPPORTED, "%s%s--cpu %s: this machine has %s only", command->name,
                  *command->name ? ": " : "", cli.cpu, tare_cpu_detect());
    return false;
}
