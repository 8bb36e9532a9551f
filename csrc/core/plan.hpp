#pragma once

#include <any>
#include <cstdint>
#include <memory>
#include <utility>
#include <vector>

namespace gradbag {

// The answer of a counting kernel: the sizes that its data gave, and what the filling kernel needs to know of
// the indices that were checked. The filling kernel never reads those indices again, since another thread may
// have changed them.
class Plan {
  public:
    template <class Work>
    Plan(std::vector<std::int64_t> counted, Work work)
        : sizes(std::move(counted)),
          work_(std::shared_ptr<const Work>(std::make_shared<Work>(std::move(work)))) {}

    // Throws when the plan was made by a kernel of another family.
    template <class Work>
    const Work& work() const {
        return *std::any_cast<const std::shared_ptr<const Work>&>(work_);
    }

    std::vector<std::int64_t> sizes;

  private:
    std::any work_;
};

}  // namespace gradbag
