#include "import_test.h"

#include <stdio.h>
#include <stdlib.h>

pct_status open_bytes(const void *bytes, size_t count, pct_weights *weights)
{
    *weights = (pct_weights){0};
    weights->file.path = (char *)(uintptr_t) "memory";
    weights->file.bytes = count;
    if (count) {
        unsigned char *copy = malloc(count);
        assert_non_null(copy);
        memcpy(copy, bytes, count);
        weights->file.data = copy;
    }
    return pcti_weights_parse(weights);
}

void close_bytes(pct_weights *weights)
{
    pcti_weights_clear(weights);
    free((void *)(uintptr_t)weights->file.data);
}

static void data_path(const char *name, char path[1024])
{
    snprintf(path, 1024, "%s/tests/import/data/%s", PCT_SOURCE_DIR, name);
}

pct_weights *open_data(const char *name)
{
    char path[1024];
    pct_weights *weights;
    data_path(name, path);
    if (pct_weights_open(path, &weights) != PCT_OK) fail_msg("%s", pct_error_message());
    return weights;
}

unsigned char *load_data(const char *name, size_t *count)
{
    char path[1024];
    pcti_file file;
    data_path(name, path);
    if (pcti_file_map(path, &file) != PCT_OK) fail_msg("%s", pct_error_message());
    unsigned char *bytes = malloc(file.bytes);
    assert_non_null(bytes);
    memcpy(bytes, file.data, file.bytes);
    *count = file.bytes;
    pcti_file_unmap(&file);
    return bytes;
}

void check_tensor(const pct_weights *weights, const char *name, pct_dtype dtype, int rank, const int64_t *dims,
                  const float *values)
{
    enum { MOST = 256 };
    size_t index;
    pct_shape shape;
    float read[MOST];
    int64_t elems = 1;
    if (pct_weights_find(weights, name, &index) != PCT_OK) fail_msg("%s", pct_error_message());
    assert_int_equal(pct_weights_shape(weights, index, &shape), PCT_OK);
    assert_int_equal(shape.dtype, dtype);
    assert_int_equal(shape.rank, rank);
    for (int d = 0; d < rank; d++) {
        assert_int_equal(shape.dims[d], dims[d]);
        elems *= dims[d];
    }
    assert_in_range(elems, 0, MOST);
    assert_int_equal(pct_weights_read_f32(weights, index, 0, elems, read), PCT_OK);
    for (int64_t i = 0; i < elems; i++)
        if (read[i] != values[i]) fail_msg("%s[%d] is %g, not %g", name, (int)i, (double)read[i], (double)values[i]);
    for (int64_t first = 0, piece = 1; first < elems; first += piece, piece++) {
        int64_t count = piece < elems - first ? piece : elems - first;
        assert_int_equal(pct_weights_read_f32(weights, index, first, count, read), PCT_OK);
        assert_memory_equal(read, values + first, (size_t)count * sizeof *read);
    }
    assert_int_equal(pct_weights_read_f32(weights, index, 0, elems + 1, read), PCT_ERROR_ARGUMENT);
    assert_int_equal(pct_weights_read_f32(weights, index, -1, 1, read), PCT_ERROR_ARGUMENT);
    assert_int_equal(pct_weights_read_f32(weights, index, INT64_MAX, INT64_MAX, read), PCT_ERROR_ARGUMENT);
    const float *pointer = pct_weights_pointer(weights, index);
    if (pointer) assert_memory_equal(pointer, values, (size_t)elems * sizeof *values);
}

void check_message(const char *part)
{
    if (!strstr(pct_error_message(), part)) fail_msg("'%s' is not in '%s'", part, pct_error_message());
}
