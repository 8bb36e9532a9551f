#pragma once

#define NPY_NO_DEPRECATED_API NPY_2_0_API_VERSION
// Built with the headers of NumPy 2, this runs with NumPy 1 too: the TensorFlow of some has no other. A file
// that needs more says so, and must not be reached without.
#ifdef GRADBAG_NEEDS_NUMPY_2
#define NPY_TARGET_VERSION NPY_2_0_API_VERSION
#else
#define NPY_TARGET_VERSION NPY_1_22_API_VERSION
#endif
// One table of NumPy's functions for the whole module; the file that fills it says so.
#define PY_ARRAY_UNIQUE_SYMBOL gradbag_numpy
#ifndef GRADBAG_FILLS_NUMPY_TABLE
#define NO_IMPORT_ARRAY
#endif
#include <nanobind/nanobind.h>
#include <numpy/arrayobject.h>

#include <cstdint>
#include <type_traits>

static_assert(std::is_same_v<npy_intp, std::intptr_t>);

namespace gradbag {

inline PyArrayObject* as_array(PyObject* value) { return reinterpret_cast<PyArrayObject*>(value); }

inline bool lies_ready(PyObject* array) {
    constexpr int ready = NPY_ARRAY_C_CONTIGUOUS | NPY_ARRAY_ALIGNED;  // mutant: ready
    return PyArray_CHKFLAGS(as_array(array), ready);
}

}  // namespace gradbag
