#include "call/abi.h"

#include <cstddef>
#include <exception>
#include <memory>
#include <new>
#include <stdexcept>
#include <utility>

#include "call/kernel.hpp"
#include "core/fault.hpp"
#include "core/thread_local.hpp"

namespace {

// What ended the last call of a thread. It has no destructor, which would ask for memory to be registered.
struct LastError {
    bool is_there;
    alignas(std::exception_ptr) std::byte problem[sizeof(std::exception_ptr)];
    const char* words;  // of the problem

    std::exception_ptr& get() { return *std::launder(reinterpret_cast<std::exception_ptr*>(problem)); }
};
GRADBAG_THREAD_LOCAL LastError last_error{};

gradbag_status failed(gradbag_status status, const char* words) {
    if (!std::exchange(last_error.is_there, true)) new (last_error.problem) std::exception_ptr();
    last_error.get() = std::current_exception();
    last_error.words = words;
    return status;
}

// Does the work, and makes a status of what it throws.
template <class Work>
gradbag_status guarded(gradbag_fault* fault, Work work) {
    try {
        work();
        return GRADBAG_OK;
    } catch (const gradbag::Fault& found) {
        *fault = {static_cast<gradbag_fault_kind>(found.kind),
                  found.input,
                  found.position,
                  found.column,
                  found.value,
                  found.low,
                  found.high};
        return GRADBAG_FAULT;
    } catch (const std::bad_alloc&) {
        return failed(GRADBAG_NO_MEMORY, "not enough memory");
    } catch (const std::logic_error& problem) {
        return failed(GRADBAG_ERROR, problem.what());
    } catch (...) {
        return failed(GRADBAG_INTERRUPTED, "interrupted");
    }
}

}  // namespace

namespace gradbag {

void rethrow_last_error() {
    last_error.words = "";
    std::rethrow_exception(std::exchange(last_error.get(), nullptr));
}

}  // namespace gradbag

const gradbag_kernel* gradbag_find_kernel(const char* name) {
    const auto found = gradbag::kernels().find(name);
    return found == gradbag::kernels().end() ? nullptr : &found->second;
}

gradbag_status gradbag_count(const gradbag_kernel* kernel, const gradbag_arguments* arguments,
                             gradbag_plan** plan, gradbag_fault* fault) {
    return guarded(fault, [&] {
        auto made = kernel->run(nullptr, *arguments);
        if (!made) throw std::invalid_argument("this kernel counts nothing");
        *plan = new gradbag_plan{std::move(*made)};
    });
}

const int64_t* gradbag_plan_sizes(const gradbag_plan* plan, size_t* count) {
    *count = plan->plan.sizes.size();
    return plan->plan.sizes.data();
}

void gradbag_free_plan(gradbag_plan* plan) { delete plan; }

gradbag_status gradbag_fill(const gradbag_kernel* kernel, const gradbag_plan* plan,
                            const gradbag_arguments* arguments, gradbag_fault* fault) {
    return guarded(fault, [&] {
        if (kernel->takes_plan != (plan != nullptr))
            throw std::invalid_argument("a plan is missing, or one too many");
        kernel->run(plan == nullptr ? nullptr : &plan->plan, *arguments);
    });
}

const char* gradbag_last_error() { return last_error.words == nullptr ? "" : last_error.words; }
