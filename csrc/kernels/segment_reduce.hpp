#pragma once

#include <algorithm>
#include <concepts>
#include <cstddef>
#include <cstdint>
#include <cstring>
#include <span>

#include "core/buffer.hpp"
#include "core/checked.hpp"
#include "core/clear.hpp"
#include "core/parallel.hpp"
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
    RowLookup(Matrix<const T> table, std::span<const I> indices)
        : table_(table), indices_(indices), far_(table.size() * sizeof(T) > kCachedBytes) {}

    const T* row(std::size_t entry) const {
        const std::size_t index =
            checked(load_once(&indices_[entry]), table_.rows, {segment_input::indices, entry});
        return table_.row(index);
    }

    // Null when the index is at fault.
    const T* row_if_any(std::size_t entry) const {
        const I index = load_once(&indices_[entry]);
        return in_range(index, table_.rows) ? table_.row(static_cast<std::size_t>(index)) : nullptr;
    }

    std::size_t columns() const { return table_.columns; }

    // Whether rows are worth asking for early: a small table stays in the cache by itself.
    bool far() const { return far_; }

  private:
    static constexpr std::size_t kCachedBytes = std::size_t{1} << 20;

    Matrix<const T> table_;
    std::span<const I> indices_;
    bool far_;
};

// A run of at least two rows starts with a head, and the rest is a whole number of blocks.
inline std::size_t head_rows(std::size_t count) {
    const std::size_t rest = count % kBlockRows;
    return rest < 2 ? rest + kBlockRows : rest;
}

// Runs shorter than this are multiplied by the rounded reciprocal, longer ones divided.
inline constexpr std::size_t kFirstDivided = 10;

// What remains to be done with the sum of `count` rows.
template <Lane T>
void set_finish(Combiner combiner, std::size_t count, Run<T>& run) {
    using A = Accumulator<T>;
    if constexpr (!std::unsigned_integral<T>) {
        if (combiner != Combiner::sum) {
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
    RunReducer(Combiner combiner, const RowLookup<T, I>& lookup)
        : combiner_(combiner), lookup_(lookup), loops_(row_loops<T>()) {}

    // Combines entries [begin, end) into one row. Those up to `batch_end` will probably be next.
    void operator()(std::size_t begin, std::size_t end, std::size_t batch_end, T* output) {
        const std::size_t count = end - begin;
        if (count == 1) {
            // A copy, not a sum of one: it keeps the sign of zero and the payload of a NaN.
            look_up(begin, end, batch_end);
            if (lookup_.far() && begin + kPrefetchDistance < known_end_) {
                prefetch(rows_[begin + kPrefetchDistance - known_begin_]);
            }
            const std::size_t bytes = lookup_.columns() * sizeof(T);
            if (bytes > 0) std::memcpy(output, rows_[begin - known_begin_], bytes);
            return;
        }
        Run<T> run{};
        run.columns = lookup_.columns();
        run.output = output;
        run.head = head_rows(count);
        set_finish(combiner_, count, run);
        if (count > kBatch) return reduce_long(run, begin, end);
        look_up(begin, end, batch_end);
        run.rows = rows_ + (begin - known_begin_);
        run.count = count;
        run.upcoming = lookup_.far() ? known_end_ - begin : 0;
        loops_.sum(run);
    }

  private:
    static constexpr std::size_t kBatch = 512;

    void prefetch(const T* row) const {
#if defined(__GNUC__)
        const char* const begin = reinterpret_cast<const char*>(row);
        const std::size_t bytes = std::min<std::size_t>(lookup_.columns() * sizeof(T), 1024);
        for (std::size_t at = 0; at < bytes; at += 64) __builtin_prefetch(begin + at);
#else
        static_cast<void>(row);
#endif
    }

    // Afterwards the addresses of [begin, end) are known, and of more if these are at the end of a batch. A
    // later entry that is at fault ends the batch: it is not its turn yet.
    void look_up(std::size_t begin, std::size_t end, std::size_t batch_end) {
        if (begin >= known_begin_ && end <= known_end_) return;
        const std::size_t stop = std::max(end, std::min(batch_end, begin + kBatch));
        known_begin_ = begin;
        known_end_ = begin;
        for (std::size_t entry = begin; entry < end; ++entry) rows_[entry - begin] = lookup_.row(entry);
        known_end_ = end;
        for (; known_end_ < stop; ++known_end_) {
            const T* const row = lookup_.row_if_any(known_end_);
            if (row == nullptr) break;
            rows_[known_end_ - begin] = row;
        }
    }

    // More rows than a batch: partial sums are carried from one to the next.
    void reduce_long(Run<T> run, std::size_t begin, std::size_t end) {
        Buffer<Accumulator<T>> carry(carry_size<T>(run.columns));
        run.carry = carry.data();
        run.rows = rows_;
        known_end_ = known_begin_ = 0;
        std::size_t entry = begin;
        while (entry < end) {
            checkpoint();
            run.first = entry == begin;
            // After the head there are only whole groups.
            run.count = std::min(run.first ? run.head + kBatch : kBatch, end - entry);
            for (std::size_t i = 0; i < run.count; ++i) rows_[i] = lookup_.row(entry + i);
            run.upcoming = lookup_.far() ? run.count : 0;
            entry += run.count;
            run.last = entry == end;
            loops_.sum(run);
        }
    }

    Combiner combiner_;
    const RowLookup<T, I>& lookup_;
    const RowLoops<T>& loops_;
    std::size_t known_begin_ = 0;
    std::size_t known_end_ = 0;
    const T* rows_[kBatch + 2 * kBlockRows];
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

    // Checks `id` of entry `begin`, a new run, after `finished` rows. `check_index` judges the index of the
    // entry, which comes first at the same position.
    template <class CheckIndex>
    std::size_t check(S id, std::size_t begin, std::size_t finished, CheckIndex check_index) const {
        if (!in_range(id, rows_) || static_cast<std::size_t>(id) < finished) [[unlikely]] {
            check_index();
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
    // Where most rows have no entry it is better to clear them all at once, and together.
    const bool cleared = output.rows / 4 > entries;
    if (cleared) clear_all(output);

    // Threads take the runs that begin in their part of the entries.
    parallel_ranges(entries, data.columns, [&](std::size_t part, std::size_t part_end, std::size_t) {
        std::size_t begin = ids.first_edge(part, part_end);
        if (begin == part_end) return;
        detail::RunReducer<T, I> reduce(combiner, lookup);
        std::size_t finished = ids.finished_before(begin);  // output rows below this one are complete
        S id = ids.load(begin);
        while (begin < part_end) {
            const std::size_t segment = ids.check(id, begin, finished, [&] { lookup.row(begin); });
            std::size_t end = begin + 1;
            S next = id;
            while (end < entries && (next = ids.load(end)) == id) ++end;

            if (!cleared) clear_rows(output, finished, segment);
            reduce(begin, end, part_end, output.row(segment));
            finished = segment + 1;
            begin = end;
            id = next;
        }
        if (begin == entries && !cleared) clear_rows(output, finished, output.rows);
    });
    if (entries == 0 && !cleared) clear_rows(output, 0, output.rows);
}

}  // namespace gradbag
