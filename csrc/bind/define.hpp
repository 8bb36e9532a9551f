#pragma once

#include <nanobind/nanobind.h>
#include <nanobind/stl/optional.h>
#include <nanobind/stl/variant.h>

#include <optional>
#include <string>
#include <type_traits>
#include <variant>

#include "bind/arrays.hpp"
#include "bind/fault.hpp"
#include "bind/for_types.hpp"
#include "core/plan.hpp"

namespace gradbag {

// "kernel__float32_int64": the name of a kernel for these element types.
template <class First, class... Others>
std::string typed_name(const std::string& kernel) {
    std::string name = kernel + "__" + nb::detail::dtype_traits<First>::name.text;
    ((name += std::string("_") + nb::detail::dtype_traits<Others>::name.text), ...);
    return name;
}

// What Python gets: None or a fault from a kernel that fills, a plan or a fault from one that counts.
template <class Result>
using Answer = std::conditional_t<std::is_void_v<Result>, std::optional<Fault>, std::variant<Plan, Fault>>;

template <class Work>
auto answer(Work work) -> Answer<decltype(work())> {
    try {
        const nb::gil_scoped_release unlocked;
        if constexpr (std::is_void_v<decltype(work())>) {
            work();
            return std::nullopt;
        } else {
            return work();
        }
    } catch (const Fault& fault) {
        return fault;
    }
}

// Binds `kernel`, which takes the views of `Arguments`. Nothing is converted: a converted output would be a
// copy, and the caller's array would stay as it was.
template <class... Arguments, class Kernel>
void define(nb::module_& m, const std::string& name, Kernel kernel) {
    m.def(
        name.c_str(),
        [kernel](const Arguments&... arguments) {
            return answer([&] { return kernel(view(arguments)...); });
        },
        (static_cast<void>(sizeof(Arguments)), nb::arg().noconvert())...);
}

}  // namespace gradbag
