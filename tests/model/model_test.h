/* What the model tests share: models made and run on the reference backend. */
#ifndef MODEL_TEST_H
#define MODEL_TEST_H

#include <setjmp.h>
#include <stdarg.h>
#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

#include <cmocka.h>

#include "pct/model.h"

/* Fails the test with the library's message unless `status` is PCT_OK. */
void check_ok(pct_status status);
/* Fails unless the last error's message holds `part`. */
void check_message(const char *part);

pct_model *make_model(const char *name, int classes, int height, int width);

/* Elements [first, first + count) of a parameter; false if there is none of that name. */
bool read_parameter(const pct_model *model, const char *name, int64_t first, int64_t count, float *dst);

/* Runs a graph of one input and one output. */
void run_on_ref(const pct_graph *graph, int64_t batch, const float *input, float *output);

#endif
