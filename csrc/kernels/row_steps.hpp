#pragma once

#include <algorithm>
#include <array>
#include <cmath>
#include <concepts>
#include <cstddef>
#include <cstdint>
#include <span>
#include <utility>
#include <variant>

#include "core/buffer.hpp"
#include "core/checked.hpp"
#include "core/grouped_entries.hpp"
#include "core/parallel.hpp"
#include "core/read_entries.hpp"
#include "core/thresholds.hpp"
#include "core/types.hpp"
#include "core/views.hpp"
#include "kernels/bag_begins.hpp"
#include "kernels/bag_grad.hpp"
#include "kernels/bag_scales.hpp"
#include "kernels/bag_weights.hpp"
#include "kernels/combiner.hpp"
#include "kernels/segment_groups.hpp"
#include "kernels/segment_scales.hpp"
#include "simd/rule_loops.hpp"

// Steps of optimizers: what belongs to one row of a table is added up, entry after entry from zero on, and
// then the rule is applied to the row. A row belongs to one thread, so the bits do not depend on how many
// there are; and all indices are checked before a row is written, so a bad one leaves the table as it was.
namespace gradbag {

// A rule with what it works on, but no gradient yet.
template <std::floating_point T>
struct RowStep {
    RowRule rule;
    Matrix<T> table;
    RuleRows<T> rows;
    std::array<std::size_t, kMostStates> widths;  // of a row of each state; 0: there is none
};

namespace detail {

// Sums of some rows, which are applied together. Belongs to one thread.
template <std::floating_point T>
class SteppedRows {
  public:
    explicit SteppedRows(const RowStep<T>& step)
        : apply_(rule_loops<T>()[static_cast<std::size_t>(step.rule)]),
          all_(step.rows),
          widths_(step.widths),
          most_(std::clamp<std::size_t>(kSteppedBytes / std::max<std::size_t>(all_.columns * sizeof(T), 1), 1,
                                        kSumBatch)),
          sums_(most_ * all_.columns) {
        all_.rows = rows_;
        all_.grads = sums_.data();
    }

    std::size_t most() const { return most_; }

    // The row is asked for: it arrives while the gradients of its batch are summed.
    T* place(std::size_t, std::size_t row) {
        ask_for(all_.table + row * all_.columns, all_.columns);
        for (std::size_t s = 0; s < kMostStates; ++s) ask_for(all_.states[s] + row * widths_[s], widths_[s]);
        rows_[all_.count] = row;
        return sums_.data() + all_.count++ * all_.columns;
    }

    template <class Word>
    void flush(const GroupedEntries<Word>&, std::size_t) {
        apply_(all_);
        all_.count = 0;
    }

  private:
    [[gnu::always_inline]] static void ask_for(const T* row, std::size_t numbers) {
        const auto begin = reinterpret_cast<std::uintptr_t>(row);
        const std::uintptr_t end = begin + std::min(numbers * sizeof(T), kPrefetchedBytes);
        for (std::uintptr_t at = begin / kLineBytes * kLineBytes; at < end; at += kLineBytes) {
            __builtin_prefetch(reinterpret_cast<const void*>(at), 1);
        }
    }

    void (*apply_)(const RuleRows<T>&);
    RuleRows<T> all_;
    std::array<std::size_t, kMostStates> widths_;
    std::size_t most_;
    Buffer<T> sums_;
    std::size_t rows_[kSumBatch];
};

template <std::floating_point T, class Word, class Scales>
void step_groups(const RowStep<T>& step, Matrix<const T> grad, const GroupedEntries<Word>& grouped,
                 const Scales& scales) {
    sum_groups_into(grad, grouped, scales, false, [&] { return SteppedRows<T>(step); });
}

// The payload is the row of the gradient, which counts as it is.
template <class A>
struct UnitScales {
    A operator()(std::size_t) const { return A{1}; }
    static std::size_t segment(std::size_t payload) { return payload; }
    static const A* listed() { return nullptr; }
};

// Calls visit(grouped) with the entries grouped by row; `payloads(begin, end, put)` calls put(i, payload).
template <Index I, class Payloads, class Visit>
void with_groups(std::span<const I> ids, std::size_t rows, int input, std::size_t payload_bound,
                 const Payloads& payloads, const Visit& visit) {
    const auto read = [&](std::size_t begin, std::size_t end, auto put) {
        payloads(begin, end, [&](std::size_t i, std::size_t payload) {
            put(i, checked(load_once(&ids[i]), rows, {input, i}), payload);  // mutant: stepped row
        });
    };
    if (fits_short_words(rows, payload_bound, ids.size())) {
        visit(group_entries(read_entries<std::uint32_t>(ids.size(), read)));
    } else {
        visit(group_entries(read_entries<std::uint64_t>(ids.size(), read)));
    }
}

inline constexpr auto each_position = [](std::size_t begin, std::size_t end, auto put) {
    for (std::size_t i = begin; i < end; ++i) put(i, i);
};

}  // namespace detail

// `input`: the number of the indices among the inputs.
template <std::floating_point T, Index I>
void step_rows(const RowStep<T>& step, int input, std::span<const I> indices, Matrix<const T> grad) {
    detail::with_groups(
        indices, step.table.rows, input, indices.size(), detail::each_position,
        [&](const auto& grouped) { detail::step_groups(step, grad, grouped, detail::UnitScales<T>{}); });
}

// `input`: the number of the ids among the inputs; the offsets follow them.
template <std::floating_point T, Index I, Index O>
void step_bags(const RowStep<T>& step, Combiner combiner, int input, Matrix<const T> grad,
               std::span<const I> ids, std::span<const O> offsets, std::span<const T> weights) {
    const BagBegins bags(offsets, ids.size(), {input, input + 1});
    if (weights.empty()) {
        const auto bag_of_each = [&](std::size_t begin, std::size_t end, auto put) {
            for (std::size_t bag = bags.bag_of(begin); begin < end; ++bag) {
                for (const std::size_t stop = std::min(bags.end(bag), end); begin < stop; ++begin) {
                    put(begin, bag);
                }
            }
        };
        const detail::BagScales<T> scales(combiner, bags);
        detail::with_groups(ids, step.table.rows, input, bags.size(), bag_of_each,
                            [&](const auto& grouped) { detail::step_groups(step, grad, grouped, scales); });
        return;
    }
    Buffer<T> scales(bags.entries());
    detail::with_groups(ids, step.table.rows, input, ids.size(), detail::each_position,
                        [&]<class Word>(const GroupedEntries<Word>& grouped) {
                            normalize_weights(combiner, weights, bags, scales.data());
                            const Buffer<Word> of_entries = detail::bags_of_entries<Word>(bags);
                            detail::step_groups(step, grad, grouped,
                                                detail::EntryScales<T, Word>(scales, of_entries));
                        });
}

// table[r] *= (1 - rate)**(step - last[r]) and last[r] = step for each row that is named, once, unless it is
// further already. The factor is computed in double.
template <std::floating_point T, Index I>
void decay_rows(Matrix<T> table, std::span<std::int64_t> last, std::span<const I> indices,
                const std::int64_t& step, const T& rate) {
    const std::int64_t until = step;
    const double left = 1 - static_cast<double>(rate);
    detail::with_groups(
        indices, table.rows, 2, indices.size(), detail::each_position, [&](const auto& grouped) {
            parallel_ranges(
                grouped.groups, table.columns, [&](std::size_t group, std::size_t end, std::size_t) {
                    for (; group < end; ++group) {
                        const auto row = static_cast<std::size_t>(grouped.keys[group]);
                        if (last[row] >= until) continue;  // mutant: decayed
                        const double missed = static_cast<double>(until) - static_cast<double>(last[row]);
                        const T factor = static_cast<T>(std::pow(left, missed));
                        T* const from = table.row(row);
                        for (std::size_t c = 0; c < table.columns; ++c) from[c] *= factor;
                        last[row] = until;
                    }
                });
        });
}

}  // namespace gradbag
