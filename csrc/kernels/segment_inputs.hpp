#pragma once

// Numbers of the inputs as the caller passed them, the same for every segment kernel: (data or grad,
// indices, segment_ids). Faults carry them.
namespace gradbag::segment_input {

inline constexpr int indices = 1;  // mutant: input
inline constexpr int segment_ids = 2;

}  // namespace gradbag::segment_input
