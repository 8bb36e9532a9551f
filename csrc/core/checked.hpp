#pragma once

#include <cstddef>
#include <cstdint>

#include "core/fault.hpp"
#include "core/types.hpp"

namespace gradbag {

// Another thread may write the array while it is read. A volatile read happens exactly once, so the value
// that was checked is the value that is used.
template <Index I>
I load_once(const I* address) {
    return *static_cast<const volatile I*>(address);
}

// A negative value becomes huge as unsigned, so one comparison covers both ends.
template <Index I>
bool in_range(I value, std::size_t bound) {
    return static_cast<std::uint64_t>(static_cast<std::int64_t>(value)) < bound;  // mutant: range
}

// Where a value stands, for the fault that names it.
struct Place {
    int input;
    std::size_t position;
    std::int64_t column = -1;
};

[[noreturn]] inline void throw_out_of_range(std::int64_t value, std::size_t bound, Place place) {
    throw Fault{FaultKind::range,
                place.input,
                static_cast<std::int64_t>(place.position),
                place.column,
                value,
                0,
                static_cast<std::int64_t>(bound)};
}

template <Index I>
std::size_t checked(I value, std::size_t bound, Place place) {
    if (!in_range(value, bound)) [[unlikely]] {
        throw_out_of_range(value, bound, place);
    }
    return static_cast<std::size_t>(value);
}

}  // namespace gradbag
