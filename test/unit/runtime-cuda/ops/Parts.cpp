//===- Parts.cpp - Checks that cannot silence each other ------------------===//

#include "Parts.h"
#include "runtime/core/Error.h"

#include <cerrno>
#include <cstdio>
#include <cstring>
#include <exception>

#include <sys/wait.h>
#include <unistd.h>

using namespace lwcc;
using namespace lwcc::check;

/// The whole life of a part's process. Its counts go through the pipe, because
/// an exit code holds too little.
[[noreturn]] static void runChild(const Part &part, int pipe) {
  int code = exitFailed;
  try {
    Counts counts = part.run();
    bool sent = write(pipe, &counts, sizeof(counts)) == sizeof(counts);
    code = sent && counts.failures == 0 ? exitPassed : exitFailed;
  } catch (const rt::NoDevice &error) {
    std::fprintf(stderr, "ops-check: %s\n", error.what());
    code = exitNoDevice;
  } catch (const std::exception &error) {
    std::printf("FAILED %s: %s\n", part.name.c_str(), error.what());
  }
  std::fflush(nullptr);
  // Not exit(): what a broken device's libraries do then is of no interest.
  _exit(code);
}

ExitCode check::runParts(const std::vector<Part> &parts) {
  Counts sum;
  bool failed = false;
  for (const Part &part : parts) {
    std::fflush(nullptr); // or the child prints it again
    int ends[2];
    pid_t child = pipe(ends) == 0 ? fork() : -1;
    if (child < 0) {
      std::printf("FAILED %s: cannot start a process: %s\n", part.name.c_str(),
                  std::strerror(errno));
      return exitFailed;
    }
    if (child == 0) {
      close(ends[0]);
      runChild(part, ends[1]);
    }
    close(ends[1]);
    Counts counts;
    bool counted = read(ends[0], &counts, sizeof(counts)) == sizeof(counts);
    close(ends[0]);
    int status = 0;
    while (waitpid(child, &status, 0) < 0 && errno == EINTR) {
    }
    if (WIFEXITED(status) && WEXITSTATUS(status) == exitNoDevice)
      return failed ? exitFailed : exitNoDevice;
    if (WIFSIGNALED(status))
      std::printf("FAILED %s: ended by signal %d (%s)\n", part.name.c_str(),
                  WTERMSIG(status), strsignal(WTERMSIG(status)));
    // A part that did not come to its end is one failed check.
    if (!counted)
      counts = {1, 1};
    else if (!WIFEXITED(status) || WEXITSTATUS(status) > exitFailed)
      ++counts.failures;
    std::printf("%-32s %5d checks, %d failed\n", part.name.c_str(),
                counts.checks, counts.failures);
    sum.checks += counts.checks;
    sum.failures += counts.failures;
    failed |= counts.failures > 0;
  }
  std::printf("%d checks, %d failed\n", sum.checks, sum.failures);
  std::fflush(stdout);
  return failed ? exitFailed : exitPassed;
}
