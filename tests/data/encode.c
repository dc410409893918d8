#include <setjmp.h>
#include <stdarg.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include <cmocka.h>
#include <jpeglib.h>
#include <png.h>

#include "encode.h"

static void one_scan_per_component(struct jpeg_compress_struct *codec, jpeg_scan_info *scans) {
    for (int i = 0; i < codec->num_components; i++)
        scans[i] = (jpeg_scan_info){.comps_in_scan = 1, .component_index = {i}, .Se = DCTSIZE2 - 1};
    codec->scan_info = scans;
    codec->num_scans = codec->num_components;
}

blob encode_jpeg(const uint8_t *pixels, int width, int height, const jpeg_kind *kind) {
    struct jpeg_compress_struct codec;
    struct jpeg_error_mgr errors;
    jpeg_scan_info scans[4];
    unsigned char *data = NULL;
    unsigned long bytes = 0;
    codec.err = jpeg_std_error(&errors);
    jpeg_create_compress(&codec);
    jpeg_mem_dest(&codec, &data, &bytes);
    codec.image_width = (JDIMENSION)width;
    codec.image_height = (JDIMENSION)height;
    codec.input_components = kind->components;
    codec.in_color_space = kind->components == 1 ? JCS_GRAYSCALE : kind->components == 3 ? JCS_RGB : JCS_CMYK;
    jpeg_set_defaults(&codec);
    if (kind->ycck) jpeg_set_colorspace(&codec, JCS_YCCK);
    jpeg_set_quality(&codec, kind->quality ? kind->quality : 90, TRUE);
    if (kind->progressive) jpeg_simple_progression(&codec);
    if (kind->separate) one_scan_per_component(&codec, scans);
    codec.arith_code = (boolean)kind->arithmetic;
    codec.restart_in_rows = kind->restart_rows;
    jpeg_start_compress(&codec, TRUE);
    while (codec.next_scanline < codec.image_height) {
        JSAMPROW row =
            (JSAMPROW)(uintptr_t)pixels + (size_t)codec.next_scanline * (size_t)(width * kind->components);
        jpeg_write_scanlines(&codec, &row, 1);
    }
    jpeg_finish_compress(&codec);
    jpeg_destroy_compress(&codec);
    return (blob){data, bytes};
}

blob encode_png(const uint8_t *rgb, int width, int height) {
    png_image image = {.version = PNG_IMAGE_VERSION,
                       .width = (png_uint_32)width,
                       .height = (png_uint_32)height,
                       .format = PNG_FORMAT_RGB};
    png_alloc_size_t bytes;
    assert_true(png_image_write_get_memory_size(image, bytes, 0, rgb, 0, NULL));
    blob b = {malloc(bytes), bytes};
    assert_non_null(b.data);
    assert_true(png_image_write_to_memory(&image, b.data, &bytes, 0, rgb, 0, NULL));
    b.bytes = bytes;
    return b;
}

blob blob_copy(const blob *from) {
    blob b = {malloc(from->bytes), from->bytes};
    assert_non_null(b.data);
    memcpy(b.data, from->data, from->bytes);
    return b;
}

void blob_insert(blob *b, size_t at, const void *data, size_t bytes) {
    if (!data) {
        memmove(b->data + at, b->data + at + bytes, b->bytes - at - bytes);
        b->bytes -= bytes;
        return;
    }
    b->data = realloc(b->data, b->bytes + bytes);
    assert_non_null(b->data);
    memmove(b->data + at + bytes, b->data + at, b->bytes - at);
    memcpy(b->data + at, data, bytes);
    b->bytes += bytes;
}

void blob_add_exif(blob *jpeg, int big_endian, int tag, int type, int value) {
    enum { TIFF = 10, BYTES = TIFF + 26 };
    uint8_t segment[BYTES] = {0xFF, 0xE1, 0, BYTES - 2, 'E', 'x', 'i', 'f'}, *tiff = segment + TIFF;
    const struct { int at, value; } fields[] = {{2, 42}, {8, 1}, {10, tag}, {12, type}, {18, value}};
    memcpy(tiff, big_endian ? "MM" : "II", 2);
    for (size_t i = 0; i < sizeof fields / sizeof fields[0]; i++) {
        tiff[fields[i].at + !big_endian] = (uint8_t)(fields[i].value >> 8);
        tiff[fields[i].at + big_endian] = (uint8_t)fields[i].value;
    }
    tiff[big_endian ? 7 : 4] = 8;   /* offset of the directory */
    tiff[big_endian ? 17 : 14] = 1; /* count */
    blob_insert(jpeg, 2, segment, BYTES);
}

size_t blob_find_marker(const blob *jpeg, int marker) {
    size_t at = 2;
    while (at + 4 <= jpeg->bytes && jpeg->data[at] == 0xFF) {
        if (jpeg->data[at + 1] == marker) return at;
        at += 2 + (size_t)(jpeg->data[at + 2] << 8 | jpeg->data[at + 3]);
    }
    fail_msg("no marker %#x", (unsigned)marker);
    return 0;
}

void blob_free(blob *b) {
    free(b->data);
    *b = (blob){0};
}

void noise(uint8_t *bytes, size_t count) {
    uint32_t x = 1;
    for (size_t i = 0; i < count; i++) {
        x = x * 1664525u + 1013904223u;
        bytes[i] = (uint8_t)(x >> 24);
    }
}
