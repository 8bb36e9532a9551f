#include "kernels/unique.hpp"

#include "call/define.hpp"

namespace gradbag {

namespace {

using Int64 = std::int64_t;

const Family family([] {
    for_index_types([]<class I>() {
        // ids
        define<Vector<const I>>(typed_name<I>("sorted_unique_plan"),
                                [](auto ids) { return sorted_unique_plan<I>(ids); });
        // plan; ids; output, inverse, counts
        define<Plan, Vector<const I>, Vector<I>, Vector<Int64>, Vector<Int64>>(
            typed_name<I>("sorted_unique"),
            [](const Plan& made, auto, auto... outputs) { sorted_unique<I>(made, outputs...); });
    });
});

}  // namespace

}  // namespace gradbag
