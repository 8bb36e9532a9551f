#pragma once

#include <algorithm>
#include <concepts>
#include <cstddef>
#include <cstdint>
#include <limits>
#include <span>
#include <utility>
#include <variant>

#include "core/buffer.hpp"
#include "core/checked.hpp"
#include "core/clear.hpp"
#include "core/grouped_entries.hpp"
#include "core/parallel.hpp"
#include "core/plan.hpp"
#include "core/read_entries.hpp"
#include "core/types.hpp"
#include "core/views.hpp"
#include "kernels/bag_begins.hpp"
#include "kernels/bag_weights.hpp"
#include "kernels/combiner.hpp"
#include "kernels/segment_entries.hpp"
#include "kernels/segment_grad.hpp"
#include "kernels/segment_grad_compact.hpp"
#include "kernels/segment_groups.hpp"

// output[ids[i]] += grad[bag of i] * scale(i) for i = 0, 1, ..., starting from zeros: of all rows, or of
// those that any id names, in ascending order of id. Without weights bit for bit the gradient of a segment
// reduction, in which a bad id may be found after rows were written; with them nothing is written before all
// ids were judged.
namespace gradbag {

namespace detail {

template <class Word>
Buffer<Word> bags_of_entries(const BagBegins& bags) {
    Buffer<Word> of_entries(bags.entries());
    parallel_ranges(bags.entries(), 1, [&](std::size_t begin, std::size_t end, std::size_t) {
        for (std::size_t bag = bags.bag_of(begin); begin < end; ++bag) {
            const std::size_t stop = std::min(bags.end(bag), end);
            std::fill(of_entries.data() + begin, of_entries.data() + stop, static_cast<Word>(bag));
            begin = stop;
        }
    });
    return of_entries;
}

// Calls visit(entries) with the entries as those of a segment gradient.
template <Index I, class Visit>
auto as_segments(std::span<const I> ids, std::size_t rows, const BagBegins& bags, Visit visit) {
    const auto call = [&]<class S>(const Buffer<S>& segment_ids) {
        const std::span<const S> segments(segment_ids.data(), segment_ids.size());
        return visit(SegmentEntries<I, S>(ids, rows, segments, bags.size()));
    };
    if (bags.size() <= std::numeric_limits<std::int32_t>::max()) {
        return call(bags_of_entries<std::int32_t>(bags));
    }
    return call(bags_of_entries<std::int64_t>(bags));
}

// Weighted entries, grouped by the row that they go to; the payload is the entry.
template <class Word>
struct WeightedGroups {
    GroupedEntries<Word> grouped;
    Buffer<Word> bags;  // of each entry
};

using AnyWeightedGroups = std::variant<WeightedGroups<std::uint32_t>, WeightedGroups<std::uint64_t>>;

template <Index I>
AnyWeightedGroups group_weighted(std::span<const I> ids, std::size_t rows, const BagBegins& bags) {
    const auto read = [&](std::size_t begin, std::size_t end, auto put) {
        for (std::size_t i = begin; i < end; ++i) {
            put(i, checked(load_once(&ids[i]), rows, {kPoolInputs.entries, i}), i);  // mutant: bag id
        }
    };
    const auto group = [&]<class Word>(Word) {
        return WeightedGroups<Word>{group_entries(read_entries<Word>(ids.size(), read)),
                                    bags_of_entries<Word>(bags)};
    };
    if (fits_short_words(rows, bags.size(), ids.size())) return group(std::uint32_t{});
    return group(std::uint64_t{});
}

// What SegmentScales is to plain sums.
template <class A, class Word>
class EntryScales {
  public:
    EntryScales(const Buffer<A>& scales, const Buffer<Word>& bags) : scales_(scales), bags_(bags) {}

    A operator()(std::size_t entry) const { return scales_[entry]; }
    std::size_t segment(std::size_t entry) const {
        return static_cast<std::size_t>(bags_[entry]);  // mutant: entry bag
    }
    const A* listed() const { return scales_.data(); }

  private:
    const Buffer<A>& scales_;
    const Buffer<Word>& bags_;
};

template <Lane T, class Place>
void sum_weighted(Combiner combiner, Matrix<const T> grad, const AnyWeightedGroups& any,
                  const BagBegins& bags, std::span<const T> weights, bool stream, Place place) {
    Buffer<Accumulator<T>> scales(bags.entries());
    normalize_weights(combiner, weights, bags, scales.data());
    std::visit(
        [&](const auto& groups) {
            sum_groups(grad, groups.grouped, EntryScales(scales, groups.bags), stream, place);
        },
        any);
}

struct WeightedWork {
    AnyWeightedGroups groups;
    BagBegins bags;
};

template <Lane T, Index I>
void scatter_bags(Combiner combiner, Matrix<const T> grad, std::span<const I> ids, const BagBegins& bags,
                  std::span<const T> weights, Matrix<T> output) {
    if (weights.empty()) {
        return as_segments(ids, output.rows, bags, [&](const auto& entries) {
            segment_grad(combiner, grad, entries.indices(), entries.segment_ids(), output);
        });
    }
    const AnyWeightedGroups groups = group_weighted(ids, output.rows, bags);
    clear_all(output);
    sum_weighted(combiner, grad, groups, bags, weights, false,
                 [&](std::size_t, std::size_t id) { return output.row(id); });
}

}  // namespace detail

template <Lane T, Index I, Index O>
void bag_grad(Combiner combiner, Matrix<const T> grad, std::span<const I> ids, std::span<const O> offsets,
              std::span<const T> weights, Matrix<T> output) {
    const BagBegins bags(offsets, ids.size(), kPoolInputs);
    detail::scatter_bags(combiner, grad, ids, bags, weights, output);
}

// sizes: the number of distinct ids. Independent of the type of the gradient.
template <Index I, Index O>
Plan bag_grad_compact_plan(Combiner combiner, GradRows grad, std::span<const I> ids,
                           std::span<const O> offsets, bool weighted, const std::int64_t& table_rows) {
    BagBegins bags(offsets, ids.size(), kPoolInputs);
    const std::size_t rows = static_cast<std::size_t>(std::max<std::int64_t>(load_once(&table_rows), 0));
    if (!weighted) {
        return detail::as_segments(ids, rows, bags, [&](const auto& entries) {
            return segment_grad_compact_plan(combiner, grad, entries);
        });
    }
    detail::AnyWeightedGroups groups = detail::group_weighted(ids, rows, bags);
    const std::size_t count = std::visit([](const auto& some) { return some.grouped.groups; }, groups);
    return {{static_cast<std::int64_t>(count)}, detail::WeightedWork{std::move(groups), std::move(bags)}};
}

template <Lane T, Index I>
void bag_grad_compact(const Plan& plan, Combiner combiner, Matrix<const T> grad, std::span<const T> weights,
                      Matrix<T> output, std::span<I> sorted_unique_ids) {
    if (weights.empty()) return segment_grad_compact(plan, combiner, grad, output, sorted_unique_ids);
    const auto& work = plan.work<detail::WeightedWork>();
    const bool stream = may_stream(output.data, output.rows, output.columns);
    detail::sum_weighted(combiner, grad, work.groups, work.bags, weights, stream,
                         [&](std::size_t group, std::size_t id) {
                             sorted_unique_ids[group] = static_cast<I>(id);
                             return output.row(group);
                         });
}

}  // namespace gradbag
