#pragma once

#include <algorithm>
#include <cstddef>
#include <cstdint>
#include <limits>
#include <new>
#include <span>
#include <stdexcept>
#include <utility>
#include <variant>

#include "core/checked.hpp"
#include "core/items.hpp"
#include "core/parallel.hpp"
#include "core/plan.hpp"
#include "core/prefetch.hpp"
#include "core/sorted_entries.hpp"
#include "core/views.hpp"

// Gives every row that has no entry one entry with a default value, and groups the entries by row. Column 0
// of `indices` is the row; the ragged form, which has row ids only, is the case of one column.
namespace gradbag {

struct EntriesByRow {
    std::size_t rows;
    AnySortedEntries sorted;  // by row
};

// sizes: the number of entries after filling. `fault_column` is the column that a fault about a row names.
inline Plan fill_empty_rows_plan(Matrix<const std::int64_t> indices, const std::int64_t& row_count,
                                 std::int64_t fault_column) {
    const std::size_t rows = static_cast<std::size_t>(std::max<std::int64_t>(load_once(&row_count), 0));
    const auto read = [&](std::size_t begin, std::size_t end, auto put) {
        for (std::size_t position = begin; position < end; ++position) {
            put(position, checked(load_once(indices.row(position)), rows, {0, position, fault_column}));
        }
    };
    AnySortedEntries sorted = sort_entries(indices.rows, rows, read);
    const std::size_t filled = indices.rows + (rows - count_groups(sorted));
    if (filled > std::numeric_limits<std::int64_t>::max()) throw std::bad_alloc();
    return {{static_cast<std::int64_t>(filled)}, EntriesByRow{rows, std::move(sorted)}};
}

struct FilledRows {
    Matrix<std::int64_t> indices;
    MutableBytes values;
    std::span<bool> empty_row_indicator;
    std::span<std::int64_t> reverse_index_map;
};

namespace detail {

// A part of the entries, and where it stands: row `first_row` is the first that no entry before has reached,
// and `to` the place of the next output.
template <class Word>
struct RowsPart {
    const SortedEntries<Word>& entries;
    std::size_t begin;
    std::size_t end;
    std::size_t first_row;
    std::size_t to;
    std::size_t rows;  // all of them in the last part, which also has the empty rows after the last entry
};

template <class Word>
RowsPart<Word> part_of(const SortedEntries<Word>& entries, std::size_t rows, Pieces parts, std::size_t part) {
    const std::size_t begin = parts.begin(part);
    const std::size_t end = parts.end(part);
    // Before entry i of the g-th row that has entries, i entries and all but g of the rows below were
    // written.
    const std::size_t first_row = begin == 0 ? 0 : static_cast<std::size_t>(entries.keys[begin - 1]) + 1;
    const std::size_t to = begin + first_row - entries.groups_before[part];
    const bool last = end == entries.size();
    return {entries, begin, end, first_row, to, last ? rows : 0};
}

// Visits the output of a part in order: on_entry(row, position of the entry, position in the output) and
// on_empty(row, position in the output). The prefetchers are told which entries will come, unless entries
// come as they lie in the input, where the hardware sees what is next.
template <bool InOrder, class Word, class OnEntry, class OnEmpty, class... Prefetch>
void walk_rows(const RowsPart<Word>& part, OnEntry on_entry, OnEmpty on_empty, const Prefetch&... prefetch) {
    const Word* const keys = part.entries.keys.data();
    const Word* const positions = part.entries.positions.data();
    const std::size_t last = part.entries.size();
    std::size_t next_row = part.first_row;
    std::size_t to = part.to;
    for (std::size_t i = part.begin; i < part.end; ++i) {
        std::size_t position = i;
        if constexpr (!InOrder) {
            const std::size_t later = i + kPrefetchDistance;
            if (later < last) (prefetch.line(positions[later]), ...);
            position = static_cast<std::size_t>(positions[i]);
        }
        const std::size_t row = static_cast<std::size_t>(keys[i]);
        for (; next_row < row; ++next_row) on_empty(next_row, to++);
        next_row = row + 1;
        on_entry(row, position, to++);
    }
    for (; next_row < part.rows; ++next_row) on_empty(next_row, to++);
}

// Indices and values in one walk: whether a row is empty is guessed wrong once and not twice.
template <class Word, class Rank, class Size>
void write_part(const RowsPart<Word>& part, Matrix<const std::int64_t> indices, Bytes values,
                Bytes default_value, const FilledRows& output, Rank rank, Size item_size) {
    constexpr std::size_t many = std::size_t{1} << 16;
    std::int64_t* const output_indices = output.indices.data;
    const MutableBytes output_values = output.values;
    bool* const empty_row_indicator = output.empty_row_indicator.data();
    std::int64_t* const reverse_index_map = output.reverse_index_map.data();
    const auto on_entry = [=](std::size_t row, std::size_t from, std::size_t to) {
        // The row as checked, whatever the array says by now.
        output_indices[to * rank] = static_cast<std::int64_t>(row);
        for (std::size_t d = 1; d < rank; ++d) output_indices[to * rank + d] = indices.data[from * rank + d];
        copy_item(values, from, output_values, to, item_size);
        empty_row_indicator[row] = false;
        reverse_index_map[from] = static_cast<std::int64_t>(to);
    };
    const auto on_empty = [=](std::size_t row, std::size_t to) {
        std::fill_n(output_indices + to * rank, rank, std::int64_t{0});
        output_indices[to * rank] = static_cast<std::int64_t>(row);
        copy_item(default_value, 0, output_values, to, item_size);
        empty_row_indicator[row] = true;
        if (row % many == 0) checkpoint();
    };
    const Matrix<std::int64_t> map{reverse_index_map, output.reverse_index_map.size(), 1};
    const Matrix<const std::uint8_t> items{values.bytes, values.count, item_size};
    if (part.entries.in_order()) {
        walk_rows<true>(part, on_entry, on_empty);
    } else {
        walk_rows<false>(part, on_entry, on_empty, RowPrefetch(indices), RowPrefetch(items),
                         RowPrefetch(map));
    }
}

}  // namespace detail

inline void fill_empty_rows(const Plan& plan, Matrix<const std::int64_t> indices, Bytes values,
                            Bytes default_value, const FilledRows& output) {
    const EntriesByRow& work = plan.work<EntriesByRow>();
    if (output.empty_row_indicator.size() != work.rows) {
        throw std::invalid_argument("the number of rows has changed since the plan was made");
    }
    std::visit(
        [&](const auto& entries) {
            const Pieces parts(entries.size(), kPartEntries);
            // Also when there are no entries: then all rows are empty.
            parallel_for(std::max<std::size_t>(parts.count(), 1), threads_for(4 * output.values.count),
                         [&](std::size_t number, std::size_t) {
                             const auto part = detail::part_of(entries, work.rows, parts, number);
                             with_constant_if_any<1, 2, 3>(indices.columns, [&](auto rank) {
                                 with_item_size(values.item_size, [&](auto item_size) {
                                     detail::write_part(part, indices, values, default_value, output, rank,
                                                        item_size);
                                 });
                             });
                         });
        },
        work.sorted);
}

}  // namespace gradbag
