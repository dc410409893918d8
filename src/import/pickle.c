/* The stack machine. */
#include "import/pickle.h"

#include <string.h>

#include "base/memory.h"
#include "base/text.h"

/* A state dict of 1,000 tensors takes some 50,000 values, a stack of 4,000 and marks 10 deep. */
enum { MAX_VALUES = 1 << 21, MAX_STACK = 1 << 20, MAX_MARKS = 1 << 12, MAX_MEMO = 1 << 22, BLOCK_VALUES = 256 };

struct pcti_value_block {
    struct pcti_value_block *next;
    size_t used;
    pcti_value values[BLOCK_VALUES];
};

typedef struct machine {
    pcti_pickle *pickle;
    const unsigned char *data;
    size_t bytes, at;
    pcti_value **stack, **memo; /* an unset memo entry is NULL */
    size_t height, stack_capacity, memo_count, memo_capacity;
    size_t *marks; /* stack heights */
    size_t n_marks, marks_capacity;
} machine;

/* ---- values ---- */

pct_status pcti_value_new(pcti_pickle *pickle, pcti_kind kind, pcti_value **out)
{
    *out = NULL;
    if (pickle->values == MAX_VALUES) return pcti_fail(PCT_ERROR_FORMAT, "pickle: more than %d values", MAX_VALUES);
    if (!pickle->blocks || pickle->blocks->used == BLOCK_VALUES) {
        struct pcti_value_block *block = pcti_calloc(1, sizeof *block);
        if (!block) return PCT_ERROR_MEMORY;
        block->next = pickle->blocks;
        pickle->blocks = block;
    }
    pickle->values++;
    pcti_value *value = &pickle->blocks->values[pickle->blocks->used++];
    value->kind = kind;
    *out = value;
    return PCT_OK;
}

void pcti_pickle_free(pcti_pickle *pickle)
{
    while (pickle->blocks) {
        struct pcti_value_block *block = pickle->blocks;
        pickle->blocks = block->next;
        for (size_t i = 0; i < block->used; i++) {
            pcti_value *value = &block->values[i];
            if (value->kind == PCTI_LIST || value->kind == PCTI_TUPLE || value->kind == PCTI_DICT)
                pcti_free(value->u.items.list);
            else if (value->kind == PCTI_STORAGE)
                pcti_free(value->u.storage);
            else if (value->kind == PCTI_TENSOR)
                pcti_free(value->u.tensor);
        }
        pcti_free(block);
    }
    pcti_free(pickle->storages);
    *pickle = (pcti_pickle){0};
}

pct_status pcti_value_append(pcti_value *container, pcti_value *item)
{
    PCTI_RETURN_IF_FAILED(pcti_grow(&container->u.items.list, &container->u.items.capacity, container->u.items.count,
                                    sizeof *container->u.items.list));
    container->u.items.list[container->u.items.count++] = item;
    return PCT_OK;
}

int pcti_text_compare(pcti_text_view a, pcti_text_view b)
{
    size_t shorter = a.length < b.length ? a.length : b.length;
    int order = shorter ? memcmp(a.bytes, b.bytes, shorter) : 0;
    return order ? order : a.length < b.length ? -1 : a.length > b.length;
}

bool pcti_value_is_text(const pcti_value *value, const char *text)
{
    return value->kind == PCTI_STRING && value->u.text.length == strlen(text) &&
           !memcmp(value->u.text.bytes, text, value->u.text.length);
}

/* ---- input ---- */

static pct_status fail_at(const machine *m, const char *what)
{
    return pcti_fail(PCT_ERROR_FORMAT, "pickle: %s at byte %zu", what, m->at);
}

static pct_status take(machine *m, size_t count, const unsigned char **bytes)
{
    *bytes = NULL;
    if (count > m->bytes - m->at) return fail_at(m, "cut off");
    *bytes = m->data + m->at;
    m->at += count;
    return PCT_OK;
}

static pct_status take_number(machine *m, int width, uint64_t *value)
{
    const unsigned char *bytes;
    *value = 0;
    PCTI_RETURN_IF_FAILED(take(m, (size_t)width, &bytes));
    *value = pcti_le(bytes, width);
    return PCT_OK;
}

/* Bytes preceded by their count, a number of `width` bytes. */
static pct_status take_counted(machine *m, int width, pcti_text_view *text)
{
    uint64_t count;
    const unsigned char *bytes;
    PCTI_RETURN_IF_FAILED(take_number(m, width, &count));
    if (count > m->bytes - m->at) return fail_at(m, "a string is cut off");
    PCTI_RETURN_IF_FAILED(take(m, (size_t)count, &bytes));
    *text = (pcti_text_view){(const char *)bytes, (size_t)count};
    return PCT_OK;
}

static pct_status take_line(machine *m, pcti_text_view *text)
{
    const unsigned char *from = m->data + m->at,
                        *end = m->bytes > m->at ? memchr(from, '\n', m->bytes - m->at) : NULL;
    if (!end) return fail_at(m, "a line is cut off");
    *text = (pcti_text_view){(const char *)from, (size_t)(end - from)};
    m->at += text->length + 1;
    return PCT_OK;
}

/* ---- stack and memo ---- */

static pct_status push(machine *m, pcti_value *value)
{
    if (m->height == MAX_STACK) return fail_at(m, "the stack is too high");
    PCTI_RETURN_IF_FAILED(pcti_grow(&m->stack, &m->stack_capacity, m->height, sizeof *m->stack));
    m->stack[m->height++] = value;
    return PCT_OK;
}

static pct_status push_new(machine *m, pcti_kind kind, pcti_value **value)
{
    PCTI_RETURN_IF_FAILED(pcti_value_new(m->pickle, kind, value));
    return push(m, *value);
}

static size_t floor_of(const machine *m)
{
    return m->n_marks ? m->marks[m->n_marks - 1] : 0;
}

static pct_status pop(machine *m, pcti_value **value)
{
    if (m->height <= floor_of(m)) return fail_at(m, "the stack is empty");
    *value = m->stack[--m->height];
    return PCT_OK;
}

static pct_status top(const machine *m, pcti_value **value)
{
    if (m->height <= floor_of(m)) return fail_at(m, "the stack is empty");
    *value = m->stack[m->height - 1];
    return PCT_OK;
}

static pct_status push_mark(machine *m)
{
    if (m->n_marks == MAX_MARKS) return fail_at(m, "nested too deeply");
    PCTI_RETURN_IF_FAILED(pcti_grow(&m->marks, &m->marks_capacity, m->n_marks, sizeof *m->marks));
    m->marks[m->n_marks++] = m->height;
    return PCT_OK;
}

/* Everything above the last mark leaves the stack; it stays readable at *items until the next push. */
static pct_status pop_mark(machine *m, pcti_value ***items, size_t *count)
{
    *items = NULL;
    *count = 0;
    if (!m->n_marks) return fail_at(m, "no mark");
    size_t from = m->marks[--m->n_marks];
    *items = m->stack + from;
    *count = m->height - from;
    m->height = from;
    return PCT_OK;
}

static pct_status put(machine *m, uint64_t index)
{
    pcti_value *value;
    PCTI_RETURN_IF_FAILED(top(m, &value));
    if (index >= MAX_MEMO || index > m->at) return fail_at(m, "wild memo index"); /* a put takes at least a byte */
    while (m->memo_count <= index) {
        PCTI_RETURN_IF_FAILED(pcti_grow(&m->memo, &m->memo_capacity, m->memo_count, sizeof *m->memo));
        m->memo[m->memo_count++] = NULL;
    }
    m->memo[index] = value;
    return PCT_OK;
}

static pct_status get(machine *m, uint64_t index)
{
    if (index >= m->memo_count || !m->memo[index]) return fail_at(m, "unset memo entry");
    return push(m, m->memo[index]);
}

/* ---- what the opcodes make ---- */

static pct_status push_integer(machine *m, pcti_kind kind, int64_t integer)
{
    pcti_value *value;
    PCTI_RETURN_IF_FAILED(push_new(m, kind, &value));
    value->u.integer = integer;
    return PCT_OK;
}

static pct_status push_text(machine *m, pcti_kind kind, pcti_text_view text)
{
    pcti_value *value;
    PCTI_RETURN_IF_FAILED(push_new(m, kind, &value));
    value->u.text = text;
    return PCT_OK;
}

/* Two's complement, little-endian, any length. */
static pct_status push_long(machine *m, int width)
{
    pcti_text_view text;
    PCTI_RETURN_IF_FAILED(take_counted(m, width, &text));
    if (text.length <= 8) {
        uint64_t bits = pcti_le((const unsigned char *)text.bytes, (int)text.length);
        int unused = 64 - 8 * (int)text.length;
        return push_integer(m, PCTI_INTEGER, text.length ? (int64_t)(bits << unused) >> unused : 0);
    }
    return push_text(m, PCTI_LONG, text);
}

static pct_status push_counted_text(machine *m, int width)
{
    pcti_text_view text;
    PCTI_RETURN_IF_FAILED(take_counted(m, width, &text));
    return push_text(m, PCTI_STRING, text);
}

/* Protocol 0: 'text' or "text"; with `quoted` false a bare line. No state dict needs escapes. */
static pct_status push_text_line(machine *m, bool quoted)
{
    pcti_text_view text;
    PCTI_RETURN_IF_FAILED(take_line(m, &text));
    if (quoted) {
        if (text.length < 2 || (text.bytes[0] != '\'' && text.bytes[0] != '"') ||
            text.bytes[text.length - 1] != text.bytes[0])
            return fail_at(m, "a string without quotes");
        text.bytes++;
        text.length -= 2;
    }
    if (text.length && memchr(text.bytes, '\\', text.length)) return fail_at(m, "a string with escapes");
    return push_text(m, PCTI_STRING, text);
}

static pct_status take_decimal(machine *m, int64_t *value, bool *boolean)
{
    char digits[24];
    pcti_text_view text;
    PCTI_RETURN_IF_FAILED(take_line(m, &text));
    if (text.length && text.bytes[text.length - 1] == 'L') text.length--; /* Python 2's long */
    *boolean = text.length == 2 && text.bytes[0] == '0' && (text.bytes[1] == '0' || text.bytes[1] == '1');
    if (text.length >= sizeof digits) return fail_at(m, "a number is too long");
    memcpy(digits, text.bytes, text.length);
    digits[text.length] = 0;
    return strlen(digits) == text.length && pcti_parse_int(digits, value) ? PCT_OK : fail_at(m, "not a whole number");
}

static pct_status push_decimal(machine *m)
{
    int64_t value;
    bool boolean;
    PCTI_RETURN_IF_FAILED(take_decimal(m, &value, &boolean));
    return push_integer(m, boolean ? PCTI_BOOLEAN : PCTI_INTEGER, value);
}

static pct_status push_global(machine *m, pcti_text_view module, pcti_text_view name)
{
    pcti_value *value;
    PCTI_RETURN_IF_FAILED(pcti_pickle_global(m->pickle, module, name, &value));
    return push(m, value);
}

static pct_status push_global_lines(machine *m)
{
    pcti_text_view module, name;
    PCTI_RETURN_IF_FAILED(take_line(m, &module));
    PCTI_RETURN_IF_FAILED(take_line(m, &name));
    return push_global(m, module, name);
}

static pct_status push_stack_global(machine *m)
{
    pcti_value *module, *name;
    PCTI_RETURN_IF_FAILED(pop(m, &name));
    PCTI_RETURN_IF_FAILED(pop(m, &module));
    if (module->kind != PCTI_STRING || name->kind != PCTI_STRING) return fail_at(m, "a global without a name");
    return push_global(m, module->u.text, name->u.text);
}

static pct_status append_all(pcti_value *container, pcti_value **items, size_t count)
{
    for (size_t i = 0; i < count; i++) PCTI_RETURN_IF_FAILED(pcti_value_append(container, items[i]));
    return PCT_OK;
}

static pct_status push_container(machine *m, pcti_kind kind, pcti_value **items, size_t count)
{
    pcti_value *value;
    PCTI_RETURN_IF_FAILED(pcti_value_new(m->pickle, kind, &value));
    if (kind == PCTI_DICT && count % 2) return fail_at(m, "a key without a value");
    PCTI_RETURN_IF_FAILED(append_all(value, items, count));
    return push(m, value);
}

static pct_status push_marked(machine *m, pcti_kind kind)
{
    pcti_value **items;
    size_t count;
    PCTI_RETURN_IF_FAILED(pop_mark(m, &items, &count));
    return push_container(m, kind, items, count);
}

/* The last `count` of the stack become a tuple. */
static pct_status push_tuple(machine *m, size_t count)
{
    if (m->height < floor_of(m) + count) return fail_at(m, "the stack is empty");
    m->height -= count;
    return push_container(m, PCTI_TUPLE, m->stack + m->height, count);
}

/* Items go into the list or dict below them. */
static pct_status extend(machine *m, pcti_kind kind, pcti_value **items, size_t count)
{
    pcti_value *container;
    PCTI_RETURN_IF_FAILED(top(m, &container));
    if (container->kind != kind) return fail_at(m, kind == PCTI_LIST ? "append to no list" : "item set in no dict");
    if (kind == PCTI_DICT && count % 2) return fail_at(m, "a key without a value");
    return append_all(container, items, count);
}

static pct_status extend_marked(machine *m, pcti_kind kind)
{
    pcti_value **items;
    size_t count;
    PCTI_RETURN_IF_FAILED(pop_mark(m, &items, &count));
    return extend(m, kind, items, count);
}

static pct_status extend_last(machine *m, pcti_kind kind, size_t count)
{
    if (m->height < floor_of(m) + count) return fail_at(m, "the stack is empty");
    m->height -= count;
    return extend(m, kind, m->stack + m->height, count);
}

static pct_status call(machine *m)
{
    pcti_value *arguments, *function, *result;
    PCTI_RETURN_IF_FAILED(pop(m, &arguments));
    PCTI_RETURN_IF_FAILED(pop(m, &function));
    if (function->kind != PCTI_GLOBAL || arguments->kind != PCTI_TUPLE) return fail_at(m, "a call of no function");
    PCTI_RETURN_IF_FAILED(pcti_pickle_call(m->pickle, function, arguments, &result));
    return push(m, result);
}

/* A state dict carries its modules' versions as the attribute _metadata: dropped. */
static pct_status build(machine *m)
{
    pcti_value *state, *object;
    PCTI_RETURN_IF_FAILED(pop(m, &state));
    PCTI_RETURN_IF_FAILED(top(m, &object));
    return object->kind == PCTI_DICT && state->kind == PCTI_DICT ? PCT_OK : fail_at(m, "state of no dict");
}

static pct_status load_persistent(machine *m)
{
    pcti_value *id, *value;
    PCTI_RETURN_IF_FAILED(pop(m, &id));
    PCTI_RETURN_IF_FAILED(pcti_pickle_persistent(m->pickle, id, &value));
    return push(m, value);
}

static pct_status duplicate(machine *m)
{
    pcti_value *value;
    PCTI_RETURN_IF_FAILED(top(m, &value));
    return push(m, value);
}

static pct_status drop(machine *m)
{
    pcti_value **items;
    size_t count;
    if (m->n_marks && m->height == floor_of(m)) return pop_mark(m, &items, &count); /* POP also takes a bare mark */
    return m->height ? (m->height--, PCT_OK) : fail_at(m, "the stack is empty");
}

/* Memo entries and numbers that take an argument of their own. */
static pct_status step_numbered(machine *m, unsigned char opcode)
{
    uint64_t number = 0;
    int64_t decimal = 0;
    bool boolean;
    int width = opcode == 'q' || opcode == 'h' || opcode == 'K' || opcode == 0x80 ? 1
                : opcode == 'M'                                                   ? 2
                : opcode == 'r' || opcode == 'j' || opcode == 'J'                 ? 4
                : opcode == 'G' || opcode == 0x95                                 ? 8
                                                                                  : 0;
    if (width)
        PCTI_RETURN_IF_FAILED(take_number(m, width, &number));
    else
        PCTI_RETURN_IF_FAILED(take_decimal(m, &decimal, &boolean));
    switch (opcode) {
    case 'q':
    case 'r': return put(m, number);
    case 'p': return put(m, (uint64_t)decimal);
    case 'h':
    case 'j': return get(m, number);
    case 'g': return get(m, (uint64_t)decimal);
    case 'K':
    case 'M': return push_integer(m, PCTI_INTEGER, (int64_t)number);
    case 'J': return push_integer(m, PCTI_INTEGER, (int32_t)(uint32_t)number);
    case 'G': return push_integer(m, PCTI_REAL, 0);
    case 0x80: return number <= 5 ? PCT_OK : fail_at(m, "protocol above 5");
    default: return PCT_OK; /* FRAME: the length of what follows, for those who read in pieces */
    }
}

static pct_status step(machine *m, unsigned char opcode)
{
    pcti_text_view text, name;
    pcti_value **items;
    size_t count;
    switch (opcode) {
    case '(': return push_mark(m);
    case '0': return drop(m);
    case '1': return pop_mark(m, &items, &count);
    case '2': return duplicate(m);
    case 'N': return push_integer(m, PCTI_NONE, 0);
    case 0x88:
    case 0x89: return push_integer(m, PCTI_BOOLEAN, opcode == 0x88);
    case 'I':
    case 'L': return push_decimal(m);
    case 0x8a: return push_long(m, 1);
    case 0x8b: return push_long(m, 4);
    case 'F': PCTI_RETURN_IF_FAILED(take_line(m, &text)); return push_integer(m, PCTI_REAL, 0);
    case 'S': return push_text_line(m, true);
    case 'V': return push_text_line(m, false);
    case 'U':
    case 'C':
    case 0x8c: return push_counted_text(m, 1);
    case 'T':
    case 'B':
    case 'X': return push_counted_text(m, 4);
    case 0x8d:
    case 0x8e: return push_counted_text(m, 8);
    case ')': return push_container(m, PCTI_TUPLE, NULL, 0);
    case ']': return push_container(m, PCTI_LIST, NULL, 0);
    case '}': return push_container(m, PCTI_DICT, NULL, 0);
    case 't': return push_marked(m, PCTI_TUPLE);
    case 'l': return push_marked(m, PCTI_LIST);
    case 'd': return push_marked(m, PCTI_DICT);
    case 0x85:
    case 0x86:
    case 0x87: return push_tuple(m, opcode - 0x84u);
    case 'a': return extend_last(m, PCTI_LIST, 1);
    case 'e': return extend_marked(m, PCTI_LIST);
    case 's': return extend_last(m, PCTI_DICT, 2);
    case 'u': return extend_marked(m, PCTI_DICT);
    case 'c': return push_global_lines(m);
    case 'i': /* INST, protocol 0's call of a class; names it like a global */
        PCTI_RETURN_IF_FAILED(take_line(m, &text));
        PCTI_RETURN_IF_FAILED(take_line(m, &name));
        PCTI_RETURN_IF_FAILED(push_global(m, text, name));
        return fail_at(m, "opcode INST");
    case 0x93: return push_stack_global(m);
    case 0x94: return put(m, m->memo_count);
    case 'R': return call(m);
    case 'b': return build(m);
    case 'Q': return load_persistent(m);
    case 'q':
    case 'r':
    case 'p':
    case 'h':
    case 'j':
    case 'g':
    case 'K':
    case 'M':
    case 'J':
    case 'G':
    case 0x80:
    case 0x95: return step_numbered(m, opcode);
    default:
        return pcti_fail(PCT_ERROR_UNSUPPORTED, "pickle: opcode 0x%02x at byte %zu, which no state dict needs",
                         opcode, m->at - 1);
    }
}

pct_status pcti_pickle_read(pcti_pickle *pickle, const unsigned char *data, size_t bytes, size_t *used,
                            pcti_value **root)
{
    machine m = {.pickle = pickle, .data = data, .bytes = bytes};
    pct_status status;
    const unsigned char *opcode;
    *root = NULL;
    for (;;) {
        PCTI_TRY(take(&m, 1, &opcode));
        if (*opcode == '.') break;
        PCTI_TRY(step(&m, *opcode));
    }
    PCTI_TRY(pop(&m, root));
    *used = m.at;
fail:
    pcti_free(m.stack);
    pcti_free(m.memo);
    pcti_free(m.marks);
    return status;
}
