#pragma once

#include <algorithm>
#include <concepts>
#include <cstddef>
#include <cstdint>

#include "core/checked.hpp"
#include "core/thresholds.hpp"
#include "core/types.hpp"
#include "simd/row_loops.hpp"
#include "simd/row_packs.hpp"
#include "simd/row_sums_impl.hpp"

// Bags whose ids are looked up while their rows are added: no list of rows or runs is made, which took as
// long as the sums of rows that lie in a cache.
namespace gradbag::simd {

// Ids in their turn, and the rows of a tile that they name; if `Prefetch`, each is asked for some ids before.
template <class C, std::size_t Packs, bool Prefetch, Lane T, Index I>
class TileIds {
  public:
    TileIds(const BagRows<T, I>& all, const Tile& tile)
        : table_(reinterpret_cast<std::uintptr_t>(all.table + tile.column)),
          row_bytes_(all.columns * sizeof(T)),
          rows_(all.rows),
          last_(all.ids + all.entries - 1),
          near_end_(last_ - std::min<std::ptrdiff_t>(kDistance, last_ - all.ids)),
          ahead_(row_bytes_, all.table) {}

    // Finds where the columns of an entry's row begin. False if its id is not in the table.
    [[gnu::always_inline]] bool find(const I* id, const T*& from) const {
        if constexpr (Prefetch) {
            // It is not checked: a wrong address is computed without overflow and never used.
            const I later = *(id < near_end_ ? id + kDistance : last_);
            ahead_.template ask_row<kKnownBytes>(table_ + offset(later));
        }
        const I number = *static_cast<const volatile I*>(id);
        from = columns_of<Packs>(reinterpret_cast<const T*>(table_ + offset(number)));
        return static_cast<std::uint64_t>(static_cast<std::int64_t>(number)) < rows_;
    }

  private:
    static constexpr std::size_t kKnownBytes = (Packs - 1) * C::lanes * sizeof(T) + 1;
    static constexpr std::size_t kRowBytes = Packs * C::lanes * sizeof(T);
    static constexpr std::ptrdiff_t kDistance = kRowBytes < 512 ? kPooledDistance : kWidePooledDistance;

    [[gnu::always_inline]] std::uintptr_t offset(I id) const {
        return static_cast<std::uintptr_t>(static_cast<std::int64_t>(id)) * row_bytes_;
    }

    std::uintptr_t table_;
    std::size_t row_bytes_;
    std::size_t rows_;
    const I* last_;
    const I* near_end_;  // from here on the last one is asked for
    AheadInTable ahead_;
};

template <class C, std::size_t Packs, class T>
[[gnu::always_inline]] inline void store_zeros(T* to, const Tile& tile, bool stream) {
    for_packs<C, Packs>(tile, [&](std::size_t, std::size_t offset) {
        C::store_output(typename C::P{}, to + offset, stream);
    });
}

template <class Level, Lane T, Index I>
struct PlainBags {
    static constexpr std::size_t most_packs = PlainSum<Level, T>::most_packs;
    static constexpr bool asks_always = false;

    // Returns the first bad entry, or none: the number of entries.
    template <std::size_t Bytes, std::size_t Packs, bool Prefetch>
    [[gnu::noinline, gnu::flatten]] static std::size_t tile(const BagRows<T, I>& all, std::size_t first,
                                                            std::size_t last, const Tile& at) {
        using C = Columns<Level, T, Bytes>;
        using A = Accumulator<T>;
        const Tile tile = known_tile<C>(at);
        const TileIds<C, Packs, Prefetch, T, I> ids(all, tile);
        const bool stream = all.stream;
        const A* const factors = all.factors;
        T* output = all.output + first * all.stride + tile.column;
        const I* id = all.ids + all.begins[first];
        for (std::size_t bag = first; bag < last; ++bag, output += all.stride) {
            const I* const end = all.ids + all.begins[bag + 1];
            const auto count = static_cast<std::size_t>(end - id);
            if (count < 2) {
                if (count == 0) {
                    store_zeros<C, Packs>(output, tile, stream);
                    continue;
                }
                const T* from;
                if (!ids.find(id, from)) return static_cast<std::size_t>(id - all.ids);
                // A copy, not a sum of one: it keeps the payload of a NaN.
                copy_row<C, Packs>(from, output, tile, stream);
                ++id;
                continue;
            }
            typename C::P sum[Packs];
            // The rows before the first group of eight are summed like a group, without one before.
            const I* stop = id + head_rows(count);
            bool is_head = true;
            while (true) {
                typename C::P block[Packs];
                const T* from;
                if (!ids.find(id, from)) return static_cast<std::size_t>(id - all.ids);
                for_packs<C, Packs>(
                    tile, [&](std::size_t p, std::size_t offset) { block[p] = C::load(from + offset); });
                while (++id < stop) {
                    if (!ids.find(id, from)) return static_cast<std::size_t>(id - all.ids);
                    for_packs<C, Packs>(
                        tile, [&](std::size_t p, std::size_t offset) { block[p] += C::load(from + offset); });
                }
                if (is_head) {
                    for_packs<Packs>([&](std::size_t p) { sum[p] = block[p]; });
                } else {
                    for_packs<Packs>([&](std::size_t p) { sum[p] += block[p]; });
                }
                if (id == end) break;
                is_head = false;
                stop = id + kBlockRows;
            }
            A factor = A{1};
            Finish finish = Finish::none;
            if (factors != nullptr) {
                finish = count < kFirstDivided ? Finish::multiply : Finish::divide;
                factor = count < kUsualCounts ? factors[count] : all.long_factor(count);
            }
            for_packs<C, Packs>(tile, [&](std::size_t p, std::size_t offset) {
                C::store_output(C::finished(sum[p], finish, factor), output + offset, stream);
            });
        }
        return all.entries;
    }
};

template <class Level, Lane T, Index I>
struct WeightedBags {
    static constexpr std::size_t most_packs = ScaledSum<Level, T>::most_packs;
    static constexpr bool asks_always = true;  // that costs little beside the products

    template <std::size_t Bytes, std::size_t Packs, bool Prefetch>
    [[gnu::noinline, gnu::flatten]] static std::size_t tile(const BagRows<T, I>& all, std::size_t first,
                                                            std::size_t last, const Tile& at) {
        using C = Columns<Level, T, Bytes>;
        using A = Accumulator<T>;
        const Tile tile = known_tile<C>(at);
        const TileIds<C, Packs, Prefetch, T, I> ids(all, tile);
        const bool stream = all.stream;
        const bool squares = all.squares;
        T* output = all.output + first * all.stride + tile.column;
        const I* id = all.ids + all.begins[first];
        const T* weight = all.weights + all.begins[first];
        for (std::size_t bag = first; bag < last; ++bag, output += all.stride) {
            typename C::P sum[Packs] = {};
            A total = 0;
            for (const I* const end = all.ids + all.begins[bag + 1]; id < end; ++id) {
                const T* from;
                if (!ids.find(id, from)) return static_cast<std::size_t>(id - all.ids);
                const A by = widen(*weight++);
                total += squares ? by * by : by;
                for_packs<C, Packs>(tile, [&](std::size_t p, std::size_t offset) {
                    sum[p] += C::scaled(C::load(from + offset), by);
                });
            }
            const A by = squares ? root(total) : total;
            if (all.divided && by == A{0}) {
                store_zeros<C, Packs>(output, tile, stream);
                continue;
            }
            const Finish finish = all.divided ? Finish::divide : Finish::none;
            for_packs<C, Packs>(tile, [&](std::size_t p, std::size_t offset) {
                C::store_output(C::finished(sum[p], finish, by), output + offset, stream);
            });
        }
        return all.entries;
    }
};

template <class Bags, std::size_t Bytes, std::size_t Packs, Lane T, Index I>
[[gnu::always_inline]] inline std::size_t bag_tile(const BagRows<T, I>& all, std::size_t first,
                                                   std::size_t last, const Tile& tile) {
    if constexpr (!Bags::asks_always) {
        if (tile.column > 0 || !all.prefetch) {
            return Bags::template tile<Bytes, Packs, false>(all, first, last, tile);
        }
    }
    return Bags::template tile<Bytes, Packs, true>(all, first, last, tile);
}

template <class Level, class Bags, Lane T, Index I>
[[gnu::always_inline]] inline std::size_t pool_all(const BagRows<T, I>& all) {
    using A = Accumulator<T>;
    constexpr std::size_t bytes = Level::template bytes_for<T>;
    constexpr std::size_t lanes = PackOf<A, bytes>::lanes;
    std::size_t bad = all.entries;
    if (all.columns <= Bags::most_packs * lanes) {
        with_packs<A, bytes, Bags::most_packs>(all.columns, [&](auto width, auto packs) {
            bad = bag_tile<Bags, width, packs>(all, 0, all.bags, {0, all.columns - width / sizeof(A), 0});
        });
        return bad;
    }
    // Bag after bag, so that the rows are still in the cache for the second tile.
    const std::size_t packs = (all.columns + lanes - 1) / lanes;
    const std::size_t tiles = (packs + Bags::most_packs - 1) / Bags::most_packs;
    for (std::size_t bag = 0; bag < all.bags && bad == all.entries; ++bag) {
        for_tiles<lanes>(all.columns, packs, tiles, [&](const Tile& tile, std::size_t here) {
            with_constant<1, Bags::most_packs>(here, [&](auto constant) {
                bad = std::min(bad, bag_tile<Bags, bytes, constant>(all, bag, bag + 1, tile));
            });
        });
    }
    return bad;
}

template <class Level, Lane T, Index I>
std::size_t pool_bags(const BagRows<T, I>& all) {
    const std::size_t bad = all.weights == nullptr ? pool_all<Level, PlainBags<Level, T, I>>(all)
                                                   : pool_all<Level, WeightedBags<Level, T, I>>(all);
    if (all.stream) Level::fence();
    return bad;
}

}  // namespace gradbag::simd
