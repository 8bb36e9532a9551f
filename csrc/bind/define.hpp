#pragma once

#include <nanobind/nanobind.h>
#include <nanobind/stl/optional.h>
#include <nanobind/stl/variant.h>

#include <cstddef>
#include <optional>
#include <string>
#include <type_traits>
#include <utility>
#include <variant>

#include "bind/arrays.hpp"
#include "bind/direct.hpp"
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

// The array, or the plan, that a kernel takes as `Argument`.
template <class Argument>
const auto& argument(const Plan* plan, const PlainArray* arrays, std::size_t place) {
    if constexpr (std::is_same_v<Argument, Plan>) {
        return *plan;
    } else {
        return arrays[place];
    }
}

template <class... Arguments, class Kernel>
DirectKernel direct(Kernel kernel) {
    constexpr bool takes_plan = (std::is_same_v<Arguments, Plan> || ...);
    const auto run = [kernel](const Plan* plan, const PlainArray* arrays) -> std::optional<Plan> {
        const auto call = [&]<std::size_t... Places>(std::index_sequence<Places...>) {
            // A plan comes first and is no array, so the arrays after it are counted from one.
            return kernel(view(As<Arguments>{}, argument<Arguments>(plan, arrays, Places - takes_plan))...);
        };
        constexpr std::index_sequence_for<Arguments...> places;
        if constexpr (std::is_void_v<decltype(call(places))>) {
            call(places);
            return std::nullopt;
        } else {
            return call(places);
        }
    };
    return {sizeof...(Arguments) - takes_plan, takes_plan, run};
}

// Binds `kernel`, which takes the views of `Arguments`. Nothing is converted: a converted output would be a
// copy, and the caller's array would stay as it was.
template <class... Arguments, class Kernel>
void define(nb::module_& m, const std::string& name, Kernel kernel) {
    m.def(
        name.c_str(),
        [kernel](const Arguments&... arguments) {
            return answer([&] { return kernel(view(As<Arguments>{}, arguments)...); });
        },
        (static_cast<void>(sizeof(Arguments)), nb::arg().noconvert())...);
    direct_kernels().insert_or_assign(name, direct<Arguments...>(kernel));
}

}  // namespace gradbag
