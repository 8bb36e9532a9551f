#pragma once

#include <cstdint>
#include <string>
#include <vector>

// PyTorch's own look-ups of bags, answered by our kernels.
namespace gradbag::torch {

// The kernels for a type of rows and a type of ids, by their names.
struct BagKernels {
    std::string dtype;
    std::string index;
    std::string pooled;
    std::string dense;
    std::string compact_plan;
    std::string compact;
};

// Lets our kernels answer for bags, until `restore_bags`. What they do not serve goes to PyTorch's.
void replace_bags(const std::vector<BagKernels>& kernels);
void restore_bags();

struct BagCalls {
    std::string op;
    std::int64_t answered;
    std::int64_t handed_on;
};
std::vector<BagCalls> bag_calls();

}  // namespace gradbag::torch
