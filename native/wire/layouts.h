// LayoutTable: the layouts that JavaScript has numbered and native code has checked. A tensor on the wire names its
// layout by the number. An import finds its layout here, and then only its pointer is checked. JavaScript thread only.
//
// A layout stays until JavaScript gives its place to another one. JavaScript does that only while it makes no request,
// so a layout that a request names is valid until the request ends. docs/design/layouts.md has the figures.
#pragma once

#include "../exchange/descriptor.h"

namespace dlpack {

// Zeroed memory is an empty table.
struct LayoutTable {
  // NULL for a number that is not kept.
  const Layout* Get(uint32_t number) const {
    const Layout* layout = kept[number % kKeptLayouts];
    return layout != nullptr && layout->number == number ? layout : nullptr;
  }

  // The layout of a tensor that a program outside described; NULL if it is not kept. Nothing was checked.
  const Layout* Find(const DLTensor& tensor, uint64_t flags) const;

  // The number of a layout; 0 if it is not kept.
  uint32_t NumberOf(const Layout& layout) const;

  // Keeps a copy of a checked layout under a number. False when out of memory.
  bool Keep(const Layout& layout, uint32_t number);

  void Clear();

  Layout* kept[kKeptLayouts];          // at `number % kKeptLayouts`
  uint16_t by_hash[4 * kKeptLayouts];  // places of the layouts with these hashes, which may have other layouts by now
};

}  // namespace dlpack
