#include "kernels/segment_grad.hpp"

#include "bind/families.hpp"
#include "bind/segment_types.hpp"

namespace gradbag {

void bind_segment_grad(nb::module_& m) {
    for_segment_types([&]<class T, class I, class S>(Combiner combiner) {
        // grad, indices, segment_ids; output
        define<Rows<const T>, Vector<const I>, Vector<const S>, Rows<T>>(
            m, segment_name<T, I, S>(combiner, "_grad"),
            [combiner](auto... views) { segment_grad(combiner, views...); });
    });
}

}  // namespace gradbag
