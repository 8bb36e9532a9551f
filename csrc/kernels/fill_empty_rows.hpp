#pragma once

#include <algorithm>
#include <cstddef>
#include <cstdint>
#include <limits>
#include <new>
#include <stdexcept>
#include <type_traits>
#include <utility>
#include <variant>

#include "core/checked.hpp"
#include "core/items.hpp"
#include "core/parallel.hpp"
#include "core/plan.hpp"
#include "core/sorted_entries.hpp"
#include "core/views.hpp"
#include "kernels/fill_sorted_rows.hpp"
#include "kernels/fill_unsorted_rows.hpp"
#include "kernels/filled_rows.hpp"

// Gives every row that has no entry one entry with a default value, and groups the entries by row. Column 0
// of `indices` is the row; the ragged form, which has row ids only, is the case of one column.
namespace gradbag {

struct EntriesByRow {
    std::size_t rows;
    AnyEntries entries;
};

// Reads the row of each entry once.
struct RowReader {
    Matrix<const std::int64_t> indices;
    std::size_t rows;
    std::int64_t fault_column;

    template <class Put>
    void operator()(std::size_t begin, std::size_t end, Put put) const {
        for (std::size_t i = begin; i < end; ++i) {
            put(i, checked(load_once(indices.row(i)), rows, {0, i, fault_column}));  // mutant: column
        }
    }

    std::uint64_t unchecked(std::size_t position) const {
        return static_cast<std::uint64_t>(load_once(indices.row(position)));
    }
};

// sizes: the number of entries after filling. `fault_column` is the column that a fault about a row names.
inline Plan fill_empty_rows_plan(Matrix<const std::int64_t> indices, const std::int64_t& row_count,
                                 std::int64_t fault_column) {
    const std::size_t rows = static_cast<std::size_t>(std::max<std::int64_t>(load_once(&row_count), 0));
    AnyEntries entries = arrange_entries(indices.rows, rows, RowReader{indices, rows, fault_column});
    const std::size_t filled = indices.rows + (rows - count_groups(entries));
    if (filled > std::numeric_limits<std::int64_t>::max()) throw std::bad_alloc();
    return {{static_cast<std::int64_t>(filled)}, EntriesByRow{rows, std::move(entries)}};
}

inline void fill_empty_rows(const Plan& plan, Matrix<const std::int64_t> indices, Bytes values,
                            Bytes default_value, const FilledRows& output) {
    const EntriesByRow& work = plan.work<EntriesByRow>();
    if (output.empty_row_indicator.size() != work.rows) {
        throw std::invalid_argument("the number of rows has changed since the plan was made");
    }
    const RowEntries from{indices, values, default_value};
    with_constant_if_any<1, 2, 3>(indices.columns, [&](auto rank) {
        with_item_size(values.item_size, [&](auto size) {
            std::visit(
                [&]<class Entries>(const Entries& entries) {
                    if constexpr (std::is_same_v<Entries, BucketedEntries>) {
                        detail::fill_unsorted(entries, from, output, rank, size);
                    } else {
                        detail::fill_sorted(entries, work.rows, from, output, rank, size);
                    }
                },
                work.entries);
        });
    });
}

}  // namespace gradbag
