#include "vernier/engine/file/engine_file.h"

#include <sys/mman.h>

#include <algorithm>
#include <atomic>
#include <cstring>
#include <fstream>
#include <mutex>
#include <thread>

#include "vernier/base/error.h"
#include "vernier/base/hash.h"
#include "vernier/base/threads.h"

namespace vernier {

namespace {

constexpr char kMagic[8] = {'V', 'E', 'R', 'N', 'I', 'E', 'R', '\n'};
constexpr size_t kAlignment = 256;

// Little-endian, as all machines that this runs on.
struct Header {
  char magic[8];
  uint32_t format, section_count;
  uint64_t file_size, table_hash;
  uint64_t reserved[3];  // zero
  uint64_t header_hash;  // of the 56 bytes before
};
static_assert(sizeof(Header) == 64);

struct Entry {
  uint32_t kind, reserved;
  uint64_t offset, size, hash;
};
static_assert(sizeof(Entry) == 32);

size_t aligned(size_t offset) {
  return (offset + kAlignment - 1) / kAlignment * kAlignment;
}

uint64_t hash_of(const Header& header) {
  return hash_bytes(&header, offsetof(Header, header_hash));
}

Error damaged(std::string_view what) {
  return bad_input("the engine file is damaged: {}", what).advise("build the engine again");
}

Header read_header(std::span<const std::byte> content) {
  Header header{};
  if (content.size() < sizeof kMagic || std::memcmp(content.data(), kMagic, sizeof kMagic) != 0)
    throw bad_input("is no engine file").advise("give a file that `vernier build` wrote");
  if (content.size() < sizeof header) throw damaged("it ends within its header");
  std::memcpy(&header, content.data(), sizeof header);
  if (header.header_hash != hash_of(header)) throw damaged("its header does not match its hash");
  if (header.format != EngineFile::kFormat)
    throw bad_input("the engine file has format {}, this version of Vernier reads format {}", header.format,
                    EngineFile::kFormat)
        .advise("build the engine again");
  if (header.file_size != content.size())
    throw damaged(fmt::format("it should have {} bytes, and has {}", header.file_size, content.size()));
  return header;
}

bool is_zero(std::span<const std::byte> bytes) {
  return std::all_of(bytes.begin(), bytes.end(), [](std::byte byte) { return byte == std::byte{0}; });
}

std::vector<Entry> read_table(std::span<const std::byte> content, const Header& header) {
  const size_t bytes = size_t{header.section_count} * sizeof(Entry);
  if (bytes > content.size() - sizeof header) throw damaged("it ends within its table of sections");
  std::vector<Entry> entries(header.section_count);
  if (bytes > 0) std::memcpy(entries.data(), content.data() + sizeof header, bytes);
  if (hash_bytes(entries.data(), bytes) != header.table_hash)
    throw damaged("its table of sections does not match its hash");
  size_t at = sizeof header + bytes;
  for (const Entry& entry : entries) {
    if (entry.offset != aligned(at) || entry.size > content.size() - entry.offset)
      throw damaged("a section lies outside of the file");
    if (!is_zero(content.subspan(at, entry.offset - at))) throw damaged("padding is not zero");
    at = entry.offset + entry.size;
  }
  if (at != content.size()) throw damaged("something follows the last section");
  return entries;
}

bool is_constant(const Entry& entry) {
  const auto kind = static_cast<SectionKind>(entry.kind);
  return kind == SectionKind::kConstant || kind == SectionKind::kPacked;
}

// Maps the pages of these bytes at once, which is faster than one fault for each few of them. Where the
// system cannot, reading does it.
void map_pages(std::span<const std::byte> bytes) {
#ifdef MADV_POPULATE_READ
  constexpr uintptr_t kPage = 4096;
  const auto begin = reinterpret_cast<uintptr_t>(bytes.data()) / kPage * kPage,
             end = reinterpret_cast<uintptr_t>(bytes.data() + bytes.size());
  madvise(reinterpret_cast<void*>(begin), end - begin, MADV_POPULATE_READ);
#endif
}

void compare(std::span<const std::byte> content, const Entry& entry) {
  map_pages(content.subspan(entry.offset, entry.size));
  if (hash_bytes(content.data() + entry.offset, entry.size) != entry.hash)
    throw damaged(fmt::format("the section at byte {} does not match its hash", entry.offset));
}

}  // namespace

// The sections of constants against their hashes, by as many threads as there are beside the one that made
// this, and by that one when it waits.
class EngineFile::Comparison {
 public:
  Comparison(std::span<const std::byte> content, std::vector<Entry> entries)
      : content_(content), entries_(std::move(entries)) {
    std::erase_if(entries_, [](const Entry& entry) { return !is_constant(entry); });
    // The largest first: no thread is left alone with one.
    std::stable_sort(entries_.begin(), entries_.end(),
                     [](const Entry& a, const Entry& b) { return a.size > b.size; });
    const auto others = std::min(static_cast<size_t>(thread_count() - 1), entries_.size());
    try {
      for (size_t i = 0; i < others; ++i) helpers_.emplace_back([this] { work(); });
    } catch (const std::system_error&) {
      // No more threads: those that there are do it.
    }
  }

  ~Comparison() { next_ = entries_.size(); }

  void finish() {
    work();
    helpers_.clear();
    if (failure_) std::rethrow_exception(std::exchange(failure_, nullptr));
  }

 private:
  void work() noexcept {
    try {
      for (size_t i = next_++; i < entries_.size(); i = next_++) compare(content_, entries_[i]);
    } catch (...) {
      next_ = entries_.size();
      const std::lock_guard lock(mutex_);
      if (!failure_) failure_ = std::current_exception();
    }
  }

  std::span<const std::byte> content_;
  std::vector<Entry> entries_;
  std::atomic<size_t> next_{0};
  std::mutex mutex_;
  std::exception_ptr failure_;
  std::vector<std::jthread> helpers_;  // joined before what they use dies
};

EngineFile EngineFile::open(const std::filesystem::path& path, Constants constants) {
  const auto mapped = MappedFile::open(path);
  try {
    EngineFile file = read(mapped->bytes(), mapped, constants);
    file.file_ = mapped;
    return file;
  } catch (Error& error) {
    mapped->require_unchanged();
    throw error.in_file(path);
  }
}

EngineFile EngineFile::read(std::span<const std::byte> content, std::shared_ptr<const void> owner,
                            Constants constants) {
  auto entries = read_table(content, read_header(content));
  EngineFile file;
  file.owner_ = std::move(owner);
  for (const Entry& entry : entries)
    file.sections_.push_back(
        {static_cast<SectionKind>(entry.kind), content.subspan(entry.offset, entry.size)});
  for (const Entry& entry : entries) {
    if (!is_constant(entry)) compare(content, entry);
  }
  file.comparison_ = std::make_shared<Comparison>(content, std::move(entries));
  if (constants == Constants::kCompared) file.compare_all();
  return file;
}

void EngineFile::compare_all() const {
  comparison_->finish();
}

std::span<const std::byte> EngineFile::section(SectionKind kind, size_t index) const {
  for (const Section& section : sections_) {
    if (section.kind == kind && index-- == 0) return section.bytes;
  }
  throw damaged("a section is missing");
}

std::string_view EngineFile::text(SectionKind kind, size_t index) const {
  const auto bytes = section(kind, index);
  return {reinterpret_cast<const char*>(bytes.data()), bytes.size()};
}

void write_engine_file(const std::filesystem::path& path, std::span<const Section> sections) {
  static constexpr char kPadding[kAlignment] = {};
  std::vector<Entry> entries;
  size_t at = sizeof(Header) + sections.size() * sizeof(Entry);
  for (const Section& section : sections) {
    const size_t offset = aligned(at);
    entries.push_back({static_cast<uint32_t>(section.kind), 0, offset, section.bytes.size(),
                       hash_bytes(section.bytes.data(), section.bytes.size())});
    at = offset + section.bytes.size();
  }
  Header header{};
  std::memcpy(header.magic, kMagic, sizeof kMagic);
  header.format = EngineFile::kFormat;
  header.section_count = static_cast<uint32_t>(sections.size());
  header.file_size = at;
  header.table_hash = hash_bytes(entries.data(), entries.size() * sizeof(Entry));
  header.header_hash = hash_of(header);
  std::vector<std::string_view> parts{
      {reinterpret_cast<const char*>(&header), sizeof header},
      {reinterpret_cast<const char*>(entries.data()), entries.size() * sizeof(Entry)}};
  at = sizeof header + entries.size() * sizeof(Entry);
  for (size_t i = 0; i < sections.size(); ++i) {
    parts.emplace_back(kPadding, entries[i].offset - at);
    parts.emplace_back(reinterpret_cast<const char*>(sections[i].bytes.data()), sections[i].bytes.size());
    at = entries[i].offset + sections[i].bytes.size();
  }
  write_file(path, parts, Durability::kOnDisk);
}

bool is_engine_file(const std::filesystem::path& path) {
  char first[sizeof kMagic] = {};
  std::ifstream(path, std::ios::binary).read(first, sizeof first);
  return std::memcmp(first, kMagic, sizeof kMagic) == 0;
}

}  // namespace vernier
