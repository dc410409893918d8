#define _GNU_SOURCE
#include "base/text.h"

#include <ctype.h>
#include <errno.h>
#include <locale.h>
#include <math.h>
#include <stdarg.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "base/memory.h"

static bool reserve(pcti_text *text, size_t more)
{
    if (text->failed) return false;
    size_t wanted = text->length + more + 1;
    if (wanted <= text->capacity) return true;
    size_t capacity = text->capacity ? text->capacity : 128;
    while (capacity < wanted) capacity *= 2;
    char *data = pcti_realloc(text->data, capacity, 1);
    if (!data) {
        text->failed = true;
        return false;
    }
    text->data = data;
    text->capacity = capacity;
    return true;
}

void pcti_text_add_bytes(pcti_text *text, const char *bytes, size_t length)
{
    if (!reserve(text, length)) return;
    memcpy(text->data + text->length, bytes, length);
    text->length += length;
    text->data[text->length] = 0;
}

void pcti_text_add(pcti_text *text, const char *format, ...)
{
    va_list args;
    va_start(args, format);
    int length = vsnprintf(NULL, 0, format, args);
    va_end(args);
    if (length < 0 || !reserve(text, (size_t)length)) return;
    va_start(args, format);
    vsnprintf(text->data + text->length, (size_t)length + 1, format, args);
    va_end(args);
    text->length += (size_t)length;
}

void pcti_number_set_point(char *number, const char *point)
{
    char *found = *point ? strstr(number, point) : NULL;
    if (!found) return;
    size_t width = strlen(point);
    *found = '.';
    memmove(found + 1, found + width, strlen(found + width) + 1);
}

void pcti_text_add_double(pcti_text *text, double value, int digits)
{
    char number[64];
    if (isnan(value)) snprintf(number, sizeof number, "nan");
    else if (isinf(value)) snprintf(number, sizeof number, value < 0 ? "-inf" : "inf");
    else snprintf(number, sizeof number, "%.*g", digits, value);
    pcti_number_set_point(number, localeconv()->decimal_point);
    pcti_text_add_bytes(text, number, strlen(number));
}

void pcti_text_free(pcti_text *text)
{
    pcti_free(text->data);
    *text = (pcti_text){0};
}

bool pcti_parse_int(const char *text, int64_t *value)
{
    const char *digits = *text == '-' ? text + 1 : text;
    if (!isdigit((unsigned char)*digits)) return false;
    char *end;
    errno = 0;
    long long parsed = strtoll(text, &end, 10);
    if (errno || *end) return false;
    *value = parsed;
    return true;
}

bool pcti_parse_double(const char *text, double *value)
{
    if (!isdigit((unsigned char)*text) && *text != '-' && *text != '.') return false;
    locale_t c_locale = newlocale(LC_NUMERIC_MASK, "C", (locale_t)0);
    if (!c_locale) return false;
    char *end;
    errno = 0;
    double parsed = strtod_l(text, &end, c_locale);
    freelocale(c_locale);
    if (errno || *end || end == text || !isfinite(parsed)) return false;
    *value = parsed;
    return true;
}
