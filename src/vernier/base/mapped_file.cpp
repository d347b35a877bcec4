#include <fcntl.h>
#include <sys/mman.h>

#include <cerrno>
#include <cstring>
#include <mutex>

#include "vernier/base/descriptor.h"
#include "vernier/base/error.h"
#include "vernier/base/file.h"
#include "vernier/base/truncation_guard.h"

namespace vernier {

namespace fs = std::filesystem;

namespace {

// All files that are mapped, by their first byte.
struct MappedFiles {
  std::mutex mutex;
  std::map<const std::byte*, std::weak_ptr<const MappedFile>> by_address;
  std::optional<Error> loss;  // of a file that is unmapped by now
};

MappedFiles& mapped_files() {
  static auto* all = new MappedFiles;  // files may be unmapped while the process ends
  return *all;
}

// To be released without the lock, for the last one to do so takes it.
std::vector<std::shared_ptr<const MappedFile>> all_mapped() {
  std::vector<std::shared_ptr<const MappedFile>> files;
  const std::lock_guard lock(mapped_files().mutex);
  for (const auto& [address, file] : mapped_files().by_address) {
    if (auto mapped = file.lock()) files.push_back(std::move(mapped));
  }
  return files;
}

bool same_time(const timespec& a, const timespec& b) {
  return a.tv_sec == b.tv_sec && a.tv_nsec == b.tv_nsec;
}

Error changed(const fs::path& path, const char* what) {
  return bad_input("{} while it was in use", what)
      .in_file(path)
      .advise("let files be as they are while they are read, or replace them by renaming a new one");
}

}  // namespace

Descriptor open_to_read(const fs::path& path) {
  Descriptor fd(::open(path.c_str(), O_RDONLY | O_CLOEXEC | O_NONBLOCK));
  if (fd < 0) throw bad_input("cannot open: {}", std::strerror(errno)).in_file(path);
  if (!S_ISREG(status_of(fd, path).st_mode)) throw bad_input("is not a regular file").in_file(path);
  return fd;
}

struct stat status_of(int fd, const fs::path& path) {
  struct stat info {};
  if (::fstat(fd, &info) != 0) throw bad_input("cannot be read: {}", std::strerror(errno)).in_file(path);
  return info;
}

struct MappedFile::State {
  explicit State(const fs::path& of) : path(of), fd(open_to_read(of)), opened(status_of(fd, of)) {}

  fs::path path;
  Descriptor fd;
  struct stat opened;                    // as it was
  std::optional<TruncationGuard> guard;  // none of an empty file

  // Says what happened to the file, if it has changed.
  std::optional<Error> change() const {
    if (guard && guard->was_cut()) return changed(path, "the file was cut off, or could not be read,");
    const struct stat now = status_of(fd, path);
    if (now.st_size != opened.st_size || !same_time(now.st_mtim, opened.st_mtim))
      return changed(path, "the file was changed");
    return std::nullopt;
  }
};

MappedFile::MappedFile(std::unique_ptr<State> state) : state_(std::move(state)) {}

std::shared_ptr<const MappedFile> MappedFile::open(const fs::path& path) {
  std::shared_ptr<MappedFile> file(new MappedFile(std::make_unique<State>(path)));
  const auto size = static_cast<size_t>(file->state_->opened.st_size);
  if (size == 0) return file;
  void* address = ::mmap(nullptr, size, PROT_READ, MAP_PRIVATE, file->state_->fd, 0);
  if (address == MAP_FAILED) throw bad_input("cannot map: {}", std::strerror(errno)).in_file(path);
  file->data_ = static_cast<const std::byte*>(address);
  file->size_ = size;
  file->state_->guard.emplace(address, size);
  const std::lock_guard lock(mapped_files().mutex);
  mapped_files().by_address[file->data_] = file;
  return file;
}

MappedFile::~MappedFile() {
  if (data_ == nullptr) return;
  {
    const std::lock_guard lock(mapped_files().mutex);
    mapped_files().by_address.erase(data_);
    auto& loss = mapped_files().loss;
    try {
      if (!loss && state_->guard && state_->guard->was_cut()) loss = state_->change();
    } catch (const std::bad_alloc&) {
      // There is no memory even for saying so.
    }
  }
  state_->guard.reset();
  ::munmap(const_cast<std::byte*>(data_), size_);
}

void MappedFile::require_unchanged() const {
  if (const auto change = state_->change()) throw *change;
}

void MappedFile::require_all_unchanged() {
  {
    const std::lock_guard lock(mapped_files().mutex);
    if (mapped_files().loss) throw *mapped_files().loss;
  }
  for (const auto& file : all_mapped()) file->require_unchanged();
}

std::shared_ptr<const MappedFile> MappedFile::containing(const void* address) {
  const auto* byte = static_cast<const std::byte*>(address);
  std::shared_ptr<const MappedFile> file;  // released when the lock is
  const std::lock_guard lock(mapped_files().mutex);
  const auto& files = mapped_files().by_address;
  const auto behind = files.upper_bound(byte);
  if (behind != files.begin()) file = std::prev(behind)->second.lock();
  return file && byte < file->data_ + file->size_ ? file : nullptr;
}

bool MappedFile::is_mapped(const fs::path& path) {
  struct stat wanted {};
  if (::stat(path.c_str(), &wanted) != 0) return false;
  const auto files = all_mapped();
  return std::any_of(files.begin(), files.end(), [&](const auto& file) {
    const struct stat& opened = file->state_->opened;
    return opened.st_dev == wanted.st_dev && opened.st_ino == wanted.st_ino;
  });
}

}  // namespace vernier
