#pragma once

#include <cstddef>
#include <cstring>

#include "core/constants.hpp"
#include "core/views.hpp"

namespace gradbag {

// Calls `visit` with the size of an item: a constant for the sizes that numbers have, so that copying one is
// a load and a store, and a plain number for any other.
template <class Visit>
void with_item_size(std::size_t item_size, Visit visit) {
    with_constant_if_any<1, 2, 4, 8, 16>(item_size, visit);
}

template <class Size>
void copy_item(Bytes from, std::size_t from_position, MutableBytes to, std::size_t to_position, Size size) {
    std::memcpy(to.bytes + to_position * size, from.bytes + from_position * size, size);
}

template <class Size>
void clear_item(MutableBytes to, std::size_t position, Size size) {
    std::memset(to.bytes + position * size, 0, size);
}

}  // namespace gradbag
