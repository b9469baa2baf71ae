//===- TestFiles.h - Files for the trainer's tests --------------*- C++ -*-===//
//
// Files for the tests of runtime/train: temporary folders, data files in the
// formats that the trainer reads, and a limit on file sizes.
//
//===----------------------------------------------------------------------===//
#ifndef LWCC_TEST_RUNTIMETRAIN_TESTFILES_H
#define LWCC_TEST_RUNTIMETRAIN_TESTFILES_H

#include "runtime/core/Error.h"

#include <csignal>
#include <cstdint>
#include <filesystem>
#include <fstream>
#include <functional>
#include <iterator>
#include <string>
#include <vector>

#include <stdlib.h>
#include <sys/resource.h>

namespace lwcc::rt {

class TempFolder {
public:
  TempFolder() {
    std::string pattern =
        (std::filesystem::temp_directory_path() / "lwcc-test-XXXXXX").string();
    root = ::mkdtemp(pattern.data());
  }
  ~TempFolder() { std::filesystem::remove_all(root); }

  std::string operator/(const std::string &name) const {
    return (std::filesystem::path(root) / name).string();
  }
  const std::string &path() const { return root; }

private:
  std::string root;
};

inline void writeFile(const std::string &path, const std::string &bytes) {
  std::filesystem::create_directories(
      std::filesystem::path(path).parent_path());
  std::ofstream(path, std::ios::binary) << bytes;
}

inline std::string readFile(const std::string &path) {
  std::ifstream file(path, std::ios::binary);
  return {std::istreambuf_iterator<char>(file), {}};
}

template <typename T>
std::string bytesOfValues(const std::vector<T> &values) {
  return {reinterpret_cast<const char *>(values.data()),
          values.size() * sizeof(T)};
}

/// The bytes of a NumPy file, version 1, its header padded as numpy does.
inline std::string npyBytes(const std::string &descr, const std::string &shape,
                            const std::string &data,
                            const std::string &order = "False") {
  std::string header = "{'descr': '" + descr + "', 'fortran_order': " + order +
                       ", 'shape': " + shape + ", }";
  header.resize((10 + header.size() + 1 + 63) / 64 * 64 - 11, ' ');
  header += '\n';
  std::string bytes("\x93NUMPY\x01\x00", 8);
  bytes += static_cast<char>(header.size() & 0xFF);
  bytes += static_cast<char>(header.size() >> 8);
  return bytes + header + data;
}

inline std::string idxBytes(const std::vector<uint32_t> &dims,
                            const std::string &data, char type = 8) {
  std::string bytes{0, 0, type, static_cast<char>(dims.size())};
  for (uint32_t dim : dims)
    for (int shift : {24, 16, 8, 0})
      bytes += static_cast<char>(dim >> shift & 0xFF);
  return bytes + data;
}

/// Limits the size of files while it lives, like a full disk.
class FileSizeLimit {
public:
  explicit FileSizeLimit(rlim_t bytes) {
    ::getrlimit(RLIMIT_FSIZE, &old);
    rlimit limit{bytes, old.rlim_max};
    oldHandler = std::signal(SIGXFSZ, SIG_IGN);
    ::setrlimit(RLIMIT_FSIZE, &limit);
  }
  ~FileSizeLimit() {
    ::setrlimit(RLIMIT_FSIZE, &old);
    std::signal(SIGXFSZ, oldHandler);
  }

private:
  rlimit old;
  void (*oldHandler)(int);
};

/// The message of the Error that `action` throws, or "" if it throws none.
inline std::string errorOf(const std::function<void()> &action) {
  try {
    action();
  } catch (const Error &error) {
    return error.what();
  }
  return "";
}

} // namespace lwcc::rt

#endif // LWCC_TEST_RUNTIMETRAIN_TESTFILES_H
