#pragma once

#include <algorithm>
#include <bit>
#include <chrono>
#include <cstddef>
#include <cstdint>
#include <cstring>
#include <limits>
#include <new>
#include <span>
#include <type_traits>
#include <utility>

#include "core/buffer.hpp"
#include "core/checked.hpp"
#include "core/plan.hpp"
#include "core/thresholds.hpp"
#include "core/types.hpp"
#include "vocabulary/mixing.hpp"

// Each number that occurs, once, in the order in which they come first, and for each entry which of them it
// is.
namespace gradbag {

// `O` numbers the values.
template <Index I, Index O>
struct FirstCome {
    Buffer<I> values;  // the first `distinct` of them count
    Buffer<O> places;
    std::size_t distinct = 0;
};

namespace detail {

// A table that has a place for every number in a range is used while it is not larger than that of a search.
inline constexpr std::uint64_t kSparsestRange = 8;

// Slots of a search at its beginning: what the first-level cache holds.
inline constexpr std::size_t kFirstSlots = std::size_t{1} << 11;

// Asks for a slot that will be looked at so many entries later.
template <class Slot>
[[gnu::always_inline]] inline void ask_for(const Slot* slot) {
#if defined(__GNUC__)
    __builtin_prefetch(slot, 1);
#else
    static_cast<void>(slot);
#endif
}

// All numbers lie in [smallest, smallest + range]. Whether one is new nobody could guess, so there is no
// branch.
template <Index I, Index O>
void number_by_place(FirstCome<I, O>& all, const Buffer<I>& ids, std::uint64_t smallest,
                     std::uint64_t range) {
    Buffer<O> table(static_cast<std::size_t>(range) + 1);  // of each number, its place and one
    std::memset(table.data(), 0, table.size() * sizeof(O));
    const auto slot = [&](std::size_t entry) {
        return table.data() + static_cast<std::size_t>(static_cast<std::uint64_t>(ids[entry]) - smallest);
    };
    const std::size_t count = ids.size();
    std::size_t distinct = 0;
    for (std::size_t entry = 0; entry < count; ++entry) {
        ask_for(slot(std::min(entry + kPrefetchDistance, count - 1)));
        O* const known = slot(entry);
        const bool is_new = *known == 0;
        const O place = is_new ? static_cast<O>(distinct) : static_cast<O>(*known - 1);
        *known = static_cast<O>(place + 1);
        all.values[distinct] = ids[entry];
        all.places[entry] = place;
        distinct += is_new;
    }
    all.distinct = distinct;
}

// Any numbers, by hashing.
template <Index I, Index O>
void number_by_search(FirstCome<I, O>& all, const Buffer<I>& ids) {
    struct Slot {
        I id;
        O number;  // its place and one; zero: free
    };
    // Nobody can choose numbers that fall into one place: it depends on the time and on where memory lies.
    const auto now = static_cast<std::uint64_t>(std::chrono::steady_clock::now().time_since_epoch().count());
    const Seeds seeds{now, std::bit_cast<std::uintptr_t>(ids.data())};
    const std::size_t count = ids.size();
    // It grows with what occurs: where few numbers come again and again, it stays in a cache.
    Buffer<Slot> table(std::min(std::bit_ceil(2 * count), kFirstSlots));
    std::memset(table.data(), 0, table.size() * sizeof(Slot));
    std::size_t mask = table.size() - 1;
    const auto home = [&](I id) {
        return static_cast<std::size_t>(mixed(static_cast<std::int64_t>(id), seeds)) & mask;
    };
    std::size_t homes[kPrefetchDistance];  // of the entries that come next
    const auto ask = [&](std::size_t from) {
        for (std::size_t entry = from; entry < std::min(count, from + kPrefetchDistance); ++entry) {
            ask_for(&table[homes[entry % kPrefetchDistance] = home(ids[entry])]);
        }
    };
    ask(0);
    std::size_t distinct = 0;
    for (std::size_t entry = 0; entry < count; ++entry) {
        if (2 * distinct >= table.size()) {
            table = Buffer<Slot>(4 * table.size());
            std::memset(table.data(), 0, table.size() * sizeof(Slot));
            mask = table.size() - 1;
            for (std::size_t known = 0; known < distinct; ++known) {
                std::size_t at = home(all.values[known]);
                while (table[at].number != 0) at = (at + 1) & mask;
                table[at] = {all.values[known], static_cast<O>(known + 1)};
            }
            ask(entry);
        }
        std::size_t& next = homes[entry % kPrefetchDistance];
        std::size_t at = next;
        if (entry + kPrefetchDistance < count) ask_for(&table[next = home(ids[entry + kPrefetchDistance])]);
        while (table[at].number != 0 && table[at].id != ids[entry]) at = (at + 1) & mask;
        if (table[at].number == 0) {
            all.values[distinct] = ids[entry];
            table[at] = {ids[entry], static_cast<O>(++distinct)};
        }
        all.places[entry] = static_cast<O>(table[at].number - 1);
    }
    all.distinct = distinct;
}

}  // namespace detail

// sizes: how many different numbers there are.
template <Index I, Index O>
Plan unique_plan(std::span<const I> ids) {
    const std::size_t count = ids.size();
    // More than can be numbered do not fit, whatever the memory.
    if (!in_range(static_cast<std::int64_t>(count),
                  static_cast<std::size_t>(std::numeric_limits<O>::max()))) {
        throw std::bad_alloc();
    }
    FirstCome<I, O> all{Buffer<I>(count), Buffer<O>(count)};
    if (count > 0) {
        Buffer<I> copy(count);  // what was looked at is what is numbered
        I smallest = std::numeric_limits<I>::max();
        I largest = std::numeric_limits<I>::min();
        for (std::size_t entry = 0; entry < count; ++entry) {
            const I id = load_once(&ids[entry]);
            smallest = std::min(smallest, id);
            largest = std::max(largest, id);
            copy[entry] = id;
        }
        const std::uint64_t range =
            static_cast<std::uint64_t>(largest) - static_cast<std::uint64_t>(smallest);
        if (range / detail::kSparsestRange <= count) {
            detail::number_by_place(all, copy, static_cast<std::uint64_t>(smallest), range);
        } else {
            detail::number_by_search(all, copy);
        }
    }
    const auto distinct = static_cast<std::int64_t>(all.distinct);
    return {{distinct}, std::move(all)};
}

template <Index I, Index O>
void unique(const Plan& plan, std::span<I> values, std::span<O> places) {
    const auto& all = plan.work<FirstCome<I, O>>();
    std::copy_n(all.values.data(), values.size(), values.data());
    std::copy_n(all.places.data(), places.size(), places.data());
}

}  // namespace gradbag
