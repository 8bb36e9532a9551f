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

template <class C, std::size_t Packs, class T>
[[gnu::always_inline]] inline void store_sums(const Run<T>& run, const Tile& tile, bool stream,
                                              const typename C::P (&sum)[Packs]) {
    if (run.last) {
        T* const output = run.output + tile.column;  // mutant: tile
#pragma GCC unroll 16
        for (std::size_t p = 0; p < Packs; ++p) {
            C::store_output(C::finished(sum[p], run.finish, run.factor),
                            output + pack_offset<Packs, C::lanes>(tile, p), stream);
        }
    } else {
#pragma GCC unroll 16
        for (std::size_t p = 0; p < Packs; ++p) {
            std::memcpy(run.carry + tile.slot + p * C::lanes, &sum[p], sizeof(sum[p]));
        }
    }
}

template <class C, std::size_t Packs, class T>
[[gnu::always_inline]] inline void copy_row(const T* from, T* to, const Tile& tile, bool stream) {
#pragma GCC unroll 16
    for (std::size_t p = 0; p < Packs; ++p) {
        const std::size_t offset = pack_offset<Packs, C::lanes>(tile, p);
        if constexpr (Short<T>) {
            std::memcpy(static_cast<void*>(to + offset), from + offset, C::lanes * sizeof(T));
        } else {
            C::store_output(C::load(from + offset), to + offset, stream);
        }
    }
}

// Two ways to combine rows, which share how columns are cut into tiles.
template <class Level, Lane T>
struct PlainSum {
    // As many as there are registers: the sum of eight stays in them, and the sum of all waits in memory. For
    // float only, because each number of packs is a function more to compile.
    static constexpr std::size_t most_packs = std::same_as<T, float> ? 16 : 8;

    template <std::size_t Bytes, std::size_t Packs, bool Prefetch>
    [[gnu::noinline]] static void tile(const RunRows<T>& all, const Run<T>* runs, std::size_t run_count,
                                       const Tile& at) {
        using C = Columns<Level, T, Bytes>;
        const Tile tile = at;
        [[maybe_unused]] const Ahead ahead(all.columns * sizeof(T));
        [[maybe_unused]] constexpr std::size_t known_bytes = (Packs - 1) * C::lanes * sizeof(T) + 1;
        const T* const* row = all.rows;
        [[maybe_unused]] const T* const* const known = row + all.upcoming;
        const bool stream = all.stream;
        for (const Run<T>* run = runs; run < runs + run_count; ++run) {
            const T* const* const end = row + run->count;
            if (run->count == 1) {
                // A copy, not a sum of one: it keeps the payload of a NaN.
                if constexpr (Prefetch) ahead.template ask<known_bytes>(row, known);
                copy_row<C, Packs>(columns_of<Packs>(*row++, tile), run->output + tile.column, tile, stream);
                continue;
            }
            typename C::P sum[Packs];
            if (run->first) {
                const T* const* const head_end = row + head_rows(run->count);
                if constexpr (Prefetch) ahead.template ask<known_bytes>(row, known);
                const T* from = columns_of<Packs>(*row++, tile);
#pragma GCC unroll 16
                for (std::size_t p = 0; p < Packs; ++p) {
                    sum[p] = C::load(from + pack_offset<Packs, C::lanes>(tile, p));
                }
                for (; row < head_end; ++row) {
                    if constexpr (Prefetch) ahead.template ask<known_bytes>(row, known);
                    from = columns_of<Packs>(*row, tile);
#pragma GCC unroll 16
                    for (std::size_t p = 0; p < Packs; ++p) {
                        sum[p] += C::load(from + pack_offset<Packs, C::lanes>(tile, p));
                    }
                }
            } else {
#pragma GCC unroll 16
                for (std::size_t p = 0; p < Packs; ++p) {
                    sum[p] = C::load_carry(run->carry + tile.slot + p * C::lanes);
                }
            }
            while (row < end) {
                typename C::P block[Packs];
                if constexpr (Prefetch) ahead.template ask<known_bytes>(row, known);
                const T* from = columns_of<Packs>(*row, tile);
#pragma GCC unroll 16
                for (std::size_t p = 0; p < Packs; ++p) {
                    block[p] = C::load(from + pack_offset<Packs, C::lanes>(tile, p));
                }
                const T* const* const block_end = row + kBlockRows;
                for (++row; row < block_end; ++row) {
                    if constexpr (Prefetch) ahead.template ask<known_bytes>(row, known);
                    from = columns_of<Packs>(*row, tile);
#pragma GCC unroll 16
                    for (std::size_t p = 0; p < Packs; ++p) {
                        block[p] += C::load(from + pack_offset<Packs, C::lanes>(tile, p));
                    }
                }
#pragma GCC unroll 16
                for (std::size_t p = 0; p < Packs; ++p) sum[p] += block[p];  // mutant: blocks
            }
            store_sums<C, Packs>(*run, tile, stream, sum);
        }
    }
};

template <class Level, Lane T>
struct ScaledSum {
    static constexpr std::size_t most_packs = 8;

    template <std::size_t Bytes, std::size_t Packs, bool Prefetch>
    [[gnu::noinline]] static void tile(const RunRows<T>& all, const Run<T>* runs, std::size_t run_count,
                                       const Tile& at) {
        using C = Columns<Level, T, Bytes>;
        const Tile tile = at;
        [[maybe_unused]] const Ahead ahead(all.columns * sizeof(T));
        [[maybe_unused]] constexpr std::size_t known_bytes = (Packs - 1) * C::lanes * sizeof(T) + 1;
        const T* const* row = all.rows;
        [[maybe_unused]] const T* const* const known = row + all.upcoming;
        const bool stream = all.stream;
        const Accumulator<T>* scale = all.scales;
        for (const Run<T>* run = runs; run < runs + run_count; ++run) {
            const T* const* const end = row + run->count;
            typename C::P sum[Packs];
#pragma GCC unroll 16
            for (std::size_t p = 0; p < Packs; ++p) {
                sum[p] = run->first ? typename C::P{} : C::load_carry(run->carry + tile.slot + p * C::lanes);
            }
            for (; row < end; ++row, ++scale) {
                if constexpr (Prefetch) ahead.template ask<known_bytes>(row, known);
                const T* const from = columns_of<Packs>(*row, tile);
                const Accumulator<T> by = *scale;  // mutant: scaled
#pragma GCC unroll 16
                for (std::size_t p = 0; p < Packs; ++p) {
                    sum[p] += C::scaled(C::load(from + pack_offset<Packs, C::lanes>(tile, p)), by);
                }
            }
            store_sums<C, Packs>(*run, tile, stream, sum);
        }
    }
};

template <class Level, Lane T>
struct RowCopy {
    static constexpr std::size_t most_packs = PlainSum<Level, T>::most_packs;

    template <std::size_t Bytes, std::size_t Packs, bool Prefetch>
    [[gnu::noinline]] static void tile(const RunRows<T>& all, const Run<T>* runs, std::size_t run_count,
                                       const Tile& at) {
        using C = Columns<Level, T, Bytes>;
        const Tile tile = at;
        [[maybe_unused]] const Ahead ahead(all.columns * sizeof(T));
        [[maybe_unused]] constexpr std::size_t known_bytes = (Packs - 1) * C::lanes * sizeof(T) + 1;
        const std::size_t columns = all.columns;  // mutant: bags
        const T* const* row = all.rows;
        [[maybe_unused]] const T* const* const known = row + all.upcoming;
        const bool stream = all.stream;
        for (const Run<T>* run = runs; run < runs + run_count; ++run) {
            T* output = run->output + tile.column;
            for (const T* const* const end = row + run->count; row < end; ++row, output += columns) {
                if constexpr (Prefetch) ahead.template ask<known_bytes>(row, known);
                copy_row<C, Packs>(columns_of<Packs>(*row, tile), output, tile, stream);
            }
        }
    }
};

// The first tile asks for all columns of the rows to come. Where nothing is asked for, even to look whether
// it should be took a fifth of the time of narrow rows.
template <class Sum, Lane T, std::size_t Bytes, std::size_t Packs>
[[gnu::always_inline]] inline void one_tile(const RunRows<T>& all, const Run<T>* runs, std::size_t count,
                                            const Tile& tile) {
    if (tile.column == 0 && all.upcoming > 0) {
        Sum::template tile<Bytes, Packs, true>(all, runs, count, tile);
    } else {
        Sum::template tile<Bytes, Packs, false>(all, runs, count, tile);
    }
}

template <class Sum, Lane T, std::size_t Bytes, std::size_t Packs = Sum::most_packs>
[[gnu::always_inline]] inline void tile_of(std::size_t packs, const RunRows<T>& all, const Run<T>* runs,
                                           std::size_t count, const Tile& tile) {
    if constexpr (Packs > 1) {
        if (packs < Packs) return tile_of<Sum, T, Bytes, Packs - 1>(packs, all, runs, count, tile);
    }
    one_tile<Sum, T, Bytes, Packs>(all, runs, count, tile);
}

// Tiles of nearly one width, so that the last has at least two packs if there are two.
template <class Sum, Lane T, std::size_t Bytes>
[[gnu::always_inline]] inline void in_tiles(const RunRows<T>& all, const Run<T>* runs, std::size_t count) {
    constexpr std::size_t lanes = Bytes / sizeof(Accumulator<T>);
    const std::size_t packs = (all.columns + lanes - 1) / lanes;
    const std::size_t tiles = (packs + Sum::most_packs - 1) / Sum::most_packs;
    std::size_t pack = 0;
    for (std::size_t number = 0; number < tiles; ++number) {
        const std::size_t here = packs / tiles + (number < packs % tiles ? 1 : 0);
        const std::size_t column = pack * lanes;
        const std::size_t end = number + 1 < tiles ? column + here * lanes : all.columns;
        tile_of<Sum, T, Bytes>(here, all, runs, count, {column, end - lanes - column, column});
        pack += here;
    }
}

// Rows narrower than a pack are done with narrower packs, at most two of them.
template <class Sum, Lane T, std::size_t Bytes>
[[gnu::always_inline]] inline void in_narrow_packs(const RunRows<T>& all, const Run<T>* runs,
                                                   std::size_t count) {
    constexpr std::size_t lanes = Bytes / sizeof(Accumulator<T>);
    if constexpr (lanes > 1) {
        if (all.columns < lanes) return in_narrow_packs<Sum, T, Bytes / 2>(all, runs, count);
    }
    const std::size_t last = all.columns - lanes;
    if (last == 0) {
        one_tile<Sum, T, Bytes, 1>(all, runs, count, {0, last, 0});
    } else {
        one_tile<Sum, T, Bytes, 2>(all, runs, count, {0, last, 0});
    }
}

template <class Level, class Sum, Lane T>
void all_columns(const RunRows<T>& all, const Run<T>* runs, std::size_t count) {
    constexpr std::size_t bytes = Level::template bytes_for<T>;
    constexpr std::size_t lanes = bytes / sizeof(Accumulator<T>);
    if (all.columns == 0) return;
    if (all.columns < lanes) {
        in_narrow_packs<Sum, T, bytes / 2>(all, runs, count);
    } else if (all.columns <= Sum::most_packs * lanes) {
        in_tiles<Sum, T, bytes>(all, runs, count);
    } else {
        // Run after run, so that the rows are still in the cache for the second tile.
        RunRows<T> rest = all;
        for (const Run<T>* run = runs; run < runs + count; ++run) {
            in_tiles<Sum, T, bytes>(rest, run, 1);
            rest.rows += run->count;
            if (rest.scales != nullptr) rest.scales += run->count;
            rest.upcoming -= rest.upcoming < run->count ? rest.upcoming : run->count;
        }
    }
    if (all.stream) Level::fence();
}

}  // namespace gradbag::simd
