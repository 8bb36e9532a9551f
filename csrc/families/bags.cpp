#include "call/define.hpp"
#include "kernels/bag_dot.hpp"
#include "kernels/bag_grad.hpp"
#include "kernels/bag_reduce.hpp"
#include "kernels/bag_weights.hpp"

namespace gradbag {

namespace {

// Made here, where the type of the gradient is not known, so that one copy is compiled for all of them.
template <Index I, Index O>
auto planner(bool added_as_is) {
    return [added_as_is](Combiner combiner, RowSizes grad, std::span<const I> ids, std::span<const O> offsets,
                         Bytes weights, const std::int64_t& rows) {
        return bag_grad_compact_plan(combiner, GradRows{grad.rows, grad.row_bytes, added_as_is}, ids, offsets,
                                     weights.count > 0, rows);
    };
}

template <class T, class I, class O>
void define_pooling() {
    using Combining = Setting<Combiner>;
    using Weights = Optional<Vector<const T>>;
    // combiner; table, ids, offsets, weights; output
    define<Combining, Rows<const T>, Vector<const I>, Vector<const O>, Weights, Rows<T>>(
        typed_name<T, I, O>("bag_reduce"), [](auto... views) { bag_reduce(views...); });
    // combiner; grad, ids, offsets, weights; output
    define<Combining, Rows<const T>, Vector<const I>, Vector<const O>, Weights, Rows<T>>(
        typed_name<T, I, O>("bag_grad"), [](auto... views) { bag_grad(views...); });
    // combiner; grad, ids, offsets, weights, num_rows
    define<Combining, AnyRows, Vector<const I>, Vector<const O>, Optional<InputItems>,
           Scalar<const std::int64_t>>(typed_name<T, I, O>("bag_grad_compact_plan"),
                                       planner<I, O>(std::is_same_v<T, Accumulator<T>>));
    const auto fill = [](Combiner combiner, const Plan& made, auto grad, auto, auto, auto weights, auto,
                         auto... outputs) { bag_grad_compact(made, combiner, grad, weights, outputs...); };
    // combiner; plan; inputs as above; output, sorted_unique_indices
    define<Combining, Plan, Rows<const T>, Vector<const I>, Vector<const O>, Weights,
           Scalar<const std::int64_t>, Rows<T>, Vector<I>>(typed_name<T, I, O>("bag_grad_compact"), fill);
    // grad, table, ids, offsets; output
    define<Rows<const T>, Rows<const T>, Vector<const I>, Vector<const O>, Vector<T>>(
        typed_name<T, I, O>("bag_dot"), [](auto... views) { bag_dot(views...); });
}

const Family family([] {
    for_float_types([]<class T>() {
        for_index_types([]<class O>() {
            for_index_types([]<class I>() { define_pooling<T, I, O>(); });
            // combiner; weights, offsets; output
            define<Setting<Combiner>, Vector<const T>, Vector<const O>, Vector<T>>(
                typed_name<T, O>("bag_normalize"), [](auto... views) { bag_normalize(views...); });
        });
    });
});

}  // namespace

}  // namespace gradbag
