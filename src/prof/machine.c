#define _POSIX_C_SOURCE 200809L
#include "prof/machine.h"

#include <ctype.h>
#include <limits.h>
#include <math.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <time.h>

#include "base/text.h"

enum { LINE_BYTES = 8192 }; /* the flags line of a processor is up to 3 KB */

static FILE *open_below_root(const char *path) {
    char full[PATH_MAX];
    const char *root = getenv("PCT_SYSFS_ROOT");
    int length = snprintf(full, sizeof full, "%s%s", root ? root : "", path);
    return length > 0 && (size_t)length < sizeof full ? fopen(full, "r") : NULL;
}

bool pcti_sysfs_read(const char *path, char *buffer, size_t size) {
    FILE *file = open_below_root(path);
    size_t length = file ? fread(buffer, 1, size - 1, file) : 0;
    bool read = file && !ferror(file);
    if (file) fclose(file);
    while (length && isspace((unsigned char)buffer[length - 1])) length--;
    buffer[length] = 0;
    return read;
}

/* For "key<blanks><separator> value": the value without its newline, if `line` has this key. */
static char *value_of(char *line, const char *key, char separator) {
    size_t length = strlen(key);
    if (strncmp(line, key, length)) return NULL;
    line += length;
    while (*line == ' ' || *line == '\t') line++;
    if (*line != separator) return NULL;
    line++;
    while (*line == ' ' || *line == '\t') line++;
    line[strcspn(line, "\n")] = 0;
    return line;
}

static bool has_word(const char *words, const char *word) {
    size_t length = strlen(word);
    for (const char *at = words; (at = strstr(at, word)); at += length)
        if ((at == words || at[-1] == ' ') && (!at[length] || at[length] == ' ')) return true;
    return false;
}

static void find_isa(const char *flags, char *isa, size_t size) {
    static const char *const known[] = {
        "sse4_2",   "avx",      "f16c",        "avx2",        "fma",         "avx_vnni", "avx512f",
        "avx512bw", "avx512vl", "avx512_vnni", "avx512_bf16", "avx512_fp16", "amx_bf16", "amx_int8",
        "asimd",    "asimdhp",  "asimddp",     "sve",         "sve2",        "bf16",     "i8mm"};
    size_t used = 0;
    for (size_t i = 0; i < sizeof known / sizeof *known; i++)
        if (has_word(flags, known[i]) && used < size)
            used += (size_t)snprintf(isa + used, size - used, "%s%s", used ? " " : "", known[i]);
}

static void read_cpuinfo(pcti_machine *machine) {
    static const char *const names[] = {"model name", "Model", "cpu model",
                                        "uarch"}; /* x86, arm, mips, riscv */
    FILE *file = open_below_root("/proc/cpuinfo");
    if (!file) return;
    char line[LINE_BYTES], *value;
    while (fgets(line, sizeof line, file)) {
        if (value_of(line, "processor", ':')) machine->logical_cores++;
        if (!machine->isa[0] &&
            ((value = value_of(line, "flags", ':')) || (value = value_of(line, "Features", ':'))))
            find_isa(value, machine->isa, sizeof machine->isa);
        for (size_t i = 0; i < sizeof names / sizeof *names && !machine->cpu[0]; i++)
            if ((value = value_of(line, names[i], ':')))
                snprintf(machine->cpu, sizeof machine->cpu, "%.127s", value);
    }
    fclose(file);
}

static void read_memory(pcti_machine *machine) {
    FILE *file = open_below_root("/proc/meminfo");
    if (!file) return;
    char line[LINE_BYTES], *value;
    while (fgets(line, sizeof line, file))
        if ((value = value_of(line, "MemTotal", ':')))
            machine->memory_bytes = (double)strtoull(value, NULL, 10) * 1024;
    fclose(file);
}

static void read_os(pcti_machine *machine) {
    pcti_sysfs_read("/proc/sys/kernel/osrelease", machine->kernel, sizeof machine->kernel);
    FILE *file = open_below_root("/etc/os-release");
    if (!file) return;
    char line[LINE_BYTES], *value;
    while (fgets(line, sizeof line, file)) {
        if (!(value = value_of(line, "PRETTY_NAME", '='))) continue;
        if (*value == '"' || *value == '\'') value++;
        value[strcspn(value, "\"'")] = 0;
        snprintf(machine->os, sizeof machine->os, "%.127s", value);
    }
    fclose(file);
}

static void read_load(pcti_machine *machine) {
    char text[128];
    for (int i = 0; i < 3; i++) machine->load_average[i] = NAN;
    if (!pcti_sysfs_read("/proc/loadavg", text, sizeof text)) return;
    char *next = text;
    for (int i = 0; i < 3; i++) {
        size_t length = strcspn(next, " ");
        bool last = !next[length];
        next[length] = 0;
        if (!pcti_parse_double(next, &machine->load_average[i])) return;
        if (last) return;
        next += length + 1;
    }
}

void pcti_machine_describe(pcti_machine *machine) {
    *machine = (pcti_machine){.logical_cores = 0};
    read_cpuinfo(machine);
    read_memory(machine);
    read_os(machine);
    read_load(machine);
#if defined(__clang__)
    snprintf(machine->compiler, sizeof machine->compiler, "clang %d.%d.%d", __clang_major__, __clang_minor__,
             __clang_patchlevel__);
#elif defined(__GNUC__)
    snprintf(machine->compiler, sizeof machine->compiler, "gcc %d.%d.%d", __GNUC__, __GNUC_MINOR__,
             __GNUC_PATCHLEVEL__);
#endif
    const char *coretype = getenv("OPENBLAS_CORETYPE");
    if (coretype) snprintf(machine->openblas_coretype, sizeof machine->openblas_coretype, "%s", coretype);
    time_t now = time(NULL);
    struct tm utc;
    if (gmtime_r(&now, &utc))
        strftime(machine->date_utc, sizeof machine->date_utc, "%Y-%m-%dT%H:%M:%SZ", &utc);
}
