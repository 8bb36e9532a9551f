#include "kernels/segment_grad.hpp"

#include "families/segment_types.hpp"

namespace gradbag {

namespace {

const Family family([] {
    for_segment_types([]<class T, class I, class S>() {
        // combiner; grad, indices, segment_ids; output
        define<Setting<Combiner>, Rows<const T>, Vector<const I>, Vector<const S>, Rows<T>>(
            typed_name<T, I, S>("segment_grad"), [](auto... views) { segment_grad(views...); });
    });
});

}  // namespace

}  // namespace gradbag
