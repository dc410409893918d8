/* Hand-made pickles: the old container around them is whole, what they build is not. */
#define _GNU_SOURCE
#include <stdlib.h>

#include "base/memory.h"
#include "import_test.h"

typedef struct builder {
    unsigned char bytes[1 << 16];
    size_t count;
} builder;

static void add(builder *b, const void *bytes, size_t count)
{
    assert_true(b->count + count <= sizeof b->bytes);
    memcpy(b->bytes + b->count, bytes, count);
    b->count += count;
}

/* A string literal's bytes, NULs included. */
#define ADD(b, text) add(b, text, sizeof text - 1)

static void add_i64(builder *b, int64_t value)
{
    ADD(b, "\x8a\x08"); /* LONG1 of 8 bytes */
    add(b, &value, 8);
}

/* Opens the old container with this state dict pickle, one storage key "k" and its four floats 1, 2, 3, 4. */
static pct_status open_state(const void *state, size_t bytes, pct_weights *weights)
{
    static const float floats[4] = {1, 2, 3, 4};
    static const int64_t count = 4;
    builder *b = calloc(1, sizeof *b);
    assert_non_null(b);
    ADD(b, "\x80\x02\x8a\x0a\x6c\xfc\x9c\x46\xf9\x20\x6a\xa8\x50\x19.");
    ADD(b, "\x80\x02M\xe9\x03.\x80\x02}.");
    add(b, state, bytes);
    ADD(b, "\x80\x02]U\x01ka.");
    add(b, &count, 8);
    add(b, floats, sizeof floats);
    pct_status status = open_bytes(b->bytes, b->count, weights);
    free(b);
    return status;
}

#define STORAGE                                                                                                      \
    "(U\x07storagectorch\nFloatStorage\nU\x01kU\x03"                                                                 \
    "cpuK\x04tQ"
/* Where the state has no tensor: the storage all the same, which the keys name. */
#define HELD STORAGE "0"
#define REBUILD "ctorch._utils\n_rebuild_tensor_v2\n("
#define FLAGS                                                                                                        \
    "\x89"                                                                                                           \
    "ccollections\nOrderedDict\n)RtR"
/* A tensor of storage k; offset, size and stride are pickle code. */
#define TENSOR(offset, size, stride) REBUILD STORAGE offset size stride FLAGS
#define PLAIN TENSOR("K\x00", "K\x04\x85", "K\x01\x85")
#define CASE(state, status, message)                                                                                 \
    {                                                                                                                \
        state, sizeof state - 1, status, message                                                                     \
    }

static const struct refused {
    const char *state;
    size_t bytes;
    pct_status status;
    const char *message;
} refused[] = {
    /* Globals, in each of the forms that name one. */
    CASE("cposix\nsystem\n(U\x02idtR.", PCT_ERROR_UNSUPPORTED, "refuses global posix.system: "),
    CASE("\x80\x04\x8c\x02nt\x8c\x06system\x93.", PCT_ERROR_UNSUPPORTED, "refuses global nt.system: "),
    CASE("(U\x02idios\nsystem\n.", PCT_ERROR_UNSUPPORTED, "refuses global os.system: "),
    CASE("c__builtin__\neval\n.", PCT_ERROR_UNSUPPORTED, "refuses global __builtin__.eval: "),
    CASE("ctorch\nload\n.", PCT_ERROR_UNSUPPORTED, "refuses global torch.load: "),
    CASE("ctorch\nComplexFloatStorage\n.", PCT_ERROR_UNSUPPORTED, "refuses global torch.ComplexFloatStorage: "),
    CASE("ctorch._utils\n_rebuild_tensor_v2.__globals__\n.", PCT_ERROR_UNSUPPORTED,
         "refuses global torch._utils._rebuild_"),
    CASE("ca\x1b[2J\nb\n.", PCT_ERROR_UNSUPPORTED, "refuses global a?[2J.b: "),
    CASE("c\n\n.", PCT_ERROR_UNSUPPORTED, "refuses global .: "),
    CASE("K\x01K\x02\x93.", PCT_ERROR_FORMAT, "a global without a name"),
    CASE("ccollections\nOrderedDict\n)\x81.", PCT_ERROR_UNSUPPORTED, "opcode 0x81"), /* NEWOBJ */
    CASE("\x82\x01.", PCT_ERROR_UNSUPPORTED, "opcode 0x82"),                         /* EXT1 */
    CASE("Pid\n.", PCT_ERROR_UNSUPPORTED, "opcode 0x50"),
    CASE("ctorch\nFloatStorage\n)R.", PCT_ERROR_FORMAT, "call of a storage class"),
    CASE("K\x01)R.", PCT_ERROR_FORMAT, "a call of no function"),
    CASE("]}b.", PCT_ERROR_FORMAT, "state of no dict"),
    CASE("}K\x01"
         "b.",
         PCT_ERROR_FORMAT, "state of no dict"),
    /* Lengths and the machine's limits. */
    CASE("X\xff\xff\xff\x7f", PCT_ERROR_FORMAT, "pickle 4 of 5: pickle: a string is cut off"),
    CASE("T\xff\xff\xff\xff", PCT_ERROR_FORMAT, "a string is cut off"),
    CASE("\x8d\xff\xff\xff\xff\xff\xff\xff\xff", PCT_ERROR_FORMAT, "a string is cut off"),
    CASE("\x8b\xff\xff\xff\xff", PCT_ERROR_FORMAT, "a string is cut off"),
    CASE("I99999999999999999999\n.", PCT_ERROR_FORMAT, "not a whole number"),
    CASE("I1x\n.", PCT_ERROR_FORMAT, "not a whole number"),
    CASE("S'a\\x00'\n.", PCT_ERROR_FORMAT, "a string with escapes"),
    CASE("Sa\n.", PCT_ERROR_FORMAT, "a string without quotes"),
    CASE("\x80\x06.", PCT_ERROR_FORMAT, "protocol above 5"),
    CASE(".", PCT_ERROR_FORMAT, "the stack is empty"),
    CASE("(.", PCT_ERROR_FORMAT, "the stack is empty"),
    CASE("K\x01(\x86.", PCT_ERROR_FORMAT, "the stack is empty"), /* not below a mark */
    CASE("t.", PCT_ERROR_FORMAT, "no mark"),
    CASE("}K\x01"
         "a.",
         PCT_ERROR_FORMAT, "append to no list"),
    CASE("]K\x01K\x02s.", PCT_ERROR_FORMAT, "item set in no dict"),
    CASE("}(K\x01u.", PCT_ERROR_FORMAT, "a key without a value"),
    CASE("}r\xff\xff\xff\xff.", PCT_ERROR_FORMAT, "wild memo index"),
    CASE("}r\xff\xff\x0f\x00.", PCT_ERROR_FORMAT, "wild memo index"),
    CASE("}q\x01h\x00.", PCT_ERROR_FORMAT, "unset memo entry"),
    CASE("}p-1\n.", PCT_ERROR_FORMAT, "wild memo index"),
    /* What the state dict is. */
    CASE(HELD "]q\x00h\x00"
              "a.",
         PCT_ERROR_FORMAT, "holds no dict of tensors"),
    CASE(PLAIN ".", PCT_ERROR_FORMAT, "holds no dict of tensors"),
    CASE(HELD "}q\x00U\x01"
              "ah\x00s.",
         PCT_ERROR_FORMAT, "nested more than 32 deep"),
    CASE("}U\x01"
         "a" PLAIN "sU\x01"
         "a" PLAIN "s.",
         PCT_ERROR_FORMAT, "two tensors are named 'a'"),
    CASE("}U\x03"
         "a\x00"
         "b" PLAIN "s.",
         PCT_ERROR_FORMAT, "tensor 'a?b': its name is no UTF-8 text"),
    CASE("}U\x01\xff" PLAIN "s.", PCT_ERROR_FORMAT, "its name is no UTF-8 text"),
    /* Tensors outside their storage. */
    CASE("}U\x01w" TENSOR("K\x01", "K\x04\x85", "K\x01\x85") "s.", PCT_ERROR_FORMAT,
         "tensor 'w' leaves its storage of 16 bytes"),
    CASE("}U\x01w" TENSOR("K\x00", "K\x05\x85", "K\x01\x85") "s.", PCT_ERROR_FORMAT, "tensor 'w' leaves"),
    CASE("}U\x01w" TENSOR("K\x00", "K\x02K\x02\x86", "K\x03K\x01\x86") "s.", PCT_ERROR_FORMAT, "tensor 'w' leaves"),
    CASE("}U\x01w" TENSOR("K\x05", "K\x01\x85", "K\x01\x85") "s.", PCT_ERROR_FORMAT,
         "'w' begins outside its storage"),
    CASE("}U\x01w" TENSOR("J\xff\xff\xff\xff", "K\x01\x85", "K\x01\x85") "s.", PCT_ERROR_FORMAT,
         "'w' begins outside"),
    CASE("}U\x01w" TENSOR("K\x03", "K\x04\x85", "J\xff\xff\xff\xff\x85") "s.", PCT_ERROR_FORMAT, "tensor 'w' leaves"),
    CASE("}U\x01w" TENSOR("K\x00", "J\xff\xff\xff\xff\x85", "K\x01\x85") "s.", PCT_ERROR_FORMAT,
         "a dimension is negative"),
    CASE("}U\x01w" TENSOR("K\x00", "K\x04\x85", "K\x01K\x01\x86") "s.", PCT_ERROR_FORMAT, "differ in length"),
    CASE("}U\x01w" TENSOR("K\x00", "K\x04", "K\x01\x85") "s.", PCT_ERROR_FORMAT, "no tuple"),
    CASE("}U\x01w" TENSOR("K\x00", "N\x85", "K\x01\x85") "s.", PCT_ERROR_FORMAT, "no number"),
    CASE("}U\x01w" TENSOR("K\x00", "(K\x01K\x01K\x01K\x01K\x01K\x01K\x01K\x01K\x01t", "K\x01\x85") "s.",
         PCT_ERROR_UNSUPPORTED, "9 dimensions, at most 8"),
    CASE("}U\x01w" REBUILD "K\x00K\x00))\x89NtRs.", PCT_ERROR_FORMAT, "without storage"),
    CASE("}U\x01w"
         "ctorch._utils\n_rebuild_tensor_v2\n)Rs.",
         PCT_ERROR_FORMAT, "takes 6 or 7"),
    CASE("}U\x01w" REBUILD STORAGE "K\x00))\x89N}U\x03neg\x88stRs.", PCT_ERROR_UNSUPPORTED, "negated"),
    CASE("}U\x01w"
         "ctorch._utils\n_rebuild_parameter\nK\x01\x88N\x87Rs.",
         PCT_ERROR_FORMAT, "_rebuild_parameter of no tensor"),
    /* Storages. */
    CASE("K\x01Q.", PCT_ERROR_FORMAT, "a persistent id is not"),
    CASE("(U\x06modulectorch\nFloatStorage\nU\x01kU\x03"
         "cpuK\x04tQ.",
         PCT_ERROR_FORMAT, "a persistent id is not"),
    CASE("(U\x07storageccollections\nOrderedDict\nU\x01kU\x03"
         "cpuK\x04tQ.",
         PCT_ERROR_FORMAT, "a persistent id is not"),
    CASE("(U\x07storagectorch\nFloatStorage\nU\x01kU\x03"
         "cpuJ\xff\xff\xff\xfftQ.",
         PCT_ERROR_FORMAT, "negative size"),
    CASE("(U\x07storagectorch\nFloatStorage\nU\x01kU\x03"
         "cpuK\x04(U\x01vK\x03K\x02ttQ.",
         PCT_ERROR_FORMAT, "a view leaves"),
    CASE("(U\x07storagectorch\nFloatStorage\nU\x01kU\x03"
         "cpuK\x04K\x02tQ.",
         PCT_ERROR_FORMAT, "view is not"),
    CASE("}U\x01w(U\x07storagectorch\nFloatStorage\nU\x01kU\x03"
         "cpuK\x03tQs.",
         PCT_ERROR_FORMAT, "storage 'k' should have 3 elements, in the file it has 4"),
    CASE("}U\x01w(U\x07storagectorch\nFloatStorage\nU\x01jU\x03"
         "cpuK\x04tQs.",
         PCT_ERROR_FORMAT, "'k' is of unknown type"),
    CASE("}U\x01w" PLAIN "sU\x01v(U\x07storagectorch\nIntStorage\nU\x01kU\x03"
         "cpuK\x04tQs.",
         PCT_ERROR_FORMAT, "'k' is described in two ways"),
    CASE("}U\x01w" REBUILD "(U\x07storagectorch\nFloatStorage\nU\x01jU\x03"
         "cpuK\x04tQK\x00))" FLAGS "sU\x01v" STORAGE "s.",
         PCT_ERROR_FORMAT, "tensor 'w': its storage 'j' of 4 elements is missing"),
};

static void test_refused(void **state)
{
    for (size_t i = 0; i < sizeof refused / sizeof *refused; i++) {
        pct_weights weights;
        pct_status status = open_state(refused[i].state, refused[i].bytes, &weights);
        if (status != refused[i].status)
            fail_msg("case %zu: %s: %s", i, pct_status_name(status), pct_error_message());
        check_message("memory: ");
        check_message(refused[i].message);
        close_bytes(&weights);
    }
}

/* Numbers that overflow whatever is computed of them. */
static void test_overflows(void **state)
{
    static const int64_t wild[] = {INT64_MAX,        INT64_MAX - 1,    INT64_MIN, INT64_MIN + 1,
                                   (int64_t)1 << 62, (int64_t)1 << 32, -1};
    enum { WILD = sizeof wild / sizeof *wild };
    for (int offset = 0; offset <= WILD; offset++)
        for (int dim = 0; dim <= WILD; dim++)
            for (int stride = 0; stride <= WILD; stride++)
                for (int elems = 0; elems <= WILD; elems++) {
                    if (offset + dim + stride + elems == 4 * WILD) continue; /* all tame */
                    builder b = {.count = 0};
                    ADD(&b, "}U\x01w" REBUILD "(U\x07storagectorch\nDoubleStorage\nU\x01kU\x03"
                            "cpu");
                    add_i64(&b, elems < WILD ? wild[elems] : 4);
                    ADD(&b, "tQ");
                    add_i64(&b, offset < WILD ? wild[offset] : 0);
                    add_i64(&b, dim < WILD ? wild[dim] : 2);
                    ADD(&b, "K\x02\x86");
                    add_i64(&b, stride < WILD ? wild[stride] : 2);
                    ADD(&b, "K\x01\x86" FLAGS "s.");
                    pct_weights weights;
                    assert_int_not_equal(open_state(b.bytes, b.count, &weights), PCT_OK);
                    close_bytes(&weights);
                }
}

static void test_bounds(void **state)
{
    pct_weights weights;
    builder b = {.count = 0};
    for (int i = 0; i < 5000; i++) ADD(&b, "(");
    ADD(&b, "}.");
    assert_int_equal(open_state(b.bytes, b.count, &weights), PCT_ERROR_FORMAT);
    check_message("nested too deeply");
    close_bytes(&weights);

    b.count = 0; /* nested lists without a mark: the machine may build them, walking stops */
    ADD(&b, HELD "}U\x01l]");
    for (int i = 0; i < 5000; i++) ADD(&b, "]");
    for (int i = 0; i < 5000; i++) ADD(&b, "a");
    ADD(&b, "s.");
    assert_int_equal(open_state(b.bytes, b.count, &weights), PCT_ERROR_FORMAT);
    check_message("nested more than 32 deep");
    close_bytes(&weights);

    b.count = 0; /* 25 lists, each of the one before it twice: 2^25 paths in 300 bytes */
    ADD(&b, HELD "]q\x00"
                 "0");
    for (unsigned char i = 0; i < 25; i++) {
        const unsigned char twice[] = {']', '(', 'h', i, 'h', i, 'e', 'q', (unsigned char)(i + 1), '0'};
        add(&b, twice, sizeof twice);
    }
    ADD(&b, "}U\x01lh\x19s.");
    assert_int_equal(open_state(b.bytes, b.count, &weights), PCT_ERROR_FORMAT);
    check_message("more than 1048576 values, counting repeats");
    close_bytes(&weights);

    static char name[600];
    memset(name, 'n', sizeof name);
    b.count = 0;
    ADD(&b, "}X\x58\x02\x00\x00");
    add(&b, name, sizeof name);
    ADD(&b, PLAIN "s.");
    assert_int_equal(open_state(b.bytes, b.count, &weights), PCT_ERROR_FORMAT);
    check_message("a name of 600 bytes");
    close_bytes(&weights);
}

/* ---- what must be read ---- */

static void check_valid(const char *state, size_t bytes, const char *name, int rank, const int64_t *dims,
                        const float *values)
{
    pct_weights weights;
    if (open_state(state, bytes, &weights) != PCT_OK) fail_msg("%s: %s", name, pct_error_message());
    assert_int_equal(pct_weights_count(&weights), 1);
    check_tensor(&weights, name, PCT_F32, rank, dims, values);
    close_bytes(&weights);
}
#define VALID(state, ...) check_valid(state, sizeof state - 1, __VA_ARGS__)

static void test_valid(void **state)
{
    VALID("}U\x01w" PLAIN "s.", "w", 1, DIMS(4), VALUES(1, 2, 3, 4));
    VALID("}U\x01w" TENSOR("K\x01", "K\x03K\x01\x86", "K\x01K\x64\x86") "s.", "w", 2, DIMS(3, 1), VALUES(2, 3, 4));
    VALID("}U\x01w" TENSOR("K\x03", "K\x02K\x03\x86", "K\x00K\x00\x86") "s.", "w", 2, DIMS(2, 3),
          VALUES(4, 4, 4, 4, 4, 4));
    VALID("}U\x01w" TENSOR("K\x00", "K\x02K\x02\x86", "K\x01K\x02\x86") "s.", "w", 2, DIMS(2, 2), VALUES(1, 3, 2, 4));
    VALID("}U\x01w" TENSOR("K\x04", "K\x00\x85", "K\x01\x85") "s.", "w", 1, DIMS(0), NULL);
    VALID("}U\x01w" TENSOR("\x8a\x00", "ctorch\nSize\nK\x04\x85\x85R", "K\x01\x85") "s.", "w", 1, DIMS(4),
          VALUES(1, 2, 3, 4));
    /* torch before 0.4: fewer arguments, a view of a storage, Python 2's OrderedDict of pairs and its text forms. */
    VALID("ccollections\nOrderedDict\n((l(lp0\nS'w'\na"
          "ctorch._utils\n_rebuild_tensor\n((S'storage'\nctorch\nFloatStorage\nS\"k\"\nVcpu\nL4L\n(S'v'\nI1\nI2\nttQ"
          "I0\n(I2\ntp7\n(I1\nttRaatR.",
          "w", 1, DIMS(2), VALUES(2, 3));
    /* A parameter, metadata that is empty, and state to be dropped. */
    VALID("ccollections\nOrderedDict\n)Rq\x00U\x01w"
          "ctorch._utils\n_rebuild_parameter\n" REBUILD STORAGE "K\x00K\x04\x85K\x01\x85\x89N}tR\x88}\x87Rs"
          "}U\x09_metadatah\x00sb.",
          "w", 1, DIMS(4), VALUES(1, 2, 3, 4));
    /* Values that are no tensors, of every kind, and a path through list and number. */
    VALID("}(U\x01nNU\x01t\x88U\x01iJ\xff\xff\xff\xffU\x01"
          "fG\x3f\xf0\x00\x00\x00\x00\x00\x00U\x01gF1.5\nU\x01lL-5L\nU\x01"
          "bI01\n"
          "N)U\x02yyC\x03\x00\x01\x02U\x01s" STORAGE "U\x01"
          "d](N}K\x07" PLAIN "seu.",
          "d.1.7", 1, DIMS(4), VALUES(1, 2, 3, 4));
    /* DUP, POP, POP_MARK, POP of a mark, FRAME, MEMOIZE. */
    VALID("\x80\x05\x95\x01\x00\x00\x00\x00\x00\x00\x00}\x94(K\x01K\x02"
          "1K\x01"
          "20"
          "0(0U\x01w" PLAIN "s.",
          "w", 1, DIMS(4), VALUES(1, 2, 3, 4));
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(test_refused),
        cmocka_unit_test(test_overflows),
        cmocka_unit_test(test_bounds),
        cmocka_unit_test(test_valid),
    };
    return cmocka_run_group_tests(tests, NULL, NULL);
}
