#include "kernels/fill_empty_rows.hpp"

#include "call/define.hpp"

namespace gradbag {

namespace {

using Int64 = std::int64_t;

void define_sparse() {
    const auto plan = [](auto indices, auto, auto dense_shape, auto) {
        return fill_empty_rows_plan(indices, dense_shape[0], 0);
    };
    // indices, values, dense_shape, default_value
    define<Table<const Int64>, InputItems, Vector<const Int64>, InputItem>("sparse_fill_empty_rows_plan",
                                                                           plan);

    const auto fill = [](const Plan& made, auto indices, auto values, auto, auto default_value,
                         auto... outputs) {
        fill_empty_rows(made, indices, values, default_value, FilledRows{outputs...});
    };
    // plan; inputs as above; output_indices, output_values, empty_row_indicator, reverse_index_map
    define<Plan, Table<const Int64>, InputItems, Vector<const Int64>, InputItem, Table<Int64>, OutputItems,
           Vector<bool>, Vector<Int64>>("sparse_fill_empty_rows", fill);
}

template <class T>
Matrix<T> one_column(std::span<T> vector) {
    return {vector.data(), vector.size(), 1};
}

void define_ragged() {
    const auto plan = [](auto value_rowids, auto, const Int64& nrows, auto) {
        return fill_empty_rows_plan(one_column(value_rowids), nrows, -1);  // mutant: vector
    };
    // value_rowids, values, nrows, default_value
    define<Vector<const Int64>, InputItems, Scalar<const Int64>, InputItem>("ragged_fill_empty_rows_plan",
                                                                            plan);

    const auto fill = [](const Plan& made, auto value_rowids, auto values, auto, auto default_value,
                         auto output_value_rowids, auto... outputs) {
        fill_empty_rows(made, one_column(value_rowids), values, default_value,
                        FilledRows{one_column(output_value_rowids), outputs...});
    };
    // plan; inputs as above; output_value_rowids, output_values, empty_row_indicator, reverse_index_map
    define<Plan, Vector<const Int64>, InputItems, Scalar<const Int64>, InputItem, Vector<Int64>, OutputItems,
           Vector<bool>, Vector<Int64>>("ragged_fill_empty_rows", fill);
}

const Family family([] {
    define_sparse();
    define_ragged();
});

}  // namespace

}  // namespace gradbag
