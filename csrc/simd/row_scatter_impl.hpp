#pragma once

#include <algorithm>
#include <cstddef>

#include "core/thresholds.hpp"
#include "core/types.hpp"
#include "simd/row_loops.hpp"
#include "simd/row_packs.hpp"

// Rows that are added where they belong.
namespace gradbag::simd {

// Adds to the packs of a row what addend(pack, offset) says. Only the last pack may reach back over one
// before it: it alone is loaded early.
template <class C, std::size_t Packs, class T, class Addend>
[[gnu::always_inline]] inline void add_to_row(T* target, const Tile& tile, const Addend& addend) {
    const auto sum = [&](std::size_t p, std::size_t offset) {
        return C::load(target + offset) + addend(p, offset);  // mutant: product
    };
    const std::size_t back = pack_offset<C, Packs>(tile, Packs - 1);
    const typename C::P last = sum(Packs - 1, back);
    for_packs<Packs - 1>([&](std::size_t p) { C::store(sum(p, p * C::lanes), target + p * C::lanes); });
    C::store(last, target + back);
}

// The same for a row of more packs than registers.
template <class Level, Lane T>
[[gnu::always_inline]] inline void add_long_row(const T* row, T scale, std::size_t columns, T* target) {
    using C = Columns<Level, T, Level::template bytes_for<T>>;
    constexpr std::size_t at_once = 4;
    const auto sum = [&](std::size_t c) { return C::load(target + c) + C::scaled(C::load(row + c), scale); };
    const std::size_t back = columns - C::lanes;
    const typename C::P last = sum(back);
    std::size_t c = 0;
    for (; c + at_once * C::lanes <= columns; c += at_once * C::lanes) {
        for_packs<at_once>(
            [&](std::size_t p) { C::store(sum(c + p * C::lanes), target + c + p * C::lanes); });
    }
    for (; c + C::lanes <= columns; c += C::lanes) C::store(sum(c), target + c);
    C::store(last, target + back);  // mutant: back
}

// Asks for what a scatter will need.
template <class Level, Lane T>
struct ScatterAhead {
    explicit ScatterAhead(const Scatter<T>& scatter)
        : all(scatter),
          ahead(scatter.columns * sizeof(T)),
          sources_end(scatter.sources + scatter.source_count) {}

    [[gnu::always_inline]] void target(std::size_t i) const {
        const std::size_t later = i + ahead.distance();
        if (all.prefetch_targets && later < all.target_count) prefetch_row(all.targets[later], ahead.bytes());
    }

    [[gnu::always_inline]] void source(const Source<T>* from) const {
        if (all.prefetch_sources && from + ahead.distance() < sources_end) {
            prefetch_row(from[ahead.distance()].row, ahead.bytes());
        }
    }

    const Scatter<T>& all;
    Ahead ahead;
    const Source<T>* sources_end;
};

// Rows with several targets each. The product is made once for all targets of a row, and stays in registers.
template <class Level, Lane T>
struct Scattered {
    template <std::size_t Bytes, std::size_t Packs>
    [[gnu::noinline, gnu::flatten]] static void tile(const Scatter<T>& all) {
        using C = Columns<Level, T, Bytes>;
        const ScatterAhead<Level, T> ahead(all);
        const Tile tile{0, all.columns - C::lanes, 0};
        std::size_t i = 0;
        for (const Source<T>* from = all.sources; from < ahead.sources_end; ++from) {
            ahead.source(from);
            typename C::P product[Packs];
            for_packs<C, Packs>(tile, [&](std::size_t p, std::size_t offset) {
                product[p] = C::scaled(C::load(from->row + offset), from->scale);
            });
            for (const std::size_t end = i + from->count; i < end; ++i) {
                ahead.target(i);
                add_to_row<C, Packs>(all.targets[i], tile,
                                     [&](std::size_t p, std::size_t) { return product[p]; });
            }
        }
    }

    [[gnu::noinline, gnu::flatten]] static void any(const Scatter<T>& all) {
        const ScatterAhead<Level, T> ahead(all);
        std::size_t i = 0;
        for (const Source<T>* from = all.sources; from < ahead.sources_end; ++from) {
            ahead.source(from);
            for (const std::size_t end = i + from->count; i < end; ++i) {
                ahead.target(i);
                add_long_row<Level, T>(from->row, from->scale, all.columns, all.targets[i]);
            }
        }
    }
};

// Rows with one target each.
template <class Level, Lane T>
struct Added {
    template <std::size_t Bytes, std::size_t Packs>
    [[gnu::noinline, gnu::flatten]] static void tile(const RowPairs<T>& all) {
        using C = Columns<Level, T, Bytes>;
        const Tile tile{0, all.columns - C::lanes, 0};
        const T* const* const rows = all.rows;
        T* const* const targets = all.targets;
        const std::size_t asked = all.prefetch_targets ? all.target_count : 0;
        for (std::size_t i = 0; i < all.count; ++i) {
            if (i + kPrefetchDistance < asked) {
                prefetch_row(targets[i + kPrefetchDistance], all.columns * sizeof(T));
            }
            const T* const row = rows[i];
            add_to_row<C, Packs>(targets[i], tile,
                                 [&](std::size_t, std::size_t offset) { return C::load(row + offset); });
        }
    }

    [[gnu::noinline, gnu::flatten]] static void any(const RowPairs<T>& all) {
        const Ahead ahead(all.columns * sizeof(T));
        const std::size_t asked = all.prefetch_targets ? all.target_count : 0;
        for (std::size_t i = 0; i < all.count; ++i) {
            if (i + kPrefetchDistance < asked) {
                prefetch_row(all.targets[i + kPrefetchDistance], ahead.bytes());
            }
            add_long_row<Level, T>(all.rows[i], T{1}, all.columns, all.targets[i]);
        }
    }
};

// Products and a sum in the making fit the registers.
inline constexpr std::size_t kMostProducts = 8;

template <class Way, Lane T, std::size_t Bytes, class All>
[[gnu::always_inline]] inline void add_rows_by(const All& all) {
    if (all.columns <= kMostProducts * PackOf<T, Bytes>::lanes) {
        with_packs<T, Bytes, kMostProducts>(
            all.columns, [&](auto width, auto packs) { Way::template tile<width, packs>(all); });
    } else {
        Way::any(all);
    }
}

template <class Level, Lane T, class Way, class All>
void add_rows(const All& all) {
    constexpr std::size_t bytes = Level::template bytes_for<T>;
    if (all.columns == 0) return;
    if (bytes > kScatterPack && all.columns * sizeof(T) < kWidePackRow) {
        add_rows_by<Way, T, std::min(bytes, kScatterPack)>(all);
    } else {
        add_rows_by<Way, T, bytes>(all);
    }
}

}  // namespace gradbag::simd
