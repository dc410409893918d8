#define _DEFAULT_SOURCE
#include "progress.h"

#include <stdlib.h>
#include <string.h>
#include <sys/ioctl.h>
#include <unistd.h>

#include "base/clock.h"

enum { LINE_BYTES = 512, DEFAULT_WIDTH = 80 };
static const uint64_t INTERVAL_NS = 100000000;

void progress_begin(progress *line, FILE *stream, const char *what, size_t total) {
    const char *type = getenv("TERM");
    *line = (progress){.stream = stream, .what = what, .total = total};
    line->terminal = isatty(fileno(stream)) && !(type && !strcmp(type, "dumb"));
}

static size_t width_of(FILE *stream) {
    struct winsize size;
    return !ioctl(fileno(stream), TIOCGWINSZ, &size) && size.ws_col > 1 ? size.ws_col - 1u
                                                                        : DEFAULT_WIDTH - 1;
}

void progress_update(progress *line, size_t done, const char *detail) {
    line->done = done;
    if (!line->terminal) return;
    uint64_t now = pcti_clock_ns();
    if (line->shown_ns && now - line->shown_ns < INTERVAL_NS && done != line->total) return;
    char text[LINE_BYTES];
    if (line->total)
        snprintf(text, sizeof text, "%s %zu/%zu (%zu %%)%s%s", line->what, done, line->total,
                 done * 100 / line->total, detail ? " " : "", detail ? detail : "");
    else
        snprintf(text, sizeof text, "%s %zu%s%s", line->what, done, detail ? " " : "", detail ? detail : "");
    size_t length = strlen(text), width = width_of(line->stream);
    if (length > width) length = width;
    while (length && ((unsigned char)text[length] & 0xc0) == 0x80) length--; /* never half a character */
    fprintf(line->stream, "\r%.*s\033[K", (int)length, text);
    fflush(line->stream);
    line->shown_ns = now;
}

void progress_clear(progress *line) {
    if (!line->terminal || !line->shown_ns) return;
    fputs("\r\033[K", line->stream);
    fflush(line->stream);
    line->shown_ns = 0;
}
