#pragma once

#include <cstddef>
#include <functional>
#include <memory>
#include <optional>
#include <string>
#include <unordered_map>
#include <vector>

#include "call/abi.h"
#include "core/plan.hpp"

// The kernels that there are, by name.
namespace gradbag {

// What one argument of a kernel must look like, as far as a caller that has only bytes can check it.
struct ArgumentForm {
    enum class Count { one, optional, list };

    std::size_t item_size;  // 0: any
    int axes;               // -1: any number
    bool is_written;
    Count count;
};

enum class SettingKind { integer, real, text };

}  // namespace gradbag

struct gradbag_kernel {
    std::vector<gradbag::ArgumentForm> arguments;  // inputs, and the outputs of a kernel that fills
    std::vector<gradbag::SettingKind> settings;
    bool takes_plan;
    // Gives a plan if the kernel counts; throws a Fault about a value.
    std::function<std::optional<gradbag::Plan>(const gradbag::Plan*, const gradbag_arguments&)> run;
};

struct gradbag_plan {
    gradbag::Plan plan;
};

namespace gradbag {

struct FreePlan {
    void operator()(gradbag_plan* plan) const { gradbag_free_plan(plan); }
};
using OwnedPlan = std::unique_ptr<gradbag_plan, FreePlan>;

using Kernel = gradbag_kernel;

inline std::unordered_map<std::string, Kernel>& kernels() {
    static std::unordered_map<std::string, Kernel> all;
    return all;
}

// A family of kernels that adds itself when the program is loaded: `const Family name([] { define<...>(...);
// })`.
struct Family {
    template <class Define>
    explicit Family(Define define) {
        define();
    }
};

// Throws again what ended the last call of this thread, for callers in C++ that know it.
[[noreturn]] void rethrow_last_error();

}  // namespace gradbag
