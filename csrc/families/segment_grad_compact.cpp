#include "kernels/segment_grad_compact.hpp"

#include "families/segment_types.hpp"

namespace gradbag {

namespace {

// Made here, where the type of the gradient is not known, so that one copy is compiled for all of them.
template <Index I, Index S>
auto planner(bool added_as_is) {
    return [added_as_is](Combiner combiner, RowSizes grad, std::span<const I> indices,
                         std::span<const S> segment_ids, const std::int32_t& rows) {
        return segment_grad_compact_plan(combiner, GradRows{grad.rows, grad.row_bytes, added_as_is}, indices,
                                         segment_ids, rows);
    };
}

const Family family([] {
    for_segment_types([]<class T, class I, class S>() {
        constexpr bool added_as_is = std::is_same_v<lane_of<T>, Accumulator<lane_of<T>>>;
        // combiner; grad, indices, segment_ids, dense_output_dim0
        define<Setting<Combiner>, AnyRows, Vector<const I>, Vector<const S>, Scalar<const std::int32_t>>(
            typed_name<T, I, S>("segment_grad_compact_plan"), planner<I, S>(added_as_is));

        const auto fill = [](Combiner combiner, const Plan& made, auto grad, auto, auto, auto,
                             auto... outputs) { segment_grad_compact(made, combiner, grad, outputs...); };
        // combiner; plan; inputs as above; output, sorted_unique_indices
        define<Setting<Combiner>, Plan, Rows<const T>, Vector<const I>, Vector<const S>,
               Scalar<const std::int32_t>, Rows<T>, Vector<I>>(typed_name<T, I, S>("segment_grad_compact"),
                                                               fill);
    });
});

}  // namespace

}  // namespace gradbag
