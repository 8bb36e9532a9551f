#pragma once

#include <algorithm>
#include <bit>
#include <cstddef>
#include <cstdint>
#include <utility>
#include <vector>

#include "core/buffer.hpp"

namespace gradbag {

// Word is std::uint32_t whenever key and payload fit: half the memory traffic of a 64-bit sort.
template <class Word>
struct KeyedEntry {
    Word key;
    Word payload;
};

namespace detail {

template <class Word>
void insertion_sort(KeyedEntry<Word>* entries, std::size_t count) {
    for (std::size_t next = 1; next < count; ++next) {
        const KeyedEntry<Word> moving = entries[next];
        std::size_t hole = next;
        for (; hole > 0 && entries[hole - 1].key > moving.key; --hole) entries[hole] = entries[hole - 1];
        entries[hole] = moving;
    }
}

template <class Word>
std::size_t digit_of(Word key, unsigned shift, std::size_t mask) {
    return static_cast<std::size_t>(key >> shift) & mask;
}

template <class Word>
void count_digits(const KeyedEntry<Word>* __restrict entries, std::size_t count, unsigned shift,
                  std::size_t mask, std::size_t* __restrict counts) {
    std::fill_n(counts, mask + 1, std::size_t{0});
    for (std::size_t i = 0; i < count; ++i) ++counts[digit_of(entries[i].key, shift, mask)];
}

// A free function over restricted pointers: as a lambda it would reload its pointers after every store.
template <class Word>
void scatter_by_digit(const KeyedEntry<Word>* __restrict from, std::size_t count, unsigned shift,
                      std::size_t mask, std::size_t* __restrict next, KeyedEntry<Word>* __restrict to) {
    for (std::size_t i = 0; i < count; ++i) {
        const KeyedEntry<Word> entry = from[i];
        to[next[digit_of(entry.key, shift, mask)]++] = entry;
    }
}

inline void counts_to_offsets(std::vector<std::size_t>& counts) {
    std::size_t offset = 0;
    for (std::size_t& count : counts) offset += std::exchange(count, offset);
}

}  // namespace detail

// Stable: entries with equal keys keep their order. No key exceeds `largest`.
template <class Word>
void stable_sort_by_key(Buffer<KeyedEntry<Word>>& entries, Word largest) {
    constexpr std::size_t few = 64;
    const std::size_t count = entries.size();
    if (count <= few) {
        detail::insertion_sort(entries.data(), count);
        return;
    }
    // Least significant digit first. The digits share the bits evenly: 17 bits are two digits of 9, which
    // scatter into fewer places than 11 and 6 would. A short list does not repay a large table of counts.
    const unsigned widest = count < 4096 ? 8 : 11;
    const unsigned bits = std::max(1u, static_cast<unsigned>(std::bit_width(largest)));
    const unsigned passes = (bits + widest - 1) / widest;
    const unsigned digit_bits = (bits + passes - 1) / passes;
    const std::size_t mask = (std::size_t{1} << digit_bits) - 1;

    Buffer<KeyedEntry<Word>> other(count);
    std::vector<std::size_t> counts(mask + 1);
    for (unsigned pass = 0; pass < passes; ++pass) {
        const unsigned shift = pass * digit_bits;
        detail::count_digits(entries.data(), count, shift, mask, counts.data());
        const bool all_alike = counts[detail::digit_of(entries[0].key, shift, mask)] == count;
        if (all_alike) continue;
        detail::counts_to_offsets(counts);
        detail::scatter_by_digit(entries.data(), count, shift, mask, counts.data(), other.data());
        std::swap(entries, other);
    }
}

}  // namespace gradbag
