#include "prof/json.h"

#include <math.h>
#include <string.h>

size_t pcti_utf8_bytes(const char *string) {
    const unsigned char *s = (const unsigned char *)string;
    if (s[0] < 0x80) return s[0] ? 1 : 0;
    size_t bytes = s[0] >= 0xc2 && s[0] < 0xe0   ? 2
                   : s[0] >= 0xe0 && s[0] < 0xf0 ? 3
                   : s[0] >= 0xf0 && s[0] < 0xf5 ? 4
                                                 : 0;
    for (size_t i = 1; i < bytes; i++)
        if ((s[i] & 0xc0) != 0x80) return 0;
    /* Overlong forms, surrogates, beyond U+10FFFF (RFC 3629, section 4). */
    if ((s[0] == 0xe0 && s[1] < 0xa0) || (s[0] == 0xed && s[1] > 0x9f) || (s[0] == 0xf0 && s[1] < 0x90) ||
        (s[0] == 0xf4 && s[1] > 0x8f))
        return 0;
    return bytes;
}

void pcti_text_add_utf8(pcti_text *text, const char *string) {
    while (*string) {
        size_t bytes = pcti_utf8_bytes(string);
        if (bytes)
            pcti_text_add_bytes(text, string, bytes);
        else
            pcti_text_add_bytes(text, "\xef\xbf\xbd", 3);
        string += bytes ? bytes : 1;
    }
}

void pcti_text_add_number(pcti_text *text, double value) {
    if (fabs(value) < 9007199254740992.0 && value == floor(value))
        pcti_text_add(text, "%lld", (long long)value);
    else
        pcti_text_add_double(text, value, 9);
}

static void add_quoted(pcti_text *text, const char *string) {
    pcti_text_add_bytes(text, "\"", 1);
    while (*string) {
        size_t bytes = pcti_utf8_bytes(string);
        unsigned char c = (unsigned char)*string;
        if (c == '"' || c == '\\')
            pcti_text_add(text, "\\%c", c);
        else if (c == '\n')
            pcti_text_add(text, "\\n");
        else if (c == '\t')
            pcti_text_add(text, "\\t");
        else if (c < 0x20 || c == 0x7f)
            pcti_text_add(text, "\\u%04x", c);
        else if (!bytes)
            pcti_text_add_bytes(text, "\xef\xbf\xbd", 3);
        else
            pcti_text_add_bytes(text, string, bytes);
        string += bytes ? bytes : 1;
    }
    pcti_text_add_bytes(text, "\"", 1);
}

static void begin_item(pcti_json *json, const char *name) {
    if (json->comma) pcti_text_add(json->text, json->new_line ? "," : ", ");
    if (json->new_line) pcti_text_add(json->text, "\n");
    json->new_line = false;
    json->comma = true;
    if (!name) return;
    add_quoted(json->text, name);
    pcti_text_add(json->text, ": ");
}

void pcti_json_open(pcti_json *json, const char *name, char bracket) {
    begin_item(json, name);
    pcti_text_add_bytes(json->text, &bracket, 1);
    json->comma = false;
}

void pcti_json_close(pcti_json *json, char bracket) {
    if (json->new_line) pcti_text_add(json->text, "\n");
    json->new_line = false;
    pcti_text_add_bytes(json->text, &bracket, 1);
    json->comma = true;
}

void pcti_json_string(pcti_json *json, const char *name, const char *value) {
    begin_item(json, name);
    if (value)
        add_quoted(json->text, value);
    else
        pcti_text_add(json->text, "null");
}

void pcti_json_number(pcti_json *json, const char *name, double value) {
    begin_item(json, name);
    if (isfinite(value))
        pcti_text_add_number(json->text, value);
    else
        pcti_text_add(json->text, "null");
}

void pcti_json_bool(pcti_json *json, const char *name, bool value) {
    begin_item(json, name);
    pcti_text_add(json->text, value ? "true" : "false");
}

void pcti_json_line(pcti_json *json) {
    json->new_line = true;
}
