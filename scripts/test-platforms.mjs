// npm run test:platforms [-- target ...]: runs the suite with the addons of other platforms, as far as this machine can
// run them, and prints a table of what ran, what did not, and why. `--quick` runs the files that show that an addon
// works.
import { existsSync, rmSync } from 'node:fs';
import { availableParallelism } from 'node:os';
import { addonOf, makeTree, platforms } from './lib/platforms.mjs';
import { runTests, summary } from './lib/run-tests.mjs';
import { buildTests, buildTypeScript, checkNode, installPackages } from './lib/setup.mjs';
import { at, Missing, main, step } from './lib/steps.mjs';
import { installZig } from './lib/zig.mjs';

/** Only tests that need neither the repository nor other libraries make sense on another platform. */
const portable = /^(unit|native|files|shared)\//;
const quick =
  /^(unit\/(dtype|device|layout|tensor|errors)|unit\/values\/elements|native\/(exchange|lifetime|workers))\./;

/** True when the addon is for the machine that runs this script. */
const isHost = ({ platform, arch, target }) =>
  platform === process.platform && arch === process.arch && !target.endsWith('-musl');

async function runPlatform(platform, isQuick) {
  if (platform.cannot !== undefined && !isHost(platform)) return { ran: 'checked', note: platform.cannot };
  if (!existsSync(at(addonOf(platform.target))))
    return { ran: 'not built', note: `npm run build:all -- ${platform.target}` };
  let started;
  try {
    started = isHost(platform) ? { command: process.execPath } : await platform.install();
  } catch (error) {
    if (process.env.CI || !(error instanceof Missing)) throw error;
    return { ran: 'skipped', note: `needs ${error.message}` };
  }
  let tree;
  await step(`tree for ${platform.target}`, async () => {
    tree = await makeTree(platform, !isQuick);
  });
  const how = isHost(platform) ? 'this machine' : platform.how;
  console.log(`Tests on ${platform.target} (${how})`);
  const leftOut = isHost(platform) ? [] : platform.leaveOut.filter(({ isSlow }) => isQuick || !isSlow);
  const common = {
    folder: `${tree}/build/tests`,
    cwd: tree, // workers without a file import the package from there
    command: started.command,
    env: { ...started.env, CI: '' }, // counterparts that are missing here are skipped and counted
    intoFiles: platform.platform === 'win32' && !isHost(platform),
    workers: availableParallelism(),
  };
  const total = await runTests({
    ...common,
    args: [...(started.args ?? []), '--expose-gc'],
    exclude: (file) =>
      !portable.test(file) || (isQuick && !quick.test(file)) || leftOut.some(({ files }) => files.test(file)),
  });
  if (started.renamed !== undefined) {
    // The second addon finds Node-API in node.exe alone.
    rmSync(`${tree}/build/native`, { recursive: true, force: true });
    const exclude = (file) => !/^(unit\/tensor|native\/workers)\./.test(file);
    const more = await runTests({ ...common, args: [started.renamed, '--expose-gc'], exclude });
    for (const key of Object.keys(total)) total[key] += more[key];
  }
  if (started.python !== undefined && !isQuick) {
    const { env, files, args = started.args ?? [], ...python } = await started.python();
    console.log(`Tests of Python in the process on ${platform.target}`);
    const more = await runTests({
      ...common,
      ...python,
      args: [...args, '--expose-gc'],
      env: { ...common.env, ...env },
      exclude: (file) => !files.test(file),
    });
    for (const key of Object.keys(total)) total[key] += more[key];
  }
  const note = [how, ...leftOut.map(({ files, why }) => `without ${files.source.slice(1)}: ${why}`)].join('; ');
  return { ran: summary(total), note, total };
}

await main(async () => {
  const wanted = process.argv.slice(2).filter((argument) => argument !== '--quick');
  const isQuick = process.argv.includes('--quick');
  checkNode();
  await installPackages();
  await installZig();
  await buildTypeScript();
  await buildTests();
  const rows = [];
  for (const platform of platforms) {
    if (wanted.length === 0 || wanted.includes(platform.target)) {
      rows.push({ name: platform.target, ...(await runPlatform(platform, isQuick)) });
    }
  }
  console.log('\n| platform | tests | how |\n|---|---|---|');
  for (const { name, ran, note } of rows) console.log(`| ${name} | ${ran} | ${note} |`);
  const failed = rows.some(({ total, ran }) => ran === 'not built' || total?.failed > 0 || total?.passed === 0);
  return failed ? 1 : 0;
});
