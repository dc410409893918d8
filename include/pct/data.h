/* Pictures: JPEG and PNG files to 8-bit RGB, and RGB to a network's input.
 * Every function may be called from several threads at once; one picture is used by one thread at a time. */
#ifndef PCT_DATA_H
#define PCT_DATA_H

#include <stddef.h>
#include <stdint.h>

#include "pct/status.h"

#ifdef __cplusplus
extern "C" {
#endif

/* A decoded picture, upright (its EXIF orientation has been applied). Read-only for the caller. */
typedef struct pct_picture {
    int32_t width, height; /* pixels, both at least 1 */
    uint8_t *rgb;     /* height rows of width pixels of 3 bytes, nothing between rows; owned by the picture */
    int32_t warnings; /* oddities up to the last pixel that cost none: stray bytes, no end marker, ... */
    int32_t orientation; /* the EXIF orientation that was applied, 1..8; 1 = as stored */
} pct_picture;

/* The largest picture accepted unless the options say otherwise: Pillow's limit. */
#define PCT_PICTURE_MAX_PIXELS INT64_C(178956970)

/* Zero-initialise, then set struct_bytes = sizeof(pct_picture_options). 0 in a field means its default. */
typedef struct pct_picture_options {
    size_t struct_bytes;
    int64_t max_pixels;     /* width * height above this are refused before memory is taken */
    int32_t min_short_side; /* a JPEG may be decoded at 1/2, 1/4 or 1/8 as long as its short side keeps this
                             * many pixels (for training); default: full size */
} pct_picture_options;

/* Decodes a JPEG (baseline, progressive; 1, 3 or 4 components) or PNG file; its content decides which, not
 * its name. JPEG as in most frameworks: accurate integer DCT, smooth chroma upsampling; four components are
 * Adobe's inverted CMYK or YCCK, R = C * K / 255. PNG: 16 bits keep the upper 8, alpha and transparency are
 * dropped, gamma and colour profiles are not applied. `options` may be NULL. The caller closes *picture.
 * Errors name the path: PCT_ERROR_NOT_FOUND, PCT_ERROR_IO, and PCT_ERROR_FORMAT for a file that is neither
 * kind, is broken or too large, or ends before its last pixel. A file that lacks only what follows the last
 * pixel (the end marker) is accepted with a warning counted. Progressive files may have up to 100 scans. */
PCT_API pct_status pct_picture_open(const char *path, const pct_picture_options *options,
                                    pct_picture **picture);
/* The same from memory, which is not kept. */
PCT_API pct_status pct_picture_decode(const void *data, size_t bytes, const pct_picture_options *options,
                                      pct_picture **picture);
PCT_API void pct_picture_close(pct_picture *picture); /* NULL allowed */

/* How pixels become a network's input. All presets resize the short side to size * 256 / 224 (truncated) and
 * the long side in proportion (truncated), bilinear with antialiasing exactly as Pillow does, and cut out the
 * central square of `size` at round((length - size) / 2), ties to even. They differ in the values, x being
 * 0..255: torchvision  (x / 255 - mean) / std, mean 0.485 0.456 0.406, std 0.229 0.224 0.225, RGB lite (x -
 * 127) / 128, RGB caffe        x - mean, mean 103.939 116.779 123.68, BGR tf           x / 127.5 - 1, RGB */
typedef struct pct_preset pct_preset;

/* A preset by name; static storage. PCT_ERROR_NOT_FOUND lists the names there are. */
PCT_API pct_status pct_preset_find(const char *name, const pct_preset **preset);

/* Writes 3 planes of size * size floats, each row-major, to `chw`. `size` is 1 to 16384. */
PCT_API pct_status pct_picture_preprocess(const pct_picture *picture, const pct_preset *preset, int32_t size,
                                          float *chw);

/* Paths, in byte order. */
typedef struct pct_picture_paths {
    size_t count;
    char **paths;
} pct_picture_paths;

/* The regular files of a folder (links to them included, sub-folders and names that start with a dot left
 * out), each as folder/name; whatever is not a folder is listed as itself, so that opening it reports what is
 * wrong. The caller frees *list. */
PCT_API pct_status pct_picture_list(const char *path, pct_picture_paths **list);
PCT_API void pct_picture_paths_free(pct_picture_paths *list); /* NULL allowed */

#ifdef __cplusplus
}
#endif
#endif
