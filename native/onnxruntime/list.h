// List: an array that grows, in memory from malloc. Its owner calls Free. A List of zero bits is empty.
#pragma once

#include <stdint.h>
#include <stdlib.h>

namespace dlpack::onnxruntime {

template <class Element>
struct List {
  Element* elements;
  uint32_t count;
  uint32_t capacity;

  // False when out of memory.
  bool Add(Element element) {
    if (count == capacity) {
      const uint32_t larger = capacity == 0 ? 8 : capacity * 2;
      void* memory = realloc(elements, larger * sizeof(Element));
      if (memory == nullptr) return false;
      elements = static_cast<Element*>(memory);
      capacity = larger;
    }
    elements[count++] = element;
    return true;
  }

  void Free() { free(elements); }

  const Element* begin() const { return elements; }
  const Element* end() const { return elements + count; }
};

}  // namespace dlpack::onnxruntime
