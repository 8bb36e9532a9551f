// What only C++ can see of the kernels: memory errors and undefined behaviour (this program is built with
// sanitizers), 64-bit sorting, and index arrays that change during the call. Results in general are tested
// from Python, against the meaning of each op and against TensorFlow.
#include <algorithm>
#include <atomic>
#include <chrono>
#include <cmath>
#include <cstdint>
#include <cstdio>
#include <cstdlib>
#include <cstring>
#include <limits>
#include <numeric>
#include <random>
#include <span>
#include <thread>
#include <vector>

#include "core/grouped_entries.hpp"
#include "core/sorted_entries.hpp"
#include "kernels/bag_dot.hpp"
#include "kernels/bag_grad.hpp"
#include "kernels/bag_reduce.hpp"
#include "kernels/bag_weights.hpp"
#include "kernels/fill_empty_rows.hpp"
#include "kernels/fill_empty_rows_grad.hpp"
#include "kernels/row_moves.hpp"
#include "kernels/row_steps.hpp"
#include "kernels/segment_fold.hpp"
#include "kernels/segment_grad.hpp"
#include "kernels/segment_grad_compact.hpp"
#include "kernels/segment_reduce.hpp"
#include "kernels/segment_softmax.hpp"
#include "kernels/slice.hpp"
#include "kernels/slice_grad.hpp"
#include "kernels/sparse_places.hpp"

namespace {

using namespace gradbag;

using Int64s = std::vector<std::int64_t>;
using Floats = std::vector<float>;

std::mt19937_64 random_bits(1);

void expect(bool holds, const char* what) {
    if (holds) return;
    std::fprintf(stderr, "failed: %s\n", what);
    std::exit(1);
}

// Inputs are views of constants; outputs are named as such.
template <class T>
Matrix<const T> table(const std::vector<T>& values, std::size_t columns) {
    return {values.data(), values.size() / columns, columns};
}

template <class T>
Matrix<T> into_table(std::vector<T>& values, std::size_t columns) {
    return {values.data(), values.size() / columns, columns};
}

template <class T>
Bytes items(const std::vector<T>& values) {
    return {reinterpret_cast<const std::uint8_t*>(values.data()), values.size(), sizeof(T)};
}

template <class T>
MutableBytes into_items(std::vector<T>& values) {
    return {reinterpret_cast<std::uint8_t*>(values.data()), values.size(), sizeof(T)};
}

template <class T>
std::span<const T> view(const std::vector<T>& values) {
    return values;
}

template <class Call>
Fault fault_of(Call call) {
    try {
        call();
    } catch (const Fault& fault) {
        return fault;
    }
    expect(false, "a fault is found");
    std::abort();
}

Int64s random_numbers(std::size_t count, std::int64_t bound) {
    std::uniform_int_distribution<std::int64_t> below(0, bound - 1);
    Int64s numbers(count);
    std::ranges::generate(numbers, [&] { return below(random_bits); });
    return numbers;
}

void test_short_floats() {
    for (std::uint32_t bits = 0; bits < 65536; ++bits) {
        const half h{static_cast<std::uint16_t>(bits)};
        const bfloat16 b{static_cast<std::uint16_t>(bits)};
        expect(std::isnan(to_float(h)) || to_half(to_float(h)).bits == bits, "half survives float");
        expect(std::isnan(to_float(b)) || to_bfloat16(to_float(b)).bits == bits, "bfloat16 survives float");
    }
    expect(to_half(2049.0f).bits == to_half(2048.0f).bits, "half: ties go to even");
    expect(to_half(65520.0f).bits == 0x7c00, "half: overflow begins half a step above the largest");
    // Just above a tie: rounding to float first would end on the tie, and then go down.
    expect(narrow<half>(2049.0 + 1e-12).bits == to_half(2050.0f).bits, "half: one rounding from double");
    expect(narrow<bfloat16>(257.0 + 1e-12).bits == to_bfloat16(258.0f).bits,
           "bfloat16: one rounding from double");
}

template <class Word>
void test_sort(std::size_t count, Word bound) {
    std::uniform_int_distribution<Word> keys(0, bound);
    std::vector<KeyedEntry<Word>> wanted(count);
    for (std::size_t i = 0; i < count; ++i) wanted[i] = {keys(random_bits), static_cast<Word>(i)};
    const std::vector<KeyedEntry<Word>> given = wanted;
    const auto read_keys = [&](std::size_t begin, std::size_t end, auto put) {
        for (std::size_t i = begin; i < end; ++i) put(i, given[i].key);
    };
    const auto read_all = [&](std::size_t begin, std::size_t end, auto put) {
        for (std::size_t i = begin; i < end; ++i) put(i, given[i].key, given[i].payload);
    };
    std::ranges::stable_sort(wanted, {}, &KeyedEntry<Word>::key);
    const auto sorted = detail::sort_entries(read_entries<Word, false>(count, read_keys));
    const auto grouped = group_entries(read_entries<Word>(count, read_all));
    std::size_t group = 0;
    for (std::size_t i = 0; i < count; ++i) {
        const std::size_t position = sorted.in_order() ? i : static_cast<std::size_t>(sorted.positions()[i]);
        expect(sorted.keys()[i] == wanted[i].key && position == wanted[i].payload, "the sort is stable");
        if (grouped.begins[group + 1] == i) ++group;
        expect(grouped.keys[group] == wanted[i].key && grouped.payloads[i] == wanted[i].payload,
               "groups are in order, and so are their entries");
    }
    expect(grouped.groups == (count > 0 ? group + 1 : 0), "every group has a key of its own");
}

void test_segment_reduce() {
    const Floats data{1e8f, 1.0f, -0.0f};
    Int64s indices{0};
    indices.resize(17, 1);
    indices.push_back(2);
    Int64s segment_ids(17, 1);
    segment_ids.push_back(3);
    Floats output(5, 7.0f);
    segment_reduce(Combiner::sum, table(data, 1), view(indices), view(segment_ids), into_table(output, 1));
    expect(output[1] == 100000008.0f, "rows are added in blocks of eight");
    expect(output[0] == 0.0f && output[2] == 0.0f && output[4] == 0.0f, "gaps are zero");
    expect(std::signbit(output[3]), "a single row is copied");

    const auto fault = [&](const Int64s& at, const Int64s& ids) {
        Matrix<const float> no_columns{data.data(), 3, 0};
        Matrix<float> no_output{output.data(), 5, 0};
        return fault_of([&] { segment_reduce(Combiner::mean, no_columns, view(at), view(ids), no_output); });
    };
    const Fault index = fault({0, 3}, {0, 5});
    expect(index.kind == FaultKind::range && index.input == 1 && index.position == 1,
           "the index is judged first");
    const Fault order = fault({0, 1, 2}, {2, 2, 1});
    expect(order.kind == FaultKind::order && order.value == 1 && order.low == 2, "segment ids must not fall");
}

template <Lane T>
void test_gradients_agree(Combiner combiner, std::size_t columns, std::size_t entries) {
    const std::size_t segments = 40;
    const std::int64_t rows = 300;
    std::vector<T> grad(segments * columns);
    std::normal_distribution<float> normal;
    for (T& value : grad) value = narrow<T>(normal(random_bits));
    const Int64s indices = random_numbers(entries, rows);
    const Int64s segment_ids = random_numbers(entries, segments);

    std::vector<T> dense(static_cast<std::size_t>(rows) * columns);
    segment_grad(combiner, table(grad, columns), view(indices), view(segment_ids),
                 into_table(dense, columns));

    const std::int32_t bound = static_cast<std::int32_t>(rows);
    const Plan plan = segment_grad_compact_plan(
        combiner, GradRows{segments, columns * sizeof(T), std::same_as<T, Accumulator<T>>}, view(indices),
        view(segment_ids), bound);
    const std::size_t unique = static_cast<std::size_t>(plan.sizes[0]);
    std::vector<T> compact(unique * columns);
    Int64s sorted_unique_indices(unique);
    segment_grad_compact(plan, combiner, table(grad, columns), into_table(compact, columns),
                         std::span(sorted_unique_indices));
    for (std::size_t k = 0; k < unique; ++k) {
        const T* wanted = dense.data() + static_cast<std::size_t>(sorted_unique_indices[k]) * columns;
        expect(std::memcmp(compact.data() + k * columns, wanted, columns * sizeof(T)) == 0,
               "the compact gradient has the rows of the dense one");
    }
}

void test_rows_without_bytes() {
    const std::size_t rows = std::size_t{1} << 40;
    const std::int64_t last = static_cast<std::int64_t>(rows) - 1;
    half nothing{};
    const Int64s indices{last, 3, last};
    const Int64s segment_ids{last, 0, last};
    segment_grad(Combiner::mean, Matrix<const half>{&nothing, rows, 0}, view(indices), view(segment_ids),
                 Matrix<half>{&nothing, rows, 0});
}

void test_fill_empty_rows() {
    const Int64s indices{3, 2, 1, 0, 3, 0, 0, 5, 1, 4};
    const Floats values{1, 2, 3, 4, 5};
    const Floats default_value{-1};
    const Plan plan = fill_empty_rows_plan(table(indices, 2), 5, 0);
    expect(plan.sizes[0] == 7, "two rows are empty");
    Int64s output_indices(14);
    Floats output_values(7);
    bool empty[5];
    Int64s map(5);
    fill_empty_rows(plan, table(indices, 2), items(values), items(default_value),
                    {into_table(output_indices, 2), into_items(output_values), empty, map});
    expect(output_indices == Int64s{0, 5, 1, 0, 1, 4, 2, 0, 3, 2, 3, 0, 4, 0}, "entries are grouped by row");
    expect(output_values == Floats{4, 2, 5, -1, 1, 3, -1} && map == Int64s{4, 1, 5, 0, 2}, "values follow");
    expect(!empty[0] && !empty[1] && empty[2] && !empty[3] && empty[4], "empty rows are marked");

    const Floats grad{1, 2, std::numeric_limits<float>::quiet_NaN(), 4};
    const Int64s reverse{2, 2};
    Floats d_values(2);
    Floats d_default(1);
    fill_empty_rows_grad(view(reverse), table(grad, 1), into_table(d_values, 1), into_table(d_default, 1));
    expect(std::isnan(d_values[0]) && d_default[0] == 7.0f, "a visited NaN does not reach the default");
}

void test_slice() {
    constexpr std::int64_t lowest = std::numeric_limits<std::int64_t>::min();
    constexpr std::int64_t highest = std::numeric_limits<std::int64_t>::max();
    const Int64s indices{lowest, -1, 0, 5, highest};
    const Floats values{1, 2, 3, 4, 5};
    const Int64s shape{6};
    const Int64s start{-1};
    const Int64s size{highest};
    const Plan plan = slice_plan(table(indices, 1), start, size);
    expect(plan.sizes[0] == 3, "the end of the window lies beyond int64");
    Int64s output_indices(3);
    Floats output_values(3);
    Int64s output_shape(1);
    slice(plan, table(indices, 1), items(values), shape, start, size,
          {into_table(output_indices, 1), into_items(output_values), output_shape});
    expect(output_indices == Int64s{0, 1, 6} && output_values == Floats{2, 3, 4},
           "indices count from the start");
    expect(output_shape[0] == 7, "a negative start widens the shape");

    Floats val_grad(5, 9.0f);
    slice_grad(items(output_values), table(indices, 1), start, table(output_indices, 1),
               into_items(val_grad));
    expect(val_grad == Floats{0, 2, 3, 4, 0}, "gradients return to their entries");
    const Int64s unknown{0, 2, 6};
    const Fault fault = fault_of([&] {
        slice_grad(items(output_values), table(indices, 1), start, table(unknown, 1), into_items(val_grad));
    });
    expect(fault.kind == FaultKind::unmatched && fault.position == 1, "an unmatched row is named");
}

// Another thread spoils and repairs the indices during the calls. Results are then anybody's guess, but
// memory stays intact: the address sanitizer is the judge. There are few entries, so that calls are many, and
// a kernel that reads again what it has checked before is likely to be caught between the two reads.
template <class Call>
void test_while_changing(std::span<std::int64_t> array, Call call) {
    const auto write = [&](std::int64_t value) {
        for (std::int64_t& element : array) *static_cast<volatile std::int64_t*>(&element) = value;
    };
    std::atomic<bool> done = false;
    std::thread scribbler([&] {
        while (!done) {
            write(std::int64_t{1} << 40);
            write(1);
        }
    });
    std::size_t accepted = 0;
    std::size_t refused = 0;
    const auto end = std::chrono::steady_clock::now() + std::chrono::seconds(1);
    while (std::chrono::steady_clock::now() < end || accepted == 0 || refused == 0) {
        try {
            call();
            ++accepted;
        } catch (const Fault&) {
            ++refused;
        }
    }
    done = true;
    scribbler.join();
}

void test_changing_indices(std::size_t rows, Int64s segment_ids) {
    const Floats data(rows, 1.0f);
    const auto grad = table(data, 1);
    Floats output(rows);
    Int64s indices(segment_ids.size(), 1);
    const auto at = view(indices);
    const auto ids = view(segment_ids);
    test_while_changing(indices,
                        [&] { segment_reduce(Combiner::mean, grad, at, ids, into_table(output, 1)); });
    test_while_changing(segment_ids,
                        [&] { segment_reduce(Combiner::mean, grad, at, ids, into_table(output, 1)); });
    test_while_changing(indices, [&] { segment_grad(Combiner::mean, grad, at, ids, into_table(output, 1)); });
    test_while_changing(segment_ids,
                        [&] { segment_grad(Combiner::mean, grad, at, ids, into_table(output, 1)); });
    test_while_changing(indices, [&] {
        const std::int32_t bound = static_cast<std::int32_t>(rows);
        const Plan plan =
            segment_grad_compact_plan(Combiner::mean, GradRows{rows, sizeof(float), true}, at, ids, bound);
        Int64s unique(static_cast<std::size_t>(plan.sizes[0]));
        Floats compact(unique.size());
        segment_grad_compact(plan, Combiner::mean, grad, into_table(compact, 1), std::span(unique));
    });
}

void test_bags() {
    const Floats values{1, 2, 3, 4, 5, 6};
    const Int64s ids{2, 0, 1, 2};
    const Int64s offsets{0, 2, 2};
    const Floats weights{1, 3, 2, -2};
    Floats output(6, 7.0f);
    bag_reduce(Combiner::mean, table(values, 2), view(ids), view(offsets), view(weights),
               into_table(output, 2));
    expect(output == Floats{2, 3, 0, 0, 0, 0}, "empty bags are zero, and those whose weights cancel");
    bag_reduce(Combiner::sum, table(values, 2), view(ids), view(offsets), view(Floats{}),
               into_table(output, 2));
    expect(output == Floats{6, 8, 0, 0, 8, 10}, "without weights rows are added");
    Floats dots(4);
    bag_dot(table(output, 2), table(values, 2), view(ids), view(offsets), std::span(dots));
    expect(dots == Floats{78, 22, 64, 100}, "each entry has its inner product");
    bag_normalize(Combiner::mean, view(weights), view(offsets), std::span(dots));
    expect(dots == Floats{0.25f, 0.75f, 0, 0}, "weights are divided by the sum of their bag");
}

// One step of Adagrad, whose accumulator is as large as the table.
template <Index I>
void adagrad(Floats& rows, Floats& accumulator, std::size_t columns, const Floats& grad,
             const std::vector<I>& ids, const Int64s& offsets, const Floats& weights) {
    RowStep<float> step{RowRule::adagrad, into_table(rows, columns), {}};
    step.rows.table = rows.data();
    step.rows.columns = columns;
    step.rows.states[0] = accumulator.data();
    step.rows.numbers = {2.0f, 0.0f};
    step_bags(step, Combiner::sum, 3, table(grad, columns), view(ids), view(offsets), view(weights));
}

void test_steps() {
    Floats rows{1, 2, 3, 4, 5, 6};
    Floats accumulator{0, 0, 1, 1, 12, 0};
    const Floats grad{1, 4, 1, 0};
    adagrad(rows, accumulator, 2, grad, Int64s{2, 0, 2}, Int64s{0, 2}, Floats{});
    expect(rows == Floats{-1, 0, 3, 4, 4, 4}, "rows move by the root of what they have added up");
    expect(accumulator == Floats{1, 16, 1, 1, 16, 16}, "what belongs to a row is added before it is squared");
    const Floats before = rows;
    bool refused = false;
    try {
        adagrad(rows, accumulator, 2, grad, Int64s{0, 1, 3}, Int64s{0, 2}, Floats{1, 1, 1});
    } catch (const Fault& fault) {
        refused = fault.input == 3;
    }
    expect(refused && rows == before, "a bad id is named and nothing has moved");
}

void test_bags_of_far_rows() {
    const std::int64_t rows = std::int64_t{1} << 40;
    const Int64s ids{rows - 1, 3, rows - 1};
    const Int64s offsets{0, 1};
    float nothing = 0;
    const Matrix<const float> grad{&nothing, 2, 0};
    for (const Floats& weights : {Floats{}, Floats{1, 2, 3}}) {
        const Plan plan = bag_grad_compact_plan(Combiner::mean, GradRows{2, 0, true}, view(ids),
                                                view(offsets), !weights.empty(), rows);
        expect(plan.sizes[0] == 2, "two rows are named");
        Int64s unique(2);
        bag_grad_compact(plan, Combiner::mean, grad, view(weights), Matrix<float>{&nothing, 2, 0},
                         std::span(unique));
        expect(unique == Int64s{3, rows - 1}, "rows that need long words are in ascending order");
    }
}

void test_changing_bags(std::size_t bags) {
    const Floats data(8, 1.0f);
    const Floats grad(bags, 1.0f);
    const Floats ones(6, 1.0f);
    Int64s ids(ones.size(), 1);
    Int64s offsets(bags, 1);
    offsets[0] = 0;
    Floats pooled(bags);
    Floats scattered(data.size());
    Floats dots(ids.size());
    const auto reduce = [&](const Floats& weights) {
        bag_reduce(Combiner::mean, table(data, 1), view(ids), view(offsets), view(weights),
                   into_table(pooled, 1));
    };
    const auto scatter = [&](const Floats& weights) {
        bag_grad(Combiner::mean, table(grad, 1), view(ids), view(offsets), view(weights),
                 into_table(scattered, 1));
    };
    const auto scatter_compact = [&](const Floats& weights) {
        const Plan plan =
            bag_grad_compact_plan(Combiner::mean, GradRows{bags, sizeof(float), true}, view(ids),
                                  view(offsets), !weights.empty(), static_cast<std::int64_t>(data.size()));
        Int64s unique(static_cast<std::size_t>(plan.sizes[0]));
        Floats compact(unique.size());
        bag_grad_compact(plan, Combiner::mean, table(grad, 1), view(weights), into_table(compact, 1),
                         std::span(unique));
    };
    Floats moved(data.size());
    Floats accumulator(data.size());
    const auto step = [&](const Floats& weights) {
        adagrad(moved, accumulator, 1, grad, ids, offsets, weights);
    };
    const auto dot = [&] {
        bag_dot(table(grad, 1), table(data, 1), view(ids), view(offsets), std::span(dots));
    };
    // The first offset is 0 and stays.
    for (const std::span<std::int64_t> changing : {std::span(ids), std::span(offsets).subspan(1)}) {
        for (const Floats& weights : {Floats{}, ones}) {
            test_while_changing(changing, [&] { reduce(weights); });
            test_while_changing(changing, [&] { scatter(weights); });
            test_while_changing(changing, [&] { scatter_compact(weights); });
            test_while_changing(changing, [&] { step(weights); });
        }
        test_while_changing(changing, dot);
        std::ranges::fill(changing, 1);
    }
    test_while_changing(std::span(offsets).subspan(1),
                        [&] { bag_normalize(Combiner::mean, view(ones), view(offsets), std::span(dots)); });
}

void test_changing_map() {
    const Floats grad(64, 1.0f);
    Int64s map(700, 1);
    Floats values(map.size());
    Floats default_value(1);
    test_while_changing(map, [&] {
        fill_empty_rows_grad(view(map), table(grad, 1), into_table(values, 1), into_table(default_value, 1));
    });
}

// Segments of rows, and rows that are moved, by numbers that change.
void test_changing_segments() {
    const Floats data(700 * 3, 1.5f);
    Int64s ids(700, 1);
    Floats output(8 * 3);
    Floats shares(data.size());
    std::vector<double> total(8 * 3);
    Int64s positions(8 * 3);
    const auto rows = table(data, 3);
    for (const Fold fold : {Fold::product, Fold::largest, Fold::smallest}) {
        test_while_changing(
            ids, [&] { segment_fold(fold, fold == Fold::largest, rows, view(ids), into_table(output, 3)); });
    }
    test_while_changing(ids, [&] {
        segment_max_with_positions(rows, view(ids), into_table(output, 3), into_table(positions, 3));
    });
    test_while_changing(ids, [&] {
        segment_softmax(rows, view(ids), into_table(shares, 3), into_table(output, 3), into_table(total, 3));
    });
    const Int64s sizes{8};
    const Bytes eight{reinterpret_cast<const std::uint8_t*>(data.data()), 8 * 3, sizeof(float)};
    const MutableBytes all{reinterpret_cast<std::uint8_t*>(shares.data()), shares.size(), sizeof(float)};
    test_while_changing(ids, [&] { gather_rows(eight, table(ids, 1), view(sizes), all); });
}

void test_changing_places() {
    Int64s places(600 * 2);
    for (std::int64_t& place : places) place = static_cast<std::int64_t>(random_bits() % 9);
    const Floats values(600, 1.0f);
    Int64s ordered(places.size());
    Floats moved(values.size());
    const Bytes from{reinterpret_cast<const std::uint8_t*>(values.data()), values.size(), sizeof(float)};
    const MutableBytes to{reinterpret_cast<std::uint8_t*>(moved.data()), moved.size(), sizeof(float)};
    test_while_changing(places,
                        [&] { row_major_entries(table(places, 2), from, into_table(ordered, 2), to); });
    test_while_changing(places, [&] {
        checked(load_once(&places[0]), 9, {0, 0});  // what is united is never refused
        const Plan plan = union_places_plan(table(places, 2), table(places, 2));
        const auto count = static_cast<std::size_t>(plan.sizes[0]);
        Int64s both_places(count * 2);
        Floats first(count);
        Floats second(count);
        std::vector<std::uint8_t> both(count);
        const auto bytes = [](Floats& floats) {
            return MutableBytes{reinterpret_cast<std::uint8_t*>(floats.data()), floats.size(), sizeof(float)};
        };
        union_places(plan, table(places, 2), from, table(places, 2), from, into_table(both_places, 2),
                     bytes(first), bytes(second), std::span(both));
    });
}

}  // namespace

int main() {
    test_short_floats();
    for (const std::size_t count : {0u, 1u, 64u, 65u, 3000u, 20000u}) {
        test_sort<std::uint32_t>(count, 500);
        test_sort<std::uint32_t>(count, 100000);
        test_sort<std::uint64_t>(count, std::numeric_limits<std::uint64_t>::max());
    }
    test_segment_reduce();
    for (const Combiner combiner : {Combiner::sum, Combiner::mean, Combiner::sqrtn}) {
        for (const std::size_t columns : {1u, 7u, 64u, 1500u}) {
            test_gradients_agree<float>(combiner, columns, 2000);
            test_gradients_agree<double>(combiner, columns, 50);
            test_gradients_agree<half>(combiner, columns, 2000);
            test_gradients_agree<bfloat16>(combiner, columns, 0);
        }
    }
    test_rows_without_bytes();
    test_fill_empty_rows();
    test_slice();
    test_changing_indices(8, Int64s(6, 1));
    Int64s singles(700);
    std::iota(singles.begin(), singles.end(), 0);
    test_changing_indices(700, singles);
    test_changing_map();
    test_bags();
    test_steps();
    test_bags_of_far_rows();
    test_changing_bags(6);
    test_changing_segments();
    test_changing_places();
    std::puts("all kernels as expected");
}
