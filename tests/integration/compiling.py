# SPDX-License-Identifier: Apache-2.0
"""What the tests of the compiler's wrapper share: programs, and what must hold of what is built."""

import os
import shutil
import subprocess
import sys
from pathlib import Path

# Both compilers of a kind, by the environment that chooses them.
FAMILIES = {
    name: {"UNSNARL_CC": cc, "UNSNARL_CXX": cxx}
    for name, cc, cxx in (("gcc", "gcc", "g++"), ("clang", "clang", "clang++"))
    if name == "gcc" or (shutil.which(cc) and shutil.which(cxx))
}
# By the subcommand, how its code ends.
LANGUAGES = {"cc": "c", "c++": "cpp"}
SCRIPTS = Path(sys.executable).parent

COUNTER = """
#include <pthread.h>
#include <stdio.h>
#include "start.h"
static pthread_mutex_t mutex = PTHREAD_MUTEX_INITIALIZER;
static int count;
static void *work(void *argument) {
    for (int i = 0; i < 3; i++) {
        pthread_mutex_lock(&mutex);
        count++;
        pthread_mutex_unlock(&mutex);
    }
    return argument;
}
int main(void) {
    pthread_t threads[2];
    for (int i = 0; i < 2; i++)
        pthread_create(&threads[i], 0, work, 0);
    for (int i = 0; i < 2; i++)
        pthread_join(threads[i], 0);
    printf("%d\\n", START + count);
    return 7;
}
"""
# Two threads that add to a balance without a lock; fails when one sum is lost.
BANK = """
#include <assert.h>
#include <pthread.h>
int balance;
void add(int);
static void *deposit(void *argument) {
    add(1);
    return argument;
}
int main(void) {
    pthread_t threads[2];
    for (int i = 0; i < 2; i++)
        pthread_create(&threads[i], 0, deposit, 0);
    for (int i = 0; i < 2; i++)
        pthread_join(threads[i], 0);
    assert(balance == 2);
    return 0;
}
"""
ADD = "extern int balance;\nvoid add(int n) { balance = balance + n; }\n"


def call(*words, **environment):
    """The words as a command, in the current folder."""
    env = os.environ | environment
    return subprocess.run(words, capture_output=True, text=True, check=False, env=env)


def done(*words, **environment):
    """A command that must succeed, without a word of complaint."""
    answer = call(*words, **environment)
    assert (answer.returncode, answer.stderr) == (0, ""), answer
    return answer.stdout


def counts(program="./a.out"):
    """The counter runs as it would without us."""
    answer = call(program)
    assert (answer.returncode, answer.stdout, answer.stderr) == (7, "16\n", "")


def symbols(path):
    return {row.split()[-1] for row in done("nm", path).splitlines()}


def is_observed(program="./a.out"):
    """The probe is in it, and the code calls it."""
    names = symbols(program)
    return "uns_rt" in names and "__tsan_write4" in names and not has_libtsan(program)


def has_libtsan(program):
    return "libtsan" in done("ldd", program)


def fails_when_hunted(program):
    wanted = ("--fail", "3", "--pass", "3", "--no-confirm", "--json", "-")
    answer = call("unsnarl", "hunt", *wanted, "--", program)
    assert answer.returncode == 1, answer.stderr
    return "balance == 2" in answer.stdout
