//===- Unsupported.h - Operators that lwcc does not import ------*- C++ -*-===//
//
// What a person is told of the operators that no row of OnnxOpTable.cpp is for:
// a line per operator, however many nodes have it, with what to use instead.
//
//===----------------------------------------------------------------------===//
#ifndef LWCC_FRONTEND_UNSUPPORTED_H
#define LWCC_FRONTEND_UNSUPPORTED_H

#include "frontend/NodeView.h"
#include "frontend/Reporter.h"

#include "llvm/ADT/MapVector.h"

#include <map>
#include <string>
#include <vector>

namespace lwcc {

class UnsupportedOperators {
public:
  /// Whether the node's operator is not supported; it is counted then.
  bool take(const NodeView &node);
  /// An error for each operator, in the order of their first nodes.
  void report(Reporter &reporter) const;

private:
  using Operator = std::pair<std::string, std::string>; ///< domain, name
  llvm::MapVector<Operator, std::vector<std::string>,
                  std::map<Operator, unsigned>>
      nodes;
};

} // namespace lwcc

#endif // LWCC_FRONTEND_UNSUPPORTED_H
