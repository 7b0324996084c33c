/* SPDX-License-Identifier: MIT
 *
 * Measured sensitivities: text of lines "TENSOR VALUE", VALUE what a relative error of 1 in the
 * tensor does to the output. A tensor takes the line of its name; else the sum of those whose names
 * say the same role in the same layer, so that the names of Hugging Face do for a GGUF file, and
 * those of single experts for the tensor that holds them all. A line of all experts counts for
 * each by its share. */
#include <string.h>

#include "base/json.h"
#include "base/report.h"
#include "base/str.h"
#include "ops/fit/fit_parts.h"

#define LINES_MOST (UINT64_C(1) << 24)
#define VALUE_MOST 1e30 /* sums stay finite */

typedef struct tare_sensitivity {
    tare_str name; /* first: the index looks here */
    double value;
    size_t number; /* of the line in the text */
    tare_role_info role;
} line;

/* ---- reading --------------------------------------------------------------------------------- */

static bool is_blank(char c) {
    return c == ' ' || c == '\t' || c == '\r';
}

static tare_status fail_line(tare_error *err, size_t number, const char *what) {
    tare_fail_code(err, TARE_ERR_ARG, TARE_CODE_BAD_SENSITIVITIES, what);
    tare_error_field(err, "line", number, NULL, NULL);
    return TARE_ERR_ARG;
}

static bool read_number(double *out, tare_str text) {
    tare_json json;
    tare_json_value value;
    tare_json_init(&json, text, 0, 1);
    return tare_json_begin(&json, &value) == TARE_JSON_NUMBER && tare_json_finish(&json) &&
           tare_json_f64(&value, out) && *out >= 0 && *out <= VALUE_MOST;
}

/* The name may hold blanks, the value does not. */
static tare_status read_line(tare_sensitivities *l, tare_str text, size_t number, tare_error *err) {
    while (text.len > 0 && is_blank(text.ptr[text.len - 1])) text.len--;
    while (text.len > 0 && is_blank(text.ptr[0])) text = tare_str_cut(text, 1);
    if (text.len == 0 || text.ptr[0] == '#') return TARE_OK;
    size_t from = text.len;
    while (from > 0 && !is_blank(text.ptr[from - 1])) from--;
    line *item = &l->lines[l->n];
    if (from == 0 || !read_number(&item->value, tare_str_cut(text, from)))
        return fail_line(err, number, "expected the name of a tensor and a number from 0 to 1e30");
    item->name = (tare_str){text.ptr, from};
    while (is_blank(item->name.ptr[item->name.len - 1])) item->name.len--;
    item->role = tare_role_of_name(item->name);
    item->number = number;
    l->n++;
    return TARE_OK;
}

tare_status tare_sensitivities_read(tare_sensitivities *l, tare_str text, tare_arena *arena,
                                    tare_error *err) {
    uint64_t n = 1;
    *l = (tare_sensitivities){.lines = NULL};
    for (size_t i = 0; i < text.len; i++) n += text.ptr[i] == '\n';
    if (n > LINES_MOST) return tare_fail(err, TARE_ERR_LIMIT, "sensitivities: too many lines");
    l->lines = TARE_NEW_ARRAY(arena, line, n);
    if (!l->lines) return tare_fail(err, TARE_ERR_NOMEM, "sensitivities");
    size_t from = 0;
    for (size_t number = 1; from <= text.len; number++) {
        size_t to = from;
        while (to < text.len && text.ptr[to] != '\n') to++;
        TARE_TRY(read_line(l, (tare_str){text.ptr + from, to - from}, number, err));
        from = to + 1;
    }
    if (l->n == 0)
        return tare_fail_code(err, TARE_ERR_ARG, TARE_CODE_BAD_SENSITIVITIES,
                              "no line has a sensitivity");
    static const char twice[] = "the tensor has a line already";
    tare_error found;
    const tare_status status =
        tare_name_index_build(&l->index, arena, l->lines, l->n, sizeof *l->lines, twice, &found);
    if (status == TARE_ERR_CORRUPT) return fail_line(err, l->lines[found.item].number, twice);
    if (status != TARE_OK && err) *err = found;
    return status;
}

/* ---- finding --------------------------------------------------------------------------------- */

/* The last part of a name that says what it is: "attn_kv_a_mqa" and "kv_a_proj_with_mqa" are both
 * "kv_a_mqa". For roles that a layer has several matrices of. */
static size_t short_name(char *out, size_t size, tare_str name) {
    static const char *const left_out[] = {"attn_", "_proj", "with_", ".weight"};
    size_t from = name.len, n = 0;
    if (tare_str_ends(name, TARE_STR(".weight"))) from -= strlen(".weight");
    while (from > 0 && name.ptr[from - 1] != '.') from--;
    while (from < name.len && n < size) {
        size_t skipped = 0;
        for (size_t i = 0; i < sizeof left_out / sizeof *left_out && !skipped; i++)
            if (tare_str_starts(tare_str_cut(name, from), tare_str_of(left_out[i])))
                skipped = strlen(left_out[i]);
        from += skipped;
        if (!skipped) out[n++] = name.ptr[from++];
    }
    return n;
}

/* Whether a line is of all experts, the tensor of one. */
static bool is_stack_of(const line *l, const tare_role_info *role) {
    return l->role.is_expert && l->role.expert < 0 && role->expert >= 0;
}

static bool is_same_part(const line *l, tare_str name, const tare_role_info *role) {
    char a[64], b[64];
    const tare_role_info *r = &l->role;
    if (r->role == TARE_ROLE_UNKNOWN || r->role != role->role || r->layer != role->layer ||
        r->is_even != role->is_even || r->is_expert != role->is_expert ||
        r->is_shared != role->is_shared || r->is_bias || r->is_tower != role->is_tower)
        return false;
    if (r->is_gguf == role->is_gguf && !is_stack_of(l, role)) return false;
    if (role->expert >= 0 && r->expert >= 0 && r->expert != role->expert) return false;
    if (!role->is_even && role->role != TARE_ROLE_SSM) return true;
    const size_t n = short_name(a, sizeof a, l->name);
    return n == short_name(b, sizeof b, name) && memcmp(a, b, n) == 0;
}

bool tare_sensitivities_find(double *value, const tare_sensitivities *l, tare_str name,
                             double share) {
    const int64_t at = tare_name_index_find(&l->index, l->lines, sizeof *l->lines, name);
    bool is_found = at >= 0;
    *value = is_found ? l->lines[at].value : 0;
    if (is_found) return true;
    const tare_role_info role = tare_role_of_name(name);
    for (size_t i = 0; i < l->n; i++) {
        if (!is_same_part(&l->lines[i], name, &role)) continue;
        *value += l->lines[i].value * (is_stack_of(&l->lines[i], &role) ? share : 1);
        is_found = true;
    }
    return is_found;
}

tare_status tare_sensitivities_check(size_t n_missing, size_t n, tare_report *report,
                                     tare_error *err) {
    if (n > 0 && n_missing == n)
        return tare_fail(
            err, TARE_ERR_ARG,
            "the sensitivities are of another model: they have no line for a tensor of "
            "this one");
    if (n_missing == 0) return TARE_OK;
    tare_finding finding = TARE_FINDING(INFO, TARE_OK, "fit.sensitivity-missing");
    tare_report_addf(
        report, &finding,
        "%zu of %zu tensors have no measured sensitivity: the constants of their roles "
        "count",
        n_missing, n);
    return TARE_OK;
}

/* ---- of a fit -------------------------------------------------------------------------------- */

static bool measure_unit(tare_fit_unit *u, const tare_fit *f, const tare_sensitivities *l) {
    double sum = 0, value;
    const double share = u->share / (double)u->n_tensors;
    for (size_t i = 0; i < u->n_tensors; i++) {
        if (!tare_sensitivities_find(&value, l, f->in->catalog.tensors[u->tensors[i]].name, share))
            return false;
        sum += value;
    }
    u->alpha = sum;
    u->is_measured = true;
    return true;
}

tare_status tare_fit_read_sensitivities(tare_fit *f, tare_str text, tare_error *err) {
    tare_sensitivities l;
    size_t n_missing = 0;
    tare_arena arena;
    tare_arena_init(&arena, f->convert.context->allocator);
    tare_status status = tare_sensitivities_read(&l, text, &arena, err);
    for (size_t u = 0; status == TARE_OK && u < f->n_units; u++)
        n_missing += !measure_unit(&f->units[u], f, &l);
    tare_arena_free(&arena);
    if (status != TARE_OK) return status;
    return tare_sensitivities_check(n_missing, f->n_units, f->convert.context->report, err);
}
