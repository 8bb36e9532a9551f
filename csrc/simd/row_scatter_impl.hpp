#pragma once

#include <algorithm>
#include <cstddef>

#include "core/thresholds.hpp"
#include "core/types.hpp"
#include "simd/row_loops.hpp"
#include "simd/row_packs.hpp"

// Rows that are added where they belong.
namespace gradbag::simd {

// One row added to another. A last pack that reaches back is loaded before anything is stored.
template <class Level, Lane T, std::size_t Bytes>
[[gnu::always_inline]] inline void add_row(const T* row, T scale, std::size_t columns, T* target) {
    using C = Columns<Level, T, Bytes>;
    if constexpr (C::lanes > 1) {
        if (columns < C::lanes) return add_row<Level, T, Bytes / 2>(row, scale, columns, target);
    }
    if (columns == 0) return;
    const auto sum = [&](std::size_t c) { return C::load(target + c) + C::scaled(C::load(row + c), scale); };
    const std::size_t back = columns - C::lanes;
    const typename C::P last = sum(back);
    std::size_t c = 0;
    for (; c + 4 * C::lanes <= columns; c += 4 * C::lanes) {
#pragma GCC unroll 4
        for (std::size_t p = 0; p < 4; ++p) C::store(sum(c + p * C::lanes), target + c + p * C::lanes);
    }
    for (; c + C::lanes <= columns; c += C::lanes) C::store(sum(c), target + c);
    C::store(last, target + back);
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
    [[gnu::noinline]] static void tile(const Scatter<T>& all) {
        using C = Columns<Level, T, Bytes>;
        const ScatterAhead<Level, T> ahead(all);
        const Tile tile{0, all.columns - C::lanes, 0};
        std::size_t i = 0;
        for (const Source<T>* from = all.sources; from < ahead.sources_end; ++from) {
            ahead.source(from);
            typename C::P product[Packs];
#pragma GCC unroll 16
            for (std::size_t p = 0; p < Packs; ++p) {
                product[p] =
                    C::scaled(C::load(from->row + pack_offset<Packs, C::lanes>(tile, p)), from->scale);
            }
            for (const std::size_t end = i + from->count; i < end; ++i) {
                ahead.target(i);
                T* const target = all.targets[i];
                // Only the last pack may reach back over one before it: it alone is loaded early.
                const typename C::P last = C::load(target + tile.last) + product[Packs - 1];
#pragma GCC unroll 16
                for (std::size_t p = 0; p + 1 < Packs; ++p) {
                    T* const to = target + p * C::lanes;
                    C::store(C::load(to) + product[p], to);
                }
                C::store(last, target + tile.last);
            }
        }
    }

    [[gnu::noinline]] static void any(const Scatter<T>& all) {
        const ScatterAhead<Level, T> ahead(all);
        std::size_t i = 0;
        for (const Source<T>* from = all.sources; from < ahead.sources_end; ++from) {
            ahead.source(from);
            for (const std::size_t end = i + from->count; i < end; ++i) {
                ahead.target(i);
                add_row<Level, T, Level::template bytes_for<T>>(from->row, from->scale, all.columns,
                                                                all.targets[i]);
            }
        }
    }
};

// Rows with one target each.
template <class Level, Lane T>
struct Added {
    template <std::size_t Bytes, std::size_t Packs>
    [[gnu::noinline]] static void tile(const RowPairs<T>& all) {
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
            T* const target = targets[i];
            const typename C::P last = C::load(target + tile.last) + C::load(row + tile.last);
#pragma GCC unroll 16
            for (std::size_t p = 0; p + 1 < Packs; ++p) {
                T* const to = target + p * C::lanes;
                C::store(C::load(to) + C::load(row + p * C::lanes), to);
            }
            C::store(last, target + tile.last);
        }
    }

    [[gnu::noinline]] static void any(const RowPairs<T>& all) {
        const Ahead ahead(all.columns * sizeof(T));
        const std::size_t asked = all.prefetch_targets ? all.target_count : 0;
        for (std::size_t i = 0; i < all.count; ++i) {
            if (i + kPrefetchDistance < asked)
                prefetch_row(all.targets[i + kPrefetchDistance], ahead.bytes());
            add_row<Level, T, Level::template bytes_for<T>>(all.rows[i], T{1}, all.columns, all.targets[i]);
        }
    }
};

// Products and a sum in the making fit the registers.
inline constexpr std::size_t kMostProducts = 8;

template <class Way, std::size_t Bytes, std::size_t Packs = kMostProducts, class All>
[[gnu::always_inline]] inline void add_packs(std::size_t packs, const All& all) {
    if constexpr (Packs > 1) {
        if (packs < Packs) return add_packs<Way, Bytes, Packs - 1>(packs, all);
    }
    Way::template tile<Bytes, Packs>(all);
}

// Rows narrower than a pack are done with narrower packs, at most two of them.
template <class Way, Lane T, std::size_t Bytes, class All>
[[gnu::always_inline]] inline void add_narrow_rows(const All& all) {
    constexpr std::size_t lanes = Bytes / sizeof(T);
    if constexpr (lanes > 1) {
        if (all.columns < lanes) return add_narrow_rows<Way, T, Bytes / 2>(all);
    }
    if (all.columns == lanes) {
        Way::template tile<Bytes, 1>(all);
    } else {
        Way::template tile<Bytes, 2>(all);
    }
}

template <class Way, Lane T, std::size_t Bytes, class All>
[[gnu::always_inline]] inline void add_rows_by(const All& all) {
    constexpr std::size_t lanes = Bytes / sizeof(T);
    if (all.columns < lanes) {
        add_narrow_rows<Way, T, Bytes / 2>(all);
    } else if (all.columns <= kMostProducts * lanes) {
        add_packs<Way, Bytes>((all.columns + lanes - 1) / lanes, all);
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
