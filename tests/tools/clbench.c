/* clbench as a user runs it. */
#include "run_tool.h"

#include <cjson/cJSON.h>
#include <fcntl.h>
#include <signal.h>
#include <sys/stat.h>
#include <time.h>
#include <unistd.h>

#include "base/file.h"
#include "pct/device.h"
#include "prof/row.h"

/* A network that takes moments. Its reference values go to a cache of this test's own. */
#define SMALL "--model squeezenet1_1 --size 64 --runs 2"

static outcome run_small(const char *words)
{
    return run_tool(CLBENCH, "PCT_CACHE_DIR=%s %s", in_scratch("cache"), words);
}

static cJSON *parse(const char *text)
{
    cJSON *json = cJSON_Parse(text);
    if (!json) fail_msg("not JSON:\n%s", text);
    return json;
}

static const cJSON *member(const cJSON *object, const char *name)
{
    const cJSON *item = cJSON_GetObjectItemCaseSensitive(object, name);
    if (!item) fail_msg("no member \"%s\"", name);
    return item;
}

static const char *text_of(const cJSON *object, const char *name)
{
    const cJSON *item = member(object, name);
    return cJSON_IsString(item) ? item->valuestring : "";
}

/* ---- command line ---- */

static void test_usage(void **state)
{
    expect(CLBENCH, "--suite gemm,sport", 2, "launch, transfer, peak, gemm, layers, infer");
    expect(CLBENCH, "--model vgg17", 2, "vgg16");
    expect(CLBENCH, "--batch 0", 2, "whole number");
    expect(CLBENCH, "--batch 1,,2", 2, "whole number");
    expect(CLBENCH, "--batch 1,", 2, "whole number");
    expect(CLBENCH, "--runs 1x", 2, "whole number");
    expect(CLBENCH, "--min-time nan", 2, "seconds");
    expect(CLBENCH, "--format xml", 2, "table, md, csv, json, sql");
    expect(CLBENCH, "--impl conv2d=magic --cpu", 2, "no implementation \"magic\"");
    expect(CLBENCH, "--impl magic=plain --cpu", 2, "no operator \"magic\"");
    expect(CLBENCH, "--weights file --model vgg16,resnet50", 2, "one --model");
    expect(CLBENCH, "sport", 2, "op, diff, compare, ops");
    expect(CLBENCH, "op", 2, "which operator");
    expect(CLBENCH, "diff", 2, "--model");
    expect(CLBENCH, "diff --model vgg17", 2, "vgg16");
    expect(CLBENCH, "ops vgg16", 2, "no operand");
    expect(CLBENCH, "compare one.json", 2, "files");
    expect(CLBENCH, "compare --tolerance -1 a.json b.json", 2, "0 to 100");
}

static void test_help(void **state)
{
    static const char *const commands[] = {"", "op ", "diff ", "compare ", "ops "};
    for (size_t i = 0; i < sizeof commands / sizeof *commands; i++) {
        outcome result = run_tool(CLBENCH, "%s--help", commands[i]);
        assert_int_equal(result.code, 0);
        assert_contains(result.out, "examples:");
        assert_string_equal(result.err, "");
        outcome_free(&result);
    }
    outcome result = run_tool(CLBENCH, "--version");
    assert_int_equal(result.code, 0);
    assert_contains(result.out, "clbench 0.");
    outcome_free(&result);
}

/* An index out of range, half a number, too large a one: an error that lists what there is. */
static void test_device_choice(void **state)
{
    static const char *const choices[] = {
        "--platform 9",     "--device 7", "--device -1", "--device 1x", "--device 99999999999999999999",
        "--platform nobody"};
    for (size_t i = 0; i < sizeof choices / sizeof *choices; i++) {
        char *words = pcti_format("%s --suite launch", choices[i]);
        outcome result = run_tool(CLBENCH, "%s", words);
        assert_int_equal(result.code, 2);
        assert_string_equal(result.out, "");
        assert_true(strlen(result.err) > 20);
        outcome_free(&result);
        pcti_free(words);
    }
#ifdef HAVE_OPENCL
    pct_device_list *list;
    assert_ok(pct_device_list_create(&list));
    for (size_t i = 0; i < sizeof choices / sizeof *choices && pct_device_list_count(list); i++)
        expect(CLBENCH, choices[i], 2, pct_device_list_get(list, 0)->device);
    pct_device_list_destroy(list);
#endif
}

/* ---- lists ---- */

static void check_list(const char *environment, bool empty)
{
    outcome result = run_tool(CLBENCH, "%s --list --format json", environment);
    assert_int_equal(result.code, 0);
    cJSON *json = parse(result.out);
    assert_true(member(json, "format")->valuedouble == 1);
    assert_true(cJSON_IsArray(member(json, "devices")));
    const cJSON *cpu = member(json, "cpu");
    assert_string_equal(text_of(cpu, "backend"), "cpu");
    assert_true(member(cpu, "threads")->valuedouble >= 1);
    int count = cJSON_GetArraySize(member(json, "devices"));
    if (empty) assert_int_equal(count, 0);
    if (!count) assert_true(strlen(text_of(json, "note")) > 10);
    for (int i = 0; i < count; i++) {
        const cJSON *device = cJSON_GetArrayItem(member(json, "devices"), i);
        assert_string_equal(text_of(device, "backend"), "opencl");
        assert_true(cJSON_IsNumber(member(device, "platform_index")));
        assert_true(cJSON_IsNumber(member(device, "device_index")));
    }
    cJSON_Delete(json);
    outcome_free(&result);
}

static void test_list(void **state)
{
    check_list("LC_ALL=C", false);
    check_list("OCL_ICD_VENDORS=/nowhere/", true); /* a machine without any platform */
}

static void test_ops(void **state)
{
    outcome result = run_tool(CLBENCH, "ops --format json");
    assert_int_equal(result.code, 0);
    cJSON *json = parse(result.out);
    const cJSON *row;
    int convolutions = 0;
    cJSON_ArrayForEach(row, member(json, "ops"))
    {
        assert_string_equal(text_of(row, "direction"), "forward");
        assert_true(cJSON_IsArray(member(row, "implementations")));
        if (!strcmp(text_of(row, "op"), "conv2d") && !strcmp(text_of(row, "backend"), "cpu"))
            convolutions = cJSON_GetArraySize(member(row, "implementations"));
    }
    assert_true(convolutions >= 3);
    cJSON_Delete(json);
    outcome_free(&result);
}

/* ---- measuring ---- */

static void check_ok_row(const cJSON *row)
{
    static const char *const texts[] = {"suite", "test", "backend", "platform", "device", "driver", "status"};
    static const char *const figures[] = {"first_ms", "max_error"};
    static const char *const members[] = {
        "batch",       "size",       "threads", "impl",        "reason", "kernel_ms",    "upload_ms",
        "download_ms", "overlap_ms", "host_ms", "items_per_s", "gflops", "gbytes_per_s", "peak_memory_bytes"};
    for (size_t i = 0; i < sizeof texts / sizeof *texts; i++) assert_true(cJSON_IsString(member(row, texts[i])));
    for (size_t i = 0; i < sizeof members / sizeof *members; i++) member(row, members[i]);
    if (strcmp(text_of(row, "status"), "ok"))
        fail_msg("%s/%s: %s: %s", text_of(row, "suite"), text_of(row, "test"), text_of(row, "status"),
                 text_of(row, "reason"));
    for (size_t i = 0; i < sizeof figures / sizeof *figures; i++)
        assert_true(cJSON_IsNumber(member(row, figures[i])));
    assert_true(member(member(row, "wall_ms"), "runs")->valuedouble >= 1);
    assert_true(member(member(row, "wall_ms"), "median")->valuedouble > 0);
}

static int check_results(const char *text, int *verdicts)
{
    cJSON *json = parse(text);
    const cJSON *row;
    assert_true(strlen(text_of(json, "commit")) > 0);
    assert_true(strlen(text_of(member(json, "machine"), "date_utc")) > 0);
    cJSON_ArrayForEach(row, member(json, "results")) check_ok_row(row);
    int count = cJSON_GetArraySize(member(json, "results"));
    *verdicts = cJSON_GetArraySize(member(json, "verdict"));
    cJSON_Delete(json);
    return count;
}

static void test_device_suites(void **state)
{
    int verdicts;
    outcome result = run_small("--cpu --suite launch,peak --runs 2 --format json");
    assert_int_equal(result.code, 0);
    assert_true(check_results(result.out, &verdicts) >= 5);
    assert_int_equal(verdicts, 0);
    outcome_free(&result);
}

static void test_infer(void **state)
{
    int verdicts;
    outcome result = run_small("--cpu --suite infer " SMALL " --batch 1,3 --format json");
    assert_int_equal(result.code, 0);
    assert_contains(result.err, "computing the reference");
    assert_int_equal(check_results(result.out, &verdicts), 2);
    assert_true(verdicts >= 1);
    outcome_free(&result);
    result = run_small("--cpu --suite infer " SMALL " --batch 1 --verify");
    assert_int_equal(result.code, 0);
    assert_lacks(result.err, "computing the reference"); /* it was kept */
    outcome_free(&result);
}

/* The files in the cache of reference values. */
static void overwrite_cache(const char *bytes)
{
    char *command = pcti_format("for f in %s/logits/*; do printf %%s '%s' > $f; done\n", in_scratch("cache"), bytes);
    write_scratch("overwrite.sh", command, strlen(command));
    outcome result = run_tool("/bin/sh", "%s", in_scratch("overwrite.sh"));
    assert_int_equal(result.code, 0);
    outcome_free(&result);
    pcti_free(command);
}

static void test_broken_cache(void **state)
{
    overwrite_cache("pctlogit and noise");
    outcome result = run_small("--cpu --suite infer " SMALL " --batch 1 --verify");
    assert_int_equal(result.code, 0);
    assert_contains(result.err, "computing the reference");
    outcome_free(&result);
}

static void test_impossible_case(void **state)
{
    /* A size that the network does not allow, and an implementation that does not take its layers, are rows. */
    outcome result = run_small("--cpu --suite infer --model squeezenet1_1 --size 4 --format json");
    assert_int_equal(result.code, 0);
    assert_contains(result.out, "\"skipped\"");
    outcome_free(&result);
    result = run_small("--cpu --suite infer " SMALL " --impl conv2d=depthwise --batch 1 --format json");
    assert_int_equal(result.code, 0);
    assert_contains(result.out, "\"skipped\"");
    outcome_free(&result);
}

static void test_formats(void **state)
{
    static const struct {
        const char *format, *part;
    } formats[] = {{"table", "launch: cpu"}, {"md", "| --"}, {"csv", "suite,test,"}, {"sql", "INSERT INTO"}};
    for (size_t i = 0; i < sizeof formats / sizeof *formats; i++) {
        outcome result = run_tool(CLBENCH, "--cpu --suite launch --runs 2 --format %s", formats[i].format);
        assert_int_equal(result.code, 0);
        assert_contains(result.out, formats[i].part);
        outcome_free(&result);
    }
}

static void test_locale(void **state)
{
    outcome plain = run_tool(CLBENCH, "LC_ALL=C ops"), german = run_tool(CLBENCH, "LC_ALL=de_DE.UTF-8 ops");
    assert_string_equal(plain.out, german.out);
    outcome_free(&plain);
    outcome_free(&german);
    int verdicts;
    outcome result = run_tool(CLBENCH, "LC_ALL=fr_FR.UTF-8 --cpu --suite launch --runs 2 --format json");
    assert_true(check_results(result.out, &verdicts) >= 3);
    outcome_free(&result);
}

/* ---- op and diff ---- */

static outcome run_op(const char *options, const char *line)
{
    char *command = pcti_format("exec %s op --cpu --runs 2 %s \"%s\"\n", CLBENCH, options, line);
    write_scratch("op.sh", command, strlen(command));
    outcome result = run_tool("/bin/sh", "%s", in_scratch("op.sh"));
    pcti_free(command);
    return result;
}

static void test_op(void **state)
{
    int verdicts;
    outcome result = run_op("--format json", "conv2d src=1x32x12x12 wei=32x32x3x3 pad=1");
    assert_int_equal(result.code, 0);
    assert_true(check_results(result.out, &verdicts) >= 3);
    assert_contains(result.out, "\"chosen\": \"yes\"");
    assert_contains(result.out, "roofline_share");
    outcome_free(&result);
    result = run_op("--verbose", "conv2d src=1x32x12x12 wei=32x32x3x3 pad=1");
    assert_int_equal(result.code, 0);
    assert_contains(result.out, "only 1x1");
    outcome_free(&result);
    result = run_op("--impl conv2d=plain --format csv", "conv2d src=1x32x12x12 wei=32x32x3x3 pad=1");
    assert_contains(result.out, "plain");
    assert_lacks(result.out, "winograd");
    outcome_free(&result);
}

static void test_op_errors(void **state)
{
    outcome result = run_op("", "convolve src=1x2");
    assert_int_equal(result.code, 2);
    assert_contains(result.err, "conv2d");
    outcome_free(&result);
    result = run_op("", "conv2d src=1x3x8x8 wei=4x2x3x3");
    assert_int_equal(result.code, 2);
    assert_contains(result.err, "wei");
    outcome_free(&result);
}

static void test_diff(void **state)
{
    outcome result = run_small("diff --model squeezenet1_1 --size 64 --cpu --against ref");
    assert_int_equal(result.code, 0);
    assert_contains(result.out, "agree");
    outcome_free(&result);
    result = run_small("diff --model squeezenet1_1 --size 64 --cpu --against ref --tolerance 0 --format json");
    assert_int_equal(result.code, 1);
    cJSON *json = parse(result.out);
    assert_true(strlen(text_of(json, "first_difference")) > 0);
    assert_true(cJSON_GetArraySize(member(json, "values")) > 20);
    cJSON_Delete(json);
    outcome_free(&result);
    expect(CLBENCH, "diff --model squeezenet1_1 --cpu --against abacus", 2, "abacus");
}

/* ---- compare ---- */

static void write_results(const char *name, double median, bool right)
{
    pcti_results *results;
    pcti_row row;
    char *text;
    assert_ok(pcti_results_create(&results));
    pcti_row_init(&row);
    row.suite = "infer";
    row.test = "vgg16";
    row.backend = "cpu";
    row.batch = 1;
    row.wall.median = row.wall.min = row.wall.p95 = median;
    row.wall.stddev = median / 100;
    row.wall.runs = 50;
    row.max_error = 1e-6;
    if (!right) {
        row.status = PCTI_ROW_WRONG;
        row.reason = "off";
    }
    assert_ok(pcti_results_add(results, &row));
    assert_ok(pcti_results_text(results, PCT_FORMAT_JSON, &text));
    write_scratch(name, text, strlen(text));
    pcti_free(text);
    pcti_results_destroy(results);
}

static void compare(const char *second, const char *options, int code)
{
    outcome result = run_tool(CLBENCH, "compare %s %s %s", options, in_scratch("base.json"), in_scratch(second));
    if (result.code != code) fail_msg("%s: exit %d, not %d\n%s%s", second, result.code, code, result.out, result.err);
    outcome_free(&result);
}

static void test_compare(void **state)
{
    write_results("base.json", 50, true);
    write_results("slower.json", 60, true);
    write_results("faster.json", 40, true);
    write_results("wrong.json", 40, false);
    write_scratch("broken.json", "{\"format\":1,", 12);
    compare("base.json", "", 0);
    compare("slower.json", "", 1);
    compare("slower.json", "--tolerance 0.5", 0);
    compare("faster.json", "--format json", 0);
    compare("wrong.json", "", 1);
    compare("broken.json", "", 3);
    compare("missing.json", "", 3);
}

/* ---- output ---- */

static void test_output_file(void **state)
{
    struct stat facts;
    char *words = pcti_format("ops --output %s", in_scratch("ops.txt"));
    write_scratch("ops.txt", "old", 3);
    expect(CLBENCH, words, 0, "");
    assert_int_equal(stat(in_scratch("ops.txt"), &facts), 0);
    assert_true(facts.st_size > 500);
    pcti_free(words);
    expect(CLBENCH, "ops --output nowhere/ops.txt", 4, "nowhere/ops.txt");
    /* Devices are written to, never replaced by a file. */
    if (stat("/dev/full", &facts) || !S_ISCHR(facts.st_mode)) return;
    expect(CLBENCH, "ops --output /dev/full", 4, "No space left");
    assert_int_equal(stat("/dev/full", &facts), 0);
    assert_true(S_ISCHR(facts.st_mode));
}

static void test_full_disk(void **state)
{
    struct stat facts;
    if (stat("/dev/full", &facts) || !S_ISCHR(facts.st_mode)) skip();
    int full = open("/dev/full", O_WRONLY | O_CLOEXEC);
    if (full < 0) skip();
    running tool = start_tool(CLBENCH, "ops", full);
    outcome result = wait_tool(&tool);
    assert_int_equal(result.code, 4);
    assert_contains(result.err, "No space left");
    outcome_free(&result);
    close(full);
}

static bool says(const char *path, const char *text)
{
    char buffer[4096];
    FILE *file = fopen(path, "r");
    size_t length = file ? fread(buffer, 1, sizeof buffer - 1, file) : 0;
    if (file) fclose(file);
    buffer[length] = 0;
    return strstr(buffer, text) != NULL;
}

/* Ctrl-C: what was measured is written. */
static void test_interrupted(void **state)
{
    char *words = pcti_format("PCT_CACHE_DIR=%s --cpu --suite launch,infer --model squeezenet1_1 --size 64 --batch 1 "
                              "--min-time 600 --format json --output %s",
                              in_scratch("fresh_cache"), in_scratch("part.json"));
    running tool = start_tool(CLBENCH, words, -1);
    bool at_work = false;
    for (int ms = 0; ms < 60000 && !at_work; ms++) {
        at_work = says(tool.err_path, "computing the reference");
        nanosleep(&(struct timespec){.tv_nsec = 1000000}, NULL);
    }
    assert_true(at_work);
    kill(tool.pid, SIGINT);
    outcome result = wait_tool(&tool);
    assert_int_equal(result.code, 130);
    pcti_results *results;
    assert_ok(pcti_results_read(in_scratch("part.json"), &results));
    assert_true(results->count >= 3);
    pcti_results_destroy(results);
    outcome_free(&result);
    pcti_free(words);
}

#ifdef HAVE_OPENCL
/* The default: the first OpenCL device and the CPU path, and a verdict that holds them side by side. */
static void test_opencl(void **state)
{
    pct_device_list *list;
    assert_ok(pct_device_list_create(&list));
    bool has = pct_device_list_count(list) > 0;
    if (!has) print_message("skipped: %s\n", pct_device_list_note(list));
    pct_device_list_destroy(list);
    if (!has) skip();
    int verdicts;
    outcome result = run_small("--suite launch,infer " SMALL " --batch 1,2 --format json");
    if (result.code) fail_msg("exit %d\n%s%s", result.code, result.err, result.out);
    assert_int_equal(check_results(result.out, &verdicts), 10);
    assert_contains(result.out, "worth it");
    assert_contains(result.out, "\"backend\": \"opencl\"");
    outcome_free(&result);
    result = run_small("--device 0 --suite transfer --quick --format json");
    assert_int_equal(result.code, 0);
    assert_contains(result.out, "\"mapped\"");
    outcome_free(&result);
}
#endif

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(test_usage),
        cmocka_unit_test(test_help),
        cmocka_unit_test(test_device_choice),
        cmocka_unit_test(test_list),
        cmocka_unit_test(test_ops),
        cmocka_unit_test(test_device_suites),
        cmocka_unit_test(test_infer),
        cmocka_unit_test(test_broken_cache),
        cmocka_unit_test(test_impossible_case),
        cmocka_unit_test(test_formats),
        cmocka_unit_test(test_locale),
        cmocka_unit_test(test_op),
        cmocka_unit_test(test_op_errors),
        cmocka_unit_test(test_diff),
        cmocka_unit_test(test_compare),
        cmocka_unit_test(test_output_file),
        cmocka_unit_test(test_full_disk),
        cmocka_unit_test(test_interrupted),
#ifdef HAVE_OPENCL
        cmocka_unit_test(test_opencl),
#endif
    };
    return cmocka_run_group_tests(tests, make_scratch, remove_scratch);
}
