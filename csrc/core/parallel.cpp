#include "core/parallel.hpp"

#include <algorithm>
#include <atomic>
#include <charconv>
#include <chrono>
#include <condition_variable>
#include <cstdlib>
#include <cstring>
#include <exception>
#include <limits>
#include <memory>
#include <mutex>
#include <stdexcept>
#include <system_error>
#include <thread>
#include <utility>
#include <vector>

#include "core/thread_local.hpp"
#include "core/thresholds.hpp"
#include "core/uninterrupted.hpp"

#if defined(__linux__)
#include <sched.h>
#endif
#if defined(__unix__) || defined(__APPLE__)
#include <pthread.h>
#endif

namespace gradbag {

namespace {

using Clock = std::chrono::steady_clock;

constexpr std::size_t kMostThreads = 1024;

void pause() {
#if defined(__x86_64__) || defined(__i386__)
    __builtin_ia32_pause();
#elif defined(__aarch64__) && defined(__GNUC__)
    asm volatile("yield");
#endif
}

std::atomic<void (*)()> interruption = nullptr;
GRADBAG_THREAD_LOCAL int uninterrupted = 0;  // how many ask for it

// Thrown inside a chunk that is no longer wanted.
struct Unwanted {};

// One call of run_chunks. Helpers share it, since one of them may look at it after the caller has left.
class Job {
  public:
    using Body = void (*)(void*, std::size_t, std::size_t);

    Job(std::size_t chunks, std::size_t threads, Body body, void* context)
        : chunks_(chunks), wanted_(threads - 1), body_(body), context_(context) {}

    // A slot for a helper. Called under the lock of the pool.
    std::size_t enter() { return ++helpers_; }
    bool full() const { return helpers_ >= wanted_; }

    // Runs chunks until none is left. `between` is called before each.
    template <class Between>
    void work(std::size_t slot, Between between) {
        Job* const outer = std::exchange(current(), this);
        for (;;) {
            if (!between()) break;
            const std::size_t chunk = next_.fetch_add(1);
            if (chunk >= chunks_) break;
            run(chunk, slot);
            finished_.fetch_add(1);
            if (waiting_) finished_.notify_one();
        }
        current() = outer;
    }

    // No chunk that has not begun will be run.
    void stop() {
        const std::size_t begun = next_.exchange(chunks_);
        if (begun < chunks_) limit_ = begun;
        stopped_ = true;
    }

    // The caller: waits for the chunks that others have begun, and throws what one of them has thrown.
    void finish() {
        waiting_ = true;
        for (int pauses = 0; finished_ < limit() && pauses < kPauses; ++pauses) pause();
        for (std::size_t seen = finished_; seen < limit(); seen = finished_) finished_.wait(seen);
        // Taken out, since a helper may be the last to leave the job, and has no business with the caller's
        // exceptions: to destroy one of Python's it would need the interpreter.
        if (problem_) std::rethrow_exception(std::exchange(problem_, nullptr));
    }

    // Ends a chunk whose result nobody waits for: one before it, or the caller, has failed.
    void leave_if_unwanted() const {
        if (stopped_.load(std::memory_order_relaxed)) throw Unwanted{};
    }

    // The caller asks for a signal from time to time; what that throws counts before what any chunk has
    // thrown.
    bool poll(Clock::time_point& last) {
        const auto now = Clock::now();
        if (last == Clock::time_point{}) last = now;
        if (now - last < kPollInterval) return true;
        last = now;
        if (void (*const check)() = interruption; check != nullptr && uninterrupted == 0) {
            try {
                check();
            } catch (...) {
                stop();
                keep(0, std::current_exception());
                return false;
            }
        }
        return true;
    }

    static Job*& current();
    static Clock::time_point*& last_poll();  // of the caller, while it works

  private:
    std::size_t limit() const { return std::min(limit_.load(), chunks_); }

    void run(std::size_t chunk, std::size_t slot) {
        try {
            body_(context_, chunk, slot);
        } catch (const Unwanted&) {
        } catch (...) {
            // All chunks before this one have begun, and may still find an earlier fault.
            const std::size_t begun = next_.exchange(chunks_);
            if (begun < chunks_) limit_ = begun;
            keep(chunk + 1, std::current_exception());
        }
    }

    void keep(std::size_t rank, std::exception_ptr problem) {
        const std::lock_guard lock(problem_mutex_);
        if (rank >= rank_) return;
        rank_ = rank;
        problem_ = std::move(problem);
    }

    const std::size_t chunks_;
    const std::size_t wanted_;
    const Body body_;
    void* const context_;
    std::size_t helpers_ = 0;
    alignas(64) std::atomic<std::size_t> next_ = 0;
    alignas(64) std::atomic<std::size_t> finished_ = 0;
    std::atomic<std::size_t> limit_ = std::numeric_limits<std::size_t>::max();
    std::atomic<bool> waiting_ = false;
    std::atomic<bool> stopped_ = false;
    std::mutex problem_mutex_;
    std::size_t rank_ = std::numeric_limits<std::size_t>::max();
    std::exception_ptr problem_;
};

GRADBAG_THREAD_LOCAL Job* current_job = nullptr;
GRADBAG_THREAD_LOCAL Clock::time_point* current_poll = nullptr;

Job*& Job::current() { return current_job; }
Clock::time_point*& Job::last_poll() { return current_poll; }

// Never destroyed: its threads sleep until the process ends, whatever else is torn down by then.
class Pool {
  public:
    // Offers a job to the workers.
    void open(const std::shared_ptr<Job>& job, std::size_t helpers) {
        bool sleeping;
        {
            const std::lock_guard lock(mutex_);
            start_workers(helpers);
            jobs_.push_back(job);
            open_jobs_.store(jobs_.size(), std::memory_order_release);
            sleeping = sleeping_ > 0;
        }
        if (!sleeping) return;
        if (helpers == 1) {
            wake_.notify_one();
        } else {
            wake_.notify_all();
        }
    }

    void close(const std::shared_ptr<Job>& job) {
        const std::lock_guard lock(mutex_);
        std::erase(jobs_, job);
        open_jobs_.store(jobs_.size(), std::memory_order_release);
    }

  private:
    void start_workers(std::size_t wanted) {
        for (; workers_ < wanted; ++workers_) {
            try {
                std::thread([this] { serve(); }).detach();
            } catch (const std::system_error&) {
                return;  // The threads that there are will do.
            }
        }
    }

    [[noreturn]] void serve() {
        // The first exception of a thread takes memory, which may be gone by then.
        static_cast<void>(std::uncaught_exceptions());
        for (;;) {
            std::size_t slot = 0;
            const std::shared_ptr<Job> job = next_job(slot);
            job->work(slot, [] { return true; });
        }
    }

    std::shared_ptr<Job> next_job(std::size_t& slot) {
        for (int pauses = 0; pauses < kPauses && open_jobs_.load(std::memory_order_acquire) == 0; ++pauses) {
            pause();
        }
        std::unique_lock lock(mutex_);
        ++sleeping_;
        wake_.wait(lock, [this] { return !jobs_.empty(); });
        --sleeping_;
        std::shared_ptr<Job> job = jobs_.front();
        slot = job->enter();
        if (job->full()) {
            jobs_.erase(jobs_.begin());
            open_jobs_.store(jobs_.size(), std::memory_order_release);
        }
        return job;
    }

    std::mutex mutex_;
    std::condition_variable wake_;
    std::vector<std::shared_ptr<Job>> jobs_;  // those that want more helpers
    std::atomic<std::size_t> open_jobs_ = 0;
    std::size_t sleeping_ = 0;
    std::size_t workers_ = 0;
};

std::atomic<Pool*> shared_pool = nullptr;
std::atomic<unsigned> forks = 0;  // of which this process is the child

Pool& pool() {
    Pool* found = shared_pool;
    if (found == nullptr) {
        auto made = std::make_unique<Pool>();
        if (shared_pool.compare_exchange_strong(found, made.get())) found = made.release();
#if defined(__unix__) || defined(__APPLE__)
        // A forked child has none of the threads, and locks that they held would stay locked: it starts anew.
        static const int registered = pthread_atfork(nullptr, nullptr, [] {
            shared_pool = nullptr;
            ++forks;
        });
        static_cast<void>(registered);
#endif
    }
    return *found;
}

std::size_t available_cpus() {
#if defined(__linux__)
    cpu_set_t set;
    if (sched_getaffinity(0, sizeof(set), &set) == 0) {
        const int count = CPU_COUNT(&set);
        if (count > 0) return static_cast<std::size_t>(count);
    }
#endif
    return std::max(1u, std::thread::hardware_concurrency());
}

std::size_t default_threads() {
    if (const char* text = std::getenv("GRADBAG_NUM_THREADS")) {
        std::size_t count = 0;
        const char* end = text + std::strlen(text);
        const auto [stopped, error] = std::from_chars(text, end, count);
        if (error == std::errc{} && stopped == end && count >= 1) return std::min(count, kMostThreads);
    }
    return std::min(available_cpus(), kMostThreads);
}

std::atomic<std::size_t> wanted_threads = 0;  // 0: not asked for yet

}  // namespace

std::size_t num_threads() {
    std::size_t count = wanted_threads;
    if (count == 0) {
        const std::size_t chosen = default_threads();
        // Unless somebody has just set another number.
        if (wanted_threads.compare_exchange_strong(count, chosen)) count = chosen;
    }
    return count;
}

void set_num_threads(std::size_t count) { wanted_threads = std::clamp<std::size_t>(count, 1, kMostThreads); }

void set_interruption(void (*check)()) { interruption = check; }

Uninterrupted::Uninterrupted() { ++uninterrupted; }
Uninterrupted::~Uninterrupted() { --uninterrupted; }

std::size_t threads_for(std::size_t work) { return work < kSerialWork ? 1 : num_threads(); }

void checkpoint() {
    Job* const job = Job::current();
    if (job == nullptr) return;
    if (Job::last_poll() != nullptr && !job->poll(*Job::last_poll())) throw Unwanted{};
    job->leave_if_unwanted();
}

void detail::run_chunks(std::size_t chunks, std::size_t threads, Job::Body body, void* context) {
    if (chunks == 0) return;
    threads = std::min(std::max<std::size_t>(threads, 1), chunks);
    Clock::time_point last{};  // set by the first look at the clock: a short call does without
    bool first = true;
    const auto take_part = [&](Job& job, auto is_wanted) {
        Clock::time_point* const outer = std::exchange(Job::last_poll(), &last);
        job.work(0, [&] { return std::exchange(first, false) || (job.poll(last) && is_wanted()); });
        Job::last_poll() = outer;
    };
    if (threads == 1) {
        Job job(chunks, threads, body, context);
        take_part(job, [] { return true; });
        job.finish();
        return;
    }
    const auto job = std::make_shared<Job>(chunks, threads, body, context);
    Pool& helpers = pool();
    const unsigned born = forks;
    helpers.open(job, threads - 1);
    take_part(*job, [&] { return forks == born; });
    // A handler of a signal may have forked: the child has none of the helpers, nor what they were doing.
    if (forks != born) throw std::runtime_error("the process was forked in the middle of this call");
    helpers.close(job);
    job->finish();
}

}  // namespace gradbag
