#include "tensorflow/own_op.hpp"

#include <nanobind/stl/vector.h>

#include <array>
#include <cstring>
#include <memory>
#include <stdexcept>
#include <utility>

namespace nb = nanobind;

namespace gradbag::tensorflow {

namespace {

constexpr std::size_t kMostOwnOps = 64;

struct Outline {
    std::vector<InputRank> ranks;
    std::vector<std::vector<Piece>> shapes;
};
std::vector<Outline>& outlines() {
    static std::vector<Outline>& all = *new std::vector<Outline>;
    return all;
}

struct FreeShape {
    void operator()(Shape* shape) const { api.DeleteShapeHandle(shape); }
};
using OwnShape = std::unique_ptr<Shape, FreeShape>;

// Ranks are checked, and sizes that only data tells are unknown.
void infer_shapes(const Outline& outline, ShapeContext* context, Status* status) {
    const auto ok = [&] { return api.GetCode(status) == kOk; };
    std::vector<OwnShape> inputs;
    for (const InputRank& rank : outline.ranks) {
        Shape* const shape = inputs.emplace_back(api.NewShapeHandle()).get();
        api.ShapeInferenceContextGetInput(context, static_cast<int>(inputs.size()) - 1, shape, status);
        if (!ok()) return;
        const auto check =
            rank.or_more ? api.ShapeInferenceContextWithRankAtLeast : api.ShapeInferenceContextWithRank;
        check(context, shape, rank.axes, shape, status);
        if (!ok()) return;
    }
    for (std::size_t output = 0; output < outline.shapes.size(); ++output) {
        const OwnShape shape(api.ShapeInferenceContextScalar(context));
        for (const Piece& piece : outline.shapes[output]) {
            OwnShape part;
            if (piece.input < 0) {
                part.reset(
                    api.ShapeInferenceContextVectorFromSize(context, static_cast<std::size_t>(piece.begin)));
            } else {
                part.reset(api.NewShapeHandle());
                api.ShapeInferenceContextSubshape(context,
                                                  inputs[static_cast<std::size_t>(piece.input)].get(),
                                                  piece.begin, piece.end, part.get(), status);
            }
            if (ok()) {
                api.ShapeInferenceContextConcatenateShapes(context, shape.get(), part.get(), shape.get(),
                                                           status);
            }
            if (!ok()) return;
        }
        api.ShapeInferenceContextSetOutput(context, static_cast<int>(output), shape.get(), status);
    }
}

// TensorFlow does not say whose shapes it asks for, so each op has a function of its own.
template <std::size_t number>
void infer(ShapeContext* context, Status* status) {
    infer_shapes(outlines()[number], context, status);
}
template <std::size_t... numbers>
constexpr std::array<InferShapes, sizeof...(numbers)> inferring(std::index_sequence<numbers...>) {
    return {infer<numbers>...};
}
constexpr auto functions = inferring(std::make_index_sequence<kMostOwnOps>{});

}  // namespace

void define(const std::string& op, const std::vector<std::string>& attrs,
            const std::vector<std::string>& inputs, const std::vector<std::string>& outputs,
            std::vector<InputRank> ranks, std::vector<std::vector<Piece>> shapes) {
    const std::size_t number = outlines().size();
    if (number == kMostOwnOps) throw std::length_error("too many ops");
    outlines().push_back({std::move(ranks), std::move(shapes)});
    OpBuilder* const builder = api.NewOpDefinitionBuilder(op.c_str());
    for (const auto& attr : attrs) api.OpDefinitionBuilderAddAttr(builder, attr.c_str());
    for (const auto& input : inputs) api.OpDefinitionBuilderAddInput(builder, input.c_str());
    for (const auto& output : outputs) api.OpDefinitionBuilderAddOutput(builder, output.c_str());
    api.OpDefinitionBuilderSetShapeInferenceFunction(builder, functions[number]);
    const OwnStatus status;
    api.RegisterOpDefinition(builder, status);
    if (!status.ok()) throw std::runtime_error(op + ": " + status.words());
}

PythonWay::PythonWay(nb::object function, std::vector<OutputType> outputs)
    : function_(function.release()), outputs_(std::move(outputs)) {}

void PythonWay::answer(Context* context, std::span<Tensor* const> inputs) const {
    const nb::gil_scoped_acquire locked;
    const OwnStatus status;
    try {
        static char nothing = 0;
        nb::list given;
        for (std::size_t place = 0; place < inputs.size(); ++place) {
            Tensor* const tensor = inputs[place];
            nb::list shape;
            for (int axis = 0; axis < api.NumDims(tensor); ++axis) shape.append(api.Dim(tensor, axis));
            const auto bytes = static_cast<Py_ssize_t>(api.TensorByteSize(tensor));
            auto* const data = bytes == 0 ? &nothing : static_cast<char*>(api.TensorData(tensor));
            given.append(nb::make_tuple(nb::steal(PyMemoryView_FromMemory(data, bytes, PyBUF_READ)), shape));
        }
        const nb::object said = function_(given);
        const auto code = nb::cast<Code>(said[0]);
        if (code != kOk) {
            api.SetStatus(status, code, nb::cast<const char*>(said[1]));
        }
        for (std::size_t place = 0; place < outputs_.size() && status.ok(); ++place) {
            const nb::object output = said[1][place];
            const auto bytes = nb::cast<nb::bytes>(output[0]);
            const auto shape = nb::cast<std::vector<std::int64_t>>(output[1]);
            Tensor* const tensor = api.AllocateTensor(outputs_[place].type, shape.data(),
                                                      static_cast<int>(shape.size()), bytes.size());
            if (bytes.size() > 0) std::memcpy(api.TensorData(tensor), bytes.c_str(), bytes.size());
            api.SetOutput(context, static_cast<int>(place), tensor, status);
            api.DeleteTensor(tensor);
        }
    } catch (const std::exception& problem) {
        api.SetStatus(status, kInternal, problem.what());
    }
    if (!status.ok()) api.OpKernelContext_Failure(context, status);
}

}  // namespace gradbag::tensorflow
