/**
 * The runtime's own modules, each loaded when it is first used. For a static import Node makes an ES module of each of
 * them, which takes 0.2 to 1.4 ms, and `import 'dlpack'` would wait for modules that few programs need. Engines before
 * Node 20.16 and 22.3 do not have `process.getBuiltinModule`; package.json excludes them.
 */

export const node = {
  get asyncHooks() {
    return process.getBuiltinModule('node:async_hooks');
  },
  get buffer() {
    return process.getBuiltinModule('node:buffer');
  },
  get childProcess() {
    return process.getBuiltinModule('node:child_process');
  },
  get crypto() {
    return process.getBuiltinModule('node:crypto');
  },
  get fs() {
    return process.getBuiltinModule('node:fs');
  },
  get module() {
    return process.getBuiltinModule('node:module');
  },
  get os() {
    return process.getBuiltinModule('node:os');
  },
  get path() {
    return process.getBuiltinModule('node:path');
  },
  get timers() {
    return process.getBuiltinModule('node:timers');
  },
  get url() {
    return process.getBuiltinModule('node:url');
  },
  get workerThreads() {
    return process.getBuiltinModule('node:worker_threads');
  },
  get zlib() {
    return process.getBuiltinModule('node:zlib');
  },
};
