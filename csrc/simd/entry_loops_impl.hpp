#pragma once

#include <algorithm>
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
            count += ids[i] != ids[i - 1] ? 1 : 0;  // mutant: run ends
        }
        return count;
    }

    static std::size_t count_consecutive(const I* ids, std::size_t count) {
        std::size_t found = 0;
        while (found < count && follows(ids, found)) ++found;  // mutant: gap
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

    static bool find_own_rows(const I* indices, std::size_t count, const RowPlaces& places,
                              const RowTurns& own, void* rows, std::uint16_t* before) {
        before[0] = 0;
        return find_own_rows_after(0, indices, count, places, own, static_cast<char*>(rows), before);
    }

    // The same when the indices before `begin` were looked at. Whose a row is cannot be guessed, so there is
    // no branch: a row of others is overwritten by the next.
    [[gnu::always_inline]] static bool find_own_rows_after(std::size_t begin, const I* indices,
                                                           std::size_t count, const RowPlaces& places,
                                                           const RowTurns& own, char* rows,
                                                           std::uint16_t* before) {
        bool good = true;
        std::uint16_t found = before[begin];
        for (std::size_t i = begin; i < count; ++i) {
            const I index = load_once(indices + i);
            good &= in_range(index, places.rows);
            const std::uintptr_t row = places.base + static_cast<std::uintptr_t>(index) * places.row_bytes;
            std::memcpy(rows + found * sizeof(row), &row, sizeof(row));
            found = static_cast<std::uint16_t>(found + (own(static_cast<std::uint64_t>(index)) ? 1 : 0));
            before[i + 1] = found;
        }
        return good;
    }

    static CopiedWords copy_words(const I* numbers, std::size_t count, std::uint32_t* words) {
        return copy_words_after(0, numbers, count, words, {0, true, true});
    }

    // The same when words before `begin` were copied, and this is what is known of them.
    [[gnu::always_inline]] static CopiedWords copy_words_after(std::size_t begin, const I* numbers,
                                                               std::size_t count, std::uint32_t* words,
                                                               CopiedWords copied) {
        std::uint32_t before = begin > 0 ? words[begin - 1] : 0;
        for (std::size_t i = begin; i < count; ++i) {
            const I number = load_once(numbers + i);
            const auto word = static_cast<std::uint32_t>(number);
            copied.fit &= in_range(number, std::size_t{1} << (sizeof(I) == 4 ? 31 : 32));  // mutant: fits
            copied.sorted &= word >= before;  // mutant: ascending
            copied.largest = std::max(copied.largest, word);
            words[i] = before = word;
        }
        return copied;
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
        const std::uint64_t below = (std::uint64_t{1} << (number % 64)) - 1;  // mutant: ranks
        numbers[i] = word.before + static_cast<std::uint32_t>(std::popcount(word.occurs & below));
    }
}

// Takes none, which leaves them to the caller.
template <class Level>
std::size_t copy_no_items(const std::int64_t*, std::size_t, const NearItems&, const NearCopies&,
                          std::uint64_t*) {
    return 0;
}

template <class Entries, Index I>
EntryLoops<I> entry_loops_of() {
    return {Entries::find_edges, Entries::count_consecutive, Entries::find_rows, Entries::find_own_rows,
            Entries::copy_words};
}

}  // namespace gradbag::simd
