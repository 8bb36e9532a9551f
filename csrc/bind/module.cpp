#include <nanobind/nanobind.h>
#include <nanobind/stl/vector.h>

#include "bind/families.hpp"
#include "core/plan.hpp"
#ifdef GRADBAG_XLA
#include "xla/handler.hpp"
#endif

namespace nb = nanobind;

namespace {

nb::tuple sizes_of(const gradbag::Plan& plan) { return nb::tuple(nb::cast(plan.sizes)); }

}  // namespace

NB_MODULE(_kernels, m) {
    m.doc() = "Compiled kernels: they fill arrays that the caller has allocated and checked.";
    nb::class_<gradbag::Plan>(m, "Plan", "What a counting kernel found out, for the kernel that fills.")
        .def_prop_ro("sizes", sizes_of);
    gradbag::bind_segment_reduce(m);
    gradbag::bind_segment_grad(m);
    gradbag::bind_segment_grad_compact(m);
    gradbag::bind_bags(m);
    gradbag::bind_fill_empty_rows(m);
    gradbag::bind_fill_empty_rows_grad(m);
    gradbag::bind_slice(m);
    gradbag::bind_slice_grad(m);
    gradbag::bind_threads(m);
    gradbag::bind_memory(m);
    gradbag::bind_shortcuts(m);
#ifdef GRADBAG_XLA
    gradbag::bind_xla(m);
#endif
}
