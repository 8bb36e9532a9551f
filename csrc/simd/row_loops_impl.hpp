#pragma once

#include <concepts>
#include <cstddef>
#include <cstdint>
#include <cstring>

#include "core/types.hpp"
#include "simd/row_loops.hpp"

// Included by one translation unit for each instruction set. Everything here is either always inlined or has
// the level among its template parameters: of two functions with one name the linker keeps one, and that
// could be the one with instructions that the CPU lacks.
namespace gradbag::simd {

// Several lanes that are computed with at once.
template <class A, std::size_t Bytes>
struct PackOf {
    typedef A type __attribute__((vector_size(Bytes)));
    static constexpr std::size_t lanes = Bytes / sizeof(A);
};

template <class A, std::size_t Bytes>
using Pack = typename PackOf<A, Bytes>::type;

template <class Level, Lane T, std::size_t Bytes>
struct Columns {
    using A = Accumulator<T>;
    using P = Pack<A, Bytes>;
    static constexpr std::size_t lanes = PackOf<A, Bytes>::lanes;

    [[gnu::always_inline]] static P load(const T* from) {
        P pack;
        if constexpr (std::same_as<T, A>) {
            std::memcpy(&pack, from, sizeof(P));
        } else if constexpr (Level::template converts<T, Bytes>) {
            pack = Level::template widened<P>(from);
        } else {
            for (std::size_t lane = 0; lane < lanes; ++lane) pack[lane] = widen(from[lane]);
        }
        return pack;
    }

    [[gnu::always_inline]] static void store(P pack, T* to) {
        if constexpr (std::same_as<T, A>) {
            std::memcpy(to, &pack, sizeof(P));
        } else if constexpr (Level::template converts<T, Bytes>) {
            Level::store_narrowed(pack, to);
        } else {
            for (std::size_t lane = 0; lane < lanes; ++lane) to[lane] = narrow<T>(A(pack[lane]));
        }
    }

    // Past the caches, if that is wanted and the level can do it.
    [[gnu::always_inline]] static void store_output(P pack, T* to, bool stream) {
        if constexpr (std::same_as<T, A> && Level::template streams<T, Bytes>) {
            if (stream) return Level::stream(pack, to);
        }
        store(pack, to);
    }

    [[gnu::always_inline]] static P load_carry(const A* from) {
        P pack;
        std::memcpy(&pack, from, sizeof(P));
        return pack;
    }

    [[gnu::always_inline]] static P scaled(P pack, A scale) {
        if constexpr (std::unsigned_integral<A>) {
            return pack;
        } else {
            return pack * scale;
        }
    }

    [[gnu::always_inline]] static P finished(P pack, Finish finish, A factor) {
        if constexpr (!std::unsigned_integral<A>) {
            if (finish == Finish::multiply) return pack * factor;
            if (finish == Finish::divide) return pack / factor;
        }
        return pack;
    }
};

[[gnu::always_inline]] inline void prefetch_row(const void* row, std::size_t bytes) {
    constexpr std::uintptr_t line = 64;
    const std::uintptr_t begin = reinterpret_cast<std::uintptr_t>(row);
    const std::uintptr_t end = begin + bytes;
    for (std::uintptr_t at = begin / line * line; at < end; at += line) {
        __builtin_prefetch(reinterpret_cast<const void*>(at));
    }
}

// Which rows are asked for early, and how much of each: of a long row the hardware guesses the rest.
class Ahead {
  public:
    explicit Ahead(std::size_t row_bytes) : bytes_(row_bytes < kLongest ? row_bytes : kLongest) {}

    // `Known` bytes are part of the row for certain.
    template <std::size_t Known, class T>
    [[gnu::always_inline]] void ask(const T* const* row, const T* const* end) const {
        if (row + kPrefetchDistance >= end) return;
        const auto begin = reinterpret_cast<std::uintptr_t>(row[kPrefetchDistance]);
        // A loop of known length: to count lines took longer than to ask for one too many.
#pragma GCC unroll 16
        for (std::size_t at = 0; at < Known; at += kLine) prefetch_line(begin + at);
        for (std::size_t at = (Known + kLine - 1) / kLine * kLine; at < bytes_; at += kLine) {
            prefetch_line(begin + at);
        }
        // The last line, unless rows are whole lines: which they all are or none is, so that it is guessed.
        if (bytes_ % kLine != 0 || begin % kLine != 0) prefetch_line(begin + bytes_ - 1);
    }

    std::size_t distance() const { return kPrefetchDistance; }
    std::size_t bytes() const { return bytes_; }

  private:
    static constexpr std::size_t kLongest = 1024;
    static constexpr std::size_t kLine = 64;

    [[gnu::always_inline]] static void prefetch_line(std::uintptr_t at) {
        __builtin_prefetch(reinterpret_cast<const void*>(at));
    }

    std::size_t bytes_;
};

// Columns that are kept in registers: packs one after another, of which the last may reach back over columns
// that the one before it has too, and gives them the same values once more.
struct Tile {
    std::size_t column;
    std::size_t last;  // where the last pack begins, counted from `column`
    std::size_t slot;  // of the first pack among carried sums
};

template <std::size_t Packs, std::size_t Lanes>
[[gnu::always_inline]] inline std::size_t pack_offset(const Tile& tile, std::size_t pack) {
    return pack + 1 < Packs ? pack * Lanes : tile.last;
}

// Rows before the first group of eight.
[[gnu::always_inline]] inline std::size_t head_rows(std::size_t count) {
    const std::size_t rest = count % kBlockRows;
    return rest < 2 ? rest + kBlockRows : rest;
}

template <class C, std::size_t Packs, class T>
[[gnu::always_inline]] inline void store_sums(const Run<T>& run, const Tile& tile, bool stream,
                                              const typename C::P (&sum)[Packs]) {
    if (run.last) {
        T* const output = run.output + tile.column;
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
                copy_row<C, Packs>(*row++ + tile.column, run->output + tile.column, tile, stream);
                continue;
            }
            typename C::P sum[Packs];
            if (run->first) {
                const T* const* const head_end = row + head_rows(run->count);
                if constexpr (Prefetch) ahead.template ask<known_bytes>(row, known);
                const T* from = *row++ + tile.column;
#pragma GCC unroll 16
                for (std::size_t p = 0; p < Packs; ++p) {
                    sum[p] = C::load(from + pack_offset<Packs, C::lanes>(tile, p));
                }
                for (; row < head_end; ++row) {
                    if constexpr (Prefetch) ahead.template ask<known_bytes>(row, known);
                    from = *row + tile.column;
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
                const T* from = *row + tile.column;
#pragma GCC unroll 16
                for (std::size_t p = 0; p < Packs; ++p) {
                    block[p] = C::load(from + pack_offset<Packs, C::lanes>(tile, p));
                }
                const T* const* const block_end = row + kBlockRows;
                for (++row; row < block_end; ++row) {
                    if constexpr (Prefetch) ahead.template ask<known_bytes>(row, known);
                    from = *row + tile.column;
#pragma GCC unroll 16
                    for (std::size_t p = 0; p < Packs; ++p) {
                        block[p] += C::load(from + pack_offset<Packs, C::lanes>(tile, p));
                    }
                }
#pragma GCC unroll 16
                for (std::size_t p = 0; p < Packs; ++p) sum[p] += block[p];
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
                const T* const from = *row + tile.column;
                const Accumulator<T> by = *scale;
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
        const std::size_t columns = all.columns;
        const T* const* row = all.rows;
        [[maybe_unused]] const T* const* const known = row + all.upcoming;
        const bool stream = all.stream;
        for (const Run<T>* run = runs; run < runs + run_count; ++run) {
            T* output = run->output + tile.column;
            for (const T* const* const end = row + run->count; row < end; ++row, output += columns) {
                if constexpr (Prefetch) ahead.template ask<known_bytes>(row, known);
                copy_row<C, Packs>(*row + tile.column, output, tile, stream);
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

// The product is made once for all targets of a row, and stays in registers.
template <class Level, Lane T, std::size_t Bytes, std::size_t Packs>
[[gnu::noinline]] void scatter_tile(const Scatter<T>& all) {
    using C = Columns<Level, T, Bytes>;
    const ScatterAhead<Level, T> ahead(all);
    const Tile tile{0, all.columns - C::lanes, 0};
    std::size_t i = 0;
    for (const Source<T>* from = all.sources; from < ahead.sources_end; ++from) {
        ahead.source(from);
        typename C::P product[Packs];
#pragma GCC unroll 16
        for (std::size_t p = 0; p < Packs; ++p) {
            product[p] = C::scaled(C::load(from->row + pack_offset<Packs, C::lanes>(tile, p)), from->scale);
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

template <class Level, Lane T>
[[gnu::noinline]] void scatter_any(const Scatter<T>& all) {
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

// Products and a sum in the making fit the registers.
inline constexpr std::size_t kMostProducts = 8;

template <class Level, Lane T, std::size_t Packs = kMostProducts>
[[gnu::always_inline]] inline void scatter_packs(std::size_t packs, const Scatter<T>& all) {
    if constexpr (Packs > 1) {
        if (packs < Packs) return scatter_packs<Level, T, Packs - 1>(packs, all);
    }
    scatter_tile<Level, T, Level::template bytes_for<T>, Packs>(all);
}

template <class Level, Lane T>
void scatter_rows(const Scatter<T>& all) {
    constexpr std::size_t lanes = Level::template bytes_for<T> / sizeof(T);
    if (all.columns > lanes / 2 && all.columns < lanes) {
        return scatter_tile<Level, T, Level::template bytes_for<T> / 2, 2>(all);
    }
    if (all.columns < lanes || all.columns > kMostProducts * lanes) return scatter_any<Level, T>(all);
    scatter_packs<Level, T>((all.columns + lanes - 1) / lanes, all);
}

// One row added to one target, and so on.
template <class Level, Lane T, std::size_t Bytes, std::size_t Packs>
[[gnu::noinline]] void add_tile(const RowPairs<T>& all) {
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

template <class Level, Lane T>
[[gnu::noinline]] void add_any(const RowPairs<T>& all) {
    const Ahead ahead(all.columns * sizeof(T));
    const std::size_t asked = all.prefetch_targets ? all.target_count : 0;
    for (std::size_t i = 0; i < all.count; ++i) {
        if (i + kPrefetchDistance < asked) prefetch_row(all.targets[i + kPrefetchDistance], ahead.bytes());
        add_row<Level, T, Level::template bytes_for<T>>(all.rows[i], T{1}, all.columns, all.targets[i]);
    }
}

template <class Level, Lane T, std::size_t Packs = kMostProducts>
[[gnu::always_inline]] inline void add_packs(std::size_t packs, const RowPairs<T>& all) {
    if constexpr (Packs > 1) {
        if (packs < Packs) return add_packs<Level, T, Packs - 1>(packs, all);
    }
    add_tile<Level, T, Level::template bytes_for<T>, Packs>(all);
}

template <class Level, Lane T>
void add_rows(const RowPairs<T>& all) {
    constexpr std::size_t lanes = Level::template bytes_for<T> / sizeof(T);
    if (all.columns > lanes / 2 && all.columns < lanes) {
        return add_tile<Level, T, Level::template bytes_for<T> / 2, 2>(all);
    }
    if (all.columns < lanes || all.columns > kMostProducts * lanes) return add_any<Level, T>(all);
    add_packs<Level, T>((all.columns + lanes - 1) / lanes, all);
}

template <class Level, Lane T>
RowLoops<T> loops_of() {
    RowLoops<T> loops{};
    loops.sum = all_columns<Level, PlainSum<Level, T>, T>;
    loops.sum_scaled = all_columns<Level, ScaledSum<Level, T>, T>;
    loops.copy = all_columns<Level, RowCopy<Level, T>, T>;
    if constexpr (std::same_as<T, Accumulator<T>>) {
        loops.scatter = scatter_rows<Level, T>;
        loops.add = add_rows<Level, T>;
    }
    return loops;
}

// At addresses that are multiples of 64, and in whole cache lines.
template <class Level>
void zeros_past_caches(std::uint8_t* to, std::size_t bytes) {
    constexpr std::size_t pack_bytes = Level::template bytes_for<std::uint8_t>;
    using P = Pack<std::uint8_t, pack_bytes>;
    for (std::size_t at = 0; at < bytes; at += pack_bytes) {
        Columns<Level, std::uint8_t, pack_bytes>::store_output(P{}, to + at, true);
    }
    Level::fence();
}

}  // namespace gradbag::simd
