#pragma once

#include "simd/entry_loops_impl.hpp"
#include "simd/levels.hpp"
#include "simd/row_loops_impl.hpp"
#include "simd/rule_loops_impl.hpp"

namespace gradbag::simd {

template <class Level>
AllLoops all_loops() {
    return {loops_of<Level, half>(),
            loops_of<Level, bfloat16>(),
            loops_of<Level, float>(),
            loops_of<Level, double>(),
            loops_of<Level, std::uint8_t>(),
            loops_of<Level, std::uint16_t>(),
            loops_of<Level, std::uint32_t>(),
            loops_of<Level, std::uint64_t>(),
            rule_loops_of<Level, float>(),
            rule_loops_of<Level, double>(),
            Level::template entries<std::int32_t>(),
            Level::template entries<std::int64_t>(),
            rank_numbers<Level>,
            Level::copy_near_items,
            zeros_past_caches<Level>};
}

}  // namespace gradbag::simd
