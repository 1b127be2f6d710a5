/* fibers.cpp - fibers, one after the other in a ring: by a few instructions where they are written down
 * below, elsewhere by ucontext, which calls the system at every switch. */
#include "fibers.h"

#include <cstddef>
#include <cstdio>
#include <cstdlib>
#include <sys/mman.h>
#ifndef __x86_64__
#include <ucontext.h>
#endif

#if defined __has_feature
#if __has_feature(address_sanitizer)
#define WITH_ASAN 1
#endif
#if __has_feature(thread_sanitizer)
#define WITH_TSAN 1
#endif
#endif
#if defined __SANITIZE_ADDRESS__
#define WITH_ASAN 1
#endif
#if defined __SANITIZE_THREAD__
#define WITH_TSAN 1
#endif

#ifdef WITH_ASAN
#include <sanitizer/asan_interface.h>
#include <sanitizer/common_interface_defs.h>
#endif
#ifdef WITH_TSAN
#include <sanitizer/tsan_interface.h>
extern "C" void AnnotateBenignRaceSized(const char *file, int line, const volatile void *address,
                                        unsigned long bytes, const char *why);
/* Fibers of one thread share what is below without saying so. */
#define UNSEEN __attribute__((no_sanitize("thread")))
#else
#define UNSEEN
#endif

enum { MOST = 8192, STACK = 256 * 1024 };

#ifdef __x86_64__
typedef void *fiber_context; /* the stack pointer; on the stack the registers that a call keeps */

extern "C" void fiber_jump(fiber_context *from, const fiber_context *to);
asm(".text\n"
    ".type fiber_jump, @function\n"
    "fiber_jump:\n"
    "    push %rbp\n    push %rbx\n    push %r12\n    push %r13\n    push %r14\n    push %r15\n"
    "    mov %rsp, (%rdi)\n"
    "    mov (%rsi), %rsp\n"
    "    pop %r15\n    pop %r14\n    pop %r13\n    pop %r12\n    pop %rbx\n    pop %rbp\n"
    "    ret\n"
    ".size fiber_jump, .-fiber_jump\n");

static void fiber_prepare(fiber_context *context, void *stack, void (*begin)())
{
    enum { REGISTERS = 6 };
    void **const top = reinterpret_cast<void **>(static_cast<unsigned char *>(stack) + STACK);
    top[-1] = nullptr; /* where `begin` would return to */
    top[-2] = reinterpret_cast<void *>(begin);
    for (int i = 0; i < REGISTERS; i++)
        top[-3 - i] = nullptr;
    *context = top - 2 - REGISTERS;
}
#else
typedef ucontext_t fiber_context;

static void fiber_jump(fiber_context *from, const fiber_context *to)
{
    swapcontext(from, to);
}

static void fiber_prepare(fiber_context *context, void *stack, void (*begin)())
{
    getcontext(context);
    context->uc_stack.ss_sp = stack;
    context->uc_stack.ss_size = STACK;
    context->uc_link = nullptr;
    makecontext(context, begin, 0);
}
#endif

struct fiber {
    fiber_context context;
    fiber_barrier *waits; /* nullptr: it can go on */
    unsigned generation;  /* of that barrier, when it began to wait */
    bool ended;
    bool yielded; /* and nothing has happened since that it may wait for */
    void *stack;  /* STACK bytes */
    size_t stack_bytes;
    void *fake_stack; /* AddressSanitizer's */
    void *sanitizer;  /* ThreadSanitizer's fiber */
};

static fiber fibers[MOST], host;
static unsigned fiber_count, current;
static unsigned late_first, late_count;
static void (*fiber_body)(void *, unsigned);
static void *fiber_cookie;
static char began, finished; /* what ThreadSanitizer knows of the ring's begin and end */

UNSEEN static bool can_go_on(const fiber &f)
{
    return !f.ended && (f.waits == nullptr || f.waits->generation != f.generation);
}

UNSEEN static bool is_late(unsigned i)
{
    return i - late_first < late_count;
}

/* The next fiber in the ring that can go on and is late, or else is not and has not yielded; the current one
 * last. fiber_count: there is none. */
UNSEEN static unsigned next_of(bool late)
{
    unsigned i = current;
    for (unsigned k = 1; k <= fiber_count; k++) {
        i = i + 1 < fiber_count ? i + 1 : 0; /* no division: rings are long, and mostly wait */
        if (is_late(i) == late && (late || late_count == 0 || !fibers[i].yielded) && can_go_on(fibers[i]))
            return i;
    }
    return fiber_count;
}

/* Whose turn it is. */
UNSEEN static unsigned next_fiber()
{
    const unsigned next = next_of(false);
    if (next < fiber_count || late_count == 0)
        return next;
    for (unsigned i = 0; i < fiber_count; i++)
        fibers[i].yielded = false;
    const unsigned late = next_of(true);
    return late < fiber_count ? late : next_of(false);
}

/* From one stack to another; returns when somebody switches back. */
UNSEEN static void switch_stacks(fiber &from, fiber &to)
{
#ifdef WITH_ASAN
    __sanitizer_start_switch_fiber(from.ended ? nullptr : &from.fake_stack, to.stack, to.stack_bytes);
#endif
#ifdef WITH_TSAN
    __tsan_switch_to_fiber(to.sanitizer, __tsan_switch_to_fiber_no_sync);
#endif
    fiber_jump(&from.context, &to.context);
#ifdef WITH_ASAN
    __sanitizer_finish_switch_fiber(from.fake_stack, nullptr, nullptr);
#endif
}

UNSEEN static void go_to(unsigned next)
{
    if (next == current)
        return;
    fiber &from = fibers[current];
    current = next;
    switch_stacks(from, fibers[next]);
}

UNSEEN static void run_fiber()
{
#ifdef WITH_ASAN
    const void *bottom;
    size_t bytes;
    __sanitizer_finish_switch_fiber(nullptr, &bottom, &bytes);
    if (host.stack == nullptr) {
        host.stack = const_cast<void *>(bottom);
        host.stack_bytes = bytes;
    }
#endif
#ifdef WITH_TSAN
    __tsan_acquire(&began);
#endif
    fiber_body(fiber_cookie, current);
#ifdef WITH_TSAN
    __tsan_release(&finished);
#endif
    fiber &self = fibers[current];
    self.ended = true;
    bool all = true;
    for (unsigned i = 0; i < fiber_count && all; i++)
        all = fibers[i].ended;
    if (all)
        switch_stacks(self, host);
    else if (next_fiber() < fiber_count)
        go_to(next_fiber());
    std::fprintf(stderr, "emulated GPU: some threads of a kernel wait for others that have ended\n");
    std::abort();
}

UNSEEN void fibers_run(unsigned count, void (*body)(void *, unsigned), void *cookie)
{
    static unsigned char *stacks;
    static unsigned room;
    if (count > MOST || count == 0)
        std::abort();
    if (count > room) {
        stacks = static_cast<unsigned char *>(mmap(nullptr, (size_t)count * STACK, PROT_READ | PROT_WRITE,
                                                   MAP_PRIVATE | MAP_ANONYMOUS | MAP_NORESERVE, -1, 0));
        if (stacks == MAP_FAILED)
            std::abort();
        room = count;
    }
    fiber_count = count;
    fiber_body = body;
    fiber_cookie = cookie;
    host.stack = nullptr;
    for (unsigned i = 0; i < count; i++) {
        fiber &f = fibers[i];
        f.waits = nullptr;
        f.ended = f.yielded = false;
        f.stack = stacks + (size_t)i * STACK;
        f.stack_bytes = STACK;
        f.fake_stack = nullptr;
#ifdef WITH_ASAN
        __asan_unpoison_memory_region(f.stack,
                                      STACK); /* fibers of an earlier run have left theirs by a jump */
#endif
        fiber_prepare(&f.context, f.stack, run_fiber);
#ifdef WITH_TSAN
        if (f.sanitizer == nullptr) /* one for all runs: it is the dearest part of a fiber */
            f.sanitizer = __tsan_create_fiber(0);
#endif
    }
#ifdef WITH_TSAN
    host.sanitizer = __tsan_get_current_fiber();
    __tsan_release(&began);
#endif
    current = count - 1;
    current = next_fiber();
    switch_stacks(host, fibers[current]);
#ifdef WITH_TSAN
    __tsan_acquire(&finished);
#endif
}

void fibers_share(void *address, unsigned long bytes)
{
#ifdef WITH_TSAN
    AnnotateBenignRaceSized(__FILE__, __LINE__, address, bytes, "one thread runs all fibers");
#else
    (void)address;
    (void)bytes;
#endif
}

UNSEEN void fiber_wait(fiber_barrier *barrier)
{
    const unsigned generation = barrier->generation;
#ifdef WITH_TSAN
    __tsan_release(&barrier->sync[generation & 1]);
#endif
    if (++barrier->arrived == barrier->count) {
        barrier->arrived = 0;
        barrier->generation++;
    } else {
        fibers[current].waits = barrier;
        fibers[current].generation = generation;
        const unsigned next = next_fiber();
        if (next == fiber_count) {
            std::fprintf(stderr, "emulated GPU: the threads of a kernel wait for each other\n");
            std::abort();
        }
        go_to(next);
        fibers[current].waits = nullptr;
    }
#ifdef WITH_TSAN
    __tsan_acquire(&barrier->sync[generation & 1]);
#endif
}

UNSEEN void fiber_yield()
{
    fibers[current].yielded = true;
    go_to(next_fiber());
}

void fibers_delay(unsigned first, unsigned count)
{
    late_first = first;
    late_count = count;
}
