#pragma once

#include <bit>
#include <cstddef>
#include <cstdint>
#include <cstring>

#include "core/checked.hpp"
#include "simd/entry_loops.hpp"

// For every CPU. As with the loops over columns, the level is a template parameter of all that is not
// inlined.
namespace gradbag::simd {

template <class Level, Index I>
struct PlainEntries {
    static std::size_t find_edges(const I* ids, std::size_t begin, std::size_t end, std::uint32_t* edges) {
        std::size_t count = 0;
        for (std::size_t i = begin; i < end; ++i) {
            // No branch: what is no edge is overwritten by the next one.
            edges[count] = static_cast<std::uint32_t>(i - begin);
            count += ids[i] != ids[i - 1] ? 1 : 0;
        }
        return count;
    }

    static std::size_t count_consecutive(const I* ids, std::size_t count) {
        std::size_t found = 0;
        while (found < count && follows(ids, found)) ++found;
        return found;
    }

    static bool find_rows(const I* indices, std::size_t count, const RowPlaces& places, void* rows) {
        bool good = true;
        for (std::size_t i = 0; i < count; ++i) {
            const I index = load_once(indices + i);
            good &= in_range(index, places.rows);
            const std::uintptr_t row = places.base + static_cast<std::uintptr_t>(index) * places.row_bytes;
            std::memcpy(static_cast<char*>(rows) + i * sizeof(row), &row, sizeof(row));
        }
        return good;
    }

    // Whether an id is as far from the first as its position. Unsigned, because the sum may not fit.
    [[gnu::always_inline]] static bool follows(const I* ids, std::size_t position) {
        return static_cast<std::uint64_t>(ids[position]) - static_cast<std::uint64_t>(ids[0]) == position;
    }
};

// With an instruction that counts bits, where the level has one.
template <class Level>
void rank_numbers(std::uint32_t* __restrict numbers, std::size_t count, const RankWord* __restrict words) {
    for (std::size_t i = 0; i < count; ++i) {
        const std::uint32_t number = numbers[i];
        const RankWord word = words[number / 64];
        const std::uint64_t below = (std::uint64_t{1} << (number % 64)) - 1;
        numbers[i] = word.before + static_cast<std::uint32_t>(std::popcount(word.occurs & below));
    }
}

template <class Entries, Index I>
EntryLoops<I> entry_loops_of() {
    return {Entries::find_edges, Entries::count_consecutive, Entries::find_rows};
}

}  // namespace gradbag::simd
