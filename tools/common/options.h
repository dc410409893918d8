/* The command line: options that all commands share, and a command's own, from one table that is also the
 * help. */
#ifndef PCTI_TOOLS_OPTIONS_H
#define PCTI_TOOLS_OPTIONS_H

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

#include "base/status.h"

/* A long option of one command. */
typedef struct tool_option {
    int key;              /* what `take` gets; from 0 on */
    const char *name;     /* without the dashes */
    const char *argument; /* what the help calls it; NULL: takes none */
    const char *help;     /* may have several lines */
} tool_option;

typedef struct tool_command {
    const char *name;     /* "clpredict", "clbench diff" */
    const char *synopsis; /* what follows the name */
    const char *about;    /* paragraphs */
    const char *examples; /* lines */
    const tool_option *options;
    size_t n_options;
    /* Takes one option of the table. A failure's message gets "--name: " before it. */
    pct_status (*take)(void *cookie, int key, const char *argument);
    bool many_devices; /* --cpu beside --platform or --device means both, instead of an error */
} tool_command;

/* Options that all commands share. */
typedef struct tool_options {
    const char *platform, *device; /* as given; NULL: not given */
    bool cpu, verbose;
    int32_t threads; /* 0: all cores */
    char *force;     /* --impl, joined with commas, for pct_plan_options.force; NULL; owned */
} tool_options;

enum { TOOL_CONTINUE = -1 };

/* Parses the whole command line, in any order of options and operands. Returns TOOL_CONTINUE, or the exit
 * code with which to end: after --help and --version, and after an error, which has been printed. On
 * TOOL_CONTINUE the operands are argv[*first_operand] to the end, and tool_options_free is due. --cpu beside
 * --platform or --device is an error unless the command takes many devices. */
int tool_options_parse(const tool_command *command, int argc, char **argv, tool_options *options, void *cookie,
                       int *first_operand);
void tool_options_free(tool_options *options);

/* Says what is wrong with the command line (the library's message for a failed call is "%s" of
 * pct_error_message()), points to --help, and returns TOOL_USAGE. */
int tool_usage(const tool_command *command, const char *format, ...) PCTI_PRINTF(2, 3);

/* Whole numbers from `low` to `high`; anything else is PCT_ERROR_ARGUMENT with a message that says so. */
pct_status tool_parse_int(const char *text, int64_t low, int64_t high, int64_t *value);
/* The index of `text` in a list that ends with NULL. */
pct_status tool_parse_word(const char *text, const char *const *words, int *index);

#endif
