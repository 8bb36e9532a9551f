#pragma once

#include <immintrin.h>

#include <algorithm>
#include <bit>
#include <concepts>
#include <cstddef>
#include <cstdint>
#include <cstring>
#include <limits>

#include "simd/entry_loops_impl.hpp"

namespace gradbag::simd {

// How to put the chosen ones of four numbers of 64 bits in front: a permutation of words for each choice.
struct ChosenFirst {
    alignas(32) std::uint32_t words[16][8]{};

    constexpr ChosenFirst() {
        for (unsigned which = 0; which < 16; ++which) {
            unsigned count = 0;
            for (unsigned number = 0; number < 4; ++number) {
                if ((which >> number) % 2 == 0) continue;
                words[which][2 * count] = 2 * number;
                words[which][2 * count + 1] = 2 * number + 1;
                ++count;
            }
        }
    }
};
inline constexpr ChosenFirst kChosenFirst;

// How many of the first one, two ... eight numbers are chosen.
struct ChosenUpTo {
    std::uint8_t counts[256][8]{};

    constexpr ChosenUpTo() {
        for (unsigned which = 0; which < 256; ++which) {
            std::uint8_t count = 0;
            for (unsigned number = 0; number < 8; ++number) {
                count = static_cast<std::uint8_t>(count + (which >> number) % 2);
                counts[which][number] = count;
            }
        }
    }
};
inline constexpr ChosenUpTo kChosenUpTo;

// The lower halves of eight numbers of 64 bits.
[[gnu::always_inline]] inline __m256i lower_words(__m256i first, __m256i second) {
    const __m256 mixed =
        _mm256_shuffle_ps(_mm256_castsi256_ps(first), _mm256_castsi256_ps(second), 0b10'00'10'00);
    return _mm256_permute4x64_epi64(_mm256_castps_si256(mixed), 0b11'01'10'00);
}

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
        const __m256i last = last_of(places);
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

    static bool find_own_rows(const I* indices, std::size_t count, const RowPlaces& places,
                              const RowTurns& own, void* rows, std::uint16_t* before) {
        constexpr std::uint64_t most = std::numeric_limits<std::uint32_t>::max();
        if constexpr (sizeof(I) == 8) {
            return Plain::find_own_rows(indices, count, places, own, rows, before);
        } else {
            if (places.row_bytes > most) {
                return Plain::find_own_rows(indices, count, places, own, rows, before);
            }
            constexpr std::size_t half = lanes / 2;
            char* const to = static_cast<char*>(rows);
            const __m256i base = _mm256_set1_epi64x(static_cast<long long>(places.base));
            const __m256i bytes = _mm256_set1_epi64x(static_cast<long long>(places.row_bytes));
            const __m256i last = last_of(places);
            const __m256i turn_bits = _mm256_set1_epi32(static_cast<int>(own.threads - 1));
            const __m256i mine = _mm256_set1_epi32(static_cast<int>(own.mine));
            const __m128i shift = _mm_cvtsi32_si128(static_cast<int>(own.shift));
            __m256i bad = _mm256_setzero_si256();
            std::size_t found = 0;
            // Four pointers, the own ones in front.
            const auto put = [&](__m128i four, unsigned which) {
                const __m256i row =
                    _mm256_add_epi64(base, _mm256_mul_epu32(_mm256_cvtepu32_epi64(four), bytes));
                const __m256i order =
                    _mm256_load_si256(reinterpret_cast<const __m256i*>(kChosenFirst.words[which]));
                _mm256_storeu_si256(reinterpret_cast<__m256i*>(to + found * sizeof(void*)),
                                    _mm256_permutevar8x32_epi32(row, order));
                found += static_cast<std::size_t>(std::popcount(which));
            };
            before[0] = 0;
            std::size_t i = 0;
            for (; count - i >= lanes; i += lanes) {
                const __m256i index = load(indices + i);
                bad = _mm256_or_si256(bad, _mm256_cmpeq_epi32(_mm256_max_epu32(index, last), index));
                const __m256i turn = _mm256_and_si256(_mm256_srl_epi32(index, shift), turn_bits);
                const unsigned which = equal(turn, mine);
                std::uint64_t counts;
                std::memcpy(&counts, kChosenUpTo.counts[which], sizeof(counts));
                const __m128i up_to =
                    _mm_add_epi16(_mm_cvtepu8_epi16(_mm_cvtsi64_si128(static_cast<long long>(counts))),
                                  _mm_set1_epi16(static_cast<short>(found)));
                _mm_storeu_si128(reinterpret_cast<__m128i*>(before + i + 1), up_to);
                put(_mm256_castsi256_si128(index), which % (1u << half));
                put(_mm256_extracti128_si256(index, 1), which >> half);
            }
            const bool good = _mm256_testz_si256(bad, bad) != 0;
            return Plain::find_own_rows_after(i, indices, count, places, own, to, before) && good;
        }
    }

    static CopiedWords copy_words(const I* numbers, std::size_t count, std::uint32_t* words) {
        constexpr std::size_t at_once = 8;
        const __m256i one_later = _mm256_setr_epi32(7, 0, 1, 2, 3, 4, 5, 6);
        __m256i largest = _mm256_setzero_si256();
        __m256i out_of_order = _mm256_setzero_si256();
        __m256i all_bits = _mm256_setzero_si256();
        __m256i last = _mm256_setzero_si256();  // in its first lane
        std::size_t i = 0;
        for (; count - i >= at_once; i += at_once) {
            const __m256i eight = load_words(numbers + i, all_bits);
            _mm256_storeu_si256(reinterpret_cast<__m256i*>(words + i), eight);
            const __m256i turned = _mm256_permutevar8x32_epi32(eight, one_later);
            const __m256i before = _mm256_blend_epi32(turned, last, 1);
            last = turned;
            // Zero where the larger one of two neighbours is the second.
            const __m256i falls = _mm256_xor_si256(_mm256_max_epu32(eight, before), eight);
            out_of_order = _mm256_or_si256(out_of_order, falls);
            largest = _mm256_max_epu32(largest, eight);
        }
        alignas(32) std::uint32_t most[at_once];
        _mm256_store_si256(reinterpret_cast<__m256i*>(most), largest);
        // The bits that a number has if it is negative or longer than a word.
        const __m256i unfit = sizeof(I) == 4 ? _mm256_set1_epi32(std::numeric_limits<int>::min())
                                             : _mm256_set1_epi64x(~0xffffffffll);
        const CopiedWords copied{*std::max_element(most, most + at_once),
                                 _mm256_testz_si256(all_bits, unfit) != 0,
                                 _mm256_testz_si256(out_of_order, out_of_order) != 0};
        return Plain::copy_words_after(i, numbers, count, words, copied);
    }

  private:
    [[gnu::always_inline]] static __m256i load(const I* from) {
        return _mm256_loadu_si256(reinterpret_cast<const __m256i*>(from));
    }

    // The first index that is not in the table. As unsigned numbers negative ones are larger than any.
    [[gnu::always_inline]] static __m256i last_of(const RowPlaces& places) {
        return all_of(static_cast<I>(std::min<std::size_t>(places.rows, std::numeric_limits<I>::max())));
    }

    // Eight numbers as words, and the bits of them all.
    [[gnu::always_inline]] static __m256i load_words(const I* from, __m256i& all_bits) {
        const __m256i first = load(from);
        all_bits = _mm256_or_si256(all_bits, first);
        if constexpr (sizeof(I) == 4) {
            return first;
        } else {
            const __m256i second = load(from + lanes);
            all_bits = _mm256_or_si256(all_bits, second);
            return lower_words(first, second);
        }
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
