#pragma once

#include <algorithm>
#include <bit>
#include <cstddef>
#include <cstdint>
#include <optional>
#include <span>
#include <type_traits>
#include <utility>
#include <variant>
#include <vector>

#include "core/buffer.hpp"
#include "core/checked.hpp"
#include "core/clear.hpp"
#include "core/grouped_entries.hpp"
#include "core/parallel.hpp"
#include "core/plan.hpp"
#include "core/prefetch.hpp"
#include "core/read_entries.hpp"
#include "core/types.hpp"
#include "core/views.hpp"
#include "kernels/bag_begins.hpp"

// The largest of the rows of each bag, element by element, and what follows from knowing which entry that
// was.
namespace gradbag {

// The number of an entry; matrices of them have the lanes of unsigned numbers.
using Entry = std::uint64_t;

// The winner of an empty bag: -1.
inline constexpr Entry kNobody = ~Entry{0};

namespace detail {

// So many rows challenge each other before the next are looked up, and so many columns of them at once.
inline constexpr std::size_t kChallengers = 64;
inline constexpr std::size_t kContested = 64;

// The rows of one bag challenge what it has. Numbers of rows are as wide as what is compared, so that one
// mask serves both.
template <Lane T>
class Contest {
    using A = Accumulator<T>;
    using Number = std::conditional_t<sizeof(A) == 8, std::int64_t, std::int32_t>;

  public:
    Contest(T* output, Entry* winners, std::size_t columns)
        : output_(output), winners_(winners), columns_(columns) {}

    // Rows of entries from `entry` on, which follow those of the call before.
    void run(const T* const* rows, std::size_t count, std::size_t entry, bool first) {
        for (std::size_t begin = 0; begin < columns_; begin += kContested) {
            const std::size_t width = std::min(kContested, columns_ - begin);
            const T* const start = first ? rows[0] + begin : output_ + begin;
            for (std::size_t c = 0; c < width; ++c) best_[c] = widen(start[c]);
            std::fill_n(best_row_, width, Number{first ? 0 : -1});
            for (std::size_t r = first ? 1 : 0; r < count; ++r) {
                challenge(rows[r] + begin, static_cast<Number>(r), width);
            }
            for (std::size_t c = 0; c < width; ++c) {
                if (best_row_[c] < 0) continue;
                const std::size_t row = static_cast<std::size_t>(best_row_[c]);
                output_[begin + c] = rows[row][begin + c];
                winners_[begin + c] = entry + row;
            }
        }
    }

  private:
    // Without a branch and not inlined: else a compiler would find branches again, and make no vectors.
    [[gnu::noinline]] void challenge(const T* __restrict row, Number number, std::size_t width) {
        A* __restrict const best = best_;
        Number* __restrict const best_row = best_row_;
        for (std::size_t c = 0; c < width; ++c) {
            const A value = widen(row[c]);
            const Number wins = -static_cast<Number>(value > best[c]);  // mutant: first of equals
            const auto chosen = [wins](Number one, Number other) { return (one & wins) | (other & ~wins); };
            best_row[c] = chosen(number, best_row[c]);
            best[c] = std::bit_cast<A>(chosen(std::bit_cast<Number>(value), std::bit_cast<Number>(best[c])));
        }
    }

    T* output_;
    Entry* winners_;
    std::size_t columns_;
    A best_[kContested];
    Number best_row_[kContested];
};

}  // namespace detail

// output[b] = the largest of table[ids[i]] over the entries i of bag b, winners[b] = the entry that had it;
// zeros and nobody if it is empty. The first of equals wins; a NaN wins where it comes first, and never
// later. A bad id is found when it is the turn of its bag: others may have been written by then.
template <Lane T, Index I, Index O>
void bag_max(Matrix<const T> table, std::span<const I> ids, std::span<const O> offsets, Matrix<T> output,
             Matrix<Entry> winners) {
    const BagBegins bags(offsets, ids.size(), kPoolInputs);
    const RowPrefetch prefetch(table);
    bags.in_parts(table.columns, [&](std::size_t bag, std::size_t last) {
        const T* rows[detail::kChallengers];
        for (; bag < last; ++bag) {
            const std::size_t end = bags.end(bag);
            if (bags.begin(bag) == end) {
                clear_rows(output, bag, bag + 1);  // mutant: empty maximum
                std::fill_n(winners.row(bag), winners.columns, kNobody);
            }
            detail::Contest<T> contest(output.row(bag), winners.row(bag), table.columns);
            for (std::size_t begin = bags.begin(bag); begin < end;) {
                const std::size_t count = std::min(detail::kChallengers, end - begin);
                for (std::size_t r = 0; r < count; ++r) {
                    const Place place{kPoolInputs.entries, begin + r};
                    rows[r] = table.row(checked(load_once(&ids[begin + r]), table.rows, place));
                    const std::size_t later = begin + r + kPrefetchDistance;
                    if (later < ids.size()) prefetch(static_cast<std::uint64_t>(load_once(&ids[later])));
                }
                contest.run(rows, count, begin, begin == bags.begin(bag));
                begin += count;
            }
        }
    });
}

namespace detail {

// (table or grad, ids, winners)
inline constexpr int kWinnersInput = 2;

// The entry that won an element, or kNobody.
inline Entry checked_winner(const Entry* address, std::size_t entries, std::size_t bag) {
    const std::int64_t winner = load_once(reinterpret_cast<const std::int64_t*>(address));
    const Entry entry = static_cast<Entry>(winner);
    if (entry != kNobody && entry >= entries) [[unlikely]] {  // mutant: winner
        throw Fault{FaultKind::range,
                    kWinnersInput,
                    static_cast<std::int64_t>(bag),
                    -1,
                    winner,
                    -1,
                    static_cast<std::int64_t>(entries)};
    }
    return entry;
}

// The row of each entry, read once and judged before anything else is.
template <Index I>
Buffer<std::uint64_t> checked_rows(std::span<const I> ids, std::size_t rows) {
    Buffer<std::uint64_t> all(ids.size());
    parallel_ranges(ids.size(), 1, [&](std::size_t begin, std::size_t end, std::size_t) {
        for (std::size_t i = begin; i < end; ++i) {
            all[i] = checked(load_once(&ids[i]), rows, {kPoolInputs.entries, i});
        }
    });
    return all;
}

// The distinct rows that ids name, in ascending order, and which of them each entry has.
struct RankedRows {
    Buffer<std::uint64_t> ranks;
    Buffer<std::uint64_t> rows;
};

template <Index I>
RankedRows rank_rows(std::span<const I> ids, std::size_t rows) {
    const auto read = [&](std::size_t begin, std::size_t end, auto put) {
        for (std::size_t i = begin; i < end; ++i) {
            put(i, checked(load_once(&ids[i]), rows, {kPoolInputs.entries, i}), i);
        }
    };
    const auto grouped = group_entries(read_entries<std::uint64_t>(ids.size(), read));
    RankedRows ranked{Buffer<std::uint64_t>(ids.size()), Buffer<std::uint64_t>(grouped.groups)};
    parallel_ranges(grouped.groups, 2, [&](std::size_t begin, std::size_t end, std::size_t) {
        for (std::size_t group = begin; group < end; ++group) {
            ranked.rows[group] = grouped.keys[group];
            for (std::size_t at = grouped.begins[group]; at < grouped.begins[group + 1]; ++at) {
                ranked.ranks[grouped.payloads[at]] = group;
            }
        }
    });
    return ranked;
}

inline constexpr std::size_t kWinnerColumns = 16;  // a line of floats

// Calls add(rows[winner], column, grad) for every element that somebody won, in the order of the bags.
// Threads share columns, so that none meets another in a row; of bad winners the first is found.
template <Lane T, class Rows, class Begin, class Add, class End>
void for_winners(Matrix<const T> grad, Matrix<const Entry> winners, const Rows& rows,
                 std::size_t block_columns, Begin begin_block, Add add, End end_block) {
    const Pieces blocks(grad.columns, block_columns);
    std::vector<std::optional<Fault>> faults(blocks.count());
    parallel_for(blocks.count(), threads_for(grad.size()), [&](std::size_t block, std::size_t) {
        const std::size_t begin = blocks.begin(block);
        const std::size_t end = blocks.end(block);
        auto state = begin_block(begin, end);
        try {
            for (std::size_t bag = 0; bag < grad.rows; ++bag) {
                if (bag % kPartEntries == 0) checkpoint();
                const T* const from = grad.row(bag);
                const Entry* const winner = winners.row(bag);
                for (std::size_t c = begin; c < end; ++c) {
                    const Entry entry = checked_winner(&winner[c], rows.size(), bag);
                    if (entry != kNobody) add(state, rows[entry], c, from[c]);
                }
            }
        } catch (const Fault& fault) {
            faults[block] = fault;
            return;
        }
        end_block(state, begin, end);
    });
    const Fault* first = nullptr;
    for (const std::optional<Fault>& fault : faults) {
        if (fault && (first == nullptr || fault->position < first->position)) first = &*fault;
    }
    if (first != nullptr) throw *first;
}

// output[place(rows[winners[b]])] += grad[b], element by element. Sums of 16-bit numbers are made aside, for
// few columns at a time, and rounded once.
template <Lane T, class Place>
void sum_winners(Matrix<const T> grad, Matrix<const Entry> winners, const RankedRows& ranked,
                 Matrix<T> output, Place place) {
    using A = Accumulator<T>;
    const auto begin_block = [&](std::size_t begin, std::size_t end) {
        Buffer<A> sums(ranked.rows.size() * (end - begin));
        std::fill_n(sums.data(), sums.size(), A{0});
        return std::pair(std::move(sums), begin);
    };
    const auto add = [&](auto& state, std::uint64_t rank, std::size_t column, T value) {
        const std::size_t width = std::min(kWinnerColumns, grad.columns - state.second);
        state.first[rank * width + column - state.second] += widen(value);
    };
    const auto end_block = [&](auto& state, std::size_t begin, std::size_t end) {
        for (std::size_t rank = 0; rank < ranked.rows.size(); ++rank) {
            T* const to = output.row(place(rank));
            const A* const from = state.first.data() + rank * (end - begin);
            for (std::size_t c = begin; c < end; ++c) to[c] = narrow<T>(from[c - begin]);
        }
    };
    for_winners(grad, winners, ranked.ranks, kWinnerColumns, begin_block, add, end_block);
}

template <Lane T, class Rows>
void add_winners(Matrix<const T> grad, Matrix<const Entry> winners, const Rows& rows, Matrix<T> output) {
    const std::size_t share = (grad.columns + num_threads() - 1) / num_threads();
    const auto nothing = [](auto...) { return 0; };
    const auto add = [&](int, std::uint64_t row, std::size_t column, T value) {
        T& sum = output.row(row)[column];
        sum = gradbag::add(sum, value);
    };
    for_winners(grad, winners, rows, std::max(share, kWinnerColumns), nothing, add, nothing);
}

}  // namespace detail

// output[b] = table[ids[winners[b]]], element by element; zero where nobody won.
template <Lane T, Index I>
void bag_max_pick(Matrix<const T> table, std::span<const I> ids, Matrix<const Entry> winners,
                  Matrix<T> output) {
    const Buffer<std::uint64_t> rows = detail::checked_rows(ids, table.rows);
    if (output.columns == 0) return;
    parallel_ranges(output.rows, output.columns, [&](std::size_t begin, std::size_t end, std::size_t) {
        for (std::size_t bag = begin; bag < end; ++bag) {
            for (std::size_t c = 0; c < output.columns; ++c) {
                const Entry entry = detail::checked_winner(&winners.row(bag)[c], ids.size(), bag);
                const bool won = entry != kNobody;
                output.row(bag)[c] = won ? table.row(rows[entry])[c] : T{};
            }
        }
    });
}

// output[ids[winners[b]]] += grad[b], element by element, starting from zeros.
template <Lane T, Index I>
void bag_max_grad(Matrix<const T> grad, std::span<const I> ids, Matrix<const Entry> winners,
                  Matrix<T> output) {
    if constexpr (Short<T>) {
        const detail::RankedRows ranked = detail::rank_rows(ids, output.rows);
        clear_all(output);
        detail::sum_winners(grad, winners, ranked, output,
                            [&](std::size_t rank) { return static_cast<std::size_t>(ranked.rows[rank]); });
    } else {
        const Buffer<std::uint64_t> rows = detail::checked_rows(ids, output.rows);
        clear_all(output);
        detail::add_winners(grad, winners, rows, output);
    }
}

// sizes: the number of distinct ids. Independent of the type of the gradient.
template <Index I>
Plan bag_max_grad_compact_plan(std::span<const I> ids, const std::int64_t& table_rows) {
    detail::RankedRows ranked =
        detail::rank_rows(ids, static_cast<std::size_t>(std::max<std::int64_t>(load_once(&table_rows), 0)));
    return {{static_cast<std::int64_t>(ranked.rows.size())}, std::move(ranked)};
}

// The rows of bag_max_grad that any id names.
template <Lane T, Index I>
void bag_max_grad_compact(const Plan& plan, Matrix<const T> grad, Matrix<const Entry> winners,
                          Matrix<T> output, std::span<I> sorted_unique_ids) {
    const auto& ranked = plan.work<detail::RankedRows>();
    for (std::size_t rank = 0; rank < ranked.rows.size(); ++rank) {
        sorted_unique_ids[rank] = static_cast<I>(ranked.rows[rank]);
    }
    if constexpr (Short<T>) {
        detail::sum_winners(grad, winners, ranked, output, [](std::size_t rank) { return rank; });
    } else {
        clear_all(output);
        detail::add_winners(grad, winners, ranked.ranks, output);
    }
}

}  // namespace gradbag
