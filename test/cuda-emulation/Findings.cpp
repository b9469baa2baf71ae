//===- Findings.cpp - Accesses that are checked, and findings -------------===//

#include "Symbols.h"
#include "World.h"

#include <algorithm>
#include <cstdio>

using namespace lwcc;
using namespace lwcc::emulation;

//===----------------------------------------------------------------------===//
// The list
//===----------------------------------------------------------------------===//

void emulation::fault(const std::string &what) {
  World &w = world();
  // One of each piece of work and line says enough.
  if (now.op && !w.reported.insert({now.op, now.site}).second)
    return;
  std::string text = what + now.place();
  if (std::find(w.findings.begin(), w.findings.end(), text) != w.findings.end())
    return;
  w.findings.push_back(text);
  if (w.isOfProcess)
    std::fprintf(stderr, "emulation: %s\n", text.c_str());
}

const std::vector<std::string> &emulation::faults() { return world().findings; }
void emulation::clearFaults() {
  world().findings.clear();
  world().reported.clear();
}

std::string Execution::place() const {
  return site ? " (" + lineOf(site) + ")" : "";
}

//===----------------------------------------------------------------------===//
// Accesses
//===----------------------------------------------------------------------===//

/// "sumRows, thread 3 of block 0".
static std::string nameOf(const Accessor &by) {
  std::string text = ops[by.op].name;
  if (by.op != now.op)
    return text;
  auto number = [](uint32_t n) {
    return n == Accessor::many ? "several" : std::to_string(n);
  };
  if (by.block != now.block)
    return text + " in block " + number(by.block) + " and in block " +
           number(now.block);
  return text + " in threads " + number(by.thread) + " and " +
         number(now.thread) + " of a block, without a barrier between";
}

bool emulation::access(const void *address, size_t bytes, bool writes,
                       bool atomic) {
  World &w = world();
  if (w.memory.isPinned(address, bytes))
    return true;
  if (!w.memory.check(address, bytes, writes))
    return false;
  Accessor met;
  if (w.races.note(w.memory.offsetOf(address), bytes, writes, atomic, met))
    return true;
  const std::string what = w.memory.describe(address);
  if (met.op == now.op)
    fault("race: " + nameOf(met) + (writes ? " writes " : " reads ") + what);
  else
    fault(std::string("race: nothing orders ") + nameOf(met) + " and " +
          ops[now.op].name + ", which " + (writes ? "writes " : "reads ") +
          what);
  return true;
}

bool emulation::read(const void *address, size_t bytes) {
  return !bytes || access(address, bytes, false, false);
}
bool emulation::write(const void *address, size_t bytes) {
  return !bytes || access(address, bytes, true, false);
}

bool emulation::scribble(void *address, size_t bytes) {
  if (!write(address, bytes))
    return false;
  if (bytes)
    world().memory.poison(address, bytes);
  return true;
}

void emulation::forbid(const void *address, size_t bytes) {
  world().memory.forbid(address, bytes);
}
void emulation::allow(const void *address, size_t bytes) {
  World &w = world();
  w.memory.allow(const_cast<void *>(address), bytes);
  w.races.forget(w.memory.offsetOf(address), bytes);
}

//===----------------------------------------------------------------------===//
// What libraries ask
//===----------------------------------------------------------------------===//

bool emulation::isCapturing(cudaStream_t stream) {
  return streamOf(stream).capture != nullptr;
}
int emulation::deviceOf(cudaStream_t stream) { return streamOf(stream).device; }
uint32_t emulation::random() { return world().random(); }
uint32_t emulation::seed() { return world().seed; }
