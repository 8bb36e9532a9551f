#pragma once

#include <algorithm>
#include <cstddef>
#include <cstdint>
#include <cstring>
#include <type_traits>

#include "core/parallel.hpp"
#include "core/prefetch.hpp"
#include "core/radix_sort.hpp"
#include "core/sorted_entries.hpp"
#include "kernels/filled_rows.hpp"

// Rows that are in order, or were sorted: the output is written from its begin to its end.
namespace gradbag::detail {

// A part of the entries, and where it stands: row `first_row` is the first that no entry before has reached,
// and `to` the place of the next output.
struct RowsPart {
    std::size_t number;
    std::size_t begin;
    std::size_t end;
    std::size_t first_row;
    std::size_t end_row;  // in the last part also the empty rows after the last entry belong to it
    std::size_t to;
};

template <class Entries>
RowsPart part_of(const Entries& entries, std::size_t rows, Pieces parts, std::size_t part) {
    const std::size_t begin = parts.begin(part);
    const std::size_t end = parts.end(part);
    const std::size_t first_row = begin == 0 ? 0 : entries.last_key(part - 1) + 1;
    const std::size_t end_row = end == entries.size() ? rows : entries.last_key(part) + 1;
    // Before entry i of the g-th row that has entries, i entries and all but g of the rows below were
    // written.
    return {part, begin, end, first_row, end_row, begin + first_row - entries.groups_before(part)};
}

template <class Rank, class Size>
[[gnu::always_inline]] inline void put_empty_row(std::size_t row, std::int64_t* __restrict indices,
                                                 std::uint8_t* __restrict value,
                                                 const std::uint8_t* __restrict default_value, Rank rank,
                                                 Size size) {
    indices[0] = static_cast<std::int64_t>(row);
    for (std::size_t d = 1; d < rank; ++d) indices[d] = 0;  // mutant: filled columns
    std::memcpy(value, default_value, size);                // mutant: filled value
}

template <class Rank, class Size>
[[gnu::noinline]] void put_empty_rows(std::size_t row, std::size_t end_row, std::int64_t* indices,
                                      std::uint8_t* values, const std::uint8_t* default_value, Rank rank,
                                      Size size) {
    if (row >= end_row) return;
    in_parts(end_row - row, [&](std::size_t begin, std::size_t end) {
        for (std::size_t i = begin; i < end; ++i) {
            put_empty_row(row + i, indices + i * rank, values + i * size, default_value, rank, size);
        }
    });
}

// Writes the entries of a part and the empty rows between them; the first entry is of row `before` and goes
// to `to`. Returns the place after the last. Restricted pointers: otherwise they would be loaded again after
// every store.
template <class RowAfter, class PositionOf, class Rank, class Size>
std::size_t write_entries(RowAfter row_after, std::size_t before, std::size_t begin, std::size_t end,
                          PositionOf position_of, const std::int64_t* __restrict columns,
                          const std::uint8_t* __restrict items, const std::uint8_t* __restrict default_value,
                          std::int64_t* __restrict output_indices, std::uint8_t* __restrict output_values,
                          bool* __restrict empty_row_indicator, std::int64_t* __restrict reverse_index_map,
                          std::size_t to, Rank rank, Size size) {
    --to;
    for (std::size_t i = begin; i < end; ++i) {
        // Each row takes a place, and so does each further entry of one.
        const std::size_t row = row_after(i, before);
        const std::size_t step = row - before + (row == before ? 1 : 0);  // mutant: step
        if (step > 2) [[unlikely]] {
            put_empty_rows(before + 2, row, output_indices + (to + 2) * rank, output_values + (to + 2) * size,
                           default_value, rank, size);
        }
        to += step;
        before = row;
        const std::size_t position = position_of(i);
        std::int64_t* const indices = output_indices + to * rank;
        std::uint8_t* const value = output_values + to * size;
        // The row as checked, whatever the array says by now.
        indices[0] = static_cast<std::int64_t>(row);
        for (std::size_t d = 1; d < rank; ++d) indices[d] = columns[position * rank + d];
        std::memcpy(value, items + position * size, size);
        empty_row_indicator[row] = false;                             // mutant: mark
        reverse_index_map[position] = static_cast<std::int64_t>(to);  // mutant: map
        // The next row is taken as empty, and overwritten if it is not: that cannot be guessed.
        if (i + 1 < end) put_empty_row(row + 1, indices + rank, value + size, default_value, rank, size);
    }
    return to + 1;
}

template <class Entries, class PositionOf, class Rank, class Size>
void write_part(const Entries& entries, const RowsPart& part, PositionOf position_of, const RowEntries& from,
                const FilledRows& output, Rank rank, Size size) {
    bool* const empty_row_indicator = output.empty_row_indicator.data();
    in_parts(part.end_row - part.first_row, [&](std::size_t begin, std::size_t end) {
        std::fill_n(empty_row_indicator + part.first_row + begin, end - begin, true);
    });
    const std::uint8_t* const default_value = from.default_value.bytes;
    std::size_t to = part.to;
    const auto put_empty = [&](std::size_t row, std::size_t end_row) {
        put_empty_rows(row, end_row, output.indices.data + to * rank, output.values.bytes + to * size,
                       default_value, rank, size);
    };
    std::size_t next_row = part.first_row;
    if (part.begin < part.end) {
        const std::size_t row = entries.first_key(part.number);
        put_empty(next_row, row);
        // The row may have begun in the part before.
        to += std::max(row, next_row) - next_row;
        to = write_entries(entries.key_after(), row, part.begin, part.end, position_of, from.indices.data,
                           from.values.bytes, default_value, output.indices.data, output.values.bytes,
                           empty_row_indicator, output.reverse_index_map.data(), to, rank, size);
        next_row = entries.last_key(part.number) + 1;
    }
    put_empty(next_row, part.end_row);  // mutant: last rows
}

template <class Word>
auto positions_with_prefetch(const SortedEntries<Word>& entries, const RowEntries& from,
                             const FilledRows& output) {
    const Matrix<const std::uint8_t> items{from.values.bytes, from.values.count, from.values.item_size};
    const Matrix<std::int64_t> map{output.reverse_index_map.data(), entries.size(), 1};
    // Tells the caches which entries will come.
    return [positions = entries.positions(), last = entries.size() - 1, indices = RowPrefetch(from.indices),
            values = RowPrefetch(items), maps = RowPrefetch(map)](std::size_t i) {
        const Word later = positions[std::min(i + kPrefetchDistance, last)];
        indices.line(later);
        values.line(later);
        maps.line(later);
        return static_cast<std::size_t>(positions[i]);
    };
}

template <class Entries, class Rank, class Size>
void fill_sorted(const Entries& entries, std::size_t rows, const RowEntries& from, const FilledRows& output,
                 Rank rank, Size size) {
    const Pieces parts(entries.size(), kPartEntries);
    // Also when there are no entries: then all rows are empty.
    parallel_for(std::max<std::size_t>(parts.count(), 1), threads_for(4 * output.values.count),
                 [&](std::size_t number, std::size_t) {
                     const RowsPart part = part_of(entries, rows, parts, number);
                     if constexpr (!std::is_same_v<Entries, KeySteps>) {
                         if (!entries.in_order()) {
                             const auto by_position = positions_with_prefetch(entries, from, output);
                             return write_part(entries, part, by_position, from, output, rank, size);
                         }
                     }
                     const auto in_order = [](std::size_t i) { return i; };
                     write_part(entries, part, in_order, from, output, rank, size);
                 });
}

}  // namespace gradbag::detail
