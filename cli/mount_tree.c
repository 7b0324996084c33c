/* SPDX-License-Identifier: MIT
 *
 * The files of a view, and the folders that their names speak of, as numbered nodes. */
#include <stdlib.h>
#include <string.h>

#include "mount.h"

/* Everything in a folder comes after it and before its next sibling: '/' before all other bytes. */
static int compare_paths(const char *a, const char *b) {
    while (*a && *a == *b) a++, b++;
    const int x = *a == '/' ? 1 : (unsigned char)*a + (*a != 0);
    const int y = *b == '/' ? 1 : (unsigned char)*b + (*b != 0);
    return x - y;
}

static int by_path(const void *a, const void *b) {
    const cli_node *x = a, *y = b;
    const int order = compare_paths(x->path, y->path);
    if (order != 0) return order;
    return (x->file == CLI_TREE_FOLDER) - (y->file == CLI_TREE_FOLDER);
}

static void add(cli_tree *tree, size_t *capacity, const char *path, size_t n, size_t file) {
    if (tree->n == *capacity) {
        *capacity = 2 * *capacity + 64;
        tree->nodes = cli_grow(tree->nodes, *capacity, sizeof *tree->nodes);
    }
    tree->nodes[tree->n++] = (cli_node){cli_copy(path, n), file};
}

/* A file, and the folders that it lies in. */
static void add_file(cli_tree *tree, size_t *capacity, const tare_view_file *f, size_t i) {
    for (size_t n = 0; n < f->name.len; n++)
        if (f->name.ptr[n] == '/') add(tree, capacity, f->name.ptr, n, CLI_TREE_FOLDER);
    add(tree, capacity, f->name.ptr, f->name.len, i);
}

void cli_tree_build(cli_tree *tree, const tare_view *view) {
    size_t capacity = 0, n = 0;
    tare_view_file f = tare_view_file_default();
    *tree = (cli_tree){.nodes = NULL};
    add(tree, &capacity, "", 0, CLI_TREE_FOLDER);
    for (size_t i = 0; tare_view_at(&f, view, i); i++) add_file(tree, &capacity, &f, i);
    qsort(tree->nodes, tree->n, sizeof *tree->nodes, by_path);
    for (size_t i = 0; i < tree->n; i++) {
        if (n && strcmp(tree->nodes[n - 1].path, tree->nodes[i].path) == 0)
            free(tree->nodes[i].path);
        else
            tree->nodes[n++] = tree->nodes[i];
    }
    tree->n = n;
}

void cli_tree_free(cli_tree *tree) {
    for (size_t i = 0; i < tree->n; i++) free(tree->nodes[i].path);
    free(tree->nodes);
    *tree = (cli_tree){.nodes = NULL};
}

const cli_node *cli_tree_at(const cli_tree *tree, uint64_t number) {
    return number >= CLI_TREE_ROOT && number - CLI_TREE_ROOT < tree->n
               ? &tree->nodes[number - CLI_TREE_ROOT]
               : NULL;
}

static int find_path(const void *key, const void *node) {
    return compare_paths(key, ((const cli_node *)node)->path);
}

uint64_t cli_tree_find(const cli_tree *tree, uint64_t folder, const char *name) {
    const cli_node *f = cli_tree_at(tree, folder);
    if (!f || !*name || strchr(name, '/')) return 0;
    const size_t n = strlen(f->path), size = n + strlen(name) + 2;
    char *path = cli_alloc(size, 1);
    snprintf(path, size, "%s%s%s", f->path, n ? "/" : "", name);
    const cli_node *found = bsearch(path, tree->nodes, tree->n, sizeof *found, find_path);
    free(path);
    return found ? (uint64_t)(found - tree->nodes) + CLI_TREE_ROOT : 0;
}

uint64_t cli_tree_next(const cli_tree *tree, uint64_t folder, uint64_t after) {
    const cli_node *f = cli_tree_at(tree, folder), *node;
    const size_t n = f ? strlen(f->path) : 0;
    uint64_t number = (after > folder ? after : folder) + 1;
    for (; f && (node = cli_tree_at(tree, number)) != NULL; number++) {
        const char *inner = node->path + (n ? n + 1 : 0);
        if (n && (strncmp(node->path, f->path, n) != 0 || node->path[n] != '/')) break;
        if (!strchr(inner, '/')) return number;
    }
    return 0;
}

const char *cli_node_name(const cli_node *node) {
    const char *slash = strrchr(node->path, '/');
    return slash ? slash + 1 : node->path;
}
