/* SPDX-License-Identifier: Apache-2.0
 *
 * Child processes of the target. They know nothing of virtual time.
 */
#include "binding/binding.h"
#include <dirent.h>
#include <fcntl.h>
#include <sys/wait.h>
#include <unistd.h>

int uns_has_children(void) {
    siginfo_t found;
    return waitid(P_ALL, 0, &found, WEXITED | WNOHANG | WNOWAIT) == 0;
}

/* Gives the length of what was read, or -1. */
static ssize_t read_file(const char *path, char *text, size_t size) {
    int fd = open(path, O_RDONLY | O_CLOEXEC);
    ssize_t length = fd < 0 ? -1 : read(fd, text, size - 1);
    if (fd >= 0)
        close(fd);
    text[length > 0 ? length : 0] = 0;
    return length;
}

/* Has it ended, though nobody has asked for its status? */
static int is_zombie(long pid) {
    char path[64], line[256];
    snprintf(path, sizeof path, "/proc/%ld/stat", pid);
    const char *end = read_file(path, line, sizeof line) > 0 ? strrchr(line, ')') : NULL;
    return end && end[1] && end[2] == 'Z';
}

/* Where the kernel does not list them, one may run. */
static int any_of_thread_runs(const char *thread) {
    char path[64], text[4096], *end;
    snprintf(path, sizeof path, "/proc/self/task/%.20s/children", thread);
    if (read_file(path, text, sizeof text) < 0)
        return 1;
    for (char *at = text;; at = end) {
        long pid = strtol(at, &end, 10);
        if (end == at)
            return 0;
        if (!is_zombie(pid))
            return 1;
    }
}

int uns_children_run(void) {
    siginfo_t found = {.si_pid = 0};
    if (waitid(P_ALL, 0, &found, WEXITED | WNOHANG | WNOWAIT) < 0)
        return 0;
    if (!found.si_pid)
        return 1;
    int any = 0;
    DIR *folder = opendir("/proc/self/task");
    for (const struct dirent *one; folder && !any && (one = readdir(folder));)
        any = one->d_name[0] != '.' && any_of_thread_runs(one->d_name);
    if (folder)
        closedir(folder);
    return any;
}
