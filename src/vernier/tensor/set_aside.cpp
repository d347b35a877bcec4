#include "vernier/tensor/set_aside.h"

#include <fcntl.h>
#include <sys/mman.h>
#include <unistd.h>

#include <cstdlib>
#include <filesystem>
#include <list>
#include <mutex>
#include <optional>

namespace vernier {

namespace {

constexpr size_t kPage = 4096, kWorthwhile = 16 * kPage;

// Where a content lies in the file of a process, and where it is mapped.
struct Region {
  pid_t process = 0;
  off_t offset = 0;
  size_t bytes = 0;
  void* memory = nullptr;
};

// The process has one.
class SetAside {
 public:
  static SetAside& instance() {
    static SetAside& all = *new SetAside;  // contents may outlive what ends with the program
    return all;
  }

  // A copy of the bytes; nothing where the system has no file or no room for it.
  std::optional<Region> keep(std::span<const std::byte> content) {
    const std::lock_guard lock(mutex_);
    if (file_process_ != ::getpid()) open();
    if (file_ < 0) return std::nullopt;
    Region region{file_process_, end_, content.size()};
    for (size_t written = 0; written < content.size();) {
      const ssize_t count = ::pwrite(file_, content.data() + written, content.size() - written,
                                     region.offset + static_cast<off_t>(written));
      if (count <= 0) {
        free_space(region);
        return std::nullopt;
      }
      written += static_cast<size_t>(count);
    }
    region.memory = ::mmap(nullptr, region.bytes, PROT_READ, MAP_SHARED, file_, region.offset);
    if (region.memory == MAP_FAILED) {
      free_space(region);
      return std::nullopt;
    }
    end_ += static_cast<off_t>((content.size() + kPage - 1) / kPage * kPage);
    return region;
  }

  void drop(const Region& region) {
    const std::lock_guard lock(mutex_);
    recent_.remove_if([&](const Region& each) { return each.memory == region.memory; });
    ::munmap(region.memory, region.bytes);
    free_space(region);
  }

  // The pages of those that were read longest ago leave memory. Reading them again brings them back, so this
  // is safe at any time.
  void note_read(const Region& region) {
    const std::lock_guard lock(mutex_);
    if (!recent_.empty() && recent_.front().memory == region.memory) return;
    recent_.remove_if([&](const Region& each) { return each.memory == region.memory; });
    recent_.push_front(region);
    size_t resident = 0;
    for (auto each = recent_.begin(); each != recent_.end();) {
      resident += each->bytes;
      if (resident <= kSetAsideResident || each == recent_.begin()) {
        ++each;
        continue;
      }
      ::madvise(each->memory, each->bytes, MADV_DONTNEED);
      each = recent_.erase(each);
    }
  }

 private:
  // A forked child begins a file of its own.
  void open() {
    std::error_code error;
    std::string name = std::filesystem::temp_directory_path(error) / "vernier-XXXXXX";
    file_ = error ? -1 : ::mkostemp(name.data(), O_CLOEXEC);
    if (file_ >= 0) ::unlink(name.c_str());
    file_process_ = ::getpid();
    end_ = 0;
  }

  void free_space(const Region& region) {
    if (region.process == ::getpid())  // not of the parent's file
      ::fallocate(file_, FALLOC_FL_PUNCH_HOLE | FALLOC_FL_KEEP_SIZE, region.offset,
                  static_cast<off_t>(region.bytes));
  }

  std::mutex mutex_;
  int file_ = -1;
  pid_t file_process_ = 0;  // that opened it
  off_t end_ = 0;
  std::list<Region> recent_;  // the last that was read first
};

class ContentSetAside : public DeferredContent {
 public:
  explicit ContentSetAside(const Region& region) : region_(region) {}
  ~ContentSetAside() override { SetAside::instance().drop(region_); }
  ContentSetAside(const ContentSetAside&) = delete;
  ContentSetAside& operator=(const ContentSetAside&) = delete;

  const void* get() const override {
    SetAside::instance().note_read(region_);
    return region_.memory;
  }

 private:
  Region region_;
};

}  // namespace

Tensor set_aside(const Tensor& tensor) {
  if (!tensor.is_defined() || tensor.is_deferred() || tensor.type() == ElementType::kString ||
      tensor.byte_size() < kWorthwhile)
    return tensor;
  const auto region = SetAside::instance().keep(tensor.bytes());
  if (!region) return tensor;
  return Tensor::deferred(tensor.type(), tensor.dims(), std::make_shared<ContentSetAside>(*region));
}

}  // namespace vernier
