//===- Unsupported.h - Operators that lwcc does not import ------*- C++ -*-===//
//
// The errors about operators without a row in OnnxOpTable.cpp: one for each
// operator, however many nodes have it, with what to use instead.
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
  /// Returns whether the node's operator has no row, and counts the node if so.
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
