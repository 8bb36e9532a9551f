#include <nanobind/stl/map.h>
#include <nanobind/stl/pair.h>
#include <nanobind/stl/string.h>
#include <nanobind/stl/variant.h>
#include <nanobind/stl/vector.h>

#include <algorithm>
#include <array>
#include <deque>
#include <map>
#include <memory>
#include <stdexcept>
#include <string>
#include <utility>
#include <variant>

#include "bind/parts.hpp"
#include "tensorflow/own_op.hpp"
#include "tensorflow/taken_op.hpp"

namespace gradbag {

namespace {

using namespace tensorflow;

// Odd, so that nobody else has it: two kernels of one priority would make every call fail.
constexpr std::int32_t kPriority = 7361;
constexpr std::size_t kMostRegistrations = 512;

// All that were added, in places that never move; never destroyed, since TensorFlow keeps pointers to them.
std::deque<TakenOp>& taken() {
    static std::deque<TakenOp>& all = *new std::deque<TakenOp>;
    return all;
}

// What TensorFlow is told of: an op for some types. Types that are not named here are looked at when a kernel
// is made, since TensorFlow compares every registration of an op in every eager call.
struct Registration {
    std::string op;
    Types types;
    std::vector<TakenOp*> kernels = {};
};
std::vector<Registration>& registrations() {
    static std::vector<Registration>& all = *new std::vector<Registration>;
    return all;
}
std::size_t registered = 0;  // how many of them TensorFlow knows
std::size_t kept = 0;        // of how many kernels the originals are kept

void compute(void* self, Context* context) { static_cast<TakenOp*>(self)->compute(context); }
void destroy(void*) {}

// Reads attributes of the node that a kernel is wanted for.
class Asked {
  public:
    explicit Asked(Construction* construction) : construction_(construction) {}

    bool is(const Signature& signature) const {
        return std::ranges::all_of(signature.types,
                                   [&](const auto& one) { return has(one.first, one.second); }) &&
               std::ranges::all_of(signature.choices, [&](const auto& one) {
                   return std::visit([&](const auto& value) { return has(one.first, value); }, one.second);
               });
    }

    void refuse(const std::string& words) const {
        api.SetStatus(status_, kUnimplemented, words.c_str());
        api.OpKernelConstruction_Failure(construction_, status_);
    }

  private:
    bool has(const std::string& name, DataType want) const {
        DataType type = 0;
        api.OpKernelConstruction_GetAttrType(construction_, name.c_str(), &type, status_);
        return status_.ok() && type == want;
    }
    bool has(const std::string& name, bool want) const {
        unsigned char value = 0;
        api.OpKernelConstruction_GetAttrBool(construction_, name.c_str(), &value, status_);
        return status_.ok() && (value != 0) == want;
    }
    bool has(const std::string& name, std::int64_t want) const {
        std::int64_t value = 0;
        api.OpKernelConstruction_GetAttrInt64(construction_, name.c_str(), &value, status_);
        return status_.ok() && value == want;
    }
    bool has(const std::string& name, const std::string& want) const {
        std::int32_t items = 0;
        std::int32_t size = 0;
        api.OpKernelConstruction_GetAttrSize(construction_, name.c_str(), &items, &size, status_);
        if (!status_.ok() || static_cast<std::size_t>(size) != want.size()) return false;
        std::string value(want.size(), ' ');
        api.OpKernelConstruction_GetAttrString(construction_, name.c_str(), value.data(), value.size(),
                                               status_);
        return status_.ok() && value == want;
    }

    Construction* construction_;
    OwnStatus status_;
};

// TensorFlow does not say for which registration it wants a kernel, so each has a function of its own.
template <std::size_t number>
void* create(Construction* construction) {
    const Asked asked(construction);
    const Registration& registration = registrations()[number];
    for (TakenOp* const op : registration.kernels) {
        if (asked.is(op->signature())) return op;
    }
    asked.refuse("gradbag has no kernel of " + registration.op + " for these types");
    return nullptr;
}

template <std::size_t... numbers>
constexpr std::array<Create, sizeof...(numbers)> creators_of(std::index_sequence<numbers...>) {
    return {create<numbers>...};
}
constexpr auto creators = creators_of(std::make_index_sequence<kMostRegistrations>{});

void register_kernel(std::size_t number) {
    const OwnStatus status;
    const Registration& registration = registrations()[number];
    KernelBuilder* const builder =
        api.NewKernelBuilder(registration.op.c_str(), "CPU", creators[number], compute, destroy);
    for (const auto& [name, type] : registration.types) {
        api.KernelBuilder_TypeConstraint(builder, name.c_str(), type, status);
    }
    api.KernelBuilder_Priority(builder, kPriority);
    if (status.ok()) api.RegisterKernelBuilder("Gradbag", builder, status);
    if (!status.ok()) throw std::runtime_error(registration.op + ": " + status.words());
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

// A fallback of None: TensorFlow's own kernel, which is kept by running it with an example. Otherwise the op
// is ours, and a function of Python answers what the kernel does not.
void add(std::string op, Types types, Choices choices, const std::vector<std::string>& free,
         std::vector<Value> example, std::vector<std::size_t> item_sizes, std::vector<OutputType> outputs,
         const Kernels& kernels, const std::string& rules, std::vector<Form> forms, nb::object fallback) {
    Types named = types;
    std::erase_if(named, [&](const auto& one) { return std::ranges::find(free, one.first) != free.end(); });
    const auto is_it = [&](const Registration& one) { return one.op == op && one.types == named; };
    auto found = std::ranges::find_if(registrations(), is_it);
    if (found == registrations().end()) {
        if (registrations().size() == kMostRegistrations) throw std::length_error("too many kernels");
        found = registrations().insert(found, {op, std::move(named)});
    }
    std::unique_ptr<Fallback> other;
    if (fallback.is_none()) {
        other = std::make_unique<Original>(op, types, std::move(example), outputs.size());
    } else {
        other = std::make_unique<PythonWay>(std::move(fallback), outputs);
    }
    found->kernels.push_back(&taken().emplace_back(
        Signature{std::move(op), std::move(types), std::move(choices)}, std::move(item_sizes),
        std::move(outputs), kernels, rules, std::move(forms), std::move(other)));
}

// All originals first: a session that runs after one of ours is registered may get it.
void register_added(const std::string& config) {
    for (; kept < taken().size(); ++kept) {
        if (const Original* const original = taken()[kept].original()) original->keep(config);
    }
    for (; registered < registrations().size(); ++registered) register_kernel(registered);
}

std::map<std::string, std::int64_t> calls() {
    std::map<std::string, std::int64_t> counted;
    for (std::size_t number = 0; number < kept; ++number) {
        counted[taken()[number].signature().op] += taken()[number].calls();
    }
    return counted;
}

// Runs the example of every op once more, and names those that TensorFlow has not asked us for.
std::vector<std::string> not_asked(const std::string& config) {
    std::vector<std::string> found;
    std::string last;
    for (std::size_t number = 0; number < kept; ++number) {
        TakenOp& op = taken()[number];
        const std::string& name = op.signature().op;
        if (op.original() == nullptr || name == last) continue;
        last = name;
        const std::int64_t before = op.calls();
        op.original()->run_anew(config);
        if (op.calls() == before) found.push_back(name);
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
    nb::class_<Piece>(m, "Piece")
        .def(nb::init<int, std::int64_t, std::int64_t>(), "input"_a, "begin"_a, "end"_a);
    nb::class_<InputRank>(m, "InputRank").def(nb::init<std::int64_t, bool>(), "axes"_a, "or_more"_a);
    m.def("define", define, nb::kw_only(), "op"_a, "attrs"_a, "inputs"_a, "outputs"_a, "ranks"_a, "shapes"_a,
          "Tell TensorFlow of an op of ours.");
    m.def("add", add, nb::kw_only(), "op"_a, "types"_a, "choices"_a, "free"_a, "example"_a, "item_sizes"_a,
          "outputs"_a, "kernels"_a, "rules"_a, "forms"_a, "fallback"_a.none());
    m.def("register_added",
          [](const nb::bytes& config) { register_added(std::string(config.c_str(), config.size())); });
    m.def("not_asked",
          [](const nb::bytes& config) { return not_asked(std::string(config.c_str(), config.size())); });
    m.def("calls", calls, "How many calls of each op our kernels have answered.");
    m.def("change_stock", [](int by) { TakenOp::stock += by; });
}

}  // namespace gradbag
