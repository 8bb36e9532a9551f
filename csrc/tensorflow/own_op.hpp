#pragma once

#include <nanobind/nanobind.h>

#include <cstdint>
#include <span>
#include <string>
#include <vector>

#include "tensorflow/taken_op.hpp"

// Ops that TensorFlow does not have: it learns their definitions from us, and has no kernel but ours.
namespace gradbag::tensorflow {

struct InputRank {
    std::int64_t axes;
    bool or_more;
};

// Some axes of an output: those of an input from `begin` to `end`. Without an input (-1) it is one axis, of
// the size `begin`, or of any size if that is -1.
struct Piece {
    int input;
    std::int64_t begin;
    std::int64_t end;
};

// Registers the definition of an op; arguments and attributes are in TensorFlow's own language. Ranks are
// those of the first inputs.
void define(const std::string& op, const std::vector<std::string>& attrs,
            const std::vector<std::string>& inputs, const std::vector<std::string>& outputs,
            std::vector<InputRank> ranks, std::vector<std::vector<Piece>> shapes);

// Answers by the way of Python what a kernel does not, mostly by saying what is wrong.
class PythonWay final : public Fallback {
  public:
    PythonWay(nanobind::object function, std::vector<OutputType> outputs);

    void answer(Context* context, std::span<Tensor* const> inputs) const override;

  private:
    nanobind::handle function_;  // never given back: TensorFlow's threads may outlive the interpreter
    std::vector<OutputType> outputs_;
};

}  // namespace gradbag::tensorflow
