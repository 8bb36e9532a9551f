#include <algorithm>
#include <cstdint>
#include <cstdlib>
#include <cstring>
#include <string_view>

#if defined(GRADBAG_X86_LEVELS)
#include <cpuid.h>
#endif

#include "core/thresholds.hpp"
#include "simd/levels.hpp"

namespace gradbag {

namespace {

enum class Level { baseline, avx2, avx512 };

constexpr const char* kNames[] = {"baseline", "avx2", "avx512"};

#if defined(GRADBAG_X86_LEVELS)
// Asked of the processor itself: compilers need a library of their own to answer, which zig does not have.
Level best_level() {
    constexpr unsigned kSaved = 1U << 27U, kF16c = 1U << 29U;                            // leaf 1, ecx
    constexpr unsigned kAvx2 = 1U << 5U;                                                 // leaf 7, ebx
    constexpr unsigned kAvx512 = (1U << 16U) | (1U << 17U) | (1U << 30U) | (1U << 31U);  // f, dq, bw, vl
    constexpr unsigned kWide = 0x06, kWidest = 0xe6;                                     // registers kept
    unsigned a = 0, b = 0, c = 0, d = 0;
    if (__get_cpuid(1, &a, &b, &c, &d) == 0 || (c & kSaved) == 0 || (c & kF16c) == 0) return Level::baseline;
    unsigned kept = 0, high = 0;  // what the system keeps of registers when it changes threads
    __asm__ volatile("xgetbv" : "=a"(kept), "=d"(high) : "c"(0));
    if (__get_cpuid_count(7, 0, &a, &b, &c, &d) == 0 || (b & kAvx2) == 0 || (kept & kWide) != kWide) {
        return Level::baseline;
    }
    return (b & kAvx512) == kAvx512 && (kept & kWidest) == kWidest ? Level::avx512 : Level::avx2;
}
#else
Level best_level() { return Level::baseline; }
#endif

// GRADBAG_SIMD asks for a lower level than the CPU has; anything else is not heard.
Level choose_level() {
    const Level best = best_level();
    const char* const text = std::getenv("GRADBAG_SIMD");
    if (text == nullptr) return best;
    for (const Level level : {Level::baseline, Level::avx2, Level::avx512}) {
        if (level < best && std::string_view(text) == kNames[static_cast<int>(level)]) return level;
    }
    return best;
}

Level chosen_level() {
    static const Level level = choose_level();
    return level;
}

const simd::AllLoops& chosen_loops() {
    static const simd::AllLoops loops = [] {
#if defined(GRADBAG_X86_LEVELS)
        if (chosen_level() == Level::avx512) return simd::avx512_loops();
        if (chosen_level() == Level::avx2) return simd::avx2_loops();
#endif
        return simd::baseline_loops();
    }();
    return loops;
}

}  // namespace

const char* simd_level() { return kNames[static_cast<int>(chosen_level())]; }

void stream_zeros(void* to, std::size_t bytes) {
    auto* const begin = static_cast<std::uint8_t*>(to);
    const std::size_t before =
        std::min(bytes, (kLineBytes - reinterpret_cast<std::uintptr_t>(to) % kLineBytes) % kLineBytes);
    const std::size_t lines = (bytes - before) / kLineBytes * kLineBytes;
    std::memset(begin, 0, before);
    chosen_loops().zeros_past_caches(begin + before, lines);
    std::memset(begin + before + lines, 0, bytes - before - lines);
}

void rank_numbers(std::uint32_t* numbers, std::size_t count, const RankWord* words) {
    chosen_loops().rank_numbers(numbers, count, words);
}

std::size_t copy_near_items(const std::int64_t* places, std::size_t count, const NearItems& items,
                            const NearCopies& copies, std::uint64_t* visited) {
    return chosen_loops().copy_near_items(places, count, items, copies, visited);
}

// One for each lane type.
template <>
const RowLoops<half>& row_loops() {
    return chosen_loops().of_half;
}
template <>
const RowLoops<bfloat16>& row_loops() {
    return chosen_loops().of_bfloat16;
}
template <>
const RowLoops<float>& row_loops() {
    return chosen_loops().of_float;
}
template <>
const RowLoops<double>& row_loops() {
    return chosen_loops().of_double;
}
template <>
const RowLoops<std::uint8_t>& row_loops() {
    return chosen_loops().of_uint8;
}
template <>
const RowLoops<std::uint16_t>& row_loops() {
    return chosen_loops().of_uint16;
}
template <>
const RowLoops<std::uint32_t>& row_loops() {
    return chosen_loops().of_uint32;
}
template <>
const RowLoops<std::uint64_t>& row_loops() {
    return chosen_loops().of_uint64;
}

template <>
const RuleLoops<float>& rule_loops() {
    return chosen_loops().rules_of_float;
}
template <>
const RuleLoops<double>& rule_loops() {
    return chosen_loops().rules_of_double;
}

// And for each type of index.
template <>
const EntryLoops<std::int32_t>& entry_loops() {
    return chosen_loops().of_int32;
}
template <>
const EntryLoops<std::int64_t>& entry_loops() {
    return chosen_loops().of_int64;
}

}  // namespace gradbag
