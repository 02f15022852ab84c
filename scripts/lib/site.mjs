// The packages of the site, in a folder of their own.
import { at, online, run, step, whenChanged } from './steps.mjs';

export const installSite = () =>
  step('packages of the site', () =>
    whenChanged('site', ['site/package-lock.json'], ['site/node_modules/vitepress'], async () => {
      const npm = process.platform === 'win32' ? 'npm.cmd' : 'npm';
      await online(() => run(npm, ['ci', '--no-audit', '--no-fund', '--ignore-scripts'], { cwd: at('site') }));
    }),
  );
