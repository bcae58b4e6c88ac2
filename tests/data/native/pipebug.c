/* Workers take jobs from a pipe; two of them may count one job. */
#include <assert.h>
#include <pthread.h>
#include <unistd.h>

static int jobs[2], done[2], finished;

static void *work(void *argument) {
    char job;
    while (read(jobs[0], &job, 1) == 1 && job) {
        int seen = finished;
        finished = seen + 1;
        write(done[1], &job, 1);
    }
    return argument;
}

int main(void) {
    pthread_t threads[2];
    char byte = 0;
    assert(pipe(jobs) == 0 && pipe(done) == 0);
    for (int i = 0; i < 2; i++)
        pthread_create(&threads[i], NULL, work, NULL);
    for (int i = 0; i < 4; i++)
        write(jobs[1], "j", 1);
    for (int i = 0; i < 4; i++)
        read(done[0], &byte, 1);
    byte = 0;
    for (int i = 0; i < 2; i++)
        write(jobs[1], &byte, 1);
    for (int i = 0; i < 2; i++)
        pthread_join(threads[i], NULL);
    assert(finished == 4);
    return 0;
}
