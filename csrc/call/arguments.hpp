#pragma once

#include <cstddef>
#include <cstdint>
#include <span>
#include <string_view>
#include <type_traits>
#include <vector>

#include "call/abi.h"
#include "call/kernel.hpp"
#include "core/plan.hpp"
#include "core/types.hpp"
#include "core/views.hpp"

// What stands in the list of a kernel's arguments, and the view of each that the kernel gets. Every one has a
// `form`, which callers check, and a `view` of an array. What is const is read, anything else written.
namespace gradbag {

inline std::size_t extent(const gradbag_array& array, std::size_t axis) {
    return static_cast<std::size_t>(array.shape[axis]);
}

inline std::size_t elements(const gradbag_array& array, std::size_t first_axis = 0) {
    std::size_t product = 1;
    for (std::size_t axis = first_axis; axis < array.axes; ++axis)
        product *= extent(array, axis);  // mutant: axes
    return product;
}

// Any number of axes, of which the first counts rows and the others are columns.
template <class T>
struct Rows {
    static constexpr ArgumentForm form{sizeof(T), -1, !std::is_const_v<T>, ArgumentForm::Count::one};

    static Matrix<lane_of<T>> view(const gradbag_array& array) {
        const std::size_t columns = sizeof(T) / sizeof(lane_of<T>) * elements(array, 1);
        return {static_cast<lane_of<T>*>(array.data), array.axes > 0 ? extent(array, 0) : 1, columns};
    }
};

// The same of numbers that are compared or multiplied, for which lanes would not do.
template <class T>
struct NumberRows {
    static constexpr ArgumentForm form{sizeof(T), -1, !std::is_const_v<T>, ArgumentForm::Count::one};

    static Matrix<T> view(const gradbag_array& array) {
        return {static_cast<T*>(array.data), array.axes > 0 ? extent(array, 0) : 1, elements(array, 1)};
    }
};

template <class T>
struct Scalar {
    static constexpr ArgumentForm form{sizeof(T), 0, !std::is_const_v<T>, ArgumentForm::Count::one};

    static T& view(const gradbag_array& array) { return *static_cast<T*>(array.data); }
};

template <class T>
struct Vector {
    static constexpr ArgumentForm form{sizeof(T), 1, !std::is_const_v<T>, ArgumentForm::Count::one};

    static std::span<T> view(const gradbag_array& array) {
        return {static_cast<T*>(array.data), extent(array, 0)};
    }
};

template <class T>
struct Table {
    static constexpr ArgumentForm form{sizeof(T), 2, !std::is_const_v<T>, ArgumentForm::Count::one};

    static Matrix<T> view(const gradbag_array& array) {
        return {static_cast<T*>(array.data), extent(array, 0), extent(array, 1)};
    }
};

// All elements, whatever the axes.
template <class T>
struct Elements {
    static constexpr ArgumentForm form{sizeof(T), -1, !std::is_const_v<T>, ArgumentForm::Count::one};

    static std::span<lane_of<T>> view(const gradbag_array& array) {
        return {static_cast<lane_of<T>*>(array.data), sizeof(T) / sizeof(lane_of<T>) * elements(array)};
    }
};

// Values that are moved and never looked into, so they may be of any type.
template <class Byte, int axes>
struct Items {
    static constexpr ArgumentForm form{0, axes, !std::is_const_v<Byte>, ArgumentForm::Count::one};

    static Payload<Byte> view(const gradbag_array& array) {
        return {static_cast<Byte*>(array.data), elements(array), array.item_size};
    }
};
using InputItem = Items<const std::uint8_t, 0>;
using InputItems = Items<const std::uint8_t, 1>;
using OutputItems = Items<std::uint8_t, 1>;

// Rows of any type, of which only the size matters.
struct RowSizes {
    std::size_t rows;
    std::size_t row_bytes;
};
struct AnyRows {
    static constexpr ArgumentForm form{0, -1, false, ArgumentForm::Count::one};

    static RowSizes view(const gradbag_array& array) {
        return {extent(array, 0), array.item_size * elements(array, 1)};
    }
};

// The view of an argument that may be left out; a view of nothing if it is.
template <class Argument>
struct Optional {
    static constexpr ArgumentForm form{Argument::form.item_size, Argument::form.axes,
                                       Argument::form.is_written, ArgumentForm::Count::optional};
};

// The views of as many arguments as the caller likes.
template <class Argument>
struct List {
    static constexpr ArgumentForm form{Argument::form.item_size, Argument::form.axes,
                                       Argument::form.is_written, ArgumentForm::Count::list};
};

// A setting; before all arrays in the list of arguments. Other types say how they are read of a text.
template <class Value>
struct Setting {
    static constexpr SettingKind kind = std::is_floating_point_v<Value> ? SettingKind::real
                                        : std::is_integral_v<Value>     ? SettingKind::integer
                                                                        : SettingKind::text;

    static Value read(const gradbag_setting& setting) {
        if constexpr (kind == SettingKind::real) {
            return static_cast<Value>(setting.real);
        } else if constexpr (kind == SettingKind::integer) {
            return static_cast<Value>(setting.integer);
        } else {
            return from_text(std::type_identity<Value>{}, {setting.text, setting.text_size});
        }
    }
};

}  // namespace gradbag
