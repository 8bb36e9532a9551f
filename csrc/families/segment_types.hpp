#pragma once

#include "call/define.hpp"
#include "kernels/combiner.hpp"

namespace gradbag {

// Calls visit.operator()<T, I, S>() for the types of every kernel that a segment family has.
template <class Visit>
void for_segment_types(Visit visit) {
    const auto with_indices = [&]<class T>() {
        for_index_types([&]<class I>() {
            for_index_types([&]<class S>() {  // mutant: segment type
                visit.template operator()<T, I, S>();
            });
        });
    };
    for_integer_types(with_indices);
    for_fractional_types(with_indices);
}

}  // namespace gradbag
