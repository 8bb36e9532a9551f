#pragma once

namespace gradbag {

// While one lives, kernels of its thread look for no signal: who called does so itself when they are done.
class Uninterrupted {
  public:
    Uninterrupted();
    Uninterrupted(const Uninterrupted&) = delete;
    Uninterrupted& operator=(const Uninterrupted&) = delete;
    ~Uninterrupted();
};

}  // namespace gradbag
