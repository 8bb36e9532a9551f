#include "kernels/slice.hpp"

#include "call/define.hpp"

namespace gradbag {

namespace {

const Family family([] {
    using Int64 = std::int64_t;
    const auto plan = [](auto indices, auto, auto, auto start, auto size) {
        return slice_plan(indices, start, size);  // mutant: arguments
    };
    // indices, values, shape, start, size
    define<Table<const Int64>, InputItems, Vector<const Int64>, Vector<const Int64>, Vector<const Int64>>(
        "sparse_slice_plan", plan);

    const auto rules = [](auto, auto, auto shape, auto start, auto size) {
        return slice_rules(shape, start, size);
    };
    define<Table<const Int64>, InputItems, Vector<const Int64>, Vector<const Int64>, Vector<const Int64>>(
        "sparse_slice_rules", rules);

    const auto fill = [](const Plan& made, auto indices, auto values, auto shape, auto start, auto size,
                         auto... outputs) {
        slice(made, indices, values, shape, start, size, SlicedEntries{outputs...});
    };
    // plan; inputs as above; output_indices, output_values, output_shape
    define<Plan, Table<const Int64>, InputItems, Vector<const Int64>, Vector<const Int64>,
           Vector<const Int64>, Table<Int64>, OutputItems, Vector<Int64>>("sparse_slice", fill);
});

}  // namespace

}  // namespace gradbag
