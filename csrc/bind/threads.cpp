#include <nanobind/nanobind.h>

#include <atomic>
#include <cstdint>
#include <exception>
#include <stdexcept>

#include "bind/parts.hpp"
#include "core/parallel.hpp"
#include "simd/row_loops.hpp"

#if defined(__unix__) || defined(__APPLE__)
#include <pthread.h>
#endif

namespace nb = nanobind;

namespace gradbag {

namespace {

// The only thread in which Python runs signal handlers.
std::atomic<unsigned long> main_thread = 0;

void check_signals() {
    if (PyThread_get_thread_ident() != main_thread) return;
    const nb::gil_scoped_acquire locked;
    if (PyErr_CheckSignals() != 0) throw nb::python_error();
}

void set_threads(std::int64_t count) {
    if (count < 1) throw std::invalid_argument("the number of threads must be at least 1");
    set_num_threads(static_cast<std::size_t>(count));
}

}  // namespace

void bind_threads(nb::module_& m) {
    m.def("set_num_threads", set_threads);
    m.def("get_num_threads", num_threads);
    m.def("simd_level", simd_level);
    const nb::object ident = nb::module_::import_("threading").attr("main_thread")().attr("ident");
    main_thread = nb::cast<unsigned long>(ident);
#if defined(__unix__) || defined(__APPLE__)
    // In a forked child the thread that forked is the main one.
    pthread_atfork(nullptr, nullptr, [] { main_thread = PyThread_get_thread_ident(); });
#endif
    set_interruption(check_signals);
    // The first exception of a thread takes memory, which may be gone by then.
    static_cast<void>(std::uncaught_exceptions());
}

}  // namespace gradbag
