#pragma once

#include <concepts>
#include <cstddef>
#include <span>
#include <variant>
#include <vector>

#include "core/types.hpp"
#include "core/views.hpp"
#include "kernels/combiner.hpp"
#include "kernels/grouped_bags.hpp"
#include "kernels/grouped_grad.hpp"
#include "kernels/row_steps.hpp"

namespace gradbag {

// Steps on many tables, the rows of which belong to one thread each. `input`: the number of the ids among the
// inputs; the offsets follow them.
template <std::floating_point T, Index I, Index O>
void step_tables(const std::vector<RowStep<T>>& steps, Combiner combiner, const IntegerList& feature_tables,
                 int input, Matrix<const T> grad, std::span<const I> ids, Matrix<const O> offsets,
                 std::span<const T> weights) {
    std::vector<std::size_t> rows;
    std::vector<std::size_t> columns;
    for (const RowStep<T>& step : steps) {
        rows.push_back(step.table.rows);
        columns.push_back(step.table.columns);
    }
    const GroupedBags bags(offsets, ids.size(), columns, feature_tables,
                           {input, input + 1});  // mutant: step inputs
    const AnyTableGroups any = group_tables(bags, rows, ids, !weights.empty(), grad.size());
    std::visit(
        [&](const auto& groups) {
            detail::sum_scaled_tables(combiner, bags, columns, grad, weights, groups, [&](std::size_t table) {
                return detail::SteppedRows<T>(steps[table]);
            });
        },
        any);
}

}  // namespace gradbag
