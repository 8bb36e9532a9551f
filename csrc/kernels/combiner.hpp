#pragma once

#include <array>
#include <cmath>
#include <cstddef>
#include <stdexcept>
#include <string>
#include <string_view>
#include <type_traits>

namespace gradbag {

// How the rows of one bag become one row: one name and one case for each.
enum class Combiner { sum, mean, sqrtn };
inline constexpr std::array<std::string_view, 3> kCombinerNames{"sum", "mean", "sqrtn"};

// What the sum of `count` rows is divided by, in double; callers round it as their contract says.
inline double divisor(Combiner combiner, std::size_t count) {
    switch (combiner) {
        case Combiner::mean:
            return static_cast<double>(count);
        case Combiner::sqrtn:
            return std::sqrt(static_cast<double>(count));  // mutant: sqrt
        case Combiner::sum:
            break;
    }
    return 1.0;
}

// A combiner by its name, as it comes among the settings of a call.
inline Combiner from_text(std::type_identity<Combiner>, std::string_view name) {
    for (std::size_t number = 0; number < kCombinerNames.size(); ++number) {
        if (kCombinerNames[number] == name) return static_cast<Combiner>(number);
    }
    throw std::invalid_argument("there is no combiner " + std::string(name));
}

}  // namespace gradbag
