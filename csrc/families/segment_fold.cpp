#include "kernels/segment_fold.hpp"

#include "call/define.hpp"

namespace gradbag {

namespace {

const Family family([] {
    // Types that are rare here are left to the bodies.
    for_types<float, double, std::int32_t, std::int64_t>([]<class T>() {
        for_index_types([]<class I>() {
            // fold, ordered; data, segment_ids; output
            define<Setting<Fold>, Setting<bool>, NumberRows<const T>, Vector<const I>, NumberRows<T>>(
                typed_name<T, I>("segment_fold"), [](auto... views) { segment_fold(views...); });
        });
    });
    for_types<float, double>([]<class T>() {
        for_index_types([]<class I>() {
            // data, segment_ids; output, positions
            define<NumberRows<const T>, Vector<const I>, NumberRows<T>, NumberRows<std::int64_t>>(
                typed_name<T, I>("segment_max_with_positions"),
                [](auto... views) { segment_max_with_positions(views...); });
        });
    });
});

}  // namespace

}  // namespace gradbag
