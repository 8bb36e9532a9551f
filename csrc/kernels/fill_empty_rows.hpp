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
#include "core/plan.hpp"
#include "core/prefetch.hpp"
#include "core/sorted_entries.hpp"
#include "core/views.hpp"

// Gives every row that has no entry one entry with a default value, and groups the entries by row. Column 0
// of `indices` is the row; the ragged form, which has row ids only, is the case of one column.
namespace gradbag {

struct EntriesByRow {
    std::size_t rows;
    AnySortedEntries sorted;  // by row; the payload is the position of the entry
};

// sizes: the number of entries after filling. `fault_column` is the column that a fault about a row names.
inline Plan fill_empty_rows_plan(Matrix<const std::int64_t> indices, const std::int64_t& row_count,
                                 std::int64_t fault_column) {
    const std::size_t rows = static_cast<std::size_t>(std::max<std::int64_t>(load_once(&row_count), 0));
    AnySortedEntries sorted = sort_entries(indices.rows, rows, indices.rows, [&](std::size_t position) {
        return std::pair(checked(load_once(indices.row(position)), rows, {0, position, fault_column}),
                         position);
    });
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

// Visits the output in order: on_entry(row, position of the entry, position in the output) and
// on_empty(row, position in the output). The prefetchers are told which entries will come.
template <class Word, class OnEntry, class OnEmpty, class... Prefetch>
void walk_rows(const SortedEntries<Word>& entries, std::size_t rows, OnEntry on_entry, OnEmpty on_empty,
               const Prefetch&... prefetch) {
    std::size_t next_row = 0;
    std::size_t to = 0;
    for (std::size_t i = 0; i < entries.size(); ++i) {
        const std::size_t later = i + kPrefetchDistance;
        if (later < entries.size()) (prefetch(entries[later].payload), ...);
        const std::size_t row = static_cast<std::size_t>(entries[i].key);
        for (; next_row < row; ++next_row) on_empty(next_row, to++);
        next_row = row + 1;
        on_entry(row, static_cast<std::size_t>(entries[i].payload), to++);
    }
    for (; next_row < rows; ++next_row) on_empty(next_row, to++);
}

template <class Word, class Rank>
void write_indices(const SortedEntries<Word>& entries, Matrix<const std::int64_t> indices,
                   const FilledRows& output, Rank rank) {
    std::int64_t* const output_indices = output.indices.data;
    const std::span<bool> empty_row_indicator = output.empty_row_indicator;
    const std::span<std::int64_t> reverse_index_map = output.reverse_index_map;
    const auto on_entry = [=](std::size_t row, std::size_t from, std::size_t to) {
        std::copy_n(indices.data + from * rank, rank, output_indices + to * rank);
        output_indices[to * rank] =
            static_cast<std::int64_t>(row);  // As checked, whatever the array says by now.
        empty_row_indicator[row] = false;
        reverse_index_map[from] = static_cast<std::int64_t>(to);
    };
    const auto on_empty = [=](std::size_t row, std::size_t to) {
        std::fill_n(output_indices + to * rank, rank, std::int64_t{0});
        output_indices[to * rank] = static_cast<std::int64_t>(row);
        empty_row_indicator[row] = true;
    };
    const Matrix<std::int64_t> map{reverse_index_map.data(), reverse_index_map.size(), 1};
    walk_rows(entries, empty_row_indicator.size(), on_entry, on_empty, RowPrefetch(indices),
              RowPrefetch(map));
}

template <class Word, class Size>
void write_values(const SortedEntries<Word>& entries, Bytes values, Bytes default_value,
                  const FilledRows& output, Size item_size) {
    const MutableBytes output_values = output.values;
    const auto on_entry = [=](std::size_t, std::size_t from, std::size_t to) {
        copy_item(values, from, output_values, to, item_size);
    };
    const auto on_empty = [=](std::size_t, std::size_t to) {
        copy_item(default_value, 0, output_values, to, item_size);
    };
    const Matrix<const std::uint8_t> items{values.bytes, values.count, item_size};
    walk_rows(entries, output.empty_row_indicator.size(), on_entry, on_empty, RowPrefetch(items));
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
            with_constant_if_any<1, 2, 3>(
                indices.columns, [&](auto rank) { detail::write_indices(entries, indices, output, rank); });
            with_item_size(values.item_size, [&](auto item_size) {
                detail::write_values(entries, values, default_value, output, item_size);
            });
        },
        work.sorted);
}

}  // namespace gradbag
