#include "kernels/segment_reduce.hpp"

#include "families/segment_types.hpp"

namespace gradbag {

namespace {

const Family family([] {
    for_segment_types([]<class T, class I, class S>() {
        // combiner; data, indices, segment_ids; output
        define<Setting<Combiner>, Rows<const T>, Vector<const I>, Vector<const S>, Rows<T>>(
            typed_name<T, I, S>("segment_reduce"), [](auto... views) { segment_reduce(views...); });
        define<Setting<Combiner>, Rows<const T>, Vector<const I>, Vector<const S>>(
            typed_name<T, I, S>("segment_reduce_rules"),
            [](auto, auto, std::span<const I>, std::span<const S> segment_ids) {
                return segments_from_last<I>(segment_ids);
            });
    });
});

}  // namespace

}  // namespace gradbag
