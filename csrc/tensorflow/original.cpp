#include "tensorflow/original.hpp"

#include <algorithm>
#include <cstring>
#include <map>
#include <stdexcept>
#include <utility>

namespace gradbag::tensorflow {

namespace {

void expect(const OwnStatus& status, const std::string& what) {
    if (!status.ok()) throw std::runtime_error(what + ": " + status.words());
}

// What a session adds to the words of a kernel: the name of a node that nobody else knows.
std::string without_node(std::string words) {
    const auto end = words.rfind("\n\t [[{{node ");
    return end == std::string::npos ? words : words.substr(0, end);
}

Home* home_of(const std::string& op) {
    static std::map<std::string, Home>& homes = *new std::map<std::string, Home>;
    const auto [found, is_new] = homes.try_emplace(op);
    if (is_new) found->second.graph = api.NewGraph();
    return &found->second;
}

}  // namespace

Original::Original(const std::string& op, const Types& types, std::vector<Value> example, std::size_t outputs)
    : home_(home_of(op)), example_(std::move(example)) {
    const OwnStatus status;
    std::string suffix;  // names in a graph are unique
    for (const auto& [name, type] : types) suffix.append("_").append(std::to_string(type));
    for (std::size_t place = 0; place < example_.size(); ++place) {
        const std::string name = "input" + std::to_string(place) + suffix;
        Description* const input = api.NewOperation(home_->graph, "Placeholder", name.c_str());
        api.SetAttrType(input, "dtype", example_[place].type);
        feeds_.push_back({api.FinishOperation(input, status), 0});
        expect(status, op);
    }
    Description* const node = api.NewOperation(home_->graph, op.c_str(), ("original" + suffix).c_str());
    for (const Port& feed : feeds_) api.AddInput(node, feed);
    for (const auto& [name, type] : types) api.SetAttrType(node, name.c_str(), type);
    Operation* const made = api.FinishOperation(node, status);
    expect(status, op);
    for (std::size_t output = 0; output < outputs; ++output) {
        fetches_.push_back({made, static_cast<int>(output)});
    }
}

Session* Original::opened(const std::string& config) const {
    const OwnStatus status;
    SessionOptions* const options = api.NewSessionOptions();
    api.SetConfig(options, config.data(), config.size(), status);
    Session* const session = status.ok() ? api.NewSession(home_->graph, options, status) : nullptr;
    api.DeleteSessionOptions(options);
    expect(status, "a session");
    return session;
}

void Original::try_example(Session* session) const {
    const OwnStatus status;
    std::vector<Tensor*> inputs;
    for (const Value& value : example_) {
        Tensor* const tensor = api.AllocateTensor(value.type, value.shape.data(),
                                                  static_cast<int>(value.shape.size()), value.bytes.size());
        if (!value.bytes.empty()) std::memcpy(api.TensorData(tensor), value.bytes.data(), value.bytes.size());
        inputs.push_back(tensor);
    }
    std::vector<Tensor*> outputs(fetches_.size(), nullptr);
    api.SessionRun(session, nullptr, feeds_.data(), inputs.data(), static_cast<int>(inputs.size()),
                   fetches_.data(), outputs.data(), static_cast<int>(outputs.size()), nullptr, 0, nullptr,
                   status);
    for (Tensor* const tensor : inputs) api.DeleteTensor(tensor);
    for (Tensor* const tensor : outputs) {
        if (tensor != nullptr) api.DeleteTensor(tensor);
    }
    expect(status, "the example");
}

void Original::keep(const std::string& config) const {
    if (home_->session == nullptr) home_->session = opened(config);
    try_example(home_->session);
}

void Original::run_anew(const std::string& config) const {
    Session* const session = opened(config);
    try_example(session);
    const OwnStatus status;
    api.CloseSession(session, status);
    api.DeleteSession(session, status);
}

void Original::answer(Context* context, std::span<Tensor* const> inputs) const {
    const OwnStatus status;
    std::vector<Tensor*> outputs(fetches_.size(), nullptr);
    api.SessionRun(home_->session, nullptr, feeds_.data(), inputs.data(), static_cast<int>(inputs.size()),
                   fetches_.data(), outputs.data(), static_cast<int>(outputs.size()), nullptr, 0, nullptr,
                   status);
    if (!status.ok()) {
        const std::string words = without_node(status.words());
        api.SetStatus(status, api.GetCode(status), words.c_str());
    }
    for (std::size_t place = 0; place < outputs.size(); ++place) {
        if (outputs[place] == nullptr) continue;
        if (status.ok()) api.SetOutput(context, static_cast<int>(place), outputs[place], status);
        api.DeleteTensor(outputs[place]);
    }
    if (!status.ok()) api.OpKernelContext_Failure(context, status);
}

}  // namespace gradbag::tensorflow
