#pragma once

#include <cstddef>
#include <cstdint>
#include <functional>
#include <optional>
#include <string>
#include <unordered_map>

#include "core/plan.hpp"

// Kernels as C++ finds and calls them, without a Python object for every array.
namespace gradbag {

// An array as a kernel's views see it, with the names of nanobind's: where it lies and how large it is, and
// nothing that another thread could change during the call.
struct PlainArray {
    void* address;
    const std::intptr_t* sizes;
    std::size_t axes;
    std::size_t item_size;

    void* data() const { return address; }
    std::size_t ndim() const { return axes; }
    std::size_t shape(std::size_t axis) const { return static_cast<std::size_t>(sizes[axis]); }
    std::size_t itemsize() const { return item_size; }
    std::size_t size() const {
        std::size_t product = 1;
        for (std::size_t axis = 0; axis < axes; ++axis) product *= shape(axis);
        return product;
    }
};

struct DirectKernel {
    std::size_t arrays;  // how many it takes
    bool takes_plan;
    // Gives a plan if the kernel counts. The plan that is passed may be null where none is taken.
    std::function<std::optional<Plan>(const Plan* plan, const PlainArray* arrays)> run;
};

// By the names that the kernels have in Python.
inline std::unordered_map<std::string, DirectKernel>& direct_kernels() {
    static std::unordered_map<std::string, DirectKernel> kernels;
    return kernels;
}

}  // namespace gradbag
