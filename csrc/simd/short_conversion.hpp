#pragma once

#include <immintrin.h>

#include <concepts>
#include <cstddef>
#include <cstdint>
#include <cstring>

#include "core/types.hpp"

// Conversion of eight 16-bit numbers at once with AVX2 and F16C, to the bits that the scalar functions give.
namespace gradbag::simd {

// `Bytes` is the width of a vector of other numbers.
template <std::size_t Bytes>
struct ShortConversion {
    template <class T>
    static constexpr std::size_t bytes_for = Short<T> ? 32 : Bytes;

    template <class T, std::size_t PackBytes>
    static constexpr bool converts = Short<T> && PackBytes == 32;

    // Stores past the caches, to an address that is a multiple of the width.
    template <class T, std::size_t PackBytes>
    static constexpr bool streams = PackBytes == Bytes;

    template <class P, class T>
    [[gnu::always_inline]] static void stream(P pack, T* to) {
        if constexpr (Bytes == 32) {
            __m256i bits;
            std::memcpy(&bits, &pack, sizeof(bits));
            _mm256_stream_si256(reinterpret_cast<__m256i*>(to), bits);
        } else {
#if defined(__AVX512F__)
            __m512i bits;
            std::memcpy(&bits, &pack, sizeof(bits));
            _mm512_stream_si512(reinterpret_cast<__m512i*>(to), bits);
#endif
        }
    }

    // Such stores become visible to other threads in their turn only after this.
    [[gnu::always_inline]] static void fence() { _mm_sfence(); }

    template <class P, Short T>
    [[gnu::always_inline]] static P widened(const T* from) {
        const __m128i bits = _mm_loadu_si128(reinterpret_cast<const __m128i*>(from));
        if constexpr (std::same_as<T, half>) {
            return static_cast<P>(_mm256_cvtph_ps(bits));
        } else {
            return static_cast<P>(_mm256_castsi256_ps(_mm256_slli_epi32(_mm256_cvtepu16_epi32(bits), 16)));
        }
    }

    template <class P, Short T>
    [[gnu::always_inline]] static void store_narrowed(P pack, T* to) {
        const __m256 values = static_cast<__m256>(pack);
        const __m256 is_nan = _mm256_cmp_ps(values, values, _CMP_UNORD_Q);
        // The hardware would keep a NaN's payload; only its sign stays.
        const __m256 sign = _mm256_and_ps(values, _mm256_castsi256_ps(_mm256_set1_epi32(INT32_MIN)));
        const __m256 quiet = _mm256_or_ps(sign, _mm256_castsi256_ps(_mm256_set1_epi32(0x7fc00000)));
        if constexpr (std::same_as<T, half>) {
            const __m256 clean = _mm256_blendv_ps(values, quiet, is_nan);
            const __m128i bits = _mm256_cvtps_ph(clean, _MM_FROUND_TO_NEAREST_INT | _MM_FROUND_NO_EXC);
            _mm_storeu_si128(reinterpret_cast<__m128i*>(to), bits);
        } else {
            const __m256i bits = _mm256_castps_si256(values);
            const __m256i odd = _mm256_and_si256(_mm256_srli_epi32(bits, 16), _mm256_set1_epi32(1));
            const __m256i rounded = _mm256_add_epi32(_mm256_add_epi32(bits, _mm256_set1_epi32(0x7fff)), odd);
            const __m256i chosen =
                _mm256_blendv_epi8(rounded, _mm256_castps_si256(quiet), _mm256_castps_si256(is_nan));
            const __m256i upper = _mm256_srli_epi32(chosen, 16);
            const __m128i packed =
                _mm_packus_epi32(_mm256_castsi256_si128(upper), _mm256_extracti128_si256(upper, 1));
            _mm_storeu_si128(reinterpret_cast<__m128i*>(to), packed);
        }
    }
};

}  // namespace gradbag::simd
