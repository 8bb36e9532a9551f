#include "kernels/slice_grad.hpp"

#include "call/define.hpp"

namespace gradbag {

namespace {

const Family family([] {
    using Int64 = std::int64_t;
    // backprop_val_grad, input_indices, input_start, output_indices; val_grad
    define<InputItems, Table<const Int64>, Vector<const Int64>, Table<const Int64>, OutputItems>(
        "sparse_slice_grad", [](auto... views) { slice_grad(views...); });
});

}  // namespace

}  // namespace gradbag
