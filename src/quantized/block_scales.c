/* SPDX-License-Identifier: MIT
 *
 * How scales in a tensor of their own are laid over the numbers of a weight. */
#include "quantized/block_scales.h"

#include "base/arith.h"
#include "base/str.h"

void tare_weight_shape_of(tare_weight *w, const tare_tensor *codes, uint64_t times) {
    w->n_dims = codes->n_dims;
    memcpy(w->dims, codes->dims, codes->n_dims * sizeof *codes->dims);
    if (codes->n_dims && !tare_mul_u64(codes->cols, times, &w->dims[codes->n_dims - 1]))
        w->dims[codes->n_dims - 1] = UINT64_MAX; /* found to be too large when it is counted */
}

#define LEAST_GROUP 16 /* columns that share a scale, of all published schemes */

static bool is_cut(uint64_t n, uint64_t length, uint64_t n_scales) {
    return length && tare_ceil_div_u64(n, length) == n_scales;
}

/* A matrix, and how many scales lie over it. */
typedef struct grid {
    uint64_t rows, n_rows, cols, n_cols;
} grid;

/* Blocks of rows x columns that the settings name. */
typedef struct named_blocks {
    size_t n;
    size_t n_fits;     /* that cut a matrix into so many, and differ */
    uint64_t block[2]; /* the first of them */
} named_blocks;

static void add_block(named_blocks *to, const grid *g, uint64_t rows, uint64_t cols) {
    const uint64_t block[2] = {tare_min_u64(rows, g->rows), tare_min_u64(cols, g->cols)};
    to->n++;
    if (!is_cut(g->rows, rows, g->n_rows) || !is_cut(g->cols, cols, g->n_cols)) return;
    if (to->n_fits && memcmp(block, to->block, sizeof block) == 0) return;
    if (to->n_fits++ == 0) memcpy(to->block, block, sizeof block);
}

static void add_group_block(named_blocks *to, const grid *g, const tare_weight_group *group) {
    if (group->has_block)
        add_block(to, g, group->block[0], group->block[1]);
    else if (group->group)
        add_block(to, g, 1, group->group);
}

/* The blocks that the settings name for all weights; else those of all groups, of which that of the
 * weight's own group counts where several fit. */
static tare_status find_blocks(named_blocks *out, const tare_weight *w, const tare_weight_search *s,
                               const grid *g, tare_error *err) {
    const tare_weight_group *group;
    named_blocks own = {0};
    uint64_t all[2];
    *out = own;
    if (tare_weight_setting_pair(all, &s->settings, s->settings.config, "weight_block_size"))
        add_block(out, g, all[0], all[1]);
    if (out->n_fits) return TARE_OK;
    for (size_t i = 0; i < s->modules.n_groups; i++) add_group_block(out, g, &s->modules.groups[i]);
    if (out->n_fits < 2) return TARE_OK;
    TARE_TRY(tare_weight_group_of(&group, &s->modules, w->stem, err));
    if (group) add_group_block(&own, g, group);
    *out = own;
    return own.n_fits ? TARE_OK
                      : tare_weight_refuse(w, s,
                                           "blocks of more than one size that config_groups names "
                                           "fit its scales, and no targets say which it has",
                                           err);
}

/* How many numbers of a dimension share one factor, where no settings say it; 0: nothing tells. Published
 * block sizes are powers of two, nearly always 128; a factor a row or for all of them also occurs, and
 * so do parts of equal length. */
static uint64_t usual_block(uint64_t n, uint64_t n_scales) {
    if (n_scales == 0 || n_scales > n) return 0;
    if (n_scales == 1) return n;
    if (is_cut(n, 128, n_scales)) return 128;
    for (uint64_t b = 1; b < n; b *= 2)
        if (is_cut(n, b, n_scales)) return b;
    return n % n_scales == 0 ? n / n_scales : 0;
}

/* The dimensions of scales without those of one element between others: [n, 1, m, 1] is [n, m]. */
static uint32_t squeeze(uint64_t *out, const tare_tensor *scales, uint32_t n_dims) {
    uint32_t n = 0, spare = scales->n_dims > n_dims ? scales->n_dims - n_dims : 0;
    for (uint32_t d = 0; d < scales->n_dims; d++) {
        if (scales->dims[d] == 1 && spare && d > 0)
            spare--;
        else
            out[n++] = scales->dims[d];
    }
    return n;
}

/* Whether as many factors as a matrix of a stack has columns belong to these: so they do in Llama 4's
 * experts, of which fbgemm_fp8 is the method, and where no other reading is left. */
static bool is_of_columns(const tare_weight_search *s, uint64_t rows, uint64_t n_rows,
                          uint64_t cols) {
    return tare_str_is(s->settings.method, "fbgemm_fp8") || (n_rows == 1 && rows != cols);
}

/* A factor for all, or one for each part of a first dimension that is not that of rows: of a stack, or
 * of a convolution. */
static bool lay_first(tare_weight *w, const tare_tensor *scales) {
    const uint64_t n = scales->n_elements;
    uint64_t rows = 1;
    if (w->n_dims < 3 || (n != 1 && (scales->dims[0] != n || n != w->dims[0]))) return false;
    for (uint32_t d = 0; d + 1 < w->n_dims; d++)
        if (!tare_mul_u64(rows, w->dims[d], &rows)) return false;
    w->matrix_rows = w->block_rows = rows / n;
    w->group = w->dims[w->n_dims - 1];
    w->n_groups = w->scale_line = 1;
    return w->block_rows && w->group;
}

tare_status tare_weight_lay_scales(bool *fits, tare_weight *w, const tare_weight_search *s,
                                   const tare_tensor *scales, tare_error *err) {
    const uint32_t n = w->n_dims, leading = n > 2 ? n - 2 : 0;
    const uint64_t rows = n > 1 ? w->dims[n - 2] : 1, cols = n ? w->dims[n - 1] : 1;
    uint64_t n_rows = 1, n_cols = 1, dims[TARE_MAX_DIMS];
    *fits = scales->n_elements != 0 && lay_first(w, scales);
    if (scales->n_elements == 0 || *fits) return TARE_OK;
    if (scales->n_elements != 1) {
        const uint32_t m = squeeze(dims, scales, n);
        if (m < leading || m > n) return TARE_OK;
        for (uint32_t d = 0; d < leading; d++)
            if (dims[d] != w->dims[d]) return TARE_OK;
        const uint32_t rest = m - leading;
        if (rest > 1) n_rows = dims[leading];
        if (rest > 0) n_cols = dims[m - 1];
        /* One list of factors belongs to the rows of the matrix, one each; so does one that lies
         * across, whose columns would share theirs with fewer than any groups have. Stacks of experts
         * whose matrices are transposed have one for each column. */
        const bool is_list = rest == 1 && n > 1 && n_cols > 1;
        const bool is_across =
            rest == 2 && n_rows == 1 && n_cols > 1 && cols / n_cols < LEAST_GROUP;
        if (leading && n_rows * n_cols == cols && is_of_columns(s, rows, n_rows, cols)) {
            n_rows = 1;
            n_cols = cols;
        } else if (is_list || is_across) {
            if (n_cols != rows || (leading && is_across && rows == cols)) return TARE_OK;
            n_rows = n_cols;
            n_cols = 1;
        }
    }
    /* groups of single rows are whole, unless it is said otherwise */
    const bool is_whole = n_rows == rows && rows > 1 && cols % n_cols == 0;
    uint64_t block[2] = {usual_block(rows, n_rows),
                         is_whole ? cols / n_cols : usual_block(cols, n_cols)};
    if (n_rows > 1 || n_cols > 1) {
        named_blocks named;
        TARE_TRY(find_blocks(&named, w, s, &(grid){rows, n_rows, cols, n_cols}, err));
        if (named.n_fits)
            memcpy(block, named.block, sizeof block);
        else if (named.n && !is_whole && n_cols != cols)
            return TARE_OK; /* of another block than any that is named */
    }
    w->block_rows = tare_min_u64(block[0], rows);
    w->group = tare_min_u64(block[1], cols);
    w->n_groups = w->scale_line = n_cols;
    w->matrix_rows = rows;
    *fits = w->block_rows && w->group;
    return TARE_OK;
}

void tare_weight_lay_parts(tare_weight *w, uint64_t groups, uint64_t length) {
    w->block_rows = 1;
    w->matrix_rows = w->dims[w->n_dims - 2];
    w->n_groups = w->scale_line = groups;
    w->group = length;
}

bool tare_weight_lay_groups(tare_weight *w, uint64_t lines, uint64_t groups) {
    const uint64_t rows = w->dims[w->n_dims - 2], cols = w->dims[w->n_dims - 1];
    if (groups == 0 || cols == 0 || rows == 0 || cols % groups || lines != rows) return false;
    tare_weight_lay_parts(w, groups, cols / groups);
    return true;
}

bool tare_weight_is_index(const tare_tensor *t) {
    const tare_encoding_id id = t->encoding->id;
    return id == TARE_ENCODING_I32 || id == TARE_ENCODING_U32 || id == TARE_ENCODING_I64;
}

/* Adds a number of columns that is stated; false: another one that fits is, too. */
static bool add_stated(uint64_t *found, uint64_t stated, uint64_t cols, uint64_t groups) {
    if (!stated || stated >= cols || tare_ceil_div_u64(cols, stated) != groups) return true;
    if (*found && *found != stated) return false;
    *found = stated;
    return true;
}

/* The number of columns that settings state, of all modules or of some (AutoRound's extra_config,
 * GPTQModel's dynamic), if it cuts a row in so many; 0: none does. False: several do. */
static bool find_stated(uint64_t *found, const tare_weight_search *s, uint64_t cols,
                        uint64_t groups) {
    static const char *const places[] = {"extra_config", "dynamic"};
    *found = 0;
    add_stated(found, tare_weight_stated_group(&s->settings), cols, groups);
    for (size_t i = 0; i < sizeof places / sizeof *places; i++)
        tare_weight_setting_at(&s->settings, places[i], TARE_SETTING_OBJECT); /* else a fault */
    for (size_t i = 0; i < s->modules.n_sizes; i++)
        if (!add_stated(found, s->modules.sizes[i], cols, groups)) return false;
    return true;
}

uint64_t tare_weight_group_length(const tare_weight_search *s, uint64_t cols, uint64_t groups) {
    uint64_t stated;
    if (groups == 0 || groups > cols) return 0;
    if (groups == 1) return cols;
    if (!find_stated(&stated, s, cols, groups)) return 0;
    if (stated) return stated;
    if (cols % groups == 0) return cols / groups;
    for (uint64_t g = 128; g >= 16; g /= 2)
        if (tare_ceil_div_u64(cols, g) == groups) return g;
    return 0;
}
