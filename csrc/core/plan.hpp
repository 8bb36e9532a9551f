#pragma once

#include <cstdint>
#include <memory>
#include <stdexcept>
#include <typeinfo>
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
          work_(std::make_shared<const Work>(std::move(work))),
          kind_(&typeid(Work)) {}

    // Of a rule about sizes, after which nothing remains to be known.
    explicit Plan(std::vector<std::int64_t> counted) : sizes(std::move(counted)) {}

    // Throws when the plan was made by a kernel of another family.
    template <class Work>
    const Work& work() const {
        if (*kind_ != typeid(Work)) throw std::invalid_argument("a plan of another kernel");
        return *static_cast<const Work*>(work_.get());
    }

    std::vector<std::int64_t> sizes;

  private:
    // Not an std::any, which would ask for memory once more.
    std::shared_ptr<const void> work_;
    const std::type_info* kind_ = &typeid(void);
};

}  // namespace gradbag
