#include "kernels/bag_max.hpp"

#include "call/define.hpp"

namespace gradbag {

namespace {

template <class T, class I>
void define_winners() {
    using Winners = Rows<const std::int64_t>;
    // table, ids, winners; output
    define<Rows<const T>, Vector<const I>, Winners, Rows<T>>(typed_name<T, I>("bag_max_pick"),
                                                             [](auto... views) { bag_max_pick(views...); });
    // grad, ids, winners; output
    define<Rows<const T>, Vector<const I>, Winners, Rows<T>>(typed_name<T, I>("bag_max_grad"),
                                                             [](auto... views) { bag_max_grad(views...); });
    // grad, ids, winners, num_rows
    define<AnyRows, Vector<const I>, Winners, Scalar<const std::int64_t>>(
        typed_name<T, I>("bag_max_grad_compact_plan"),
        [](auto, auto ids, auto, const std::int64_t& rows) { return bag_max_grad_compact_plan(ids, rows); });
    // plan; inputs as above; output, sorted_unique_indices
    define<Plan, Rows<const T>, Vector<const I>, Winners, Scalar<const std::int64_t>, Rows<T>, Vector<I>>(
        typed_name<T, I>("bag_max_grad_compact"),
        [](const Plan& made, auto grad, auto, auto winners, auto, auto... outputs) {
            bag_max_grad_compact(made, grad, winners, outputs...);
        });
}

const Family family([] {
    for_float_types([]<class T>() {
        for_index_types([]<class I>() {
            define_winners<T, I>();
            for_index_types([]<class O>() {
                // table, ids, offsets; output, winners
                define<Rows<const T>, Vector<const I>, Vector<const O>, Rows<T>, Rows<std::int64_t>>(
                    typed_name<T, I, O>("bag_max"), [](auto... views) { bag_max(views...); });
            });
        });
    });
});

}  // namespace

}  // namespace gradbag
