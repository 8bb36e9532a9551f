#include "kernels/bag_pack.hpp"

#include "call/define.hpp"
#include "kernels/bag_pack_weights.hpp"

namespace gradbag {

namespace {

using Int64 = std::int64_t;
using Keep = Optional<Vector<const std::int8_t>>;
using OptionalItem = Optional<InputItem>;

template <class I>
void define_packing() {
    const auto plan = [](bool strict, auto indices, auto ids, auto dense_shape, auto keep, Bytes default_id,
                         Bytes num_rows) {
        const EntryFilter<I> filter{ids, keep, num_rows, strict, 1};
        return pack_bags_plan(indices, load_once(&dense_shape[0]), filter, default_id.count > 0);
    };
    // strict; indices, ids, dense_shape, keep, default_id, num_rows
    define<Setting<bool>, Table<const Int64>, Vector<const I>, Vector<const Int64>, Keep, OptionalItem,
           OptionalItem>(typed_name<I>("pack_bags_plan"), plan);
    const auto fill = [](bool, const Plan& made, auto, auto ids, auto, auto, Bytes default_id, Bytes,
                         auto... outputs) { fill_bags(made, ids, default_id, PackedBags<I>{outputs...}); };
    // strict; plan; inputs as above; packed_ids, packed_offsets, positions
    define<Setting<bool>, Plan, Table<const Int64>, Vector<const I>, Vector<const Int64>, Keep, OptionalItem,
           OptionalItem, Vector<I>, Vector<Int64>, Vector<Int64>>(typed_name<I>("pack_bags"), fill);
}

template <class I, class O>
void define_pruning() {
    const auto plan = [](auto ids, auto offsets, auto keep, Bytes default_id, Bytes num_rows) {
        const EntryFilter<I> filter{ids, keep, num_rows, false, 0};
        return prune_bags_plan(offsets, filter, default_id.count > 0, BagInputs{0, 1});
    };
    // ids, offsets, keep, default_id, num_rows
    define<Vector<const I>, Vector<const O>, Keep, OptionalItem, OptionalItem>(
        typed_name<I, O>("prune_bags_plan"), plan);
    const auto fill = [](const Plan& made, auto ids, auto, auto, Bytes default_id, Bytes, auto... outputs) {
        fill_bags(made, ids, default_id, PackedBags<I>{outputs...});
    };
    // plan; inputs as above; packed_ids, packed_offsets, positions
    define<Plan, Vector<const I>, Vector<const O>, Keep, OptionalItem, OptionalItem, Vector<I>, Vector<Int64>,
           Vector<Int64>>(typed_name<I, O>("prune_bags"), fill);
}

const Family family([] {
    for_index_types([]<class I>() {
        define_packing<I>();
        for_index_types([]<class O>() { define_pruning<I, O>(); });
    });
    // weights, positions, default_weight; output
    define<InputItems, Vector<const Int64>, InputItem, OutputItems>(
        "pack_weights", [](auto... views) { pack_weights(views...); });
    for_float_types([]<class T>() {
        // grad, positions; d_weights, d_default_weight
        define<Vector<const T>, Vector<const Int64>, Vector<T>, Scalar<T>>(
            typed_name<T>("pack_weights_grad"), [](auto grad, auto positions, auto d_weights, T& d_default) {
                pack_weights_grad<T>(grad, positions, d_weights, d_default);
            });
    });
});

}  // namespace

}  // namespace gradbag
