#pragma once

#include <cstddef>
#include <cstdint>

namespace gradbag {

// Rows one after another; the memory belongs to the caller. There may be no columns, and then any number of
// rows, so a loop over rows must be justified by something other than their number.
template <class T>
struct Matrix {
    T* data;
    std::size_t rows;
    std::size_t columns;

    T* row(std::size_t number) const { return data + number * columns; }
    std::size_t size() const { return rows * columns; }
};

// Values that are moved and never looked into: `count` items of `item_size` bytes.
template <class Byte>
struct Payload {
    Byte* bytes;
    std::size_t count;
    std::size_t item_size;
};

using Bytes = Payload<const std::uint8_t>;
using MutableBytes = Payload<std::uint8_t>;

}  // namespace gradbag
