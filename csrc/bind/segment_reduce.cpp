#include "kernels/segment_reduce.hpp"

#include "bind/families.hpp"
#include "bind/segment_types.hpp"

namespace gradbag {

void bind_segment_reduce(nb::module_& m) {
    for_segment_types([&]<class T, class I, class S>(Combiner combiner) {
        // data, indices, segment_ids; output
        define<Rows<const T>, Vector<const I>, Vector<const S>, Rows<T>>(
            m, segment_name<T, I, S>(combiner, ""),
            [combiner](auto... views) { segment_reduce(combiner, views...); });
    });
}

}  // namespace gradbag
