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

// Of a long row the hardware guesses the rest.
inline constexpr std::size_t kLongestPrefetch = 1024;

template <class Level, Lane T, bool Prefetch>
[[gnu::always_inline]] inline void ahead(const Run<T>& run, std::size_t row) {
    if constexpr (Prefetch) {
        const std::size_t later = row + kPrefetchDistance;
        if (later >= run.upcoming) return;
        const std::size_t bytes = run.columns * sizeof(T);
        prefetch_row(run.rows[later], bytes < kLongestPrefetch ? bytes : kLongestPrefetch);
    }
}

// A tile of Packs * lanes columns from `column` on, kept in registers.
template <class Level, Lane T, std::size_t Bytes, std::size_t Packs, bool Prefetch>
[[gnu::noinline]] void sum_tile(const Run<T>& run, std::size_t column, std::size_t slot) {
    using C = Columns<Level, T, Bytes>;
    typename C::P sum[Packs];
    const T* const* const rows = run.rows;
    const std::size_t count = run.count;
    std::size_t row = 0;
    if (run.first) {
        ahead<Level, T, Prefetch>(run, row);
        const T* from = rows[row++] + column;
#pragma GCC unroll 16
        for (std::size_t p = 0; p < Packs; ++p) sum[p] = C::load(from + p * C::lanes);
        for (; row < run.head; ++row) {
            ahead<Level, T, Prefetch>(run, row);
            from = rows[row] + column;
#pragma GCC unroll 16
            for (std::size_t p = 0; p < Packs; ++p) sum[p] += C::load(from + p * C::lanes);
        }
    } else {
#pragma GCC unroll 16
        for (std::size_t p = 0; p < Packs; ++p) sum[p] = C::load_carry(run.carry + slot + p * C::lanes);
    }
    while (row < count) {
        typename C::P block[Packs];
        ahead<Level, T, Prefetch>(run, row);
        const T* from = rows[row] + column;
#pragma GCC unroll 16
        for (std::size_t p = 0; p < Packs; ++p) block[p] = C::load(from + p * C::lanes);
        for (std::size_t next = row + 1; next < row + kBlockRows; ++next) {
            ahead<Level, T, Prefetch>(run, next);
            from = rows[next] + column;
#pragma GCC unroll 16
            for (std::size_t p = 0; p < Packs; ++p) block[p] += C::load(from + p * C::lanes);
        }
#pragma GCC unroll 16
        for (std::size_t p = 0; p < Packs; ++p) sum[p] += block[p];
        row += kBlockRows;
    }
#pragma GCC unroll 16
    for (std::size_t p = 0; p < Packs; ++p) {
        if (run.last) {
            C::store(C::finished(sum[p], run.finish, run.factor), run.output + column + p * C::lanes);
        } else {
            std::memcpy(run.carry + slot + p * C::lanes, &sum[p], sizeof(sum[p]));
        }
    }
}

template <class Level, Lane T, std::size_t Bytes, std::size_t Packs, bool Prefetch>
[[gnu::noinline]] void sum_scaled_tile(const Run<T>& run, std::size_t column, std::size_t slot) {
    using C = Columns<Level, T, Bytes>;
    typename C::P sum[Packs];
    const T* const* const rows = run.rows;
#pragma GCC unroll 16
    for (std::size_t p = 0; p < Packs; ++p) {
        sum[p] = run.first ? typename C::P{} : C::load_carry(run.carry + slot + p * C::lanes);
    }
    for (std::size_t row = 0; row < run.count; ++row) {
        ahead<Level, T, Prefetch>(run, row);
        const T* from = rows[row] + column;
        const Accumulator<T> scale = run.scales[row];
#pragma GCC unroll 16
        for (std::size_t p = 0; p < Packs; ++p) sum[p] += C::scaled(C::load(from + p * C::lanes), scale);
    }
#pragma GCC unroll 16
    for (std::size_t p = 0; p < Packs; ++p) {
        if (run.last) {
            C::store(sum[p], run.output + column + p * C::lanes);
        } else {
            std::memcpy(run.carry + slot + p * C::lanes, &sum[p], sizeof(sum[p]));
        }
    }
}

// Two ways to combine rows, which share how columns are cut into tiles.
template <class Level, Lane T>
struct PlainSum {
    template <std::size_t Bytes, std::size_t Packs>
    [[gnu::always_inline]] static void tile(const Run<T>& run, std::size_t column, std::size_t slot) {
        if (column == 0 && run.upcoming > 0) {
            sum_tile<Level, T, Bytes, Packs, true>(run, column, slot);
        } else {
            sum_tile<Level, T, Bytes, Packs, false>(run, column, slot);
        }
    }
};

template <class Level, Lane T>
struct ScaledSum {
    template <std::size_t Bytes, std::size_t Packs>
    [[gnu::always_inline]] static void tile(const Run<T>& run, std::size_t column, std::size_t slot) {
        if (column == 0 && run.upcoming > 0) {
            sum_scaled_tile<Level, T, Bytes, Packs, true>(run, column, slot);
        } else {
            sum_scaled_tile<Level, T, Bytes, Packs, false>(run, column, slot);
        }
    }
};

// The last columns, fewer than a pack: a pack that reaches back over columns that are done already gives them
// the same values once more, which is cheaper than going through the rows for each width.
template <class Sum, Lane T, std::size_t Bytes>
[[gnu::always_inline]] inline void rest_of_columns(const Run<T>& run, std::size_t column, std::size_t slot) {
    using A = Accumulator<T>;
    constexpr std::size_t lanes = Bytes / sizeof(A);
    const std::size_t left = run.columns - column;
    if (left == 0) return;
    if constexpr (lanes > 1) {
        if (left <= lanes / 2) {
            rest_of_columns<Sum, T, Bytes / 2>(run, column, slot);
        } else if (run.columns >= lanes) {
            Sum::template tile<Bytes, 1>(run, run.columns - lanes, slot);
        } else {
            Sum::template tile<Bytes / 2, 1>(run, column, slot);
            rest_of_columns<Sum, T, Bytes / 2>(run, column + lanes / 2, slot + lanes);
        }
    } else {
        Sum::template tile<Bytes, 1>(run, column, slot);
    }
}

template <class Level, class Sum, Lane T>
void all_columns(const Run<T>& run) {
    constexpr std::size_t bytes = Level::template bytes_for<T>;
    constexpr std::size_t lanes = bytes / sizeof(Accumulator<T>);
    std::size_t column = 0;
    for (; run.columns - column >= 8 * lanes; column += 8 * lanes) {
        Sum::template tile<bytes, 8>(run, column, column);
    }
    if (run.columns - column >= 4 * lanes) {
        Sum::template tile<bytes, 4>(run, column, column);
        column += 4 * lanes;
    }
    if (run.columns - column >= 2 * lanes) {
        Sum::template tile<bytes, 2>(run, column, column);
        column += 2 * lanes;
    }
    if (run.columns - column >= lanes) {
        Sum::template tile<bytes, 1>(run, column, column);
        column += lanes;
    }
    rest_of_columns<Sum, T, bytes>(run, column, column);
}

// One row added to another. A last pack that reaches back is loaded before anything is stored.
template <class Level, Lane T, std::size_t Bytes>
[[gnu::always_inline]] inline void add_row(const T* row, T scale, std::size_t columns, T* target) {
    using C = Columns<Level, T, Bytes>;
    if constexpr (C::lanes > 1) {
        if (columns < C::lanes) return add_row<Level, T, Bytes / 2>(row, scale, columns, target);
    }
    if (columns == 0) return;
    const std::size_t back = columns - C::lanes;
    const typename C::P last = C::load(target + back) + C::scaled(C::load(row + back), scale);
    for (std::size_t c = 0; c + C::lanes <= columns; c += C::lanes) {
        C::store(C::load(target + c) + C::scaled(C::load(row + c), scale), target + c);
    }
    C::store(last, target + back);
}

template <class Level, Lane T, std::size_t Packs>
[[gnu::noinline]] void scatter_whole_packs(const Scatter<T>& all) {
    using C = Columns<Level, T, Level::template bytes_for<T>>;
    constexpr std::size_t bytes = Packs * Level::template bytes_for<T>;
    for (std::size_t i = 0; i < all.count; ++i) {
        const std::size_t later = i + kPrefetchDistance;
        if (all.prefetch && later < all.count) prefetch_row(all.targets[later], bytes);
        const T* const row = all.rows[i];
        T* const target = all.targets[i];
        const T scale = all.scales[i];
#pragma GCC unroll 16
        for (std::size_t p = 0; p < Packs; ++p) {
            T* const to = target + p * C::lanes;
            C::store(C::load(to) + C::scaled(C::load(row + p * C::lanes), scale), to);
        }
    }
}

template <class Level, Lane T>
[[gnu::noinline]] void scatter_rows(const Scatter<T>& all) {
    constexpr std::size_t lanes = Level::template bytes_for<T> / sizeof(T);
    if (all.columns == lanes) return scatter_whole_packs<Level, T, 1>(all);
    if (all.columns == 2 * lanes) return scatter_whole_packs<Level, T, 2>(all);
    if (all.columns == 4 * lanes) return scatter_whole_packs<Level, T, 4>(all);
    if (all.columns == 8 * lanes) return scatter_whole_packs<Level, T, 8>(all);
    const std::size_t row_bytes = all.columns * sizeof(T);
    const std::size_t bytes = row_bytes < kLongestPrefetch ? row_bytes : kLongestPrefetch;
    for (std::size_t i = 0; i < all.count; ++i) {
        const std::size_t later = i + kPrefetchDistance;
        if (all.prefetch && later < all.count) prefetch_row(all.targets[later], bytes);
        add_row<Level, T, Level::template bytes_for<T>>(all.rows[i], all.scales[i], all.columns,
                                                        all.targets[i]);
    }
}

template <class Level, Lane T>
RowLoops<T> loops_of() {
    RowLoops<T> loops{all_columns<Level, PlainSum<Level, T>, T>, all_columns<Level, ScaledSum<Level, T>, T>,
                      nullptr};
    if constexpr (std::same_as<T, Accumulator<T>>) loops.scatter = scatter_rows<Level, T>;
    return loops;
}

}  // namespace gradbag::simd
