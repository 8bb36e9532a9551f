#include <nanobind/nanobind.h>

#include <algorithm>
#include <cstdint>
#include <vector>

#include "bind/numpy.hpp"
#include "bind/parts.hpp"

namespace nb = nanobind;
using namespace nb::literals;

namespace gradbag {

namespace {

struct Span {
    std::intptr_t begin;
    std::intptr_t end;
};

// The memory from the first to the last byte of an array that has any element.
Span span_of(PyArrayObject* array) {
    const auto start = reinterpret_cast<std::intptr_t>(PyArray_DATA(array));
    Span span{start, start + static_cast<std::intptr_t>(PyArray_ITEMSIZE(array))};
    for (int axis = 0; axis < PyArray_NDIM(array); ++axis) {
        const std::intptr_t reach = (PyArray_DIM(array, axis) - 1) * PyArray_STRIDE(array, axis);
        (reach < 0 ? span.begin : span.end) += reach;
    }
    return span;
}

bool spans_meet(nb::list values) {
    std::vector<Span> spans;
    spans.reserve(values.size());
    for (nb::handle value : values) {
        if (PyArray_Check(value.ptr()) && PyArray_SIZE(as_array(value.ptr())) > 0) {
            spans.push_back(span_of(as_array(value.ptr())));
        }
    }
    std::ranges::sort(spans, {}, &Span::begin);
    return std::ranges::adjacent_find(spans, [](Span one, Span next) { return next.begin < one.end; }) !=
           spans.end();
}

}  // namespace

void bind_spans(nb::module_& m) {
    m.def("spans_meet", &spans_meet, "arrays"_a,
          "Whether the memory of any two reaches into each other; what is no array has none.");
}

}  // namespace gradbag
