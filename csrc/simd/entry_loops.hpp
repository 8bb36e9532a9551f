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

}  // namespace gradbag
