//===- Symbols.cpp - Names and lines of the program's own code ------------===//

#include "Symbols.h"

#include <cstdint>
#include <cstdio>
#include <cstdlib>
#include <cstring>
#include <fstream>
#include <iterator>
#include <vector>

#include <cxxabi.h>
#include <elf.h>
#include <unistd.h>

using namespace lwcc;

extern "C" {
extern const char __executable_start;
// Of the section; absent where there are no kernels.
extern const char __start_lwcc_kernels __attribute__((weak));
extern const char __stop_lwcc_kernels __attribute__((weak));
}

/// "sgdStep<float4>" of a mangled name.
static std::string readable(const char *mangled) {
  int status = 0;
  char *text = abi::__cxa_demangle(mangled, nullptr, nullptr, &status);
  std::string name = status == 0 ? text : mangled;
  std::free(text);
  for (const char *noise :
       {"(anonymous namespace)::", "lwcc::rt::cuda::", "lwcc::rt::", "void "})
    for (size_t at; (at = name.find(noise)) != std::string::npos;)
      name.erase(at, std::strlen(noise));
  // The parameters: the last bracket that is not within < >.
  int depth = 0;
  for (size_t i = 0; i < name.size(); ++i) {
    depth += name[i] == '<' ? 1 : name[i] == '>' ? -1 : 0;
    if (name[i] == '(' && depth == 0)
      return name.substr(0, i);
  }
  return name;
}

static std::map<const void *, std::string> readKernels() {
  std::map<const void *, std::string> kernels;
  const char *begin = &__start_lwcc_kernels, *end = &__stop_lwcc_kernels;
  std::ifstream file("/proc/self/exe", std::ios::binary);
  std::vector<char> image{std::istreambuf_iterator<char>(file), {}};
  if (!begin || image.size() < sizeof(Elf64_Ehdr))
    return kernels;
  auto *header = reinterpret_cast<const Elf64_Ehdr *>(image.data());
  auto *sections =
      reinterpret_cast<const Elf64_Shdr *>(image.data() + header->e_shoff);
  const char *base = header->e_type == ET_DYN ? &__executable_start : nullptr;
  for (int s = 0; s < header->e_shnum; ++s) {
    if (sections[s].sh_type != SHT_SYMTAB)
      continue;
    auto *symbols = reinterpret_cast<const Elf64_Sym *>(image.data() +
                                                        sections[s].sh_offset);
    const char *names = image.data() + sections[sections[s].sh_link].sh_offset;
    for (size_t i = 0; i < sections[s].sh_size / sizeof(Elf64_Sym); ++i) {
      const char *address = base + symbols[i].st_value;
      if (ELF64_ST_TYPE(symbols[i].st_info) == STT_FUNC && address >= begin &&
          address < end)
        kernels[address] = readable(names + symbols[i].st_name);
    }
  }
  return kernels;
}

const std::map<const void *, std::string> &emulation::kernels() {
  static const std::map<const void *, std::string> all = readKernels();
  return all;
}

std::string emulation::lineOf(const void *site) {
  static std::map<const void *, std::string> known;
  auto [at, isNew] = known.try_emplace(site);
  if (!isNew)
    return at->second;
  // The call is before the place to which it returns.
  const auto offset = static_cast<const char *>(site) - &__executable_start - 1;
  char command[96], line[512] = {};
  std::snprintf(command, sizeof(command),
                "addr2line -e /proc/%d/exe 0x%llx 2>/dev/null", getpid(),
                static_cast<unsigned long long>(offset));
  if (FILE *pipe = popen(command, "r")) {
    if (std::fgets(line, sizeof(line), pipe))
      line[std::strcspn(line, "\n ")] = '\0';
    pclose(pipe);
  }
  const char *slash = std::strrchr(line, '/');
  at->second = std::strchr(line, '?') ? "" : slash ? slash + 1 : line;
  return at->second;
}
