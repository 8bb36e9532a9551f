#pragma once

#include <initializer_list>
#include <string>

#include "bind/define.hpp"
#include "kernels/combiner.hpp"

namespace gradbag {

inline std::string name_of(Combiner combiner) {
    switch (combiner) {
        case Combiner::mean:
            return "mean";
        case Combiner::sqrt_n:
            return "sqrt_n";
        case Combiner::sum:
            break;
    }
    return "sum";
}

// The name of a kernel of a segment family, such as "sparse_segment_mean_grad__float32_int32_int64".
template <class T, class I, class S>
std::string segment_name(Combiner combiner, const std::string& family) {
    return typed_name<T, I, S>("sparse_segment_" + name_of(combiner) + family);
}

// Calls visit.operator()<T, I, S>(combiner) for every kernel that a segment family has: integers can be
// summed, the other types also averaged.
template <class Visit>
void for_segment_types(Visit visit) {
    const auto with_indices = [&]<class T>(std::initializer_list<Combiner> combiners) {
        for_index_types([&]<class I>() {
            for_index_types([&]<class S>() {  // mutant: segment type
                for (const Combiner combiner : combiners) visit.template operator()<T, I, S>(combiner);
            });
        });
    };
    for_integer_types([&]<class T>() { with_indices.template operator()<T>({Combiner::sum}); });
    for_fractional_types([&]<class T>() {
        with_indices.template operator()<T>({Combiner::sum, Combiner::mean, Combiner::sqrt_n});
    });
}

}  // namespace gradbag
