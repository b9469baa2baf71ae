//===- CsvReader.h - Rows and cells of a CSV file ---------------*- C++ -*-===//
//
// Cuts a text into rows and cells, as RFC 4180 and what spreadsheets write have
// it: cells may be quoted, lines end in \n or \r\n, the separator is a comma, a
// semicolon or a tab, whichever the first line has most of. Lines without
// anything are passed over.
//
// What the cells mean is CsvSource.cpp's.
//
// Why no library: those that Debian has (libcsv) do no more than these lines,
// in C, by a call back for every cell.
//
//===----------------------------------------------------------------------===//
#ifndef LWCC_RUNTIME_TRAIN_DATA_CSVREADER_H
#define LWCC_RUNTIME_TRAIN_DATA_CSVREADER_H

#include <cstdint>
#include <deque>
#include <string>
#include <string_view>
#include <vector>

namespace lwcc::rt::train {

class CsvReader {
public:
  /// `path` is for messages. The text must outlive the reader.
  CsvReader(std::string path, std::string_view text);

  /// The next row's cells, without quotes and without spaces around them; valid
  /// until the next call. False at the end. Throws Error(PATH:LINE: ...).
  bool next(std::vector<std::string_view> &cells);
  /// Of the last row, from 1.
  int64_t line() const { return rowLine; }

private:
  std::string_view quoted();

  std::string path;
  std::string_view rest;
  char separator = ',';
  int64_t nextLine = 1, rowLine = 0;
  std::deque<std::string> unescaped; ///< of cells that hold quotes
};

} // namespace lwcc::rt::train

#endif // LWCC_RUNTIME_TRAIN_DATA_CSVREADER_H
