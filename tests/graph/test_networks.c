/* Whole networks with synthetic weights on every device there is, against logits that PyTorch computed. */
#include <math.h>
#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include <cmocka.h>

#include "base/compare.h"
#include "base/memory.h"
#include "pct/graph.h"
#include "pct/model.h"
#include "pct/weights.h"

#define CHECK(expression)                                                                                            \
    do {                                                                                                             \
        if ((expression) != PCT_OK) fail_msg("%s: %s", #expression, pct_error_message());                           \
    } while (0)

typedef struct network { const char *name; int size, batch; } network;
static const network networks[] = {{"vgg16", 64, 3},        {"densenet121", 65, 3}, {"densenet121", 224, 2},
                                   {"mobilenet_v2", 224, 2}, {"resnet50", 224, 1},   {"vgg16", 224, 1}};
enum { CLASSES = 1000 };

/* Logits of the synthetic picture; the caller frees them with pcti_free. */
static float *logits_of(pct_device *device, const network *n, bool low_memory)
{
    pct_model *model;
    pct_plan *plan;
    pct_model_options options = {.struct_bytes = sizeof options, .height = n->size, .width = n->size};
    pct_plan_options plan_options = {.struct_bytes = sizeof plan_options, .symbols = {n->batch}, .low_memory = low_memory};
    int64_t elems = (int64_t)n->batch * 3 * n->size * n->size, logits = (int64_t)n->batch * CLASSES;
    float *input = pcti_calloc((size_t)elems, sizeof *input), *got = pcti_calloc((size_t)logits, sizeof *got);
    CHECK(pct_model_create(n->name, &options, &model));
    CHECK(pct_model_load_synthetic(model));
    CHECK(pct_plan_create(device, pct_model_graph(model), &plan_options, &plan));
    pct_synthetic_fill("input", 1, 0, elems, input);
    CHECK(pct_plan_run(plan, (const void *[]){input}, (void *[]){got}, NULL));
    pct_plan_destroy(plan);
    pct_model_destroy(model);
    pcti_free(input);
    return got;
}

/* max |difference| over max |logit| */
static double difference(pct_device *device, const network *n, const float *want, bool low_memory)
{
    double largest = 0, worst = 0;
    float *got = logits_of(device, n, low_memory);
    for (int64_t i = 0; i < (int64_t)n->batch * CLASSES; i++) {
        worst = fmax(worst, pcti_difference((double)got[i], (double)want[i]));
        largest = fmax(largest, fabs((double)want[i]));
    }
    pcti_free(got);
    return worst / largest;
}

static void check_device(const pct_device_options *options, const pct_weights *fixtures)
{
    pct_device *device;
    CHECK(pct_device_open(options, &device));
    const pct_device_info *info = pct_device_get_info(device);
    for (size_t i = 0; i < sizeof networks / sizeof *networks; i++) {
        const network *n = &networks[i];
        char key[128];
        size_t index;
        float *want = pcti_calloc((size_t)n->batch * CLASSES, sizeof *want);
        snprintf(key, sizeof key, "%s.%dx%d.n%d.logits", n->name, n->size, n->size, n->batch);
        CHECK(pct_weights_find(fixtures, key, &index));
        CHECK(pct_weights_read_f32(fixtures, index, 0, (int64_t)n->batch * CLASSES, want));
        for (int low_memory = 0; low_memory < (n->size < 224 ? 2 : 1); low_memory++) {
            double off = difference(device, n, want, low_memory);
            printf("%s %s: %s off by %.2g of the largest logit%s\n", info->backend, info->device, key, off, low_memory ? " (low memory)" : "");
            if (!(off <= 2e-5)) fail_msg("%s on %s: %g", key, info->device, off);
        }
        pcti_free(want);
    }
    pct_device_close(device);
}

static void fixtures_are_reproduced(void **state)
{
    pct_weights *fixtures;
    pct_device_list *list;
    if (pct_weights_open(PCT_SHARED_DIR "/fixtures/inference_synthetic.safetensors", &fixtures) != PCT_OK) {
        printf("skipped: %s\n", pct_error_message());
        skip();
    }
    pct_device_options options = {.struct_bytes = sizeof options, .backend = "cpu"};
    check_device(&options, fixtures);
    CHECK(pct_device_list_create(&list));
    for (int i = 0; i < pct_device_list_count(list); i++) {
        char platform[16], device[16];
        snprintf(platform, sizeof platform, "%d", (int)pct_device_list_get(list, i)->platform_index);
        snprintf(device, sizeof device, "%d", (int)pct_device_list_get(list, i)->device_index);
        options = (pct_device_options){.struct_bytes = sizeof options, .backend = "opencl", .platform = platform, .device = device};
        check_device(&options, fixtures);
    }
    pct_device_list_destroy(list);
    pct_weights_close(fixtures);
}

/* Shares are by output only, so the bits must not depend on how many there are; more threads than cores or rows included. */
static void bits_do_not_depend_on_threads(void **state)
{
    static const network small[] = {{"vgg11_bn", 32, 1}, {"densenet121", 65, 2}, {"resnet18", 49, 1}, {"mobilenet_v2", 33, 3}};
    static const int threads[] = {1, 2, 3, 5, 16, 64};
    for (size_t n = 0; n < sizeof small / sizeof *small; n++) {
        float *first = NULL;
        for (size_t t = 0; t < sizeof threads / sizeof *threads; t++) {
            pct_device *device;
            pct_device_options options = {.struct_bytes = sizeof options, .backend = "cpu", .threads = threads[t]};
            CHECK(pct_device_open(&options, &device));
            float *logits = logits_of(device, &small[n], false);
            if (first && memcmp(first, logits, (size_t)small[n].batch * CLASSES * sizeof *logits))
                fail_msg("%s: other bits with %d threads", small[n].name, threads[t]);
            if (first) pcti_free(logits);
            else first = logits;
            pct_device_close(device);
        }
        pcti_free(first);
    }
}

int main(void)
{
    const struct CMUnitTest tests[] = {cmocka_unit_test(bits_do_not_depend_on_threads), cmocka_unit_test(fixtures_are_reproduced)};
    return cmocka_run_group_tests(tests, NULL, NULL);
}
