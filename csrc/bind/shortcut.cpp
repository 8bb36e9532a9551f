#include "bind/shortcut.hpp"

#include <algorithm>
#include <cstddef>
#include <cstring>
#include <exception>
#include <memory>
#include <stdexcept>

#include "bind/convert.hpp"
#include "bind/lock.hpp"
#include "bind/numpy.hpp"
#include "bind/parts.hpp"

namespace gradbag {

namespace {

// Results and scratch of more bytes than this need care that only the Python way takes.
std::size_t most_bytes = 0;
// A call that touches no more is over soon, even if every entry picks the widest row: giving the interpreter
// to another thread, and waiting until that gives it back, would take longer.
constexpr std::size_t kLockedBytes = std::size_t{1} << 14;

// The Python way meets a lack of memory again, and has words for it. Any other error goes on: it may come
// from a handler of a signal, and not come again.
void forget_memory_error() {
    if (PyErr_ExceptionMatches(PyExc_MemoryError) == 0) throw nb::python_error();
    PyErr_Clear();
}

// Adds the bytes of an array to a total, if that is then at most `most`. NumPy limits the axes beside a zero
// too, so they count as if there were none.
bool add_bytes(const gradbag_array& array, std::size_t most, std::size_t& total) {
    std::size_t bytes = array.item_size;
    for (std::size_t axis = 0; axis < array.axes; ++axis) {
        const std::size_t size = std::max<std::size_t>(static_cast<std::size_t>(array.shape[axis]), 1);
        if (bytes > most / size) return false;
        bytes *= size;
    }
    if (total > most || bytes > most - total) return false;  // mutant: most
    total += bytes;                                          // mutant: total
    return true;
}

PyObject* item(PyObject* values, std::size_t place) {
    return PyTuple_GetItem(values, static_cast<Py_ssize_t>(place));
}

// Sizes are held in int32 or int64.
template <class Int>
bool write_as(long long value, std::byte* to) {
    const auto written = static_cast<Int>(value);
    std::memcpy(to, &written, sizeof written);
    return written == value;
}

template <class Int>
std::int64_t read_as(const std::byte* from, std::size_t number) {
    Int read;
    std::memcpy(&read, from + number * sizeof read, sizeof read);
    return read;
}

// Gives a number of Python's or a kernel's to `sizes`, if it can be one.
bool push_size(std::int64_t size, std::vector<std::intptr_t>& sizes) {
    if (!std::in_range<std::intptr_t>(size)) return false;
    sizes.push_back(static_cast<std::intptr_t>(size));
    return true;
}

// Whether a kernel did its work. What it found wrong, or lacked, the Python way meets again and has words
// for; an interruption does not come again.
template <class Work>
bool run_kernel(bool locked, Work work) {
    gradbag_status status{};
    if (locked) {
        status = work();
    } else {
        const Unlocked unlocked;
        status = work();
    }
    if (status == GRADBAG_INTERRUPTED) rethrow_last_error();
    return status == GRADBAG_OK;
}

const gradbag_kernel* kernel_named(const std::string& name, std::size_t arguments, bool takes_plan) {
    const gradbag_kernel* const found = gradbag_find_kernel(name.c_str());
    if (found == nullptr || found->arguments.size() != arguments || found->takes_plan != takes_plan) {
        throw std::invalid_argument("no kernel takes such arguments: " + name);
    }
    return found;
}

}  // namespace

// A call on its way.
struct Shortcut::Call {
    std::vector<std::intptr_t> sizes;
    std::vector<std::byte> contents;  // copies, so that no other thread can change a size that was checked
    std::vector<gradbag_array> inputs;
    std::vector<gradbag_array> passed;
    std::size_t inputs_passed = 0;
    std::vector<std::intptr_t> output_sizes;
    std::vector<nb::object> outputs;
    OwnedPlan plan;
    gradbag_fault fault;
    std::size_t touched = 0;  // bytes
    bool locked = true;       // so few that the interpreter is kept
};

Shortcut::Shortcut(std::vector<InputForm> inputs, std::vector<OutputForm> outputs, Slots slots,
                   const Kernels& kernels, Rules rules)
    : inputs_(std::move(inputs)),
      outputs_(std::move(outputs)),
      slots_(std::move(slots)),
      passes_(kernels.passes),
      counts_(kernels.counts),
      plan_(kernels.plan.empty() ? nullptr : kernel_named(kernels.plan, counts_.size(), false)),
      fill_(kernel_named(kernels.fill, counts_.size() + outputs_.size(), plan_ != nullptr)),
      settings_(fill_->settings, kernels.settings),
      rules_(std::move(rules)),
      new_tuple_(nb::handle(reinterpret_cast<PyObject*>(&PyTuple_Type)).attr("__new__")) {
    counts_.insert(counts_.end(), outputs_.size(), 1);
    for (const InputForm& input : inputs_) contents_ += input.held.value_or(0);
}

bool Shortcut::takes(PyObject* values) const {
    if (static_cast<std::size_t>(PyTuple_Size(values)) != inputs_.size()) return false;
    for (std::size_t place = 0; place < inputs_.size(); ++place) {
        const InputForm& input = inputs_[place];
        PyObject* const value = item(values, place);
        if (input.dtype.is_none()) {
            if (value != Py_None) return false;
        } else if (PyArray_CheckExact(value)) {  // mutant: exact
            PyArrayObject* const array = as_array(value);
            if (reinterpret_cast<PyObject*>(PyArray_DESCR(array)) != input.dtype.ptr()) return false;
            if (static_cast<std::size_t>(PyArray_NDIM(array)) != input.axes) return false;
            if (input.held && static_cast<std::size_t>(PyArray_SIZE(array)) != *input.held) return false;
        } else if (!input.takes_int || !PyLong_CheckExact(value)) {
            return false;
        }
    }
    return true;
}

nb::object Shortcut::run(PyObject* values) const {
    Call call;
    try {
        const bool done = read_arrays(values, call) && read_contents(values, call) && check(values, call) &&
                          count(values, call) && allocate(call) && apart(call) && fill(call);
        if (done) return answer(call);
    } catch (const std::bad_alloc&) {
        // The Python way finds it again, and says it.
    }
    return {};
}

// Sizes and addresses, each read once.
bool Shortcut::read_arrays(PyObject* values, Call& call) const {
    call.sizes.reserve(slots_.count);  // the arrays keep pointers into it
    call.inputs.reserve(inputs_.size());
    for (std::size_t place = 0; place < inputs_.size(); ++place) {
        const InputForm& input = inputs_[place];
        gradbag_array array{nullptr, call.sizes.data() + call.sizes.size(), input.axes, input.item_size};
        PyObject* const value = item(values, place);
        if (PyArray_CheckExact(value)) {
            if (!lies_ready(value)) return false;
            if (input.updated && !PyArray_ISWRITEABLE(as_array(value))) return false;
            const npy_intp* const shape = PyArray_DIMS(as_array(value));
            call.sizes.insert(call.sizes.end(), shape, shape + input.axes);
            array.data = PyArray_DATA(as_array(value));
        }
        call.locked = call.locked && add_bytes(array, kLockedBytes, call.touched);
        call.inputs.push_back(array);
    }
    return true;
}

// Kernels get the copies, so what was compared with the shapes is what they see.
bool Shortcut::read_contents(PyObject* values, Call& call) const {
    call.contents.resize(contents_ * sizeof(std::int64_t));
    std::byte* copy = call.contents.data();
    for (std::size_t place = 0; place < inputs_.size(); ++place) {
        const InputForm& input = inputs_[place];
        if (!input.held) continue;
        PyObject* const value = item(values, place);
        const bool narrow = input.item_size == sizeof(std::int32_t);
        if (PyLong_CheckExact(value)) {
            int overflow = 0;
            const long long size = PyLong_AsLongLongAndOverflow(value, &overflow);
            const bool held =
                narrow ? write_as<std::int32_t>(size, copy) : write_as<std::int64_t>(size, copy);
            if (overflow != 0 || !held) return false;
        } else {
            std::memcpy(copy, call.inputs[place].data, *input.held * input.item_size);
        }
        for (std::size_t number = 0; number < *input.held; ++number) {
            const auto size =
                narrow ? read_as<std::int32_t>(copy, number) : read_as<std::int64_t>(copy, number);
            if (!push_size(size, call.sizes)) return false;
        }
        call.inputs[place].data = copy;
        copy += *input.held * sizeof(std::int64_t);
    }
    return true;
}

// What a rule says about the inputs; null where it objects, which it will do again on the Python way.
nb::object Shortcut::ask(const nb::object& rule, PyObject* values) const {
    nb::object answer = nb::steal(or_stay([&] { return PyObject_CallObject(rule.ptr(), values); }));
    if (answer.is_valid()) return answer;
    if (PyErr_ExceptionMatches(rules_.objection.ptr()) != 0) {
        PyErr_Clear();
    } else {
        forget_memory_error();
    }
    return answer;
}

bool Shortcut::check(PyObject* values, Call& call) const {
    if (!slots_.fit(call.sizes.data())) return false;  // mutant: sizes
    call.sizes.insert(call.sizes.end(), slots_.constants.begin(), slots_.constants.end());
    return rules_.check.is_none() || ask(rules_.check, values).is_valid();
}

// What only the data tells: a kernel finds it out, or else a rule.
bool Shortcut::count(PyObject* values, Call& call) const {
    call.passed.reserve(passes_.size() + outputs_.size());
    for (const std::size_t place : passes_) {
        if (!inputs_[place].dtype.is_none()) call.passed.push_back(call.inputs[place]);
    }
    call.inputs_passed = call.passed.size();
    if (plan_ != nullptr) {
        std::size_t scratch = 0;
        for (const std::size_t slot : slots_.scratch) {
            if (!add_bytes(gradbag_array{nullptr, &call.sizes[slot], 1, 8}, most_bytes, scratch))
                return false;
        }
        const gradbag_arguments arguments{call.passed.data(), counts_.data(), settings_.data()};
        gradbag_plan* made = nullptr;
        const bool counted =
            run_kernel(call.locked, [&] { return gradbag_count(plan_, &arguments, &made, &call.fault); });
        call.plan.reset(made);
        if (!counted) return false;
        for (const std::int64_t size : made->plan.sizes) {
            if (!push_size(size, call.sizes)) return false;
        }
    } else if (!rules_.count.is_none()) {
        const nb::object counted = ask(rules_.count, values);
        if (!counted.is_valid() || !PyDict_CheckExact(counted.ptr())) return false;
        PyObject* word = nullptr;
        PyObject* size = nullptr;
        Py_ssize_t position = 0;
        while (PyDict_Next(counted.ptr(), &position, &word, &size) != 0) {
            if (!PyLong_CheckExact(size)) return false;
            int overflow = 0;
            const long long value = PyLong_AsLongLongAndOverflow(size, &overflow);
            if (overflow != 0 || value < 0 || !push_size(value, call.sizes)) return false;
        }
    }
    return call.sizes.size() == slots_.count;
}

bool Shortcut::allocate(Call& call) const {
    std::size_t axes = 0;
    for (const OutputForm& output : outputs_) axes += output.slots.size();
    call.output_sizes.reserve(axes);  // the arrays keep pointers into it
    std::size_t total = 0;
    for (const std::size_t slot : slots_.scratch) {
        if (!add_bytes(gradbag_array{nullptr, &call.sizes[slot], 1, 8}, most_bytes, total)) return false;
    }
    for (const OutputForm& output : outputs_) {
        gradbag_array array{nullptr, call.output_sizes.data() + call.output_sizes.size(), output.slots.size(),
                            output.item_size};
        for (const std::size_t slot : output.slots) call.output_sizes.push_back(call.sizes[slot]);
        if (!add_bytes(array, most_bytes, total)) return false;
        call.passed.push_back(array);
    }
    call.outputs.reserve(outputs_.size());
    for (std::size_t place = 0; place < outputs_.size(); ++place) {
        gradbag_array& array = call.passed[call.inputs_passed + place];
        auto* const dtype = reinterpret_cast<PyArray_Descr*>(outputs_[place].dtype.inc_ref().ptr());
        PyObject* const made = or_stay([&] {
            return PyArray_NewFromDescr(&PyArray_Type, dtype, static_cast<int>(array.axes), array.shape,
                                        nullptr, nullptr, 0, nullptr);
        });
        if (made == nullptr) {
            forget_memory_error();
            return false;
        }
        call.outputs.push_back(nb::steal(made));
        array.data = PyArray_DATA(as_array(made));
        call.locked = call.locked && add_bytes(array, kLockedBytes, call.touched);
    }
    return true;
}

// Whether nothing else lies where the kernel writes. The Python way looks again, and more closely.
bool Shortcut::apart(const Call& call) const {
    const auto begin = [](const gradbag_array& array) { return static_cast<const std::byte*>(array.data); };
    const auto end = [&](const gradbag_array& array) {
        std::size_t bytes = array.item_size;
        for (std::size_t axis = 0; axis < array.axes; ++axis)
            bytes *= static_cast<std::size_t>(array.shape[axis]);
        return begin(array) + bytes;
    };
    for (std::size_t place = 0; place < inputs_.size(); ++place) {
        if (!inputs_[place].updated) continue;
        const gradbag_array& written = call.inputs[place];
        for (std::size_t other = 0; other < inputs_.size(); ++other) {
            const gradbag_array& beside = call.inputs[other];
            if (other != place && begin(beside) < end(written) && begin(written) < end(beside)) return false;
        }
    }
    return true;
}

bool Shortcut::fill(Call& call) const {
    const gradbag_arguments arguments{call.passed.data(), counts_.data(), settings_.data()};
    return run_kernel(call.locked,
                      [&] { return gradbag_fill(fill_, call.plan.get(), &arguments, &call.fault); });
}

nb::object Shortcut::answer(Call& call) const {
    if (call.outputs.empty()) return nb::none();
    if (rules_.result.is_none()) return std::move(call.outputs.front());
    nb::object outputs = nb::steal(PyTuple_New(static_cast<Py_ssize_t>(call.outputs.size())));
    if (!outputs.is_valid()) throw nb::python_error();
    for (std::size_t place = 0; place < call.outputs.size(); ++place) {
        PyTuple_SetItem(outputs.ptr(), static_cast<Py_ssize_t>(place), call.outputs[place].release().ptr());
    }
    return new_tuple_(rules_.result, outputs);
}

int Shortcut::traverse(visitproc visit, void* arg) const {
    Py_VISIT(rules_.check.ptr());
    Py_VISIT(rules_.count.ptr());
    Py_VISIT(rules_.objection.ptr());
    Py_VISIT(rules_.result.ptr());
    return 0;
}

namespace {

// The forms come as tuples, with the fields in their order.
InputForm to_input(nb::handle form) {
    const nb::object held = form[3];
    return {form[0],
            nb::cast<std::size_t>(nb::object(form[1])),
            nb::cast<std::size_t>(nb::object(form[2])),
            held.is_none() ? std::nullopt : std::optional(nb::cast<std::size_t>(held)),
            nb::cast<bool>(nb::object(form[4])),
            nb::cast<bool>(nb::object(form[5]))};
}

OutputForm to_output(nb::handle form) {
    return {form[0], nb::cast<std::size_t>(nb::object(form[1])), numbers<std::size_t>(nb::object(form[2]))};
}

Slots to_slots(nb::handle slots) {
    return {pairs<std::size_t, std::size_t>(nb::object(slots[0])),
            pairs<std::size_t, std::intptr_t>(nb::object(slots[1])),
            numbers<std::size_t>(nb::object(slots[2])),
            numbers<std::intptr_t>(nb::object(slots[3])),
            numbers<std::size_t>(nb::object(slots[4])),
            nb::cast<std::size_t>(nb::object(slots[5]))};
}

Kernels to_kernels(nb::handle kernels) {
    return {numbers<std::size_t>(nb::object(kernels[0])), numbers<std::size_t>(nb::object(kernels[1])),
            text(nb::object(kernels[2])), text(nb::object(kernels[3])), kernels[4]};
}

// The shortcuts of an op, the one that was used last in front.
class Shortcuts {
  public:
    void add(nb::handle inputs, nb::handle outputs, nb::handle slots, nb::handle kernels, nb::handle rules) {
        shortcuts_.push_back(std::make_shared<const Shortcut>(
            listed(inputs, to_input), listed(outputs, to_output), to_slots(slots), to_kernels(kernels),
            Rules{rules[0], rules[1], rules[2], rules[3]}));
    }

    nb::object call(nb::handle values) {
        // Of a list a copy: another thread may change it.
        const bool is_list = PyList_CheckExact(values.ptr());
        const nb::object kept = is_list ? nb::steal(PyList_AsTuple(values.ptr())) : nb::borrow(values);
        if (!kept.is_valid()) throw nb::python_error();
        if (PyTuple_CheckExact(kept.ptr())) {
            for (auto& found : shortcuts_) {
                if (!found->takes(kept.ptr())) continue;
                std::swap(found, shortcuts_.front());
                // Rules are Python, and may run other threads that call this op: hold on to it.
                const std::shared_ptr<const Shortcut> shortcut = shortcuts_.front();
                nb::object answer = shortcut->run(kept.ptr());
                if (answer.is_valid()) return answer;
                break;
            }
        }
        return nb::borrow(Py_NotImplemented);
    }

    int traverse(visitproc visit, void* arg) const {
        for (const auto& shortcut : shortcuts_) {
            const int stopped = shortcut->traverse(visit, arg);
            if (stopped != 0) return stopped;
        }
        return 0;
    }

    void clear() { shortcuts_.clear(); }

  private:
    std::vector<std::shared_ptr<const Shortcut>> shortcuts_;
};

int traverse(PyObject* self, visitproc visit, void* arg) {
    Py_VISIT(Py_TYPE(self));
    return nb::inst_ready(self) ? nb::inst_ptr<Shortcuts>(self)->traverse(visit, arg) : 0;
}

int clear(PyObject* self) {
    if (nb::inst_ready(self)) nb::inst_ptr<Shortcuts>(self)->clear();
    return 0;
}

PyType_Slot collected[] = {{Py_tp_traverse, reinterpret_cast<void*>(traverse)},
                           {Py_tp_clear, reinterpret_cast<void*>(clear)},
                           {0, nullptr}};

}  // namespace

void bind_shortcuts(nb::module_& m) {
    using nb::literals::operator""_a;
    nb::class_<Shortcuts>(m, "Shortcuts", nb::type_slots(collected),
                          "Whole calls of one op, for the dtypes and ranks that were added.")
        .def(nb::init<>())
        .def("add", &Shortcuts::add, nb::kw_only(), "inputs"_a, "outputs"_a, "slots"_a, "kernels"_a,
             "rules"_a)
        .def("call", &Shortcuts::call,
             "The outputs, or NotImplemented: then the call is not for a shortcut.");
    m.def("set_shortcut_limit", [](std::size_t bytes) { most_bytes = bytes; });
}

}  // namespace gradbag
