#include "vernier/base/file.h"

#include <fcntl.h>
#include <sys/mman.h>
#include <sys/stat.h>
#include <unistd.h>

#include <cerrno>
#include <cstdlib>
#include <cstring>

#include "vernier/base/error.h"

namespace vernier {

namespace fs = std::filesystem;

std::shared_ptr<const MappedFile> MappedFile::open(const fs::path& path) {
  const int fd = ::open(path.c_str(), O_RDONLY | O_CLOEXEC | O_NONBLOCK);
  if (fd < 0) throw bad_input("cannot open: {}", std::strerror(errno)).in_file(path);
  struct stat info {};
  if (::fstat(fd, &info) != 0 || !S_ISREG(info.st_mode)) {
    ::close(fd);
    throw bad_input("is not a regular file").in_file(path);
  }
  std::shared_ptr<MappedFile> file(new MappedFile);
  file->size_ = static_cast<size_t>(info.st_size);
  if (file->size_ > 0) {
    void* address = ::mmap(nullptr, file->size_, PROT_READ, MAP_PRIVATE, fd, 0);
    if (address == MAP_FAILED) {
      file->size_ = 0;
      const int code = errno;
      ::close(fd);
      throw bad_input("cannot map: {}", std::strerror(code)).in_file(path);
    }
    file->data_ = static_cast<const std::byte*>(address);
  }
  ::close(fd);
  return file;
}

MappedFile::~MappedFile() {
  if (data_ != nullptr) ::munmap(const_cast<std::byte*>(data_), size_);
}

std::string read_file(const fs::path& path) {
  const auto file = MappedFile::open(path);
  const auto bytes = file->bytes();
  return std::string(reinterpret_cast<const char*>(bytes.data()), bytes.size());
}

void write_file(const fs::path& path, std::string_view content) {
  const fs::path temporary = path.string() + fmt::format(".{}.tmp", ::getpid());
  const auto fail = [&](const char* what) {
    const int code = errno;
    ::unlink(temporary.c_str());
    return usage_error("cannot {}: {}", what, std::strerror(code)).in_file(path);
  };
  const int fd = ::open(temporary.c_str(), O_WRONLY | O_CREAT | O_TRUNC | O_CLOEXEC, 0644);
  if (fd < 0) throw fail("create");
  while (!content.empty()) {
    const ssize_t written = ::write(fd, content.data(), content.size());
    if (written < 0 && errno == EINTR) continue;
    if (written < 0) {
      const auto error = fail("write");
      ::close(fd);
      throw error;
    }
    content.remove_prefix(static_cast<size_t>(written));
  }
  if (::close(fd) != 0) throw fail("write");
  if (::rename(temporary.c_str(), path.c_str()) != 0) throw fail("rename");
}

fs::path resolve_inside(const fs::path& folder, const std::string& relative) {
  const auto refuse = [&](const char* why) {
    return bad_input("external data location '{}' {}", relative, why)
        .advise("external data must lie inside the folder of the model");
  };
  const fs::path wanted(relative);
  if (relative.empty() || relative.find('\0') != std::string::npos) throw refuse("is not a file name");
  if (wanted.is_absolute()) throw refuse("is an absolute path");
  for (const auto& part : wanted) {
    if (part == "..") throw refuse("leads out of the folder of the model");
  }
  std::error_code error;
  const fs::path root = fs::canonical(folder.empty() ? fs::path(".") : folder, error);
  if (error) throw bad_input("cannot open folder '{}'", folder.string());
  const fs::path full = fs::canonical(root / wanted, error);
  if (error) throw refuse("does not exist");
  const auto [end_of_root, unused] = std::mismatch(root.begin(), root.end(), full.begin(), full.end());
  if (end_of_root != root.end()) throw refuse("is a link that leads out of the folder of the model");
  return full;
}

TemporaryFolder::TemporaryFolder() {
  std::string name = (fs::temp_directory_path() / "vernier-XXXXXX").string();
  if (::mkdtemp(name.data()) == nullptr) {
    throw internal_error("cannot create a temporary folder: {}", std::strerror(errno));
  }
  path_ = name;
}

TemporaryFolder::~TemporaryFolder() {
  std::error_code ignored;
  fs::remove_all(path_, ignored);
}

}  // namespace vernier
