/* SPDX-License-Identifier: MIT
 *
 * What is told of chosen types: beside the named mixes, by role, for other sizes. */
#include <math.h>
#include <string.h>

#include "cli.h"

/* From about here on measured divergences were more than 1.2 times what was predicted. */
#define MUCH_DAMAGE 0.1

/* ---- text ------------------------------------------------------------------------------------ */

static void add_point(cli_table *table, const char *name, const tare_fit_point *p) {
    char text[40];
    cli_table_add(table, cli_size_text(p->file_bytes).text);
    snprintf(text, sizeof text, "%.2f", p->bits_per_weight);
    cli_table_add(table, text);
    snprintf(text, sizeof text, "%#.3g", p->damage);
    cli_table_add(table, text);
    cli_table_add(table, name);
}

/* The choice between the mixes that are next to it in size, two on either side. */
static void print_mixes(const tare_fit *f, const tare_fit_summary *s) {
    tare_fit_point mix;
    size_t n_below = 0;
    const tare_fit_point own = {
        .file_bytes = s->file_bytes, .bits_per_weight = s->bits_per_weight, .damage = s->damage};
    while (tare_fit_mix_at(&mix, f, n_below) && mix.file_bytes < s->file_bytes) n_below++;
    cli_table *table = cli_table_new(">SIZE|>BITS/WEIGHT|>DAMAGE|MIX");
    for (size_t i = n_below > 2 ? n_below - 2 : 0; i < n_below; i++) {
        tare_fit_mix_at(&mix, f, i);
        add_point(table, mix.mix, &mix);
    }
    add_point(table, "this file", &own);
    for (size_t i = n_below; i < n_below + 2 && tare_fit_mix_at(&mix, f, i); i++)
        add_point(table, mix.mix, &mix);
    cli_table_print(table, stdout, 2);
    cli_table_free(table);
}

/* What was chosen among schemes: by scheme. */
static void print_schemes(const tare_fit *f) {
    enum { MOST = 32 };
    const char *names[MOST];
    uint64_t n[MOST], bytes[MOST], weights[MOST];
    size_t n_names = 0, k;
    tare_fit_tensor t;
    for (size_t i = 0; tare_fit_tensor_at(&t, f, i); i++) {
        for (k = 0; k < n_names && strcmp(names[k], t.scheme) != 0;) k++;
        if (k == MOST) continue;
        if (k == n_names) {
            names[n_names++] = t.scheme;
            n[k] = bytes[k] = weights[k] = 0;
        }
        n[k]++;
        bytes[k] += t.bytes;
        weights[k] += t.n_weights;
    }
    cli_table *table = cli_table_new("SCHEME|>TENSORS|>SIZE|>BITS/WEIGHT");
    for (k = 0; k < n_names; k++) {
        char text[40];
        cli_table_add(table, names[k]);
        cli_table_add(table, cli_exact_text(n[k]).text);
        cli_table_add(table, cli_size_text(bytes[k]).text);
        snprintf(text, sizeof text, "%.2f", (double)bytes[k] * 8 / (double)weights[k]);
        cli_table_add(table, text);
    }
    cli_table_print(table, stdout, 2);
    cli_table_free(table);
}

static void print_roles(const tare_fit *f, const tare_fit_summary *s) {
    tare_fit_role r;
    cli_table *table =
        cli_table_new("ROLE|>TENSORS|>SIZE|>BITS/WEIGHT|>DAMAGE|>SHARE|>ONE MORE BIT");
    for (size_t i = 0; tare_fit_role_at(&r, f, i); i++) {
        char text[40];
        cli_table_add(table, r.name);
        cli_table_add(table, cli_exact_text(r.n_tensors).text);
        cli_table_add(table, cli_size_text(r.bytes).text);
        snprintf(text, sizeof text, "%.2f", (double)r.bytes * 8 / (double)r.n_weights);
        cli_table_add(table, text);
        snprintf(text, sizeof text, "%#.3g", r.damage);
        cli_table_add(table, text);
        snprintf(text, sizeof text, "%.1f %%", s->damage > 0 ? 100 * r.damage / s->damage : 0);
        cli_table_add(table, text);
        snprintf(text, sizeof text, "-%#.3g", r.one_more);
        cli_table_add(table, r.one_more > 0 ? text : "");
    }
    cli_table_print(table, stdout, 2);
    cli_table_free(table);
}

/* Beyond 8-bit types, or one bit beyond the choice, sizes are of little interest. */
static bool is_shown(const tare_fit *f, size_t i, tare_fit_point *p) {
    const tare_fit_summary *s = tare_fit_summarize(f);
    const double most = s->damage > 0 ? fmax(9, s->bits_per_weight + 1) : 9;
    return tare_fit_curve_at(p, f, i) && (i == 0 || p->bits_per_weight <= most);
}

/* A bar for each size: its length is the logarithm of the damage. */
static void print_curve(const tare_fit *f) {
    tare_fit_point p, next;
    double most = 0, least = INFINITY;
    for (size_t i = 0; is_shown(f, i, &p); i++) {
        most = fmax(most, p.damage);
        if (p.damage > 0) least = fmin(least, p.damage);
    }
    cli_table *table = cli_table_new(">SIZE|>BITS/WEIGHT|>DAMAGE|");
    for (size_t i = 0; is_shown(f, i, &p); i++) {
        char bar[41] = "";
        /* Sizes that no choice uses repeat the point before. */
        if (is_shown(f, i + 1, &next) && next.file_bytes == p.file_bytes) continue;
        if (p.damage > 0 && most > least) {
            const size_t n = (size_t)(1.5 + 38 * log(p.damage / least) / log(most / least));
            memset(bar, '#', n);
            bar[n] = '\0';
        }
        add_point(table, bar, &p);
    }
    cli_table_print(table, stdout, 2);
    cli_table_free(table);
}

void cli_fit_print(const tare_fit *fit) {
    const tare_fit_summary *s = tare_fit_summarize(fit);
    tare_fit_tensor first;
    const bool is_of_schemes = tare_fit_tensor_at(&first, fit, 0) && first.scheme;
    printf("\npredicted damage %#.3g%s%s:\n", s->damage,
           !s->predicts_tokens       ? ""
           : s->damage < MUCH_DAMAGE ? ", about the KL divergence in nats per token"
                                     : "; the KL divergence in nats per token is usually larger",
           is_of_schemes ? "" : "; beside mixes");
    if (is_of_schemes)
        print_schemes(fit);
    else
        print_mixes(fit, s);
    fputs("\nby role:\n", stdout);
    print_roles(fit, s);
    if (cli.dry_run) {
        fputs("\nother sizes (bars: the logarithm of the damage):\n", stdout);
        print_curve(fit);
    }
    if (s->one_more_bytes == 0) return;
    const cli_number more = cli_size_text(s->one_more_bytes);
    if (s->damage_at_one_more == 0)
        printf("\nwith %s more, nothing would be lost\n", more.text);
    else if ((double)s->one_more_bytes < 0.8 * (double)s->n_weights / 8)
        printf("\nwith the largest of these types (%s more), damage would be %#.3g\n", more.text,
               s->damage_at_one_more);
    else
        printf("\nwith one more bit per weight (%s), damage would be %#.3g\n",
               cli_size_text(s->n_weights / 8).text, s->damage_at_one_more);
}

/* ---- JSON ------------------------------------------------------------------------------------ */

static tare_json_node *json_point(const tare_fit_point *p) {
    tare_json_node *row = cli_json_object();
    if (p->mix) cli_json_text(row, "mix", p->mix);
    cli_json_u64(row, "size_bytes", p->file_bytes);
    cli_json_real(row, "bits_per_weight", p->bits_per_weight);
    cli_json_real(row, "damage", p->damage);
    return row;
}

static tare_json_node *json_tensors(const tare_fit *f) {
    tare_json_node *list = cli_json_array();
    tare_fit_tensor t;
    for (size_t i = 0; tare_fit_tensor_at(&t, f, i); i++) {
        tare_json_node *row = cli_json_object();
        cli_json_str(row, "name", t.name);
        cli_json_text(row, "role", t.role);
        cli_json_text(row, "type", t.scheme ? t.scheme : t.type->name);
        cli_json_u64(row, "weight_count", t.n_weights);
        cli_json_u64(row, "size_bytes", t.bytes);
        cli_json_real(row, "sensitivity", t.sensitivity);
        cli_json_bool(row, "is_measured", t.is_measured);
        cli_json_bool(row, "is_pinned", t.is_pinned);
        cli_json_real(row, "relative_error", t.error);
        cli_json_real(row, "damage", t.damage);
        cli_json_append(list, row);
    }
    return list;
}

static tare_json_node *json_roles(const tare_fit *f) {
    tare_json_node *list = cli_json_array();
    tare_fit_role r;
    for (size_t i = 0; tare_fit_role_at(&r, f, i); i++) {
        tare_json_node *row = cli_json_object();
        cli_json_text(row, "role", r.name);
        cli_json_u64(row, "tensor_count", r.n_tensors);
        cli_json_u64(row, "weight_count", r.n_weights);
        cli_json_u64(row, "size_bytes", r.bytes);
        cli_json_real(row, "damage", r.damage);
        cli_json_real(row, "one_more_bit_saves", r.one_more);
        cli_json_append(list, row);
    }
    return list;
}

tare_json_node *cli_fit_json(const tare_fit *fit) {
    const tare_fit_summary *s = tare_fit_summarize(fit);
    tare_json_node *document = cli_json_object(), *mixes = cli_json_array(),
                   *curve = cli_json_array();
    tare_fit_point p;
    cli_json_u64(document, "size_bytes", s->file_bytes);
    cli_json_real(document, "bits_per_weight", s->bits_per_weight);
    cli_json_real(document, "damage", s->damage);
    cli_json_real(document, "lambda", s->lambda);
    cli_json_real(document, "damage_at_one_more_bit", s->damage_at_one_more);
    cli_json_u64(document, "one_more_bit_bytes", s->one_more_bytes);
    cli_json_bool(document, "predicts_tokens", s->predicts_tokens);
    cli_json_u64(document, "smallest_bytes", s->smallest_bytes);
    cli_json_add(document, "roles", json_roles(fit));
    for (size_t i = 0; tare_fit_mix_at(&p, fit, i); i++) cli_json_append(mixes, json_point(&p));
    cli_json_add(document, "mixes", mixes);
    for (size_t i = 0; tare_fit_curve_at(&p, fit, i); i++) cli_json_append(curve, json_point(&p));
    cli_json_add(document, "curve_points", curve);
    cli_json_add(document, "tensors", json_tensors(fit));
    return document;
}
