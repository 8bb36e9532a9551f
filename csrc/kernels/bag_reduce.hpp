#pragma once

#include <array>
#include <concepts>
#include <cstddef>
#include <cstdint>
#include <span>

#include "core/checked.hpp"
#include "core/clear.hpp"
#include "core/prefetch.hpp"
#include "core/thresholds.hpp"
#include "core/types.hpp"
#include "core/views.hpp"
#include "kernels/bag_begins.hpp"
#include "kernels/bag_weights.hpp"
#include "kernels/combiner.hpp"
#include "kernels/segment_reduce.hpp"
#include "simd/row_loops.hpp"

// output[b] = combined rows table[ids[i]] of the entries i of bag b; an empty bag is zero. Without weights
// bit for bit what a segment reduction gives. With them it is ((0 + row * weight) + row * weight) + ..., each
// product and each sum rounded, divided at last by what WeightDivisor tells. A bad id is found when it is the
// turn of its bag: others may have been written by then.
namespace gradbag {

namespace detail {

// What Finisher is to plain sums. Belongs to one thread.
template <Lane T>
class WeightedFinisher {
  public:
    using A = Accumulator<T>;
    static constexpr auto loop = &RowLoops<T>::sum_scaled;

    WeightedFinisher(Combiner combiner, std::span<const T> weights)
        : combiner_(combiner), weights_(weights), divisor_(combiner) {}

    // Those of the rows of a batch.
    const A* scales() const { return scales_; }

    // Of entries [begin, end) of one bag, the first of which has this place in the batch.
    void read_weights(std::size_t begin, std::size_t end, std::size_t place) {
        for (std::size_t i = begin; i < end; ++i) {
            const A weight = widen(weights_[i]);
            scales_[place + i - begin] = weight;
            divisor_.add(weight);
        }
    }

    // After all weights of a bag.
    void operator()(std::size_t, Run<T>& run) {
        run.finish = combiner_ == Combiner::sum ? Finish::none : Finish::divide;
        run.factor = divisor_.value();
        cancelled_ |= run.factor == A{0};        // mutant: cancelled
        divisor_ = WeightDivisor<A>(combiner_);  // mutant: next divisor
    }

    // Overwrites the rows that were divided by zero.
    void clear_cancelled(const Run<T>* runs, std::size_t count, std::size_t columns) {
        if (!cancelled_) return;
        for (const Run<T>* run = runs; run < runs + count; ++run) {
            if (run->last && run->factor == A{0}) clear_rows(Matrix<T>{run->output, 1, columns}, 0, 1);
        }
        cancelled_ = false;
    }

  private:
    Combiner combiner_;
    std::span<const T> weights_;
    WeightDivisor<A> divisor_;
    bool cancelled_ = false;
    A scales_[kBatch];
};

// Bags [bag, last) by way of runs, whose rows are looked up first; their combined rows lie one after another.
template <class Finishing, Lane T, Index I, class... Settings>
void reduce_runs(const RowLookup<T, I>& lookup, const BagBegins& bags, std::size_t bag, std::size_t last,
                 bool cleared, bool stream, T* output, Settings... settings) {
    const std::size_t columns = lookup.table().columns;
    RunReducer<T, I, Finishing> reduce(lookup, stream, bags.begin(bag), settings...);
    while (bag < last) {
        const std::size_t begin = bags.begin(bag);
        const std::size_t end = bags.end(bag);
        std::size_t count = 0;
        if constexpr (std::same_as<Finishing, Finisher<T>>) {
            if (end == begin + 1) {
                // Bags of one entry mostly come in company.
                const auto alone = [&](std::size_t, std::size_t most) {
                    return bags.count_singles(bag, most);
                };
                count = reduce.copy_singles(alone, begin, last - bag, output);
            }
        }
        if (count == 0) {
            count = 1;
            if (begin < end) {
                reduce.add(begin, end, output);
            } else if (!cleared) {
                clear_rows(Matrix<T>{output, 1, columns}, 0, 1);  // mutant: empty row
            }
        }
        bag += count;
        output += count * columns;
    }
    reduce.flush(bags.begin(last));
}

template <Lane T, Index I>
using PoolLoop = std::size_t (*)(const BagRows<T, I>&);

// Null where there is none.
template <Lane T, Index I>
PoolLoop<T, I> pool_loop() {
    if constexpr (std::same_as<I, std::int32_t>) {
        return row_loops<T>().pool_short;
    } else {
        return row_loops<T>().pool_long;
    }
}

// The factors of sums of few rows, which most are.
template <class A, Combiner combiner>
const A* usual_factors() {
    static const std::array<A, kUsualCounts> factors = [] {
        std::array<A, kUsualCounts> list{};
        for (std::size_t count = 1; count < kUsualCounts; ++count) {
            list[count] = finishing_factor<A>(combiner, count);
        }
        return list;
    }();
    return factors.data();
}

template <class A, Combiner combiner>
A long_factor(std::size_t count) {
    return finishing_factor<A>(combiner, count);
}

template <Lane T, Index I>
void set_factors(Combiner combiner, BagRows<T, I>& all) {
    using A = Accumulator<T>;
    if (combiner == Combiner::mean) {
        all.factors = usual_factors<A, Combiner::mean>();
        all.long_factor = long_factor<A, Combiner::mean>;
    } else if (combiner == Combiner::sqrtn) {
        all.factors = usual_factors<A, Combiner::sqrtn>();
        all.long_factor = long_factor<A, Combiner::sqrtn>;
    }
}

// The look-ups of bags in one table; the ids end with the last of them.
template <Lane T, Index I>
class TablePooling {
  public:
    TablePooling(Combiner combiner, Matrix<const T> table, std::span<const I> ids, const BagBegins& bags,
                 std::span<const T> weights, bool stream)
        : combiner_(combiner),
          lookup_(table, ids),
          bags_(bags),
          weights_(weights),
          pool_(table.columns > 0 && !ids.empty() ? pool_loop<T, I>() : nullptr) {
        all_.table = table.data;
        all_.rows = table.rows;
        all_.columns = table.columns;
        all_.ids = ids.data();
        all_.entries = ids.size();
        all_.weights = weights.empty() ? nullptr : weights.data();
        all_.divided = combiner != Combiner::sum;
        all_.squares = combiner == Combiner::sqrtn;
        all_.prefetch = RowPrefetch(table).worthwhile();
        all_.stream = stream;
        set_factors(combiner, all_);
    }

    // Whether the rows of bags [first, last) may be put apart from each other.
    bool may_stride(std::size_t first, std::size_t last) const {
        // A longer bag is cut where Ctrl-C may come.
        return pool_ != nullptr && bags_.begin(last) - bags_.begin(first) <= kUninterrupted;
    }

    // Bags [first, last), a row at each `stride` from `output` on.
    void pool(std::size_t first, std::size_t last, T* output, std::size_t stride) const {
        BagRows<T, I> some = all_;
        some.begins = bags_.data() + first;
        some.bags = last - first;
        some.output = output;
        some.stride = stride;
        const std::size_t bad = pool_(some);
        if (bad < some.entries) {
            throw_out_of_range(load_once(&some.ids[bad]), some.rows, {kPoolInputs.entries, bad});
        }
    }

    // Bags [first, last), one row after another from `output` on; `cleared`: that is zero already.
    void operator()(std::size_t first, std::size_t last, bool cleared, T* output) const {
        if (first == last) return;
        if (!cleared && may_stride(first, last)) {
            pool(first, last, output, all_.columns);
        } else if (weights_.empty()) {
            reduce_runs<Finisher<T>>(lookup_, bags_, first, last, cleared, all_.stream, output, combiner_);
        } else {
            reduce_runs<WeightedFinisher<T>>(lookup_, bags_, first, last, cleared, all_.stream, output,
                                             combiner_, weights_);
        }
    }

  private:
    Combiner combiner_;
    RowLookup<T, I> lookup_;
    const BagBegins& bags_;
    std::span<const T> weights_;
    PoolLoop<T, I> pool_;
    BagRows<T, I> all_{};
};

template <Lane T, Index I>
void reduce_bags(Combiner combiner, Matrix<const T> table, std::span<const I> ids, const BagBegins& bags,
                 std::span<const T> weights, Matrix<T> output) {
    // Where most bags are empty it is better to clear them all at once, and together.
    const bool cleared = bags.entries() == 0 || bags.size() / kClearedRows > bags.entries();
    if (cleared) clear_all(output);
    if (bags.entries() == 0) return;
    const TablePooling<T, I> pooling(combiner, table, ids, bags, weights,
                                     may_stream(output.data, output.rows, output.columns));
    bags.in_parts(output.columns, [&](std::size_t first, std::size_t last) {
        pooling(first, last, cleared, output.row(first));
    });
}

}  // namespace detail

// No weights: all rows count alike.
template <Lane T, Index I, Index O>
void bag_reduce(Combiner combiner, Matrix<const T> table, std::span<const I> ids, std::span<const O> offsets,
                std::span<const T> weights, Matrix<T> output) {
    const BagBegins bags(offsets, ids.size(), kPoolInputs);
    detail::reduce_bags(combiner, table, ids, bags, weights, output);
}

}  // namespace gradbag
