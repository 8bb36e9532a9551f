#include <nanobind/nanobind.h>
#include <nanobind/ndarray.h>

#include <atomic>
#include <cerrno>
#include <cstddef>
#include <cstdint>
#include <stdexcept>
#include <vector>

#include "bind/lock.hpp"
#include "bind/parts.hpp"
#include "core/parallel.hpp"

#if defined(__unix__) || defined(__APPLE__)
#define GRADBAG_POSIX_FILES
#include <fcntl.h>
#include <sys/uio.h>
#include <unistd.h>
#endif

namespace nb = nanobind;

namespace gradbag {

#ifdef GRADBAG_POSIX_FILES
namespace {

using Numbers = nb::ndarray<const std::int64_t, nb::ndim<1>, nb::c_contig, nb::device::cpu>;
using Bytes = nb::ndarray<std::uint8_t, nb::ndim<1>, nb::c_contig, nb::device::cpu>;

// What a call of the system takes, compared with an element of the other kernels.
constexpr std::size_t kCallWork = 1024;
constexpr int kEnded = -1;  // in place of an error of the system: the file is too short

// Records that lie side by side in the file, as bytes of it and of the array.
struct Run {
    off_t place;
    std::size_t begin, size;
};

std::vector<Run> runs_of(const Numbers& numbers, std::int64_t start, std::size_t record) {
    std::vector<Run> runs;
    const std::size_t count = numbers.shape(0);
    for (std::size_t begin = 0; begin < count;) {
        std::size_t end = begin + 1;
        while (end < count && numbers.data()[end] == numbers.data()[end - 1] + 1) ++end;
        const auto place = start + numbers.data()[begin] * static_cast<std::int64_t>(record);
        runs.push_back({static_cast<off_t>(place), begin * record, (end - begin) * record});
        begin = end;
    }
    return runs;
}

void ask_for(int file, const Run& run) {
#ifdef POSIX_FADV_WILLNEED
    posix_fadvise(file, run.place, static_cast<off_t>(run.size), POSIX_FADV_WILLNEED);
#else
    (void)file, (void)run;
#endif
}

// Whether the system had all of it in memory.
bool read_at_once(int file, const Run& run, std::uint8_t* bytes) {
#ifdef RWF_NOWAIT
    const iovec piece{bytes + run.begin, run.size};
    return preadv2(file, &piece, 1, run.place, RWF_NOWAIT) == static_cast<ssize_t>(run.size);
#else
    (void)file, (void)run, (void)bytes;
    return false;
#endif
}

int read_all(int file, Run run, std::uint8_t* bytes) {
    while (run.size > 0) {
        const ssize_t count = pread(file, bytes + run.begin, run.size, run.place);
        if (count < 0 && errno == EINTR) continue;
        if (count < 0) return errno;
        if (count == 0) return kEnded;
        run.place += count;
        run.begin += static_cast<std::size_t>(count);
        run.size -= static_cast<std::size_t>(count);
    }
    return 0;
}

void ask_for_records(int file, const Numbers& numbers, std::int64_t start, std::size_t record) {
    const Unlocked unlocked;
    for (const Run& run : runs_of(numbers, start, record)) ask_for(file, run);
}

// 0, an error of the system, or that the file has ended. What is not in memory is asked for before the first
// of it is waited for, so that the disk has all of it to choose from.
int read_records(int file, const Numbers& numbers, std::int64_t start, std::size_t record,
                 const Bytes& bytes) {
    if (bytes.shape(0) != numbers.shape(0) * record) throw std::invalid_argument("sizes that do not fit");
    const Unlocked unlocked;
    const std::vector<Run> runs = runs_of(numbers, start, record);
    std::vector<std::uint8_t> is_read(runs.size());
    parallel_ranges(runs.size(), kCallWork, [&](std::size_t begin, std::size_t end, std::size_t) {
        for (std::size_t k = begin; k < end; ++k) {
            is_read[k] = read_at_once(file, runs[k], bytes.data());
            if (!is_read[k]) ask_for(file, runs[k]);
        }
    });
    std::atomic<int> problem = 0;
    parallel_ranges(runs.size(), kCallWork, [&](std::size_t begin, std::size_t end, std::size_t) {
        for (std::size_t k = begin; k < end && problem == 0; ++k)
            if (!is_read[k])
                if (const int found = read_all(file, runs[k], bytes.data())) problem = found;
    });
    return problem;
}

}  // namespace
#endif

void bind_records(nb::module_& m) {
#ifdef GRADBAG_POSIX_FILES
    using nb::literals::operator""_a;
    m.def("ask_for_records", &ask_for_records, "file"_a, "numbers"_a.noconvert(), "start"_a, "record"_a);
    m.def("read_records", &read_records, "file"_a, "numbers"_a.noconvert(), "start"_a, "record"_a,
          "bytes"_a.noconvert());
#else
    (void)m;
#endif
}

}  // namespace gradbag
