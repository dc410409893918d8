#include "run_tool.h"

#include <dirent.h>
#include <errno.h>
#include <fcntl.h>
#include <signal.h>
#include <sys/stat.h>
#include <sys/wait.h>
#include <time.h>
#include <unistd.h>

#include "base/file.h"

enum { MAX_WORDS = 64, LINE_BYTES = 4096, PATIENCE_MS = 60000 };

char scratch[64];

int make_scratch(void **state)
{
    snprintf(scratch, sizeof scratch, "pct-tool-test-XXXXXX");
    return mkdtemp(scratch) ? 0 : -1;
}

static void remove_folder(const char *path)
{
    DIR *folder = opendir(path);
    const struct dirent *entry;
    while (folder && (entry = readdir(folder))) {
        if (!strcmp(entry->d_name, ".") || !strcmp(entry->d_name, "..")) continue;
        char *file = pcti_format("%s/%s", path, entry->d_name);
        if (unlink(file)) remove_folder(file);
        pcti_free(file);
    }
    if (folder) closedir(folder);
    rmdir(path);
}

int remove_scratch(void **state)
{
    remove_folder(scratch);
    return 0;
}

const char *in_scratch(const char *name)
{
    static char paths[8][192];
    static size_t next;
    char *path = paths[next++ % 8];
    snprintf(path, sizeof paths[0], "%s/%s", scratch, name);
    return path;
}

void write_scratch(const char *name, const void *data, size_t bytes)
{
    assert_ok(pcti_file_replace(in_scratch(name), data, bytes));
}

/* Cuts the line into words, in place. */
static int cut(char *line, char **words)
{
    int count = 0;
    for (char *save, *word = strtok_r(line, " ", &save); word; word = strtok_r(NULL, " ", &save)) {
        assert_true(count < MAX_WORDS - 1);
        words[count++] = word;
    }
    words[count] = NULL;
    return count;
}

running start_tool(const char *program, const char *words, int out)
{
    static int number;
    running tool = {0};
    char line[LINE_BYTES], *cells[MAX_WORDS], *argv[MAX_WORDS + 1];
    number++;
    snprintf(tool.out_path, sizeof tool.out_path, "%s/out.%d", scratch, number);
    snprintf(tool.err_path, sizeof tool.err_path, "%s/err.%d", scratch, number);
    assert_true((size_t)snprintf(line, sizeof line, "%s", words) < sizeof line);
    int count = cut(line, cells), first = 0, argc = 0;
    fflush(NULL);
    tool.pid = fork();
    assert_true(tool.pid >= 0);
    if (tool.pid) return tool;
    for (; first < count && cells[first][0] != '-' && strchr(cells[first], '='); first++) putenv(cells[first]);
    argv[argc++] = (char *)(uintptr_t)program;
    while (first < count) argv[argc++] = cells[first++];
    argv[argc] = NULL;
    if (out < 0) out = open(tool.out_path, O_WRONLY | O_CREAT | O_TRUNC, 0600);
    int err = open(tool.err_path, O_WRONLY | O_CREAT | O_TRUNC, 0600), in = open("/dev/null", O_RDONLY);
    if (dup2(in, 0) == 0 && dup2(out, 1) == 1 && dup2(err, 2) == 2) execv(program, argv);
    _exit(127);
}

static char *read_all(const char *path)
{
    pcti_file file;
    if (pcti_file_map(path, &file) != PCT_OK) return pcti_strdup("");
    char *text = pcti_calloc(file.bytes + 1, 1);
    assert_non_null(text);
    if (file.bytes) memcpy(text, file.data, file.bytes);
    pcti_file_unmap(&file);
    return text;
}

void wait_for_output(const running *tool)
{
    struct stat info;
    for (int ms = 0; ms < PATIENCE_MS; ms++) {
        siginfo_t ended = {.si_pid = 0};
        if (!stat(tool->out_path, &info) && info.st_size) return;
        waitid(P_PID, (id_t)tool->pid, &ended, WEXITED | WNOHANG | WNOWAIT);
        if (ended.si_pid) fail_msg("ended without output; see %s", tool->err_path);
        nanosleep(&(struct timespec){.tv_nsec = 1000000}, NULL);
    }
    kill(tool->pid, SIGKILL);
    fail_msg("no output after %d s", PATIENCE_MS / 1000);
}

outcome wait_tool(const running *tool)
{
    int status = 0;
    while (waitpid(tool->pid, &status, 0) < 0) assert_int_equal(errno, EINTR);
    return (outcome){.code = WIFEXITED(status) ? WEXITSTATUS(status) : 1000 + WTERMSIG(status),
                     .out = read_all(tool->out_path),
                     .err = read_all(tool->err_path)};
}

outcome run_tool(const char *program, const char *format, ...)
{
    char line[LINE_BYTES];
    va_list args;
    va_start(args, format);
    int length = vsnprintf(line, sizeof line, format, args);
    va_end(args);
    assert_in_range(length, 0, sizeof line - 1);
    running tool = start_tool(program, line, -1);
    return wait_tool(&tool);
}

void outcome_free(outcome *result)
{
    pcti_free(result->out);
    pcti_free(result->err);
}

void expect(const char *program, const char *words, int code, const char *message)
{
    outcome result = run_tool(program, "%s", words);
    if (result.code != code) fail_msg("%s: exit code %d, not %d:\n%s", words, result.code, code, result.err);
    assert_contains(result.err, message);
    outcome_free(&result);
}
