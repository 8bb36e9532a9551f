#pragma once

#include <algorithm>
#include <cstddef>
#include <cstdint>
#include <cstring>
#include <limits>
#include <span>
#include <stdexcept>
#include <utility>
#include <vector>

#include "core/buffer.hpp"
#include "core/checked.hpp"
#include "core/items.hpp"
#include "core/parallel.hpp"
#include "core/plan.hpp"
#include "core/read_entries.hpp"
#include "core/sorted_entries.hpp"
#include "core/views.hpp"

// The places of sparse entries, rows of coordinates: in order, and those of two arrays together.
namespace gradbag {

namespace detail {

// What numbers the cells between the smallest and the largest coordinates, row by row.
struct CellNumbers {
    explicit CellNumbers(Matrix<const std::int64_t> places) : lows(places.columns), spans(places.columns) {
        std::vector<std::int64_t> highs(places.columns, std::numeric_limits<std::int64_t>::min());
        std::fill(lows.begin(), lows.end(), std::numeric_limits<std::int64_t>::max());
        for (std::size_t i = 0; i < places.rows; ++i) {
            for (std::size_t axis = 0; axis < places.columns; ++axis) {
                const std::int64_t at = load_once(&places.row(i)[axis]);
                lows[axis] = std::min(lows[axis], at);
                highs[axis] = std::max(highs[axis], at);
            }
        }
        for (std::size_t axis = 0; axis < places.columns; ++axis) {
            const std::uint64_t span =
                static_cast<std::uint64_t>(highs[axis]) - static_cast<std::uint64_t>(lows[axis]) + 1;
            // More cells than can be numbered: the body has another way.
            if (span == 0 || count > (std::uint64_t{1} << 62) / span) {
                throw Fault{FaultKind::range, 0, 0, -1, 0, 0, 0};
            }
            spans[axis] = span;
            count *= span;
        }
    }

    // Any cell if another thread has changed the place meanwhile.
    std::size_t operator()(const std::int64_t* place) const {
        std::uint64_t number = 0;
        for (std::size_t axis = 0; axis < spans.size(); ++axis) {
            const std::uint64_t at =
                static_cast<std::uint64_t>(load_once(&place[axis])) - static_cast<std::uint64_t>(lows[axis]);
            number = number * spans[axis] + std::min(at, spans[axis] - 1);
        }
        return static_cast<std::size_t>(number);
    }

    std::vector<std::int64_t> lows;
    std::vector<std::uint64_t> spans;
    std::uint64_t count = 1;
};

template <class Word>
void move_entries(Matrix<const std::int64_t> places, Bytes values, const Word* order,
                  Matrix<std::int64_t> to_places, MutableBytes to_values) {
    const std::size_t rank = places.columns;
    with_item_size(values.item_size, [&](auto size) {
        parallel_ranges(places.rows, rank + 1, [&](std::size_t begin, std::size_t end, std::size_t) {
            for (std::size_t i = begin; i < end; ++i) {
                const auto from = static_cast<std::size_t>(order[i]);
                for (std::size_t axis = 0; axis < rank; ++axis) {
                    to_places.row(i)[axis] = places.row(from)[axis];
                }
                copy_item(values, from, to_values, i, size);
            }
        });
    });
}

template <class Word>
void order_entries(const CellNumbers& number, Matrix<const std::int64_t> places, Bytes values,
                   Matrix<std::int64_t> to_places, MutableBytes to_values) {
    const auto read = [&](std::size_t begin, std::size_t end, auto put) {
        for (std::size_t i = begin; i < end; ++i) put(i, number(places.row(i)));
    };
    UnsortedEntries<Word> all = read_entries<Word, false>(places.rows, read);
    if (all.sorted) {
        std::copy_n(places.data, places.size(), to_places.data);
        std::memcpy(to_values.bytes, values.bytes, values.count * values.item_size);
        return;
    }
    Buffer<Word> order(places.rows);
    sort_unsorted(all, order);
    move_entries(places, values, order.data(), to_places, to_values);
}

}  // namespace detail

// The entries in row-major order; those at one place keep theirs.
inline void row_major_entries(Matrix<const std::int64_t> places, Bytes values, Matrix<std::int64_t> to_places,
                              MutableBytes to_values) {
    if (values.count != places.rows) throw std::invalid_argument("a value for each place");
    if (places.rows == 0) return;
    const detail::CellNumbers number(places);
    if (fits_short_words(number.count, places.rows, places.rows)) {
        detail::order_entries<std::uint32_t>(number, places, values, to_places, to_values);
    } else {
        detail::order_entries<std::uint64_t>(number, places, values, to_places, to_values);
    }
}

// Of each place of two arrays: the entry that stands there in the first and in the second, or none.
struct UnionWork {
    static constexpr std::size_t none = ~std::size_t{0};

    Buffer<std::size_t> first;
    Buffer<std::size_t> second;
    std::size_t rows[2];
};

namespace detail {

// Walks along two lists: compare(i, j) says whether entry i of the first is to come before entry j of the
// second (below zero), after it, or beside it (zero).
template <class Compare>
std::size_t walk(UnionWork& work, Compare compare) {
    const std::size_t a = work.rows[0];
    const std::size_t b = work.rows[1];
    std::size_t i = 0;
    std::size_t j = 0;
    std::size_t count = 0;
    while (i < a && j < b) {
        const int order = compare(i, j);
        work.first[count] = order <= 0 ? i : UnionWork::none;
        work.second[count] = order >= 0 ? j : UnionWork::none;
        i += order <= 0 ? 1 : 0;
        j += order >= 0 ? 1 : 0;
        ++count;
    }
    for (; i < a; ++i, ++count) {
        work.first[count] = i;
        work.second[count] = UnionWork::none;
    }
    for (; j < b; ++j, ++count) {
        work.first[count] = UnionWork::none;
        work.second[count] = j;
    }
    return count;
}

// Coordinates in one number, while they are this small.
inline bool pack_places(Matrix<const std::int64_t> places, unsigned bits, Buffer<std::uint64_t>& keys) {
    std::uint64_t seen = 0;
    for (std::size_t i = 0; i < places.rows; ++i) {
        std::uint64_t key = 0;
        for (std::size_t axis = 0; axis < places.columns; ++axis) {
            const auto at = static_cast<std::uint64_t>(load_once(&places.row(i)[axis]));
            seen |= at;
            key = key << bits | at;
        }
        keys[i] = key;
    }
    return seen >> bits == 0;
}

}  // namespace detail

// Two lists that are walked together; where they are not in order, equal places need not meet.
// sizes: the number of places.
inline Plan union_places_plan(Matrix<const std::int64_t> a, Matrix<const std::int64_t> b) {
    if (a.columns != b.columns) throw std::invalid_argument("places of one rank");
    UnionWork work{
        Buffer<std::size_t>(a.rows + b.rows), Buffer<std::size_t>(a.rows + b.rows), {a.rows, b.rows}};
    std::size_t count = 0;
    Buffer<std::uint64_t> first(a.rows);
    Buffer<std::uint64_t> second(b.rows);
    const unsigned bits = a.columns > 1 ? static_cast<unsigned>(64 / a.columns) : 63;
    if (a.columns > 0 && bits > 0 && detail::pack_places(a, bits, first) &&
        detail::pack_places(b, bits, second)) {
        count = detail::walk(work, [&](std::size_t i, std::size_t j) {
            return static_cast<int>(first[i] > second[j]) - static_cast<int>(first[i] < second[j]);
        });
    } else {
        count = detail::walk(work, [&](std::size_t i, std::size_t j) {
            for (std::size_t axis = 0; axis < a.columns; ++axis) {
                const std::int64_t left = load_once(&a.row(i)[axis]);
                const std::int64_t right = load_once(&b.row(j)[axis]);
                if (left != right) return left < right ? -1 : 1;
            }
            return 0;
        });
    }
    return {{static_cast<std::int64_t>(count)}, std::move(work)};
}

// The places, and the values of both there, zeros where one has none; both: whether neither lacks.
inline void union_places(const Plan& plan, Matrix<const std::int64_t> a, Bytes a_values,
                         Matrix<const std::int64_t> b, Bytes b_values, Matrix<std::int64_t> places,
                         MutableBytes first, MutableBytes second, std::span<std::uint8_t> both) {
    const UnionWork& work = plan.work<UnionWork>();
    if (a.rows != work.rows[0] || b.rows != work.rows[1] || a_values.count != a.rows ||
        b_values.count != b.rows) {
        throw std::invalid_argument("a value for each place");
    }
    const std::size_t rank = places.columns;
    with_item_size(a_values.item_size, [&](auto size) {
        parallel_ranges(places.rows, rank + 2, [&](std::size_t begin, std::size_t end, std::size_t) {
            for (std::size_t i = begin; i < end; ++i) {
                const std::size_t one = work.first[i];
                const std::size_t other = work.second[i];
                const bool in_first = one != UnionWork::none;
                const bool in_second = other != UnionWork::none;
                std::copy_n(in_first ? a.row(one) : b.row(other), rank, places.row(i));
                if (in_first) {
                    copy_item(a_values, one, first, i, size);
                } else {
                    clear_item(first, i, size);
                }
                if (in_second) {
                    copy_item(b_values, other, second, i, size);
                } else {
                    clear_item(second, i, size);
                }
                both[i] = in_first && in_second;  // mutant: united
            }
        });
    });
}

}  // namespace gradbag
