#pragma once

#include <cstddef>
#include <cstdint>
#include <optional>
#include <span>

#include "core/checked.hpp"
#include "core/read_entries.hpp"
#include "core/types.hpp"
#include "kernels/segment_inputs.hpp"
#include "simd/entry_loops.hpp"

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
          index_bound_(index_bound),  // mutant: index bound
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
        return checked(load_once(&segment_ids_[position]), segment_bound_,  // mutant: segment bound
                       {segment_input::segment_ids, position});
    }

    // Not checked.
    std::span<const I> indices() const { return indices_; }
    std::span<const S> segment_ids() const { return segment_ids_; }

    // Reads and checks all, and calls visit(entries) with them: the index is the key and the segment the
    // payload, in the shortest words that hold them.
    template <class Visit>
    auto read_all(Visit visit) const {
        const Reader read{*this};
        if (fits_short_words(index_bound_, segment_bound_, size())) {
            return visit(read_entries<std::uint32_t>(size(), read));
        }
        return visit(read_entries<std::uint64_t>(size(), read));
    }

  private:
    struct Reader {
        const SegmentEntries& entries;

        template <class Put>
        void operator()(std::size_t begin, std::size_t end, Put put) const {
            for (std::size_t i = begin; i < end; ++i) {
                const SegmentEntry entry = entries.read(i);
                put(i, entry.index, entry.segment);
            }
        }

        std::optional<EntryOrder<std::uint32_t>> copy(std::size_t begin, std::size_t end, std::uint32_t* keys,
                                                      std::uint32_t* payloads) const {
            const CopiedWords indices =
                entry_loops<I>().copy_words(entries.indices_.data() + begin, end - begin, keys + begin);
            const CopiedWords segments = entry_loops<S>().copy_words(entries.segment_ids_.data() + begin,
                                                                     end - begin, payloads + begin);
            if (!indices.fit || indices.largest >= entries.index_bound_) return std::nullopt;
            if (!segments.fit || segments.largest >= entries.segment_bound_) return std::nullopt;
            return EntryOrder<std::uint32_t>{indices.largest, indices.sorted, segments.sorted};
        }
    };

    std::span<const I> indices_;
    std::span<const S> segment_ids_;
    std::size_t index_bound_;
    std::size_t segment_bound_;
};

}  // namespace gradbag
