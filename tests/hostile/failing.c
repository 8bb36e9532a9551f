/* Loaded before all else: the k-th allocation of a call fails, once. */
#define _GNU_SOURCE
#include <dlfcn.h>
#include <errno.h>
#include <stdlib.h>

static void *(*real_malloc)(size_t);
static void *(*real_calloc)(size_t, size_t);
static void *(*real_realloc)(void *, size_t);
static char early[65536];
static size_t early_used;
static volatile long left = -1; /* allocations until one fails; negative: none does */
static volatile long seen;

static void find(void) {
    real_malloc = dlsym(RTLD_NEXT, "malloc");
    real_realloc = dlsym(RTLD_NEXT, "realloc");
    real_calloc = dlsym(RTLD_NEXT, "calloc");
}

static int fails(void) {
    __atomic_add_fetch(&seen, 1, __ATOMIC_SEQ_CST);
    if (left < 0) return 0;
    if (__atomic_fetch_sub(&left, 1, __ATOMIC_SEQ_CST) != 0) return 0;
    errno = ENOMEM;
    return 1;
}

void fail_after(long count) {
    seen = 0;
    left = count;
}

long allocations(void) { return seen; }

void *malloc(size_t size) {
    if (real_malloc == NULL) find();
    return fails() ? NULL : real_malloc(size);
}

void *calloc(size_t count, size_t size) {
    if (real_calloc == NULL) { /* dlsym asks for memory itself */
        void *found = early + early_used;
        early_used += (count * size + 15) / 16 * 16;
        return early_used <= sizeof early ? found : NULL;
    }
    return fails() ? NULL : real_calloc(count, size);
}

void *realloc(void *before, size_t size) {
    if (real_realloc == NULL) find();
    return fails() ? NULL : real_realloc(before, size);
}

void free(void *memory) {
    static void (*real_free)(void *);
    if ((char *)memory >= early && (char *)memory < early + sizeof early) return;
    if (real_free == NULL) real_free = dlsym(RTLD_NEXT, "free");
    real_free(memory);
}
