#include "kernels/slice_grad.hpp"

#include "bind/define.hpp"
#include "bind/families.hpp"

namespace gradbag {

void bind_slice_grad(nb::module_& m) {
    using Int64 = std::int64_t;
    // backprop_val_grad, input_indices, input_start, output_indices; val_grad
    define<InputItems, Table<const Int64>, Vector<const Int64>, Table<const Int64>, OutputItems>(
        m, "sparse_slice_grad", [](auto... views) { slice_grad(views...); });
}

}  // namespace gradbag
