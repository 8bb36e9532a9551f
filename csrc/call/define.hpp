#pragma once

#include <cstddef>
#include <optional>
#include <string>
#include <tuple>
#include <type_traits>
#include <utility>
#include <vector>

#include "call/arguments.hpp"
#include "call/element_types.hpp"
#include "call/kernel.hpp"

namespace gradbag {

namespace detail {

template <class Argument>
inline constexpr bool is_setting = false;
template <class Value>
inline constexpr bool is_setting<Setting<Value>> = true;

template <class Argument>
inline constexpr bool is_plan = std::is_same_v<Argument, Plan>;

// Goes through the arguments of a call from left to right.
class Reader {
  public:
    Reader(const Plan* plan, const gradbag_arguments& arguments) : plan_(plan), given_(arguments) {}

    const Plan& next(std::type_identity<Plan>) { return *plan_; }

    template <class Value>
    Value next(std::type_identity<Setting<Value>>) {
        return Setting<Value>::read(given_.settings[setting_++]);
    }

    template <class Argument>
    auto next(std::type_identity<Optional<Argument>>) {
        using View = std::remove_cvref_t<decltype(Argument::view(given_.arrays[0]))>;
        return count() == 0 ? View{} : Argument::view(given_.arrays[array_++]);
    }

    template <class Argument>
    auto next(std::type_identity<List<Argument>>) {
        std::vector<std::remove_cvref_t<decltype(Argument::view(given_.arrays[0]))>> views;
        for (std::size_t left = count(); left > 0; --left) {
            views.push_back(Argument::view(given_.arrays[array_++]));
        }
        return views;
    }

    template <class Argument>
    decltype(auto) next(std::type_identity<Argument>) {
        ++argument_;
        return Argument::view(given_.arrays[array_++]);
    }

  private:
    std::size_t count() {
        const std::size_t argument = argument_++;
        return given_.counts == nullptr ? 1 : given_.counts[argument];
    }

    const Plan* plan_;
    const gradbag_arguments& given_;
    std::size_t setting_ = 0;
    std::size_t argument_ = 0;
    std::size_t array_ = 0;
};

template <class Argument>
void describe(Kernel& kernel) {
    if constexpr (is_plan<Argument>) {
        kernel.takes_plan = true;
    } else if constexpr (is_setting<Argument>) {
        kernel.settings.push_back(Argument::kind);
    } else {
        kernel.arguments.push_back(Argument::form);
    }
}

}  // namespace detail

// Adds a kernel, a function of the views of `Arguments`: settings first, then a plan if it takes one, inputs
// and outputs. One that gives a Plan counts, any other fills.
template <class... Arguments, class Function>
void define(const std::string& name, Function function) {
    Kernel kernel{{}, {}, false, {}};
    (detail::describe<Arguments>(kernel), ...);
    kernel.run = [function](const Plan* plan, const gradbag_arguments& given) -> std::optional<Plan> {
        detail::Reader reader(plan, given);
        // The views stand in a tuple because only what is in braces is read from left to right.
        std::tuple<decltype(reader.next(std::type_identity<Arguments>{}))...> views{
            reader.next(std::type_identity<Arguments>{})...};
        if constexpr (std::is_void_v<decltype(std::apply(function, views))>) {
            std::apply(function, views);
            return std::nullopt;
        } else {
            return std::apply(function, views);
        }
    };
    kernels().insert_or_assign(name, std::move(kernel));
}

}  // namespace gradbag
