#include "kernels/segment_softmax.hpp"

#include "call/define.hpp"

namespace gradbag {

namespace {

const Family family([] {
    for_types<float, double>([]<class T>() {
        for_index_types([]<class I>() {
            // data, segment_ids; largest, total
            define<NumberRows<const T>, Vector<const I>, NumberRows<T>, NumberRows<double>>(
                typed_name<T, I>("segment_powers"), [](auto... views) { segment_powers(views...); });
            // data, segment_ids; output, largest, total
            define<NumberRows<const T>, Vector<const I>, NumberRows<T>, NumberRows<T>, NumberRows<double>>(
                typed_name<T, I>("segment_softmax"), [](auto... views) { segment_softmax(views...); });
        });
    });
});

}  // namespace

}  // namespace gradbag
