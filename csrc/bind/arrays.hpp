#pragma once

#include <nanobind/nanobind.h>
#include <nanobind/ndarray.h>

#include <cstddef>
#include <cstdint>
#include <span>

#include "core/plan.hpp"
#include "core/types.hpp"
#include "core/views.hpp"

namespace nb = nanobind;

// NumPy exports float16 by its own name. It cannot export bfloat16, so those arrays arrive viewed as uint16.
template <>
struct nb::detail::dtype_traits<gradbag::half> {
    static constexpr dlpack::dtype value{static_cast<std::uint8_t>(dlpack::dtype_code::Float), 16, 1};
    static constexpr auto name = const_name("float16");
};
template <>
struct nb::detail::dtype_traits<gradbag::bfloat16> {
    static constexpr dlpack::dtype value{static_cast<std::uint8_t>(dlpack::dtype_code::UInt), 16, 1};
    static constexpr auto name = const_name("bfloat16");
};

// What the kernels' arguments look like from Python, and the view of each that a kernel takes.
namespace gradbag {

template <class... Constraints>
using Array = nb::ndarray<Constraints..., nb::c_contig, nb::device::cpu>;

// Any number of axes, of which the first counts rows and the others are columns.
template <class T>
using Rows = Array<T>;
template <class T>
using Scalar = Array<T, nb::ndim<0>>;
template <class T>
using Vector = Array<T, nb::ndim<1>>;
template <class T>
using Table = Array<T, nb::ndim<2>>;
// Values that are moved and never looked into, so they may be of any type.
using InputItem = Array<nb::ro, nb::ndim<0>>;
using InputItems = Array<nb::ro, nb::ndim<1>>;
using OutputItems = Array<nb::ndim<1>>;
// Rows of any type, of which only the size matters.
using AnyRows = Array<nb::ro>;

struct RowSizes {
    std::size_t rows;
    std::size_t row_bytes;
};

// Says what an array is to a kernel, whether nanobind holds it or a PlainArray tells where it lies.
template <class Argument>
struct As {};

template <class T, class Held>
Matrix<lane_of<T>> view(As<Rows<T>>, const Held& array) {
    std::size_t columns = sizeof(T) / sizeof(lane_of<T>);
    for (std::size_t axis = 1; axis < array.ndim(); ++axis) columns *= array.shape(axis);  // mutant: axes
    const std::size_t rows = array.ndim() > 0 ? array.shape(0) : 1;
    return {reinterpret_cast<lane_of<T>*>(array.data()), rows, columns};
}

template <class T, class Held>
T& view(As<Scalar<T>>, const Held& array) {
    return *reinterpret_cast<T*>(array.data());
}

template <class T, class Held>
std::span<T> view(As<Vector<T>>, const Held& array) {
    return {reinterpret_cast<T*>(array.data()), array.shape(0)};
}

template <class T, class Held>
Matrix<T> view(As<Table<T>>, const Held& array) {
    return {reinterpret_cast<T*>(array.data()), array.shape(0), array.shape(1)};
}

template <class Held>
Bytes view(As<InputItem>, const Held& array) {
    return {static_cast<const std::uint8_t*>(array.data()), array.size(), array.itemsize()};
}

template <class Held>
Bytes view(As<InputItems>, const Held& array) {
    return {static_cast<const std::uint8_t*>(array.data()), array.size(), array.itemsize()};
}

template <class Held>
MutableBytes view(As<OutputItems>, const Held& array) {
    return {static_cast<std::uint8_t*>(array.data()), array.size(), array.itemsize()};
}

template <class Held>
RowSizes view(As<AnyRows>, const Held& array) {
    std::size_t row_bytes = array.itemsize();
    for (std::size_t axis = 1; axis < array.ndim(); ++axis) row_bytes *= array.shape(axis);
    return {array.shape(0), row_bytes};
}

inline const Plan& view(As<Plan>, const Plan& plan) { return plan; }

}  // namespace gradbag
