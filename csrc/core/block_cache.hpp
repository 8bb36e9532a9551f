#pragma once

#include <cstddef>
#include <cstdint>
#include <limits>
#include <map>
#include <mutex>
#include <new>

#if __has_include(<pthread.h>)
#include <pthread.h>
#endif
#if defined(__linux__)
#include <sys/mman.h>

#include "core/thresholds.hpp"
#endif

namespace gradbag {

// A piece of memory: its address, and how much it really holds, which may be more than was asked for.
struct Block {
    void* data;
    std::size_t capacity;
};

// Large blocks that were given back, kept for the next call: to get fresh pages from the system can take
// longer than to fill them. Together they keep to a limit; beyond it, those go first that have lain longest.
class BlockCache {
  public:
    static constexpr std::size_t alignment = kLineBytes;

    // The cache of the process. It is never destroyed: a block may come back after everything else has ended.
    static BlockCache& shared() {
        static BlockCache& cache = *fork_safe(new BlockCache);
        return cache;
    }

    // At least `bytes` large, with whatever it held before.
    Block take(std::size_t bytes) {
        if (bytes > largest) throw std::bad_alloc();
        {
            const std::lock_guard lock(mutex_);
            const auto fit = blocks_.lower_bound(bytes);
            if (fit != blocks_.end() && fit->first - bytes <= bytes / kBlockSlack) {
                // Of those of one size the youngest, which may still be in the processor's cache.
                return taken(--blocks_.upper_bound(fit->first));
            }
        }
        try {
            return allocated(rounded(bytes));
        } catch (const std::bad_alloc&) {
            clear();
            return allocated(bytes);
        }
    }

    void give(Block block) noexcept {
        const std::lock_guard lock(mutex_);
        if (block.capacity > limit_) return release(block);
        try {
            blocks_.emplace(block.capacity, Kept{block.data, ++clock_});
        } catch (const std::bad_alloc&) {
            return release(block);
        }
        size_ += block.capacity;
        shrink_to(limit_);
    }

    void clear() noexcept {
        const std::lock_guard lock(mutex_);
        shrink_to(0);
    }

    void set_limit(std::size_t bytes) noexcept {
        const std::lock_guard lock(mutex_);
        limit_ = bytes;
        shrink_to(limit_);
    }

    std::size_t limit() noexcept {
        const std::lock_guard lock(mutex_);
        return limit_;
    }

    // Bytes that lie here unused.
    std::size_t size() noexcept {
        const std::lock_guard lock(mutex_);
        return size_;
    }

  private:
    struct Kept {
        void* data;
        std::uint64_t since;
    };
    using Blocks = std::multimap<std::size_t, Kept>;  // by capacity

    static constexpr std::size_t largest = std::numeric_limits<std::size_t>::max() / 4;

    // A few sizes between a power of two and the next, so that results of nearly one size fit each other.
    static std::size_t rounded(std::size_t bytes) {
        std::size_t step = alignment;
        while (step * 2 * kBlockSlack <= bytes) step *= 2;
        return (bytes + step - 1) / step * step;
    }

    static Block allocated(std::size_t bytes) {
        const Block block{::operator new(bytes, std::align_val_t{alignment}), bytes};
#if defined(__linux__) && defined(MADV_HUGEPAGE)
        if (bytes >= kHugeBytes) {
            constexpr std::uintptr_t page = 4096;
            const auto start = reinterpret_cast<std::uintptr_t>(block.data);
            const std::uintptr_t skipped = (page - start % page) % page;
            // Only a wish: without huge pages the block is as good.
            madvise(static_cast<char*>(block.data) + skipped, bytes - skipped, MADV_HUGEPAGE);
        }
#endif
        return block;
    }

    static void release(Block block) noexcept { ::operator delete(block.data, std::align_val_t{alignment}); }

    Block taken(Blocks::iterator place) noexcept {
        const Block block{place->second.data, place->first};
        blocks_.erase(place);
        size_ -= block.capacity;
        return block;
    }

    void shrink_to(std::size_t bytes) noexcept {
        while (size_ > bytes) {
            auto oldest = blocks_.begin();
            for (auto place = blocks_.begin(); place != blocks_.end(); ++place) {
                if (place->second.since < oldest->second.since) oldest = place;
            }
            release(taken(oldest));
        }
    }

    // A thread may hold the mutex while another one forks; the child would wait for it for ever.
    static BlockCache* fork_safe(BlockCache* cache) {
#if __has_include(<pthread.h>)
        static BlockCache* held;
        held = cache;
        pthread_atfork([] { held->mutex_.lock(); }, [] { held->mutex_.unlock(); },
                       [] { held->mutex_.unlock(); });
#endif
        return cache;
    }

    std::mutex mutex_;
    Blocks blocks_;
    std::size_t size_ = 0;
    std::size_t limit_ = std::size_t{256} << 20;
    std::uint64_t clock_ = 0;
};

}  // namespace gradbag
