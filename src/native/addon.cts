/**
 * The addon of each target. The paths are literals in a CommonJS file, because bundlers find native files only that
 * way. They are the same from `src/native` and from `dist/native`.
 */

const addons: Readonly<Record<string, () => unknown>> = {
  'linux-x64': () => require('../../prebuilds/linux-x64/dlpack.node'),
  'linux-arm64': () => require('../../prebuilds/linux-arm64/dlpack.node'),
  'linux-x64-musl': () => require('../../prebuilds/linux-x64-musl/dlpack.node'),
  'linux-arm64-musl': () => require('../../prebuilds/linux-arm64-musl/dlpack.node'),
  'darwin-x64': () => require('../../prebuilds/darwin-x64/dlpack.node'),
  'darwin-arm64': () => require('../../prebuilds/darwin-arm64/dlpack.node'),
  'win32-x64': () => require('../../prebuilds/win32-x64/dlpack.node'),
  'win32-arm64': () => require('../../prebuilds/win32-arm64/dlpack.node'),
};

export = addons;
