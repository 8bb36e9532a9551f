#include <string>

#include "bind/families.hpp"
#include "bind/segment_types.hpp"
#include "kernels/bag_dot.hpp"
#include "kernels/bag_grad.hpp"
#include "kernels/bag_reduce.hpp"
#include "kernels/bag_weights.hpp"

namespace gradbag {

namespace {

// The name of a kernel such as "bag_mean_grad__float32_int32_int64".
template <class... Types>
std::string bag_name(Combiner combiner, const std::string& family) {
    return typed_name<Types...>("bag_" + name_of(combiner) + family);
}

// Made here, where the type of the gradient is not known, so that one copy is compiled for all of them.
template <Index I, Index O>
auto planner(Combiner combiner, bool added_as_is) {
    return [combiner, added_as_is](RowSizes grad, std::span<const I> ids, std::span<const O> offsets,
                                   Bytes weights, const std::int64_t& rows) {
        return bag_grad_compact_plan(combiner, GradRows{grad.rows, grad.row_bytes, added_as_is}, ids, offsets,
                                     weights.count > 0, rows);
    };
}

template <class T, class I, class O>
void bind_pooling(nb::module_& m, Combiner combiner) {
    // table, ids, offsets, weights; output
    define<Rows<const T>, Vector<const I>, Vector<const O>, Vector<const T>, Rows<T>>(
        m, bag_name<T, I, O>(combiner, ""), [combiner](auto... views) { bag_reduce(combiner, views...); });
    // grad, ids, offsets, weights; output
    define<Rows<const T>, Vector<const I>, Vector<const O>, Vector<const T>, Rows<T>>(
        m, bag_name<T, I, O>(combiner, "_grad"), [combiner](auto... views) { bag_grad(combiner, views...); });
    // grad, ids, offsets, weights, rows
    define<AnyRows, Vector<const I>, Vector<const O>, InputItems, Scalar<const std::int64_t>>(
        m, bag_name<T, I, O>(combiner, "_grad_compact_plan"),
        planner<I, O>(combiner, std::is_same_v<T, Accumulator<T>>));
    const auto fill = [combiner](const Plan& made, auto grad, auto, auto, auto weights, auto,
                                 auto... outputs) {
        bag_grad_compact(made, combiner, grad, weights, outputs...);
    };
    // plan; inputs as above; output, sorted_unique_ids
    define<Plan, Rows<const T>, Vector<const I>, Vector<const O>, Vector<const T>, Scalar<const std::int64_t>,
           Rows<T>, Vector<I>>(m, bag_name<T, I, O>(combiner, "_grad_compact"), fill);
}

}  // namespace

// Weights of no length: there are none.
void bind_bags(nb::module_& m) {
    for_types<half, bfloat16, float, double>([&]<class T>() {
        for_index_types([&]<class O>() {
            for (const Combiner combiner : {Combiner::sum, Combiner::mean, Combiner::sqrt_n}) {
                for_index_types([&]<class I>() { bind_pooling<T, I, O>(m, combiner); });
                // weights, offsets; output
                define<Vector<const T>, Vector<const O>, Vector<T>>(
                    m, bag_name<T, O>(combiner, "_normalize"),
                    [combiner](auto... views) { bag_normalize(combiner, views...); });
            }
            for_index_types([&]<class I>() {
                // grad, table, ids, offsets; output
                define<Rows<const T>, Rows<const T>, Vector<const I>, Vector<const O>, Vector<T>>(
                    m, typed_name<T, I, O>("bag_dot"), [](auto... views) { bag_dot(views...); });
            });
        });
    });
}

}  // namespace gradbag
