/* A growing text buffer, and numbers written and read alike in every locale. */
#ifndef PCTI_BASE_TEXT_H
#define PCTI_BASE_TEXT_H

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

#include "base/status.h"

/* Zero-initialise. An allocation failure sets `failed`; further calls do nothing, so one check at the end is enough. */
typedef struct pcti_text {
    char *data; /* terminated; NULL while empty */
    size_t length, capacity;
    bool failed;
} pcti_text;

void pcti_text_add(pcti_text *text, const char *format, ...) PCTI_PRINTF(2, 3); /* no floating point: see below */
void pcti_text_add_bytes(pcti_text *text, const char *bytes, size_t length);
/* As %.*g, always with a decimal point; "nan", "inf" and "-inf" spelt so. */
void pcti_text_add_double(pcti_text *text, double value, int digits);
void pcti_text_free(pcti_text *text);
/* Puts "." in place of `point`, the decimal point (of any length) that printf wrote into `number`. */
void pcti_number_set_point(char *number, const char *point);

/* Whole strings only, no spaces, no overflow: "1x", "" and " 1" are false. */
bool pcti_parse_int(const char *text, int64_t *value);
bool pcti_parse_double(const char *text, double *value);

#endif
