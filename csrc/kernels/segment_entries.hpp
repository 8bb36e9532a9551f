#pragma once

#include <cstddef>
#include <span>

#include "core/checked.hpp"
#include "core/types.hpp"
#include "kernels/segment_inputs.hpp"
#include "kernels/segment_scales.hpp"

namespace gradbag {

// One entry of a segment gradient: row `segment` of the gradient goes to row `index` of the output.
struct SegmentEntry {
    std::size_t index;
    std::size_t segment;
};

// The two vectors that say which row goes where. Each read loads and checks anew.
template <Index I, Index S>
class SegmentEntries {
  public:
    SegmentEntries(std::span<const I> indices, std::size_t index_bound, std::span<const S> segment_ids,
                   std::size_t segment_bound)
        : indices_(indices),
          segment_ids_(segment_ids),
          index_bound_(index_bound),
          segment_bound_(segment_bound) {}

    std::size_t size() const { return indices_.size(); }
    std::size_t index_bound() const { return index_bound_; }
    std::size_t segment_bound() const { return segment_bound_; }

    SegmentEntry read(std::size_t position) const {
        const std::size_t index =
            checked(load_once(&indices_[position]), index_bound_, {segment_input::indices, position});
        return {index, segment(position)};
    }

    std::size_t segment(std::size_t position) const {
        return checked(load_once(&segment_ids_[position]), segment_bound_,
                       {segment_input::segment_ids, position});
    }

    // For read_entries: the index is the key and the segment the payload. Segments are counted on the way,
    // unless there are no counts.
    auto reader(SegmentCounts* counts) const {
        return [this, counts](std::size_t begin, std::size_t end, auto put) {
            if (counts == nullptr) {
                for (std::size_t i = begin; i < end; ++i) {
                    const SegmentEntry entry = read(i);
                    put(i, entry.index, entry.segment);
                }
                return;
            }
            SegmentCounts::Writer writer(*counts, begin);
            for (std::size_t i = begin; i < end; ++i) {
                const SegmentEntry entry = read(i);
                writer.add(entry.segment);
                put(i, entry.index, entry.segment);
            }
            writer.end();
        };
    }

  private:
    std::span<const I> indices_;
    std::span<const S> segment_ids_;
    std::size_t index_bound_;
    std::size_t segment_bound_;
};

}  // namespace gradbag
