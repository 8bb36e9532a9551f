#include "torch/bags.hpp"

#include <algorithm>
#include <array>
#include <atomic>
#include <csignal>
#include <optional>
#include <stdexcept>
#include <string_view>

#include "call/kernel.hpp"
#include "torch/tensors.hpp"

// An operator of PyTorch that is replaced still has others below it that do the same work: the gradient is a
// choice between a dense and a sparse one, and the look-up is there once more for those who want no gradient.
// To those goes whatever is not served here. So nothing must be kept of what was replaced.
namespace gradbag::torch {

namespace {

struct Kernels {
    std::int32_t dtype;
    std::int32_t index;
    std::size_t item_size;
    std::size_t index_size;
    const gradbag_kernel* pooled;
    const gradbag_kernel* dense;
    const gradbag_kernel* compact_plan;
    const gradbag_kernel* compact;
};
std::vector<Kernels>& all_kernels() {
    static std::vector<Kernels>& all = *new std::vector<Kernels>;  // a backward may outlive everything
    return all;
}
LibraryHandle library = nullptr;

struct Counter {
    std::atomic<std::int64_t> answered = 0;
    std::atomic<std::int64_t> handed_on = 0;
};
Counter forward_calls;
Counter backward_calls;

// PyTorch numbers its modes; the largest of a bag is left to it.
constexpr std::array<std::string_view, 2> kModes{"sum", "mean"};
constexpr std::int64_t kMean = 1;

std::int64_t integer(Value value) { return static_cast<std::int64_t>(value); }
bool boolean(Value value) { return (value & 0xff) != 0; }

// An optional tensor, with the memory that its address lies in. The tape hands on what it has not kept as a
// tensor that is not defined.
Tensor optional_tensor(Value value) {
    if (value == 0) return {};
    Value* held = nullptr;
    std::memcpy(&held, &value, sizeof held);
    Tensor tensor(*held);
    require(shim().torch_delete_stable_ivalue(held));
    return tensor.is_defined() ? std::move(tensor) : Tensor{};
}

Value optional_value(Tensor tensor) {
    if (!tensor) return 0;
    Value* held = nullptr;
    require(shim().torch_new_stable_ivalue(&held));
    *held = tensor.release();
    Value value = 0;
    std::memcpy(&value, &held, sizeof held);
    return value;
}

const Kernels* kernels_for(const Tensor& rows, const Tensor& ids, const Tensor& offsets) {
    const std::int32_t dtype = rows.dtype();
    const std::int32_t index = ids.dtype();
    if (offsets.dtype() != index) return nullptr;
    for (const Kernels& kernels : all_kernels()) {
        if (kernels.dtype == dtype && kernels.index == index) return &kernels;
    }
    return nullptr;
}

bool lie_ready(const Tensor& ids, const Tensor& offsets, const Tensor& weights) {
    return ids.axes() == 1 && offsets.axes() == 1 && ids.is_contiguous() && offsets.is_contiguous() &&
           (!weights || (weights.axes() == 1 && weights.is_contiguous()));
}

std::int64_t at(const Tensor& numbers, const Kernels& kernels, std::int64_t place) {
    const auto* const data = static_cast<const std::byte*>(numbers.data());
    if (kernels.index_size == sizeof(std::int32_t)) {
        return reinterpret_cast<const std::int32_t*>(data)[place];
    }
    return reinterpret_cast<const std::int64_t*>(data)[place];
}

// How many bags there are, or none if the ids do not end where the last bag does.
std::optional<std::int64_t> bags_of(const Kernels& kernels, const Tensor& ids, const Tensor& offsets,
                                    bool with_end) {
    const std::int64_t given = offsets.sizes()[0];
    if (!with_end) return given;
    if (given == 0 || at(offsets, kernels, given - 1) != ids.sizes()[0]) return {};
    return given - 1;
}

// The arrays of a call; the ends of bags are left out of the offsets.
class Call {
  public:
    Call(const Kernels& kernels, std::string_view combiner, const Tensor& rows, const Tensor& ids,
         const Tensor& offsets, const Tensor& weights, std::int64_t bags)
        : setting_{0, 0, combiner.data(), combiner.size()}, bags_(bags) {
        add(rows.array(kernels.item_size));
        add(ids.array(kernels.index_size));
        gradbag_array begins = offsets.array(kernels.index_size);
        begins.shape = &bags_;
        add(begins);
        counts_.push_back(weights ? 1 : 0);
        if (weights) arrays_.push_back(weights.array(kernels.item_size));
    }
    Call(const Call&) = delete;
    Call& operator=(const Call&) = delete;

    void add(gradbag_array array) {
        arrays_.push_back(array);
        counts_.push_back(1);
    }

    bool fill(const gradbag_kernel* kernel, const gradbag_plan* plan = nullptr) {
        const gradbag_arguments arguments = this->arguments();
        gradbag_fault fault{};
        return went_well(gradbag_fill(kernel, plan, &arguments, &fault));
    }

    OwnedPlan count(const gradbag_kernel* kernel) {
        const gradbag_arguments arguments = this->arguments();
        gradbag_fault fault{};
        gradbag_plan* plan = nullptr;
        return OwnedPlan(went_well(gradbag_count(kernel, &arguments, &plan, &fault)) ? plan : nullptr);
    }

  private:
    // A Ctrl-C that the kernel has heard is sent once more: PyTorch's kernel answers in its place, and Python
    // hears of it as soon as that has come back.
    static bool went_well(gradbag_status status) {
        if (status == GRADBAG_INTERRUPTED) std::raise(SIGINT);
        return status == GRADBAG_OK;
    }

    gradbag_arguments arguments() const { return {arrays_.data(), counts_.data(), &setting_}; }

    gradbag_setting setting_;
    std::ptrdiff_t bags_;
    std::vector<gradbag_array> arrays_;
    std::vector<std::size_t> counts_;
};

// ------------------------------------------------------------------ the gradient
// In the order of aten::_embedding_bag_backward.
struct Backward {
    Tensor grad, ids, offsets, bag_of_each, bag_size, largest;
    std::int64_t rows;
    bool by_frequency;
    std::int64_t mode;
    bool sparse;
    Tensor weights;
    std::int64_t padding;

    explicit Backward(const Value* stack)
        : grad(stack[0]),
          ids(stack[1]),
          offsets(stack[2]),
          bag_of_each(stack[3]),
          bag_size(stack[4]),
          largest(stack[5]),
          rows(integer(stack[6])),
          by_frequency(boolean(stack[7])),
          mode(integer(stack[8])),
          sparse(boolean(stack[9])),
          weights(optional_tensor(stack[10])),
          padding(integer(stack[11])) {}
};

// What a sum hands back is one number for all, spread over a shape.
Tensor contiguous(Tensor tensor) {
    if (tensor.is_contiguous()) return tensor;
    Value stack[2] = {tensor.release(), 0};
    call("aten::clone", stack);
    return Tensor(stack[0]);
}

Tensor sparse_rows(Tensor places, Tensor values, std::int64_t rows, std::int64_t columns) {
    ListHandle shape = nullptr;
    require(shim().torch_new_list_reserve_size(2, &shape));
    require(shim().torch_list_push_back(shape, static_cast<Value>(rows)));
    require(shim().torch_list_push_back(shape, static_cast<Value>(columns)));
    Value stack[8] = {places.release(), values.release()};
    std::memcpy(&stack[2], &shape, sizeof shape);
    call("aten::_sparse_coo_tensor_unsafe", stack);
    stack[1] = 1;
    call("aten::_coalesced_", stack);
    return Tensor(stack[0]);
}

// The gradient by our kernels, or none where they do not serve.
Tensor own_gradient(Backward& x) {
    if (x.by_frequency || x.padding >= 0 || x.mode < 0 ||
        x.mode >= static_cast<std::int64_t>(kModes.size())) {
        return {};
    }
    const Kernels* const kernels = kernels_for(x.grad, x.ids, x.offsets);
    if (kernels == nullptr || x.grad.axes() != 2 || !lie_ready(x.ids, x.offsets, x.weights) ||
        (x.weights && x.weights.dtype() != kernels->dtype)) {
        return {};
    }
    const std::int64_t bags = x.grad.sizes()[0];
    const std::int64_t columns = x.grad.sizes()[1];
    if (bags_of(*kernels, x.ids, x.offsets, x.offsets.sizes()[0] == bags + 1) != bags) return {};
    x.grad = contiguous(std::move(x.grad));
    if (!x.grad.is_contiguous()) return {};
    Call run(*kernels, kModes[static_cast<std::size_t>(x.mode)], x.grad, x.ids, x.offsets, x.weights, bags);
    if (!x.sparse) {
        Tensor output = empty({x.rows, columns}, kernels->dtype, kernels->item_size);
        run.add(output.array(kernels->item_size));
        return run.fill(kernels->dense) ? std::move(output) : Tensor{};
    }
    if (kernels->index_size != sizeof(std::int64_t)) return {};  // sparse tensors know no other places
    run.add({&x.rows, nullptr, 0, sizeof x.rows});
    const OwnedPlan plan = run.count(kernels->compact_plan);
    if (plan == nullptr) return {};
    const std::int64_t unique = plan->plan.sizes.at(0);
    Tensor values = empty({unique, columns}, kernels->dtype, kernels->item_size);
    Tensor places = empty({1, unique}, kernels->index, kernels->index_size);
    run.add(values.array(kernels->item_size));
    const std::ptrdiff_t length = unique;
    run.add({places.data(), &length, 1, kernels->index_size});
    if (!run.fill(kernels->compact, plan.get())) return {};
    return sparse_rows(std::move(places), std::move(values), x.rows, columns);
}

// The bag of each entry, as PyTorch's own gradients want it.
Tensor bag_of_each_entry(const Backward& x) {
    const std::int64_t entries = x.ids.sizes()[0];
    const bool is_short = x.offsets.dtype() == dtype_number("int32");
    const std::size_t size = is_short ? sizeof(std::int32_t) : sizeof(std::int64_t);
    Tensor made = empty({entries}, x.offsets.dtype(), size);
    const auto write = [&]<class O>(O* to, const O* begins, std::int64_t count) {
        std::int64_t bag = 0;
        for (std::int64_t i = 0; i < entries; ++i) {
            while (bag + 1 < count && static_cast<std::int64_t>(begins[bag + 1]) <= i) ++bag;
            to[i] = static_cast<O>(bag);
        }
    };
    const std::int64_t count = x.offsets.sizes()[0];
    if (is_short) {
        write(static_cast<std::int32_t*>(made.data()), static_cast<const std::int32_t*>(x.offsets.data()),
              count);
    } else {
        write(static_cast<std::int64_t*>(made.data()), static_cast<const std::int64_t*>(x.offsets.data()),
              count);
    }
    return made;
}

Value stock_gradient(Backward& x) {
    const std::int64_t entries = x.ids.sizes()[0];
    if (entries != 0 && x.bag_of_each.sizes()[0] == 0) {
        x.offsets = contiguous(std::move(x.offsets));
        x.bag_of_each = bag_of_each_entry(x);
    }
    x.ids = contiguous(std::move(x.ids));
    if (x.sparse) {
        Value stack[10] = {x.grad.release(),
                           x.ids.release(),
                           x.offsets.release(),
                           x.bag_of_each.release(),
                           x.bag_size.release(),
                           static_cast<Value>(x.rows),
                           x.by_frequency,
                           static_cast<Value>(x.mode),
                           optional_value(std::move(x.weights)),
                           static_cast<Value>(x.padding)};
        call("aten::_embedding_bag_sparse_backward", stack);
        return stack[0];
    }
    Value stack[10] = {x.grad.release(),
                       x.ids.release(),
                       x.bag_of_each.release(),
                       x.bag_size.release(),
                       x.largest.release(),
                       static_cast<Value>(x.rows),
                       x.by_frequency,
                       static_cast<Value>(x.mode),
                       optional_value(std::move(x.weights)),
                       static_cast<Value>(x.padding)};
    call("aten::_embedding_bag_dense_backward", stack);
    return stack[0];
}

void backward(Value* stack, std::uint64_t, std::uint64_t) {
    Backward x(stack);
    if (Tensor made = own_gradient(x)) {
        ++backward_calls.answered;
        stack[0] = made.release();
        return;
    }
    ++backward_calls.handed_on;
    stack[0] = stock_gradient(x);
}

// ------------------------------------------------------------------ the look-up
// In the order of aten::_embedding_bag.
struct Forward {
    Tensor table, ids, offsets;
    bool by_frequency;
    std::int64_t mode;
    bool sparse;
    Tensor weights;
    bool with_end;
    std::int64_t padding;

    explicit Forward(const Value* stack)
        : table(stack[0]),
          ids(stack[1]),
          offsets(stack[2]),
          by_frequency(boolean(stack[3])),
          mode(integer(stack[4])),
          sparse(boolean(stack[5])),
          weights(optional_tensor(stack[6])),
          with_end(boolean(stack[7])),
          padding(integer(stack[8])) {}
};

// How many entries each bag has, by which PyTorch's own gradient of a mean divides.
Tensor sizes_of_bags(const Forward& x, const Kernels& kernels, std::int64_t bags) {
    Tensor sizes = empty({bags}, kernels.index, kernels.index_size);
    const auto write = [&]<class O>(O* to, const O* begins) {
        for (std::int64_t bag = 0; bag < bags; ++bag) {
            const auto end = bag + 1 < bags ? begins[bag + 1] : static_cast<O>(x.ids.sizes()[0]);
            to[bag] = static_cast<O>(end - begins[bag]);
        }
    };
    if (kernels.index_size == sizeof(std::int32_t)) {
        write(static_cast<std::int32_t*>(sizes.data()), static_cast<const std::int32_t*>(x.offsets.data()));
    } else {
        write(static_cast<std::int64_t*>(sizes.data()), static_cast<const std::int64_t*>(x.offsets.data()));
    }
    return sizes;
}

// Puts the results on the stack: rows, no bag of each entry (whoever wants that makes it of the offsets), the
// sizes of bags, and those once more where the largest would be. False where our kernels do not serve.
bool own_look_up(const Forward& x, Value* stack) {
    if (x.padding >= 0 || x.mode != kMean || x.weights || x.table.axes() != 2 || !x.table.is_contiguous()) {
        return false;
    }
    const Kernels* const kernels = kernels_for(x.table, x.ids, x.offsets);
    if (kernels == nullptr || !lie_ready(x.ids, x.offsets, x.weights)) return false;
    const std::optional<std::int64_t> bags = bags_of(*kernels, x.ids, x.offsets, x.with_end);
    if (!bags) return false;
    Tensor output = empty({*bags, x.table.sizes()[1]}, kernels->dtype, kernels->item_size);
    Call run(*kernels, kModes[kMean], x.table, x.ids, x.offsets, x.weights, *bags);
    run.add(output.array(kernels->item_size));
    if (!run.fill(kernels->pooled)) return false;
    Tensor none = empty({0}, kernels->index, kernels->index_size);
    Tensor sizes = sizes_of_bags(x, *kernels, *bags);
    Tensor again = sizes_of_bags(x, *kernels, *bags);
    stack[0] = output.release();
    stack[1] = none.release();
    stack[2] = sizes.release();
    stack[3] = again.release();
    return true;
}

void forward(Value* stack, std::uint64_t, std::uint64_t) {
    Forward x(stack);
    if (own_look_up(x, stack)) {
        ++forward_calls.answered;
        return;
    }
    ++forward_calls.handed_on;
    Value handed[9] = {x.table.release(),
                       x.ids.release(),
                       x.offsets.release(),
                       x.by_frequency,
                       static_cast<Value>(x.mode),
                       x.sparse,
                       optional_value(std::move(x.weights)),
                       x.with_end,
                       static_cast<Value>(x.padding)};
    call("aten::_embedding_bag_forward_only", handed);
    std::copy_n(handed, 4, stack);
}

}  // namespace

void replace_bags(const std::vector<BagKernels>& kernels) {
    if (library != nullptr) return;
    all_kernels().clear();
    for (const BagKernels& names : kernels) {
        const auto find = [](const std::string& name) {
            const gradbag_kernel* const found = gradbag_find_kernel(name.c_str());
            if (found == nullptr) throw std::invalid_argument("no such kernel: " + name);
            return found;
        };
        const gradbag_kernel* const pooled = find(names.pooled);
        all_kernels().push_back({dtype_number(names.dtype.c_str()), dtype_number(names.index.c_str()),
                                 pooled->arguments[0].item_size, pooled->arguments[1].item_size, pooled,
                                 find(names.dense), find(names.compact_plan), find(names.compact)});
    }
    require(shim().aoti_torch_library_init_impl("aten", "CPU", __FILE__, __LINE__, &library));
    require(shim().torch_library_impl(library, "_embedding_bag", forward, kBuiltFor));
    require(shim().torch_library_impl(library, "_embedding_bag_backward", backward, kBuiltFor));
}

void restore_bags() {
    if (library != nullptr) require(shim().aoti_torch_delete_library_object(std::exchange(library, nullptr)));
}

std::vector<BagCalls> bag_calls() {
    return {{"_embedding_bag", forward_calls.answered, forward_calls.handed_on},
            {"_embedding_bag_backward", backward_calls.answered, backward_calls.handed_on}};
}

}  // namespace gradbag::torch
