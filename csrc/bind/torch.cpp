#include <nanobind/nanobind.h>
#include <nanobind/stl/string.h>
#include <nanobind/stl/vector.h>

#include <string>
#include <vector>

#include "bind/parts.hpp"
#include "torch/bags.hpp"

namespace nb = nanobind;

namespace gradbag {

void bind_torch(nb::module_& m) {
    m.def(
        "replace_torch_bags",
        [](const std::vector<std::vector<std::string>>& kernels) {
            std::vector<torch::BagKernels> all;
            for (const std::vector<std::string>& names : kernels) {
                all.push_back({names.at(0), names.at(1), names.at(2), names.at(3), names.at(4), names.at(5)});
            }
            torch::replace_bags(all);
        },
        "Let these kernels answer for PyTorch's bags: dtype, index, and the kernels of look-up and "
        "gradients.");
    m.def("restore_torch_bags", &torch::restore_bags);
    m.def("torch_bag_calls", [] {
        nb::dict answered;
        for (const torch::BagCalls& calls : torch::bag_calls()) {
            answered[calls.op.c_str()] = nb::make_tuple(calls.answered, calls.handed_on);
        }
        return answered;
    });
}

}  // namespace gradbag
