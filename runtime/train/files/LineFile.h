//===- LineFile.h - A file that grows by whole lines ------------*- C++ -*-===//
//
// Output that is read while it is written: every line is in the file when
// append() returns, and every line in a file is whole, also the last one on a
// disk that is full. What the lines say is the callers' business.
//
//===----------------------------------------------------------------------===//
#ifndef LWCC_RUNTIME_TRAIN_FILES_LINEFILE_H
#define LWCC_RUNTIME_TRAIN_FILES_LINEFILE_H

#include <string>
#include <string_view>

namespace lwcc::rt::train {

class LineFile {
public:
  /// No path: nothing is written. `keep`: what the file has stays. Throws
  /// Error.
  LineFile(const std::string &path, bool keep);
  ~LineFile();
  LineFile(const LineFile &) = delete;
  LineFile &operator=(const LineFile &) = delete;

  bool isOpen() const { return descriptor >= 0; }
  /// Whether it is a file that has nothing in it yet, or none that has a size.
  bool isEmpty() const;
  /// `line` is without its end. Throws Error.
  void append(const std::string &line) { appendBytes(line + "\n"); }
  /// The same of a record that has no lines.
  void appendBytes(std::string_view bytes);

private:
  std::string path;
  int descriptor = -1;
};

} // namespace lwcc::rt::train

#endif // LWCC_RUNTIME_TRAIN_FILES_LINEFILE_H
