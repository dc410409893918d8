/* The machine that a measurement ran on. */
#ifndef PCTI_PROF_MACHINE_H
#define PCTI_PROF_MACHINE_H

#include <stdbool.h>
#include <stddef.h>

/* A plain value. Empty texts and 0 are unknown. */
typedef struct pcti_machine {
    char cpu[128];
    int logical_cores;
    char isa[256];       /* "avx2 fma avx512f": what matters to the kernels, in a fixed order */
    double memory_bytes; /* installed */
    char os[128];        /* distribution and version */
    char kernel[128];
    char compiler[128];         /* that built this library */
    char openblas_coretype[64]; /* the environment's OPENBLAS_CORETYPE: it can halve OpenBLAS's speed */
    double load_average[3];     /* 1, 5 and 15 minutes; NaN unknown */
    char date_utc[32];          /* "2024-05-31T12:00:00Z" */
} pcti_machine;

/* Reads /proc and /etc/os-release below PCT_SYSFS_ROOT (default: the root). What cannot be read stays
 * unknown. */
void pcti_machine_describe(pcti_machine *machine);

/* The file's first bytes, up to size - 1, trailing white space cut off; false (and "") if it cannot be read.
 * The path is taken below PCT_SYSFS_ROOT. */
bool pcti_sysfs_read(const char *path, char *buffer, size_t size);

#endif
