/* SPDX-License-Identifier: MIT
 *
 * What tare mount consists of: names as a tree of numbered nodes, and serving them to the kernel. */
#ifndef TARE_CLI_MOUNT_H
#define TARE_CLI_MOUNT_H

#include <tare/experimental/views.h>

#include "cli.h"

/* ---- nodes ----------------------------------------------------------------------------------- */

enum { CLI_TREE_ROOT = 1 };
#define CLI_TREE_FOLDER SIZE_MAX

typedef struct cli_node {
    char *path;  /* within the view; "": the root */
    size_t file; /* of the view; CLI_TREE_FOLDER: a folder */
} cli_node;

/* Node numbers begin with the root's. */
typedef struct cli_tree {
    cli_node *nodes; /* sorted by path: the root is the first */
    size_t n;
} cli_tree;

void cli_tree_build(cli_tree *tree, const tare_view *view);
void cli_tree_free(cli_tree *tree);
/* NULL: there is no such number. */
const cli_node *cli_tree_at(const cli_tree *tree, uint64_t number);
/* 0: none of this name. */
uint64_t cli_tree_find(const cli_tree *tree, uint64_t folder, const char *name);
/* The first entry of a folder whose number is above `after` (0: of all); 0: there is none. */
uint64_t cli_tree_next(const cli_tree *tree, uint64_t folder, uint64_t after);
/* The last part of its path. */
const char *cli_node_name(const cli_node *node);

/* ---- mounting -------------------------------------------------------------------------------- */

typedef struct cli_mount {
    const char *source, *folder;
    const char *log; /* a path; NULL: standard error in the foreground, else the system's log */
    bool in_foreground, allow_other;
    tare_json_node *document; /* printed once it is mounted; NULL: none */
} cli_mount;

/* UNSUPPORTED: without libfuse3 at build or now, or without /dev/fuse. */
tare_status cli_mount_check(tare_error *err);
/* Makes a child that goes on in the background: true in the child, which calls cli_mount_serve, and
 * in the foreground; false in the parent once the child has mounted or ended: *code is its exit code. */
bool cli_mount_begin(int *code, const cli_mount *mount);
/* In the child: the folder is mounted, and messages no longer reach the terminal. False: it cannot go on
 * by itself, which was said. */
bool cli_mount_is_ready(void);
/* Serves until the folder is unmounted or the process is told to end; an exit code. */
int cli_mount_serve(const cli_mount *mount, tare_view *view);
/* Takes the folder from its name at once, although files in it may be open; whether that could be done. The
 * descriptor of the mount stays open: threads that wait for requests are told by the kernel. */
bool cli_mount_detach(const char *folder);
/* Ends the mount of a folder; an exit code. */
int cli_mount_end(const char *folder);

#endif
