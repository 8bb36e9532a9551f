#pragma once

#include <algorithm>
#include <cstddef>
#include <cstdint>
#include <cstring>
#include <type_traits>

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
    std::memset(to.bytes + position * size, 0, size);  // mutant: cleared
}

// Copies an item, or writes zeros in its place, without a branch if its size is a constant.
template <class Size>
void copy_item_if(bool wanted, Bytes from, std::size_t from_position, MutableBytes to,
                  std::size_t to_position, Size size) {
    if constexpr (std::is_same_v<Size, std::size_t>) {
        if (wanted) {
            copy_item(from, from_position, to, to_position, size);
        } else {
            clear_item(to, to_position, size);
        }
    } else {
        constexpr std::size_t word_bytes = std::min<std::size_t>(size, sizeof(std::uint64_t));
        const std::uint64_t mask = std::uint64_t{0} - static_cast<std::uint64_t>(wanted);
        for (std::size_t offset = 0; offset < size; offset += word_bytes) {  // mutant: words
            std::uint64_t word = 0;
            std::memcpy(&word, from.bytes + from_position * size + offset, word_bytes);
            word &= mask;  // mutant: mask
            std::memcpy(to.bytes + to_position * size + offset, &word, word_bytes);
        }
    }
}

}  // namespace gradbag
