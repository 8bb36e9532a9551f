#pragma once

#include <immintrin.h>

#include <algorithm>
#include <bit>
#include <concepts>
#include <cstddef>
#include <cstdint>
#include <limits>

#include "simd/entry_loops_impl.hpp"

namespace gradbag::simd {

// Eight indices of 32 bits at a time, or four of 64; the rest one by one.
template <class Level, Index I>
struct Avx2Entries : PlainEntries<Level, I> {
    using Plain = PlainEntries<Level, I>;
    static constexpr std::size_t lanes = 32 / sizeof(I);

    static std::size_t find_edges(const I* ids, std::size_t begin, std::size_t end, std::uint32_t* edges) {
        std::size_t count = 0;
        std::size_t i = begin;
        for (; end - i >= lanes; i += lanes) {
            unsigned edge = ~equal(load(ids + i), load(ids + i - 1)) & ((1u << lanes) - 1);
            for (; edge != 0; edge &= edge - 1) {
                edges[count++] = static_cast<std::uint32_t>(i - begin) + std::countr_zero(edge);
            }
        }
        for (; i < end; ++i) {
            edges[count] = static_cast<std::uint32_t>(i - begin);
            count += ids[i] != ids[i - 1] ? 1 : 0;
        }
        return count;
    }

    static std::size_t count_consecutive(const I* ids, std::size_t count) {
        std::size_t found = 0;
        if (count >= lanes) {
            __m256i expected = add(all_of(ids[0]), steps());
            const __m256i step = all_of(static_cast<I>(lanes));
            for (; count - found >= lanes; found += lanes, expected = add(expected, step)) {
                if (equal(load(ids + found), expected) != (1u << lanes) - 1) break;
            }
        }
        while (found < count && Plain::follows(ids, found)) ++found;
        return found;
    }

    static bool find_rows(const I* indices, std::size_t count, const RowPlaces& places, void* rows) {
        char* const to = static_cast<char*>(rows);
        // Products of 32 bits by 32 bits.
        constexpr std::uint64_t most = std::numeric_limits<std::uint32_t>::max();
        if (places.row_bytes > most || (sizeof(I) == 8 && places.rows > most)) {
            return Plain::find_rows(indices, count, places, rows);
        }
        const __m256i base = _mm256_set1_epi64x(static_cast<long long>(places.base));
        const __m256i bytes = _mm256_set1_epi64x(static_cast<long long>(places.row_bytes));
        const auto place = [&](__m256i index) {
            return _mm256_add_epi64(base, _mm256_mul_epu32(index, bytes));
        };
        const auto store = [&](std::size_t at, __m256i index) {
            _mm256_storeu_si256(reinterpret_cast<__m256i*>(to + at * sizeof(void*)), place(index));
        };
        // As unsigned numbers negative ones are larger than any bound.
        const std::size_t bound = std::min<std::size_t>(places.rows, std::numeric_limits<I>::max());
        const __m256i last = all_of(static_cast<I>(bound));
        __m256i bad = _mm256_setzero_si256();
        std::size_t i = 0;
        for (; count - i >= lanes; i += lanes) {
            const __m256i index = load(indices + i);
            if constexpr (sizeof(I) == 4) {
                bad = _mm256_or_si256(bad, _mm256_cmpeq_epi32(_mm256_max_epu32(index, last), index));
                store(i, _mm256_cvtepu32_epi64(_mm256_castsi256_si128(index)));
                store(i + 4, _mm256_cvtepu32_epi64(_mm256_extracti128_si256(index, 1)));
            } else {
                const __m256i inside = _mm256_andnot_si256(_mm256_cmpgt_epi64(_mm256_setzero_si256(), index),
                                                           _mm256_cmpgt_epi64(last, index));
                bad = _mm256_or_si256(bad, _mm256_xor_si256(inside, _mm256_set1_epi64x(-1)));
                store(i, index);
            }
        }
        const bool good = _mm256_testz_si256(bad, bad) != 0;
        return Plain::find_rows(indices + i, count - i, places, to + i * sizeof(void*)) && good;
    }

  private:
    [[gnu::always_inline]] static __m256i load(const I* from) {
        return _mm256_loadu_si256(reinterpret_cast<const __m256i*>(from));
    }

    [[gnu::always_inline]] static __m256i all_of(I value) {
        if constexpr (sizeof(I) == 4) {
            return _mm256_set1_epi32(value);
        } else {
            return _mm256_set1_epi64x(value);
        }
    }

    [[gnu::always_inline]] static __m256i steps() {
        if constexpr (sizeof(I) == 4) {
            return _mm256_setr_epi32(0, 1, 2, 3, 4, 5, 6, 7);
        } else {
            return _mm256_setr_epi64x(0, 1, 2, 3);
        }
    }

    [[gnu::always_inline]] static __m256i add(__m256i left, __m256i right) {
        return sizeof(I) == 4 ? _mm256_add_epi32(left, right) : _mm256_add_epi64(left, right);
    }

    // A bit for each pair of equal lanes.
    [[gnu::always_inline]] static unsigned equal(__m256i left, __m256i right) {
        if constexpr (sizeof(I) == 4) {
            return static_cast<unsigned>(
                _mm256_movemask_ps(_mm256_castsi256_ps(_mm256_cmpeq_epi32(left, right))));
        } else {
            return static_cast<unsigned>(
                _mm256_movemask_pd(_mm256_castsi256_pd(_mm256_cmpeq_epi64(left, right))));
        }
    }
};

}  // namespace gradbag::simd
