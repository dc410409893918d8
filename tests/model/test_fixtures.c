/* Whole networks with synthetic weights on the reference backend, against logits of PyTorch. */
#include "base/compare.h"
#include "model_test.h"

#include <math.h>
#include <stdio.h>
#include <stdlib.h>
#include <unistd.h>

#include "pct/weights.h"

#define FIXTURES PCT_SHARED_DIR "/fixtures/inference_synthetic.safetensors"

/* Pictures `count` of the fixture's `batch`, from the first one on. */
static void check_fixture(const char *name, int size, int batch, int count)
{
    enum { CLASSES = 1000 };
    char tensor[128];
    pct_weights *file;
    size_t index, elems = (size_t)(3 * size * size);
    if (access(FIXTURES, R_OK)) {
        print_message("skipped: %s is not there\n", FIXTURES);
        skip();
    }
    float *input = malloc((size_t)count * elems * sizeof *input);
    float *wanted = malloc((size_t)count * CLASSES * sizeof *wanted),
          *logits = malloc((size_t)count * CLASSES * sizeof *logits);
    assert_true(input && wanted && logits);
    snprintf(tensor, sizeof tensor, "%s.%dx%d.n%d.logits", name, size, size, batch);
    check_ok(pct_weights_open(FIXTURES, &file));
    check_ok(pct_weights_find(file, tensor, &index));
    check_ok(pct_weights_read_f32(file, index, 0, count * CLASSES, wanted));
    pct_weights_close(file);
    pct_synthetic_fill("input", 1, 0, (int64_t)((size_t)count * elems), input);

    pct_model *model = make_model(name, 0, size, size);
    check_ok(pct_model_load_synthetic(model));
    run_on_ref(pct_model_graph(model), count, input, logits);
    pct_model_destroy(model);

    double largest = 0, error = 0;
    for (int i = 0; i < count * CLASSES; i++) {
        largest = fmax(largest, fabs((double)wanted[i]));
        error = fmax(error, pcti_difference((double)logits[i], (double)wanted[i]));
    }
    print_message("%s: max |difference| %.2e of max |logit| %.4g\n", tensor, error / largest, largest);
    if (!(error <= 2e-5 * largest)) fail_msg("%s: max |difference| %g, max |logit| %g", tensor, error, largest);
    free(input);
    free(wanted);
    free(logits);
}

static void test_densenet121(void **state)
{
    check_fixture("densenet121", 65, 3, 3);
}
static void test_vgg16(void **state)
{
    check_fixture("vgg16", 64, 3, 1);
}

int main(void)
{
    const struct CMUnitTest tests[] = {cmocka_unit_test(test_densenet121), cmocka_unit_test(test_vgg16)};
    return cmocka_run_group_tests(tests, NULL, NULL);
}
