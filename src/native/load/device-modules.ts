/** The modules for devices, which are loaded when a program first uses such a device. */

import type { DeviceModule } from '../../storage/device-backend.js';
import { node } from './node-modules.js';
import { shipped } from './shipped.js';

/**
 * Loads `dlpack/cuda` or `dlpack/webgpu`, which register their backend. Does nothing in a bundle, whose program has to
 * import the module, so that the bundler finds it.
 */
export function loadDeviceModule(name: DeviceModule): void {
  const { folder } = shipped.load();
  if (folder === null) return;
  const file = node.path.resolve(folder, '..', 'dist', name, 'index.js');
  // A runtime waits for `require` of an ES module, but not for `import`.
  if (node.fs.existsSync(file)) node.module.createRequire(file)(file);
}
