/* The decoders behind pct_picture_open. */
#ifndef PCTI_DATA_DECODE_H
#define PCTI_DATA_DECODE_H

#include <stdbool.h>

#include "base/status.h"
#include "pct/data.h"

/* Both fill a zeroed picture as stored and note its orientation without applying it. After a failure the
 * picture may hold pixels; the caller frees them. Nothing else is left behind. Messages do not name the file.
 */
pct_status pcti_jpeg_decode(const uint8_t *data, size_t bytes, const pct_picture_options *options,
                            pct_picture *picture);
pct_status pcti_png_decode(const uint8_t *data, size_t bytes, const pct_picture_options *options,
                           pct_picture *picture);

/* Refuses more pixels than the options allow, before memory is taken for them. */
pct_status pcti_picture_check_size(uint32_t width, uint32_t height, const pct_picture_options *options);
/* Takes memory for the picture's pixels, contents undefined. */
pct_status pcti_picture_allocate(pct_picture *picture, uint32_t width, uint32_t height);

/* The orientation tag (0x0112) in the first directory of an EXIF block, which starts with its TIFF header
 * ("II*\0" or "MM\0*"): 1..8, or 1 if the block is broken or has no such tag. Source: TIFF 6.0 section 2,
 * EXIF 2.3 4.6.4. */
int pcti_exif_orientation(const uint8_t *tiff, size_t bytes);

/* Copies pixels as stored into upright ones. width, height: as stored; orientations 5..8 swap them in
 * `upright`. */
void pcti_orient(const uint8_t *stored, int32_t width, int32_t height, int orientation, uint8_t *upright);

#endif
