/* clpredict as a program: its command line, the choice of a device, lost output, signals. */
#include "run_tool.h"

#include <fcntl.h>
#include <signal.h>
#include <unistd.h>

#include "pct/device.h"

/* A network that is planned and run in milliseconds. */
#define SMALL "--model squeezenet1_1 --weights synthetic --size 32 --repeat 1 "
#define NO_OPENCL "OCL_ICD_VENDORS=/nonexistent "

static const char *picture(void)
{
    return in_scratch("pictures/rgb.png");
}

static int set_up(void **state)
{
    if (make_scratch(state)) return -1;
    return symlink(PCT_SOURCE_DIR "/tests/data/files", in_scratch("pictures"));
}

static void test_help_and_version(void **state)
{
    outcome result = run_tool(CLPREDICT, "--help");
    assert_int_equal(result.code, 0);
    assert_string_equal(result.err, "");
    assert_contains(result.out, "usage: clpredict");
    assert_contains(result.out, "--weights FILE|synthetic");
    assert_contains(result.out, "--platform N|NAME");
    assert_contains(result.out, "examples:\n  clpredict --model");
    outcome_free(&result);
    result = run_tool(CLPREDICT, "--version");
    assert_int_equal(result.code, 0);
    char *line = pcti_format("clpredict %s (commit %s)\n", pct_version(), pct_commit());
    assert_string_equal(result.out, line);
    pcti_free(line);
    outcome_free(&result);
}

static void test_usage_errors(void **state)
{
    static const struct {
        const char *words, *message;
    } cases[] = {
        {"", "--model is missing; there are vgg11"},
        {"--model resnet18 x.png", "--weights is missing"},
        {"--model resnet18 --weights synthetic", "no picture"},
        {"--nonsense", "unrecognized option '--nonsense'"},
        {"--model", "requires an argument"},
        {"--cpu=1", "doesn't allow an argument"},
        {SMALL "--top 0 x.png", "--top: \"0\" is not a whole number from 1"},
        {SMALL "--top 1x x.png", "--top: \"1x\""},
        {SMALL "--batch -1 x.png", "--batch: \"-1\""},
        {SMALL "--repeat 99999999999999999999 x.png", "--repeat: \"99999999999999999999\""},
        {SMALL "--threads 0 x.png", "--threads: \"0\""},
        {SMALL "--size 224.0 x.png", "--size: \"224.0\""},
        {SMALL "--memory medium x.png", "--memory: \"medium\" is none of: low, fast"},
        {SMALL "--format xml x.png", "--format: \"xml\" is none of: table, json"},
        {SMALL "--impl conv2d x.png", "--impl: \"conv2d\" is not OP=NAME"},
        {SMALL "--cpu --device 0 x.png", "--cpu and --device exclude each other"},
        {SMALL "--cpu --platform 0 x.png", "--cpu and --platform exclude each other"},
        {"--model resnet18 --weights synthetic --input x.safetensors x.png", "--input and pictures exclude"},
        {SMALL "--input x.safetensors", "--size has no effect"},
        {SMALL "--cpu --preset sepia x.png", "no preset \"sepia\"; there are: torchvision"},
        {"--cpu --model resnet19 --weights synthetic x.png", "no model \"resnet19\"; there are: vgg11"},
        {"--cpu --model vgg16 --weights synthetic --size 31 x.png", "32"},
        {"PCT_ISA=mmx " SMALL "--cpu x.png", "PCT_ISA"},
    };
    for (size_t i = 0; i < sizeof cases / sizeof *cases; i++) {
        expect(CLPREDICT, cases[i].words, 2, cases[i].message);
        expect(CLPREDICT, cases[i].words, 2, "clpredict");
    }
}

static void test_forced_implementation(void **state)
{
    outcome result = run_tool(CLPREDICT, SMALL "--cpu --impl conv2d=no_such_one %s", picture());
    assert_int_equal(result.code, 2);
    assert_contains(result.err, "conv2d");
    outcome_free(&result);
}

static void test_default_device(void **state)
{
    outcome result = run_tool(CLPREDICT, NO_OPENCL SMALL "--threads 1 %s", picture());
    assert_int_equal(result.code, 0);
    assert_contains(result.err, "clpredict: device: ");
    assert_contains(result.err, "CPU path");
    assert_contains(result.err, "1 thread): there is no OpenCL device");
    assert_contains(result.out, "CPU path");
    assert_null(strchr(result.err, '\r')); /* no progress line in a file */
    outcome_free(&result);
    result = run_tool(CLPREDICT, SMALL "--cpu %s", picture());
    assert_int_equal(result.code, 0);
    assert_string_equal(result.err, ""); /* nothing to explain */
    outcome_free(&result);
}

#ifdef HAVE_OPENCL
static void test_device_choice(void **state)
{
    expect(CLPREDICT, NO_OPENCL SMALL "--device 0 x.png", 2, "CL_PLATFORM_NOT_FOUND_KHR");
    expect(CLPREDICT, SMALL "--device 99 x.png", 2, "device");
    expect(CLPREDICT, SMALL "--device 1x x.png", 2, "1x");
    expect(CLPREDICT, SMALL "--device -1 x.png", 2, "-1");
    expect(CLPREDICT, SMALL "--platform 99999999999999999999 x.png", 2, "99999999999999999999");
    expect(CLPREDICT, SMALL "--platform nobody's x.png", 2, "nobody's");
}
#endif

/* ---- the table ---- */

static void test_table(void **state)
{
    outcome result = run_tool(CLPREDICT, SMALL "--cpu --threads 2 --top 2 --batch 2 %s %s %s", picture(),
                              in_scratch("pictures/gray.jpg"), in_scratch("pictures/palette.png"));
    assert_int_equal(result.code, 0);
    assert_contains(result.out, "model: squeezenet1_1, 1000 classes, 32 x 32, weights synthetic");
    assert_contains(result.out, "2 threads");
    assert_contains(result.out, pct_commit());
    const char *plan = strstr(result.out, "activations"), *first = strstr(result.out, "rgb.png\n");
    assert_non_null(plan);
    assert_non_null(first);
    assert_true(plan < first); /* known beforehand */
    assert_true(first < strstr(result.out, "gray.jpg\n"));
    assert_contains(result.out, "preprocess");
    assert_contains(result.out, "median of 1");
    assert_contains(result.out, "3 classified, ");
    outcome_free(&result);
}

/* ---- lost output ---- */

static void test_full_disk(void **state)
{
    int full = open("/dev/full", O_WRONLY | O_CLOEXEC);
    if (full < 0) skip();
    char *words = pcti_format(SMALL "--cpu %s", picture());
    running tool = start_tool(CLPREDICT, words, full);
    outcome result = wait_tool(&tool);
    assert_int_equal(result.code, 4);
    assert_contains(result.err, "standard output: No space left on device");
    outcome_free(&result);
    pcti_free(words);
    close(full);
}

static void test_closed_pipe(void **state)
{
    int ends[2];
    assert_int_equal(pipe2(ends, O_CLOEXEC), 0);
    close(ends[0]);
    char *words = pcti_format(SMALL "--cpu %s", picture());
    running tool = start_tool(CLPREDICT, words, ends[1]);
    close(ends[1]);
    outcome result = wait_tool(&tool);
    assert_int_equal(result.code, 4);
    assert_string_equal(result.err, "");
    outcome_free(&result);
    pcti_free(words);
}

static void test_save_nowhere(void **state)
{
    outcome result =
        run_tool(CLPREDICT, SMALL "--cpu --save %s %s", in_scratch("no/such/folder.safetensors"), picture());
    assert_int_equal(result.code, 4);
    assert_contains(result.err, "no/such/folder.safetensors: cannot write here");
    assert_string_equal(result.out, ""); /* before anything is computed */
    outcome_free(&result);
}

/* ---- signals ---- */

static void interrupt(const char *device, int number, int code)
{
    const char *saved = in_scratch("saved.safetensors");
    char *words = pcti_format("--model squeezenet1_1 --weights synthetic --size 32 --repeat 1000000 %s "
                              "--save %s %s",
                              device, saved, picture());
    running tool = start_tool(CLPREDICT, words, -1);
    wait_for_output(&tool); /* the table's head; the runs begin */
    kill(tool.pid, number);
    outcome result = wait_tool(&tool);
    assert_int_equal(result.code, code);
    assert_contains(result.err, "clpredict: interrupted\n");
    assert_int_equal(access(saved, F_OK), -1);
    outcome_free(&result);
    pcti_free(words);
}

static void test_signals(void **state)
{
    interrupt("--cpu", SIGINT, 130);
    interrupt("--cpu", SIGTERM, 143);
}

#ifdef HAVE_OPENCL
static bool has_opencl(void)
{
    pct_device_list *list;
    assert_ok(pct_device_list_create(&list));
    bool has = pct_device_list_count(list) > 0;
    if (!has) print_message("skipped: %s\n", pct_device_list_note(list));
    pct_device_list_destroy(list);
    return has;
}

/* A process that returned with work still queued would crash in the driver's threads. */
static void test_signals_on_opencl(void **state)
{
    if (!has_opencl()) skip();
    interrupt("--device 0", SIGINT, 130);
    interrupt("--device 0", SIGTERM, 143);
}
#endif

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(test_help_and_version),
        cmocka_unit_test(test_usage_errors),
        cmocka_unit_test(test_forced_implementation),
        cmocka_unit_test(test_default_device),
#ifdef HAVE_OPENCL
        cmocka_unit_test(test_device_choice),
        cmocka_unit_test(test_signals_on_opencl),
#endif
        cmocka_unit_test(test_table),
        cmocka_unit_test(test_full_disk),
        cmocka_unit_test(test_closed_pipe),
        cmocka_unit_test(test_save_nowhere),
        cmocka_unit_test(test_signals),
    };
    return cmocka_run_group_tests(tests, set_up, remove_scratch);
}
