#include <stdlib.h>
#include <string.h>

#include "base/file.h"
#include "base/memory.h"
#include "data/decode.h"

pct_status pcti_picture_check_size(uint32_t width, uint32_t height, const pct_picture_options *options) {
    uint64_t pixels = (uint64_t)width * height;
    if (!pixels || width > INT32_MAX || height > INT32_MAX)
        return pcti_fail(PCT_ERROR_FORMAT, "impossible size %ux%u", width, height);
    if (pixels > (uint64_t)options->max_pixels)
        return pcti_fail(PCT_ERROR_FORMAT, "%ux%u = %llu pixels exceed the limit of %lld", width, height,
                         (unsigned long long)pixels, (long long)options->max_pixels);
    return PCT_OK;
}

pct_status pcti_picture_allocate(pct_picture *picture, uint32_t width, uint32_t height) {
    size_t bytes;
    if (!pcti_mul_size(width, height, &bytes) || !pcti_mul_size(bytes, 3, &bytes))
        return pcti_fail(PCT_ERROR_MEMORY, "size overflow: %ux%u pixels", width, height);
    if (!(picture->rgb = pcti_alloc_aligned(bytes))) return PCT_ERROR_MEMORY;
    picture->width = (int32_t)width;
    picture->height = (int32_t)height;
    return PCT_OK;
}

static pct_status make_upright(pct_picture *picture) {
    if (picture->orientation == 1) return PCT_OK;
    pct_picture upright = *picture;
    bool swapped = picture->orientation >= 5;
    PCTI_RETURN_IF_FAILED(pcti_picture_allocate(&upright,
                                                (uint32_t)(swapped ? picture->height : picture->width),
                                                (uint32_t)(swapped ? picture->width : picture->height)));
    pcti_orient(picture->rgb, picture->width, picture->height, picture->orientation, upright.rgb);
    pcti_free_aligned(picture->rgb);
    *picture = upright;
    return PCT_OK;
}

static pct_status check_options(const pct_picture_options *given, pct_picture_options *options) {
    *options = (pct_picture_options){.struct_bytes = sizeof *options};
    if (given) {
        if (given->struct_bytes < sizeof given->struct_bytes || given->struct_bytes > sizeof *given)
            return pcti_fail(PCT_ERROR_ARGUMENT, "picture options: struct_bytes is %zu, at most %zu is known",
                             given->struct_bytes, sizeof *given);
        memcpy(options, given, given->struct_bytes);
    }
    if (options->max_pixels < 0 || options->min_short_side < 0)
        return pcti_fail(PCT_ERROR_ARGUMENT,
                         "picture options: max_pixels and min_short_side must not be negative");
    if (!options->max_pixels) options->max_pixels = PCT_PICTURE_MAX_PIXELS;
    return PCT_OK;
}

pct_status pct_picture_decode(const void *data, size_t bytes, const pct_picture_options *given,
                              pct_picture **out) {
    static const uint8_t jpeg_start[] = {0xFF, 0xD8, 0xFF};
    static const uint8_t png_start[] = {0x89, 'P', 'N', 'G', '\r', '\n', 0x1A, '\n'};
    pct_picture_options options;
    pct_status status;
    *out = NULL;
    PCTI_RETURN_IF_FAILED(check_options(given, &options));
    if (!bytes) return pcti_fail(PCT_ERROR_FORMAT, "0 bytes, no picture");
    pct_picture *picture = pcti_calloc(1, sizeof *picture);
    if (!picture) return PCT_ERROR_MEMORY;
    picture->orientation = 1;
    if (bytes >= sizeof jpeg_start && !memcmp(data, jpeg_start, sizeof jpeg_start))
        status = pcti_jpeg_decode(data, bytes, &options, picture);
    else if (bytes >= sizeof png_start && !memcmp(data, png_start, sizeof png_start))
        status = pcti_png_decode(data, bytes, &options, picture);
    else
        status = pcti_fail(PCT_ERROR_FORMAT, "neither JPEG nor PNG by its first bytes");
    if (status == PCT_OK) status = make_upright(picture);
    if (status != PCT_OK) {
        pct_picture_close(picture);
        return status;
    }
    *out = picture;
    return PCT_OK;
}

pct_status pct_picture_open(const char *path, const pct_picture_options *options, pct_picture **picture) {
    pcti_file file;
    *picture = NULL;
    PCTI_RETURN_IF_FAILED(pcti_file_map(path, &file));
    pct_status status = pct_picture_decode(file.data, file.bytes, options, picture);
    if (status != PCT_OK) pcti_fail_in(status, "%s", path);
    pcti_file_unmap(&file);
    return status;
}

void pct_picture_close(pct_picture *picture) {
    if (!picture) return;
    pcti_free_aligned(picture->rgb);
    pcti_free(picture);
}
