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

/**
 * The addons that `npx dlpack build` makes for other targets are in the same folder. Their paths are not literals, because
 * a bundler would look for the files. Null where a bundler moved this code into an ES module.
 */
const folder: string | null = typeof __dirname === 'string' ? `${__dirname}/../../prebuilds` : null;

export = { addons, folder };
