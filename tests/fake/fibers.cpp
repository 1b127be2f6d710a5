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
#endif

enum {
    MOST = 8192,
    STACK = 256 * 1024,
    STRIDE = STACK +
             17 * 64, /* between stacks: at a power of two all of them would use the same lines of a cache */
};

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
    unsigned behind; /* 1 + another that waits at the same barrier, 0: none */
    bool ended;
    void *stack; /* STACK bytes */
    size_t stack_bytes;
    void *fake_stack; /* AddressSanitizer's */
    void *sanitizer;  /* ThreadSanitizer's fiber */
};

static fiber fibers[MOST], host;
static unsigned fiber_count, running, current;
static void (*fiber_body)(void *, unsigned);
static void *fiber_cookie;
static char began, finished; /* ThreadSanitizer's state at the start and end of the ring */

/* Sets of fibers, a bit for each: rings are long, and mostly wait. */
enum { BITS = 64, WORDS = MOST / BITS };
typedef unsigned long long word;
struct fiber_set {
    word bits[WORDS];
};
static fiber_set able;    /* they can continue */
static fiber_set late;    /* fibers_delay */
static fiber_set yielded; /* where some are late: nothing has happened since that they may wait for */
static bool any_late;

UNSEEN static void add(fiber_set &set, unsigned i)
{
    set.bits[i / BITS] |= (word)1 << i % BITS;
}

UNSEEN static void drop(fiber_set &set, unsigned i)
{
    set.bits[i / BITS] &= ~((word)1 << i % BITS);
}

UNSEEN static void clear(fiber_set &set)
{
    for (word &bits : set.bits)
        bits = 0;
}

/* The next fiber in the ring that can continue: of_late: one that is late; else one that is neither late nor has
   yielded.  The current one comes last.  fiber_count: there is none. */
UNSEEN static unsigned next_of(bool of_late)
{
    const unsigned first = current + 1 < fiber_count ? current + 1 : 0,
                   words = (fiber_count + BITS - 1) / BITS;
    word mask = ~(word)0 << first % BITS;
    unsigned w = first / BITS;
    for (unsigned k = 0; k <= words;
         k++) { /* the first word again at the end, with what lies before `first` */
        const word bits = able.bits[w] & mask & (of_late ? late.bits[w] : ~(late.bits[w] | yielded.bits[w]));
        if (bits != 0)
            return w * BITS + (unsigned)__builtin_ctzll(bits);
        mask = ~(word)0;
        w = w + 1 < words ? w + 1 : 0;
    }
    return fiber_count;
}

/* The number of the fiber that runs next. */
UNSEEN static unsigned next_fiber()
{
    const unsigned next = next_of(false);
    if (next < fiber_count || !any_late)
        return next;
    clear(yielded);
    const unsigned one = next_of(true);
    return one < fiber_count ? one : next_of(false);
}

/* From one stack to another; returns when another fiber switches back. */
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
    drop(able, current);
    if (--running == 0)
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
        stacks = static_cast<unsigned char *>(mmap(nullptr, (size_t)count * STRIDE, PROT_READ | PROT_WRITE,
                                                   MAP_PRIVATE | MAP_ANONYMOUS | MAP_NORESERVE, -1, 0));
        if (stacks == MAP_FAILED)
            std::abort();
        room = count;
    }
    fiber_count = running = count;
    clear(able);
    clear(yielded);
    fiber_body = body;
    fiber_cookie = cookie;
    host.stack = nullptr;
    for (unsigned i = 0; i < count; i++) {
        fiber &f = fibers[i];
        f.ended = false;
        add(able, i);
        f.stack = stacks + (size_t)i * STRIDE;
        f.stack_bytes = STACK;
        f.fake_stack = nullptr;
#ifdef WITH_ASAN
        __asan_unpoison_memory_region(f.stack,
                                      STACK); /* fibers of an earlier run have left theirs by a jump */
#endif
        fiber_prepare(&f.context, f.stack, run_fiber);
#ifdef WITH_TSAN
        if (f.sanitizer == nullptr) /* one for all runs: it is the most expensive part of a fiber */
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

UNSEEN void fiber_wait(fiber_barrier *barrier)
{
    const unsigned generation = barrier->generation;
#ifdef WITH_TSAN
    __tsan_release(&barrier->sync[generation & 1]);
#endif
    if (++barrier->arrived == barrier->count) {
        barrier->arrived = 0;
        barrier->generation++;
        for (; barrier->waiting != 0; barrier->waiting = fibers[barrier->waiting - 1].behind)
            add(able, barrier->waiting - 1);
    } else {
        fibers[current].behind = barrier->waiting;
        barrier->waiting = current + 1;
        drop(able, current);
        const unsigned next = next_fiber();
        if (next == fiber_count) {
            std::fprintf(stderr, "emulated GPU: the threads of a kernel wait for each other\n");
            std::abort();
        }
        go_to(next);
    }
#ifdef WITH_TSAN
    __tsan_acquire(&barrier->sync[generation & 1]);
#endif
}

UNSEEN void fiber_yield()
{
    if (any_late)
        add(yielded, current);
    go_to(next_fiber());
}

void fibers_delay(unsigned first, unsigned count)
{
    any_late = count != 0;
    clear(late);
    for (unsigned i = first; i < first + count; i++)
        add(late, i);
}
