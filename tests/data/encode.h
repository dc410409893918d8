/* Pictures for the tests, made with libjpeg and libpng in memory. */
#ifndef TEST_DATA_ENCODE_H
#define TEST_DATA_ENCODE_H

#include <stddef.h>
#include <stdint.h>

typedef struct blob {
    uint8_t *data; /* free with blob_free */
    size_t bytes;
} blob;

typedef struct jpeg_kind {
    int components; /* 1: gray, 3: RGB as YCbCr, 4: CMYK bytes as they are (with Adobe's marker) */
    int ycck;       /* components = 4 only: stored as YCCK */
    int progressive, arithmetic, restart_rows;
    int separate; /* one scan for each component */
    int quality;  /* 0: 90 */
} jpeg_kind;

/* `pixels`: height rows of width * components bytes. */
blob encode_jpeg(const uint8_t *pixels, int width, int height, const jpeg_kind *kind);
blob encode_png(const uint8_t *rgb, int width, int height);
blob blob_copy(const blob *from);
/* Puts `bytes` in at `at`, or takes them out if data is NULL. */
void blob_insert(blob *b, size_t at, const void *data, size_t bytes);
/* An APP1 segment with one EXIF entry of this tag, type and value, behind the start marker. */
void blob_add_exif(blob *jpeg, int big_endian, int tag, int type, int value);
/* Position of the first segment with this marker (0xC0 ...); fails the test if there is none. */
size_t blob_find_marker(const blob *jpeg, int marker);
void blob_free(blob *b);

/* Pseudo-random bytes, the same as make_pictures.py's. */
void noise(uint8_t *bytes, size_t count);

#endif
