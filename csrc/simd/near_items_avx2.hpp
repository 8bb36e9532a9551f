#pragma once

#include <immintrin.h>

#include <cstddef>
#include <cstdint>

#include "simd/entry_loops_avx2.hpp"

namespace gradbag::simd {

// Eight at a time, as long as their places lie among 16 in a row: those are loaded whole, and what is wanted
// of them is picked out in registers.
template <class Level>
std::size_t copy_near_items_avx2(const std::int64_t* __restrict places, std::size_t count,
                                 const NearItems& items, const NearCopies& copies,
                                 std::uint64_t* __restrict visited) {
    constexpr std::size_t lanes = 8;
    constexpr std::size_t window = 16;
    constexpr std::size_t word_bits = 64;
    if (items.count < window) return 0;
    const std::uint64_t last_window = items.count - window;
    const auto load = [](const auto* from) {
        return _mm256_loadu_si256(reinterpret_cast<const __m256i*>(from));
    };
    const __m256i far = _mm256_set1_epi64x(-static_cast<long long>(window));
    std::size_t number = 0;
    std::uint64_t word = visited[0];
    const auto turn_to = [&](std::size_t other) {
        visited[number] = word;
        number = other;
        word = visited[number];
    };
    std::uint32_t* __restrict const to = copies.data;
    const bool stream = copies.stream && reinterpret_cast<std::uintptr_t>(to) % sizeof(__m256) == 0;
    std::size_t i = 0;
    for (; count - i >= lanes; i += lanes) {
        // Each place is read once: it may change.
        const __m256i lower = load(places + i);
        const __m256i upper = load(places + i + lanes / 2);
        const __m256i first = _mm256_broadcastq_epi64(_mm256_castsi256_si128(lower));
        const __m256i lower_steps = _mm256_sub_epi64(lower, first);
        const __m256i upper_steps = _mm256_sub_epi64(upper, first);
        const auto begin = static_cast<std::uint64_t>(_mm_cvtsi128_si64(_mm256_castsi256_si128(lower)));
        if (_mm256_testz_si256(_mm256_or_si256(lower_steps, upper_steps), far) == 0) break;
        if (begin > last_window) break;
        const __m256i steps = lower_words(lower_steps, upper_steps);
        const __m256i low = _mm256_permutevar8x32_epi32(load(items.data + begin), steps);
        const __m256i high = _mm256_permutevar8x32_epi32(load(items.data + begin + lanes), steps);
        // Bit 3 of a step says which half it is in.
        const __m256 picked = _mm256_blendv_ps(_mm256_castsi256_ps(low), _mm256_castsi256_ps(high),
                                               _mm256_castsi256_ps(_mm256_slli_epi32(steps, 28)));
        if (stream) {
            _mm256_stream_ps(reinterpret_cast<float*>(to + i), picked);
        } else {
            _mm256_storeu_ps(reinterpret_cast<float*>(to + i), picked);
        }

        const __m256i bit = _mm256_sllv_epi32(_mm256_set1_epi32(1), steps);
        __m128i bits = _mm_or_si128(_mm256_castsi256_si128(bit), _mm256_extracti128_si256(bit, 1));
        bits = _mm_or_si128(bits, _mm_shuffle_epi32(bits, 0b01'00'11'10));
        bits = _mm_or_si128(bits, _mm_shuffle_epi32(bits, 0b10'11'00'01));
        const std::uint64_t seen = static_cast<std::uint32_t>(_mm_cvtsi128_si32(bits));
        const std::size_t shift = begin % word_bits;
        if (begin / word_bits != number) turn_to(begin / word_bits);
        word |= seen << shift;
        // Two shifts, because one by 64 is not defined.
        const std::uint64_t beyond = seen >> 1 >> (word_bits - 1 - shift);
        if (beyond != 0) {
            turn_to(number + 1);
            word |= beyond;
        }
    }
    visited[number] = word;
    if (stream) _mm_sfence();
    return i;
}

}  // namespace gradbag::simd
