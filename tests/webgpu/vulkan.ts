/** WebGPU on an NVIDIA GPU without a screen: Node with Dawn, over the driver's own Vulkan. */

import { existsSync, mkdtempSync, rmSync, writeFileSync } from 'node:fs';
import { tmpdir } from 'node:os';
import { delimiter, join } from 'node:path';
import { fileURLToPath } from 'node:url';
import { dawnMissing } from './run-dawn.js';

/** The repository, or the folder that `npm run gpu -- pack` wrote. */
const root = fileURLToPath(new URL('../../../', import.meta.url));

/** Why WebGPU cannot use the GPU here, or false. */
export const vulkanMissing =
  process.platform === 'linux' && existsSync('/dev/nvidiactl') ? dawnMissing : 'an NVIDIA GPU';

/**
 * Calls `run` with the environment variables of a process that uses the GPU: a packed Vulkan loader, and the NVIDIA driver
 * as the only driver. Its EGL library has Vulkan, too, and needs no X server.
 */
export function withVulkan<T>(run: (env: Record<string, string>) => T): T {
  const folder = mkdtempSync(join(tmpdir(), 'dlpack-vulkan-'));
  try {
    const driver = join(folder, 'nvidia.json');
    const ICD = { library_path: 'libEGL_nvidia.so.0', api_version: '1.3.0' };
    writeFileSync(driver, JSON.stringify({ file_format_version: '1.0.1', ICD }));
    const paths = [join(root, 'vulkan'), process.env.LD_LIBRARY_PATH ?? ''].filter((path) => path !== '');
    return run({ VK_ICD_FILENAMES: driver, LD_LIBRARY_PATH: paths.join(delimiter) });
  } finally {
    rmSync(folder, { recursive: true, force: true });
  }
}
