#include "vernier/base/file_writer.h"

#include <fcntl.h>
#include <sys/stat.h>
#include <unistd.h>

#include <atomic>
#include <cerrno>
#include <cstdio>
#include <cstring>

#include "vernier/base/leftovers.h"

namespace vernier {

namespace fs = std::filesystem;

namespace {

// Where a chain of links ends, whether or not there is something.
fs::path end_of_links(fs::path path) {
  constexpr int kLongest = 40;
  std::error_code error;
  for (int i = 0; i < kLongest && fs::is_symlink(fs::symlink_status(path, error)); ++i) {
    const fs::path next = fs::read_symlink(path, error);
    if (error) break;
    path = next.is_absolute() ? next : path.parent_path() / next;
  }
  return path;
}

// A descriptor of ours that is this file already, such as /dev/stdout; -1 if there is none.
int standard_descriptor(const struct stat& file) {
  for (const int fd : {STDOUT_FILENO, STDERR_FILENO}) {
    struct stat ours {};
    if (::fstat(fd, &ours) != 0 || ours.st_dev != file.st_dev || ours.st_ino != file.st_ino) continue;
    std::fflush(fd == STDOUT_FILENO ? stdout : stderr);  // what was said before stands before
    return ::fcntl(fd, F_DUPFD_CLOEXEC, STDERR_FILENO + 1);
  }
  return -1;
}

}  // namespace

FileWriter::FileWriter(const fs::path& path) : path_(path) {
  struct stat info {};
  if (::stat(path.c_str(), &info) == 0) {
    if (S_ISDIR(info.st_mode)) throw usage_error("is a folder, where a file is to be written").in_file(path);
    fd_ = standard_descriptor(info);
    if (fd_ < 0 && !S_ISREG(info.st_mode)) {
      fd_ = ::open(path.c_str(), O_WRONLY | O_CLOEXEC | O_NOCTTY);
      if (fd_ < 0) throw failure(ErrorCode::kUsage, "open");
    }
  }
  if (fd_ < 0) create();
}

void FileWriter::create() {
  target_ = end_of_links(path_);
  // Not made from the name of the file, which may be as long as a name can be.
  static std::atomic<uint64_t> count{0};
  const fs::path temporary = target_.parent_path() / fmt::format(".vernier-{}-{}.tmp", ::getpid(), count++);
  const auto lock = lock_leftovers();
  ::unlink(temporary.c_str());  // of a process that had our number and was killed
  fd_ = ::open(temporary.c_str(), O_WRONLY | O_CREAT | O_EXCL | O_NOFOLLOW | O_CLOEXEC, 0644);
  if (fd_ < 0) throw failure(ErrorCode::kUsage, "create");
  temporary_ = temporary;
  note_leftover(temporary_);
}

FileWriter::~FileWriter() {
  if (fd_ >= 0) ::close(fd_);
  if (temporary_.empty()) return;
  const auto lock = lock_leftovers();
  ::unlink(temporary_.c_str());
  forget_leftover(temporary_);
}

Error FileWriter::failure(ErrorCode code, const char* what) const {
  return Error(code, fmt::format("cannot {}: {}", what, std::strerror(errno))).in_file(path_);
}

void FileWriter::write(std::string_view bytes) {
  while (!bytes.empty()) {
    const ssize_t written = ::write(fd_, bytes.data(), bytes.size());
    if (written < 0 && errno == EINTR) continue;
    if (written < 0) throw failure(ErrorCode::kBadInput, "write");
    bytes.remove_prefix(static_cast<size_t>(written));
    size_ += static_cast<size_t>(written);
  }
}

void FileWriter::commit(Durability durability) {
  const bool renames = !temporary_.empty();
  if (renames && durability == Durability::kOnDisk && ::fsync(fd_) != 0)
    throw failure(ErrorCode::kBadInput, "write");
  if (::close(std::exchange(fd_, -1)) != 0) throw failure(ErrorCode::kBadInput, "write");
  if (!renames) return;
  const auto lock = lock_leftovers();
  if (::rename(temporary_.c_str(), target_.c_str()) != 0) throw failure(ErrorCode::kUsage, "rename");
  forget_leftover(temporary_);
  temporary_.clear();
}

}  // namespace vernier
