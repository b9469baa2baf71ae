//===- Subcommands.h - What lwcc does besides compiling ---------*- C++ -*-===//
//
// `lwcc NAME ...`: each has a command line and a file of its own; the table is
// in lwcc.cpp.
//
//===----------------------------------------------------------------------===//
#ifndef LWCC_TOOLS_LWCC_SUBCOMMANDS_H
#define LWCC_TOOLS_LWCC_SUBCOMMANDS_H

namespace lwcc {

/// `argv[0]` is "lwcc inspect", "lwcc machine", "lwcc plan", "lwcc profile".
int inspectMain(int argc, char **argv);
int machineMain(int argc, char **argv);
int planMain(int argc, char **argv);
int profileMain(int argc, char **argv);

} // namespace lwcc

#endif // LWCC_TOOLS_LWCC_SUBCOMMANDS_H
