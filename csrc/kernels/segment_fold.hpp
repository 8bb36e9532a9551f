#pragma once

#include <algorithm>
#include <cstddef>
#include <cstdint>
#include <limits>
#include <span>
#include <stdexcept>
#include <string_view>
#include <type_traits>

#include "core/buffer.hpp"
#include "core/checked.hpp"
#include "core/parallel.hpp"
#include "core/prefetch.hpp"
#include "core/thresholds.hpp"
#include "core/types.hpp"
#include "core/views.hpp"

// Rows put together by their segments, row by row: products, the largest and the smallest.
namespace gradbag {

enum class Fold { product, largest, smallest };

inline Fold from_text(std::type_identity<Fold>, std::string_view text) {
    if (text == "prod") return Fold::product;
    if (text == "max") return Fold::largest;
    if (text == "min") return Fold::smallest;
    throw std::invalid_argument("no such fold");
}

// Calls visit(row, segment) for each row, in order, of the segments that are one thread's own. A negative
// segment drops its row.
template <Index I>
class SegmentTurns {
  public:
    SegmentTurns(std::span<const I> ids, std::size_t segments, std::size_t columns, std::size_t item_size)
        : ids_(ids),
          segments_(segments),
          threads_(std::min(threads_for(ids.size() * std::max<std::size_t>(columns, 1)), kMostFilters)) {
        // Threads that write to one line would wait for each other.
        const std::size_t row_bytes = std::max<std::size_t>(columns * item_size, 1);
        while ((row_bytes << shift_) < kLongestTurn && (segments >> shift_) > kTurnsOfThread * threads_) {
            ++shift_;
        }
    }

    template <class Visit>
    void run(Visit visit) const {
        parallel_for(threads_, threads_, [&](std::size_t mine, std::size_t) {
            const Pieces parts(ids_.size(), kPartEntries);
            for (std::size_t part = 0; part < parts.count(); ++part) {
                checkpoint();
                if (threads_ == 1) {
                    each<false>(parts.begin(part), parts.end(part), mine, visit);
                } else {
                    each<true>(parts.begin(part), parts.end(part), mine, visit);
                }
            }
        });
    }

    // Asks for the row of a segment that comes soon.
    [[gnu::always_inline]] void ask(const RowPrefetch& prefetch, std::size_t row) const {
        if (prefetch.worthwhile() && row + kPrefetchDistance < ids_.size()) {
            prefetch(static_cast<std::uint64_t>(load_once(&ids_[row + kPrefetchDistance])));
        }
    }

  private:
    template <bool shared, class Visit>
    void each(std::size_t begin, std::size_t end, std::size_t mine, Visit& visit) const {
        for (std::size_t row = begin; row < end; ++row) {
            const I id = load_once(&ids_[row]);
            if (!in_range(id, segments_)) [[unlikely]] {
                if (id < 0) continue;  // mutant: dropped segment
                throw_out_of_range(id, segments_, {1, row});
            }
            const std::size_t segment = static_cast<std::size_t>(id);
            if constexpr (shared) {
                if ((segment >> shift_) % threads_ != mine) continue;
            }
            visit(row, segment);
        }
    }

    std::span<const I> ids_;
    std::size_t segments_;
    std::size_t threads_;
    unsigned shift_ = 0;
};

namespace detail {

// Whether a number takes the place of another: not if they are equal, so that the first of them stays. A NaN
// does, and stays.
template <Fold fold, class T>
[[gnu::always_inline]] inline bool takes_place(T value, T best) {
    if constexpr (std::is_floating_point_v<T>) {
        const bool worse = fold == Fold::largest ? value <= best : value >= best;
        return !worse & (best == best);  // mutant: not a number
    } else {
        return fold == Fold::largest ? value > best : value < best;
    }
}

template <Fold fold, class T>
[[gnu::always_inline]] inline T folded_pair(T value, T best) {
    if constexpr (fold == Fold::product) {
        if constexpr (std::is_integral_v<T>) {
            using U = std::make_unsigned_t<T>;
            return static_cast<T>(static_cast<U>(static_cast<U>(best) * static_cast<U>(value)));
        } else {
            return best * value;
        }
    } else {
        return takes_place<fold>(value, best) ? value : best;
    }
}

template <Fold fold, class T>
void fold_row(const T* __restrict row, T* __restrict best, std::size_t columns) {
    for (std::size_t c = 0; c < columns; ++c) best[c] = folded_pair<fold>(row[c], best[c]);
}

template <Fold fold, class T, Index I>
void fold_segments(Matrix<const T> data, std::span<const I> ids, Matrix<T> output, T empty) {
    Buffer<std::uint8_t> begun(output.rows);
    std::fill_n(begun.data(), begun.size(), std::uint8_t{0});
    const SegmentTurns<I> turns(ids, output.rows, output.columns, sizeof(T));
    const std::size_t columns = output.columns;
    const RowPrefetch prefetch(output);
    turns.run([&](std::size_t row, std::size_t segment) {
        T* const to = output.row(segment);
        const T* const from = data.row(row);
        turns.ask(prefetch, row);
        if (begun[segment] == 0) {
            begun[segment] = 1;
            std::copy_n(from, columns, to);
        } else if (columns == 1) {
            *to = folded_pair<fold>(*from, *to);
        } else {
            fold_row<fold>(from, to, columns);
        }
    });
    if (columns == 0) return;
    parallel_ranges(output.rows, columns, [&](std::size_t begin, std::size_t end, std::size_t) {
        for (std::size_t segment = begin; segment < end; ++segment) {
            if (begun[segment] == 0) std::fill_n(output.row(segment), columns, empty);
        }
    });
}

// Some columns of a run of rows, in registers.
template <Fold fold, std::size_t width, class T>
[[gnu::always_inline]] inline void fold_tile(const T* from, std::size_t rows, std::size_t columns, T* to) {
    T best[width];
    for (std::size_t c = 0; c < width; ++c) best[c] = from[c];
    for (std::size_t row = 1; row < rows; ++row) {
        from += columns;
        for (std::size_t c = 0; c < width; ++c) best[c] = folded_pair<fold>(from[c], best[c]);
    }
    for (std::size_t c = 0; c < width; ++c) to[c] = best[c];
}

template <Fold fold, class T>
void fold_run(const T* from, std::size_t rows, std::size_t columns, T* to) {
    if constexpr (fold == Fold::product) {
        std::size_t c = 0;
        for (; c + 16 <= columns; c += 16) fold_tile<fold, 16>(from + c, rows, columns, to + c);
        for (; c + 4 <= columns; c += 4) fold_tile<fold, 4>(from + c, rows, columns, to + c);
        for (; c < columns; ++c) fold_tile<fold, 1>(from + c, rows, columns, to + c);
    } else {
        // Of a choice in registers a compiler makes branches, which nobody can guess.
        std::copy_n(from, columns, to);
        for (std::size_t row = 1; row < rows; ++row) fold_row<fold>(from + row * columns, to, columns);
    }
}

// Segments in order: the rows of each are one run. A thread has the runs that begin in its part of the rows.
template <Fold fold, class T, Index I>
void fold_runs(Matrix<const T> data, std::span<const I> ids, Matrix<T> output, T empty) {
    const std::size_t threads = threads_for(data.size());
    const Pieces parts(ids.size(), ids.size() / (threads == 1 ? 1 : 4 * threads) + 1);
    const auto read = [&](std::size_t row) { return checked(load_once(&ids[row]), output.rows, {1, row}); };
    const auto fill = [&](std::size_t begin, std::size_t end) {
        if (begin < end) std::fill_n(output.row(begin), (end - begin) * output.columns, empty);
    };
    parallel_for(parts.count(), threads, [&](std::size_t part, std::size_t) {
        std::size_t row = parts.begin(part);
        // Segments up to here are somebody else's.
        std::size_t finished = 0;
        if (row > 0) {
            const std::size_t before = read(row - 1);
            while (row < parts.end(part) && read(row) == before) ++row;
            finished = before + 1;
        }
        while (row < parts.end(part)) {
            const std::size_t begin = row;
            const std::size_t segment = read(row);
            if (segment < finished) {
                throw Fault{FaultKind::order,
                            1,
                            static_cast<std::int64_t>(row),
                            -1,
                            static_cast<std::int64_t>(segment),
                            static_cast<std::int64_t>(finished),
                            0};
            }
            while (++row < ids.size() && read(row) == segment) {
            }
            fill(finished, segment);
            fold_run<fold>(data.row(begin), row - begin, output.columns, output.row(segment));
            finished = segment + 1;
        }
        if (part + 1 == parts.count()) fill(finished, output.rows);
    });
    if (ids.empty()) fill(0, output.rows);
}

}  // namespace detail

// `ordered`: segments must not decrease, and one without rows is zero; else it is the worst number there is.
// Of products it is one.
template <class T, Index I>
void segment_fold(Fold fold, bool ordered, Matrix<const T> data, std::span<const I> ids, Matrix<T> output) {
    if (ids.size() != data.rows) throw std::invalid_argument("a segment for each row");
    using Limits = std::numeric_limits<T>;
    const auto run = [&]<Fold kind>(T empty) {
        if (ordered) return detail::fold_runs<kind>(data, ids, output, kind == Fold::product ? empty : T{0});
        detail::fold_segments<kind>(data, ids, output, empty);
    };
    switch (fold) {
        case Fold::product:
            return run.template operator()<Fold::product>(T{1});
        case Fold::largest:
            return run.template operator()<Fold::largest>(Limits::lowest());
        case Fold::smallest:
            return run.template operator()<Fold::smallest>(Limits::max());
    }
}

// The largest, and the first row that has it; zero and -1 where a segment has no rows.
template <class T, Index I>
void segment_max_with_positions(Matrix<const T> data, std::span<const I> ids, Matrix<T> output,
                                Matrix<std::int64_t> positions) {
    if (ids.size() != data.rows) throw std::invalid_argument("a segment for each row");
    const std::size_t columns = output.columns;
    std::fill_n(output.data, output.size(), T{0});
    std::fill_n(positions.data, positions.size(), std::int64_t{-1});
    const SegmentTurns<I> turns(ids, output.rows, columns, sizeof(T) + sizeof(std::int64_t));
    turns.run([&](std::size_t row, std::size_t segment) {
        const T* __restrict const from = data.row(row);
        T* __restrict const best = output.row(segment);
        std::int64_t* __restrict const place = positions.row(segment);
        for (std::size_t c = 0; c < columns; ++c) {
            const bool wins = place[c] < 0 || detail::takes_place<Fold::largest>(from[c], best[c]);
            best[c] = wins ? from[c] : best[c];
            place[c] = wins ? static_cast<std::int64_t>(row) : place[c];
        }
    });
}

}  // namespace gradbag
