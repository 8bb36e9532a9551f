#include "xla/handler.hpp"

#include <nanobind/stl/optional.h>
#include <nanobind/stl/string.h>
#include <nanobind/stl/string_view.h>
#include <xla/ffi/api/ffi.h>

#include <cstddef>
#include <cstdint>
#include <cstring>
#include <exception>
#include <memory>
#include <stdexcept>
#include <string>
#include <string_view>
#include <utility>
#include <vector>

#include "bind/fault.hpp"
#include "call/kernel.hpp"

namespace ffi = xla::ffi;

namespace gradbag {

namespace {

// What Python says about a call that went wrong: functions that give the words. Never freed, because XLA's
// threads may outlive the interpreter.
struct Words {
    nb::object fault;  // of an op and a fault
    nb::object sizes;  // of an op, the size that a kernel counted and the size that there is room for
};
Words* words = nullptr;

// What a fault is to Python, made only when the interpreter is ours.
nb::object to_python(const gradbag_fault& fault) { return as_tuple(fault); }
nb::object to_python(std::size_t size) { return nb::int_(size); }

template <class... Arguments>
ffi::Error refusal(const nb::object Words::* which, std::string_view op, const Arguments&... arguments) {
    const nb::gil_scoped_acquire locked;
    try {
        return ffi::Error::InvalidArgument(
            nb::cast<std::string>((words->*which)(op, to_python(arguments)...)));
    } catch (nb::python_error& problem) {
        return ffi::Error::Internal(problem.what());
    }
}

const gradbag_kernel* kernel_named(std::string_view name) {
    const gradbag_kernel* const found = gradbag_find_kernel(std::string(name).c_str());
    if (found == nullptr) throw std::invalid_argument("no such kernel: " + std::string(name));
    return found;
}

template <class Value>
Value attribute(const ffi::Dictionary& attributes, std::string_view name) {
    const auto found = attributes.get<Value>(name);
    if (!found.has_value()) throw std::invalid_argument("no attribute " + std::string(name));
    return found.value();
}

// The arrays of a call in the order in which kernels take them, and their sizes, to which they point.
class Arrays {
  public:
    Arrays(const ffi::RemainingArgs& inputs, const ffi::RemainingRets& results, std::size_t first_output,
           std::size_t outputs) {
        std::vector<ffi::AnyBuffer> buffers;
        for (std::size_t place = 0; place < inputs.size(); ++place) {
            buffers.push_back(inputs.get<ffi::AnyBuffer>(place).value());
        }
        for (std::size_t place = 0; place < outputs; ++place) {
            buffers.push_back(*results.get<ffi::AnyBuffer>(first_output + place).value());
        }
        std::size_t axes = 0;
        for (const ffi::AnyBuffer& buffer : buffers) axes += buffer.dimensions().size();
        sizes_.reserve(axes);
        for (const ffi::AnyBuffer& buffer : buffers) {
            const auto shape = buffer.dimensions();
            all.push_back({buffer.untyped_data(), sizes_.data() + sizes_.size(), shape.size(),
                           ffi::ByteWidth(buffer.element_type())});
            sizes_.insert(sizes_.end(), shape.begin(), shape.end());
        }
    }
    Arrays(const Arrays&) = delete;
    Arrays& operator=(const Arrays&) = delete;

    // Makes the first axis of an array shorter, and gives its length before.
    std::size_t cut(std::size_t place, std::size_t length) {
        std::intptr_t& size = sizes_[static_cast<std::size_t>(all[place].shape - sizes_.data())];
        return static_cast<std::size_t>(std::exchange(size, static_cast<std::intptr_t>(length)));
    }

    // Lets a kernel write an input: XLA has the result lie where the input lies, or else it is copied there.
    void update(std::size_t place, ffi::AnyBuffer result) {
        void* const to = result.untyped_data();
        if (to != all[place].data) std::memcpy(to, all[place].data, result.size_bytes());
        all[place].data = to;
    }

    std::vector<gradbag_array> all;

  private:
    std::vector<std::intptr_t> sizes_;
};

// Writes an integer of the array's item size behind its rows, as often as there is room for more of them.
void pad(const gradbag_array& array, std::size_t room, std::int64_t value) {
    const auto rows = static_cast<std::size_t>(array.shape[0]);
    std::size_t columns = 1;
    for (std::size_t axis = 1; axis < array.axes; ++axis)
        columns *= static_cast<std::size_t>(array.shape[axis]);
    auto* to = static_cast<std::byte*>(array.data) + rows * columns * array.item_size;
    const std::size_t count = (room - rows) * columns;
    if (value == 0) {
        if (count > 0) std::memset(to, 0, count * array.item_size);
        return;
    }
    for (std::size_t item = 0; item < count; ++item, to += array.item_size) {
        if (array.item_size == sizeof(std::int32_t)) {
            const auto narrow = static_cast<std::int32_t>(value);
            std::memcpy(to, &narrow, sizeof narrow);
        } else {
            std::memcpy(to, &value, sizeof value);
        }
    }
}

// The settings of a kernel stand among the attributes, by their numbers.
std::vector<gradbag_setting> settings_of(const gradbag_kernel& kernel, const ffi::Dictionary& attributes) {
    std::vector<gradbag_setting> settings;
    for (std::size_t place = 0; place < kernel.settings.size(); ++place) {
        const std::string name = "setting" + std::to_string(place);
        gradbag_setting setting{};
        switch (kernel.settings[place]) {
            case SettingKind::integer:
                setting.integer = attribute<std::int64_t>(attributes, name);
                break;
            case SettingKind::real:
                setting.real = attribute<double>(attributes, name);
                break;
            case SettingKind::text:
                const auto text = attribute<std::string_view>(attributes, name);
                setting.text = text.data();
                setting.text_size = text.size();
                break;
        }
        settings.push_back(setting);
    }
    return settings;
}

ffi::Error failure(gradbag_status status, const gradbag_fault& fault, std::string_view op) {
    const std::string words = std::string(op) + ": " + gradbag_last_error();
    switch (status) {
        case GRADBAG_FAULT:
            return refusal(&Words::fault, op, fault);
        case GRADBAG_NO_MEMORY:
            return ffi::Error(ffi::ErrorCode::kResourceExhausted, words);
        case GRADBAG_INTERRUPTED:
            return ffi::Error(ffi::ErrorCode::kCancelled, words);
        default:
            return ffi::Error::Internal(words);
    }
}

// Calls a kernel on XLA's buffers. Every op comes here: its attributes name the kernels, and tell which sizes
// of the outputs are counted. Results are the inputs that are updated, the outputs, and the count if asked
// for.
ffi::Error called(ffi::RemainingArgs inputs, ffi::RemainingRets results, const ffi::Dictionary& attributes) {
    using Integers = ffi::Span<const std::int64_t>;
    const auto op = attribute<std::string_view>(attributes, "op");
    const auto plan = attribute<std::string_view>(attributes, "plan");
    const auto counted = attribute<Integers>(attributes, "counted");
    const auto updated = attribute<Integers>(attributes, "updated");
    const bool padded = attribute<bool>(attributes, "padded");
    const gradbag_kernel* const fill = kernel_named(attribute<std::string_view>(attributes, "fill"));
    const std::vector<gradbag_setting> settings = settings_of(*fill, attributes);
    const auto given_counts = attribute<Integers>(attributes, "counts");
    std::vector<std::size_t> counts(given_counts.begin(), given_counts.end());

    const std::size_t outputs = counted.size();
    Arrays arrays(inputs, results, updated.size(), outputs);
    for (std::size_t number = 0; number < updated.size(); ++number) {
        arrays.update(static_cast<std::size_t>(updated.begin()[number]),
                      *results.get<ffi::AnyBuffer>(number).value());
    }
    counts.insert(counts.end(), outputs, 1);
    const gradbag_arguments arguments{arrays.all.data(), counts.data(), settings.data()};
    OwnedPlan made;
    std::vector<std::size_t> room(outputs);
    gradbag_fault fault{};
    if (!plan.empty()) {
        gradbag_plan* counts_found = nullptr;
        const gradbag_status status = gradbag_count(kernel_named(plan), &arguments, &counts_found, &fault);
        if (status != GRADBAG_OK) return failure(status, fault, op);
        made.reset(counts_found);
        for (std::size_t place = 0; place < outputs; ++place) {
            if (counted.begin()[place] < 0) continue;
            const auto size = static_cast<std::size_t>(
                made->plan.sizes.at(static_cast<std::size_t>(counted.begin()[place])));
            room[place] = arrays.cut(inputs.size() + place, size);
            if (size > room[place] || (size < room[place] && !padded)) {
                return refusal(&Words::sizes, op, size, room[place]);
            }
        }
    }
    const gradbag_status status = gradbag_fill(fill, made.get(), &arguments, &fault);
    if (status != GRADBAG_OK) return failure(status, fault, op);
    if (padded) {
        const auto padding = attribute<Integers>(attributes, "padding");
        for (std::size_t place = 0; place < outputs; ++place) {
            if (counted.begin()[place] >= 0) {
                pad(arrays.all[inputs.size() + place], room[place], padding.begin()[place]);
            }
        }
        const auto count = static_cast<std::int32_t>(made->plan.sizes.at(0));
        const auto last = *results.get<ffi::AnyBuffer>(updated.size() + outputs).value();
        std::memcpy(last.untyped_data(), &count, sizeof count);
    }
    return ffi::Error::Success();
}

ffi::Error call(ffi::RemainingArgs inputs, ffi::RemainingRets results, ffi::Dictionary attributes) {
    try {
        return called(inputs, results, attributes);
    } catch (const std::exception& problem) {
        return ffi::Error::Internal(problem.what());
    }
}

XLA_FFI_DEFINE_HANDLER(handler, call, ffi::Ffi::Bind().RemainingArgs().RemainingRets().Attrs());

nb::capsule xla_handler(nb::object fault_words, nb::object size_words) {
    if (words == nullptr) words = new Words{};
    *words = {std::move(fault_words), std::move(size_words)};
    return nb::capsule(reinterpret_cast<void*>(handler), "xla._CUSTOM_CALL_TARGET");
}

}  // namespace

void bind_xla(nb::module_& m) {
    m.def("xla_handler", xla_handler,
          "The function through which XLA calls every kernel, given what makes the words of a refusal.");
}

}  // namespace gradbag
