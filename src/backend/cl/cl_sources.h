/* The kernel sources of the folder cl/, embedded at build time. */
#ifndef PCTI_BACKEND_CL_SOURCES_H
#define PCTI_BACKEND_CL_SOURCES_H

#include <stddef.h>

typedef struct pcti_cl_source {
    const char *name; /* file name in cl/ */
    const char *text; /* terminated */
    size_t bytes;     /* without the terminator */
} pcti_cl_source;

extern const pcti_cl_source pcti_cl_sources[];
extern const size_t pcti_cl_n_sources;

#endif
