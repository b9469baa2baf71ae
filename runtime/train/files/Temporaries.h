//===- Temporaries.h - Files that must not be left behind -------*- C++ -*-===//
//
// A file or folder under a temporary name goes away again unless it is kept:
// when its scope is left, and when a signal ends the program. What a kill -9
// leaves is found by its name and removed by the next run (OutputFiles.h,
// Checkpoint.h).
//
//===----------------------------------------------------------------------===//
#ifndef LWCC_RUNTIME_TRAIN_FILES_TEMPORARIES_H
#define LWCC_RUNTIME_TRAIN_FILES_TEMPORARIES_H

#include <string>

namespace lwcc::rt::train {

/// Owns a path that is about to be made. A folder's owner is made before those
/// of the files in it.
class Temporary {
public:
  explicit Temporary(std::string path);
  ~Temporary();
  Temporary(const Temporary &) = delete;
  Temporary &operator=(const Temporary &) = delete;

  const std::string &path() const { return name; }
  /// It has its final name now, or none.
  void keep();

private:
  std::string name;
  int slot; ///< -1: kept, or too many at a time for a signal to find it
};

/// Removes all that there are. May be called by a signal handler that then
/// ends the program.
void removeTemporaries();

} // namespace lwcc::rt::train

#endif // LWCC_RUNTIME_TRAIN_FILES_TEMPORARIES_H
