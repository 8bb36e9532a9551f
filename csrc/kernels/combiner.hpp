#pragma once

#include <cmath>
#include <cstddef>

namespace gradbag {

// How the rows of one segment become one row.
enum class Combiner { sum, mean, sqrt_n };

// What the sum of `count` rows is divided by, in double; callers round it as their contract says.
inline double divisor(Combiner combiner, std::size_t count) {
    switch (combiner) {
        case Combiner::mean:
            return static_cast<double>(count);
        case Combiner::sqrt_n:
            return std::sqrt(static_cast<double>(count));  // mutant: sqrt
        case Combiner::sum:
            break;
    }
    return 1.0;
}

}  // namespace gradbag
