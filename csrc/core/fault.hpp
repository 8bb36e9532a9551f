#pragma once

#include <cstdint>

namespace gradbag {

enum class FaultKind {
    range,      // `value` lies outside [low, high)
    order,      // `value` is smaller than the value before it, which is `low`
    unmatched,  // row `position` of the input has no counterpart
    homeless,   // entry `position` belongs to no bag, for there are none
};

// What a kernel throws about a value that it was given. The caller writes the message: it knows the names.
struct Fault {
    FaultKind kind;
    int input;              // number of the input, counted from 0
    std::int64_t position;  // along the first axis
    std::int64_t column;    // along the second axis, -1 for a vector
    std::int64_t value;
    std::int64_t low;
    std::int64_t high;
};

}  // namespace gradbag
