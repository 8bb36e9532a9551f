#pragma once

#include <concepts>
#include <cstddef>
#include <cstdint>
#include <cstring>

#include "core/constants.hpp"
#include "core/thresholds.hpp"
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
    static constexpr bool is_narrow = Bytes < Level::template bytes_for<T>;

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
            if (finish == Finish::divide) return pack / factor;  // mutant: divide
        }
        return pack;
    }
};

template <class A>
[[gnu::always_inline]] inline A root(A value) {
    if constexpr (std::same_as<A, float>) {
        return __builtin_sqrtf(value);
    } else {
        return __builtin_sqrt(value);
    }
}

[[gnu::always_inline]] inline void prefetch_row(const void* row, std::size_t bytes) {
    const std::uintptr_t begin = reinterpret_cast<std::uintptr_t>(row);
    const std::uintptr_t end = begin + bytes;
    for (std::uintptr_t at = begin / kLineBytes * kLineBytes; at < end; at += kLineBytes) {
        __builtin_prefetch(reinterpret_cast<const void*>(at));
    }
}

[[gnu::always_inline]] inline void prefetch_line(std::uintptr_t at) {
    __builtin_prefetch(reinterpret_cast<const void*>(at));
}

// Asks for a row of `bytes`, or for the beginning of a longer one, of which `Known` bytes are part of it for
// certain. A row that `straddles` lines has one more.
template <std::size_t Known>
[[gnu::always_inline]] inline void ask_row(std::uintptr_t begin, std::size_t bytes, bool straddles) {
    // A loop of known length: to count lines took longer than to ask for one too many.
#pragma GCC unroll 16
    for (std::size_t at = 0; at < Known; at += kLineBytes) prefetch_line(begin + at);
    for (std::size_t at = (Known + kLineBytes - 1) / kLineBytes * kLineBytes; at < bytes; at += kLineBytes) {
        prefetch_line(begin + at);
    }
    if (straddles) prefetch_line(begin + bytes - 1);
}

// Which rows are asked for early, and how much of each.
class Ahead {
  public:
    [[gnu::always_inline]] explicit Ahead(std::size_t row_bytes)
        : bytes_(row_bytes < kPrefetchedBytes ? row_bytes : kPrefetchedBytes) {}

    template <std::size_t Known, class T>
    [[gnu::always_inline]] void ask(const T* const* row, const T* const* end) const {
        if (row + kPrefetchDistance >= end) return;
        const auto begin = reinterpret_cast<std::uintptr_t>(row[kPrefetchDistance]);
        // Rows are whole lines or none is, so that it is guessed.
        ask_row<Known>(begin, bytes_, bytes_ % kLineBytes != 0 || begin % kLineBytes != 0);
    }

    std::size_t distance() const { return kPrefetchDistance; }
    std::size_t bytes() const { return bytes_; }

  private:
    std::size_t bytes_;
};

// The same for the rows of one table, where it is known beforehand whether they are whole lines.
class AheadInTable {
  public:
    [[gnu::always_inline]] AheadInTable(std::size_t row_bytes, const void* table)
        : bytes_(row_bytes < kPrefetchedBytes ? row_bytes : kPrefetchedBytes),
          straddles_((row_bytes | reinterpret_cast<std::uintptr_t>(table)) % kLineBytes != 0) {}

    template <std::size_t Known>
    [[gnu::always_inline]] void ask_row(std::uintptr_t begin) const {
        simd::ask_row<Known>(begin, bytes_, straddles_);
    }

  private:
    std::size_t bytes_;
    bool straddles_;
};

// Columns that are kept in registers: packs one after another, of which the last may reach back over columns
// that the one before it has too, and gives them the same values once more.
struct Tile {
    std::size_t column;
    std::size_t last;  // where the last of several packs begins, counted from `column`
    std::size_t slot;  // of the first pack among carried sums
};

// A tile of packs that are narrower than they could be is a whole row, and several packs of two lanes are
// three columns. The compiler is told, or rows of three 16-bit numbers would take a third longer. Number by
// number: to load two at once would wait for the stores of both.
template <class C>
[[gnu::always_inline]] inline Tile known_tile(const Tile& tile) {
    return {C::is_narrow ? 0 : tile.column, C::is_narrow && C::lanes == 2 ? 1 : tile.last,
            C::is_narrow ? 0 : tile.slot};
}

// The columns of a tile. Of many packs as one pointer, for certain: otherwise the compiler computes the place
// of each pack in a row beforehand, and has more of them than registers.
template <std::size_t Packs, class T>
[[gnu::always_inline]] inline const T* columns_of(const T* from) {
#if defined(__GNUC__)
    if constexpr (Packs > 8) asm("" : "+r"(from));
#endif
    return from;
}

// Calls body(pack) for a number of packs. Unrolled, or an array of them would not stay in registers; and
// whoever calls it is flattened, so that bodies are inlined before registers are given out.
template <std::size_t Packs, std::invocable<std::size_t> Body>
[[gnu::always_inline]] inline void for_packs(const Body& body) {
#pragma GCC unroll 16
    for (std::size_t pack = 0; pack < Packs; ++pack) body(pack);
}

template <class C, std::size_t Packs>
[[gnu::always_inline]] inline std::size_t pack_offset(const Tile& tile, std::size_t pack) {
    return pack > 0 && pack + 1 == Packs ? tile.last : pack * C::lanes;  // mutant: last pack
}

// Calls body(pack, offset) for each pack of a tile, with where its columns begin.
template <class C, std::size_t Packs, std::invocable<std::size_t, std::size_t> Body>
[[gnu::always_inline]] inline void for_packs(const Tile& tile, const Body& body) {
    for_packs<Packs>([&](std::size_t pack) { body(pack, pack_offset<C, Packs>(tile, pack)); });
}

// Calls visit(bytes, packs), both constants, with the packs that cover a row of at most `Most` of them.
// Columns fewer than a pack has lanes are covered by narrower packs, of which two are always enough.
template <class A, std::size_t Bytes, std::size_t Most, class Visit>
[[gnu::always_inline]] inline void with_packs(std::size_t columns, const Visit& visit) {
    constexpr std::size_t lanes = PackOf<A, Bytes>::lanes;
    if constexpr (lanes > 1) {
        if (columns < lanes) return with_packs<A, Bytes / 2, 2>(columns, visit);
    }
    with_constant<1, Most>((columns + lanes - 1) / lanes,
                           [&](auto packs) { visit(Constant<Bytes>{}, packs); });
}

}  // namespace gradbag::simd
