#include "kernels/fill_empty_rows_grad.hpp"

#include "call/define.hpp"

namespace gradbag {

namespace {

const Family family([] {
    const auto bind = []<class T>() {
        // reverse_index_map, grad_values; d_values, d_default_value
        define<Vector<const std::int64_t>, Rows<const T>, Rows<T>, Rows<T>>(
            typed_name<T>("fill_empty_rows_grad"), [](auto... views) { fill_empty_rows_grad(views...); });
    };
    for_integer_types(bind);
    for_fractional_types(bind);
});

}  // namespace

}  // namespace gradbag
