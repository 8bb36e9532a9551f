#include "kernels/row_sgd.hpp"

#include "call/define.hpp"

namespace gradbag {

namespace {

const Family family([] {
    for_types<float, double>([]<class T>() {
        for_index_types([]<class I>() {
            // table, which is updated, indices, grad, learning_rate
            define<Rows<T>, Vector<const I>, Rows<const T>, Scalar<const T>>(
                typed_name<T, I>("row_sgd"), [](auto table, auto indices, auto grad, const T& learning_rate) {
                    row_sgd(table, indices, grad, learning_rate);
                });
        });
    });
});

}  // namespace

}  // namespace gradbag
