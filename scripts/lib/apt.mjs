// Programs of the system.
import { existsSync } from 'node:fs';
import { browserMissing, findBrowser } from './browser.mjs';
import { Missing, online, run, step } from './steps.mjs';

/** Installs the Debian packages of a missing file or program, in CI as root. Throws `Missing` elsewhere. */
export async function installApt(needed, packages) {
  const isThere = async () =>
    needed.startsWith('/') ? existsSync(needed) : (await run('which', [needed], { allowFailure: true })).code === 0;
  if (await isThere()) return;
  const command = `apt-get install --yes --no-install-recommends ${packages.join(' ')}`;
  const missing = new Missing(`${needed}. Install it (Debian: ${command}).`);
  if (!process.env.CI || process.getuid?.() !== 0 || !existsSync('/etc/debian_version')) throw missing;
  console.log(command);
  // Another apt-get may be running.
  const options = ['-o', 'Acquire::Retries=5', '-o', 'DPkg::Lock::Timeout=600'];
  const env = { DEBIAN_FRONTEND: 'noninteractive' };
  const apt = (...args) => online(() => run('apt-get', [...options, ...args], { show: true, env }));
  await apt('update');
  await apt('install', '--yes', '--no-install-recommends', ...packages);
  if (!(await isThere())) throw missing;
}

/** A browser for tests/browser. */
export const installBrowser = () =>
  step('a browser', async () => {
    const found = findBrowser();
    if (found !== null) return found;
    if (!process.env.CI) return 'none found: its tests are skipped';
    if (process.env.CHROME_PATH) throw new Missing(browserMissing);
    await installApt('chromium', ['chromium']);
  });
