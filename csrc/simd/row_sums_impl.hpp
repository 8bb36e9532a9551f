#pragma once

#include <concepts>
#include <cstddef>
#include <cstring>

#include "core/types.hpp"
#include "simd/row_loops.hpp"
#include "simd/row_packs.hpp"

// Rows that are combined into one, or copied.
namespace gradbag::simd {

// Rows before the first group of eight.
[[gnu::always_inline]] inline std::size_t head_rows(std::size_t count) {
    const std::size_t rest = count % kBlockRows;
    return rest < 2 ? rest + kBlockRows : rest;
}

// The rows of a tile in their turn; if `Prefetch`, each is asked for some rows before.
template <class C, std::size_t Packs, bool Prefetch, class T>
class TileRows {
  public:
    TileRows(const RunRows<T>& all, const Tile& tile)
        : row_(all.rows), known_(all.rows + all.upcoming), tile_(tile), ahead_(all.columns * sizeof(T)) {}

    const T* const* place() const { return row_; }

    [[gnu::always_inline]] const T* next() {
        constexpr std::size_t known_bytes = (Packs - 1) * C::lanes * sizeof(T) + 1;
        if constexpr (Prefetch) ahead_.template ask<known_bytes>(row_, known_);
        return columns_of<Packs>(*row_++ + tile_.column);
    }

  private:
    const T* const* row_;
    const T* const* known_;
    const Tile& tile_;
    Ahead ahead_;
};

template <class C, std::size_t Packs, class T>
[[gnu::always_inline]] inline void load_sums(const Run<T>& run, const Tile& tile,
                                             typename C::P (&sum)[Packs]) {
    for_packs<Packs>([&](std::size_t p) { sum[p] = C::load_carry(run.carry + tile.slot + p * C::lanes); });
}

template <class C, std::size_t Packs, class T>
[[gnu::always_inline]] inline void store_sums(const Run<T>& run, const Tile& tile, bool stream,
                                              const typename C::P (&sum)[Packs]) {
    if (run.last) {
        T* const output = run.output + tile.column;  // mutant: tile
        for_packs<C, Packs>(tile, [&](std::size_t p, std::size_t offset) {
            C::store_output(C::finished(sum[p], run.finish, run.factor), output + offset, stream);
        });
    } else {
        for_packs<Packs>([&](std::size_t p) {
            std::memcpy(run.carry + tile.slot + p * C::lanes, &sum[p], sizeof(sum[p]));
        });
    }
}

template <class C, std::size_t Packs, class T>
[[gnu::always_inline]] inline void copy_row(const T* from, T* to, const Tile& tile, bool stream) {
    for_packs<C, Packs>(tile, [&](std::size_t, std::size_t offset) {
        if constexpr (Short<T>) {
            std::memcpy(static_cast<void*>(to + offset), from + offset, C::lanes * sizeof(T));
        } else {
            C::store_output(C::load(from + offset), to + offset, stream);
        }
    });
}

// Sums the rows up to `end` one by one; there is one at least.
template <class C, std::size_t Packs, class Rows, class T>
[[gnu::always_inline]] inline void sum_rows(const T* const* end, Rows& rows, const Tile& tile,
                                            typename C::P (&sum)[Packs]) {
    const T* const first = rows.next();
    for_packs<C, Packs>(tile, [&](std::size_t p, std::size_t offset) { sum[p] = C::load(first + offset); });
    while (rows.place() < end) {
        const T* const from = rows.next();
        for_packs<C, Packs>(tile,
                            [&](std::size_t p, std::size_t offset) { sum[p] += C::load(from + offset); });
    }
}

// Two ways to combine rows, which share how columns are cut into tiles.
template <class Level, Lane T>
struct PlainSum {
    // As many as there are registers: the sum of eight stays in them, and the sum of all waits in memory. For
    // float only, because each number of packs is a function more to compile.
    static constexpr std::size_t most_packs = std::same_as<T, float> ? 16 : 8;

    template <std::size_t Bytes, std::size_t Packs, bool Prefetch>
    [[gnu::noinline, gnu::flatten]] static void tile(const RunRows<T>& all, const Run<T>* runs,
                                                     std::size_t run_count, const Tile& at) {
        using C = Columns<Level, T, Bytes>;
        const Tile tile = known_tile<C>(at);
        TileRows<C, Packs, Prefetch, T> rows(all, tile);
        const bool stream = all.stream;
        for (const Run<T>* run = runs; run < runs + run_count; ++run) {
            const T* const* const end = rows.place() + run->count;
            if (run->count == 1) {
                // A copy, not a sum of one: it keeps the payload of a NaN.
                copy_row<C, Packs>(rows.next(), run->output + tile.column, tile, stream);
                continue;
            }
            typename C::P sum[Packs];
            if (run->first) {
                sum_rows<C, Packs>(rows.place() + head_rows(run->count), rows, tile, sum);
            } else {
                load_sums<C, Packs>(*run, tile, sum);
            }
            while (rows.place() < end) {
                typename C::P block[Packs];
                sum_rows<C, Packs>(rows.place() + kBlockRows, rows, tile, block);
                for_packs<Packs>([&](std::size_t p) { sum[p] += block[p]; });  // mutant: blocks
            }
            store_sums<C, Packs>(*run, tile, stream, sum);
        }
    }
};

template <class Level, Lane T>
struct ScaledSum {
    static constexpr std::size_t most_packs = 8;

    template <std::size_t Bytes, std::size_t Packs, bool Prefetch>
    [[gnu::noinline, gnu::flatten]] static void tile(const RunRows<T>& all, const Run<T>* runs,
                                                     std::size_t run_count, const Tile& at) {
        using C = Columns<Level, T, Bytes>;
        const Tile tile = known_tile<C>(at);
        TileRows<C, Packs, Prefetch, T> rows(all, tile);
        const bool stream = all.stream;
        const Accumulator<T>* scale = all.scales;
        for (const Run<T>* run = runs; run < runs + run_count; ++run) {
            const T* const* const end = rows.place() + run->count;
            typename C::P sum[Packs] = {};
            if (!run->first) load_sums<C, Packs>(*run, tile, sum);
            while (rows.place() < end) {
                const T* const from = rows.next();
                const Accumulator<T> by = *scale++;  // mutant: scaled
                for_packs<C, Packs>(tile, [&](std::size_t p, std::size_t offset) {
                    sum[p] += C::scaled(C::load(from + offset), by);
                });
            }
            store_sums<C, Packs>(*run, tile, stream, sum);
        }
    }
};

template <class Level, Lane T>
struct RowCopy {
    static constexpr std::size_t most_packs = PlainSum<Level, T>::most_packs;

    template <std::size_t Bytes, std::size_t Packs, bool Prefetch>
    [[gnu::noinline, gnu::flatten]] static void tile(const RunRows<T>& all, const Run<T>* runs,
                                                     std::size_t run_count, const Tile& at) {
        using C = Columns<Level, T, Bytes>;
        const Tile tile = known_tile<C>(at);
        TileRows<C, Packs, Prefetch, T> rows(all, tile);
        const std::size_t columns = all.columns;
        const bool stream = all.stream;
        for (const Run<T>* run = runs; run < runs + run_count; ++run) {
            T* output = run->output + tile.column;
            for (const T* const* const end = rows.place() + run->count; rows.place() < end;
                 output += columns) {  // mutant: bags
                copy_row<C, Packs>(rows.next(), output, tile, stream);
            }
        }
    }
};

// The first tile asks for all columns of the rows to come. Where nothing is asked for, even to look whether
// it should be took a fifth of the time of narrow rows.
template <class Sum, std::size_t Bytes, std::size_t Packs, Lane T>
[[gnu::always_inline]] inline void one_tile(const RunRows<T>& all, const Run<T>* runs, std::size_t count,
                                            const Tile& tile) {
    if (tile.column == 0 && all.upcoming > 0) {
        Sum::template tile<Bytes, Packs, true>(all, runs, count, tile);
    } else {
        Sum::template tile<Bytes, Packs, false>(all, runs, count, tile);
    }
}

// Calls body(tile, its packs) for tiles of nearly one width, so that the last has at least two packs if there
// are two.
template <std::size_t Lanes, class Body>
[[gnu::always_inline]] inline void for_tiles(std::size_t columns, std::size_t packs, std::size_t tiles,
                                             const Body& body) {
    std::size_t column = 0;
    for (std::size_t number = 0; number < tiles; ++number) {
        const std::size_t here = packs / tiles + (number < packs % tiles ? 1 : 0);
        const std::size_t end = number + 1 < tiles ? column + here * Lanes : columns;
        body(Tile{column, end - Lanes - column, column}, here);
        column = end;
    }
}

template <class Sum, std::size_t Bytes, Lane T>
[[gnu::always_inline]] inline void in_tiles(const RunRows<T>& all, const Run<T>* runs, std::size_t count) {
    constexpr std::size_t lanes = Bytes / sizeof(Accumulator<T>);
    const std::size_t packs = (all.columns + lanes - 1) / lanes;
    const std::size_t tiles = (packs + Sum::most_packs - 1) / Sum::most_packs;
    for_tiles<lanes>(all.columns, packs, tiles, [&](const Tile& tile, std::size_t here) {
        with_constant<1, Sum::most_packs>(
            here, [&](auto constant) { one_tile<Sum, Bytes, constant>(all, runs, count, tile); });
    });
}

template <class Level, class Sum, Lane T>
void all_columns(const RunRows<T>& all, const Run<T>* runs, std::size_t count) {
    using A = Accumulator<T>;
    constexpr std::size_t bytes = Level::template bytes_for<T>;
    if (all.columns == 0) return;
    if (all.columns <= Sum::most_packs * PackOf<A, bytes>::lanes) {
        with_packs<A, bytes, Sum::most_packs>(all.columns, [&](auto width, auto packs) {
            one_tile<Sum, width, packs>(all, runs, count, {0, all.columns - width / sizeof(A), 0});
        });
    } else {
        // Run after run, so that the rows are still in the cache for the second tile.
        RunRows<T> rest = all;
        for (const Run<T>* run = runs; run < runs + count; ++run) {
            in_tiles<Sum, bytes>(rest, run, 1);
            rest.rows += run->count;
            if (rest.scales != nullptr) rest.scales += run->count;
            rest.upcoming -= rest.upcoming < run->count ? rest.upcoming : run->count;
        }
    }
    if (all.stream) Level::fence();
}

}  // namespace gradbag::simd
