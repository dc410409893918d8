/* A small JSON writer: strict, locale-independent, never nan or inf. Reading is cJSON's. */
#ifndef PCTI_PROF_JSON_H
#define PCTI_PROF_JSON_H

#include <stdbool.h>
#include <stdint.h>

#include "base/text.h"

/* Zero-initialise with `text` set. Every call takes the member's name, NULL inside arrays and at the top. */
typedef struct pcti_json {
    pcti_text *text;
    bool comma;    /* the next item needs one before it */
    bool new_line; /* the next item starts a line */
} pcti_json;

void pcti_json_open(pcti_json *json, const char *name, char bracket);        /* '{' or '[' */
void pcti_json_close(pcti_json *json, char bracket);                         /* '}' or ']' */
void pcti_json_string(pcti_json *json, const char *name, const char *value); /* NULL: null */
/* Not finite: null. Integers below 2^53 are exact, everything else has 9 significant digits. */
void pcti_json_number(pcti_json *json, const char *name, double value);
void pcti_json_bool(pcti_json *json, const char *name, bool value);
void pcti_json_line(pcti_json *json); /* the next item, or closing bracket, starts a new line */

/* The number as pcti_json_number writes it. Finite only. */
void pcti_text_add_number(pcti_text *text, double value);
/* Valid UTF-8: each byte that belongs to no valid sequence becomes U+FFFD. */
void pcti_text_add_utf8(pcti_text *text, const char *string);
/* Bytes of the valid UTF-8 sequence at `string`: 1 to 4, or 0. */
size_t pcti_utf8_bytes(const char *string);

#endif
