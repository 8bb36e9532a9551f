#define GRADBAG_NEEDS_NUMPY_2
#include "bind/new_strings.hpp"

#include <cstddef>

#include "bind/numpy.hpp"

namespace gradbag {

void each_new_string(PyObject* value, const std::function<void(std::string_view)>& visit) {
    PyArrayObject* const array = as_array(value);
    const auto count = static_cast<std::size_t>(PyArray_SIZE(array));
    const auto width = static_cast<std::size_t>(PyArray_ITEMSIZE(array));
    const auto* const bytes = static_cast<const char*>(PyArray_DATA(array));
    const auto* const type = reinterpret_cast<const PyArray_StringDTypeObject*>(PyArray_DESCR(array));
    npy_string_allocator* const allocator = NpyString_acquire_allocator(type);
    bool is_whole = true;
    try {
        for (std::size_t place = 0; place < count && is_whole; ++place) {
            npy_static_string text{0, nullptr};
            const auto* const packed =
                reinterpret_cast<const npy_packed_static_string*>(bytes + place * width);
            const int status = NpyString_load(allocator, packed, &text);
            is_whole = status >= 0;
            if (is_whole)
                visit(status == 1 ? std::string_view{}
                                  : std::string_view(text.size == 0 ? "" : text.buf, text.size));
        }
    } catch (...) {
        NpyString_release_allocator(allocator);
        throw;
    }
    NpyString_release_allocator(allocator);
    if (!is_whole) throw nanobind::python_error();
}

}  // namespace gradbag
