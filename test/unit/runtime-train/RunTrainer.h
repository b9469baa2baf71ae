//===- RunTrainer.h - Runs a trainer inside the test ------------*- C++ -*-===//
//
// Calls trainMain with flags, by default on the program of FakeProgram.h;
// captures its output, and reads the records of --log.
//
//===----------------------------------------------------------------------===//
#ifndef LWCC_TEST_RUNTIMETRAIN_RUNTRAINER_H
#define LWCC_TEST_RUNTIMETRAIN_RUNTRAINER_H

#include "FakeProgram.h"
#include "TestFiles.h"
#include "runtime/train/files/Json.h"

#include <gtest/gtest.h>

#include <cstdlib>
#include <sstream>

namespace lwcc::rt {

/// The exit code and the output of a trainer.
struct TrainerRun {
  int code;
  std::string out, err;
};

inline TrainerRun runTrainer(std::vector<std::string> arguments,
                             const Program &program = makeFakeProgram()) {
  arguments.insert(arguments.begin(), "trainer");
  std::vector<char *> argv;
  for (std::string &argument : arguments)
    argv.push_back(argument.data());
  argv.push_back(nullptr);
  testing::internal::CaptureStdout();
  testing::internal::CaptureStderr();
  int code =
      trainMain(static_cast<int>(arguments.size()), argv.data(), program);
  TrainerRun run{code, testing::internal::GetCapturedStdout(),
                 testing::internal::GetCapturedStderr()};
  return run;
}

/// While it lives, machines are lazy (FakeMachine.h) if it says so.
class Laziness {
public:
  explicit Laziness(bool lazy) {
    if (lazy)
      ::setenv("FAKE_LAZY", "1", 1);
  }
  ~Laziness() { ::unsetenv("FAKE_LAZY"); }
  Laziness(const Laziness &) = delete;
  Laziness &operator=(const Laziness &) = delete;
};

/// The records that --log has written.
inline std::vector<train::Json> readLog(const std::string &path) {
  std::vector<train::Json> records;
  std::istringstream lines(readFile(path));
  for (std::string line; std::getline(lines, line);)
    records.push_back(train::parseJson(line, path));
  return records;
}

/// The values of one member, as text, from every record that has it.
inline std::vector<std::string> column(const std::vector<train::Json> &records,
                                       const std::string &name) {
  std::vector<std::string> values;
  for (const train::Json &record : records)
    if (const train::Json *value = record.find(name))
      values.push_back(value->kind == train::Json::null ? "null" : value->text);
  return values;
}

} // namespace lwcc::rt

#endif // LWCC_TEST_RUNTIMETRAIN_RUNTRAINER_H
