#pragma once

#include <nanobind/nanobind.h>

#include <chrono>
#include <thread>

// The interpreter's lock, and what becomes of a thread that wants it when the interpreter has ended.
// Before 3.14 Python ends such a thread by unwinding its stack, which destructors and nanobind's functions do
// not let pass: the process would be aborted. As in 3.14, the thread stays where it is instead, for the short
// rest of the process.
namespace gradbag {

[[noreturn]] inline void stay() {
    for (;;) std::this_thread::sleep_for(std::chrono::hours(1));
}

// Does what may wait for the lock; nothing in it throws an exception of C++.
template <class Work>
auto or_stay(Work work) {
    try {
        return work();
    } catch (...) {
        stay();
    }
}

// For as long as it lives, other threads may have the interpreter.
class Unlocked {
  public:
    Unlocked() : state_(PyEval_SaveThread()) {}
    Unlocked(const Unlocked&) = delete;
    Unlocked& operator=(const Unlocked&) = delete;
    ~Unlocked() {
        or_stay([this] { PyEval_RestoreThread(state_); });
    }

  private:
    PyThreadState* state_;
};

}  // namespace gradbag
