//===- Races.cpp - Accesses that nothing orders ---------------------------===//

#include "Races.h"

#include <cstdio>
#include <cstdlib>

#include <sys/mman.h>

using namespace lwcc::emulation;

Races::Races(size_t reach) : pageCount(reach / pageBytes) {
  void *memory =
      mmap(nullptr, pageCount * sizeof(Page *), PROT_READ | PROT_WRITE,
           MAP_PRIVATE | MAP_ANONYMOUS | MAP_NORESERVE, -1, 0);
  if (memory == MAP_FAILED) {
    std::perror("emulation: no addresses for what is known of memory");
    std::abort();
  }
  pages = static_cast<Page **>(memory);
}

Races::~Races() {
  for (size_t page : touched)
    delete pages[page];
  munmap(pages, pageCount * sizeof(Page *));
}

/// Whether nothing orders an access behind an earlier one, of which one writes.
static bool collide(const Accessor &earlier, const Accessor &by) {
  if (earlier.op != by.op)
    return !happensBefore(earlier.op);
  if (earlier.atomic && by.atomic)
    return false;
  if (earlier.block != by.block)
    return true;
  return earlier.thread != by.thread && earlier.interval == by.interval;
}

/// Two reads of one piece of work as one.
static void merge(Accessor &reader, const Accessor &by) {
  if (reader.block != by.block)
    reader.block = reader.thread = Accessor::many;
  else if (reader.interval != by.interval)
    reader = by; // a barrier is between them
  else if (reader.thread != by.thread)
    reader.thread = Accessor::many;
}

bool Races::noteReader(Cell &cell, const Accessor &by) {
  if (cell.reader.op == by.op) {
    merge(cell.reader, by);
    return true;
  }
  if (cell.reader.op && !happensBefore(cell.reader.op)) {
    // Beside others that read: all are kept, the last one in the cell.
    if (!cell.moreReaders) {
      cell.moreReaders = static_cast<uint32_t>(more.size());
      more.emplace_back();
    }
    std::vector<Accessor> &others = more[cell.moreReaders];
    std::erase_if(others,
                  [](const Accessor &a) { return happensBefore(a.op); });
    for (Accessor &other : others)
      if (other.op == by.op) {
        std::swap(other, cell.reader);
        merge(cell.reader, by);
        return true;
      }
    others.push_back(cell.reader);
  }
  cell.reader = by;
  return true;
}

bool Races::note(Cell &cell, bool writes, bool atomic, Accessor &met) {
  const Accessor by{now.op, now.block, now.thread, now.interval, atomic};
  bool alone = true;
  auto meet = [&](const Accessor &earlier) {
    if (earlier.op && collide(earlier, by)) {
      met = earlier;
      alone = false;
    }
  };
  meet(cell.writer);
  if (!writes)
    return noteReader(cell, by) && alone;
  meet(cell.reader);
  if (cell.moreReaders) {
    for (const Accessor &reader : more[cell.moreReaders])
      meet(reader);
    more[cell.moreReaders].clear();
  }
  cell.writer = by;
  cell.reader = {};
  return alone;
}

void Races::split(Page &page, size_t bytesOfCell) {
  const size_t count = pageBytes / bytesOfCell;
  auto cells = std::make_unique<Cell[]>(count);
  for (size_t i = 0; i < count; ++i) {
    cells[i] = page.cells[i * bytesOfCell / page.bytesOfCell];
    if (cells[i].moreReaders) {
      more.push_back(std::vector(more[cells[i].moreReaders]));
      cells[i].moreReaders = static_cast<uint32_t>(more.size() - 1);
    }
  }
  page.cells = std::move(cells);
  page.bytesOfCell = bytesOfCell;
}

Races::Page &Races::pageFor(size_t offset, size_t bytes) {
  Page *&page = pages[offset / pageBytes];
  if (!page) {
    page = new Page;
    page->cells = std::make_unique<Cell[]>(1);
    touched.push_back(offset / pageBytes);
  }
  const size_t least = bytes == pageBytes        ? pageBytes
                       : offset % 4 || bytes % 4 ? 1
                                                 : 4;
  if (page->bytesOfCell > least)
    split(*page, least);
  return *page;
}

bool Races::note(size_t offset, size_t bytes, bool writes, bool atomic,
                 Accessor &met) {
  bool alone = true;
  while (bytes > 0) {
    const size_t inPage = offset % pageBytes;
    const size_t here = std::min(bytes, pageBytes - inPage);
    Page &page = pageFor(offset, here);
    const size_t size = page.bytesOfCell;
    for (size_t i = inPage / size; i < (inPage + here) / size; ++i)
      alone &= note(page.cells[i], writes, atomic, met);
    if (writes && here == pageBytes && size < pageBytes) {
      // One who wrote all of it is all that matters from now on.
      auto cell = std::make_unique<Cell[]>(1);
      cell[0].writer = page.cells[0].writer;
      page.cells = std::move(cell);
      page.bytesOfCell = pageBytes;
    }
    offset += here;
    bytes -= here;
  }
  return alone;
}

void Races::forget(size_t offset, size_t bytes) {
  while (bytes > 0) {
    const size_t inPage = offset % pageBytes;
    const size_t here = std::min(bytes, pageBytes - inPage);
    if (pages[offset / pageBytes]) {
      Page &page = pageFor(offset, here);
      const size_t size = page.bytesOfCell;
      for (size_t i = inPage / size; i < (inPage + here) / size; ++i)
        page.cells[i] = {};
    }
    offset += here;
    bytes -= here;
  }
}
