//===- Compare.cpp - What each strategy would cost ------------------------===//

#include "passes/plan/Compare.h"
#include "passes/plan/Price.h"

#include "llvm/ADT/STLExtras.h"
#include "llvm/Support/Format.h"
#include "llvm/Support/raw_ostream.h"

#include <chrono>

using namespace lwcc::plan;

std::string lwcc::plan::compareStrategies(const Problem &problem) {
  const auto &[graph, machine, costs] = problem;
  struct Row {
    llvm::StringRef name;
    Seconds seconds;
    double search;
  };
  std::vector<Row> rows;
  for (const Solver &solver : solvers()) {
    auto start = std::chrono::steady_clock::now();
    Plan plan = solver.solve(problem);
    std::chrono::duration<double> search =
        std::chrono::steady_clock::now() - start;
    Row row{solver.name, {}, search.count()};
    for (const Seconds &layer : priceOf(graph, plan, machine, costs))
      row.seconds += layer;
    rows.push_back(row);
  }
  llvm::stable_sort(rows, [](const Row &a, const Row &b) {
    return a.seconds.total() < b.seconds.total();
  });

  std::string text;
  llvm::raw_string_ostream os(text);
  os << "strategies by predicted milliseconds of a step without overlap ("
     << costs.source() << ", " << machine.devices() << " devices):\n"
     << "  strategy     compute  transfer  update     total  images/s  "
        "exchanged MiB  search s\n";
  for (const Row &row : rows) {
    const Seconds &s = row.seconds;
    os << "  " << llvm::left_justify(row.name, 10)
       << llvm::format("%10.3f%10.3f%8.3f%10.3f%10.0f%15.1f%10.3f\n",
                       s.compute * 1e3, s.transfer * 1e3, s.sync * 1e3,
                       s.total() * 1e3,
                       static_cast<double>(graph.batch) / s.total(),
                       s.bytes / (1 << 20), row.search);
  }
  return text;
}
