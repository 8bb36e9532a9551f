#include "xla/handler.hpp"

#include <nanobind/stl/optional.h>
#include <nanobind/stl/string.h>
#include <nanobind/stl/string_view.h>
#include <xla/ffi/api/ffi.h>

#include <cstddef>
#include <cstdint>
#include <cstring>
#include <exception>
#include <new>
#include <optional>
#include <stdexcept>
#include <string>
#include <string_view>
#include <utility>
#include <vector>

#include "bind/direct.hpp"
#include "bind/fault.hpp"

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

template <class... Arguments>
ffi::Error refusal(const nb::object Words::* which, std::string_view op, const Arguments&... arguments) {
    const nb::gil_scoped_acquire locked;
    try {
        return ffi::Error::InvalidArgument(nb::cast<std::string>((words->*which)(op, arguments...)));
    } catch (nb::python_error& problem) {
        return ffi::Error::Internal(problem.what());
    }
}

const DirectKernel& kernel_named(std::string_view name) {
    const auto found = direct_kernels().find(std::string(name));
    if (found == direct_kernels().end()) throw std::invalid_argument("no such kernel: " + std::string(name));
    return found->second;
}

// The arrays of a call in the order in which kernels take them, and their sizes, to which they point.
class Arrays {
  public:
    Arrays(const ffi::RemainingArgs& inputs, const ffi::RemainingRets& results, std::size_t outputs) {
        std::vector<ffi::AnyBuffer> buffers;
        for (std::size_t place = 0; place < inputs.size(); ++place) {
            buffers.push_back(inputs.get<ffi::AnyBuffer>(place).value());
        }
        for (std::size_t place = 0; place < outputs; ++place) {
            buffers.push_back(*results.get<ffi::AnyBuffer>(place).value());
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
        std::intptr_t& size = sizes_[static_cast<std::size_t>(all[place].sizes - sizes_.data())];
        return static_cast<std::size_t>(std::exchange(size, static_cast<std::intptr_t>(length)));
    }

    std::vector<PlainArray> all;

  private:
    std::vector<std::intptr_t> sizes_;
};

// Writes an integer of the array's item size behind its rows, as often as there is room for more of them.
void pad(const PlainArray& array, std::size_t room, std::int64_t value) {
    std::size_t columns = 1;
    for (std::size_t axis = 1; axis < array.axes; ++axis) columns *= array.shape(axis);
    auto* to = static_cast<std::byte*>(array.address) + array.shape(0) * columns * array.item_size;
    const std::size_t count = (room - array.shape(0)) * columns;
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

// Calls a kernel on XLA's buffers. Every op comes here: its attributes name the kernels.
ffi::Error call(ffi::RemainingArgs inputs, ffi::RemainingRets results, std::string_view op,
                std::string_view plan, std::string_view fill, ffi::Span<const std::int64_t> counted,
                ffi::Span<const std::int64_t> padding, bool padded) {
    try {
        const std::size_t outputs = counted.size();
        Arrays arrays(inputs, results, outputs);
        std::optional<Plan> made;
        std::vector<std::size_t> room(outputs);
        if (!plan.empty()) {
            made = kernel_named(plan).run(nullptr, arrays.all.data());
            for (std::size_t place = 0; place < outputs; ++place) {
                if (counted.begin()[place] < 0) continue;
                const auto size = static_cast<std::size_t>(
                    made->sizes.at(static_cast<std::size_t>(counted.begin()[place])));
                room[place] = arrays.cut(inputs.size() + place, size);
                if (size > room[place] || (size < room[place] && !padded)) {
                    return refusal(&Words::sizes, op, size, room[place]);
                }
            }
        }
        kernel_named(fill).run(made ? &*made : nullptr, arrays.all.data());
        if (padded) {
            for (std::size_t place = 0; place < outputs; ++place) {
                if (counted.begin()[place] >= 0) {
                    pad(arrays.all[inputs.size() + place], room[place], padding.begin()[place]);
                }
            }
            const auto count = static_cast<std::int32_t>(made->sizes.at(0));
            std::memcpy((*results.get<ffi::AnyBuffer>(outputs).value()).untyped_data(), &count, sizeof count);
        }
        return ffi::Error::Success();
    } catch (const Fault& fault) {
        return refusal(&Words::fault, op, fault);
    } catch (const std::bad_alloc&) {
        return ffi::Error(ffi::ErrorCode::kResourceExhausted, std::string(op) + ": not enough memory");
    } catch (const nb::python_error&) {
        return ffi::Error(ffi::ErrorCode::kCancelled, std::string(op) + ": interrupted");
    } catch (const std::exception& problem) {
        return ffi::Error::Internal(std::string(op) + ": " + problem.what());
    }
}

XLA_FFI_DEFINE_HANDLER(handler, call,
                       ffi::Ffi::Bind()
                           .RemainingArgs()
                           .RemainingRets()
                           .Attr<std::string_view>("op")
                           .Attr<std::string_view>("plan")
                           .Attr<std::string_view>("fill")
                           .Attr<ffi::Span<const std::int64_t>>("counted")
                           .Attr<ffi::Span<const std::int64_t>>("padding")
                           .Attr<bool>("padded"));

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
