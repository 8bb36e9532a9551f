#pragma once

#include <algorithm>
#include <concepts>
#include <cstddef>
#include <cstdint>
#include <span>

#include "core/buffer.hpp"
#include "core/checked.hpp"
#include "core/clear.hpp"
#include "core/parallel.hpp"
#include "core/prefetch.hpp"
#include "core/types.hpp"
#include "core/views.hpp"
#include "kernels/combiner.hpp"
#include "kernels/segment_inputs.hpp"
#include "simd/row_loops.hpp"

// output[s] = combined rows data[indices[i]] of all entries i with segment_ids[i] == s; rows without an entry
// are zero. Sums are made in TensorFlow's order, so the bits are TensorFlow's.
namespace gradbag {

namespace detail {

// Looks up rows of a table by the indices of entries.
template <Lane T, Index I>
class RowLookup {
  public:
    RowLookup(Matrix<const T> table, std::span<const I> indices) : table_(table), indices_(indices) {}

    std::size_t index(std::size_t entry) const {
        return checked(load_once(&indices_[entry]), table_.rows, {segment_input::indices, entry});
    }

    Matrix<const T> table() const { return table_; }

  private:
    Matrix<const T> table_;
    std::span<const I> indices_;
};

// Runs shorter than this are multiplied by the rounded reciprocal, longer ones divided.
inline constexpr std::size_t kFirstDivided = 10;

// What remains to be done with the sum of `count` rows. A single row is copied: that keeps the sign of zero
// and the payload of a NaN.
template <Lane T>
void set_finish(Combiner combiner, std::size_t count, Run<T>& run) {
    using A = Accumulator<T>;
    run.finish = Finish::none;
    if constexpr (!std::unsigned_integral<T>) {
        if (combiner != Combiner::sum && count > 1) {
            const A by = static_cast<A>(divisor(combiner, count));
            const bool multiplied = count < kFirstDivided;
            run.finish = multiplied ? Finish::multiply : Finish::divide;
            run.factor = multiplied ? A{1} / by : by;
        }
    }
}

// The work of one thread on consecutive runs. Addresses of rows are looked up a batch at a time, so that the
// sums know early which rows will come.
template <Lane T, Index I>
class RunReducer {
  public:
    RunReducer(Combiner combiner, const RowLookup<T, I>& lookup, bool stream, std::size_t begin)
        : combiner_(combiner),
          lookup_(lookup),
          loops_(row_loops<T>()),
          prefetch_(lookup.table()),
          all_{rows_, nullptr, lookup.table().columns, 0, stream},
          begin_(begin) {}

    // Combines entries [begin, end), which follow those of the call before, into one row.
    void add(std::size_t begin, std::size_t end, T* output) {
        const std::size_t count = end - begin;
        if (end - begin_ > kBatch) flush(begin);
        if (count > kBatch) return reduce_long(begin, end, output);
        Run<T>& run = runs_[run_count_++];
        run.output = output;
        run.count = static_cast<std::uint32_t>(count);
        set_finish(combiner_, count, run);
    }

    // Looks at the indices of the entries before `end` that wait for their batch to be full.
    void look_up(std::size_t end) {
        const RowLookup<T, I> lookup = lookup_;  // a copy, which no store can change
        const Matrix<const T> table = lookup.table();
        const std::size_t begin = begin_;
        const std::size_t count = end - begin;
        // The first of a batch have nobody before them who would ask.
        const std::size_t asked = prefetch_.worthwhile() ? std::min(count, kPrefetchDistance) : 0;
        for (std::size_t i = 0; i < asked; ++i) {
            const std::size_t index = lookup.index(begin + i);
            prefetch_(index);
            rows_[i] = table.row(index);
        }
        for (std::size_t i = asked; i < count; ++i) rows_[i] = table.row(lookup.index(begin + i));
        all_.upcoming = prefetch_.worthwhile() ? count : 0;
    }

    // Combines what waits. Once more after the last.
    void flush(std::size_t end) {
        look_up(end);
        loops_.sum(all_, runs_, run_count_);
        run_count_ = 0;
        begin_ = end;
    }

  private:
    static constexpr std::size_t kBatch = 256;

    // More rows than a batch: partial sums are carried from one to the next.
    void reduce_long(std::size_t begin, std::size_t end, T* output) {
        Buffer<Accumulator<T>> carry(carry_size<T>(all_.columns));
        Run<T> run{output};
        run.carry = carry.data();
        set_finish(combiner_, end - begin, run);
        const std::size_t rest = (end - begin) % kBlockRows;
        while (begin_ < end) {
            checkpoint();
            run.first = begin_ == begin;
            // After the first part there are only whole groups of eight.
            const std::size_t part = std::min(run.first ? kBatch - kBlockRows + rest : kBatch, end - begin_);
            run.count = static_cast<std::uint32_t>(part);
            run.last = begin_ + part == end;
            look_up(begin_ + part);
            loops_.sum(all_, &run, 1);
            begin_ += part;
        }
    }

    Combiner combiner_;
    const RowLookup<T, I>& lookup_;
    const RowLoops<T>& loops_;
    RowPrefetch prefetch_;
    RunRows<T> all_;
    std::size_t begin_;  // the first entry that waits
    std::size_t run_count_ = 0;
    const T* rows_[kBatch];
    Run<T> runs_[kBatch];
};

// Reads segment ids, each once, and makes sure that they are good.
template <Index S>
class SegmentIds {
  public:
    SegmentIds(std::span<const S> ids, std::size_t rows) : ids_(ids), rows_(rows) {}

    std::size_t size() const { return ids_.size(); }
    S load(std::size_t entry) const { return load_once(&ids_[entry]); }

    // The first entry of [begin, end) whose id differs from the one before it.
    std::size_t first_edge(std::size_t begin, std::size_t end) const {
        if (begin == 0) return 0;
        const S before = load(begin - 1);
        while (begin < end && load(begin) == before) ++begin;
        return begin;
    }

    // Checks `id` of entry `begin`, a new run, after `finished` rows. `check_indices` judges the indices up
    // to that of the entry, which comes first at the same position.
    template <class CheckIndices>
    std::size_t check(S id, std::size_t begin, std::size_t finished, CheckIndices check_indices) const {
        if (!in_range(id, rows_) || static_cast<std::size_t>(id) < finished) [[unlikely]] {
            check_indices();
            const Place place{segment_input::segment_ids, begin};
            checked(id, rows_, place);
            throw Fault{FaultKind::order,
                        place.input,
                        static_cast<std::int64_t>(begin),
                        place.column,
                        id,
                        static_cast<std::int64_t>(finished) - 1,
                        0};
        }
        return static_cast<std::size_t>(id);
    }

    // How many output rows are complete once the runs before `entry` are done.
    std::size_t finished_before(std::size_t entry) const {
        if (entry == 0) return 0;
        return checked(load(entry - 1), rows_, {segment_input::segment_ids, entry - 1}) + 1;
    }

  private:
    std::span<const S> ids_;
    std::size_t rows_;
};

}  // namespace detail

template <Lane T, Index I, Index S>
void segment_reduce(Combiner combiner, Matrix<const T> data, std::span<const I> indices,
                    std::span<const S> segment_ids, Matrix<T> output) {
    const detail::RowLookup<T, I> lookup(data, indices);
    const detail::SegmentIds<S> ids(segment_ids, output.rows);
    const std::size_t entries = ids.size();
    const bool stream = may_stream(output.data, output.rows, output.columns);
    // Where most rows have no entry it is better to clear them all at once, and together.
    const bool cleared = output.rows / 4 > entries;
    if (cleared) clear_all(output);

    // Threads take the runs that begin in their part of the entries.
    parallel_ranges(entries, data.columns, [&](std::size_t part, std::size_t part_end, std::size_t) {
        std::size_t begin = ids.first_edge(part, part_end);
        if (begin == part_end) return;
        detail::RunReducer<T, I> reduce(combiner, lookup, stream, begin);
        std::size_t finished = ids.finished_before(begin);  // output rows below this one are complete
        S id = ids.load(begin);
        while (begin < part_end) {
            const std::size_t segment = ids.check(id, begin, finished, [&] { reduce.look_up(begin + 1); });
            std::size_t end = begin + 1;
            S next = id;
            while (end < entries && (next = ids.load(end)) == id) ++end;

            if (!cleared) clear_rows(output, finished, segment);
            reduce.add(begin, end, output.row(segment));
            finished = segment + 1;
            begin = end;
            id = next;
        }
        reduce.flush(begin);
        if (begin == entries && !cleared) clear_rows(output, finished, output.rows);
    });
    if (entries == 0 && !cleared) clear_rows(output, 0, output.rows);
}

}  // namespace gradbag
