#include "table_scope.h"

#include "../lock.h"

namespace dlpack {

static Lock table_lock;
static thread_local int depth = 0;

TableScope::TableScope() {
  if (depth++ == 0) table_lock.Acquire();
}

TableScope::~TableScope() {
  if (--depth == 0) table_lock.Release();
}

}  // namespace dlpack
