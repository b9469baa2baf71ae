//===- Groups.cpp - What shares one function of the text ------------------===//

#include "codegen/Groups.h"

#include "llvm/ADT/MapVector.h"
#include "llvm/ADT/STLExtras.h"
#include "llvm/ADT/TypeSwitch.h"

#include <set>

using namespace mlir;
using namespace lwcc;
using namespace lwcc::exec;

bool Group::hasMicroBatches() const {
  return llvm::any_of(members, [&](const Member &member) {
    return member.microBatch != members[0].microBatch;
  });
}

int64_t Group::microBatches() const {
  int64_t count = 0;
  for (const Member &member : members)
    count = std::max(count, member.microBatch + 1);
  return count;
}

/// What a device does in a segment, as statements.
static FailureOr<Member>
memberOf(ArrayRef<Operation *> ops, int64_t device, ProgramNames &names,
         const llvm::DenseMap<StringAttr, int> &recorder) {
  StatementBuilder builder(names, device);
  for (Operation *op : ops) {
    int64_t number = 0, by = 0;
    TypeSwitch<Operation *>(op).Case<RecordOp, WaitOp>([&](auto sync) {
      number =
          names.eventNumber(names.symbols.lookup<EventOp>(sync.getEvent()));
      by = recorder.lookup(sync.getEventAttr().getAttr());
    });
    if (failed(builder.add(op, number, by)))
      return failure();
  }
  Member member{device, 0, {}, {{}}};
  for (Statement &each : builder.take())
    if (each.kind == Statement::record || each.kind == Statement::wait) {
      member.gaps.back().push_back(std::move(each));
    } else {
      member.calls.push_back(std::move(each));
      member.gaps.emplace_back();
    }
  return member;
}

/// Gives the members of a device different micro-batches: those of their
/// segments, or their numbers in the group if these are equal or missing.
static void numberMembers(Group &group) {
  std::set<std::pair<int64_t, int64_t>> taken;
  bool areUnlike = llvm::all_of(group.members, [&](const Member &member) {
    return member.microBatch >= 0 &&
           taken.insert({member.device, member.microBatch}).second;
  });
  if (areUnlike)
    return;
  std::map<int64_t, int64_t> counts; // by device
  for (Member &member : group.members)
    member.microBatch = counts[member.device]++;
}

FailureOr<Grouping> lwcc::groupsOf(SequenceOp sequence, ProgramNames &names,
                                   bool byMicroBatch) {
  llvm::DenseMap<StringAttr, int> recorder;
  for (auto record : sequence.getBody().getOps<RecordOp>())
    recorder[record.getEventAttr().getAttr()] = deviceOf(record, names);

  llvm::MapVector<std::string, Group, std::map<std::string, unsigned>> groups;
  std::vector<std::pair<size_t, size_t>> order; // group, member
  for (const Segment &segment : segmentsOf(sequence, names, byMicroBatch)) {
    // Within a segment no device waits for another, so groups follow each
    // other.
    llvm::MapVector<size_t, std::vector<size_t>> found;
    for (auto [device, ops] : llvm::enumerate(segment.ops)) {
      if (ops.empty())
        continue;
      FailureOr<Member> member = memberOf(ops, device, names, recorder);
      if (failed(member))
        return failure();
      member->microBatch = segment.microBatch;
      std::string shape = std::to_string(int(segment.section));
      for (const Statement &call : member->calls)
        shape += call.shape();
      auto entry = groups.try_emplace(shape).first;
      Group &group = entry->second;
      group.section = segment.section;
      found[entry - groups.begin()].push_back(group.members.size());
      group.members.push_back(std::move(*member));
    }
    for (auto &[group, members] : found)
      for (size_t member : members)
        order.push_back({group, member});
  }

  Grouping grouping;
  for (auto &[shape, group] : groups) {
    numberMembers(group);
    grouping.groups.push_back(std::move(group));
  }
  for (auto [group, member] : order) {
    const Member &next = grouping.groups[group].members[member];
    Step *last = grouping.steps.empty() ? nullptr : &grouping.steps.back();
    if (last && last->group == group && last->microBatch == next.microBatch &&
        last->devices.back() < next.device)
      last->devices.push_back(next.device);
    else
      grouping.steps.push_back({group, {next.device}, next.microBatch});
  }
  return grouping;
}
