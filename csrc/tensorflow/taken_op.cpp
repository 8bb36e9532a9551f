#include "tensorflow/taken_op.hpp"

#include <algorithm>
#include <cstdlib>
#include <cstring>
#include <limits>
#include <memory>
#include <optional>
#include <stdexcept>
#include <utility>

#include "call/kernel.hpp"
#include "core/block_cache.hpp"
#include "core/uninterrupted.hpp"

namespace gradbag::tensorflow {

namespace {

// Outputs from this size on lie in blocks of ours, whose pages are there already.
constexpr std::size_t kBlockBytes = std::size_t{1} << 20;

const gradbag_kernel* named(const std::string& name) {
    if (name.empty()) return nullptr;
    const gradbag_kernel* const found = gradbag_find_kernel(name.c_str());
    if (found == nullptr) throw std::invalid_argument("no such kernel: " + name);
    return found;
}

// A tensor of ours, until TensorFlow has it.
struct FreeTensor {
    void operator()(Tensor* tensor) const { api.DeleteTensor(tensor); }
};
using OwnTensor = std::unique_ptr<Tensor, FreeTensor>;

void give_block(void*, std::size_t, void* held) {
    auto* const block = static_cast<Block*>(held);
    BlockCache::shared().give(*block);
    delete block;
}

void give_memory(void*, std::size_t, void* held) { std::free(held); }

OwnTensor allocated(DataType type, const std::int64_t* shape, std::size_t axes, std::size_t bytes) {
    const int count = static_cast<int>(axes);
    if (bytes < kBlockBytes) {
        // TensorFlow would copy what is not aligned. Plain memory with room for that is there sooner than
        // aligned memory, for which the C library keeps no list of what was used last.
        std::size_t room = bytes + kLineBytes;
        void* const held = std::malloc(room);
        if (held == nullptr) return nullptr;
        void* data = held;
        std::align(kLineBytes, bytes, data, room);
        return OwnTensor(api.NewTensor(type, shape, count, data, bytes, give_memory, held));
    }
    auto block = std::make_unique<Block>(BlockCache::shared().take(bytes));
    void* const data = block->data;
    return OwnTensor(api.NewTensor(type, shape, count, data, bytes, give_block, block.release()));
}

}  // namespace

std::atomic<int> TakenOp::stock = 0;

// A call on its way: as large as any can be, so that it needs no memory of its own.
struct TakenOp::Call {
    const Form* form = nullptr;
    std::array<std::intptr_t, kMostSizes> sizes;
    std::size_t known = 0;                          // of the sizes
    std::array<std::int64_t, kMostSizes> contents;  // copies: what was checked is what a kernel sees
    std::array<gradbag_array, kMostInputs> inputs;
    std::array<gradbag_array, kMostInputs + kMostOutputs> passed;
    std::array<OwnTensor, kMostOutputs> outputs;
    std::optional<Plan> plan;
};

TakenOp::TakenOp(Signature signature, std::vector<std::size_t> item_sizes, std::vector<OutputType> outputs,
                 const Kernels& kernels, const std::string& rules, std::vector<Form> forms,
                 std::unique_ptr<Fallback> fallback)
    : signature_(std::move(signature)),
      item_sizes_(std::move(item_sizes)),
      outputs_(std::move(outputs)),
      passes_(kernels.passes),
      counts_(kernels.counts),
      plan_(named(kernels.plan)),
      rules_(named(rules)),
      fill_(named(kernels.fill)),
      settings_(fill_->settings, kernels.settings),
      forms_(std::move(forms)),
      fallback_(std::move(fallback)),
      original_(dynamic_cast<Original*>(fallback_.get())) {
    if (item_sizes_.size() > kMostInputs || outputs_.size() > kMostOutputs) {
        throw std::invalid_argument(signature_.op + " has too many inputs or outputs");
    }
    if (fill_->takes_plan != (plan_ != nullptr)) throw std::invalid_argument(signature_.op + " and its plan");
    if (std::ranges::all_of(counts_, [](std::size_t count) { return count == 1; })) {
        counts_.clear();
    } else {
        counts_.resize(counts_.size() + outputs_.size(), 1);
    }
    // Calls that would not fit into a Call are TensorFlow's.
    std::erase_if(forms_, [](const Form& form) {
        std::size_t axes = form.slots.count;
        for (const auto& slots : form.outputs) axes += slots.size();
        return axes > kMostSizes;
    });
}

void TakenOp::compute(Context* context) {
    std::array<Tensor*, kMostInputs> held{};
    const std::size_t count = item_sizes_.size();
    const OwnStatus status;
    for (std::size_t place = 0; place < count && status.ok(); ++place) {
        api.GetInput(context, static_cast<int>(place), &held[place], status);
    }
    const std::span<Tensor* const> inputs(held.data(), count);
    if (!status.ok()) {
        api.OpKernelContext_Failure(context, status);
    } else if ((stock == 0 || original_ == nullptr) && answer(context, inputs, status)) {
        calls_.fetch_add(1, std::memory_order_relaxed);
    } else {
        fallback_->answer(context, inputs);
    }
    for (Tensor* const tensor : inputs) {
        if (tensor != nullptr) api.DeleteTensor(tensor);
    }
}

// Whatever is not in order is left to who has the words for it. Kernels are run directly: what the C
// interface makes of a plan and of an exception for others would only cost a small call time.
bool TakenOp::answer(Context* context, std::span<Tensor* const> inputs, const OwnStatus& status) const {
    Call call;
    try {
        if (!read(inputs, call)) return false;
        const Uninterrupted guard;  // Python looks for signals when TensorFlow has come back to it
        if (!count(call) || !allocate(call)) return false;
        const gradbag_arguments arguments{call.passed.data(), counts(), settings_.data()};
        fill_->run(call.plan ? &*call.plan : nullptr, arguments);
    } catch (...) {
        return false;
    }
    for (std::size_t place = 0; place < outputs_.size() && status.ok(); ++place) {
        api.SetOutput(context, static_cast<int>(place), call.outputs[place].get(), status);
    }
    if (!status.ok()) api.OpKernelContext_Failure(context, status);
    return true;
}

bool TakenOp::read(std::span<Tensor* const> inputs, Call& call) const {
    std::array<std::int64_t, kMostInputs> elements;
    for (std::size_t place = 0; place < inputs.size(); ++place) {
        const auto axes = static_cast<std::size_t>(api.NumDims(inputs[place]));
        if (axes > kMostSizes - call.known) return false;
        call.inputs[place] = {api.TensorData(inputs[place]), call.sizes.data() + call.known, axes,
                              item_sizes_[place]};
        elements[place] = 1;
        for (std::size_t axis = 0; axis < axes; ++axis) {
            const std::int64_t size = api.Dim(inputs[place], static_cast<int>(axis));
            elements[place] *= size;
            call.sizes[call.known++] = static_cast<std::intptr_t>(size);
        }
    }
    for (const Form& form : forms_) {
        bool is_it = true;
        for (std::size_t place = 0; place < inputs.size() && is_it; ++place) {
            is_it = form.axes[place] == call.inputs[place].axes &&
                    (form.held[place] < 0 || form.held[place] == elements[place]);
        }
        if (is_it) {
            call.form = &form;
            break;
        }
    }
    if (call.form == nullptr) return false;
    std::int64_t* copy = call.contents.data();
    for (std::size_t place = 0; place < inputs.size(); ++place) {
        if (call.form->held[place] < 0) continue;
        const auto count = static_cast<std::size_t>(call.form->held[place]);
        const std::size_t item = item_sizes_[place];
        if (count > 0) std::memcpy(copy, call.inputs[place].data, count * item);
        call.inputs[place].data = copy;
        for (std::size_t number = 0; number < count; ++number) {
            std::int32_t narrow = 0;
            std::int64_t wide = 0;
            const auto* const from = reinterpret_cast<const std::byte*>(copy) + number * item;
            std::memcpy(item == sizeof narrow ? static_cast<void*>(&narrow) : &wide, from, item);
            call.sizes[call.known++] = static_cast<std::intptr_t>(item == sizeof narrow ? narrow : wide);
        }
        copy += count;
    }
    const Form& form = *call.form;
    if (!form.slots.fit(call.sizes.data())) return false;
    for (const std::size_t slot : form.narrow) {
        if (call.sizes[slot] > std::numeric_limits<std::int32_t>::max()) return false;
    }
    for (const std::intptr_t constant : form.slots.constants) call.sizes[call.known++] = constant;
    for (std::size_t place = 0; place < passes_.size(); ++place) {
        call.passed[place] = call.inputs[passes_[place]];
    }
    return true;
}

// What only the data tells.
bool TakenOp::count(Call& call) const {
    const gradbag_arguments arguments{call.passed.data(), counts(), settings_.data()};
    for (const gradbag_kernel* const kernel : {rules_, plan_}) {
        if (kernel == nullptr) continue;
        call.plan = kernel->run(nullptr, arguments);
        for (const std::int64_t size : call.plan.value().sizes) {
            call.sizes[call.known++] = static_cast<std::intptr_t>(size);
        }
    }
    if (plan_ == nullptr) call.plan.reset();
    return call.known == call.form->slots.count;
}

bool TakenOp::allocate(Call& call) const {
    std::size_t next = call.known;
    for (std::size_t place = 0; place < outputs_.size(); ++place) {
        const auto& slots = call.form->outputs[place];
        const std::size_t item = outputs_[place].item_size;
        std::intptr_t* const sizes = call.sizes.data() + next;
        std::array<std::int64_t, kMostSizes> shape;
        std::size_t bytes = item;
        for (std::size_t axis = 0; axis < slots.size(); ++axis) {
            const std::intptr_t size = call.sizes[slots[axis]];
            sizes[axis] = size;
            shape[axis] = size;
            const auto count = static_cast<std::size_t>(size);
            if (count != 0 && bytes > std::numeric_limits<std::size_t>::max() / 2 / count) return false;
            bytes *= count;
        }
        call.outputs[place] = allocated(outputs_[place].type, shape.data(), slots.size(), bytes);
        if (call.outputs[place] == nullptr) return false;
        call.passed[passes_.size() + place] = {api.TensorData(call.outputs[place].get()), sizes, slots.size(),
                                               item};
        next += slots.size();
    }
    return true;
}

}  // namespace gradbag::tensorflow
