// POSIX threads: a barrier, a condition, a read-write lock, thread-local data.
#include "mark.h"
#include <pthread.h>
#include <stdio.h>

enum { THREADS = 4, ROUNDS = 50 };
static pthread_barrier_t barrier;
static pthread_rwlock_t lock = PTHREAD_RWLOCK_INITIALIZER;
static pthread_mutex_t mutex = PTHREAD_MUTEX_INITIALIZER;
static pthread_cond_t filled = PTHREAD_COND_INITIALIZER;
static long shared, queue[16];
static int queued;
static __thread long own;

static void *work(void *number) {
    for (int i = 0; i < ROUNDS; i++) {
        own += (long)number + i;
        pthread_rwlock_wrlock(&lock);
        shared += own;
        pthread_rwlock_unlock(&lock);
        pthread_barrier_wait(&barrier);
    }
    pthread_mutex_lock(&mutex);
    queue[queued++] = own;
    pthread_cond_signal(&filled);
    pthread_mutex_unlock(&mutex);
    return (void *)own;
}

int main(void) {
    pthread_t threads[THREADS];
    pthread_barrier_init(&barrier, NULL, THREADS);
    for (long i = 0; i < THREADS; i++) pthread_create(&threads[i], NULL, work, (void *)i);
    pthread_mutex_lock(&mutex);
    while (queued < THREADS) pthread_cond_wait(&filled, &mutex);
    pthread_mutex_unlock(&mutex);
    long sum = 0;
    for (int i = 0; i < THREADS; i++) {
        void *result;
        pthread_join(threads[i], &result);
        sum += (long)result;
    }
    printf("%ld %ld %d\n", shared, sum, queued);
    return 0;
}
