/* SPDX-License-Identifier: MIT
 *
 * How object stores are reached, as the aws tool is told. */
#ifndef TARE_CLI_AWS_H
#define TARE_CLI_AWS_H

typedef struct cli_aws {
    char *access_key, *secret_key, *session_token; /* NULL: none */
    char *region, *endpoint;                       /* NULL: not said */
    const char *other_way; /* a setting of the profile that leads to keys in another way */
    const char *fault;     /* static: why s3:// URLs cannot be used; NULL: nothing is wrong */
} cli_aws;

/* Reads the environment and the files that it leads to. */
void cli_aws_read(cli_aws *out);
void cli_aws_free(cli_aws *aws);

#endif
