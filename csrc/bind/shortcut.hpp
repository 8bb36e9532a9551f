#pragma once

#include <nanobind/nanobind.h>

#include <algorithm>
#include <cstddef>
#include <cstdint>
#include <optional>
#include <string>
#include <utility>
#include <vector>

#include "bind/settings.hpp"
#include "call/abi.h"

namespace nb = nanobind;

// A whole call in C++, for arrays with which nothing is special. A shortcut has no meaning of its own: it
// makes the checks of the Python way, calls the same rules and kernels, and whatever is not in order it
// leaves to the Python way, which has the words for it.
namespace gradbag {

struct InputForm {
    nb::object dtype;  // None: an optional input that is left out
    std::size_t item_size;
    std::size_t axes;
    std::optional<std::size_t> held;  // how many sizes are the contents of this input, if it holds sizes
    bool takes_int;                   // a Python integer will do
    bool updated;                     // the kernel writes into it
};

struct OutputForm {
    nb::object dtype;
    std::size_t item_size;
    std::vector<std::size_t> slots;  // where its sizes stand
};

// The sizes of a call stand in one list: those of all axes of the inputs, the contents of the inputs that
// hold sizes, constants, and what must be counted. `Layout` in Python makes the slots.
struct Slots {
    std::vector<std::pair<std::size_t, std::size_t>> equal;
    std::vector<std::pair<std::size_t, std::intptr_t>> fixed;
    std::vector<std::size_t> natural;
    std::vector<std::intptr_t> constants;
    std::vector<std::size_t> scratch;
    std::size_t count;

    // Whether the sizes of the axes and of the contents go together.
    bool fit(const std::intptr_t* sizes) const {
        const bool they_do =
            std::ranges::all_of(equal, [&](auto two) { return sizes[two.first] == sizes[two.second]; }) &&
            std::ranges::all_of(fixed, [&](auto one) { return sizes[one.first] == one.second; }) &&
            std::ranges::all_of(natural, [&](auto slot) { return sizes[slot] >= 0; });  // mutant: negative
        return they_do;
    }
};

// The inputs of a call are flat: those of a list stand side by side.
struct Kernels {
    std::vector<std::size_t> passes;  // the inputs that they take
    std::vector<std::size_t> counts;  // how many of them each argument of a kernel is
    std::string plan;                 // empty: nothing is counted by a kernel
    std::string fill;
    nb::object settings;
};

// What Python has to say: functions of the inputs and a class, each None where there is none.
struct Rules {
    nb::object check;
    nb::object count;
    nb::object objection;  // what the functions raise about an input
    nb::object result;     // the class of a tuple of several outputs
};

// For one combination of dtypes, ranks and settings.
class Shortcut {
  public:
    Shortcut(std::vector<InputForm> inputs, std::vector<OutputForm> outputs, Slots slots,
             const Kernels& kernels, Rules rules);

    bool takes(PyObject* values) const;

    // The outputs, or null if the call is not for a shortcut after all.
    nb::object run(PyObject* values) const;

    // For Python's garbage collector: a rule knows its module, which knows the op, which has the shortcut.
    int traverse(visitproc visit, void* arg) const;

  private:
    struct Call;

    // Each makes its part of the call and says whether it was in order.
    bool read_arrays(PyObject* values, Call& call) const;
    bool read_contents(PyObject* values, Call& call) const;
    bool check(PyObject* values, Call& call) const;
    bool count(PyObject* values, Call& call) const;
    bool allocate(Call& call) const;
    bool apart(const Call& call) const;
    bool fill(Call& call) const;

    nb::object answer(Call& call) const;
    nb::object ask(const nb::object& rule, PyObject* values) const;

    std::vector<InputForm> inputs_;
    std::vector<OutputForm> outputs_;
    Slots slots_;
    std::vector<std::size_t> passes_;
    std::vector<std::size_t> counts_;
    const gradbag_kernel* plan_;  // null: nothing is counted by a kernel
    const gradbag_kernel* fill_;
    Settings settings_;
    Rules rules_;
    nb::object new_tuple_;
    std::size_t contents_ = 0;  // how many sizes the inputs hold
};

}  // namespace gradbag
