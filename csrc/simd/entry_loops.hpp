#pragma once

#include <cstddef>
#include <cstdint>

#include "core/types.hpp"

// The loops over indices and segment ids, compiled for several instruction sets like those over columns.
namespace gradbag {

// Where the rows of a table lie.
struct RowPlaces {
    std::uintptr_t base;
    std::size_t row_bytes;
    std::size_t rows;
};

// The rows of one of several threads, which take turns. Their number is a power of two.
struct RowTurns {
    std::uint32_t threads;
    std::uint32_t mine;
    unsigned shift;  // a turn is 2**shift rows

    bool operator()(std::uint64_t row) const { return ((row >> shift) & (threads - 1)) == mine; }
};

// Numbers that were copied into words of 32 bits.
struct CopiedWords {
    std::uint32_t largest;
    bool fit;     // none was negative or too large; otherwise the copies mean nothing
    bool sorted;  // in ascending order
};

template <Index I>
struct EntryLoops {
    // Lists the positions in [begin, end), counted from `begin`, at which an id differs from the one before
    // it, and returns how many there are. `begin` is not 0.
    std::size_t (*find_edges)(const I* ids, std::size_t begin, std::size_t end, std::uint32_t* edges);
    // How many of the ids are the first, the first + 1, and so on.
    std::size_t (*count_consecutive)(const I* ids, std::size_t count);
    // Writes pointers to the rows with these indices to `rows`, an array of pointers of any type. Returns
    // false if one is not in the table: then some pointers mean nothing. Each index is read once.
    bool (*find_rows)(const I* indices, std::size_t count, const RowPlaces& places, void* rows);
    // The same for the own rows alone, one after another. `before` tells of each index, and after the last
    // one, how many of them come before it. There is room for three more pointers than indices.
    bool (*find_own_rows)(const I* indices, std::size_t count, const RowPlaces& places, const RowTurns& own,
                          void* rows, std::uint16_t* before);
    // Copies numbers into words. Each is read once.
    CopiedWords (*copy_words)(const I* numbers, std::size_t count, std::uint32_t* words);
};

// Those of the chosen level.
template <Index I>
const EntryLoops<I>& entry_loops();

// Which of 64 numbers occur, and how many occur below them.
struct RankWord {
    std::uint64_t occurs;
    std::uint32_t before;
};

// Replaces each number by how many occur below it.
void rank_numbers(std::uint32_t* numbers, std::size_t count, const RankWord* words);

// Items of four bytes.
struct NearItems {
    const std::uint32_t* data;
    std::size_t count;
};

struct NearCopies {
    std::uint32_t* data;
    bool stream;  // past the caches, where they lie as that needs it
};

// Copies the items at these places for as long as neighbours lie near each other, notes each place by a bit
// in the words of `visited`, and returns how many it took. All of them were in range.
std::size_t copy_near_items(const std::int64_t* places, std::size_t count, const NearItems& items,
                            const NearCopies& copies, std::uint64_t* visited);

}  // namespace gradbag
