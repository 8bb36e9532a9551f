#pragma once

#include <algorithm>
#include <concepts>
#include <cstddef>
#include <cstdint>
#include <limits>
#include <memory>
#include <span>

#include "core/buffer.hpp"
#include "core/checked.hpp"
#include "core/clear.hpp"
#include "core/parallel.hpp"
#include "core/plan.hpp"
#include "core/prefetch.hpp"
#include "core/thresholds.hpp"
#include "core/types.hpp"
#include "core/views.hpp"
#include "kernels/combiner.hpp"
#include "kernels/segment_inputs.hpp"
#include "kernels/segment_runs.hpp"
#include "simd/entry_loops.hpp"
#include "simd/row_loops.hpp"

// output[s] = combined rows data[indices[i]] of all entries i with segment_ids[i] == s; rows without an entry
// are zero. Sums are made in TensorFlow's order, so the bits are TensorFlow's.
namespace gradbag {

namespace detail {

// Looks up rows of a table by the indices of entries, which are this input of the kernel.
template <Lane T, Index I>
class RowLookup {
  public:
    RowLookup(Matrix<const T> table, std::span<const I> indices, int input = segment_input::indices)
        : table_(table), indices_(indices), input_(input), loops_(entry_loops<I>()) {}

    std::size_t size() const { return indices_.size(); }

    // Where the rows of entries [begin, end) are, and of up to `later` ones after them, which are not
    // checked. Returns how many were looked up.
    std::size_t find(std::size_t begin, std::size_t end, std::size_t later, const T** rows) const {
        const std::size_t count = end - begin + later;
        const RowPlaces places{reinterpret_cast<std::uintptr_t>(table_.data), table_.columns * sizeof(T),
                               table_.rows};  // mutant: table rows
        if (loops_.find_rows(indices_.data() + begin, count, places, rows)) return count;
        for (std::size_t entry = begin; entry < end; ++entry) {
            const Place place{input_, entry};
            rows[entry - begin] = table_.row(checked(load_once(&indices_[entry]), table_.rows, place));
        }
        return end - begin;
    }

    Matrix<const T> table() const { return table_; }

  private:
    Matrix<const T> table_;
    std::span<const I> indices_;
    int input_;
    const EntryLoops<I>& loops_;
};

// So many rows are looked up at once.
inline constexpr std::size_t kBatch = kSumBatch;

// What a sum of so many rows is multiplied or divided by.
template <class A>
A finishing_factor(Combiner combiner, std::size_t count) {
    const A by = static_cast<A>(divisor(combiner, count));
    return count < kFirstDivided ? A{1} / by : by;
}

// What remains to be done with the sum of so many rows. Belongs to one thread.
template <Lane T>
class Finisher {
  public:
    using A = Accumulator<T>;
    static constexpr auto loop = &RowLoops<T>::sum;

    explicit Finisher(Combiner combiner) : combiner_(combiner) {}

    // Where rows have weights there is more to do; see bag_reduce.hpp.
    static constexpr const A* scales() { return nullptr; }
    static constexpr void read_weights(std::size_t, std::size_t, std::size_t) {}
    static constexpr void clear_cancelled(const Run<T>*, std::size_t, std::size_t) {}

    // A single row is copied: that keeps the sign of zero and the payload of a NaN.
    void operator()(std::size_t count, Run<T>& run) {
        run.finish = Finish::none;
        if constexpr (!std::unsigned_integral<T>) {
            if (combiner_ != Combiner::sum && count > 1) {
                run.finish = count < kFirstDivided ? Finish::multiply : Finish::divide;
                run.factor = factor(count);
            }
        }
    }

  private:
    // Most runs are short: their factors are computed once, when the first is met.
    A factor(std::size_t count) {
        if (count >= kUsual) return computed(count);
        const std::uint64_t bit = std::uint64_t{1} << count;
        if ((known_ & bit) == 0) {
            known_ |= bit;
            factors_[count] = computed(count);
        }
        return factors_[count];
    }

    A computed(std::size_t count) const { return finishing_factor<A>(combiner_, count); }

    static constexpr std::size_t kUsual = kUsualCounts;

    Combiner combiner_;
    std::uint64_t known_ = 0;
    A factors_[kUsual];
};

// The work of one thread on consecutive runs. Addresses of rows are looked up a batch at a time, so that the
// sums know early which rows will come.
template <Lane T, Index I, class Finishing = Finisher<T>>
class RunReducer {
  public:
    template <class... Settings>
    RunReducer(const RowLookup<T, I>& lookup, bool stream, std::size_t begin, Settings... settings)
        : finish_(settings...),
          lookup_(lookup),
          loops_(row_loops<T>()),
          prefetch_(lookup.table()),
          all_{rows_, finish_.scales(), lookup.table().columns, 0, stream},
          begin_(begin) {}

    // Combines entries [begin, end), which follow those of the call before, into one row.
    void add(std::size_t begin, std::size_t end, T* output) {
        const std::size_t count = end - begin;
        if (end - begin_ > kBatch) flush(begin);
        if (count > kBatch) return reduce_long(begin, end, output);
        Run<T>& run =
            *std::construct_at(&runs_[run_count_++], Run<T>{output, static_cast<std::uint32_t>(count)});
        finish_.read_weights(begin, end, begin - begin_);
        finish_(count, run);  // mutant: run count
    }

    // If the entries from `begin` on are runs of one, which `alone` counts, copies the rows of some, at most
    // `most`, to consecutive rows from `output` on. Returns how many. Not inlined: where runs are longer it
    // would be in the way.
    template <class Alone>
    [[gnu::noinline]] std::size_t copy_singles(const Alone& alone, std::size_t begin, std::size_t most,
                                               T* output) {
        const std::size_t count = alone(begin, std::min(most, kBatch));
        if (count < kFewSingles) return 0;
        if (begin_ < begin) flush(begin);
        look_up(begin + count);
        Run<T> run{output};
        run.count = static_cast<std::uint32_t>(count);
        loops_.copy(all_, &run, 1);
        begin_ = begin + count;
        return count;
    }

    // Looks at the indices of the entries before `end` that wait for their batch to be full. The loops ask
    // early for their rows, and for the first of the next batch, which nobody in it could ask for in time.
    void look_up(std::size_t end) {
        const std::size_t count = end - begin_;
        const bool worthwhile = prefetch_.worthwhile();
        const std::size_t later = worthwhile ? std::min(kPrefetchDistance, lookup_.size() - end) : 0;
        all_.upcoming = lookup_.find(begin_, end, later, rows_);
        if (!worthwhile) all_.upcoming = 0;
        for (; asked_ < std::min(all_.upcoming, kPrefetchDistance); ++asked_) prefetch_.row(rows_[asked_]);
        asked_ = all_.upcoming > count ? all_.upcoming - count : 0;
    }

    // Combines what waits. Once more after the last.
    void flush(std::size_t end) {
        look_up(end);
        sum(runs_, run_count_);
        run_count_ = 0;
        begin_ = end;
    }

  private:
    void sum(const Run<T>* runs, std::size_t count) {
        (loops_.*Finishing::loop)(all_, runs, count);
        finish_.clear_cancelled(runs, count, all_.columns);
    }

    // More rows than a batch: partial sums are carried from one to the next.
    void reduce_long(std::size_t begin, std::size_t end, T* output) {
        Buffer<Accumulator<T>> carry(carry_size<T>(all_.columns));
        Run<T> run{output};
        run.carry = carry.data();
        const std::size_t rest = (end - begin) % kBlockRows;
        while (begin_ < end) {
            checkpoint();
            run.first = begin_ == begin;
            // After the first part there are only whole groups of eight.
            const std::size_t part = std::min(run.first ? kBatch - kBlockRows + rest : kBatch, end - begin_);
            run.count = static_cast<std::uint32_t>(part);
            run.last = begin_ + part == end;
            look_up(begin_ + part);
            finish_.read_weights(begin_, begin_ + part, 0);
            if (run.last) finish_(end - begin, run);
            sum(&run, 1);
            begin_ += part;
        }
    }

    Finishing finish_;
    const RowLookup<T, I>& lookup_;
    const RowLoops<T>& loops_;
    RowPrefetch prefetch_;
    RunRows<T> all_;
    std::size_t begin_;  // the first entry that waits
    std::size_t run_count_ = 0;
    std::size_t asked_ = 0;  // of the rows that wait
    const T* rows_[kBatch + kPrefetchDistance];
    union {
        Run<T> runs_[kBatch];  // made when one is added: to make all took an eighth of a small call
    };
};

}  // namespace detail

template <Lane T, Index I, Index S>
void segment_reduce(Combiner combiner, Matrix<const T> data, std::span<const I> indices,
                    std::span<const S> segment_ids, Matrix<T> output) {
    const detail::RowLookup<T, I> lookup(data, indices);
    const SegmentIds<S> ids(segment_ids, output.rows);
    const std::size_t entries = ids.size();
    const bool stream = may_stream(output.data, output.rows, output.columns);
    // Where most rows have no entry it is better to clear them all at once, and together.
    const bool cleared = output.rows / kClearedRows > entries;
    if (cleared) clear_all(output);

    const auto alone = [&](std::size_t begin, std::size_t most) {
        return count_singles(segment_ids, begin, most);
    };
    // Threads take the runs that begin in their part of the entries.
    parallel_ranges(entries, data.columns, [&](std::size_t part, std::size_t part_end, std::size_t) {
        std::size_t begin = ids.first_edge(part, part_end);
        if (begin == part_end) return;
        detail::RunReducer<T, I> reduce(lookup, stream, begin, combiner);
        std::size_t finished = ids.finished_before(begin);  // output rows below this one are complete
        RunEnds<S> ends(segment_ids, begin, part_end);
        while (begin < part_end) {
            const S id = ids.load(begin);
            const std::size_t segment = ids.check(id, begin, finished, [&] { reduce.look_up(begin + 1); });
            if (!cleared) clear_rows(output, finished, segment);  // mutant: gaps
            finished = segment + 1;
            const std::size_t end = ends.next();
            if (end == begin + 1) {
                // Segments of one entry mostly come in company.
                const std::size_t most = std::min(part_end - begin, output.rows - segment);
                if (const std::size_t count = reduce.copy_singles(alone, begin, most, output.row(segment))) {
                    begin += count;
                    finished = segment + count;
                    ends.skip_to(begin);
                    continue;
                }
            }
            reduce.add(begin, end, output.row(segment));
            begin = end;
        }
        reduce.flush(begin);
        if (begin == entries && !cleared) clear_rows(output, finished, output.rows);  // mutant: tail
    });
    if (entries == 0 && !cleared) clear_rows(output, 0, output.rows);
}

// What the op's rule about sizes says: sorted ids end with the largest.
template <Index I, Index S>
Plan segments_from_last(std::span<const S> segment_ids) {
    if (segment_ids.empty()) return Plan({0});
    constexpr auto largest =
        std::min<std::int64_t>(std::numeric_limits<I>::max(), std::numeric_limits<S>::max());
    const std::size_t last = segment_ids.size() - 1;
    const std::size_t id = checked(load_once(&segment_ids[last]), static_cast<std::size_t>(largest),
                                   Place{segment_input::segment_ids, last});
    return Plan({static_cast<std::int64_t>(id) + 1});
}

}  // namespace gradbag
