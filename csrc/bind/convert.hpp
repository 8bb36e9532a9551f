#pragma once

#include <nanobind/nanobind.h>

#include <cstddef>
#include <string>
#include <utility>
#include <vector>

// Lists and texts of Python's in C++. Nanobind has conversions of its own, in which a lack of memory ends the
// process.
namespace gradbag {

template <class Convert>
auto listed(nanobind::handle values, Convert convert) {
    std::vector<decltype(convert(values))> found;
    found.reserve(nanobind::len(values));
    for (const nanobind::handle value : values) found.push_back(convert(value));
    return found;
}

template <class Int>
std::vector<Int> numbers(nanobind::handle values) {
    return listed(values, [](nanobind::handle value) { return nanobind::cast<Int>(value); });
}

template <class First, class Second>
std::vector<std::pair<First, Second>> pairs(nanobind::handle values) {
    return listed(values, [](nanobind::handle two) {
        return std::pair(nanobind::cast<First>(nanobind::object(two[0])),
                         nanobind::cast<Second>(nanobind::object(two[1])));
    });
}

inline std::string text(nanobind::handle value) {
    Py_ssize_t size = 0;
    const char* const begin = PyUnicode_AsUTF8AndSize(value.ptr(), &size);
    if (begin == nullptr) throw nanobind::python_error();
    return {begin, static_cast<std::size_t>(size)};
}

}  // namespace gradbag
