#pragma once

#include <nanobind/nanobind.h>

#include <functional>
#include <string_view>

namespace gradbag {

// Visits the strings of an array of NumPy's StringDType, which came with NumPy 2; one that is missing has no
// address.
void each_new_string(PyObject* array, const std::function<void(std::string_view)>& visit);

}  // namespace gradbag
