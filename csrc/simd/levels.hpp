#pragma once

#include <cstdint>

#include "simd/entry_loops.hpp"
#include "simd/row_loops.hpp"
#include "simd/rule_loops.hpp"

namespace gradbag::simd {

// The loops for every lane type.
struct AllLoops {
    RowLoops<half> of_half;
    RowLoops<bfloat16> of_bfloat16;
    RowLoops<float> of_float;
    RowLoops<double> of_double;
    RowLoops<std::uint8_t> of_uint8;
    RowLoops<std::uint16_t> of_uint16;
    RowLoops<std::uint32_t> of_uint32;
    RowLoops<std::uint64_t> of_uint64;
    RuleLoops<float> rules_of_float;
    RuleLoops<double> rules_of_double;
    EntryLoops<std::int32_t> of_int32;
    EntryLoops<std::int64_t> of_int64;
    void (*rank_numbers)(std::uint32_t* numbers, std::size_t count, const RankWord* words);
    std::size_t (*copy_near_items)(const std::int64_t* places, std::size_t count, const NearItems& items,
                                   const NearCopies& copies, std::uint64_t* visited);
    void (*zeros_past_caches)(std::uint8_t* to, std::size_t bytes);
};

AllLoops baseline_loops();
AllLoops avx2_loops();
AllLoops avx512_loops();

}  // namespace gradbag::simd
