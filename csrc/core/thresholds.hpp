#pragma once

#include <chrono>
#include <cstddef>

// The numbers that decide how the kernels work, and never what comes out: each may be tuned without changing
// a bit of any result. Numbers that are part of a contract stand with it: kBlockRows and kFirstDivided are
// TensorFlow's, kSumBlock and kSumLanes are the order of a sum of ours.
namespace gradbag {

// ------------------------------------------------------------------ memory
// A line of the caches: what is fetched, shared between threads and written past the caches at once.
inline constexpr std::size_t kLineBytes = 64;
// Below it the C library keeps freed memory by itself.
inline constexpr std::size_t kLargeBytes = std::size_t{1} << 17;
// From here on NumPy asks for huge pages, too.
inline constexpr std::size_t kHugeBytes = std::size_t{4} << 20;
// A block from the cache is at most so much (an eighth) larger than what was asked for.
inline constexpr std::size_t kBlockSlack = 8;
// Tables up to this size stay in the second-level cache by themselves: no row of them is asked for early.
inline constexpr std::size_t kCachedTable = std::size_t{1} << 20;
// How many rows before its use a row is asked for: enough to hide a trip to memory behind the sums of the
// rows in between.
inline constexpr std::size_t kPrefetchDistance = 16;
// The same for single numbers: neighbours share a line, and so less lies in between.
inline constexpr std::size_t kNumberPrefetchDistance = 3 * kPrefetchDistance;
// The same where bags are pooled, of rows below 512 bytes and of others: few rows of a skewed list come from
// memory, and so more have to be under way; of 12, 16, 24, 32 and 64 these were the best.
inline constexpr std::ptrdiff_t kPooledDistance = 32;
inline constexpr std::ptrdiff_t kWidePooledDistance = 24;
// How much of a row is asked for: of a long row the hardware guesses the rest.
inline constexpr std::size_t kPrefetchedBytes = 1024;
// Outputs from this size on are written past the caches, where they would only push out what is read.
inline constexpr std::size_t kStreamedBytes = std::size_t{8} << 20;
// From this size on zeros go past the caches: they would be gone before anyone adds to them.
inline constexpr std::size_t kStreamedZeros = std::size_t{32} << 20;
// Up to this size one thread that will add to zeros writes them itself: then they lie in its cache.
inline constexpr std::size_t kOwnZeros = std::size_t{4} << 20;

// ------------------------------------------------------------------ threads
// Work below this many elements is over before another thread has woken up.
inline constexpr std::size_t kSerialWork = 20'000;
// Pieces of a range, in elements: large enough that to begin one costs nothing, small enough to share evenly
// and to be interrupted.
inline constexpr std::size_t kSmallestPiece = std::size_t{1} << 14;
inline constexpr std::size_t kLargestPiece = std::size_t{1} << 18;
// Into how many pieces the share of a thread is cut, for a thread that was late or slow.
inline constexpr std::size_t kPiecesOfThread = 8;
// The same for parts that each have a table of their own, which all have to be added up.
inline constexpr std::size_t kPartsOfThread = 4;
// Entries in parts of this many are looked at by different threads.
inline constexpr std::size_t kPartEntries = 4096;
// A longer loop would keep Ctrl-C waiting.
inline constexpr std::size_t kUninterrupted = std::size_t{1} << 20;
// How often the caller looks for a signal.
inline constexpr auto kPollInterval = std::chrono::milliseconds(20);
// How often a thread looks for work, or for the end of it, before it goes to sleep.
inline constexpr int kPauses = 500;

// ------------------------------------------------------------------ sorts
// Lists up to here are sorted by insertion.
inline constexpr std::size_t kInsertionSorted = 64;
// Digits of a radix sort. More buckets than 2**11 fall out of the second-level cache while they are filled,
// and a list shorter than `kManyCounted` does not repay a table of more than 2**8.
inline constexpr unsigned kDigitBits = 11;
inline constexpr unsigned kShortDigitBits = 8;
inline constexpr std::size_t kManyCounted = 4096;
// A bucket of fewer entries, on average, does not repay its place in the table.
inline constexpr std::size_t kBucketEntries = 512;
// A bucket is counted if it has at most so many possible keys for an entry. Not decided by a measurement: 2
// and 4 were within the noise of each other.
inline constexpr std::size_t kCountedKeys = 2;
// What a bucket of rows to be filled needs, in entries and keys together, stays in the second-level cache.
inline constexpr std::size_t kCachedBucket = 8192;
// Buckets of rows to be filled need a set of all keys: it shall take no more memory than the entries
// themselves.
inline constexpr std::size_t kBucketedKeys = 16;
// Steps between sorted keys are tried if there are at most so many possible keys for an entry; keys much
// farther apart would be read in vain.
inline constexpr std::size_t kNearKeys = 64;
// Fewer entries are not worth cutting into buckets.
inline constexpr std::size_t kFewGrouped = 4096;
// Each possible key is a bucket of its own if the table stays in the second-level cache, and small beside the
// entries: so many for each key.
inline constexpr std::size_t kMostSingleKeys = std::size_t{1} << 15;
inline constexpr std::size_t kSingleKeyEntries = 8;
// Lists of groups that a thread joins at once.
inline constexpr std::size_t kJoinedLists = 16;
// Up to this bound a byte says whether a number occurs, while the bytes fit the second-level cache; beyond it
// a bit.
inline constexpr std::size_t kOccurrenceBytes = std::size_t{1} << 18;
// How many threads have a set of their own of what occurs: many sets take long to merge, and most of all
// those that are merged to be counted by one thread.
inline constexpr std::size_t kMostSets = 8;
inline constexpr std::size_t kMostRankedSets = 4;
// Ranges of rows, 2**8 of them, that a scatter of many threads is cut into.
inline constexpr unsigned kRangeBits = 8;

// ------------------------------------------------------------------ ranks instead of a sort
// Many threads share a sort better.
inline constexpr std::size_t kRankingThreads = 4;
// More keys would keep Ctrl-C waiting.
inline constexpr std::size_t kRankedKeys = std::size_t{1} << 25;
// Rows that are added to stay in a cache of this size.
inline constexpr std::size_t kRankedBytes = std::size_t{12} << 20;
// A set of the keys is made if there are at most so many for an entry, and for a row of the gradient.
inline constexpr std::size_t kKeysOfEntry = 8;
inline constexpr std::size_t kKeysOfRow = 16;
// Often one in so many entries has an index of its own.
inline constexpr std::size_t kSharedKeys = 4;
// At most so many indices may occur for a row of the gradient, beyond the cache.
inline constexpr std::size_t kRanksOfRow = 4;

// ------------------------------------------------------------------ rows
// Rows that are looked up before they are summed, and rows that are looked up before others are added to
// them.
inline constexpr std::size_t kSumBatch = 256;
inline constexpr std::size_t kScatterBatch = 512;
// Sums of rows that wait for an optimizer: few, so that the rows that will move, which are asked for before
// the sums are made, are still in the first-level cache.
inline constexpr std::size_t kSteppedBytes = std::size_t{1} << 12;
// Segment ids that are searched for ends of runs at once; few where a part ends.
inline constexpr std::size_t kScannedIds = 256;
inline constexpr std::size_t kFewScannedIds = 32;
// Fewer segments of one entry than this are treated like any others.
inline constexpr std::size_t kFewSingles = 4;
// Segments of fewer entries have their factor looked up: a division for each would take longer. At most 64,
// since a bit says which are known.
inline constexpr std::size_t kUsualCounts = 64;
// An output of more than so many rows for an entry is cleared at once, and not row by row.
inline constexpr std::size_t kClearedRows = 4;
// Segments up to so many for an entry, and some more, are counted in a table; the others in a list.
inline constexpr std::size_t kCountedSegments = 4;
inline constexpr std::size_t kMoreCountedSegments = 1024;
// Scales are listed for all segments if each has at least so many entries on average.
inline constexpr std::size_t kListedEntries = 4;
// Packs wider than these 32 bytes pay in a scatter only from rows of `kWidePackRow` bytes on.
inline constexpr std::size_t kScatterPack = 32;
inline constexpr std::size_t kWidePackRow = 256;

// ------------------------------------------------------------------ how threads share a scatter
// Fewer columns are not worth a thread.
inline constexpr std::size_t kNarrowestBlock = 16;
// Only rows of so many bytes can bear that two threads write to one line where their columns meet.
inline constexpr std::size_t kSplitRowBytes = 512;
// In a cache one thread is as fast with shorter rows, since each has to read all entries.
inline constexpr std::size_t kUnsharedBytes = std::size_t{256} << 10;
inline constexpr std::size_t kSharedRowBytes = 128;
// More threads, of which each reads all and leaves out what is not its own, would read more than they add.
inline constexpr std::size_t kMostFilters = 4;
// Entries of a segment, on average, from which on whole rows are better than columns.
inline constexpr std::size_t kLongBag = 4;
// Turns of threads that share rows, in bytes: long, since where two threads meet they write to one line or
// ask for each other's (lines are fetched in pairs and the next are guessed); but so many that they get
// equally much to do.
inline constexpr std::size_t kShortestTurn = 128;
inline constexpr std::size_t kLongestTurn = 4096;
inline constexpr std::size_t kTurnsOfThread = 16;

// ------------------------------------------------------------------ entries that are matched or copied
// Blocks of a slice's gradient: long enough to repay the search for a first guess.
inline constexpr std::size_t kShortestMatch = 64;
inline constexpr std::size_t kLongestMatch = 4096;
// Blocks that are matched in turn: one alone would wait for each comparison.
inline constexpr std::size_t kChains = 4;
// A map counts as in order if its ends are at most so many places apart for an entry.
inline constexpr std::size_t kNearPlaces = 4;
// Where a map is not in order after all, so many entries are copied one by one before it is tried again.
inline constexpr std::size_t kCopiedOneByOne = 64;
// Up to so many of 64 positions are added one by one, more of them eight at a time.
inline constexpr std::size_t kFewBits = 16;

}  // namespace gradbag
