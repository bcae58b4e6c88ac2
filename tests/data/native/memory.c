/* Lines that end in R, W or RW read, write or do both to memory that two threads share. */
#include <pthread.h>
#include <stdio.h>
#include <string.h>

struct small {
    int a, b, c;
};
struct large {
    long words[40];
};

static char from[4096], to[4096], text[64] = "seven", other[64] = "seven";
struct small few, fewer;
struct large much, more, blank;
static volatile size_t size = 1000;
static volatile int result;

static void touch(void) {
    memcpy(to, from, size);              /* RW */
    memmove(to + 1, to, size);           /* RW */
    memset(to, 1, size);                 /* W */
    result = memcmp(to, from, size);     /* R */
    result = (int)strlen(text);          /* R */
    strcpy(text, other);                 /* RW */
    strncpy(text, other, size / 20);     /* RW */
    strcat(text, other);                 /* RW */
    result = strcmp(text, other);        /* R */
    result = strncmp(text, other, size); /* R */
    memcpy(to, from, 8);                 /* RW */
    few = fewer;                         /* RW */
    much = more;                         /* RW */
    memset(&blank, 0, sizeof blank);     /* W */
}

static void *work(void *argument) {
    touch();
    return argument;
}

int main(void) {
    pthread_t thread;
    pthread_create(&thread, NULL, work, NULL);
    pthread_join(thread, NULL);
    text[0] = 0;
    touch();
    puts("ok");
    return 0;
}
