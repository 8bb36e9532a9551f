#define GRADBAG_FILLS_NUMPY_TABLE
#include <nanobind/stl/string.h>
#include <nanobind/stl/vector.h>

#include <cstddef>
#include <memory>
#include <optional>
#include <stdexcept>
#include <string>
#include <vector>

#include "bind/convert.hpp"
#include "bind/fault.hpp"
#include "bind/lock.hpp"
#include "bind/numpy.hpp"
#include "bind/parts.hpp"
#include "bind/settings.hpp"
#include "call/kernel.hpp"

namespace gradbag {

namespace {

// The arrays of a call from Python. Nothing is converted: a converted output would be a copy, and the
// caller's array would stay as it was.
class Arguments {
  public:
    // An array for each argument of the kernel, a list of them for a list, None for what is left out.
    Arguments(const Kernel& kernel, const nb::list& values) {
        if (nb::len(values) != kernel.arguments.size())
            throw std::invalid_argument("too few or too many arrays");
        for (std::size_t place = 0; place < kernel.arguments.size(); ++place) {
            const ArgumentForm& form = kernel.arguments[place];
            const nb::object value = values[place];
            counts_.push_back(1);
            if (form.count == ArgumentForm::Count::optional && value.is_none()) {
                counts_.back() = 0;
            } else if (form.count == ArgumentForm::Count::list) {
                counts_.back() = nb::len(value);
                for (const nb::handle member : value) add(form, member.ptr());
            } else {
                add(form, value.ptr());
            }
        }
        // Shapes are copied, since another thread may change an array's, and only now will none be moved
        // again.
        const std::intptr_t* shape = shapes_.data();
        for (gradbag_array& array : arrays_) {
            array.shape = shape;
            shape += array.axes;
        }
    }

    gradbag_arguments with(const Settings& settings) const {
        return {arrays_.data(), counts_.data(), settings.data()};
    }

  private:
    void add(const ArgumentForm& form, PyObject* value) {
        if (!PyArray_CheckExact(value) || !lies_ready(value))
            throw nb::type_error("a kernel takes plain arrays");
        PyArrayObject* const array = as_array(value);
        const auto axes = static_cast<std::size_t>(PyArray_NDIM(array));
        const auto item_size = static_cast<std::size_t>(PyArray_ITEMSIZE(array));
        if ((form.axes >= 0 && static_cast<std::size_t>(form.axes) != axes) ||
            (form.item_size != 0 && form.item_size != item_size) ||
            (form.is_written && !PyArray_ISWRITEABLE(array))) {
            throw std::invalid_argument("an array that this kernel does not take");
        }
        arrays_.push_back({PyArray_DATA(array), nullptr, axes, item_size});
        shapes_.insert(shapes_.end(), PyArray_DIMS(array), PyArray_DIMS(array) + axes);
    }

    std::vector<gradbag_array> arrays_;
    std::vector<std::size_t> counts_;
    std::vector<std::intptr_t> shapes_;
};

template <class Work>
gradbag_status unlocked(Work work) {
    const Unlocked released;
    return work();
}

// None, or the fault; any other failure is thrown.
nb::object judged(gradbag_status status, const gradbag_fault& fault) {
    if (status == GRADBAG_FAULT) return as_tuple(fault);
    if (status != GRADBAG_OK) rethrow_last_error();
    return nb::none();
}

// What a counting kernel found out, for the kernel that fills.
struct HeldPlan {
    OwnedPlan plan;

    nb::tuple sizes() const { return nb::tuple(nb::cast(plan->plan.sizes)); }
};

const Kernel* named(const nb::str& name) { return gradbag_find_kernel(text(name).c_str()); }

nb::object count(const Kernel* kernel, const nb::list& arrays, const nb::tuple& values) {
    const Settings settings(kernel->settings, values);
    const Arguments held(*kernel, arrays);
    const gradbag_arguments arguments = held.with(settings);
    gradbag_plan* made = nullptr;
    gradbag_fault fault{};
    const gradbag_status status = unlocked([&] { return gradbag_count(kernel, &arguments, &made, &fault); });
    nb::object problem = judged(status, fault);
    return made == nullptr ? problem : nb::cast(HeldPlan{OwnedPlan(made)});
}

nb::object fill(const Kernel* kernel, const HeldPlan* plan, const nb::list& arrays, const nb::tuple& values) {
    const Settings settings(kernel->settings, values);
    const Arguments held(*kernel, arrays);
    const gradbag_arguments arguments = held.with(settings);
    gradbag_fault fault{};
    const gradbag_plan* const made = plan == nullptr ? nullptr : plan->plan.get();
    return judged(unlocked([&] { return gradbag_fill(kernel, made, &arguments, &fault); }), fault);
}

}  // namespace

void bind_kernels(nb::module_& m) {
    using nb::literals::operator""_a;
    if (PyArray_ImportNumPyAPI() < 0) throw nb::python_error();
    nb::class_<HeldPlan>(m, "Plan", "What a counting kernel found out, for the kernel that fills.")
        .def_prop_ro("sizes", &HeldPlan::sizes);
    nb::class_<Kernel>(m, "Kernel", "A native function on arrays, for definite dtypes.")
        .def("count", &count, "arrays"_a, "settings"_a, "A plan, or the tuple of a fault.")
        .def("fill", &fill, "plan"_a.none(), "arrays"_a, "settings"_a, "None, or the tuple of a fault.");
    m.def("find_kernel", &named, "name"_a, nb::rv_policy::reference, "None if there is none of that name.");
    m.def("kernel_names", [] {
        std::vector<std::string> names;
        for (const auto& [name, kernel] : kernels()) names.push_back(name);
        return names;
    });
}

}  // namespace gradbag
