#define _GNU_SOURCE
#include "options.h"

#include <getopt.h>
#include <stdio.h>
#include <string.h>

#include "base/memory.h"
#include "base/text.h"
#include "op/backend.h"
#include "tool.h"

enum { MAX_THREADS = 1024, HELP_COLUMN = 26 };
/* Keys of the shared options lie above those of any command, and of any character that getopt returns. */
enum { KEY_OWN = 1000, KEY_COMMON = 100000 };
enum { KEY_PLATFORM, KEY_DEVICE, KEY_CPU, KEY_THREADS, KEY_IMPL, KEY_VERBOSE, KEY_HELP, KEY_VERSION };

static const tool_option common_options[] = {
    {KEY_PLATFORM, "platform", "N|NAME", "OpenCL platform: its index or a part of its name"},
    {KEY_DEVICE, "device", "N|NAME",
     "OpenCL device: its index or a part of its name; alone it\nmeans the first platform that has it"},
    {KEY_CPU, "cpu", NULL, "the CPU path, without OpenCL"},
    {KEY_THREADS, "threads", "N", "threads of the CPU path (all cores that the process may use)"},
    {KEY_IMPL, "impl", "OP=NAME", "only this implementation for an operator; may be repeated"},
    {KEY_VERBOSE, "verbose", NULL, "say more, on standard error"},
    {KEY_HELP, "help", NULL, "print this text"},
    {KEY_VERSION, "version", NULL, "print version and commit"},
};
enum { N_COMMON = sizeof common_options / sizeof *common_options };

/* ---- texts ---- */

static void add_option_help(pcti_text *text, const tool_option *option)
{
    size_t start = text->length;
    pcti_text_add(text, "  --%s%s%s", option->name, option->argument ? " " : "",
                  option->argument ? option->argument : "");
    size_t width = text->length - start;
    for (const char *line = option->help; line;) {
        const char *end = strchr(line, '\n');
        if (width + 1 >= HELP_COLUMN) {
            pcti_text_add(text, "\n");
            width = 0;
        }
        pcti_text_add(text, "%*s", (int)(HELP_COLUMN - width), "");
        pcti_text_add_bytes(text, line, end ? (size_t)(end - line) : strlen(line));
        pcti_text_add(text, "\n");
        width = 0;
        line = end ? end + 1 : NULL;
    }
}

static int print_help(const tool_command *command)
{
    pcti_text text = {0};
    pcti_text_add(&text, "usage: %s %s\n\n%s\n\noptions:\n", command->name, command->synopsis, command->about);
    for (size_t i = 0; i < command->n_options; i++) add_option_help(&text, &command->options[i]);
    for (size_t i = 0; i < N_COMMON; i++) add_option_help(&text, &common_options[i]);
    pcti_text_add(&text,
                  "\nexit status: 0 right, 1 wrong result or regression, 2 usage or choice of device,\n"
                  "3 bad input file, 4 device or memory, 130 or 143 interrupted\n\nexamples:\n%s",
                  command->examples);
    if (!text.failed) tool_print(text.data);
    pcti_text_free(&text);
    return text.failed ? tool_fail(PCT_ERROR_MEMORY, TOOL_DEVICE) : TOOL_OK;
}

static int print_version(const tool_command *command)
{
    int name = (int)strcspn(command->name, " "); /* the program, not the sub-command */
    char *line = pcti_format("%.*s %s (commit %s)\n", name, command->name, pct_version(), pct_commit());
    if (!line) return tool_fail(PCT_ERROR_MEMORY, TOOL_DEVICE);
    tool_print(line);
    pcti_free(line);
    return TOOL_OK;
}

static int point_to_help(const tool_command *command)
{
    tool_message("try '%s --help'", command->name);
    return TOOL_USAGE;
}

int tool_usage(const tool_command *command, const char *format, ...)
{
    va_list args;
    va_start(args, format);
    tool_message_list(format, args);
    va_end(args);
    return point_to_help(command);
}

/* ---- values ---- */

pct_status tool_parse_int(const char *text, int64_t low, int64_t high, int64_t *value)
{
    if (pcti_parse_int(text, value) && *value >= low && *value <= high) return PCT_OK;
    *value = 0;
    return pcti_fail(PCT_ERROR_ARGUMENT, "\"%s\" is not a whole number from %lld to %lld", text, (long long)low,
                     (long long)high);
}

pct_status tool_parse_word(const char *text, const char *const *words, int *index)
{
    pcti_text list = {0};
    for (*index = 0; words[*index]; ++*index) {
        if (!strcmp(text, words[*index])) {
            pcti_text_free(&list);
            return PCT_OK;
        }
        pcti_text_add(&list, "%s%s", *index ? ", " : "", words[*index]);
    }
    *index = 0;
    pct_status status =
        pcti_fail(PCT_ERROR_ARGUMENT, "\"%s\" is none of: %s", text, list.failed ? "(out of memory)" : list.data);
    pcti_text_free(&list);
    return status;
}

/* ---- parsing ---- */

static pct_status add_force(tool_options *options, const char *item)
{
    const char *equals = strchr(item, '=');
    if (!equals || equals == item || !equals[1])
        return pcti_fail(PCT_ERROR_ARGUMENT, "\"%s\" is not OP=NAME, such as conv2d=im2col_gemm", item);
    char *joined = pcti_format("%s%s%s", options->force ? options->force : "", options->force ? "," : "", item);
    if (!joined) return PCT_ERROR_MEMORY;
    pcti_free(options->force);
    options->force = joined;
    return PCT_OK;
}

static pct_status take_common(tool_options *options, int key, const char *argument)
{
    int64_t number;
    switch (key) {
    case KEY_PLATFORM:
        options->platform = argument;
        break;
    case KEY_DEVICE:
        options->device = argument;
        break;
    case KEY_CPU:
        options->cpu = true;
        break;
    case KEY_THREADS:
        PCTI_RETURN_IF_FAILED(tool_parse_int(argument, 1, MAX_THREADS, &number));
        options->threads = (int32_t)number;
        break;
    case KEY_IMPL:
        return add_force(options, argument);
    case KEY_VERBOSE:
        options->verbose = true;
        tool_set_verbose(true);
        break;
    }
    return PCT_OK;
}

static struct option *getopt_table(const tool_command *command)
{
    struct option *table = pcti_calloc(command->n_options + N_COMMON + 1, sizeof *table);
    if (!table) return NULL;
    for (size_t i = 0; i < command->n_options + N_COMMON; i++) {
        bool own = i < command->n_options;
        const tool_option *option = own ? &command->options[i] : &common_options[i - command->n_options];
        table[i] = (struct option){.name = option->name,
                                   .has_arg = option->argument ? required_argument : no_argument,
                                   .val = option->key + (own ? KEY_OWN : KEY_COMMON)};
    }
    return table;
}

static int parse(const tool_command *command, int argc, char **argv, const struct option *table,
                 tool_options *options, void *cookie)
{
    int key, at = 0;
    optind = 0; /* GNU: start anew, whatever was parsed before */
    while ((key = getopt_long(argc, argv, "", table, &at)) != -1) {
        if (key == '?') return point_to_help(command); /* getopt has said what is wrong */
        if (key == KEY_COMMON + KEY_HELP) return print_help(command);
        if (key == KEY_COMMON + KEY_VERSION) return print_version(command);
        pct_status status = key >= KEY_COMMON ? take_common(options, key - KEY_COMMON, optarg)
                                              : command->take(cookie, key - KEY_OWN, optarg);
        if (status == PCT_OK) continue;
        if (status == PCT_ERROR_MEMORY) return tool_fail(status, TOOL_DEVICE);
        return tool_usage(command, "--%s: %s", table[at].name, pct_error_message());
    }
    if (!command->many_devices && options->cpu && (options->platform || options->device))
        return tool_usage(command, "--cpu and --%s exclude each other", options->platform ? "platform" : "device");
    return TOOL_CONTINUE;
}

/* ---- --impl names something ---- */

static bool has_impl(const pcti_op *op, const char *name, size_t length)
{
    for (int b = 0; b < pcti_backend_count; b++)
        for (const pcti_impl *impl = pcti_backends[b]->impls(op); impl->name; impl++)
            if (strlen(impl->name) == length && !strncmp(impl->name, name, length)) return true;
    return false;
}

static pct_status check_force(const char *force)
{
    for (const char *item = force; item && *item; item += strcspn(item, ","), item += *item == ',') {
        char op_name[64];
        size_t op_length = strcspn(item, "="), length = strcspn(item + op_length + 1, ",:"); /* without a variant */
        snprintf(op_name, sizeof op_name, "%.*s", (int)op_length, item);
        const pcti_op *op = pcti_op_find(op_name);
        if (!op) return pcti_fail(PCT_ERROR_ARGUMENT, "--impl: no operator \"%s\"; `clbench ops` lists them", op_name);
        if (!has_impl(op, item + op_length + 1, length))
            return pcti_fail(PCT_ERROR_ARGUMENT, "--impl: %s has no implementation \"%.*s\"; `clbench ops` lists them",
                             op_name, (int)length, item + op_length + 1);
    }
    return PCT_OK;
}

int tool_options_parse(const tool_command *command, int argc, char **argv, tool_options *options, void *cookie,
                       int *first_operand)
{
    *options = (tool_options){0};
    struct option *table = getopt_table(command);
    if (!table) return tool_fail(PCT_ERROR_MEMORY, TOOL_DEVICE);
    int code = parse(command, argc, argv, table, options, cookie);
    *first_operand = optind;
    pcti_free(table);
    if (code == TOOL_CONTINUE && check_force(options->force) != PCT_OK) code = tool_usage(command, "%s", pct_error_message());
    if (code != TOOL_CONTINUE) tool_options_free(options);
    return code;
}

void tool_options_free(tool_options *options)
{
    pcti_free(options->force);
    options->force = NULL;
}
