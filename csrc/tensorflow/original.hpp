#pragma once

#include <span>
#include <string>
#include <utility>
#include <vector>

#include "tensorflow/api.hpp"

// TensorFlow's own kernels, kept. There is no way to take a registration back; but a session that has run an
// op before ours was registered keeps the kernel that it has chosen then.
namespace gradbag::tensorflow {

// Plain values, to run an op with.
struct Value {
    DataType type;
    std::vector<std::int64_t> shape;
    std::string bytes;
};

using Types = std::vector<std::pair<std::string, DataType>>;  // by the names of attributes

// A session for all types of an op. Never closed: TensorFlow may call us until the process ends.
struct Home {
    Graph* graph;
    Session* session;
};

// Who answers a call that our kernels do not.
class Fallback {
  public:
    virtual ~Fallback() = default;
    virtual void answer(Context* context, std::span<Tensor* const> inputs) const = 0;
};

// An op for some types.
class Original final : public Fallback {
  public:
    Original(const std::string& op, const Types& types, std::vector<Value> example, std::size_t outputs);

    // Lets TensorFlow choose its kernel, once and for all.
    void keep(const std::string& config) const;
    // Runs the op anew, by whichever kernel TensorFlow chooses today.
    void run_anew(const std::string& config) const;
    // Answers a call as TensorFlow would, refusals included.
    void answer(Context* context, std::span<Tensor* const> inputs) const override;

  private:
    Session* opened(const std::string& config) const;
    void try_example(Session* session) const;

    Home* home_;
    std::vector<Value> example_;
    std::vector<Port> feeds_;
    std::vector<Port> fetches_;
};

}  // namespace gradbag::tensorflow
