#include <nanobind/stl/map.h>
#include <nanobind/stl/pair.h>
#include <nanobind/stl/string.h>
#include <nanobind/stl/vector.h>

#include <array>
#include <deque>
#include <map>
#include <stdexcept>
#include <string>
#include <utility>

#include "bind/parts.hpp"
#include "tensorflow/taken_op.hpp"

namespace gradbag {

namespace {

using namespace tensorflow;

// Odd, so that nobody else has it: two kernels of one priority would make every call fail.
constexpr std::int32_t kPriority = 7361;
constexpr std::size_t kMostTaken = 2048;

// All that were added, in places that never move; never destroyed, since TensorFlow keeps pointers to them.
std::deque<TakenOp>& taken() {
    static std::deque<TakenOp>& all = *new std::deque<TakenOp>;
    return all;
}
std::size_t registered = 0;  // how many of them TensorFlow knows

void compute(void* self, Context* context) { static_cast<TakenOp*>(self)->compute(context); }
void destroy(void*) {}

// TensorFlow does not say for which registration it wants a kernel, so each has a function of its own.
template <std::size_t number>
void* create(Construction*) {
    return &taken()[number];
}

template <std::size_t... numbers>
constexpr std::array<Create, sizeof...(numbers)> creators_of(std::index_sequence<numbers...>) {
    return {create<numbers>...};
}
constexpr auto creators = creators_of(std::make_index_sequence<kMostTaken>{});

void register_kernel(std::size_t number) {
    const OwnStatus status;
    const TakenOp& op = taken()[number];
    KernelBuilder* const builder =
        api.NewKernelBuilder(op.op().c_str(), "CPU", creators[number], compute, destroy);
    for (const auto& [name, type] : op.types()) {
        api.KernelBuilder_TypeConstraint(builder, name.c_str(), type, status);
    }
    api.KernelBuilder_Priority(builder, kPriority);
    if (status.ok()) api.RegisterKernelBuilder("Gradbag", builder, status);
    if (!status.ok()) throw std::runtime_error(op.op() + ": " + status.words());
}

// ------------------------------------------------------------------ for Python
std::string find() {
    const char* const missing = api.find();
    return missing == nullptr ? "" : missing;
}

nb::bytes kernels_of(const std::string& op) {
    const OwnStatus status;
    Buffer* const found = api.GetRegisteredKernelsForOp(op.c_str(), status);
    if (!status.ok()) throw std::runtime_error(op + ": " + status.words());
    const nb::bytes bytes(found->data, found->length);
    api.DeleteBuffer(found);
    return bytes;
}

void add(std::string op, Types types, std::vector<Value> example, std::vector<std::size_t> item_sizes,
         std::vector<OutputType> outputs, const Kernels& kernels, const std::string& rules,
         std::vector<Form> forms) {
    if (taken().size() == kMostTaken) throw std::length_error("too many kernels for TensorFlow");
    taken().emplace_back(std::move(op), std::move(types), std::move(example), std::move(item_sizes),
                         std::move(outputs), kernels, rules, std::move(forms));
}

// All originals first: a session that runs after one of ours is registered may get it.
void register_added(const std::string& config) {
    for (std::size_t number = registered; number < taken().size(); ++number) {
        taken()[number].original().keep(config);
    }
    for (; registered < taken().size(); ++registered) register_kernel(registered);
}

std::map<std::string, std::int64_t> calls() {
    std::map<std::string, std::int64_t> counted;
    for (std::size_t number = 0; number < registered; ++number) {
        counted[taken()[number].op()] += taken()[number].calls();
    }
    return counted;
}

// Runs the example of every op once more, and names those that TensorFlow has not asked us for.
std::vector<std::string> not_asked(const std::string& config) {
    std::vector<std::string> found;
    std::string last;
    for (std::size_t number = 0; number < registered; ++number) {
        TakenOp& op = taken()[number];
        if (op.op() == last) continue;
        last = op.op();
        const std::int64_t before = op.calls();
        op.original().run_anew(config);
        if (op.calls() == before) found.push_back(op.op());
    }
    return found;
}

}  // namespace

void bind_tensorflow(nb::module_& module) {
    using nb::literals::operator""_a;
    using Places = std::vector<std::size_t>;
    nb::module_ m = module.def_submodule("tensorflow", "Kernels behind TensorFlow's own ops.");
    nb::class_<Value>(m, "Value")
        .def(
            "__init__",
            [](Value* self, DataType type, std::vector<std::int64_t> shape, const nb::bytes& bytes) {
                new (self) Value{type, std::move(shape), std::string(bytes.c_str(), bytes.size())};
            },
            "type"_a, "shape"_a, "bytes"_a);
    nb::class_<Slots>(m, "Slots")
        .def(nb::init<std::vector<std::pair<std::size_t, std::size_t>>,
                      std::vector<std::pair<std::size_t, std::intptr_t>>, Places, std::vector<std::intptr_t>,
                      Places, std::size_t>());
    nb::class_<Kernels>(m, "Kernels").def(nb::init<Places, Places, std::string, std::string, nb::object>());
    nb::class_<OutputType>(m, "OutputType").def(nb::init<DataType, std::size_t>(), "type"_a, "item_size"_a);
    nb::class_<Form>(m, "Form").def(nb::init<Places, std::vector<int>, Slots, std::vector<Places>, Places>(),
                                    "axes"_a, "held"_a, "slots"_a, "outputs"_a, "narrow"_a);
    m.attr("PRIORITY") = kPriority;
    m.def("find", find,
          "Look for TensorFlow's C API in this process; the name of a function that is missing.");
    m.def("kernels_of", kernels_of, "The kernels that TensorFlow has for an op, as a message KernelList.");
    m.def("add", add, nb::kw_only(), "op"_a, "types"_a, "example"_a, "item_sizes"_a, "outputs"_a, "kernels"_a,
          "rules"_a, "forms"_a);
    m.def("register_added",
          [](const nb::bytes& config) { register_added(std::string(config.c_str(), config.size())); });
    m.def("not_asked",
          [](const nb::bytes& config) { return not_asked(std::string(config.c_str(), config.size())); });
    m.def("calls", calls, "How many calls of each op our kernels have answered.");
    m.def("change_stock", [](int by) { TakenOp::stock += by; });
}

}  // namespace gradbag
