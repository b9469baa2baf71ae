//===- ReadProgram.cpp - From an exec program to what prices see ----------===//

#include "passes/plan/model/ReadProgram.h"
#include "passes/plan/model/Call.h"

using namespace mlir;
using namespace lwcc;
using namespace lwcc::plan;

Program plan::readProgram(exec::ProgramOp program, StringRef sequence) {
  SymbolTable symbols(program);
  Program read;
  auto text = [&](StringRef name) {
    auto attribute = program->getAttrOfType<StringAttr>(name);
    return attribute ? attribute.str() : std::string();
  };
  read.name = text("exec.model");
  read.hash = text("exec.hash");
  read.plan = text("exec.plan");
  llvm::DenseMap<StringAttr, int> lanes, events;
  for (auto lane : program.getBody().getOps<exec::LaneOp>()) {
    lanes[lane.getSymNameAttr()] = static_cast<int>(read.lanes.size());
    read.lanes.push_back({lane.getSymName().str(), lane.getDevice().str(),
                          lane.isCopy(),
                          static_cast<int64_t>(lane.getThreads().value_or(1))});
  }
  auto add = [&](Program::Item::Kind kind, FlatSymbolRefAttr lane, size_t at) {
    read.items.push_back(
        {kind, lanes.lookup(lane.getAttr()), static_cast<int>(at)});
  };
  auto eventOf = [&](FlatSymbolRefAttr event) {
    return events.try_emplace(event.getAttr(), events.size()).first->second;
  };
  auto found = symbols.lookup<exec::SequenceOp>(sequence);
  for (Operation &op : found.getBody().front()) {
    if (auto record = dyn_cast<exec::RecordOp>(op)) {
      add(Program::Item::record, record.getLaneAttr(),
          eventOf(record.getEventAttr()));
    } else if (auto wait = dyn_cast<exec::WaitOp>(op)) {
      add(Program::Item::wait, wait.getLaneAttr(),
          eventOf(wait.getEventAttr()));
    } else if (auto call = dyn_cast<exec::CallOp>(op)) {
      add(Program::Item::call, call.getLaneAttr(), read.calls.size());
      read.calls.push_back({call.getCallee().str(), call.getLayer().str(),
                            phaseName(call.getPhase()).str(),
                            describe(call, symbols)});
    }
  }
  read.events = static_cast<int>(events.size());
  return read;
}
