#pragma once

#include <algorithm>
#include <cstddef>
#include <span>
#include <vector>

#include "core/parallel.hpp"
#include "core/types.hpp"

// output = ((inputs[0] + inputs[1]) + inputs[2]) + ..., element by element; 16-bit numbers are rounded once.
namespace gradbag {

template <Lane T>
void add_n(const std::vector<std::span<const T>>& inputs, std::span<T> output) {
    constexpr std::size_t block = 2048;  // stays in the first-level cache while the others are added to it
    parallel_ranges(output.size(), inputs.size(), [&](std::size_t begin, std::size_t end, std::size_t) {
        Accumulator<T> sum[block];
        for (std::size_t first = begin; first < end; first += block) {
            const std::size_t count = std::min(block, end - first);
            const auto widened = [&](std::size_t number, std::size_t i) {
                return widen(inputs[number][first + i]);
            };
            for (std::size_t i = 0; i < count; ++i) sum[i] = widened(0, i);
            for (std::size_t number = 1; number < inputs.size(); ++number) {
                for (std::size_t i = 0; i < count; ++i)
                    sum[i] = add(sum[i], widened(number, i));  // mutant: addend
            }
            for (std::size_t i = 0; i < count; ++i) output[first + i] = narrow<T>(sum[i]);
        }
    });
}

}  // namespace gradbag
