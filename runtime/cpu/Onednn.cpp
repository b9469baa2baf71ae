//===- Onednn.cpp - Running one oneDNN primitive ----------------*- C++ -*-===//
//
// See Onednn.h.
//
//===----------------------------------------------------------------------===//
#include "runtime/cpu/Onednn.h"

#include <algorithm>

using dnnl::memory;

namespace lwcc::rt {

static constexpr int64_t workspaceAlignment = 256;

const dnnl::engine &cpuEngine() {
  static const dnnl::engine engine(dnnl::engine::kind::cpu, 0);
  return engine;
}

std::string describeOnednn() {
  const dnnl_version_t &version = *dnnl::version();
  const char *isa = "SSE";
  switch (dnnl::get_effective_cpu_isa()) {
  case dnnl::cpu_isa::sse41:
    isa = "SSE4.1";
    break;
  case dnnl::cpu_isa::avx:
    isa = "AVX";
    break;
  case dnnl::cpu_isa::avx2:
  case dnnl::cpu_isa::avx2_vnni:
  case dnnl::cpu_isa::avx2_vnni_2:
    isa = "AVX2";
    break;
  case dnnl::cpu_isa::isa_default:
    isa = "portable";
    break;
  default:
    isa = "AVX-512";
  }
  return "oneDNN " + std::to_string(version.major) + "." +
         std::to_string(version.minor) + "." + std::to_string(version.patch) +
         ", " + isa;
}

memory::desc plainDesc(const Tensor &t) {
  if (t.rank == 0)
    return memory::desc({1}, memory::data_type::f32, memory::dims{1});
  return memory::desc(
      memory::dims(t.dim.begin(), t.dim.begin() + t.rank),
      memory::data_type::f32,
      memory::dims(t.stride.begin(), t.stride.begin() + t.rank));
}

dnnl::primitive_attr userScratchpad() {
  dnnl::primitive_attr attr;
  attr.set_scratchpad_mode(dnnl::scratchpad_mode::user);
  return attr;
}

OnednnCall::OnednnCall(CpuLane &lane, const dnnl::primitive_desc_base &pd,
                       dnnl::primitive primitive)
    : lane(lane), primitive(std::move(primitive)), stream(cpuEngine()),
      scratchpad(pd.scratchpad_desc()),
      scratchpadBytes(static_cast<int64_t>(scratchpad.get_size())) {}

memory OnednnCall::place(const memory::desc &desc) {
  memory at(desc, cpuEngine(), DNNL_MEMORY_NONE);
  placed.push_back({at, workspace});
  int64_t bytes = static_cast<int64_t>(desc.get_size());
  workspace += (bytes + workspaceAlignment - 1) / workspaceAlignment *
               workspaceAlignment;
  return at;
}

void OnednnCall::bind(int argument, const Tensor &t, const memory::desc &plain,
                      const memory::desc &wanted, bool isInput) {
  memory tensor(plain, cpuEngine(), t.data);
  if (plain == wanted) {
    arguments.emplace(argument, tensor);
    return;
  }
  memory packed = place(wanted);
  memory from = isInput ? tensor : packed, to = isInput ? packed : tensor;
  dnnl::reorder::primitive_desc pd(from, to, userScratchpad());
  Reorder reorder{dnnl::reorder(pd), {}};
  reorder.arguments = {{DNNL_ARG_FROM, from}, {DNNL_ARG_TO, to}};
  memory::desc scratch = pd.scratchpad_desc();
  if (scratch.get_size() > 0)
    reorder.arguments.emplace(DNNL_ARG_SCRATCHPAD, place(scratch));
  (isInput ? before : after).push_back(std::move(reorder));
  arguments.emplace(argument, packed);
}

void OnednnCall::input(int argument, const Tensor &t, const memory::desc &plain,
                       const memory::desc &wanted) {
  bind(argument, t, plain, wanted, true);
}

void OnednnCall::output(int argument, const Tensor &t,
                        const memory::desc &plain, const memory::desc &wanted) {
  bind(argument, t, plain, wanted, false);
}

void OnednnCall::finish() {
  if (scratchpadBytes > 0)
    arguments.emplace(DNNL_ARG_SCRATCHPAD, place(scratchpad));
  lane.needWorkspace(workspace);
}

void OnednnCall::run() {
  // At the end, the scratchpad last: a primitive that writes past it is
  // stopped.
  char *begin = lane.workspaceEnd() - workspace;
  for (Placed &p : placed)
    p.memory.set_data_handle(begin + p.offset);
  for (Reorder &r : before)
    r.primitive.execute(stream, r.arguments);
  primitive.execute(stream, arguments);
  for (Reorder &r : after)
    r.primitive.execute(stream, r.arguments);
}

} // namespace lwcc::rt
