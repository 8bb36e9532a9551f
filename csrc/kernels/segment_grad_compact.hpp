#pragma once

#include <algorithm>
#include <concepts>
#include <cstddef>
#include <cstdint>
#include <span>
#include <stdexcept>
#include <utility>
#include <variant>

#include "core/checked.hpp"
#include "core/clear.hpp"
#include "core/grouped_entries.hpp"
#include "core/plan.hpp"
#include "core/thresholds.hpp"
#include "core/types.hpp"
#include "core/views.hpp"
#include "kernels/combiner.hpp"
#include "kernels/ranked_entries.hpp"
#include "kernels/row_scatter.hpp"
#include "kernels/segment_entries.hpp"
#include "kernels/segment_groups.hpp"
#include "simd/row_loops.hpp"

// The rows of the segment gradient that any index names, in ascending order of index: row k is, bit for bit,
// row sorted_unique_indices[k] of the dense gradient.
namespace gradbag {

// What is to be known of a gradient before its type is.
struct GradRows {
    std::size_t rows;
    std::size_t row_bytes;
    bool added_as_is;  // and not in a wider type
};

using CompactWork = std::variant<SegmentGroups, RankedEntries>;

namespace detail {

// Rows are better added one by one than grouped by a sort while those that occur stay in a cache, and beyond
// it while the gradient, whose rows a sort would ask for in no order, is not much smaller.
class RankingChoice {
  public:
    RankingChoice(const UnsortedEntries<std::uint32_t>& all, GradRows grad)
        : keys_(std::size_t{all.largest} + 1),
          entries_(all.keys.size()),
          most_cached_(kRankedBytes / std::max<std::size_t>(grad.row_bytes, 1)),
          grad_rows_(grad.rows),
          possible_(grad.added_as_is && grad.rows <= kMostSegments && all.payloads_sorted && !all.sorted &&
                    num_threads() <= kRankingThreads && keys_ <= kRankedKeys &&
                    keys_ / kKeysOfEntry <= entries_) {}

    // Whether it is worth counting the keys that occur. Few entries or keys are enough to know.
    bool likely() const {
        return possible_ &&
               (keys_ / kKeysOfRow <= grad_rows_ || std::min(keys_, entries_) / kSharedKeys <= most_cached_);
    }

    bool worthwhile(std::size_t occurring) const {
        return occurring / kRanksOfRow <= grad_rows_ || occurring <= most_cached_;
    }

  private:
    static constexpr std::size_t kMostSegments = std::size_t{1} << 31;  // which are read as signed

    std::size_t keys_;
    std::size_t entries_;
    std::size_t most_cached_;
    std::size_t grad_rows_;
    bool possible_;
};

}  // namespace detail

// sizes: the number of distinct indices. Independent of the type of the gradient.
template <Index I, Index S>
Plan segment_grad_compact_plan(Combiner combiner, GradRows grad, const SegmentEntries<I, S>& entries) {
    return entries.read_all([&]<class Word>(UnsortedEntries<Word> all) -> Plan {
        if constexpr (std::same_as<Word, std::uint32_t>) {
            const detail::RankingChoice ranking(all, grad);
            if (ranking.likely()) {
                const KeyRanks ranks(all);
                if (ranking.worthwhile(ranks.count())) {
                    return {{static_cast<std::int64_t>(ranks.count())},
                            CompactWork(ranks.rank(std::move(all)))};
                }
            }
        }
        SegmentGroups groups = group_by_index(combiner, std::move(all), grad.rows);
        return {{static_cast<std::int64_t>(count_groups(groups.grouped))}, CompactWork(std::move(groups))};
    });
}

template <Index I, Index S>
Plan segment_grad_compact_plan(Combiner combiner, GradRows grad, std::span<const I> indices,
                               std::span<const S> segment_ids, const std::int32_t& dense_output_dim0) {
    const std::int32_t rows = std::max(load_once(&dense_output_dim0), 0);  // mutant: dim0
    return segment_grad_compact_plan(
        combiner, grad,
        SegmentEntries<I, S>(indices, static_cast<std::size_t>(rows), segment_ids, grad.rows));
}

template <Lane T, Index I>
void segment_grad_compact(const Plan& plan, Combiner combiner, Matrix<const T> grad, Matrix<T> output,
                          std::span<I> sorted_unique_indices) {
    const CompactWork& work = plan.work<CompactWork>();
    if constexpr (std::same_as<T, Accumulator<T>>) {
        if (const auto* const ranked = std::get_if<RankedEntries>(&work)) {
            for (std::size_t rank = 0; rank < ranked->count; ++rank) {
                sorted_unique_indices[rank] = static_cast<I>(ranked->indices[rank]);
            }
            const ScatterShares<T> shares(ranked->ranks.size(), grad.rows, output);
            clear_all(output, shares.parts());
            const bool sorted = scatter_sorted(combiner, grad, ranked->ranks_to_scatter(),
                                               ranked->segments_to_scatter(), output, shares);
            if (!sorted) throw std::logic_error("entries are not as they were when the plan was made");
            return;
        }
    }
    const bool stream = may_stream(output.data, output.rows, output.columns);
    sum_groups(combiner, grad, std::get<SegmentGroups>(work), stream,
               [&](std::size_t group, std::size_t index) {
                   sorted_unique_indices[group] = static_cast<I>(index);  // mutant: unique
                   return output.row(group);
               });
}

}  // namespace gradbag
