#pragma once

#include <nanobind/nanobind.h>

#include <array>
#include <atomic>
#include <cstddef>
#include <cstdint>
#include <memory>
#include <string>
#include <utility>
#include <variant>
#include <vector>

#include "bind/settings.hpp"
#include "bind/shortcut.hpp"
#include "call/abi.h"
#include "tensorflow/original.hpp"

namespace gradbag::tensorflow {

inline constexpr std::size_t kMostInputs = 8;
inline constexpr std::size_t kMostOutputs = 4;
inline constexpr std::size_t kMostSizes = 64;  // of all axes and contents of a call

// What calls with inputs of certain ranks look like.
struct Form {
    std::vector<std::size_t> axes;  // of each input
    std::vector<int> held;          // how many sizes are the contents of each input, -1 if it holds none
    Slots slots;
    std::vector<std::vector<std::size_t>> outputs;  // where the sizes of each stand
    // Sizes of outputs that inputs hold. TensorFlow reads some of them as int32, whatever their type: those
    // that are larger are left to it.
    std::vector<std::size_t> narrow;
};

struct OutputType {
    DataType type;
    std::size_t item_size;
};

// The values of attributes, by their names: truth, a number or a text.
using Choices = std::vector<std::pair<std::string, std::variant<bool, std::int64_t, std::string>>>;

// What an op is asked for by: its name, and its attributes.
struct Signature {
    std::string op;
    Types types;
    Choices choices;
};

// One of TensorFlow's ops, or of ours in TensorFlow, for some types and settings, that our kernels answer.
// Python has told all of it, from the declaration of the op; Python is not needed to answer a call.
class TakenOp {
  public:
    TakenOp(Signature signature, std::vector<std::size_t> item_sizes, std::vector<OutputType> outputs,
            const Kernels& kernels, const std::string& rules, std::vector<Form> forms,
            std::unique_ptr<Fallback> fallback);

    void compute(Context* context);

    const Signature& signature() const { return signature_; }
    std::int64_t calls() const { return calls_; }
    Original* original() const { return original_; }  // null: the op is ours

    static std::atomic<int> stock;  // how many ask for TensorFlow's own kernels

  private:
    struct Call;

    bool answer(Context* context, std::span<Tensor* const> inputs, const OwnStatus& status) const;
    // Each makes its part of the call and says whether it was in order.
    bool read(std::span<Tensor* const> inputs, Call& call) const;
    bool count(Call& call) const;
    bool allocate(Call& call) const;
    const std::size_t* counts() const { return counts_.empty() ? nullptr : counts_.data(); }

    Signature signature_;
    std::vector<std::size_t> item_sizes_;
    std::vector<OutputType> outputs_;
    std::vector<std::size_t> passes_;
    std::vector<std::size_t> counts_;  // of arrays in each argument; empty if each is one
    const gradbag_kernel* plan_;       // null: nothing is counted by a kernel
    const gradbag_kernel* rules_;      // null: the op has no rules about values
    const gradbag_kernel* fill_;
    Settings settings_;
    std::vector<Form> forms_;
    std::unique_ptr<Fallback> fallback_;
    Original* original_;
    std::atomic<std::int64_t> calls_ = 0;
};

}  // namespace gradbag::tensorflow
