// The library keeps its global functions in a table without a lock. Every use of it from here holds this one.
#ifndef DLPACK_NODE_TVM_FFI_TABLE_SCOPE_H_
#define DLPACK_NODE_TVM_FFI_TABLE_SCOPE_H_

namespace dlpack {

// Any thread. Nests: a module loader written in JavaScript may look functions up.
class TableScope {
 public:
  TableScope();
  ~TableScope();
};

}  // namespace dlpack

#endif  // DLPACK_NODE_TVM_FFI_TABLE_SCOPE_H_
