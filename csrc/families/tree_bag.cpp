#include "kernels/tree_bag.hpp"

#include "call/define.hpp"

namespace gradbag {

namespace {

using Int64 = std::int64_t;

const Family family([] {
    for_types<float, double>([]<class T>() {
        for_index_types([]<class I>() {
            for_index_types([]<class O>() {
                // num_pieces; table, ids, offsets, pieces, weights; output
                define<Setting<Int64>, Rows<const T>, Vector<const I>, Vector<const O>, Vector<const Int64>,
                       Optional<Vector<const T>>, Rows<T>>(
                    typed_name<T, I, O>("tree_bag"),
                    [](auto... arguments) { tree_bag<T, I, O>(arguments...); });
            });
        });
    });
});

}  // namespace

}  // namespace gradbag
