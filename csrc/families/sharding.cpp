#include "call/define.hpp"
#include "kernels/route_bags.hpp"
#include "kernels/shard_keys.hpp"

namespace gradbag {

namespace {

using Int64 = std::int64_t;

template <class O>
void define_routing() {
    // num_rows; keys, offsets, starts
    define<Setting<Int64>, Vector<const Int64>, Vector<const O>, Vector<const Int64>>(
        typed_name<O>("route_bags_plan"),
        [](Int64 num_rows, auto... inputs) { return route_bags_plan<O>(num_rows, inputs...); });
    // num_rows; plan; inputs as above; rows, order, splits, bags, lengths, pairs
    define<Setting<Int64>, Plan, Vector<const Int64>, Vector<const O>, Vector<const Int64>, Vector<Int64>,
           Vector<Int64>, Vector<Int64>, Vector<Int64>, Vector<Int64>, Vector<Int64>>(
        typed_name<O>("route_bags"), [](Int64, const Plan& made, auto, auto, auto, auto... outputs) {
            route_bags(made, RoutedBags{outputs...});
        });
}

const Family family([] {
    for_index_types([]<class I>() {
        // num_rows, num_pieces, strategy; ids; keys
        define<Setting<Int64>, Setting<Int64>, Setting<Strategy>, Vector<const I>, Vector<Int64>>(
            typed_name<I>("shard_keys"), [](auto... arguments) { shard_keys<I>(arguments...); });
        define_routing<I>();
    });
});

}  // namespace

}  // namespace gradbag
